// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <numeric>

#include "lab/generate/text.h"

namespace millrace::generate {
namespace {

// Goes through the random numbers in an even grid, so that there is no chance in it: each outcome must come up as often
// as its weight says, to the step of the grid.
void ExpectShares(const std::vector<double>& weights) {
  constexpr std::uint64_t kGrid = 1024;
  const AliasTable table(weights);
  std::vector<std::uint64_t> drawn(weights.size());
  const std::uint64_t cell = (std::uint64_t{1} << 32) / weights.size();
  for (std::uint64_t i = 0; i < weights.size(); ++i) {
    for (std::uint64_t step = 0; step < kGrid; ++step) {
      const std::uint64_t high = i * cell + cell / 2, low = (step << 22) + (1 << 21);
      ++drawn[table.Draw(high << 32 | low)];
    }
  }
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const double share = weights[i] / sum * static_cast<double>(weights.size() * kGrid);
    // Each cell rounds once for the outcome that it holds.
    EXPECT_NEAR(static_cast<double>(drawn[i]), share, 1 + static_cast<double>(weights.size()) / 2) << i;
  }
}

TEST(AliasTable, EachOutcomeComesAsOftenAsItsWeightSays) {
  ExpectShares({1});
  ExpectShares({1, 1, 1, 1, 1, 1, 1, 1});
  ExpectShares({1, 2, 3, 4});
  ExpectShares({1e-6, 1, 1e-6, 1});
  std::vector<double> zipf(64);
  for (std::size_t i = 0; i < zipf.size(); ++i) zipf[i] = 1 / static_cast<double>(i + 1);
  ExpectShares(zipf);
}

}  // namespace
}  // namespace millrace::generate
