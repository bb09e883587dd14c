// SPDX-License-Identifier: Apache-2.0
#include "base/status.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

#include "base/clock.h"
#include "base/random.h"

namespace millrace {
namespace {

TEST(StatusTest, CodeAndMessage) {
  EXPECT_TRUE(Status().ok());
  EXPECT_TRUE(Status::Ok().ok());
  const Status missing = NotFound("file /a: no such file");
  EXPECT_FALSE(missing.ok());
  EXPECT_EQ(missing.code(), StatusCode::kNotFound);
  EXPECT_EQ(missing.Within("job 7").message(), "job 7: file /a: no such file");
  EXPECT_EQ(missing.Within("job 7").code(), StatusCode::kNotFound);
  EXPECT_TRUE(Status::Ok().Within("job 7").ok());
  EXPECT_EQ(Status::Ok().Within("job 7").message(), "");
}

TEST(StatusTest, EachCodeHasANameOfItsOwn) {
  for (int code = 0; code <= static_cast<int>(kLastStatusCode); ++code) {
    EXPECT_NE(ToString(static_cast<StatusCode>(code)), "unknown");
    for (int other = 0; other < code; ++other) {
      EXPECT_NE(ToString(static_cast<StatusCode>(code)), ToString(static_cast<StatusCode>(other)));
    }
  }
  EXPECT_EQ(ToString(static_cast<StatusCode>(99)), "unknown");
}

TEST(StatusTest, FromErrnoKeepsWhatCallersActOn) {
  EXPECT_EQ(FromErrno(ENOSPC, "x").code(), StatusCode::kNoSpace);
  EXPECT_EQ(FromErrno(EDQUOT, "x").code(), StatusCode::kNoSpace);
  EXPECT_EQ(FromErrno(ENOENT, "x").code(), StatusCode::kNotFound);
  EXPECT_EQ(FromErrno(EEXIST, "x").code(), StatusCode::kExists);
  for (const int used_up : {EMFILE, ENFILE, ENOMEM}) EXPECT_EQ(FromErrno(used_up, "x").code(), StatusCode::kBusy);
  EXPECT_EQ(FromErrno(EACCES, "x").code(), StatusCode::kIo);
  EXPECT_EQ(FromErrno(EIO, "x").code(), StatusCode::kIo);
  EXPECT_EQ(FromErrno(EACCES, "open /a").message(), "open /a: Permission denied");
}

Result<int> Half(int n) {
  if (n % 2 != 0) return Invalid("odd");
  return n / 2;
}

Status Quarter(int n, int* out) {
  MILLRACE_ASSIGN(const int half, Half(n));
  MILLRACE_ASSIGN(*out, Half(half));
  MILLRACE_TRY(Status::Ok());
  return Status::Ok();
}

TEST(ResultTest, AssignAndTryPassFailuresOn) {
  int quarter = 0;
  EXPECT_TRUE(Quarter(12, &quarter).ok());
  EXPECT_EQ(quarter, 3);
  EXPECT_EQ(Quarter(6, &quarter).code(), StatusCode::kInvalid);
  EXPECT_EQ(quarter, 3);
}

TEST(ResultTest, HoldsWhatCanOnlyBeMoved) {
  Result<std::unique_ptr<int>> result(std::make_unique<int>(7));
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(**result, 7);
  const std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 7);
}

TEST(ResultDeathTest, MisuseAborts) {
  const Result<int> failed = Half(3);
  EXPECT_DEATH((void)failed.value(), "odd");
  EXPECT_DEATH(Result<int>(Status::Ok()), "needs a failure");
}

// The first values for seed 1234567 as published with the reference implementation (Vigna, splitmix64.c; Rosetta Code).
TEST(RandomTest, IsSplitMix64) {
  Random random(1234567);
  for (const std::uint64_t expected : {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                       4593380528125082431u, 16408922859458223821u}) {
    EXPECT_EQ(random.Next(), expected);
  }
}

TEST(RandomTest, BelowAndUnitStayInRangeAndReachAllOfIt) {
  Random random(5);
  int counts[6] = {};
  for (int i = 0; i < 6000; ++i) ++counts[random.Below(6)];
  for (const int count : counts) EXPECT_NEAR(count, 1000, 200);  // over six standard deviations
  double sum = 0;
  for (int i = 0; i < 6000; ++i) {
    const double unit = random.Unit();
    ASSERT_GE(unit, 0.0);
    ASSERT_LT(unit, 1.0);
    sum += unit;
  }
  EXPECT_NEAR(sum / 6000, 0.5, 0.03);
  EXPECT_EQ(random.Below(1), 0u);
}

TEST(ClockTest, DrivenStandsStillSystemIsAfter2020) {
  DrivenClock clock(5);
  EXPECT_EQ(clock.Now(), 5);
  clock.Advance(kSecond);
  EXPECT_EQ(clock.Now(), 1'000'005);
  clock.Set(7);
  EXPECT_EQ(clock.Now(), 7);
  EXPECT_GT(SystemClock().Now(), Micros{1'577'836'800} * kSecond);
}

}  // namespace
}  // namespace millrace
