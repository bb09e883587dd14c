// The experiments, one function in a file of its own name each; list.cc says what each shows.
#pragma once

#include <vector>

#include "schedulers/sim/experiments/experiment.h"

namespace millrace::sim::experiments {

[[nodiscard]] std::vector<Table> StickySlots(const Options& options);
[[nodiscard]] std::vector<Table> SmallJobs(const Options& options);
[[nodiscard]] std::vector<Table> MultiUser(const Options& options);
[[nodiscard]] std::vector<Table> Batch(const Options& options);
[[nodiscard]] std::vector<Table> HotSpot(const Options& options);
[[nodiscard]] std::vector<Table> LsapLocality(const Options& options);
[[nodiscard]] std::vector<Table> LsapCost(const Options& options);
[[nodiscard]] std::vector<Table> LsapFairness(const Options& options);
[[nodiscard]] std::vector<Table> FreshSets(const Options& options);
[[nodiscard]] std::vector<Table> JossWorkloads(const Options& options);
[[nodiscard]] std::vector<Table> CpDeadlines(const Options& options);

}  // namespace millrace::sim::experiments
