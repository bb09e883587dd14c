// SPDX-License-Identifier: Apache-2.0
// The static split against Algorithm 1 as it is printed and mended in docs/schedulers/policies.md#fresh, step by step.
#include "schedulers/policies/fresh/slot_split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "schedulers/policies/fresh/reference.h"

namespace millrace::sched {
namespace {

std::vector<PhaseProfile> RandomBatch(std::mt19937& random) {
  std::vector<PhaseProfile> batch(1 + random() % 12);
  const bool no_reduces = random() % 8 == 0;
  for (PhaseProfile& job : batch) {
    job = {static_cast<std::uint32_t>(random() % 30), static_cast<Micros>(1 + random() % 100),
           no_reduces ? 0U : static_cast<std::uint32_t>(random() % 30), static_cast<Micros>(1 + random() % 100)};
  }
  return batch;
}

TEST(SlotSplitTest, EveryMakespanIsThatOfAlgorithmOneAndTheBestIsTheLeast) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 500; ++round) {
    const auto batch = RandomBatch(random);
    const std::uint32_t slots = 2 + random() % 40, k = random() % 6;
    const bool reduces = std::any_of(batch.begin(), batch.end(), [](const auto& job) { return job.reduces > 0; });
    double least = std::numeric_limits<double>::infinity();
    for (std::uint32_t s_m = 1; s_m < slots + (reduces ? 0 : 1); ++s_m) {
      const double played = PlayAlgorithmOne(batch, s_m, slots - s_m, k);
      ASSERT_NEAR(SplitMakespan(batch, slots, s_m, k), played, 1e-6 * played) << s_m << " of " << slots;
      least = std::min(least, played);
    }
    const SlotSplit best = BestSplit(batch, slots, k);
    ASSERT_NEAR(best.makespan, least, 1e-6 * least);
    ASSERT_NEAR(PlayAlgorithmOne(batch, best.map_slots, slots - best.map_slots, k), least, 1e-6 * least);
  }
}

// By hand: one job, 12 slot-seconds of maps, then 12 of reduces, on 6 slots. 12/s + 12/(6-s) is least at 3: 8.
TEST(SlotSplitTest, OneJobWithEqualPhasesGetsHalf) {
  const SlotSplit best = BestSplit({{4, 3, 6, 2}}, 6, 1);
  EXPECT_EQ(best.map_slots, 3U);
  EXPECT_DOUBLE_EQ(best.makespan, 8);
}

// The first ends its maps at 4/s_m, all reduces come from it: 4/s + 100/(10-s) against all maps 4/s + 40/s + 0.
TEST(SlotSplitTest, ReduceHeavyBatchesGetReduceSlots) {
  const std::vector<PhaseProfile> batch = {{4, 1, 100, 1}, {40, 1, 0, 1}};
  EXPECT_DOUBLE_EQ(SplitMakespan(batch, 10, 2, 1), std::max(4 / 2.0 + 100 / 8.0, 44 / 2.0));
  EXPECT_DOUBLE_EQ(SplitMakespan(batch, 10, 3, 1), std::max(4 / 3.0 + 100 / 7.0, 44 / 3.0));
  EXPECT_EQ(BestSplit(batch, 10, 1).map_slots, 3U);  // 15.6 s; 2 takes 22 s, 4 takes 17.7 s
}

TEST(SlotSplitTest, AllSlotsAreMapSlotsOnlyWithoutReduces) {
  EXPECT_EQ(BestSplit({{10, 1, 0, 0}, {3, 5, 0, 0}}, 7, 1).map_slots, 7U);
  EXPECT_EQ(BestSplit({{1000, 1, 1, 1}}, 7, 1).map_slots, 6U);
  EXPECT_EQ(BestSplit({{0, 1, 1000, 1}}, 7, 1).map_slots, 1U);
  EXPECT_EQ(BestSplit({{3, 1, 0, 0}}, 1, 1).map_slots, 1U);
}

// Johnson's rule on two machines: the order that it gives takes no longer than any other.
TEST(SlotSplitTest, JohnsonsOrderIsTheBestOneAtATime) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto play = [](const std::vector<PhaseProfile>& batch) { return PlayAlgorithmOne(batch, 1, 1, 1); };
  for (int round = 0; round < 50; ++round) {
    std::vector<PhaseProfile> batch(2 + random() % 4);
    const auto tasks = [&] { return static_cast<std::uint32_t>(1 + random() % 9); };
    for (PhaseProfile& job : batch) job = {tasks(), 1, tasks(), 1};
    std::vector<PhaseProfile> johnson;
    for (const std::uint32_t at : JohnsonOrder(batch)) johnson.push_back(batch[at]);
    std::vector<std::size_t> order(batch.size());
    std::iota(order.begin(), order.end(), 0U);
    double least = std::numeric_limits<double>::infinity();
    do {
      std::vector<PhaseProfile> permuted;
      for (const std::size_t at : order) permuted.push_back(batch[at]);
      least = std::min(least, play(permuted));
    } while (std::next_permutation(order.begin(), order.end()));
    ASSERT_DOUBLE_EQ(play(johnson), least);
  }
}

TEST(SlotSplitTest, JohnsonsRuleAndEqualJobsAsTheyStand) {
  // Maps < reduces: 3 < 9, 1 < 2 (twice); the others by falling reduce work: 5, 5, 0.
  const std::vector<PhaseProfile> batch = {{3, 1, 9, 1}, {7, 1, 5, 1}, {1, 1, 2, 1},
                                           {4, 1, 0, 1}, {1, 1, 2, 1}, {5, 1, 5, 1}};
  EXPECT_EQ(JohnsonOrder(batch), (std::vector<std::uint32_t>{2, 4, 0, 1, 5, 3}));
}

TEST(SlotSplitTest, NodesSplitsSumToTheSplitAndAreEven) {
  EXPECT_EQ(SpreadSplit({4, 4, 4, 4}, 8), (std::vector<std::uint32_t>{2, 2, 2, 2}));
  EXPECT_EQ(SpreadSplit({4, 4, 4, 4}, 16), (std::vector<std::uint32_t>{4, 4, 4, 4}));
  EXPECT_EQ(SpreadSplit({}, 0), (std::vector<std::uint32_t>{}));
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::uint32_t> nodes(1 + random() % 20);
    for (std::uint32_t& slots : nodes) slots = random() % 9;
    nodes.push_back(1);
    const std::uint32_t all = std::accumulate(nodes.begin(), nodes.end(), 0U);
    const std::uint32_t map_slots = random() % (all + 1), turn = random() % all;
    const auto split = SpreadSplit(nodes, map_slots, turn);
    ASSERT_EQ(std::accumulate(split.begin(), split.end(), 0U), map_slots);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      ASSERT_LE(split[i], nodes[i]);
      ASSERT_NEAR(split[i], 1.0 * nodes[i] * map_slots / all, 1);
    }
  }
}

}  // namespace
}  // namespace millrace::sched
