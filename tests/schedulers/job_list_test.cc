#include "schedulers/core/job_list.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace millrace::sched {
namespace {

QueueKey Key(std::uint32_t order, Priority priority = Priority::kNormal) { return {priority, order, {order}}; }

TEST(JobList, KeepsTheOrderOfTheQueue) {
  JobList list;
  EXPECT_TRUE(list.Get().empty());
  list.Insert(Key(5));
  list.Insert(Key(9, Priority::kHigh));
  list.Insert(Key(2));
  list.Insert(Key(5));
  EXPECT_EQ(list.Get(), (std::vector{Key(9, Priority::kHigh), Key(2), Key(5)}));
}

TEST(JobList, AJobThatLeftCanComeBack) {
  JobList list;
  for (const std::uint32_t order : {1, 2, 3}) list.Insert(Key(order));
  list.Erase(Key(3));
  list.Insert(Key(3));  // behind all others
  list.Erase(Key(1));
  list.Insert(Key(1));
  list.Erase(Key(2));
  list.Erase(Key(2));
  list.Erase(Key(7));
  list.Insert(Key(7));
  EXPECT_EQ(list.Get(), (std::vector{Key(1), Key(3), Key(7)}));
}

// Asked after every change, now and then, and hardly ever: one by one, in one pass, and when half of them have left.
TEST(JobList, IsWhatASetIs) {
  constexpr std::uint32_t kSeed = 20;
  std::mt19937 random(kSeed);
  for (const std::uint32_t changes_per_look : {1U, 7U, 60U, 2000U}) {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", changes " + std::to_string(changes_per_look));
    JobList list;
    std::set<QueueKey> expected;
    for (std::uint32_t step = 1; step <= 20000; ++step) {
      const QueueKey key = Key(static_cast<std::uint32_t>(random() % 400), static_cast<Priority>(random() % 2));
      const bool shrinking = step / 2500 % 2 == 1;
      if (random() % 4 < (shrinking ? 1U : 3U)) {
        list.Insert(key);
        expected.insert(key);
      } else {
        list.Erase(key);
        expected.erase(key);
      }
      if (step % changes_per_look == 0) {
        ASSERT_EQ(list.Get(), std::vector(expected.begin(), expected.end())) << step;
      }
    }
  }
}

TEST(JobList, KnowsWithoutALookThatThereAreMany) {
  JobList list;
  EXPECT_EQ(list.AtLeast(), 0U);
  for (const std::uint32_t order : {1, 2, 3, 4}) list.Insert(Key(order));
  EXPECT_EQ(list.AtLeast(), 4U);
  list.Erase(Key(1));
  list.Erase(Key(1));
  EXPECT_LE(list.AtLeast(), 3U);
  EXPECT_GE(list.AtLeast(), 2U);
  EXPECT_EQ(list.Get().size(), 3U);
  EXPECT_EQ(list.AtLeast(), 3U);
}

}  // namespace
}  // namespace millrace::sched
