// SPDX-License-Identifier: Apache-2.0
// Tests how the findings of several seeds become the figures and verdicts of a page.
#include "lab/study/summary.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "lab/study/page.h"
#include "lab/study/seeds.h"

namespace millrace::sim::experiments {
namespace {

// Expected values: stats.t.interval and the bootstrap of estimate_test.cc.
TEST(SummaryTest, GivesAMeanItsHalfWidthUnlessAllSeedsAreAlike) {
  std::vector<Findings> seeds;
  for (const double value : {1.0, 2.0, 4.0, 9.0, 10.5}) {
    Table table{
        "id", "Title", {Given("jobs"), Measured("mean"), Ratio("ratio"), {"text"}}, {{5.0, value, 1.0, "same"}}};
    table.repeats = "20 schedules";
    seeds.push_back({{table}, {}});
  }
  const TextTable summary = Summarise(seeds).at(0);
  EXPECT_EQ(summary.caption, "Title. 5 seeds, each of 20 schedules.");
  EXPECT_EQ(summary.rows.at(0), (std::vector<std::string>{"5", "5.3 ± 5.3", "1.00", "same"}));
  EXPECT_TRUE(summary.columns.at(1).figures);
  EXPECT_FALSE(summary.columns.at(3).figures);
}

TEST(SummaryTest, WhatIsRelativeIsEstimatedAsARatio) {
  const std::vector<double> ratios = {0.5, 0.25, 0.4, 0.3};
  std::vector<double> less, more;
  for (const double ratio : ratios) {
    less.push_back(100 * (1 - ratio));
    more.push_back(100 * (ratio - 1));
  }
  const Estimate ratio = EstimateOf(Figure::kRatio, ratios);
  EXPECT_NEAR(ratio.value, 0.34996355, 1e-8) << "stats.gmean";
  const Estimate by_less = EstimateOf(Figure::kLess, less);
  EXPECT_NEAR(by_less.value, 100 * (1 - ratio.value), 1e-9);
  EXPECT_NEAR(by_less.low, 100 * (1 - ratio.high), 1e-9);
  EXPECT_NEAR(by_less.high, 100 * (1 - ratio.low), 1e-9);
  const Estimate by_more = EstimateOf(Figure::kMore, more);
  EXPECT_NEAR(by_more.low, 100 * (ratio.low - 1), 1e-9);
}

TEST(SummaryTest, ARatioOfNothingHasAMeanAllTheSame) {
  const Estimate estimate = EstimateOf(Figure::kLess, {100, 100, 97});
  EXPECT_NEAR(estimate.value, 99, 1e-9);
  EXPECT_NEAR(estimate.high - estimate.value, 4.302652729749462, 1e-9) << "stats.t.ppf(0.975, 2) * stats.sem(v)";
}

TEST(SummaryTest, OneSeedHasNeitherIntervalsNorVerdicts) {
  const Findings findings{{}, {{"claim", "90", 84.5, Measured(""), AtLeast(90)}}};
  EXPECT_EQ(Summarise({findings}).at(0).rows.at(0), (std::vector<std::string>{"claim", "90", "84.5", "-"}));
}

TEST(SummaryTest, WhatRoundsToNothingHasNoSign) {
  const Findings findings{{}, {{"claim", "0", -0.01, Measured(""), AtLeast(0)}}};
  EXPECT_EQ(Summarise({findings}).at(0).rows.at(0).at(2), "0.0");
}

TEST(VerdictTest, ABoundIsKeptBrokenOrLeftOpen) {
  EXPECT_EQ(Verdict(AtLeast(90), {95, 91, 99}), "yes");
  EXPECT_EQ(Verdict(AtLeast(90), {80, 75, 85}), "no");
  EXPECT_EQ(Verdict(AtLeast(90), {92, 88, 96}), "undecided");
  EXPECT_EQ(Verdict(AtMost(1), {1, 1, 1}), "yes");
  EXPECT_EQ(Verdict(Within(12, 14), {13, 12.5, 14.5}), "undecided");
}

TEST(VerdictTest, ASizeIsMetOrMissed) {
  EXPECT_EQ(Verdict(Size(83, 0.5), {83.6, 83.4, 83.8}), "yes");
  EXPECT_EQ(Verdict(Size(83, 0.5), {84, 83.8, 84.2}), "higher");
  EXPECT_EQ(Verdict(Size(83, 0.5), {80, 79, 81}), "lower");
}

TEST(VerdictTest, AnEffectIsMetOrSmallerOrLargerOrOpposite) {
  const Expected gain = Effect(1.7, 0.05, 1);
  EXPECT_EQ(Verdict(gain, {1.7, 1.6, 1.8}), "yes");
  EXPECT_EQ(Verdict(gain, {1.3, 1.2, 1.4}), "yes, less");
  EXPECT_EQ(Verdict(gain, {2, 1.9, 2.1}), "yes, more");
  EXPECT_EQ(Verdict(gain, {1.01, 0.97, 1.05}), "none");
  EXPECT_EQ(Verdict(gain, {0.9, 0.8, 0.95}), "no, opposite");
  const Expected half = Effect(0.5, 0.05, 1);
  EXPECT_EQ(Verdict(half, {0.2, 0.1, 0.3}), "yes, more");
  EXPECT_EQ(Verdict(half, {0.8, 0.7, 0.9}), "yes, less");
  EXPECT_EQ(Verdict(half, {1.2, 1.1, 1.3}), "no, opposite");
}

TEST(VerdictTest, AnOrderIsThePapersHasNothingOfItOrIsReversed) {
  EXPECT_EQ(Verdict(Effect(1, 0, 0), {1, 1, 1}), "yes");
  EXPECT_EQ(Verdict(Effect(1, 0, 0), {0.8, 0.6, 1}), "yes");
  EXPECT_EQ(Verdict(Effect(1, 0, 0), {0.6, 0.4, 0.8}), "yes, less");
  EXPECT_EQ(Verdict(Effect(1, 0, 0), {0.1, -0.1, 0.3}), "none");
  EXPECT_EQ(Verdict(Effect(1, 0, 0), {-0.6, -0.8, -0.4}), "no, opposite");
}

// Expected values: pairs counted by hand.
TEST(TauTest, CountsPairsInTheSameOrder) {
  const std::vector<double> paper = {7.78, 11.06, 18.30, 9.46, 14.74};
  EXPECT_EQ(TauOf(paper, paper), 1);
  EXPECT_EQ(TauOf(paper, {4, 3, 0, 3.5, 1}), -1);
  EXPECT_DOUBLE_EQ(TauOf(paper, {1, 2, 5, 3, 4}), 0.8) << "one of ten pairs swapped";
  EXPECT_DOUBLE_EQ(TauOf({1, 2, 3}, {1, 1, 3}), 2.0 / 3) << "a pair that is equal counts as neither";
}

// The sentence of a claim may leave open what it is of, and a row may be of an algorithm of ours.
TEST(SummaryTest, ClaimsSayWhoseTheirSettingIs) {
  std::vector<Findings> seeds;
  for (const double value : {1.0, 1.1, 0.9}) {
    std::vector<Claim> claims;
    for (const Setting setting : {Setting::kPaper, Setting::kReading, Setting::kOurs})
      claims.push_back({"claim", "above 0", value, Measured(""), AtLeast(0), setting});
    seeds.push_back({{}, claims});
  }
  const auto last = [](const TextTable& table, std::size_t row) { return table.rows.at(row).back(); };
  const TextTable summary = Summarise(seeds).at(0);
  EXPECT_EQ(last(summary, 0), "yes");
  EXPECT_EQ(last(summary, 1), "yes (as read)");
  EXPECT_EQ(last(summary, 2), "(yes)");
  const TextTable one = Summarise({seeds.front()}).at(0);
  for (std::size_t row = 0; row < 3; ++row) EXPECT_EQ(last(one, row), "-");
}

TEST(SeedsTest, TheNumberOfThreadsMakesNoDifference) {
  const auto run = [](const Options& options) {
    return Findings{{}, {{"seed", "-", 1.0 * static_cast<double>(options.seed), Measured(""), AtLeast(0)}}};
  };
  for (const std::uint32_t threads : {1U, 3U, 8U}) {
    const Result<std::vector<Findings>> seeds = RunSeeds(run, {.seed = 4}, 5, threads);
    ASSERT_TRUE(seeds.ok()) << seeds.status().message();
    ASSERT_EQ(seeds->size(), 5u);
    for (std::size_t s = 0; s < seeds->size(); ++s) EXPECT_EQ((*seeds)[s].Ours("seed"), 4 + s);
  }
}

// In a thread of its own or in the caller's, it ends neither.
TEST(SeedsTest, WhatASeedThrowsIsItsFailure) {
  const auto run = [](const Options& options) -> Result<Findings> {
    if (options.seed == 5) throw std::bad_alloc();
    if (options.seed == 7) throw std::length_error("too long");
    return Findings{};
  };
  for (const std::uint32_t threads : {1U, 3U}) {
    EXPECT_EQ(RunSeeds(run, {.seed = 4}, 5, threads).status().message(), "seed 5: out of memory");
    EXPECT_EQ(RunSeeds(run, {.seed = 6}, 3, threads).status().message(), "seed 7: too long");
  }
}

constexpr const char* kPage =
    "Before.\n"
    "<!-- table e/one -->\nold\nrows\n<!-- end of table -->\n"
    "Between.\n"
    "<!-- table e/two -->\n<!-- end of table -->\n"
    "<!-- table f/one -->\nkept\n<!-- end of table -->\n"
    "After.\n";

TEST(PageTest, LinesEndWithReturnsOrWithoutAnything) {
  const Result<std::string> returns =
      PutTables("a\r\n<!-- table e/one -->\r\nold\r\n<!-- end of table -->\r\nb\r\n", {{"e/one", "n\nm\n"}});
  ASSERT_TRUE(returns.ok()) << returns.status().message();
  EXPECT_EQ(*returns, "a\r\n<!-- table e/one -->\r\nn\r\nm\r\n<!-- end of table -->\r\nb\r\n");
  const Result<std::string> last = PutTables("<!-- table e/one -->\n<!-- end of table -->", {{"e/one", "n\n"}});
  ASSERT_TRUE(last.ok()) << last.status().message();
  EXPECT_EQ(*last, "<!-- table e/one -->\nn\n<!-- end of table -->");
  EXPECT_FALSE(PutTables("<!-- table e/one -->", {{"e/one", "n\n"}}).ok());
}

TEST(PageTest, PutsTablesInTheirPlacesAndKeepsTheRest) {
  const Result<std::string> page = PutTables(kPage, {{"e/one", "new\n"}, {"e/two", "2\n"}});
  ASSERT_TRUE(page.ok()) << page.status().message();
  EXPECT_EQ(*page,
            "Before.\n"
            "<!-- table e/one -->\nnew\n<!-- end of table -->\n"
            "Between.\n"
            "<!-- table e/two -->\n2\n<!-- end of table -->\n"
            "<!-- table f/one -->\nkept\n<!-- end of table -->\n"
            "After.\n");
}

TEST(PageTest, RefusesTablesAndPlacesThatDoNotFit) {
  const auto why = [](const std::string& page, const PageTables& tables) {
    const Result<std::string> made = PutTables(page, tables);
    return made.ok() ? "" : made.status().message();
  };
  EXPECT_NE(why(kPage, {{"e/one", ""}, {"e/two", ""}, {"e/three", ""}}).find("no place for the table e/three"),
            std::string::npos);
  EXPECT_NE(why(kPage, {{"e/one", ""}}).find("e/two, which does not exist"), std::string::npos);
  EXPECT_NE(why("<!-- table e/one -->\nrows\n", {{"e/one", ""}}).find("has no end"), std::string::npos);
  const std::string twice = "<!-- table e/one -->\n<!-- end of table -->\n";
  EXPECT_NE(why(twice + twice, {{"e/one", ""}}).find("two places"), std::string::npos);
}

}  // namespace
}  // namespace millrace::sim::experiments
