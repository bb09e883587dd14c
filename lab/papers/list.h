// The papers' evaluations that no file can express: one function each, in a file of the same name. list.cc describes
// what each one shows. Thread rule: any thread; experiments share nothing.
#pragma once

#include <string_view>
#include <vector>

#include "lab/study/findings.h"

namespace millrace::sim::experiments {

struct Experiment {
  std::string_view name;   // "multi-user"
  std::string_view title;  // "benchmark BM: response times and locality by job size"
  std::string_view paper;  // "Zaharia et al. 2009, table 2"
  Findings (*run)(const Options& options);
};

// Returns all experiments, in the order of docs/schedulers/papers.md.
[[nodiscard]] const std::vector<Experiment>& ListExperiments();

[[nodiscard]] Findings MultiUser(const Options& options);
[[nodiscard]] Findings LsapLocality(const Options& options);
[[nodiscard]] Findings LsapCost(const Options& options);
[[nodiscard]] Findings LsapFairness(const Options& options);
[[nodiscard]] Findings FreshSimple(const Options& options);
[[nodiscard]] Findings FreshSets(const Options& options);
[[nodiscard]] Findings JossWorkloads(const Options& options);

}  // namespace millrace::sim::experiments
