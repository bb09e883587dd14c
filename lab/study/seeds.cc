// SPDX-License-Identifier: Apache-2.0
#include "lab/study/seeds.h"

#include <string>

#include "base/check.h"
#include "lab/run/on_threads.h"

namespace millrace::sim::experiments {

Result<std::vector<Findings>> RunSeeds(const RunOneSeed& run_one, const Options& options, std::uint32_t seeds,
                                       std::uint32_t threads) {
  MILLRACE_CHECK(seeds > 0, "nothing to run");
  const auto of_seed = [&](std::uint32_t run) {
    Options seeded = options;
    seeded.seed += run;
    return run_one(seeded);
  };
  const auto name = [&](std::uint32_t run) { return "seed " + std::to_string(options.seed + run); };
  return compare::OnThreads<Findings>(seeds, threads, of_seed, name);
}

}  // namespace millrace::sim::experiments
