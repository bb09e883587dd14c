// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/shuffle/fetch_limit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace millrace::shuffle {
namespace {

using std::chrono::milliseconds;

// A network that gives `rate(fetches)` bytes per second to this many fetches, in driven time.
class FetchLimitTest : public testing::Test {
 protected:
  using Rate = std::function<double(unsigned fetches)>;

  void Run(FetchLimit& limit, int seconds, const Rate& rate, unsigned sources = 1000) {
    for (int step = 0; step < seconds * 100; ++step) {
      const unsigned fetches = std::min(limit.limit(), sources);
      limit.InFlight(fetches, now_);
      now_ += milliseconds(10);
      limit.Came(static_cast<std::uint64_t>(rate(fetches) / 100), now_);
      most_ = std::max(most_, limit.limit());
      least_ = std::min(least_, limit.limit());
    }
  }

  FetchLimit::Time now_;
  unsigned most_ = 0, least_ = 1000;
};

TEST_F(FetchLimitTest, AddsFetchesWhileEachBringsMoreAndNeverBeyondTheBound) {
  FetchLimit limit(12);
  Run(limit, 60, [](unsigned fetches) { return 20e6 * fetches; });
  EXPECT_EQ(limit.limit(), 12u);
  EXPECT_EQ(most_, 12u);
}

TEST_F(FetchLimitTest, StopsWhereTheLinkIsFull) {
  FetchLimit limit(64);
  Run(limit, 120, [](unsigned fetches) { return std::min(20e6 * fetches, 160e6); });
  EXPECT_GE(limit.limit(), 8u);
  EXPECT_LE(most_, 9u) << "the ninth brings nothing";
}

TEST_F(FetchLimitTest, TriesLessAndLessOftenWhereNothingIsGained) {
  FetchLimit limit(64);
  int tries = 0;
  for (int i = 0; i < 600; ++i) {
    const unsigned before = limit.limit();
    Run(limit, 1, [](unsigned) { return 50e6; });
    tries += limit.limit() > before ? 1 : 0;
  }
  EXPECT_LE(most_, FetchLimit::kFirst + 1);
  EXPECT_LE(tries, 120) << "of 3000 turns";
}

TEST_F(FetchLimitTest, FollowsALinkThatGetsFaster) {
  FetchLimit limit(16);
  Run(limit, 60, [](unsigned) { return 50e6; });
  EXPECT_LE(limit.limit(), FetchLimit::kFirst + 1);
  Run(limit, 120, [](unsigned fetches) { return 20e6 * fetches; });
  EXPECT_EQ(limit.limit(), 16u);
}

TEST_F(FetchLimitTest, BacksOffWhenTheRateFalls) {
  FetchLimit limit(16);
  Run(limit, 60, [](unsigned fetches) { return 20e6 * fetches; });
  ASSERT_EQ(limit.limit(), 16u);
  Run(limit, 20, [](unsigned fetches) { return 60e6 / (1.0 + 0.2 * fetches); });  // they are in each other's way
  EXPECT_LE(least_, 8u);
  EXPECT_LE(limit.limit(), 9u);
}

TEST_F(FetchLimitTest, LearnsNothingWhileThereAreFewerSources) {
  FetchLimit limit(16);
  Run(
      limit, 60, [](unsigned fetches) { return 20e6 * fetches; }, 3);
  EXPECT_EQ(most_, FetchLimit::kFirst);
  EXPECT_EQ(least_, FetchLimit::kFirst);
}

TEST_F(FetchLimitTest, AFailureHalvesItAndItComesBack) {
  FetchLimit limit(16);
  Run(limit, 60, [](unsigned fetches) { return 20e6 * fetches; });
  limit.Failed(now_);
  EXPECT_EQ(limit.limit(), 8u);
  for (int i = 0; i < 10; ++i) limit.Failed(now_);
  EXPECT_EQ(limit.limit(), 1u);
  Run(limit, 60, [](unsigned fetches) { return 20e6 * fetches; });
  EXPECT_EQ(limit.limit(), 16u);
}

TEST_F(FetchLimitTest, ABoundOfOneIsOne) {
  FetchLimit none(0), one(1);
  for (FetchLimit* limit : {&none, &one}) {
    Run(*limit, 10, [](unsigned fetches) { return 20e6 * fetches; });
    EXPECT_EQ(limit->limit(), 1u);
  }
  EXPECT_EQ(most_, 1u);
}

}  // namespace
}  // namespace millrace::shuffle
