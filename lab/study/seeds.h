// SPDX-License-Identifier: Apache-2.0
// RunSeeds: runs an experiment, or the simulations of a paper's file, with several seeds, on several threads.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/status.h"
#include "lab/study/findings.h"

namespace millrace::sim::experiments {

// Returns the findings for one seed. It is called by several threads at once.
using RunOneSeed = std::function<Result<Findings>(const Options& options)>;

// Runs it with the seeds options.seed, options.seed + 1, ... Returns the findings in the order of the seeds, or the
// failure of the first seed that failed; neither depends on the number of threads. An exception that a run throws is
// its failure. Requires: seeds and threads are above 0.
[[nodiscard]] Result<std::vector<Findings>> RunSeeds(const RunOneSeed& run, const Options& options, std::uint32_t seeds,
                                                     std::uint32_t threads);

}  // namespace millrace::sim::experiments
