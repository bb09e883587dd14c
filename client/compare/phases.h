// Phases: where the time of jobs goes, on average over the jobs of a run that succeeded.
//
// The turnaround of a job is cut at moments of its own, so that its phases add up to it: until the first launch it
// waits; until its last map has succeeded it maps; then the reduce that ended last tells: until its launch the job
// waits again, until it has copied it copies, until it has its compute permit it waits for that, and then it computes.
// A job without reduces ends with its maps.
// Thread rule: free functions, any thread.
#pragma once

#include <optional>

#include "schedulers/sim/metrics/metrics.h"

namespace millrace::compare {

struct Phases {
  double wait = 0, map = 0, copy = 0, permit = 0, compute = 0;  // seconds a job
};

// Returns nothing if the result has no rows of tasks or no job succeeded.
[[nodiscard]] std::optional<Phases> PhasesOf(const sim::SimResult& result);

}  // namespace millrace::compare
