// Deadlines for `scheduler show`: the time of each, and how much time the job can still lose. Thread rule: that of the
// state.
#pragma once

#include <vector>

#include "base/ids/time.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/policy_view.h"

namespace millrace::sched {

// Returns the live jobs with a deadline, the earliest deadline first. The slack is the time left until the deadline,
// less the time that the job would take if it had all slots to itself from now on. That time is, for maps, then for
// reduces, the larger of its work / the slots and the time of one task (MeasuredTime; of running tasks, the rest of
// it).
[[nodiscard]] std::vector<DeadlineView> DeadlinesOf(const ClusterState& state, Micros now);

}  // namespace millrace::sched
