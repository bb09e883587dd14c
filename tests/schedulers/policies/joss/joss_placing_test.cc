// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/joss/joss_placing.h"

#include <gtest/gtest.h>

#include <vector>

namespace millrace::sched {
namespace {

constexpr CenterId kCen1 = 0, kCen2 = 1, kCen3 = 2;

// Figure 3: cen2 holds B1 B2 B3 B5, cen3 B4 and B6, cen1 B4; the other replicas lie so that every block has two.
TEST(JossPlacingTest, FigureThree) {
  const JossPlan plan = PlaceByBlocks(
      {{kCen1, kCen2}, {kCen1, kCen2}, {kCen2, kCen3}, {kCen1, kCen3}, {kCen2, kCen3}, {kCen3}}, 3, kCen1);
  EXPECT_EQ(plan.maps, (std::vector<CenterId>{kCen2, kCen2, kCen2, kCen3, kCen2, kCen3}));
  EXPECT_EQ(plan.reduces, kCen2);
}

TEST(JossPlacingTest, OfEqualsTheFirstAndMapsWithoutBlocksElsewhere) {
  const JossPlan plan = PlaceByBlocks({{kCen2}, {kCen3}, {}}, 3, kCen1);
  EXPECT_EQ(plan.maps, (std::vector<CenterId>{kCen2, kCen3, kCen1}));
  EXPECT_EQ(plan.reduces, kCen2);
  EXPECT_EQ(PlaceByBlocks({}, 3, kCen3).reduces, kCen3);
}

// The paper's measured percentages (table 6): with two datacenters only Permu is reduce-heavy.
TEST(JossPlacingTest, OnlyPermuIsReduceHeavyWithTwoDatacenters) {
  const double td = ReduceHeavyThreshold(2);
  EXPECT_DOUBLE_EQ(td, 2);
  for (const double light : {1.039, 0.569, 1.166, 0.10}) EXPECT_LE(light, td);
  EXPECT_GT(3.0, td);
  EXPECT_DOUBLE_EQ(ReduceHeavyThreshold(3), 1.5);
}

TEST(JossPlacingTest, SmallIsWhatADatacenterCanRunAtOnce) {
  EXPECT_TRUE(IsSmallJob(5, 10, 2));
  EXPECT_FALSE(IsSmallJob(6, 10, 2));
  EXPECT_TRUE(IsSmallJob(3, 11, 3));
  EXPECT_FALSE(IsSmallJob(4, 11, 3));
}

TEST(JossPlacingTest, ThePercentageIsThatOfTheHistoryElseOfTheSettings) {
  JobState job;
  JossSettings settings;
  EXPECT_FALSE(FilteringPercentage(job, settings));
  settings.default_ratio = 0;
  EXPECT_EQ(FilteringPercentage(job, settings), 0);
  job.spec.profile = {1, 10, 10, 3};
  EXPECT_EQ(FilteringPercentage(job, settings), 3);
}

}  // namespace
}  // namespace millrace::sched
