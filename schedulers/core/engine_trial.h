// Trials of the end of a running task: they show which job gets the slot, or the compute permit, that it leaves.
//
// The rule, as code:
//
//   for job, node with running tasks of a kind that some job waits for, the jobs whose tasks run longest first, and of
//       each job one node before any has two:
//     copy the engine with its policy
//     in the copy: the task that was launched first succeeds now, and the policy fills what is free
//     the job to which it gives the first slot (or permit) of each kind is the one that would get it
//
// So a trial shows what the policy itself would do, with all its parts, and not another reading of its rules. Only
// copies change, so the policy's own state is not touched. A trial cannot know what else happens before a task ends:
// time passes, jobs come.
//
// A trial costs about as much as there are nodes, live jobs and tasks of the job whose task ends. So there are at most
// kMostTrials, and no more than kMostCost allows. Beyond these limits running tasks stay untried.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids/ids.h"
#include "schedulers/events/slot_kind.h"

namespace millrace::sched {

struct TrialLimits {
  static constexpr std::uint32_t kMostTrials = 64;
  static constexpr std::uint64_t kMostCost = 20'000;  // nodes, live jobs, and tasks of jobs, over all trials

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
