// Estimates: how long a pending task of a job will take, from what is known at the moment.
//
// Pure functions of ClusterState. Thread rule: that of the state.
#pragma once

#include <optional>

#include "schedulers/core/cluster_state.h"

namespace millrace::sched {

// Where nothing at all is known.
inline constexpr Time kUnknownTaskTime = 10'000'000;

// The mean of all tasks that have finished in the cluster, else kUnknownTaskTime; at least 1 us, so that more tasks are
// more work.
[[nodiscard]] Time ClusterTaskTime(const ClusterState& state, TaskKind kind);
// cp (SCHEDULERS.md section 11): what the user said, else the mean of the job's own finished tasks, else the history of
// its program and input type, else the cluster's mean of that kind, else kUnknownTaskTime.
[[nodiscard]] Time DeclaredTime(const ClusterState& state, const JobState& job, TaskKind kind);
// FRESH and sjf (sections 7, 8): the mean of the job's own finished tasks, else what the user said, else the history,
// else the cluster's mean, else kUnknownTaskTime.
[[nodiscard]] Time MeasuredTime(const ClusterState& state, const JobState& job, TaskKind kind);
// The same as far as the job itself goes; nothing if it is left to the cluster's mean, which is another after each task
// of any job.
[[nodiscard]] std::optional<Time> OwnMeasuredTime(const JobState& job, TaskKind kind);

// What the job has yet to do of this kind: pending tasks x MeasuredTime.
[[nodiscard]] double RemainingWork(const ClusterState& state, const JobState& job, TaskKind kind);

}  // namespace millrace::sched
