// The experiments: one function each, in a file of the same name. list.cc describes what each one shows.
#pragma once

#include "lab/papers/experiment.h"

namespace millrace::sim::experiments {

[[nodiscard]] Findings StickySlots(const Options& options);
[[nodiscard]] Findings SmallJobs(const Options& options);
[[nodiscard]] Findings SmallJobLocality(const Options& options);
[[nodiscard]] Findings MultiUser(const Options& options);
[[nodiscard]] Findings HoardedSlots(const Options& options);
[[nodiscard]] Findings Batch(const Options& options);
[[nodiscard]] Findings HotSpot(const Options& options);
[[nodiscard]] Findings LsapLocality(const Options& options);
[[nodiscard]] Findings LsapCost(const Options& options);
[[nodiscard]] Findings LsapFairness(const Options& options);
[[nodiscard]] Findings FreshSimple(const Options& options);
[[nodiscard]] Findings FreshSets(const Options& options);
[[nodiscard]] Findings JossWorkloads(const Options& options);
[[nodiscard]] Findings CpDeadlines(const Options& options);

}  // namespace millrace::sim::experiments
