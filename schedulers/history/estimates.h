// Estimates: the expected run time of a pending task of a job, from the current state.
//
// They are pure functions of ClusterState. Thread rule: that of the state.
#pragma once

#include <optional>

#include "schedulers/cluster/cluster_state.h"

namespace millrace::sched {

// The estimate if nothing at all is known, in us.
inline constexpr Micros kUnknownTaskTime = 10'000'000;

// Returns the mean time of all tasks that have finished in the cluster, else kUnknownTaskTime; at least 1 us, so that
// more tasks always mean more work.
[[nodiscard]] Micros ClusterTaskTime(const ClusterState& state, TaskKind kind);
// Returns the estimate of cp (docs/schedulers/policies.md#estimates): the user's estimate, else the mean of the job's
// own finished tasks, else the history of its program and input type, else the cluster's mean of that kind, else
// kUnknownTaskTime.
[[nodiscard]] Micros DeclaredTime(const ClusterState& state, const JobState& job, TaskKind kind);
// Returns the estimate of FRESH and sjf (docs/schedulers/policies.md#estimates): the mean of the job's own finished
// tasks, else the user's estimate, else the history, else the cluster's mean, else kUnknownTaskTime.
[[nodiscard]] Micros MeasuredTime(const ClusterState& state, const JobState& job, TaskKind kind);
// Returns MeasuredTime if it comes from the job itself; nothing if it would come from the cluster's mean, which changes
// after each task of any job.
[[nodiscard]] std::optional<Micros> OwnMeasuredTime(const JobState& job, TaskKind kind);

// Returns the job's remaining work on slots of this kind: JobState::YetToHave x MeasuredTime.
[[nodiscard]] double RemainingWork(const ClusterState& state, const JobState& job, SlotKind kind);

}  // namespace millrace::sched
