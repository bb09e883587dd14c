// SPDX-License-Identifier: Apache-2.0
// The papers' evaluations that no file can express: one function each, in a file of the same name. list.cc describes
// what each one shows. Thread rule: any thread; experiments share nothing.
#pragma once

#include <string_view>
#include <vector>

#include "lab/study/findings.h"

namespace millrace::sim::experiments {

struct Experiment {
  std::string_view name;   // "lsap-cost"
  std::string_view title;  // "data locality cost of one round, dl, lsap-uniform and lsap"
  std::string_view paper;  // "Guo et al. 2012, figures 5 to 8"
  Findings (*run)(const Options& options);
};

// Returns all experiments, in the order of docs/schedulers/papers.md.
[[nodiscard]] const std::vector<Experiment>& ListExperiments();

[[nodiscard]] Findings LsapLocality(const Options& options);
[[nodiscard]] Findings LsapCost(const Options& options);
[[nodiscard]] Findings LsapFairness(const Options& options);

}  // namespace millrace::sim::experiments
