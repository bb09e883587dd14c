// Deadlines for `scheduler show`: the time of each deadline, and how much time its job can still lose. Thread rule:
// that of the state.
#pragma once

#include <vector>

#include "base/ids/time.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/policy_view.h"

namespace millrace::sched {

// Returns the live jobs with a deadline, the earliest deadline first. The slack is the time left until the deadline,
// less the time that the job would take if it had all slots to itself from now on. The job would take the time of its
// maps plus that of its reduces. The time of a kind is the larger of its work / the slots and the time of its longest
// task; a task takes MeasuredTime, or what is left of it if the task runs already.
[[nodiscard]] std::vector<DeadlineView> DeadlinesOf(const ClusterState& state, Micros now);

}  // namespace millrace::sched
