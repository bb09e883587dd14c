// The picture of the cluster that `cp` plans for (plan/problem.h), with what it learnt of each job's task times.
//
// The rule, as code: what a task is expected to take, and what running tasks leave to plan (sections 4.3.2 and 4.4.3).
//
//   for each live job:
//     seen = expected = what one of its maps was declared to take        // DeclaredTime in history/estimates.h
//     for each finished task, and each that already runs for longer than declared:
//       seen += its run time until now;  expected += what it was declared to take
//     a task takes what was declared x seen / expected                   // the bias of the job
//   for each running task:
//     it ends at max(its start + what it takes, now + a tenth of that)   // it has outlived its expectation
//     its slot is free from then on, if its node will take another task
//   a job without pending tasks leaves the problem, since no plan changes when it ends
//
// A job without maps has a reduce in the place of that one map. Times are rounded up to a few hundred steps of a task,
// so that slots become free together and a plan costs less to find.
//
// Pure functions of ClusterState. Thread rule: that of the state.
#pragma once

#include <map>
#include <optional>

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/policies/cp/cp_settings.h"
#include "schedulers/policies/cp/plan/problem.h"

namespace millrace::sched {

// How long a task of a job is expected to take, in us, not rounded.
struct TaskTimes {
  double map = 0, reduce = 0;
};

struct CpSnapshot {
  PlanProblem problem;               // but for `previous`
  std::map<JobId, TaskTimes> times;  // of the live jobs
  // When the first running task will have outlived its expectation by half or by half again, so that times change
  // although nothing happens; at least half a map time from now.
  std::optional<Micros> review;
};

// O(nodes + running tasks + jobs).
[[nodiscard]] CpSnapshot MakeSnapshot(const ClusterState& state, const CpSettings& settings, Micros now);

// The times by finished tasks alone. O(1).
[[nodiscard]] TaskTimes FinishedTimes(const ClusterState& state, const JobState& job);

}  // namespace millrace::sched
