// SPDX-License-Identifier: Apache-2.0
// Trials of the end of a running task: they show which job gets the slot, or the compute permit, that the task leaves.
//
// The rule, as code:
//
//   for each pair of a job and a node on which it runs tasks of a kind that some job waits for, in this order: jobs
//       whose tasks have run longest first, and one node of each job before a second node of any:
//     copy the engine with its policy
//     in the copy: the pair's task that was launched first succeeds now, and the policy fills what is free
//     the job that gets the first slot (or permit) of each kind in the copy is the one that would get it
//
// So a trial shows the decision of the policy itself, with all its parts, and not of another reading of its rules. Only
// copies change, so the policy's own state is not touched. A trial cannot know what else happens before a task ends:
// time passes, jobs come.
//
// The cost of a trial is about the number of nodes, live jobs and tasks of the job whose task ends. So there are at
// most kMostTrials trials, and no more than kMostCost allows. Running tasks beyond these limits stay untried.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids/ids.h"
#include "schedulers/events/slot_kind.h"

namespace millrace::sched {

struct TrialLimits {
  static constexpr std::uint32_t kMostTrials = 64;
  static constexpr std::uint64_t kMostCost = 20'000;  // the sum of nodes, live jobs and tasks of jobs over all trials

  std::uint32_t trials = kMostTrials;
  std::uint64_t cost = kMostCost;
};

// The slots and permits that the end of a task would leave, and the jobs that would get them.
struct TriedEnd {
  AttemptId attempt;
  NodeId node;
  std::uint32_t stands_for = 1;  // the number of attempts of its job and kind that run on the node
  PerSlot<bool> frees = {};
  PerSlot<std::optional<JobId>> goes_to = {};  // nothing: it would stay free
};

struct TriedEnds {
  std::vector<TriedEnd> ends;
  PerKind<std::uint32_t> untried = {};  // running attempts that no trial stands for
};

}  // namespace millrace::sched
