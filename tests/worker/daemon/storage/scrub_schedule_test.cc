// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/storage/scrub_schedule.h"

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"

namespace millrace::worker {
namespace {

constexpr Micros kPeriod = 72 * kHour;
constexpr Micros kStart = 1000 * kHour;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

TEST(ScrubScheduleTest, OneBlockIsReadOncePerNineTenthsOfThePeriod) {
  ScrubSchedule schedule(kPeriod, "", kStart);
  const std::vector<dfs::StoredBlock> blocks{{5, kMiB}};
  EXPECT_EQ(schedule.Choose({}, kStart), std::nullopt);
  EXPECT_EQ(schedule.Choose(blocks, kStart)->at, kStart);
  schedule.Began(5, kStart);
  EXPECT_EQ(schedule.Choose(blocks, kStart + kHour)->at, kStart + kPeriod / 10 * 9);
}

TEST(ScrubScheduleTest, BlocksAreSpreadByTheirSize) {
  ScrubSchedule schedule(kPeriod, "", kStart);
  const std::vector<dfs::StoredBlock> blocks{{1, 30 * kMiB}, {2, 60 * kMiB}};
  EXPECT_EQ(schedule.Choose(blocks, kStart)->block.id, 1u);
  schedule.Began(1, kStart + 1);
  const auto second = schedule.Choose(blocks, kStart + 1);
  EXPECT_EQ(second->block.id, 2u);
  EXPECT_NEAR(static_cast<double>(second->at - kStart), 0.3 * kPeriod, 0.01 * kPeriod);
}

TEST(ScrubScheduleTest, WhatWasSavedIsTakenUpAndTheOldestComesFirst) {
  ScrubSchedule first(kPeriod, "", kStart);
  const std::vector<dfs::StoredBlock> blocks{{1, 1}, {2, 1}, {3, 1}};
  ASSERT_TRUE(first.Choose(blocks, kStart).has_value());
  first.Began(1, kStart + 1);
  first.Began(2, kStart + 2);
  ScrubSchedule second(kPeriod, "nonsense\n7\n" + first.Text(), kStart + 3);
  EXPECT_EQ(second.Choose(blocks, kStart + 3)->block.id, 3u);
  second.Began(3, kStart + 3);
  EXPECT_EQ(second.Choose(blocks, kStart + 4)->block.id, 1u);
  // A clock that was set back must not delay a block's turn.
  ScrubSchedule third(kPeriod, "1 " + std::to_string(kStart + 1000 * kHour) + "\n", kStart);
  ASSERT_TRUE(third.Choose({{1, 1}}, kStart).has_value());
  third.Began(1, kStart);
  EXPECT_EQ(third.Choose({{1, 1}}, kStart)->at, kStart + kPeriod / 10 * 9);
}

TEST(ScrubScheduleTest, WhatIsOverdueIsNotWaitedFor) {
  ScrubSchedule schedule(kPeriod, "1 0\n2 0\n", kStart);
  const std::vector<dfs::StoredBlock> blocks{{1, kMiB}, {2, kMiB}, {3, kMiB}};
  for (const std::uint64_t id : {1, 2}) {
    const auto next = schedule.Choose(blocks, kStart);
    EXPECT_EQ(next->block.id, id);
    EXPECT_EQ(next->at, kStart);
    schedule.Began(id, kStart);
  }
  EXPECT_GT(schedule.Choose(blocks, kStart)->at, kStart + kHour);
}

// Blocks come in bursts and go, and the process is restarted, but no block waits for longer than the period.
TEST(ScrubScheduleTest, EveryBlockIsReadWithinThePeriodWhateverComesAndGoes) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  std::map<std::uint64_t, std::uint64_t> blocks;  // length by id
  std::map<std::uint64_t, Micros> read;
  auto schedule = std::make_unique<ScrubSchedule>(kPeriod, "", kStart);
  Micros now = kStart, longest = 0;
  std::uint64_t readings = 0;
  while (now < kStart + 10 * kPeriod) {
    if (random.Below(20) == 0) {
      for (std::uint64_t n = random.Below(30); n > 0; --n) {
        const std::uint64_t id = 1 + random.Below(1'000'000);
        if (blocks.emplace(id, random.Below(128 * kMiB)).second) read[id] = now;
      }
    }
    if (random.Below(20) == 0) {
      for (std::uint64_t n = random.Below(30); n > 0 && !blocks.empty(); --n) {
        const auto gone = std::next(blocks.begin(), static_cast<std::ptrdiff_t>(random.Below(blocks.size())));
        read.erase(gone->first);
        blocks.erase(gone);
      }
    }
    if (random.Below(50) == 0) schedule = std::make_unique<ScrubSchedule>(kPeriod, schedule->Text(), now);
    std::vector<dfs::StoredBlock> list;
    for (const auto& [id, length] : blocks) list.push_back({id, length});
    const auto next = schedule->Choose(list, now);
    // The caller checks again now and then, since other blocks may have become more urgent.
    if (!next || next->at > now + kHour / 2) {
      now += kHour / 2;
      continue;
    }
    now = next->at;
    longest = std::max(longest, now - read.at(next->block.id));
    read[next->block.id] = now;
    ++readings;
    schedule->Began(next->block.id, now);
    now += kSecond;
  }
  EXPECT_LE(longest, kPeriod);
  EXPECT_GT(readings, 100u);
  for (const auto& [id, at] : read) EXPECT_LE(now - at, kPeriod) << id;
}

}  // namespace
}  // namespace millrace::worker
