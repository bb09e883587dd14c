// SPDX-License-Identifier: Apache-2.0
// Makes a live run again in the simulator: the same jobs on the nodes, racks, datacenters and slots of the cluster,
// with its costs (costs.h). The simulation uses the places and lengths of the run's blocks, and the times at which jobs
// that follow no other job reached the master. It does not use the times of the run's tasks.
// Thread rule: free functions, any thread.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "lab/beside/costs.h"
#include "schedulers/settings/settings.h"

namespace millrace::compare {

// Returns cluster and workload for the simulation. `live` is the run; its jobs are those of the file.
[[nodiscard]] sim::SimulationFile FileBeside(const sim::SimulationFile& file, const Costs& costs,
                                             const std::vector<NodeRow>& nodes, const RunOutcome& live);

// Simulates the run, with its rows of tasks. Returns kInvalid if the run cannot be simulated because a class with a
// program has tasks without times in the file, and none of them was measured.
[[nodiscard]] Result<RunOutcome> RunBeside(const sim::SimulationFile& file, const Costs& costs,
                                           const std::vector<NodeRow>& nodes, const RunOutcome& live,
                                           const sched::Variant& scheduler);

}  // namespace millrace::compare
