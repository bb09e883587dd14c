// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/cp/slot_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace millrace::sched {
namespace {

using testing::ElementsAre;

TEST(SlotPoolTest, SlotsThatAreFreeTogetherAreOneGroup) {
  const std::vector<SlotGroup> groups{{10, 2}, {10, 1}, {12, 0}, {15, 4}};
  SlotPool pool(groups);
  EXPECT_EQ(pool.slots(), 7U);
  EXPECT_THAT(pool.groups(), ElementsAre(SlotGroup{10, 3}, SlotGroup{15, 4}));
}

TEST(SlotPoolTest, TasksStartAsEarlyAsASlotIsFree) {
  const std::vector<SlotGroup> groups{{0, 2}, {5, 1}};
  SlotPool pool(groups);
  const SlotPool::Placed placed = pool.Place(4, 3);  // 0-3, 0-3, 3-6, 3-6
  EXPECT_EQ(placed.tasks, 4U);
  EXPECT_EQ(placed.last_end, 6);
  EXPECT_THAT(pool.groups(), ElementsAre(SlotGroup{5, 1}, SlotGroup{6, 2}));
}

TEST(SlotPoolTest, NothingStartsAtTheLimit) {
  const std::vector<SlotGroup> groups{{0, 1}};
  SlotPool pool(groups);
  EXPECT_EQ(pool.Place(10, 3, 6).tasks, 2U);
  EXPECT_EQ(pool.NextFree(), 6);
  EXPECT_EQ(pool.Place(10, 3, 6).tasks, 0U);
}

TEST(SlotPoolTest, AMillionTasksOnFewSlotsAreFewSteps) {
  const std::vector<SlotGroup> groups{{0, 3}, {1, 1}};
  SlotPool pool(groups);
  // 4 slots, one a tick behind: rounds of 4 tasks, the last one ends at 250,000 x 10 + 1.
  EXPECT_EQ(pool.Place(1'000'000, 10).last_end, 2'500'001);
}

// Compares the pool with one number for each slot, the least first.
TEST(SlotPoolTest, DoesWhatAListOfSlotsDoes) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    std::vector<Micros> slots;
    std::vector<SlotGroup> groups;
    Micros at = 0;
    for (std::uint64_t i = 1 + random() % 8; i > 0; --i, at += static_cast<Micros>(random() % 12)) {
      slots.push_back(at);
      groups.push_back({at, 1});
    }
    SlotPool pool(groups);
    for (int step = 0; step < 20; ++step) {
      const auto tasks = static_cast<std::uint32_t>(random() % 30);
      const auto duration = static_cast<Micros>(1 + random() % 20);
      const Micros until = random() % 2 == 0 ? kNever : pool.NextFree() + static_cast<Micros>(random() % 60);
      std::uint32_t expected = 0;
      Micros last_end = 0;
      for (; expected < tasks; ++expected) {
        const auto first = std::min_element(slots.begin(), slots.end());
        if (*first >= until) break;
        *first += duration;
        last_end = std::max(last_end, *first);
      }
      const SlotPool::Placed placed = pool.Place(tasks, duration, until);
      ASSERT_EQ(placed.tasks, expected);
      ASSERT_EQ(placed.last_end, last_end);
      if (random() % 3 == 0) {
        const Micros start = pool.NextFree() + static_cast<Micros>(random() % 5);
        pool.AdvanceTo(start);
        for (Micros& slot : slots) slot = std::max(slot, start);
      }
      std::sort(slots.begin(), slots.end());
      std::vector<Micros> flat;
      for (const SlotGroup& group : pool.groups()) flat.insert(flat.end(), group.slots, group.free);
      ASSERT_EQ(flat, slots);
    }
  }
}

}  // namespace
}  // namespace millrace::sched
