// SPDX-License-Identifier: Apache-2.0
// Estimates: the expected run time of a pending task of a job, from the current state.
//
// They are pure functions of ClusterState. Thread rule: that of the state.
#pragma once

#include <optional>
#include <vector>

#include "base/ids/time.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/policy_view.h"

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

// Deadlines for `scheduler show`: the time of each deadline, and how much time its job can still lose. Thread rule:
// that of the state.

// Returns the live jobs with a deadline, the earliest deadline first. The slack is the time left until the deadline,
// less the time that the job would take if it had all slots to itself from now on. The job would take the time of its
// maps plus that of its reduces. The time of a kind is the larger of its work / the slots and the time of its longest
// task; a task takes MeasuredTime, or what is left of it if the task runs already.
[[nodiscard]] std::vector<DeadlineView> DeadlinesOf(const ClusterState& state, Micros now);

}  // namespace millrace::sched
