// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/virtual/virtual_queue.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <utility>
#include <vector>

namespace millrace::sched {
namespace {

using Queue = VirtualQueue<int>;

// Member 1 has 30 units of work and weight 1, member 2 has 40 and weight 2: keys 30 and 20.
TEST(VirtualQueueTest, MembersShareByWeightAndEndInTheOrderOfTheirKeys) {
  Queue queue;
  queue.Insert(30, 1, 1);
  queue.Insert(20, 2, 2);
  EXPECT_EQ(queue.Left(), 70);
  std::vector<std::pair<int, Micros>> ended;
  const auto note = [&](int member, Micros left) { ended.emplace_back(member, left); };
  queue.Advance(31, note);  // 10 each by weight, and 1 that cannot be divided
  EXPECT_EQ(queue.now(), 10);
  EXPECT_EQ(queue.Left(), 39);
  EXPECT_TRUE(ended.empty());
  // 2 more make whole units; g is 20 after 29 of these 34, and then member 1 has all of the other 5.
  queue.Advance(34, note);
  EXPECT_EQ(ended, (std::vector<std::pair<int, Micros>>{{2, 5}}));
  EXPECT_EQ(queue.now(), 25);
  queue.Advance(100, note);
  EXPECT_EQ(ended.back(), (std::pair<int, Micros>{1, 95}));
  EXPECT_TRUE(queue.empty());
  // Nobody is there to have the other 95.
  EXPECT_EQ(queue.now(), 30);
  queue.Insert(31, 3, 1);
  EXPECT_EQ(queue.Left(), 1);
}

TEST(VirtualQueueTest, AMemberWhoseWorkIsDoneDoesNotEnter) {
  Queue queue;
  queue.Insert(0, 1, 1);
  EXPECT_TRUE(queue.empty());
  queue.Erase(0, 1, 1);
  queue.Insert(5, 2, 1);
  queue.Erase(5, 2, 1);
  EXPECT_TRUE(queue.empty());
}

TEST(VirtualQueueTest, ItDoesNotMatterInHowManyStepsTheWorkIsDone) {
  for (unsigned round = 0, base = std::random_device()(); round < 300; ++round) {
    SCOPED_TRACE("seed " + std::to_string(base + round));
    std::mt19937 random(base + round);
    Queue once, often;
    for (int step = 0; step < 20; ++step) {
      const Micros key = once.now() + static_cast<Micros>(random() % 100);
      const std::uint32_t weight = 1U << random() % 5;
      once.Insert(key, step, weight), often.Insert(key, step, weight);
      std::vector<int> ended, ended_too;
      Micros work = static_cast<Micros>(random() % 300);
      once.Advance(work, [&](int member, Micros) { ended.push_back(member); });
      while (work > 0) {
        const Micros part = std::min<Micros>(work, static_cast<Micros>(random() % 20));
        often.Advance(part, [&](int member, Micros) { ended_too.push_back(member); });
        work -= part;
      }
      ASSERT_EQ(ended, ended_too);
      ASSERT_EQ(once.now(), often.now());
      ASSERT_EQ(once.Left(), often.Left());
    }
  }
}

}  // namespace
}  // namespace millrace::sched
