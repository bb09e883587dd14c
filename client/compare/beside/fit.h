// FitCosts: the costs with which the simulator meets runs of a live cluster.
//
// A simulated task takes time for its reading and copying, too, and links are shared in the simulator as on the
// cluster. So what is measured on the live runs (MeasureCosts) is what a task takes in all, and what the simulator adds
// by itself has to come off it. It is found by simulating: the runs are simulated, the same is measured on the
// simulations, and latencies and scales are changed by the difference, a few times over. Meanwhile the share of the
// cores that tasks have is halved in until attempts wait for cores in the simulations as long as they did live; it is
// never more than all of them. Thread rule: free functions, any thread.
#pragma once

#include <vector>

#include "base/status.h"
#include "client/compare/beside/costs.h"
#include "schedulers/settings/variant.h"

namespace millrace::compare {

// `scheduler` is that of the runs. Fails as RunBeside does. Requires: as MeasureCosts.
[[nodiscard]] Result<Costs> FitCosts(const std::vector<MeasuredRun>& runs, const std::vector<NodeRow>& nodes,
                                     const sched::Variant& scheduler);

}  // namespace millrace::compare
