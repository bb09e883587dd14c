// SPDX-License-Identifier: Apache-2.0
// LiveResults: the results of live comparisons, each in a directory of its own: comparison.json and jobs.csv
// (docs/schedulers/comparing.md). Thread rule: one thread.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "base/status.h"
#include "lab/measure/metrics.h"

namespace millrace::sim::experiments {

class LiveResults {
 public:
  explicit LiveResults(std::string directory) : directory_(std::move(directory)) {}

  // Returns the document of this comparison; null if it has not been made. Returns kCorrupt if it is not the document
  // of a comparison, or if a ratio in it differs from that of its runs.
  [[nodiscard]] Result<const nlohmann::ordered_json*> Document(const std::string& name);

  // Returns the jobs of the first run of a scheduler with this seed, of the comparison: classes, times and places.
  [[nodiscard]] Result<SimResult> Jobs(const std::string& name, const std::string& scheduler, std::uint64_t seed);

 private:
  using Key = std::pair<std::string, std::uint64_t>;  // scheduler, seed

  [[nodiscard]] Status ReadJobs(const std::string& name);

  std::string directory_;
  std::map<std::string, nlohmann::ordered_json> documents_;
  std::map<std::string, std::map<Key, SimResult>> jobs_;
};

}  // namespace millrace::sim::experiments
