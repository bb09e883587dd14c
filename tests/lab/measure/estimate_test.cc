// SPDX-License-Identifier: Apache-2.0
// Expected values are those of scipy 1.17 and numpy, by the calls that stand beside them.
#include "lab/measure/estimate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/random.h"

namespace millrace::sim {
namespace {

const std::vector<double> kLocality = {23.3, 31.0, 33.7, 32.2, 31.8, 33.1, 32.9, 31.5, 30.7, 33.0};
const std::vector<double> kGains = {1.72, 1.57, 1.35, 1.44, 1.61, 1.50, 1.39, 1.66, 1.48, 1.55};

TEST(EstimateTest, MeanAndDeviation) {
  EXPECT_DOUBLE_EQ(Mean({1, 2, 6}), 3);
  EXPECT_NEAR(Deviation(kLocality), 2.9813494334687514, 1e-12) << "kLocality.std(ddof=1)";
}

// stats.t.interval(0.95, len(v) - 1, v.mean(), stats.sem(v))
TEST(EstimateTest, TheIntervalOfAMeanIsStudents) {
  const Estimate ten = MeanByT(kLocality);
  EXPECT_NEAR(ten.value, 31.32, 1e-12);
  EXPECT_NEAR(ten.low, 29.1872710936564, 1e-9);
  EXPECT_NEAR(ten.high, 33.4527289063436, 1e-9);
  const Estimate two = MeanByT({1, 2});
  EXPECT_NEAR(two.low, -4.853102368087347, 1e-9);
  EXPECT_NEAR(two.high, 7.853102368087347, 1e-9);
}

// All 5^5 resamples by itertools.product, the 2.5% and 97.5% quantiles of their t*: no chance is left in these.
TEST(EstimateTest, TheBootstrapFindsTheQuantilesOfAllResamples) {
  const Estimate mean = MeanByBootstrapT({1, 2, 4, 9, 10.5});
  EXPECT_DOUBLE_EQ(mean.value, 5.3);
  EXPECT_NEAR(mean.low, 0.08042414314768909, 1e-9);
  EXPECT_NEAR(mean.high, 16.715647156425252, 1e-9);
}

// Five ratios of 1 and one of 1.15: exp of the ends over all 6^6 resamples by itertools.product, with a deviation of a
// quarter of the sample's at least. Without that the interval ends at 4.8.
TEST(EstimateTest, OneValueFarFromTheOthersDoesNotMakeTheIntervalAbsurd) {
  const Estimate ratio = RatioByBootstrapT({0.998, 1.001, 1.0, 1.002, 0.999, 1.15});
  EXPECT_NEAR(ratio.value, 1.02356622014449, 1e-12);
  EXPECT_NEAR(ratio.low, 0.9884176516514264, 0.002);
  EXPECT_NEAR(ratio.high, 1.1272733930539705, 0.002);
}

// np.quantile(t*, [.025, .975]) of 400,000 resamples with numpy's own generator; the rest is what 9,999 leave to
// chance.
TEST(EstimateTest, TheBootstrapFollowsSkewedValuesToTheSide) {
  const Estimate mean = MeanByBootstrapT(kLocality);
  EXPECT_NEAR(mean.low, 26.573, 0.7);
  EXPECT_NEAR(mean.high, 32.7218, 0.1);
}

// stats.gmean(g), and exp of the interval of np.log(g) as above.
TEST(EstimateTest, ARatioIsTheGeometricMean) {
  const Estimate ratio = RatioByBootstrapT(kGains);
  EXPECT_NEAR(ratio.value, 1.5229154046365303, 1e-12);
  EXPECT_NEAR(ratio.low, 1.43903, 0.005);
  EXPECT_NEAR(ratio.high, 1.61075, 0.005);
}

TEST(EstimateTest, ARatioAndItsInverseSayTheSame) {
  std::vector<double> inverse;
  for (const double gain : kGains) inverse.push_back(1 / gain);
  const Estimate gain = RatioByBootstrapT(kGains);
  const Estimate loss = RatioByBootstrapT(inverse);
  EXPECT_NEAR(loss.value, 1 / gain.value, 1e-12);
  EXPECT_NEAR(loss.low, 1 / gain.high, 0.002) << "the ranks of the two tails are mirrored";
  EXPECT_NEAR(loss.high, 1 / gain.low, 0.002);
}

TEST(EstimateTest, ValuesThatAreAllAlikeLeaveNothingOpen) {
  for (const Estimate& estimate : {MeanByT({7, 7, 7}), MeanByBootstrapT({7, 7, 7}), RatioByBootstrapT({7, 7, 7})}) {
    EXPECT_NEAR(estimate.value, 7, 1e-12);
    EXPECT_EQ(estimate.low, estimate.value);
    EXPECT_EQ(estimate.high, estimate.value);
  }
}

TEST(EstimateTest, TheSameSeedGivesTheSameInterval) {
  const Estimate one = MeanByBootstrapT(kLocality, {.seed = 3});
  const Estimate again = MeanByBootstrapT(kLocality, {.seed = 3});
  EXPECT_EQ(one.low, again.low);
  EXPECT_EQ(one.high, again.high);
}

// Returns how often, in %, the interval of this number of values holds the true mean, in 2,000 trials.
double Coverage(double truth, const std::function<double(Random*)>& draw,
                const std::function<Estimate(const std::vector<double>&)>& estimate, std::size_t count = 10) {
  constexpr int kTrials = 2'000;
  Random random(1);
  int hits = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> values(count);
    for (double& value : values) value = draw(&random);
    const Estimate interval = estimate(values);
    hits += interval.low <= truth && truth <= interval.high ? 1 : 0;
  }
  return 100.0 * hits / kTrials;
}

// By the sum of twelve uniform numbers, which differs from a normal one in the tails beyond 3 deviations only.
double Normal(Random* random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += random->Unit();
  return sum;
}
// Gamma of shape 4, as the sum of four exponential numbers: mean 4, skewness 1.
double Skewed(Random* random) {
  double sum = 0;
  for (int i = 0; i < 4; ++i) sum -= std::log(1 - random->Unit());
  return sum;
}

Estimate QuickBootstrap(const std::vector<double>& values) { return MeanByBootstrapT(values, {.resamples = 999}); }

TEST(CoverageTest, BothIntervalsHoldTheMeanOfNormalValues) {
  for (const auto interval : {&MeanByT, &QuickBootstrap}) {
    const double coverage = Coverage(0, Normal, interval);
    EXPECT_GE(coverage, 93);
    EXPECT_LE(coverage, 97);
  }
}

TEST(CoverageTest, TheBootstrapHoldsTheMeanOfSkewedValues) {
  const double coverage = Coverage(4, Skewed, QuickBootstrap);
  RecordProperty("coverage", std::to_string(coverage));
  EXPECT_GE(coverage, 93);
  EXPECT_LE(coverage, 97);
}

// So few are the runs of a live comparison. The interval may hold the mean too rarely by as much as the bootstrap-t
// without bounds does (93.7% and 93.1% of exponential values), and no more.
TEST(CoverageTest, TheBootstrapOfSixAndEightValuesHoldsTheMean) {
  const auto exponential = [](Random* random) { return -std::log(1 - random->Unit()); };
  for (const std::size_t count : {6, 8}) {
    EXPECT_GE(Coverage(0, Normal, QuickBootstrap, count), 93);
    EXPECT_GE(Coverage(4, Skewed, QuickBootstrap, count), 92.5);
    EXPECT_GE(Coverage(1, exponential, QuickBootstrap, count), 91.5);
  }
}

// Draws like ratios of two runs: the logarithm is normal.
TEST(CoverageTest, TheIntervalOfARatioHoldsTheTrueOne) {
  const double coverage = Coverage(
      1, [](Random* random) { return std::exp(0.3 * Normal(random)); },
      [](const std::vector<double>& ratios) { return RatioByBootstrapT(ratios, {.resamples = 999}); });
  EXPECT_GE(coverage, 93);
  EXPECT_LE(coverage, 97);
}

}  // namespace
}  // namespace millrace::sim
