// A live run made again in the simulator: the same jobs on the nodes, racks, datacenters and slots of the cluster, with
// its costs (costs.h), and with what is known of the run: where the blocks lay, how long they were, and when the jobs
// that have a time came to the master. What the run itself took for its tasks does not go into its simulation.
// Thread rule: free functions, any thread.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "client/compare/beside/costs.h"
#include "schedulers/settings/variant.h"

namespace millrace::compare {

// Returns cluster and workload as they are simulated. `live` is the run, whose jobs are those of the file.
[[nodiscard]] sim::SimulationFile FileBeside(const sim::SimulationFile& file, const Costs& costs,
                                             const std::vector<NodeRow>& nodes, const RunOutcome& live);

// Simulates the run, with its rows of tasks. Returns kInvalid for what cannot be simulated: a class with a program
// whose tasks the file does not time and of which none was measured.
[[nodiscard]] Result<RunOutcome> RunBeside(const sim::SimulationFile& file, const Costs& costs,
                                           const std::vector<NodeRow>& nodes, const RunOutcome& live,
                                           const sched::Variant& scheduler);

}  // namespace millrace::compare
