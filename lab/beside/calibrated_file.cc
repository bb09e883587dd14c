// SPDX-License-Identifier: Apache-2.0
#include "lab/beside/calibrated_file.h"

#include <map>
#include <set>
#include <vector>

#include "base/text.h"
#include "base/toml_value.h"

namespace millrace::compare {
namespace {

// The changes to the lines of a text, which count from 1.
struct Edits {
  std::map<std::size_t, std::string> after;  // is added after the line
  std::set<std::size_t> removed;
};

void Remove(const toml::table& table, std::initializer_list<const char*> keys, Edits* edits) {
  for (const char* key : keys) {
    const toml::node* value = table.get(key);
    if (value == nullptr) continue;
    for (std::size_t line = value->source().begin.line; line <= value->source().end.line; ++line)
      edits->removed.insert(line);
  }
}

void Edit(const toml::table& table, const ClassCost& cost, double time_factor, const std::string& comment,
          Edits* edits) {
  const TaskCost &map = cost.of[TaskKind::kMap], &reduce = cost.of[TaskKind::kReduce];
  if (map.attempts == 0) return;
  const auto time = [&](const char* key, const TaskCost& of) {
    return std::string(key) + " = \"" + Formatted("%.4f", of.taken / kMicrosPerSecond / time_factor) + "s\"\n";
  };
  std::string added = "# " + comment + "\n" + time("map_time", map);
  Remove(table, {"map_time", "map_rate"}, edits);
  if (cost.output_ratio >= 0) {
    added += "map_output = " + Formatted("%.5g", cost.output_ratio) + "\n";
    Remove(table, {"map_output"}, edits);
  }
  if (reduce.attempts > 0) {
    added += time("reduce_time", reduce);
    Remove(table, {"reduce_time", "reduce_rate"}, edits);
  }
  edits->after[table.source().begin.line] = added;
}

std::string Apply(const Edits& edits, std::string_view text) {
  std::string edited;
  for (std::size_t line = 1, at = 0; at < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    if (!edits.removed.contains(line)) edited += text.substr(at, end - at);
    const auto added = edits.after.find(line);
    if (added != edits.after.end()) edited += (edited.ends_with('\n') ? "" : "\n") + added->second;
    at = end;
  }
  return edited;
}

}  // namespace

Result<std::string> WithMeasuredTimes(std::string_view text, const std::string& file_name, const Costs& costs,
                                      const std::string& comment) {
  MILLRACE_ASSIGN(const toml::table root, ParseToml(text, file_name));
  const toml::array* classes = root["jobs"].as_array();
  if (classes == nullptr) return Invalid(file_name + ": it has no [[jobs]]");
  const double time_factor = root["time_factor"].value_or(1.0);
  Edits edits;
  for (std::size_t i = 0; i < classes->size() && i < costs.classes.size(); ++i) {
    const toml::table* table = classes->get(i)->as_table();
    if (table == nullptr || table->is_inline())
      return Invalid(file_name + ":" + std::to_string(classes->get(i)->source().begin.line) +
                     ": write each class as a table of its own, [[jobs]]");
    Edit(*table, costs.classes[i], time_factor, comment, &edits);
  }
  return Apply(edits, text);
}

}  // namespace millrace::compare
