#include "worker/daemon/shuffle/fetch_meter.h"

#include <gtest/gtest.h>

namespace millrace::shuffle {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;

constexpr std::uint64_t kWindow = FetchMeter::kWindowBytes;

class FetchMeterTest : public testing::Test {
 protected:
  // Measures a window of this length, and then does something else.
  void Window(std::uint32_t job, milliseconds wait, milliseconds busy = milliseconds(0)) {
    meter_.Wait(job, now_);
    now_ += wait;
    meter_.Came(job, kWindow, now_);
    now_ += busy;
  }
  [[nodiscard]] double Rate(std::uint32_t job) const { return meter_.Of(job, now_).bytes_per_second; }
  static double Per(milliseconds time) {
    return static_cast<double>(kWindow) * 1000 / static_cast<double>(time.count());
  }

  FetchMeter meter_;
  FetchMeter::Time now_{std::chrono::hours(1)};
};

TEST_F(FetchMeterTest, KnowsNothingAtFirst) {
  EXPECT_EQ(Rate(1), 0);
  EXPECT_EQ(meter_.Of(1, now_).waited, 0);
  EXPECT_EQ(meter_.Of(1, now_).ratio, 1);
}

TEST_F(FetchMeterTest, CountsTheTimeInWhichTheNetworkIsWaitedFor) {
  meter_.Begin(1, now_);
  for (int i = 0; i < 8; ++i) Window(1, milliseconds(20), milliseconds(60));
  EXPECT_NEAR(Rate(1), Per(milliseconds(20)), 1);
  EXPECT_NEAR(meter_.Of(1, now_).waited, 0.25, 1e-9);
}

TEST_F(FetchMeterTest, CopiesThatWaitTogetherShareTheTime) {
  meter_.Begin(1, now_);
  for (int i = 0; i < 8; ++i) {
    meter_.Wait(1, now_);
    meter_.Wait(1, now_);
    now_ += milliseconds(20);
    meter_.Came(1, kWindow / 2, now_);
    meter_.Came(1, kWindow / 2, now_);
  }
  EXPECT_NEAR(Rate(1), Per(milliseconds(20)), 1);
  EXPECT_NEAR(meter_.Of(1, now_).waited, 1, 1e-9);
}

TEST_F(FetchMeterTest, SendersThatAreSlowNowAndThenAreNotTheLink) {
  meter_.Begin(1, now_);
  for (int i = 0; i < 32; ++i) Window(1, milliseconds(i % 2 == 0 ? 1 : 50));
  EXPECT_NEAR(Rate(1), Per(milliseconds(1)), 1);
}

TEST_F(FetchMeterTest, WhatLayInABufferIsNotTheLink) {
  meter_.Begin(1, now_);
  for (int i = 0; i < 32; ++i) Window(1, milliseconds(i % 8 == 0 ? 0 : 20));
  EXPECT_NEAR(Rate(1), Per(milliseconds(20)), 1);
}

TEST_F(FetchMeterTest, AJobSpeaksForItselfWhenItHasEnoughWindows) {
  meter_.Begin(1, now_);
  for (int i = 0; i < 16; ++i) Window(1, milliseconds(20));
  meter_.End(1, now_);
  meter_.Begin(2, now_);
  Window(2, milliseconds(5));
  EXPECT_NEAR(Rate(2), Per(milliseconds(20)), 1) << "the worker's";
  for (int i = 0; i < 4; ++i) Window(2, milliseconds(5));
  EXPECT_NEAR(Rate(2), Per(milliseconds(5)), 1);
  EXPECT_NEAR(Rate(1), Per(milliseconds(20)), 1);
}

TEST_F(FetchMeterTest, WhatIsOldIsNotKnown) {
  meter_.Begin(1, now_);
  for (int i = 0; i < 8; ++i) Window(1, milliseconds(20));
  meter_.End(1, now_);
  meter_.Forget(1);
  now_ += minutes(9);
  EXPECT_GT(Rate(2), 0);
  now_ += minutes(2);
  EXPECT_EQ(Rate(2), 0);
}

TEST_F(FetchMeterTest, TellsTheRatioOfWhatCame) {
  meter_.Begin(1, now_);
  for (int i = 0; i < 4; ++i) {
    Window(1, milliseconds(20));
    meter_.Segment(1, kWindow, 3 * kWindow, now_);
    meter_.Segment(1, kWindow, kWindow, now_);
  }
  EXPECT_NEAR(meter_.Of(1, now_).ratio, 2, 1e-9);
}

TEST_F(FetchMeterTest, SharesFollowWhatIsRecent) {
  meter_.Begin(1, now_);
  for (int i = 0; i < 1000; ++i) Window(1, milliseconds(20), milliseconds(180));
  EXPECT_NEAR(meter_.Of(1, now_).waited, 0.1, 0.01);
  for (int i = 0; i < 3000; ++i) Window(1, milliseconds(20));
  EXPECT_GT(meter_.Of(1, now_).waited, 0.9);
}

TEST_F(FetchMeterTest, AJobThatIsForgottenWhileItCopiesGoesWhenTheCopyEnds) {
  meter_.Begin(1, now_);
  for (int i = 0; i < 4; ++i) Window(1, milliseconds(5));
  meter_.Begin(2, now_);
  for (int i = 0; i < 32; ++i) Window(2, milliseconds(20));
  meter_.Forget(1);
  meter_.Wait(1, now_);
  meter_.End(1, now_);
  EXPECT_NEAR(Rate(1), Per(milliseconds(5)), 1) << "a fetch still winds down";
  meter_.Came(1, 0, now_);
  EXPECT_NEAR(Rate(1), Per(milliseconds(20)), 1) << "the worker's";
}

}  // namespace
}  // namespace millrace::shuffle
