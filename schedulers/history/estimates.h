// Estimates: how long a pending task of a job will take, from what is known at the moment.
//
// They are pure functions of ClusterState. Thread rule: that of the state.
#pragma once

#include <optional>

#include "schedulers/cluster/cluster_state.h"

namespace millrace::sched {

// The estimate where nothing at all is known, in us.
inline constexpr Micros kUnknownTaskTime = 10'000'000;

// Returns the mean of all tasks that have finished in the cluster, else kUnknownTaskTime; at least 1 us, so that more
// tasks are more work.
[[nodiscard]] Micros ClusterTaskTime(const ClusterState& state, TaskKind kind);
// Returns the estimate of cp (docs/policies.md#estimates): what the user said, else the mean of the job's own finished
// tasks, else the history of its program and input type, else the cluster's mean of that kind, else kUnknownTaskTime.
[[nodiscard]] Micros DeclaredTime(const ClusterState& state, const JobState& job, TaskKind kind);
// Returns the estimate of FRESH and sjf (docs/policies.md#estimates): the mean of the job's own finished tasks, else
// what the user said, else the history, else the cluster's mean, else kUnknownTaskTime.
[[nodiscard]] Micros MeasuredTime(const ClusterState& state, const JobState& job, TaskKind kind);
// Returns the same as far as the job itself tells it; nothing if it is left to the cluster's mean, which changes after
// each task of any job.
[[nodiscard]] std::optional<Micros> OwnMeasuredTime(const JobState& job, TaskKind kind);

// Returns what the job has yet to do on slots of this kind: JobState::YetToHave x MeasuredTime.
[[nodiscard]] double RemainingWork(const ClusterState& state, const JobState& job, SlotKind kind);

}  // namespace millrace::sched
