// RunSeeds: runs an experiment with several seeds, on several threads.
#pragma once

#include <cstdint>
#include <vector>

#include "lab/papers/experiment.h"

namespace millrace::sim::experiments {

// Runs the experiment with the seeds options.seed, options.seed + 1, ... Returns the findings in the order of the
// seeds; they do not depend on the number of threads. Requires: seeds and threads are above 0.
[[nodiscard]] std::vector<Findings> RunSeeds(const Experiment& experiment, const Options& options, std::uint32_t seeds,
                                             std::uint32_t threads);

}  // namespace millrace::sim::experiments
