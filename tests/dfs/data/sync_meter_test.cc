// SPDX-License-Identifier: Apache-2.0
#include "dfs/data/sync_meter.h"

#include <gtest/gtest.h>

namespace millrace::dfs {
namespace {

constexpr Micros kMs = kMillisecond;

class SyncMeterTest : public ::testing::Test {
 protected:
  void Sync(Micros takes, std::uint64_t bytes = 0) {
    meter_.Time(bytes, [&] {
      now_ += takes;
      return true;
    });
  }
  void ExpectTimes(std::uint32_t syncs, Micros median, Micros worst) {
    const SyncTimes times = meter_.Times();
    EXPECT_EQ(times.syncs, syncs);
    EXPECT_EQ(times.median, median);
    EXPECT_EQ(times.worst, worst);
  }

  Micros now_ = 100 * kSecond;
  SyncMeter meter_{"/data", [this] { return now_; }};
};

TEST_F(SyncMeterTest, NothingIsKnownBeforeTheFirst) {
  ExpectTimes(0, 0, 0);
  EXPECT_EQ(meter_.Times().disk, "/data");
}

TEST_F(SyncMeterTest, TheMedianAndTheWorstAreThoseOfTheWindow) {
  for (const Micros takes : {1 * kMs, 9 * kMs, 2 * kMs, 3 * kMs, 40 * kMs}) Sync(takes);
  ExpectTimes(5, 3 * kMs, 40 * kMs);
  now_ += SyncMeter::kWindow - kMs;
  ExpectTimes(1, 40 * kMs, 40 * kMs);
  now_ += kMs;
  ExpectTimes(0, 0, 0);
}

TEST_F(SyncMeterTest, ALongOneCountsForThoseThatMightHaveBeenMade) {
  for (int i = 0; i < 8; ++i) Sync(2 * kMs);
  Sync(26 * kSecond);
  ExpectTimes(8 + 9, 26 * kSecond, 26 * kSecond);
}

TEST_F(SyncMeterTest, OneThatIsUnderWayCounts) {
  meter_.Time(0, [&] {
    ExpectTimes(0, 0, 0);
    now_ += SyncMeter::kEach;
    ExpectTimes(1, SyncMeter::kEach, SyncMeter::kEach);
    now_ += 9 * SyncMeter::kEach;
    ExpectTimes(10, 10 * SyncMeter::kEach, 10 * SyncMeter::kEach);
    return 0;
  });
  ExpectTimes(11, 10 * SyncMeter::kEach, 10 * SyncMeter::kEach);
}

TEST_F(SyncMeterTest, ManyBytesMayTakeTheirTime) {
  Sync(4 * kSecond, 4 * SyncMeter::kBytesPerSecond);
  ExpectTimes(1, 0, 0);
  Sync(4 * kSecond + 7 * kMs, 4 * SyncMeter::kBytesPerSecond);
  ExpectTimes(2, 0, 7 * kMs);
  meter_.Time(20 * SyncMeter::kBytesPerSecond, [&] {
    now_ += 19 * kSecond;
    ExpectTimes(2, 0, 7 * kMs);
    now_ += 4 * kSecond;
    ExpectTimes(3, 7 * kMs, 3 * kSecond);
    return 0;
  });
}

TEST_F(SyncMeterTest, OnlyTheLatestAreRemembered) {
  for (std::size_t i = 0; i < SyncMeter::kMost; ++i) Sync(0);
  Sync(5 * kMs);
  ExpectTimes(SyncMeter::kMost, 0, 5 * kMs);
}

TEST_F(SyncMeterTest, WhatTheSyncReturnsIsReturned) {
  EXPECT_EQ(meter_.Time(0, [] { return 7; }), 7);
}

}  // namespace
}  // namespace millrace::dfs
