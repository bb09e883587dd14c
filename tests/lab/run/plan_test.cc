// SPDX-License-Identifier: Apache-2.0
#include "lab/run/plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace millrace::compare {
namespace {

Design Of(std::uint32_t schedulers, std::uint32_t blocks, bool same = true) {
  Design design;
  design.schedulers = schedulers, design.blocks = blocks, design.seed = 100, design.same_against_same = same;
  return design;
}

// Follows the plan; `disturbed` says which runs go wrong.
template <class Disturbed>
std::vector<PlannedRun> Follow(const Design& design, std::vector<MadeRun>* made, Disturbed disturbed) {
  std::vector<PlannedRun> runs;
  while (const auto next = NextRun(design, *made)) {
    runs.push_back(*next);
    made->push_back({next->block, next->order, next->again, disturbed(*next)});
  }
  return runs;
}

const auto kNever = [](const PlannedRun&) { return false; };

TEST(PlanTest, ABlockHasEverySchedulerAndTheBaselineTwice) {
  for (std::uint32_t schedulers = 1; schedulers < 6; ++schedulers) {
    for (std::uint32_t block = 0; block < 7; ++block) {
      std::map<std::uint32_t, int> first, second;
      for (const PlannedRun& run : RunsOfBlock(Of(schedulers, 7), block)) {
        ++(run.second ? second : first)[run.scheduler];
        EXPECT_EQ(run.seed, 100 + block);
      }
      EXPECT_EQ(first.size(), schedulers);
      for (const auto& [scheduler, runs] : first) EXPECT_EQ(runs, 1) << scheduler;
      EXPECT_EQ(second, (std::map<std::uint32_t, int>{{0, 1}}));
    }
  }
  EXPECT_EQ(RunsOfBlock(Of(3, 1, false), 0).size(), 3u);
}

// Over as many blocks as a block has runs, each scheduler (and the second run of the baseline) is at each place once.
TEST(PlanTest, TheOrderIsALatinSquare) {
  for (std::uint32_t schedulers = 1; schedulers < 7; ++schedulers) {
    std::set<std::pair<std::uint32_t, std::pair<std::uint32_t, bool>>> seen;
    for (std::uint32_t block = 0; block < schedulers + 1; ++block) {
      std::uint32_t order = 0;
      for (const PlannedRun& run : RunsOfBlock(Of(schedulers, 1), block)) {
        EXPECT_EQ(run.order, order++);
        EXPECT_TRUE(seen.insert({run.order, {run.scheduler, run.second}}).second);
      }
    }
    EXPECT_EQ(seen.size(), (schedulers + 1) * (schedulers + 1));
  }
}

TEST(PlanTest, AnUndisturbedComparisonMakesEachRunOnce) {
  std::vector<MadeRun> made;
  const std::vector<PlannedRun> runs = Follow(Of(3, 5), &made, kNever);
  ASSERT_EQ(runs.size(), 20u);
  std::size_t at = 0;
  for (std::uint32_t block = 0; block < 5; ++block) {
    for (const PlannedRun& run : RunsOfBlock(Of(3, 5), block)) EXPECT_EQ(runs[at++], run);
  }
  EXPECT_EQ(RunsThatCount(made).size(), 20u);
}

TEST(PlanTest, AStoppedComparisonGoesOnAsIfNothingHadHappened) {
  const auto disturbed = [](const PlannedRun& run) { return (run.block * 7 + run.order * 3 + run.again) % 4 == 0; };
  std::vector<MadeRun> whole;
  const std::vector<PlannedRun> runs = Follow(Of(3, 4), &whole, disturbed);
  for (std::size_t stop = 0; stop <= whole.size(); ++stop) {
    std::vector<MadeRun> made(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(stop));
    std::reverse(made.begin(), made.end());  // as a directory lists them, in any order
    const std::vector<PlannedRun> rest = Follow(Of(3, 4), &made, disturbed);
    EXPECT_EQ(rest, std::vector<PlannedRun>(runs.begin() + static_cast<std::ptrdiff_t>(stop), runs.end()));
  }
}

TEST(PlanTest, ADisturbedRunIsMadeAgainTwiceAtMostAndTheLastOneCounts) {
  std::vector<MadeRun> made;
  const auto disturbed = [](const PlannedRun& run) {
    if (run.block == 1 && run.order == 0) return true;          // always
    return run.block == 0 && run.order == 2 && run.again == 0;  // once
  };
  const std::vector<PlannedRun> runs = Follow(Of(2, 2), &made, disturbed);
  ASSERT_EQ(runs.size(), 6u + 1 + 2);
  EXPECT_EQ(runs[3].order, 2u);  // at once
  EXPECT_EQ(runs[3].again, 1u);
  const std::vector<std::size_t> counting = RunsThatCount(made);
  ASSERT_EQ(counting.size(), 6u);
  EXPECT_EQ(counting[2], 3u);
  EXPECT_EQ(made[counting[3]].again, 2u);
  EXPECT_TRUE(made[counting[3]].disturbed);
}

TEST(PlanTest, MoreBlocksLeaveTheFirstOnesAsTheyAre) {
  std::vector<MadeRun> made;
  (void)Follow(Of(3, 2), &made, kNever);
  const std::vector<PlannedRun> more = Follow(Of(3, 3), &made, kNever);
  EXPECT_EQ(more, RunsOfBlock(Of(3, 3), 2));
}

// A place that is still to be made again has no run that counts.
TEST(PlanTest, ARunThatIsToBeMadeAgainDoesNotCount) {
  EXPECT_TRUE(RunsThatCount({{0, 0, 0, true}}).empty());
  EXPECT_EQ(RunsThatCount({{0, 0, 0, true}, {0, 0, 1, false}}), std::vector<std::size_t>{1});
}

}  // namespace
}  // namespace millrace::compare
