// SPDX-License-Identifier: Apache-2.0
// The metrics that are compared: the figures of one run (docs/schedulers/policies.md#metrics), and the dictionary that
// explains each. Thread rule: free functions, any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/measure/verdict.h"
#include "lab/run/arena.h"

namespace millrace::compare {

struct Metric {
  std::string_view key;   // on the command line and in the documents
  std::string_view name;  // for people
  std::string_view unit;  // "s", "bytes", "share" (0 to 1), "count" or "ratio"
  sim::Better better;
  std::string_view says;  // one sentence
  // Returns the value for a run; nothing if the run has none, such as the share of late jobs if no job has a deadline.
  std::optional<double> (*of)(const RunOutcome& outcome);
  bool of_ended = false;   // a figure of the jobs that ended
  bool by_median = false;  // many runs are summarised by their median, since a few can be far off; else by their mean
};

// Returns all metrics, in the order in which they are shown.
[[nodiscard]] std::span<const Metric> Metrics();
// Returns the metric of this key; null if there is none.
[[nodiscard]] const Metric* FindMetric(std::string_view key);
[[nodiscard]] std::vector<std::string> MetricKeys();

// Returns a value for people: "12.3 s", "1.5 GiB", "81.2%".
[[nodiscard]] std::string FormatValue(const Metric& metric, double value);

}  // namespace millrace::compare
