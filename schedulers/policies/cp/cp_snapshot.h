// The picture of the cluster that `cp` plans for (cp/plan/problem.h), with what it learnt of each job's task times.
//
// A task is expected to take what DeclaredTime says (history/estimates.h) times the bias of its job: the run time of
// the job's finished tasks and of those that run longer than declared, over what was declared of them, with one map
// beside them that took what was declared. A task that has outlived its expectation is given a tenth of it more. Times
// are rounded up to a few hundred steps of a task, so that slots become free together and a plan costs less to find.
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
[[nodiscard]] CpSnapshot TakeSnapshot(const ClusterState& state, const CpSettings& settings, Micros now);

// The times by finished tasks alone. O(1).
[[nodiscard]] TaskTimes FinishedTimes(const ClusterState& state, const JobState& job);

}  // namespace millrace::sched
