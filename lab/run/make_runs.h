// SPDX-License-Identifier: Apache-2.0
// MakeRuns makes the missing runs of a comparison, one after another. Thread rule: one thread.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "lab/run/run_store.h"
#include "schedulers/settings/settings.h"

namespace millrace::compare {

// Calls that report the runs as they are made.
struct RunsWatch {
  // Called before each run. If it returns true, no further run is made.
  std::function<bool()> stop = [] { return false; };
  // Called when a run begins. `warm_up`: the run will be discarded.
  std::function<void(const PlannedRun& run, bool warm_up)> begun = [](const PlannedRun&, bool) {};
  std::function<void(const RunRecord& record)> ended = [](const RunRecord&) {};
};

enum class Making { kComplete, kStopped };

// Makes the runs of the design that the store lacks. `schedulers` are those of the design. A live arena first makes a
// warm-up run, which is discarded. A run without an outcome is tried at most kMostAgain more times, and not at all
// after kInvalid or kDenied. If the arena returns kCancelled, as a live one does after a signal, no further run is
// made, just as when `stop` returns true.
//
// Returns the arena's failure, or kCorrupt if the outputs of a run differ from those of the other runs of its seed;
// that run is not kept. The rows of tasks and samples are kept for live runs only; the simulator can make its own
// again.
[[nodiscard]] Result<Making> MakeRuns(Arena& arena, const Design& design, const std::vector<sched::Variant>& schedulers,
                                      RunStore& store, const RunsWatch& watch);

// Returns the number of runs that are still to be made if none of them is disturbed.
[[nodiscard]] std::size_t RunsLeft(const Design& design, const RunStore& store);

}  // namespace millrace::compare
