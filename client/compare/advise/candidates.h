// Candidates: the schedulers that fit what a cluster has done. Thread rule: free functions, any thread.
#pragma once

#include <string>
#include <vector>

#include "schedulers/settings/settings.h"
#include "schedulers/sim/simulation_file.h"

namespace millrace::compare {

// Returns the names of the policies of the catalogue, and of fair and fifo with the parts that may help, but for those
// that have nothing to work on: edf and cp without deadlines, capacity without queues in the settings, JoSS in one
// datacenter, what looks for data where no map reads any from the cluster or there is one node, +ccs without reduces,
// and +preempt with one pool.
[[nodiscard]] std::vector<std::string> CandidatesFor(const sim::SimulationFile& history,
                                                     const sched::Settings& settings);

}  // namespace millrace::compare
