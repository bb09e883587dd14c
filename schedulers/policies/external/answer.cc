// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/external/answer.h"

#include <algorithm>
#include <utility>

#include "schedulers/events/text_fields.h"

namespace millrace::sched {
namespace {

constexpr std::size_t kShown = 60;  // bytes of a bad line

std::string_view Cut(std::string_view* text, char at) {
  const std::size_t end = std::min(text->find(at), text->size());
  const std::string_view before = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return before;
}

// The kind of a task as "map" or "reduce".
bool ReadKind(FieldReader& fields, TaskKind* kind) {
  std::string word;
  fields.Required("kind", word);
  *kind = word == "reduce" ? TaskKind::kReduce : TaskKind::kMap;
  return word == "map" || word == "reduce";
}

std::string ReadOrder(FieldReader& fields, ProgramAnswer* answer) {
  constexpr std::pair<std::string_view, SlotKind> kKeys[] = {
      {"maps", kMapSlot}, {"reduces", kReduceSlot}, {"permits", kComputePermit}};
  bool any = false;
  for (const auto& [key, kind] : kKeys) {
    if (!fields.Has(key)) continue;
    any = true;
    fields.Optional(key, answer->order[kind].emplace());
  }
  if (!any) return "order names neither maps= nor reduces=";
  if (!answer->order[kComputePermit]) answer->order[kComputePermit] = answer->order[kReduceSlot];
  return fields.ok() ? "" : "order takes jobs, separated by commas: maps=job7,job2";
}

std::string ReadLaunch(FieldReader& fields, ProgramAnswer* answer) {
  LaunchWish& launch = answer->launches.emplace_back();
  const bool kind = ReadKind(fields, &launch.kind);
  fields.Required("job", launch.job), fields.Required("node", launch.node);
  return kind && fields.ok() ? "" : "launch takes kind=map or kind=reduce, job=job7 and node=n3";
}

std::string ReadPreempt(FieldReader& fields, ProgramAnswer* answer) {
  PreemptWish& preempt = answer->preempts.emplace_back();
  const bool kind = ReadKind(fields, &preempt.kind);
  fields.Required("job", preempt.job), fields.Optional("tasks", preempt.tasks);
  fields.Optional("reason", preempt.reason);
  return kind && fields.ok() ? "" : "preempt takes kind=map or kind=reduce, job=job7, tasks=2 and reason=TEXT";
}

std::string ReadWake(FieldReader& fields, ProgramAnswer* answer) {
  fields.Required("at", answer->wake.emplace());
  return fields.ok() && *answer->wake >= 0 ? "" : "wake takes at=TIME, in microseconds";
}

std::string ReadLine(std::string_view line, ProgramAnswer* answer) {
  const std::string_view word = Cut(&line, ' ');
  FieldReader fields;
  while (!line.empty()) {
    if (!fields.Add(Cut(&line, ' '))) return "after the first word comes key=value, as often as needed";
  }
  if (word == "order") return ReadOrder(fields, answer);
  if (word == "launch") return ReadLaunch(fields, answer);
  if (word == "preempt") return ReadPreempt(fields, answer);
  if (word == "wake") return ReadWake(fields, answer);
  return "no answer begins like this; there is: order, launch, preempt, wake, and seen at the end";
}

// A program may have written anything: bytes that would disturb a log are shown as '?'.
std::string Shown(std::string_view line) {
  std::string shown(line.substr(0, kShown));
  for (char& c : shown) c = c < 0x20 || c == 0x7f ? '?' : c;
  return '"' + shown + (line.size() > kShown ? "...\"" : "\"");
}

}  // namespace

std::string ParseAnswer(std::string_view text, ProgramAnswer* answer) {
  *answer = {};
  if (text.size() > kMostAnswerBytes) return "it has more than " + std::to_string(kMostAnswerBytes >> 20) + " MiB";
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::string_view line = Cut(&text, '\n');
    if (line.empty()) continue;
    if (const std::string why = ReadLine(line, answer); !why.empty())
      return "line " + std::to_string(number) + ", " + Shown(line) + ": " + why;
  }
  return {};
}

}  // namespace millrace::sched
