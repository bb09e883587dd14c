#include "schedulers/sim/statistics/verdict.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace millrace::sim {
namespace {

using Runs = std::vector<double>;

const Runs kBase = {100, 104, 97, 101, 99, 103, 98, 102};

Runs Times(const Runs& runs, double factor, const Runs& noise = {}) {
  Runs scaled;
  for (std::size_t i = 0; i < runs.size(); ++i) scaled.push_back(runs[i] * factor * (noise.empty() ? 1 : noise[i]));
  return scaled;
}

const Runs kNoise = {1.01, 0.99, 1.005, 0.995, 1.01, 0.985, 1.0, 1.005};

Comparison Second(const MetricRuns& metric) { return Compare({metric}, 0).front().schedulers[1]; }

TEST(VerdictTest, ALowerMetricIsBetterWhereLowerIs) {
  const Runs rival = Times(kBase, 0.8, kNoise);
  const Comparison lower = Second({Better::kLower, true, {kBase, rival}, {}});
  EXPECT_EQ(lower.verdict, Verdict::kBetter);
  ASSERT_TRUE(lower.ratio.has_value());
  EXPECT_NEAR(lower.ratio->value, 0.8, 0.005);
  EXPECT_DOUBLE_EQ(lower.p, 2.0 / 256);
  EXPECT_EQ(Second({Better::kHigher, true, {kBase, rival}, {}}).verdict, Verdict::kWorse);
}

TEST(VerdictTest, WhatDoesNotMatterIsTheSame) {
  EXPECT_EQ(Second({Better::kLower, true, {kBase, Times(kBase, 1.01)}, {}}).verdict, Verdict::kSame)
      << "1% in every run: certain, and nothing that anyone would notice";
  EXPECT_EQ(Second({Better::kLower, true, {kBase, kBase}, {}}).verdict, Verdict::kSame);
}

TEST(VerdictTest, NoiseLeavesItUndecidedAndSaysHowManyRunsWouldDo) {
  const Runs wild = {0.7, 1.2, 0.9, 1.1, 0.75, 1.05, 0.8, 1.0};
  const Comparison comparison = Second({Better::kLower, true, {kBase, Times(kBase, 1, wild)}, {}});
  EXPECT_EQ(comparison.verdict, Verdict::kUndecided);
  ASSERT_TRUE(comparison.more_runs.has_value());
  // Logarithms: mean -0.0837, deviation 0.198 (n - 1); (2 * 0.198 / (0.0837 - ln 1.03))^2 = 55.5 pairs, by numpy.
  EXPECT_NEAR(*comparison.more_runs, 56 - 8, 2);
}

TEST(VerdictTest, WhatTheBaselineShowsAgainstItselfIsNoDifference) {
  const Runs rival = Times(kBase, 1.06, kNoise);
  EXPECT_EQ(Second({Better::kLower, true, {kBase, rival}, {}}).verdict, Verdict::kWorse);
  const Runs unsteady = {1.12, 0.9, 1.1, 0.92, 1.09, 0.93, 1.08, 0.9};
  const MetricRuns metric{Better::kLower, true, {kBase, rival}, Times(kBase, 1, unsteady)};
  const MetricComparison compared = Compare({metric}, 0).front();
  ASSERT_TRUE(compared.same_against_same.has_value());
  EXPECT_LT(compared.same_against_same->low, 0.95);
  EXPECT_EQ(compared.schedulers[1].verdict, Verdict::kUndecided) << "6% is less than equal schedulers differ by";
}

TEST(VerdictTest, FewRunsShowNothing) {
  const Runs base = {100, 104, 97, 101, 99};
  const Comparison comparison = Second({Better::kLower, false, {base, Times(base, 0.5)}, {}});
  EXPECT_EQ(comparison.verdict, Verdict::kUndecided);
  EXPECT_EQ(comparison.more_runs, 1u) << "6 pairs at least";
  EXPECT_FALSE(comparison.shift.has_value());
}

// Two rivals by three headline metrics: 6 comparisons, so that 2 / 2^8 x 6 = 0.047 can still win, and seven runs
// cannot.
TEST(VerdictTest, TheHeadlineIsReadTogether) {
  const auto headline = [](std::size_t runs) {
    const Runs base(kBase.begin(), kBase.begin() + static_cast<std::ptrdiff_t>(runs));
    const MetricRuns metric{Better::kLower, true, {base, Times(base, 0.8), Times(base, 0.7)}, {}};
    return Compare({metric, metric, metric}, 0);
  };
  const std::vector<MetricComparison> eight = headline(8);
  EXPECT_DOUBLE_EQ(*eight[0].schedulers[1].p_adjusted, 6 * 2.0 / 256);
  EXPECT_EQ(eight[0].schedulers[1].verdict, Verdict::kBetter);
  const std::vector<MetricComparison> seven = headline(7);
  EXPECT_EQ(seven[0].schedulers[1].verdict, Verdict::kUndecided);
  EXPECT_EQ(seven[0].schedulers[1].more_runs, 1u);
}

TEST(VerdictTest, AMetricThatCanBeZeroIsJudgedByDifferences) {
  const Runs late = {0.2, 0.25, 0.15, 0.2, 0.3, 0.2, 0.25, 0.2};
  const Runs never(late.size(), 0.0);
  const Comparison comparison = Second({Better::kLower, true, {late, never}, {}});
  EXPECT_FALSE(comparison.ratio.has_value());
  EXPECT_NEAR(comparison.difference.value, -0.21875, 1e-12);
  EXPECT_EQ(comparison.verdict, Verdict::kBetter);
  EXPECT_EQ(Second({Better::kLower, true, {never, never}, {}}).verdict, Verdict::kSame);
}

TEST(VerdictTest, WinnersAreAllThatNoneIsShownToBeat) {
  const Runs good = Times(kBase, 0.8, kNoise);
  Runs as_good;
  for (std::size_t i = 0; i < kBase.size(); ++i) as_good.push_back(kBase[i] * 0.8 * kNoise[kBase.size() - 1 - i]);
  const MetricRuns metric{Better::kLower, true, {kBase, good, as_good}, {}};
  EXPECT_EQ(Compare({metric}, 0).front().winners, (std::vector<std::uint32_t>{1, 2}));
  MetricRuns higher = metric;
  higher.better = Better::kHigher;
  EXPECT_EQ(Compare({higher}, 0).front().winners, (std::vector<std::uint32_t>{0}));
}

// By the sum of twelve uniform numbers, as in estimate_test.
double Normal(Random* random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += random->Unit();
  return sum;
}

// Equal schedulers whose runs differ by 10%: a difference is claimed in less than 1% of the experiments, since its
// interval has to lie beyond the region and not just beside 1.
TEST(VerdictTest, EqualSchedulersAreRarelyToldApart) {
  constexpr int kTrials = 500;
  constexpr std::uint64_t kSeed = 21;
  Random random(kSeed);
  int claims = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    Runs base, rival, second;
    for (int seed = 0; seed < 8; ++seed) {
      const double jobs = 100 + 50 * random.Unit();
      for (Runs* runs : {&base, &rival, &second}) runs->push_back(jobs * std::exp(0.1 * Normal(&random)));
    }
    const Verdict verdict = Second({Better::kLower, true, {base, rival}, second}).verdict;
    claims += verdict == Verdict::kBetter || verdict == Verdict::kWorse ? 1 : 0;
  }
  EXPECT_LE(claims, kTrials / 100) << "seed " << kSeed;
}

}  // namespace
}  // namespace millrace::sim
