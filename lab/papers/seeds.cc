#include "lab/papers/seeds.h"

#include <atomic>
#include <thread>

#include "base/check.h"

namespace millrace::sim::experiments {

std::vector<Findings> RunSeeds(const Experiment& experiment, const Options& options, std::uint32_t seeds,
                               std::uint32_t threads) {
  MILLRACE_CHECK(seeds > 0 && threads > 0, "nothing to run, or nobody to run it");
  std::vector<Findings> findings(seeds);
  // Each run has its own place in `findings`, so the threads share the counter alone.
  std::atomic<std::uint32_t> next = 0;
  const auto work = [&] {
    for (std::uint32_t run = next++; run < seeds; run = next++) {
      Options of_seed = options;
      of_seed.seed += run;
      findings[run] = experiment.run(of_seed);
    }
  };
  std::vector<std::jthread> others;
  for (std::uint32_t t = 1; t < threads; ++t) others.emplace_back(work);
  work();
  others.clear();  // joins them
  return findings;
}

}  // namespace millrace::sim::experiments
