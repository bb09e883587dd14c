// SPDX-License-Identifier: Apache-2.0
// The lines that a program answers with (docs/schedulers/external.md), as a value:
//
//   order maps=job7,job2 reduces=job2,job7      in which order the jobs get slots; permits= is that of the reduces if
//   absent launch kind=map job=job7 node=n3            this job gets the slot on this node, with its closest map
//   preempt kind=map job=job2 tasks=2           two attempts of the job are killed, the newest first; reason=TEXT
//   wake at=20000000                            the program wants to be asked then, even if nothing has changed
//
// Values are written as in a journal (schedulers/events/event_text.h). Thread rule: free functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/events/slot_kind.h"

namespace millrace::sched {

inline constexpr std::size_t kMostAnswerBytes = std::size_t{4} << 20;

struct LaunchWish {
  TaskKind kind = TaskKind::kMap;
  JobId job;
  NodeId node;
};

struct PreemptWish {
  TaskKind kind = TaskKind::kMap;
  JobId job;
  std::uint32_t tasks = 1;
  std::string reason;
};

struct ProgramAnswer {
  PerSlot<std::optional<std::vector<JobId>>> order;  // nothing: the order of before stays
  std::vector<LaunchWish> launches;
  std::vector<PreemptWish> preempts;
  std::optional<Micros> wake;
};

// Reads an answer. Returns why the text is none ("line 2: ..."), and then *answer is unspecified; returns "" if it is
// one. Never throws and never aborts, whatever the bytes.
[[nodiscard]] std::string ParseAnswer(std::string_view text, ProgramAnswer* answer);

}  // namespace millrace::sched
