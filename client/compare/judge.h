// Judge: the statistics over the runs of a comparison. Thread rule: free functions, any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "client/compare/metrics_of_run.h"
#include "client/compare/run_record.h"
#include "schedulers/sim/statistics/verdict.h"

namespace millrace::compare {

// One metric over all runs.
struct JudgedMetric {
  const Metric* metric = nullptr;
  bool headline = false;
  sim::MetricRuns runs;  // by scheduler and block
  sim::MetricComparison comparison;
};

// Returns the metrics that every run knows, judged. `headline` holds keys; `counting` the runs that count, of blocks
// that are complete. Requires: two blocks.
[[nodiscard]] std::vector<JudgedMetric> Judge(const Design& design, const std::vector<const RunRecord*>& counting,
                                              const std::vector<std::string>& headline,
                                              const sim::CompareOptions& options);

// Returns for each scheduler whether the seeds leave its turnarounds as they are, so that its runs are one observation.
[[nodiscard]] std::vector<bool> FixedSchedulers(const Design& design, const std::vector<const RunRecord*>& counting);

// Returns whether the intervals of all headline metrics are known within `width` of their ratios, to both sides. A
// metric without ratio is as it is.
[[nodiscard]] bool NarrowEnough(const std::vector<JudgedMetric>& judged, const Design& design, double width);

// Returns for each scheduler the run whose mean turnaround is the median (the lower of two), of those that count.
[[nodiscard]] std::vector<const RunRecord*> MedianRuns(const Design& design,
                                                       const std::vector<const RunRecord*>& counting);

}  // namespace millrace::compare
