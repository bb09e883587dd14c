// SPDX-License-Identifier: Apache-2.0
// CpSnapshot: the picture of the cluster that `cp` plans for (problem.h), with the learnt task times of each job.
//
// The rule, as code: the expected time of a task, and the slots that running tasks leave (sections 4.3.2 and 4.4.3).
//
//   for each live job:
//     seen = expected = the declared time of one of its maps             // DeclaredTime in history/estimates.h
//     for each finished task, and each running one that has already taken longer than declared:
//       seen += its run time until now;  expected += its declared time
//     a task takes its declared time x seen / expected                   // the bias of the job
//   for each running task:
//     it ends at max(its start + its time, now + a tenth of its time)    // the second if it has overrun
//     its slot is free from then on, if its node will take another task
//   a job without pending tasks leaves the problem, since no plan changes when it ends
//
// For a job without maps a reduce takes the place of the one map. Times are rounded up to whole steps, of which a task
// takes a few hundred, so that slots become free together and a plan costs less to find.
//
// Pure functions of ClusterState. Thread rule: that of the state.
#pragma once

#include <map>
#include <optional>

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/policies/cp/cp_settings.h"
#include "schedulers/policies/cp/problem.h"

namespace millrace::sched {

// The expected times of a job's tasks, in us, not rounded.
struct TaskTimes {
  double map = 0, reduce = 0;
};

struct CpSnapshot {
  PlanProblem problem;               // except `previous`
  std::map<JobId, TaskTimes> times;  // of the live jobs
  // The time at which the first running task will have overrun its expected time by half, or by half again, so that
  // times change even if nothing else happens. It is at least half a map time from now.
  std::optional<Micros> review;
};

// Returns the picture at `now`. O(nodes + running tasks + jobs).
[[nodiscard]] CpSnapshot MakeSnapshot(const ClusterState& state, const CpSettings& settings, Micros now);

// Returns the times learnt from finished tasks alone. O(1).
[[nodiscard]] TaskTimes FinishedTimes(const ClusterState& state, const JobState& job);

}  // namespace millrace::sched
