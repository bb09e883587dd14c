// SPDX-License-Identifier: Apache-2.0
// FitCosts finds the costs with which the simulator matches runs of a live cluster.
//
// A simulated task takes time for its reading and copying, too, and links are shared in the simulator as on the
// cluster. The live runs give the whole time of a task (MeasureCosts), from which the part that the simulator adds by
// itself has to be taken off. The fit does this by simulation: the runs are simulated, the costs are measured on the
// simulations, and latencies and scales are changed by the difference, a few times over. Meanwhile bisection finds the
// share of the cores, at most all, with which attempts wait for cores as long in the simulations as they did live.
// Thread rule: free functions, any thread.
#pragma once

#include <vector>

#include "base/status.h"
#include "lab/beside/costs.h"
#include "schedulers/settings/settings.h"

namespace millrace::compare {

// `scheduler` is that of the runs. Fails as RunBeside does. Requires: the same as MeasureCosts.
[[nodiscard]] Result<Costs> FitCosts(const std::vector<MeasuredRun>& runs, const std::vector<NodeRow>& nodes,
                                     const sched::Variant& scheduler);

}  // namespace millrace::compare
