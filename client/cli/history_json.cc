// SPDX-License-Identifier: Apache-2.0
#include "client/cli/history_json.h"

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/console/json_output.h"
#include "schedulers/events/event_text.h"

namespace millrace::cli {
namespace {

using Json = nlohmann::ordered_json;

Json NodeNumbers(const std::vector<NodeId>& nodes) {
  Json numbers = Json::array();
  for (const NodeId node : nodes) numbers.push_back(node.value);
  return numbers;
}

// Sets the key of a field to its value, in the forms that all outputs share.
class FieldSetter {
 public:
  FieldSetter(Json* json, const sched::EventField& field) : json_(*json), field_(field), key_(field.key) {}

  void operator()(bool value) const { json_[key_] = value; }
  void operator()(std::uint64_t value) const {
    constexpr double kMille = 1000;
    if (key_ == "per_mille") {
      json_["fraction"] = static_cast<double>(value) / kMille;
    } else {
      json_[key_] = value;
    }
  }
  void operator()(double value) const { json_[key_] = value; }
  void operator()(Micros value) const {
    if (field_.instant()) {
      json_[key_ + "_at"] = console::InstantOrNull(value);
    } else {
      json_[key_ + "_s"] = console::Seconds(value);
    }
  }
  void operator()(const std::string& value) const { console::SetBytes(json_, key_, value); }
  void operator()(sched::Priority value) const {
    json_[key_] = sched::kPriorityNames.at(static_cast<std::size_t>(value));
  }
  void operator()(NodeId value) const { json_[key_] = value.value; }
  void operator()(JobId value) const { json_[key_] = value.value; }
  void operator()(const TaskId& value) const { json_[key_] = ToText(value); }
  void operator()(const AttemptId& value) const { json_[key_] = ToText(value); }
  void operator()(const std::optional<sched::RecordPlace>& value) const {
    json_[key_] = value ? Json{{"input", value->input}, {"offset", value->offset}, {"nth", value->nth}} : Json();
  }
  void operator()(const std::vector<NodeId>& value) const { json_[key_] = NodeNumbers(value); }
  void operator()(const std::vector<Micros>& value) const {
    Json& times = json_[key_ + "_s"] = Json::array();
    for (const Micros time : value) times.push_back(console::Seconds(time));
  }
  void operator()(const std::vector<sched::MapInput>& value) const {
    Json& maps = json_[key_] = Json::array();
    for (const sched::MapInput& map : value)
      maps.push_back({{"bytes", map.bytes}, {"replicas", NodeNumbers(map.replicas)}});
  }

 private:
  Json& json_;
  const sched::EventField& field_;
  const std::string key_;
};

}  // namespace

Json HistoryJson(std::uint64_t number, std::string_view line) {
  Json json{{"number", number}};
  const std::optional<sched::JournalLine> read = sched::ParseJournalLine(line);
  if (!read) {
    json["at"] = Json();
    json["event"] = "unknown";
    console::SetBytes(json, "line", line);
    return json;
  }
  json["at"] = console::Seconds(read->time);
  const auto* event = std::get_if<sched::Event>(&read->content);
  if (event == nullptr) {
    json["event"] = sched::NameOf(std::get<sched::JournalMark>(read->content));
    return json;
  }
  json["event"] = sched::KindOf(*event);
  for (const sched::EventField& field : sched::FieldsOf(*event)) std::visit(FieldSetter(&json, field), field.value);
  return json;
}

}  // namespace millrace::cli
