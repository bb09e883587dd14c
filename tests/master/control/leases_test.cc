// SPDX-License-Identifier: Apache-2.0
#include "master/control/leases.h"

#include <gmock/gmock.h>

namespace millrace::master {
namespace {

using ::testing::IsEmpty;

constexpr Micros kGrace = 10 * kSecond, kLimit = 60 * kSecond, kPeriod = kSecond / 2;

class LeasesTest : public ::testing::Test {
 protected:
  // Returns the files whose leases lapse in the meantime; those that were held are negative.
  std::vector<std::int64_t> Advance(Micros time) {
    std::vector<std::int64_t> files;
    for (const Micros end = now_ + time; now_ < end;) {
      now_ += kPeriod;
      for (const auto& lapsed : leases.Expire(now_)) {
        const auto file = static_cast<std::int64_t>(lapsed.file);
        files.push_back(lapsed.silent ? -file : file);
      }
    }
    return files;
  }
  // Lets time pass in which the master does not run.
  void Sleep(Micros time) { now_ += time; }

  Micros now_ = 1000 * kSecond;
  Leases leases{kGrace, kLimit, kPeriod, now_};
};

using Files = std::vector<std::int64_t>;

TEST_F(LeasesTest, AHolderThatIsSilentLosesIt) {
  const std::uint64_t token = leases.Take(7);
  EXPECT_THAT(Advance(59 * kSecond), IsEmpty());
  EXPECT_EQ(Advance(kSecond), Files{-7});
  EXPECT_FALSE(leases.Renew(7, token)) << "and is told so when it is back";
  EXPECT_THAT(Advance(3600 * kSecond), IsEmpty()) << "once is enough";
}

TEST_F(LeasesTest, AHolderThatIsHeardKeepsIt) {
  const std::uint64_t token = leases.Take(7);
  for (int i = 0; i < 100; ++i) {
    EXPECT_THAT(Advance(59 * kSecond), IsEmpty());
    EXPECT_TRUE(leases.Renew(7, token));
  }
}

TEST_F(LeasesTest, AHolderThatWentAwayMayComeBackWithinTheGrace) {
  const std::uint64_t first = leases.Take(7);
  leases.Drop(7, first);
  EXPECT_THAT(Advance(9 * kSecond), IsEmpty());
  const std::uint64_t second = leases.Take(7);
  leases.Drop(7, first);
  EXPECT_FALSE(leases.Renew(7, first)) << "the earlier one has lost it";
  EXPECT_THAT(Advance(30 * kSecond), IsEmpty());
  leases.Drop(7, second);
  EXPECT_EQ(Advance(kGrace), Files{7});
}

TEST_F(LeasesTest, WhatBelongsToAJobDoesNotLapse) {
  leases.Await(7, kGrace);
  (void)leases.Take(8);
  leases.Forget(7);
  leases.Forget(8);
  EXPECT_THAT(Advance(3600 * kSecond), IsEmpty());
}

// No writer could be heard while the master was stopped.
TEST_F(LeasesTest, TimeInWhichTheMasterDidNotRunDoesNotCount) {
  const std::uint64_t token = leases.Take(7);
  Sleep(3600 * kSecond);
  EXPECT_THAT(Advance(50 * kSecond), IsEmpty());
  EXPECT_TRUE(leases.Renew(7, token));
}

}  // namespace
}  // namespace millrace::master
