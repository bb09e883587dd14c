// SPDX-License-Identifier: Apache-2.0
#include "lab/report/pools_over_time.h"

#include <gtest/gtest.h>

#include "schedulers/policies/fair/fair_settings.h"
#include "tests/lab/records.h"

namespace millrace::compare {
namespace {

using testing::Job;
using testing::Outcome;
using testing::Task;

// Pool a holds both map slots until 10, then b does until 20; b has wanted them from 5 on.
RunOutcome TakingTurns() {
  sim::JobRow a = Job(0, "a", 0, 0, 10), b = Job(1, "b", 5, 10, 20);
  a.maps = b.maps = 2;
  std::vector<sim::TaskRow> tasks;
  for (std::uint32_t map = 0; map < 2; ++map) {
    tasks.push_back(Task(0, TaskKind::kMap, map, 0, 1, 0, 10));
    tasks.push_back(Task(1, TaskKind::kMap, map, 10, 11, 0, 20));
  }
  return Outcome({a, b}, tasks);
}

const std::vector<NodeRow> kNodes{{"n0", "r0", "dc0", 2, 1}};

TEST(PoolsOverTimeTest, SlotsAndFairSharesOfPoolsThatTakeTurns) {
  const PoolsOverTime pools = PoolsOf(TakingTurns().result, kNodes, {});
  ASSERT_EQ(pools.names, (std::vector<std::string>{"a", "b"}));
  for (std::size_t i = 0; i < pools.time.size(); ++i) {
    const double second = static_cast<double>(pools.time[i]) / kSecond;
    EXPECT_DOUBLE_EQ(pools.slots[0][i], second < 10 ? 2 : 0) << second;
    EXPECT_DOUBLE_EQ(pools.slots[1][i], second < 10 ? 0 : 2) << second;
    EXPECT_DOUBLE_EQ(pools.shares[0][i], second < 5 ? 2 : second < 10 ? 1 : 0) << second;
    EXPECT_DOUBLE_EQ(pools.shares[1][i], second < 5 ? 0 : second < 10 ? 1 : 2) << second;
  }
}

TEST(PoolsOverTimeTest, WeightsOfTheSchedulerFileCount) {
  sched::Settings settings;
  settings.Named<sched::PoolSettings>()["b"].weight = 3;
  const PoolsOverTime pools = PoolsOf(TakingTurns().result, kNodes, settings);
  const std::size_t at = pools.time.size() * 3 / 8;  // 7.5 s: both want two slots
  EXPECT_DOUBLE_EQ(pools.shares[0][at], 0.5);
  EXPECT_DOUBLE_EQ(pools.shares[1][at], 1.5);
}

TEST(PoolsOverTimeTest, SmallPoolsAreOthers) {
  std::vector<sim::JobRow> jobs;
  std::vector<sim::TaskRow> tasks;
  for (std::uint32_t i = 0; i < 40; ++i) {
    jobs.push_back(Job(i, "pool" + std::to_string(100 + i), 0, 0, 1 + i));
    tasks.push_back(Task(i, TaskKind::kMap, 0, 0, 0.5, 0, 1 + i));
  }
  const PoolsOverTime pools = PoolsOf(Outcome(jobs, tasks).result, {{"n0", "r0", "dc0", 40, 1}}, {});
  ASSERT_LE(pools.names.size(), 12u);
  EXPECT_EQ(pools.names.back(), "others");
  EXPECT_EQ(pools.names.front(), "pool129");  // those that last longest have names of their own
  double all = 0;
  for (const auto& line : pools.slots) all += line.front();
  EXPECT_DOUBLE_EQ(all, 40);
}

}  // namespace
}  // namespace millrace::compare
