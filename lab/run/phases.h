// SPDX-License-Identifier: Apache-2.0
// Phases show where the time of jobs goes, averaged over the jobs that succeeded in a run.
//
// The turnaround of a job is cut into phases that add up to it. Until its first launch, the job waits; then, until its
// last map has succeeded, it maps. The reduce that ended last determines the rest. Until the launch of that reduce, the
// job waits again; until the reduce has copied its input, the job copies; until the reduce has its compute permit, the
// job waits for the permit; and then the job computes. A job without reduces ends with its maps.
// Thread rule: free functions, any thread.
#pragma once

#include <optional>

#include "lab/measure/metrics.h"

namespace millrace::compare {

struct Phases {
  double wait = 0, map = 0, copy = 0, permit = 0, compute = 0;  // seconds per job
};

// Returns nothing if the result has no rows of tasks or no job succeeded.
[[nodiscard]] std::optional<Phases> PhasesOf(const sim::SimResult& result);

}  // namespace millrace::compare
