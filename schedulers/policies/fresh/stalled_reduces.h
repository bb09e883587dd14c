// SPDX-License-Identifier: Apache-2.0
// Stalled reduces: where a slot has no type until it is filled, reduces that wait for a map that has to run again can
// hold all slots. Then no task ever ends, unless one of the reduces gives its slot to the map.
//
// The rule, as code:
//
//   if reduces run, none of them has all its input, no map runs, and none of the maps that may run fits in a free slot:
//     kill the reduce that was launched last on a node where one of these maps may run
//
// A node may run more reduces than its limit if another policy launched them. On such a node a slot for the map becomes
// free only when the reduces above the limit are killed, too. The slot is taken on the node where the fewest reduces
// have to be killed, and all of those are killed.
//
// A reduce that computes has all its input and is never killed. Thread rule: free functions over their arguments.
#pragma once

#include <vector>

#include "base/ids/ids.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/policy.h"

namespace millrace::sched {

// Returns false if TakeSlotForMap would return no reduces, whatever the jobs. O(1).
[[nodiscard]] bool ReducesMayStall(const ClusterState& state);

// Returns the reduces to kill, or none. `jobs` are the jobs with maps that the policy would launch.
[[nodiscard]] std::vector<Victim> TakeSlotForMap(const ClusterState& state, const std::vector<JobId>& jobs);

}  // namespace millrace::sched
