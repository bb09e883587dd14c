// SPDX-License-Identifier: Apache-2.0
#include "base/options.h"

#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "base/toml_file.h"

namespace millrace {

void OptionSet::Text(std::string name, std::string* field, std::string initial, std::string one_line) {
  *field = std::move(initial);
  Add(std::move(name), TextField(field), std::move(one_line));
}

void OptionSet::Choice(std::string name, std::string* field, std::string initial, std::vector<std::string> choices,
                       std::string one_line) {
  *field = std::move(initial);
  Add(std::move(name), ChoiceField(field, std::move(choices)), std::move(one_line));
}

void OptionSet::Bool(std::string name, bool* field, bool initial, std::string one_line) {
  *field = initial;
  Add(std::move(name), BoolField(field), std::move(one_line));
}

void OptionSet::Integer(std::string name, std::int64_t* field, std::int64_t initial, std::int64_t least,
                        std::int64_t most, std::string one_line) {
  *field = initial;
  Add(std::move(name), IntegerField(field, least, most), std::move(one_line));
}

void OptionSet::Integer(std::string name, std::uint32_t* field, std::uint32_t initial, std::uint32_t least,
                        std::uint32_t most, std::string one_line) {
  *field = initial;
  Add(std::move(name), IntegerField(field, least, most), std::move(one_line));
}

void OptionSet::IntegerOrAuto(std::string name, std::int64_t* field, std::int64_t least, std::int64_t most,
                              std::string one_line) {
  *field = kAuto;
  Add(std::move(name), IntegerOrAutoField(field, least, most), std::move(one_line));
}

void OptionSet::Real(std::string name, double* field, double initial, double least, double most, std::string one_line) {
  *field = initial;
  Add(std::move(name), RealField(field, least, most), std::move(one_line));
}

void OptionSet::Bytes(std::string name, std::uint64_t* field, std::uint64_t initial, std::uint64_t least,
                      std::uint64_t most, std::string one_line) {
  *field = initial;
  Add(std::move(name), BytesField(field, least, most), std::move(one_line));
}

void OptionSet::Duration(std::string name, Micros* field, Micros initial, Micros least, Micros most,
                         std::string one_line) {
  *field = initial;
  Add(std::move(name), DurationField(field, least, most), std::move(one_line));
}

void OptionSet::Add(std::string name, Field field, std::string one_line) {
  for (const Option& other : options_) MILLRACE_CHECK(other.info.name != name, "declared twice: " + name);
  const std::string initial = field.get().value();
  const Status set = field.set(initial);
  MILLRACE_CHECK(set.ok(), name + ": its own default " + set.message());
  OptionInfo info{std::move(name), field.type, initial, field.range, std::move(one_line)};
  options_.push_back({std::move(info), std::move(field)});
}

Status OptionSet::Set(std::string_view name, std::string_view value) {
  std::vector<std::string> names;
  for (const Option& option : options_) {
    if (option.info.name == name) return option.field.set(value).Within("option " + option.info.name);
    names.push_back(option.info.name);
  }
  const auto nearest = Nearest(name, names);
  return NotFound("option " + Quote(name) + ": no such option; " +
                  (nearest ? "did you mean " + *nearest + "?" : "--help lists the ones that exist"));
}

Status OptionSet::SetPair(std::string_view pair) {
  const std::size_t equals = pair.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return Invalid("option " + Quote(pair) + ": not of the form name=value");
  }
  return Set(pair.substr(0, equals), pair.substr(equals + 1));
}

Status OptionSet::LoadToml(const std::string& path) {
  MILLRACE_ASSIGN(const std::vector<TomlEntry> entries, ReadTomlFile(path));
  for (const TomlEntry& entry : entries) {
    if (entry.kind == TomlEntry::Kind::kTable) continue;
    std::string name;
    for (const std::string& part : entry.path) name += (name.empty() ? "" : ".") + part;
    const std::string where = path + ":" + std::to_string(entry.line);
    if (entry.kind != TomlEntry::Kind::kValue) {
      return Invalid(where + ": option " + Quote(name) + ": a list or a date; give one text or number");
    }
    MILLRACE_TRY(Set(name, entry.text).Within(where));
  }
  return Status::Ok();
}

std::vector<OptionInfo> OptionSet::List() const {
  std::vector<OptionInfo> list;
  for (const Option& option : options_) list.push_back(option.info);
  return list;
}

}  // namespace millrace
