// SPDX-License-Identifier: Apache-2.0
// Verdict: decides from paired runs which of two schedulers is better by a metric. One rule decides both which
// schedulers are better or worse than the baseline and which are the winners.
//
// A difference counts only if it matters, if it is more than equal schedulers show by chance, and if it is more than
// any one of the examined differences shows by chance. The interval of the ratio is compared with two regions around 1:
// the practical one, from 1 / (1 + d) to 1 + d with d = 3% by default, and the same region widened, if need be, to
// contain the interval of the baseline against itself (A/A).
// - One scheduler is ahead of another if the whole interval lies beyond the wider region, there are enough pairs to
//   rule out chance (kFewestForSignificance), and the adjusted p is below 5%.
// - p is adjusted over all metrics and all pairs of schedulers: within a pair by maxT over the metrics (paired.h), over
//   the pairs by their number (Bonferroni). The headline metrics have four fifths of the 5% and the others the rest, so
//   that many metrics that nobody asked for do not hide the results of the few headlines. So at most 5% of comparisons
//   of schedulers that are all alike show any difference.
// - better, worse: the scheduler is ahead of the baseline, or the baseline is ahead of it.
// - same: the whole interval lies within the practical region.
// - undecided: all else. `more_runs` estimates how many further pairs would decide, from the observed deviations
//   (Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013).
// - winners: the schedulers that no other is ahead of. This is a set, not one name.
// A metric with a value that is not above 0 has no ratio. Then the differences are judged: the region reaches to d
// times the baseline's mean on both sides of 0, and at least to MetricRuns::least. Where there can be no verdict,
// Unjudged gives the reason. Thread rule: free functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "lab/measure/paired.h"

namespace millrace::sim {

enum class Verdict : std::uint8_t { kBetter, kWorse, kSame, kUndecided };
[[nodiscard]] std::string_view VerdictName(Verdict verdict);  // in lower case

enum class Better : std::uint8_t { kLower, kHigher };

// The reason why there is no verdict.
enum class Unjudged : std::uint8_t {
  kNo,              // there is a verdict
  kOtherJobs,       // different jobs ended under the two, and the metric is over the jobs that ended
  kOneObservation,  // the seeds change nothing under either
  kByItself,        // the metric differs between equal runs, and is not a headline
};
[[nodiscard]] std::string_view UnjudgedName(Unjudged why);  // empty for kNo

inline constexpr double kPracticalDifference = 0.03;
inline constexpr double kSignificance = 0.05;
inline constexpr double kHeadlineShare = 0.8;  // of the significance; the other metrics have the rest
inline constexpr std::uint32_t kMostMoreRuns = 1000;

// One scheduler against the baseline by one metric.
struct Comparison {
  std::uint32_t runs = 0;         // pairs; 1 if they are one observation
  std::optional<Estimate> ratio;  // rival / baseline; nothing if a value is not above 0
  std::optional<Estimate> shift;  // rival - baseline; nothing for few pairs: see HodgesLehmannInterval
  Estimate difference;            // mean of rival - baseline, by bootstrap-t
  double p = 1;                   // of the logarithms of the ratios, if there are ratios; else of the differences
  double p_adjusted = 1;          // as above
  Verdict verdict = Verdict::kUndecided;
  Unjudged unjudged = Unjudged::kNo;       // for any other value, the verdict is kUndecided
  std::optional<std::uint32_t> more_runs;  // if undecided; nothing if kMostMoreRuns would not suffice
};

// The runs of all schedulers by one metric.
struct MetricRuns {
  Better better = Better::kLower;
  bool headline = false;
  std::vector<std::vector<double>> values;  // by scheduler, then by seed; all of one length, at least 2
  std::vector<double> second;               // the baseline's second run of each seed; may be empty
  double least = 0;                         // the largest difference that does not matter, if there is no ratio
  bool of_ended = false;                    // the metric is over the jobs that ended
  bool by_itself = false;                   // the metric differs between equal runs; judged only if it is a headline
};

struct MetricComparison {
  std::vector<Comparison> schedulers;  // by scheduler; the baseline's own entry keeps its defaults
  bool has_ratios = true;              // all values are above 0
  // The practical and the wider region around no difference: a ratio from 1 / x to x, or a difference of x on both
  // sides if there is no ratio.
  double practical = 0, region = 0;
  std::optional<Estimate> same_against_same;  // ratio of second to first, or their difference if there is no ratio
  std::vector<std::uint32_t> winners;         // in rising order
};

struct CompareOptions {
  double practical = kPracticalDifference;  // above 0
  double significance = kSignificance;      // limit of the adjusted p; smaller for an interim look in a sequence
  // By scheduler and seed: a number for the set of jobs that ended, equal for equal sets. Empty: the same jobs ended
  // under all schedulers.
  std::vector<std::vector<std::uint64_t>> ended = {};
  // By scheduler: true if the seeds do not change the course of its runs. Two such schedulers are not told apart by a
  // metric that is the same in all runs of each but differs between the two, since that is one observation.
  std::vector<bool> fixed = {};
};

// Compares all metrics. Requires: baseline is one of the schedulers, and every metric has the same schedulers.
[[nodiscard]] std::vector<MetricComparison> Compare(const std::vector<MetricRuns>& metrics, std::uint32_t baseline,
                                                    const CompareOptions& options = {});

// Returns the fewest pairs with which one of this many schedulers can be ahead of another by a headline metric; at
// least kFewestForSignificance. Requires: at least two schedulers.
[[nodiscard]] std::uint32_t FewestRuns(std::size_t schedulers, double significance);

}  // namespace millrace::sim
