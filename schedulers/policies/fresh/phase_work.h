// The remaining work that fresh-dynamic weighs (FRESH section V.B; docs/schedulers/policies.md#fresh).
//
//   w'_m, w'_r = pending maps, or reduces, of a job x their mean time
//   RW_m = sum of w'_m over M; RW_r = sum of w'_r over R and R'; a = the job of M with the least (w'_m, id)
//
// The mean time is the job's own, else its user's estimate, else that of its history, else the cluster's. The sums are
// made again each time. Thread rule: a free function over its arguments. Cost: O(jobs in M, R' and R).
#pragma once

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/policies/fresh/expected_map_slots.h"
#include "schedulers/policies/fresh/phase_admission.h"

namespace millrace::sched {

// Returns the inputs of ExpectedMapSlots. The mean time between the ends of reduces is the mean time of a reduce
// divided by the number of running reduces (Little's law). This rule needs no clock, and its inputs are known again
// after a restart.
[[nodiscard]] PhaseOutlook OutlookOf(const ClusterState& state, const PhaseAdmission& admission);

}  // namespace millrace::sched
