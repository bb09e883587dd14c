// SPDX-License-Identifier: Apache-2.0
// Details are one run in full, as columns of the comparison document (docs/schedulers/comparison.md, "details"). Thread
// rule: free functions, any thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/run/arena.h"
#include "schedulers/settings/settings.h"

namespace millrace::compare {

// A run with its rows of tasks and samples.
struct DetailedRun {
  std::uint32_t scheduler = 0, block = 0;
  std::uint64_t seed = 0;
  RunOutcome outcome;
};

inline constexpr std::size_t kMostSamples = 1'000;  // samples of a run in its details

// Returns the details. Times count from the first submission of the run. Requires: the rows name jobs of the result and
// nodes of `nodes`.
[[nodiscard]] nlohmann::ordered_json DetailsJson(const DetailedRun& run, const std::vector<NodeRow>& nodes,
                                                 const sched::Settings& settings);

}  // namespace millrace::compare
