// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/shuffle/fetch_meter.h"

#include <gtest/gtest.h>

namespace millrace::shuffle {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

constexpr JobId kOne{1}, kTwo{2};
constexpr std::uint64_t kWindow = FetchMeter::kWindowBytes;

class FetchMeterTest : public testing::Test {
 protected:
  // Measures a window of this length, and then does something else.
  void Window(JobId job, milliseconds wait, milliseconds busy = milliseconds(0)) {
    meter_.Wait(job, now_);
    now_ += wait;
    meter_.Came(job, kWindow, now_);
    now_ += busy;
  }
  [[nodiscard]] double Rate(JobId job) const { return meter_.FiguresOf(job, now_).bytes_per_second; }
  static double Per(milliseconds time) {
    return static_cast<double>(kWindow) * 1000 / static_cast<double>(time.count());
  }

  FetchMeter meter_;
  FetchMeter::Time now_{std::chrono::hours(1)};
};

TEST_F(FetchMeterTest, KnowsNothingAtFirst) {
  EXPECT_EQ(Rate(kOne), 0);
  EXPECT_EQ(meter_.FiguresOf(kOne, now_).waited, 0);
  EXPECT_EQ(meter_.FiguresOf(kOne, now_).ratio, 1);
}

TEST_F(FetchMeterTest, CountsTheTimeInWhichTheNetworkIsWaitedFor) {
  meter_.Begin(kOne, now_);
  for (int i = 0; i < 8; ++i) Window(kOne, milliseconds(20), milliseconds(60));
  EXPECT_NEAR(Rate(kOne), Per(milliseconds(20)), 1);
  EXPECT_NEAR(meter_.FiguresOf(kOne, now_).waited, 0.25, 1e-9);
}

TEST_F(FetchMeterTest, CopiesThatWaitTogetherShareTheTime) {
  meter_.Begin(kOne, now_);
  for (int i = 0; i < 8; ++i) {
    meter_.Wait(kOne, now_);
    meter_.Wait(kOne, now_);
    now_ += milliseconds(20);
    meter_.Came(kOne, kWindow / 2, now_);
    meter_.Came(kOne, kWindow / 2, now_);
  }
  EXPECT_NEAR(Rate(kOne), Per(milliseconds(20)), 1);
  EXPECT_NEAR(meter_.FiguresOf(kOne, now_).waited, 1, 1e-9);
}

TEST_F(FetchMeterTest, SendersThatAreSlowNowAndThenAreNotTheLink) {
  meter_.Begin(kOne, now_);
  for (int i = 0; i < 32; ++i) Window(kOne, milliseconds(i % 2 == 0 ? 1 : 50));
  EXPECT_NEAR(Rate(kOne), Per(milliseconds(1)), 1);
}

TEST_F(FetchMeterTest, WhatLayInABufferIsNotTheLink) {
  meter_.Begin(kOne, now_);
  for (int i = 0; i < 32; ++i) Window(kOne, milliseconds(i % 8 == 0 ? 0 : 20));
  EXPECT_NEAR(Rate(kOne), Per(milliseconds(20)), 1);
}

TEST_F(FetchMeterTest, AJobSpeaksForItselfWhenItHasEnoughWindows) {
  meter_.Begin(kOne, now_);
  for (int i = 0; i < 16; ++i) Window(kOne, milliseconds(20));
  meter_.End(kOne, now_);
  meter_.Begin(kTwo, now_);
  Window(kTwo, milliseconds(5));
  EXPECT_NEAR(Rate(kTwo), Per(milliseconds(20)), 1) << "the worker's";
  for (int i = 0; i < 4; ++i) Window(kTwo, milliseconds(5));
  EXPECT_NEAR(Rate(kTwo), Per(milliseconds(5)), 1);
  EXPECT_NEAR(Rate(kOne), Per(milliseconds(20)), 1);
}

TEST_F(FetchMeterTest, WhatIsOldIsNotKnown) {
  meter_.Begin(kOne, now_);
  for (int i = 0; i < 8; ++i) Window(kOne, milliseconds(20));
  meter_.End(kOne, now_);
  meter_.Forget(kOne);
  now_ += minutes(9);
  EXPECT_GT(Rate(kTwo), 0);
  now_ += minutes(2);
  EXPECT_EQ(Rate(kTwo), 0);
}

TEST_F(FetchMeterTest, TellsTheRatioOfWhatCame) {
  meter_.Begin(kOne, now_);
  for (int i = 0; i < 4; ++i) {
    Window(kOne, milliseconds(20));
    meter_.Segment(kOne, kWindow, 3 * kWindow, now_);
    meter_.Segment(kOne, kWindow, kWindow, now_);
  }
  EXPECT_NEAR(meter_.FiguresOf(kOne, now_).ratio, 2, 1e-9);
}

TEST_F(FetchMeterTest, SharesFollowWhatIsRecent) {
  meter_.Begin(kOne, now_);
  for (int i = 0; i < 1000; ++i) Window(kOne, milliseconds(20), milliseconds(180));
  EXPECT_NEAR(meter_.FiguresOf(kOne, now_).waited, 0.1, 0.01);
  for (int i = 0; i < 3000; ++i) Window(kOne, milliseconds(20));
  EXPECT_GT(meter_.FiguresOf(kOne, now_).waited, 0.9);
}

TEST_F(FetchMeterTest, AJobThatIsForgottenWhileItCopiesGoesWhenTheCopyEnds) {
  meter_.Begin(kOne, now_);
  for (int i = 0; i < 4; ++i) Window(kOne, milliseconds(5));
  meter_.Begin(kTwo, now_);
  for (int i = 0; i < 32; ++i) Window(kTwo, milliseconds(20));
  meter_.Forget(kOne);
  meter_.Wait(kOne, now_);
  meter_.End(kOne, now_);
  EXPECT_NEAR(Rate(kOne), Per(milliseconds(5)), 1) << "a fetch still winds down";
  meter_.Came(kOne, 0, now_);
  EXPECT_NEAR(Rate(kOne), Per(milliseconds(20)), 1) << "the worker's";
}

}  // namespace
}  // namespace millrace::shuffle
