// SPDX-License-Identifier: Apache-2.0
// TryChanges: what would help a job, and what others would pay for it, by playing the future with one thing changed.
//
// The rule, as code:
//
//   without = the play (play_forward.h) of a copy of the engine
//   for each change:
//     copy the engine again, and make the change at the beginning
//     with = the play of that copy
//     the job's gain is its start and end in `without`, less those in `with`
//     each other job that ends at least kWorthTelling later in `with` pays the difference
//
//   priority   the job has this priority from now on
//   pool       the job is killed, and submitted again to this pool: a job stays in the pool to which it was submitted.
//              So it comes after all others. It is not tried for a job that has started.
//   node       one more node takes tasks, with the slots, the rack and the free space of a node that there is: of the
//              slots that most live nodes have, the one with the lowest number. No input lies on it.
//   scheduler  another policy decides from now on
//
// Both plays err as all plays do, mostly in the same direction, so that a difference is surer than a time. It is pure.
// Thread rule: any thread, if the engine is one of Engine::Detach; else the engine's.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/core/engine.h"
#include "schedulers/core/policy.h"
#include "schedulers/events/events.h"
#include "schedulers/forecast/play_forward.h"
#include "schedulers/forecast/task_times.h"

namespace millrace::sched {

enum class ChangeKind : std::uint8_t { kPriority, kPool, kNode, kScheduler };

struct Change {
  ChangeKind kind = ChangeKind::kNode;
  Priority priority = Priority::kNormal;  // of kPriority
  std::string name = {};                  // of the pool, or of the scheduler
  std::unique_ptr<Policy> policy = {};    // of kScheduler; null: it cannot be made, for the reason `untried`
  std::string untried = {};
};

// A job that ends later.
struct Later {
  JobId job;
  Micros by = 0;
  bool operator==(const Later&) const = default;
};

// What came of a change.
struct Tried {
  std::string untried;        // why it was not tried, as a clause; the rest means nothing then
  PlayedJob job;              // with the change
  Slots slots;                // of kNode: those of the node that joins
  std::vector<Later> later;   // the other jobs that end later, the latest first
  std::uint32_t unknown = 0;  // the other jobs whose end is unknown, with or without the change
};

struct WhatIf {
  PlayedJob job;                 // without a change
  std::vector<PlayedJob> ahead;  // Played::ahead, without a change
  std::vector<Tried> tried;      // by change, in their order
};

inline constexpr Micros kWorthTelling = kSecond;

// Tries the changes for the job. `bounds` holds for each play; once `stop` returns true, the changes that are left are
// not tried. Requires: the job lives and is not on hold; the engine can be copied, and `now` is not before its last
// call.
[[nodiscard]] WhatIf TryChanges(const Engine& engine, Micros now, JobId job, const TaskTimes& times,
                                std::vector<Change> changes, PlayBounds bounds);

}  // namespace millrace::sched
