// SPDX-License-Identifier: Apache-2.0
#include "master/control/master_clock.h"

#include <gtest/gtest.h>

namespace millrace::master {
namespace {

TEST(SchedulerTime, IsTheWallClocksAsLongAsThatRuns) {
  SchedulerTime time(0, {5 * kHour, 7});
  EXPECT_EQ(time.Step({5 * kHour + 10, 17}), 5 * kHour + 10);
  EXPECT_EQ(time.Now({5 * kHour + 30, 37}), 5 * kHour + 30);
  EXPECT_EQ(time.Step({5 * kHour + 30, 37}), 5 * kHour + 30);
}

TEST(SchedulerTime, NoTwoStepsHaveTheSame) {
  SchedulerTime time(0, {kHour, 0});
  EXPECT_EQ(time.Step({kHour, 0}), kHour);
  EXPECT_EQ(time.Step({kHour, 0}), kHour + 1);
  EXPECT_EQ(time.Now({kHour, 0}), kHour + 1);
}

// Otherwise everything that waits for a time would wait an hour longer.
TEST(SchedulerTime, GoesOnWhenTheWallClockIsSetBack) {
  SchedulerTime time(0, {5 * kHour, 0});
  EXPECT_EQ(time.Step({5 * kHour, 0}), 5 * kHour);
  EXPECT_EQ(time.Now({4 * kHour + kSecond, kSecond}), 5 * kHour + kSecond);
  EXPECT_EQ(time.Step({4 * kHour + kSecond, kSecond}), 5 * kHour + kSecond);
  EXPECT_EQ(time.Step({4 * kHour + 3 * kSecond, 3 * kSecond}), 5 * kHour + 3 * kSecond);
}

TEST(SchedulerTime, FollowsAWallClockThatIsSetForward) {
  SchedulerTime time(0, {kHour, 0});
  EXPECT_EQ(time.Step({kHour, 0}), kHour);
  EXPECT_EQ(time.Step({9 * kHour, kSecond}), 9 * kHour);
}

TEST(SchedulerTime, GoesOnFromThatOfTheProcessBefore) {
  SchedulerTime time(9 * kHour, {kHour, 50 * kSecond});
  EXPECT_EQ(time.Step({kHour, 50 * kSecond}), 9 * kHour + 1);
  EXPECT_EQ(time.Now({kHour + kSecond, 51 * kSecond}), 9 * kHour + 1 + kSecond);
}

}  // namespace
}  // namespace millrace::master
