// SPDX-License-Identifier: Apache-2.0
// The metrics that are compared: the figures of one run (docs/schedulers/policies.md#metrics), and the dictionary that
// explains each.
//
// A metric that is about jobs can be of the jobs of one group: "turnaround/alert" is the mean turnaround of the jobs of
// the class alert or, if no job of the run has a class of this name, of the pool, or else of the user; and
// "turnaround/pool=ads" says which. Thread rule: free functions, any thread.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lab/measure/verdict.h"
#include "lab/run/arena.h"
#include "lab/workload/workload.h"

namespace millrace::compare {

struct Metric {
  std::string_view key;   // on the command line and in the documents
  std::string_view name;  // for people
  std::string_view unit;  // "s", "bytes", "share" (0 to 1), "count" or "ratio"
  sim::Better better;
  std::string_view says;  // one sentence
  // Returns the value for a run; nothing if the run has none, such as the share of late jobs if no job has a deadline.
  std::function<std::optional<double>(const RunOutcome& outcome)> of;
  bool of_ended = false;   // a figure of the jobs that ended
  bool by_median = false;  // many runs are summarised by their median, since a few can be far off; else by their mean
  bool of_jobs = false;    // computed from the rows of jobs, so that it can be of a group of them
};

// Returns all metrics, in the order in which they are shown.
[[nodiscard]] std::span<const Metric> Metrics();
// Returns the metric of this key, or the one of a group ("turnaround/alert"); null if there is none. It exists as long
// as the process.
[[nodiscard]] const Metric* FindMetric(std::string_view key);
[[nodiscard]] std::vector<std::string> MetricKeys();

// A way to divide jobs into groups.
struct GroupKind {
  std::string_view name;
  std::string sim::JobRow::*of;
};
// In the order in which a bare name is looked for.
inline constexpr GroupKind kGroupKinds[] = {
    {"class", &sim::JobRow::group}, {"pool", &sim::JobRow::pool}, {"user", &sim::JobRow::user}};

// Returns what follows the first '/' of a key, "alert" or "pool=ads"; empty if the metric is of all jobs.
[[nodiscard]] std::string_view GroupOf(std::string_view key);
// Returns whether some job of the workload is in the group.
[[nodiscard]] bool AnyInGroup(const sim::Workload& workload, std::string_view group);

// Returns a value for people: "12.3 s", "1.5 GiB", "81.2%".
[[nodiscard]] std::string FormatValue(const Metric& metric, double value);

}  // namespace millrace::compare
