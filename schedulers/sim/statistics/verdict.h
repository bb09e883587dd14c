// Verdict: whether a scheduler is better than the baseline, by paired runs.
//
// A difference counts only if it matters, and if it is more than equal schedulers show by chance. The interval of the
// ratio is held against two regions around 1: the practical one, from 1 / (1 + d) to 1 + d with d = 3% by default, and
// that one widened, if need be, to hold the interval of the baseline against itself (A/A).
// - same: the whole interval lies within the practical region;
// - better, worse: the whole interval lies beyond the wider region, there are pairs enough that chance can be told from
//   it (kFewestForSignificance), and, for a headline metric, Holm's p is below 5%;
// - undecided: all else. `more_runs` says about how many further pairs would decide, by the deviation that was seen
//   (Kalibera and Jones, "Rigorous benchmarking in reasonable time", ISMM 2013).
// A metric with a value that is not above 0 has no ratio: then the differences are judged, the region reaching to d of
// the baseline's mean on both sides of 0.
//
// Winners: of all schedulers, those that no other one is shown to beat: one beats it whose advantage lies beyond the
// region, with a sign-flip p below 5% after Holm's adjustment over all rivals of the scheduler (after multiple
// comparisons with the best, Hsu 1984). A set, not one name.
// Thread rule: free functions, any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "schedulers/sim/statistics/paired.h"

namespace millrace::sim {

enum class Verdict : std::uint8_t { kBetter, kWorse, kSame, kUndecided };
[[nodiscard]] std::string_view VerdictName(Verdict verdict);  // in lower case

enum class Better : std::uint8_t { kLower, kHigher };

inline constexpr double kPracticalDifference = 0.03;
inline constexpr double kSignificance = 0.05;
inline constexpr std::uint32_t kMostMoreRuns = 1000;

// One scheduler against the baseline by one metric.
struct Comparison {
  std::uint32_t runs = 0;            // pairs
  std::optional<Estimate> ratio;     // rival / baseline; nothing if a value is not above 0
  std::optional<Estimate> shift;     // rival - baseline; nothing for few pairs: see HodgesLehmannInterval
  Estimate difference;               // mean of rival - baseline, by bootstrap-t
  double p = 1;                      // of the logarithms of the ratios, where there are ratios; else of the differences
  std::optional<double> p_adjusted;  // of a headline metric
  Verdict verdict = Verdict::kUndecided;
  std::optional<std::uint32_t> more_runs;  // if undecided; nothing if that would be more than kMostMoreRuns
};

// The runs of all schedulers by one metric.
struct MetricRuns {
  Better better = Better::kLower;
  bool headline = false;
  std::vector<std::vector<double>> values;  // by scheduler, then by seed; all of one length, at least 2
  std::vector<double> second;               // the baseline's second run of each seed; may be empty
};

struct MetricComparison {
  std::vector<Comparison> schedulers;         // by scheduler; the baseline's own is left as it is
  std::optional<Estimate> same_against_same;  // ratio of second to first, or their difference where there is no ratio
  std::vector<std::uint32_t> winners;         // in rising order
};

struct CompareOptions {
  double practical = kPracticalDifference;  // above 0
  double significance = kSignificance;      // of Holm's p; smaller for a look before the last one of a sequence
};

// Compares all metrics; Holm's adjustment is over the headline metrics times the rivals. Requires: baseline is one of
// the schedulers, and every metric has the same ones.
[[nodiscard]] std::vector<MetricComparison> Compare(const std::vector<MetricRuns>& metrics, std::uint32_t baseline,
                                                    const CompareOptions& options = {});

}  // namespace millrace::sim
