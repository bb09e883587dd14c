// SPDX-License-Identifier: Apache-2.0
// Paired comparison: the difference between two schedulers, from repeated runs under both.
//
// The runs are paired by seed: both schedulers had the same jobs, arrivals and data, so that the effect of the seed
// drops out of the difference (common random numbers). Effects come first, as ratio and shift with intervals; p values
// and verdicts follow from the same pairs.
//
// - Ratio: rival / baseline, by RatioByBootstrapT (estimate.h).
// - Shift: the Hodges-Lehmann estimate, the median of the means of all pairs of differences (Walsh averages), with the
//   exact interval of the signed-rank distribution (Hodges and Lehmann 1963; Hollander and Wolfe, "Nonparametric
//   Statistical Methods", section 3.3). With fewer than 6 pairs, no interval of 95% is finite.
// - p: the p value of the sign-flip test (Fisher 1935). There are 2^n ways to flip the signs of the differences; p is
//   the share of these ways whose sum is at least as far from 0 as the actual sum. It is exact for up to kExactPairs
//   pairs, and comes from seeded draws for more. It cannot be below 2 / 2^n, so fewer than kFewestForSignificance pairs
//   cannot be significant at 5%.
// - Several metrics of the same pairs: all metrics are flipped in the same ways, and each is compared with the largest
//   statistic that any of them has under a flip (maxT; Westfall and Young, "Resampling-based multiple testing", 1993).
//   Metrics that agree cost no more significance than one of them, and the least possible p is that of a single metric.
//
// Thread rule: free functions, any thread. The same values give the same results.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lab/measure/estimate.h"

namespace millrace::sim {

inline constexpr std::uint32_t kExactPairs = 16;
inline constexpr std::uint32_t kFewestForSignificance = 6;  // 2 / 2^6 = 0.031

// Returns the two-sided p value of the mean being 0; 1 if all differences are 0. Requires: at least one value.
[[nodiscard]] double SignFlipP(const std::vector<double>& differences, const Bootstrap& draws = {});

// Returns the p values of several metrics, adjusted for reading them together. The statistic is |sum| / sqrt(sum of
// squares), which does not depend on a metric's unit. Requires: equally many differences of each metric, at least one.
[[nodiscard]] std::vector<double> JointSignFlipP(const std::vector<std::vector<double>>& metrics,
                                                 const Bootstrap& draws = {});
// Returns the least p that this many pairs can have.
[[nodiscard]] double LeastSignFlipP(std::uint32_t pairs, const Bootstrap& draws = {});

// Returns the median of the Walsh averages. Requires: at least one value.
[[nodiscard]] double HodgesLehmann(const std::vector<double>& differences);
// Returns the result of HodgesLehmann with its exact interval; nothing for fewer pairs than kFewestForSignificance.
// Like the signed-rank test, the interval assumes symmetry around 0.
[[nodiscard]] std::optional<Estimate> HodgesLehmannInterval(const std::vector<double>& differences);

// Returns Kendall's tau-b of two rankings, 1 for the same order, -1 for the reverse; nothing if all values of one
// ranking are equal. Requires: equal lengths.
[[nodiscard]] std::optional<double> KendallTau(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace millrace::sim
