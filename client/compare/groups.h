// Groups: how the jobs of one class, of one pool and of one user fare under each scheduler, by their mean turnaround.
//
// All groups of a comparison are judged together by the rule of the metrics (verdict.h), with a significance of their
// own: of 100 comparisons of schedulers that are all alike, 5 at most show anything of any group.
// Thread rule: free functions, any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/compare/judge.h"

namespace millrace::compare {

struct JudgedGroup {
  std::string name;  // empty: jobs without a class, without a pool
  double jobs = 0;   // in a run of the baseline, on average
  // Seconds, by scheduler: the mean over the runs of the mean turnaround of its jobs. Nothing if none of them ended.
  std::vector<std::optional<double>> means;
  // Nothing if there is a run in which no job of it ended: then the runs are not pairs.
  std::optional<sim::MetricComparison> comparison;
};

// One way to part the jobs.
struct Grouping {
  std::vector<std::string_view> kinds;  // of "class", "pool" and "user" those that part the jobs in this way
  std::size_t groups = 0;               // how many there are
  std::vector<JudgedGroup> largest;     // by name: the kMostGroups with the most jobs
};

inline constexpr std::size_t kMostGroups = 10;

// Returns the ways that part the jobs into two groups at least. Requires: as Judge.
[[nodiscard]] std::vector<Grouping> JudgeGroups(const Design& design, const std::vector<const RunRecord*>& counting,
                                                const sim::CompareOptions& options);

}  // namespace millrace::compare
