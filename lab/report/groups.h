// SPDX-License-Identifier: Apache-2.0
// Groups are the jobs of one class, of one pool or of one user, judged under each scheduler by their mean turnaround.
//
// All groups of a comparison are judged together by the rule of the metrics (verdict.h), with a significance of their
// own: of 100 comparisons of schedulers that are all alike, at most 5 show a difference in any group.
// Thread rule: free functions, any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/report/judge.h"

namespace millrace::compare {

struct JudgedGroup {
  std::string name;  // empty: the jobs without a class, or without a pool
  double jobs = 0;   // in a run of the baseline, on average
  // By scheduler, in seconds: the mean turnaround of the group's jobs in a run, averaged over the runs. Not set if none
  // of these jobs ended.
  std::vector<std::optional<double>> means;
  // Not set if no job of the group ended in some run, since the runs are then not pairs.
  std::optional<sim::MetricComparison> comparison;
};

// One way to divide the jobs into groups.
struct Grouping {
  std::vector<std::string_view> kinds;  // those of "class", "pool" and "user" that divide the jobs in this way
  std::size_t groups = 0;               // the number of groups
  std::vector<JudgedGroup> largest;     // the kMostGroups with the most jobs, by name
};

inline constexpr std::size_t kMostGroups = 10;

// Returns the ways that divide the jobs into at least two groups. Requires: the same as Judge.
[[nodiscard]] std::vector<Grouping> JudgeGroups(const Design& design, const std::vector<const RunRecord*>& counting,
                                                const sim::CompareOptions& options);

}  // namespace millrace::compare
