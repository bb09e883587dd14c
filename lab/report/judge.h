// SPDX-License-Identifier: Apache-2.0
// Judge computes the statistics over the runs of a comparison. Thread rule: free functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lab/measure/verdict.h"
#include "lab/report/metrics_of_run.h"
#include "lab/run/run_record.h"

namespace millrace::compare {

// One metric over all runs.
struct JudgedMetric {
  const Metric* metric = nullptr;
  bool headline = false;
  sim::MetricRuns runs;  // by scheduler and block
  sim::MetricComparison comparison;
};

// Judges the metrics that every run has, and those of groups that are in the headline. `headline` holds keys;
// `counting` holds the runs that count, of complete blocks. Requires: two blocks.
[[nodiscard]] std::vector<JudgedMetric> Judge(const Design& design, const std::vector<const RunRecord*>& counting,
                                              const std::vector<std::string>& headline,
                                              const sim::CompareOptions& options);

// Returns all metrics, and those of groups that were judged, in the order in which they are shown.
[[nodiscard]] std::vector<const Metric*> ShownMetrics(const std::vector<JudgedMetric>& judged);

// Returns the options, completed with the facts of the runs that decide whether there can be a verdict.
[[nodiscard]] sim::CompareOptions WithRuns(sim::CompareOptions options, const Design& design,
                                           const std::vector<const RunRecord*>& counting);

// Returns for each scheduler whether its mean turnaround is the same for all seeds, so that its runs are one
// observation.
[[nodiscard]] std::vector<bool> FixedSchedulers(const Design& design, const std::vector<const RunRecord*>& counting);

// Returns whether the interval of each headline metric's ratio reaches at most the share `width` of the ratio to either
// side. A metric without a ratio is ignored.
[[nodiscard]] bool NarrowEnough(const std::vector<JudgedMetric>& judged, const Design& design, double width);

// A block whose runs are shown in full: the same jobs, arrivals and data under every scheduler.
struct Picture {
  std::uint32_t block = 0;
  std::uint64_t seed = 0;
  std::string_view of_baseline;        // "median", "best" or "worst", by its baseline run; empty: none of these
  std::vector<const RunRecord*> runs;  // the first run of each scheduler, in order; schedulers without one are left out
};

// Returns all blocks: first that of the baseline's "median" run (the lower of two), then those of its "best" and its
// "worst" run, each only if its mean turnaround differs from the median, and then the others in their order.
[[nodiscard]] std::vector<Picture> PicturesOf(const Design& design, const std::vector<const RunRecord*>& counting);

}  // namespace millrace::compare
