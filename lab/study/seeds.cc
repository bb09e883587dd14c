// SPDX-License-Identifier: Apache-2.0
#include "lab/study/seeds.h"

#include <atomic>
#include <exception>
#include <new>
#include <string>
#include <thread>
#include <utility>

#include "base/check.h"

namespace millrace::sim::experiments {
namespace {

// An exception that leaves a thread would end the process.
Result<Findings> RunAndCatch(const RunOneSeed& run_one, const Options& options) {
  try {
    return run_one(options);
  } catch (const std::bad_alloc&) {
    return Busy("seed " + std::to_string(options.seed) + ": out of memory");
  } catch (const std::exception& error) {
    return Internal("seed " + std::to_string(options.seed) + ": " + error.what());
  }
}

}  // namespace

Result<std::vector<Findings>> RunSeeds(const RunOneSeed& run_one, const Options& options, std::uint32_t seeds,
                                       std::uint32_t threads) {
  MILLRACE_CHECK(seeds > 0 && threads > 0, "nothing to run, or nobody to run it");
  std::vector<Result<Findings>> made(seeds, Findings{});
  // Each run has its own place in `made`, so the threads share the counter alone.
  std::atomic<std::uint32_t> next = 0;
  const auto work = [&] {
    for (std::uint32_t run = next++; run < seeds; run = next++) {
      Options of_seed = options;
      of_seed.seed += run;
      made[run] = RunAndCatch(run_one, of_seed);
    }
  };
  std::vector<std::jthread> others;
  for (std::uint32_t t = 1; t < threads; ++t) others.emplace_back(work);
  work();
  others.clear();  // joins them
  std::vector<Findings> findings;
  for (Result<Findings>& one : made) {
    if (!one.ok()) return one.status();
    findings.push_back(std::move(*one));
  }
  return findings;
}

}  // namespace millrace::sim::experiments
