// SPDX-License-Identifier: Apache-2.0
// Expected values are those of scipy 1.17 and statsmodels 0.15, by the calls that stand beside them.
#include "lab/measure/paired.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace millrace::sim {
namespace {

const std::vector<double> kEight = {1.3, -0.4, 2.1, 0.7, 1.9, -0.2, 0.9, 1.4};
const std::vector<double> kSeven = {0.11, 0.02, 0.05, 0.09, 0.04, 0.08, 0.03};
const std::vector<double> kSix = {1.0, -2, 3, -1.5, 2.5, 0.5};
const std::vector<double> kTwelve = {3.1, 2.2, 5.7, 4.4, 0.3, 6.1, 2.9, 3.8, 1.7, 4.9, 5.2, 2.4};
const std::vector<double> kEighteen = {0.3,  -0.1, 0.5,  0.2,  -0.4, 0.6,   0.1, 0.25, -0.15,
                                       0.35, 0.05, -0.3, 0.45, 0.15, -0.05, 0.2, 0.12, -0.22};

// stats.permutation_test((v,), mean, permutation_type="samples", n_resamples=np.inf).pvalue
TEST(PairedTest, SignFlipsAreAllCounted) {
  EXPECT_DOUBLE_EQ(SignFlipP(kEight), 0.03125);
  EXPECT_DOUBLE_EQ(SignFlipP(kSeven), 0.015625);
  EXPECT_DOUBLE_EQ(SignFlipP(kSix), 0.5625);
  EXPECT_DOUBLE_EQ(SignFlipP({1, 1, 1, -1, 1, 1, 0}), 0.21875) << "equal sums are as far, a 0 flips to itself";
  EXPECT_DOUBLE_EQ(SignFlipP(kTwelve), 0.00048828125) << "2 / 2^12: it can be no less";
}

// The share of all 2^18 sums by numpy: 0.105522. The deviation of a share of 99,999 draws is 0.001.
TEST(PairedTest, ManyPairsAreFlippedBySeededDraws) {
  EXPECT_NEAR(SignFlipP(kEighteen, {.resamples = 99'999}), 0.10552, 0.005);
  EXPECT_EQ(SignFlipP(kEighteen, {.seed = 5}), SignFlipP(kEighteen, {.seed = 5}));
  const std::vector<double> far(20, 1.0);
  EXPECT_DOUBLE_EQ(SignFlipP(far, {.resamples = 999}), 0.001) << "never 0: what was seen is one of the ways";
}

TEST(PairedTest, NoDifferenceShowsNothing) {
  EXPECT_EQ(SignFlipP({0, 0, 0}), 1);
  EXPECT_EQ(SignFlipP({0.4}), 1) << "a single pair";
}

// The medians by numpy; the ends are where stats.wilcoxon(v - shift, mode="exact") goes below 0.05.
TEST(PairedTest, TheShiftIsHodgesAndLehmanns) {
  EXPECT_NEAR(HodgesLehmann(kEight), 0.975, 1e-12);
  const std::optional<Estimate> eight = HodgesLehmannInterval(kEight);
  ASSERT_TRUE(eight.has_value());
  EXPECT_NEAR(eight->value, 0.975, 1e-12);
  EXPECT_NEAR(eight->low, 0.15, 1e-12);
  EXPECT_NEAR(eight->high, 1.75, 1e-12);
  const std::optional<Estimate> twelve = HodgesLehmannInterval(kTwelve);
  ASSERT_TRUE(twelve.has_value());
  EXPECT_NEAR(twelve->value, 3.65, 1e-12);
  EXPECT_NEAR(twelve->low, 2.35, 1e-12);
  EXPECT_NEAR(twelve->high, 4.8, 1e-12);
}

TEST(PairedTest, AnIntervalOfAShiftTakesSixPairs) {
  EXPECT_FALSE(HodgesLehmannInterval({1, 2, 3, 4, 5}).has_value()) << "2 / 2^5 is above 5%";
  const std::optional<Estimate> six = HodgesLehmannInterval(kSix);
  ASSERT_TRUE(six.has_value());
  EXPECT_DOUBLE_EQ(six->low, -2);
  EXPECT_DOUBLE_EQ(six->high, 3);
}

// By numpy, over all 2^8 rows of signs S and metrics D, each divided by the root of its sum of squares:
// (abs(S @ D.T).max(1)[:, None] >= abs(D.sum(1)) - 1e-12).mean(0)
TEST(PairedTest, MetricsAreReadTogetherByTheFarthestOfThem) {
  const std::vector<double> far = {0.2, 0.22, 0.18, 0.21, 0.19, 0.23, 0.2, 0.17},
                            noise = {0.1, -0.2, 0.15, -0.05, 0.02, 0.08, -0.11, 0.04};
  EXPECT_EQ(JointSignFlipP({kEight}), std::vector<double>{SignFlipP(kEight)}) << "one alone is as it was";
  const std::vector<double> alike = JointSignFlipP({kEight, kEight, kEight});
  for (const double p : alike) EXPECT_DOUBLE_EQ(p, 0.03125) << "metrics that say the same cost nothing";
  const std::vector<double> joint = JointSignFlipP({far, kEight, noise});
  ASSERT_EQ(joint.size(), 3u);
  EXPECT_DOUBLE_EQ(joint[0], 0.0078125);
  EXPECT_DOUBLE_EQ(joint[1], 0.078125);
  EXPECT_DOUBLE_EQ(joint[2], 1.0);
  std::vector<double> scaled = kEight;
  for (double& value : scaled) value *= 1e6;
  EXPECT_EQ(JointSignFlipP({far, scaled, noise}), joint) << "units do not count";
  EXPECT_EQ(JointSignFlipP({kEight, {0, 0, 0, 0, 0, 0, 0, 0}})[1], 1) << "no difference shows nothing";
}

// stats.kendalltau(a, b).statistic
TEST(PairedTest, KendallsTauCountsPairsInOneOrder) {
  EXPECT_NEAR(*KendallTau({1, 2, 3, 4, 5}, {2, 1, 3, 5, 4}), 0.6, 1e-12);
  EXPECT_NEAR(*KendallTau({1, 2, 2, 4}, {1, 3, 2, 2}), 0.4, 1e-12) << "ties";
  EXPECT_NEAR(*KendallTau({1, 2, 3}, {3, 2, 1}), -1, 1e-12);
  EXPECT_FALSE(KendallTau({1, 1, 1}, {1, 2, 3}).has_value());
}

// By the sum of twelve uniform numbers, which differs from a normal one in the tails beyond 3 deviations only.
double Normal(Random* random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += random->Unit();
  return sum;
}

// Nominally 95%; exact intervals hold a little more: 96.1% for 8 values, 95.1% for 10, by the steps of the statistic.
TEST(PairedCoverageTest, TheShiftsIntervalHoldsTheTrueOne) {
  constexpr int kTrials = 4'000;
  constexpr std::uint64_t kSeed = 11;
  for (const std::size_t pairs : {8u, 10u, 20u}) {
    Random random(kSeed);
    int hits = 0;
    for (int trial = 0; trial < kTrials; ++trial) {
      std::vector<double> values(pairs);
      for (double& value : values) value = 5 + Normal(&random);
      const std::optional<Estimate> interval = HodgesLehmannInterval(values);
      ASSERT_TRUE(interval.has_value());
      hits += interval->low <= 5 && 5 <= interval->high ? 1 : 0;
    }
    const double coverage = 100.0 * hits / kTrials;
    EXPECT_GE(coverage, 94) << pairs << " pairs, seed " << kSeed;
    EXPECT_LE(coverage, 97.5) << pairs << " pairs, seed " << kSeed;
  }
}

// Equal schedulers are told apart in at most 5% of all experiments.
TEST(PairedCoverageTest, SignFlipsClaimNoMoreThanTheyMay) {
  constexpr int kTrials = 4'000;
  constexpr std::uint64_t kSeed = 12;
  Random random(kSeed);
  int claims = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> values(8);
    for (double& value : values) value = Normal(&random);
    claims += SignFlipP(values) < 0.05 ? 1 : 0;
  }
  const double share = 100.0 * claims / kTrials;
  EXPECT_LE(share, 5.5) << "seed " << kSeed;
  EXPECT_GE(share, 3.5) << "seed " << kSeed << ": the test has lost its power";
}

}  // namespace
}  // namespace millrace::sim
