// SPDX-License-Identifier: Apache-2.0
// Candidates are the schedulers that fit the history of a cluster. Thread rule: free functions, any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "lab/workload/simulation_file.h"
#include "schedulers/settings/settings.h"

namespace millrace::compare {

// Returns the names of the policies of the catalogue, and of fair and fifo with the parts that may help. It leaves out
// those that have nothing to work on: edf and cp without deadlines, capacity without queues in the settings, JoSS in
// one datacenter, schedulers that look for data if no map reads any from the cluster or there is one node, +ccs without
// reduces, +preempt with one pool, and FRESH where slots cost nothing.
[[nodiscard]] std::vector<std::string> CandidatesFor(const sim::SimulationFile& history,
                                                     const sched::Settings& settings);

// Returns whether slots cost nothing in simulations of the history although its tasks work. That is so if the history
// does not say how many cores there are: each task then has all the cores that it can use, whatever runs beside it.
[[nodiscard]] bool SlotsCostNothing(const sim::SimulationFile& history);

// Returns whether the scheduler turns slots of one kind into the other, so that more tasks compute beside each other.
// Such a scheduler cannot be judged where slots cost nothing.
[[nodiscard]] bool TurnsSlots(std::string_view scheduler);

}  // namespace millrace::compare
