// SPDX-License-Identifier: Apache-2.0
#include "tests/schedulers/script.h"

#include <array>
#include <charconv>
#include <vector>

#include "schedulers/events/event_text.h"

namespace millrace::sched {
namespace {

std::string OnNode(const AttemptId& attempt, NodeId node) {
  return ToText(attempt) + " n" + std::to_string(node.value);
}

struct Formatter {
  std::string operator()(const Launch& e) const {
    constexpr std::array<std::string_view, 4> kNames = {"node", "rack", "datacenter", "off"};
    const bool map = e.attempt.task.kind == TaskKind::kMap;
    return "launch " + OnNode(e.attempt, e.node) +
           (map ? " " + std::string(kNames.at(static_cast<std::size_t>(e.locality))) : "") +
           (e.asks_to_compute ? " asks" : "");
  }
  std::string operator()(const Compute& e) const { return "compute " + OnNode(e.attempt, e.node); }
  std::string operator()(const Kill& e) const { return "kill " + OnNode(e.attempt, e.node) + ": " + e.reason; }
  std::string operator()(const Preempt& e) const { return "preempt " + OnNode(e.attempt, e.node) + ": " + e.reason; }
  std::string operator()(const Evict& e) const { return "evict job" + std::to_string(e.job.value); }
  std::string operator()(const GiveUp& e) const {
    return "give up job" + std::to_string(e.job.value) + ": " + e.reason;
  }
  std::string operator()(const Blame& e) const {
    return "blame n" + std::to_string(e.node.value) + " by job" + std::to_string(e.by.value) + " until " +
           std::to_string(e.until);
  }
  std::string operator()(const MapOutputReady& e) const { return "ready " + OnNode(e.map_attempt, e.node); }
  std::string operator()(const MapOutputGone& e) const { return "gone " + OnNode(e.map_attempt, e.node); }
  std::string operator()(const MapLeftOut& e) const { return "left out " + ToText(e.map) + ": " + e.reason; }
  std::string operator()(const JobEnded& e) const {
    constexpr std::array<std::string_view, 3> kNames = {"succeeded", "failed", "killed"};
    return "ended job" + std::to_string(e.job.value) + ' ' +
           std::string(kNames.at(static_cast<std::size_t>(e.outcome))) + (e.reason.empty() ? "" : ": " + e.reason);
  }
};

std::vector<std::string_view> Lines(std::string_view script) {
  std::vector<std::string_view> lines;
  while (!script.empty()) {
    const std::size_t end = std::min(script.find('\n'), script.size());
    std::string_view line = script.substr(0, end);
    script.remove_prefix(std::min(end + 1, script.size()));
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    line = line.substr(0, line.find_last_not_of(' ') + 1);
    if (!line.empty() && line[0] != '#') lines.push_back(line);
  }
  return lines;
}

std::string PlayLine(Engine* engine, std::string_view line) {
  Effects effects;
  if (line.ends_with(" decide")) {
    Micros now = 0;
    std::from_chars(line.data(), line.data() + line.size(), now);
    engine->Decide(now, &effects);
  } else if (const auto timed = ParseEvent(line)) {
    if (!engine->Apply(timed->time, timed->event, &effects)) return "-> refused\n";
  } else {
    return "-> not a line of a script\n";
  }
  std::string text;
  for (const Effect& effect : effects) text += "-> " + FormatEffect(effect) + '\n';
  return text;
}

}  // namespace

std::string FormatEffect(const Effect& effect) { return std::visit(Formatter{}, effect); }

std::string Play(Engine* engine, std::string_view script) {
  std::string played;
  for (const std::string_view line : Lines(script)) {
    if (line.starts_with("->")) continue;
    played.append(line) += '\n';
    played += PlayLine(engine, line);
  }
  return played;
}

std::string Tidy(std::string_view script) {
  std::string tidy;
  for (const std::string_view line : Lines(script)) tidy.append(line) += '\n';
  return tidy;
}

}  // namespace millrace::sched
