// `fair+preempt` as tables; times in us.
#include <gtest/gtest.h>

#include <memory>

#include "schedulers/core/policy_view.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "schedulers/policies/fair/starvation_clocks.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

class PreemptTest : public testing::Test {
 protected:
  PreemptTest() {
    settings_.Of<FairSettings>().min_share_timeout = 60;
    settings_.Of<FairSettings>().fair_share_timeout = 100;
  }
  Engine& Make(const std::string& scheduler = "fair+preempt") {
    std::string why;
    engine_ = std::make_unique<Engine>(EngineOptions{}, MakePolicy(scheduler, settings_, &why));
    return *engine_;
  }
  Settings settings_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(PreemptTest, APoolBelowItsMinimumGetsItAfterItsTimeout) {
  settings_.Named<PoolSettings>()["b"].min_maps = 2;
  EXPECT_PLAYS(&Make(), R"(
    0 NodeJoined node=n1 maps=5
    1 JobSubmitted job=job1 pool=a maps=1:;1:;1:;1:;1:
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job1.m.2.0 n1 off
    -> launch job1.m.3.0 n1 off
    -> launch job1.m.4.0 n1 off
    9 AttemptLost attempt=job1.m.1.0
    9 decide
    -> launch job1.m.1.1 n1 off
    10 JobSubmitted job=job2 pool=b maps=1:;1:;1:
    10 decide
    69 decide
  )");
  EXPECT_EQ(engine_->NextWake(), 70);
  const PolicyView view = engine_->View(69);
  ASSERT_EQ(view.groups.size(), 2U);
  EXPECT_EQ(view.groups[0].slots[TaskKind::kMap].preempts_at, std::nullopt);
  EXPECT_EQ(view.groups[1].slots[TaskKind::kMap].preempts_at, 70);
  // The most recently launched first.
  EXPECT_PLAYS(engine_.get(), R"(
    70 decide
    -> preempt job1.m.1.1 n1: pool b is below its minimum share
    -> preempt job1.m.4.0 n1: pool b is below its minimum share
    -> launch job2.m.0.0 n1 off
    -> launch job2.m.1.0 n1 off
  )");
  EXPECT_EQ(engine_->NextWake(), std::nullopt);  // its share is 2.5, and 3 would be more
  const auto progress = engine_->Progress(JobId{1});
  EXPECT_EQ(progress->preempted_attempts, 2U);
  EXPECT_EQ(progress->failed_attempts, 0U);
  EXPECT_EQ(progress->maps_running, 3U);
}

TEST_F(PreemptTest, APoolBelowItsFairShareGetsItAfterALongerTimeout) {
  settings_.Named<PoolSettings>()["b"].min_maps = 1;
  EXPECT_PLAYS(&Make(), R"(
    0 NodeJoined node=n1 maps=4
    1 JobSubmitted job=job1 pool=a maps=1:;1:;1:;1:
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job1.m.2.0 n1 off
    -> launch job1.m.3.0 n1 off
    10 JobSubmitted job=job2 pool=b maps=1:;1:;1:
    10 decide
    70 decide
    -> preempt job1.m.3.0 n1: pool b is below its minimum share
    -> launch job2.m.0.0 n1 off
    109 decide
    110 decide
    -> preempt job1.m.2.0 n1: pool b is below its fair share
    -> launch job2.m.1.0 n1 off
    500 decide
  )");
}

TEST_F(PreemptTest, PatienceBeginsAnewWhenThePoolWasFed) {
  EXPECT_PLAYS(&Make(), R"(
    0 NodeJoined node=n1 maps=2
    1 JobSubmitted job=job1 pool=a maps=1:;1:;1:
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    10 JobSubmitted job=job2 pool=b maps=1:;1:;1:
    10 decide
    50 AttemptLost attempt=job1.m.0.0
    50 decide
    -> launch job2.m.0.0 n1 off
    60 AttemptSucceeded attempt=job2.m.0.0
    60 AttemptLaunched attempt=job1.m.0.1 node=n1
    60 decide
    110 decide
    159 decide
    160 decide
    -> preempt job1.m.0.1 n1: pool b is below its fair share
    -> launch job2.m.1.0 n1 off
  )");
}

TEST_F(PreemptTest, SlotsThatAreFreeNeedNotBeTaken) {
  EXPECT_PLAYS(&Make(), R"(
    0 NodeJoined node=n1 maps=4
    1 JobSubmitted job=job1 pool=a maps=1:;1:;1:;1:;1:
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job1.m.2.0 n1 off
    -> launch job1.m.3.0 n1 off
    10 JobSubmitted job=job2 pool=b maps=1:;1:;1:
    10 decide
    110 AttemptSucceeded attempt=job1.m.0.0
    110 decide
    -> preempt job1.m.3.0 n1: pool b is below its fair share
    -> launch job2.m.0.0 n1 off
    -> launch job2.m.1.0 n1 off
  )");
}

// Pool a may keep 4 of 8 slots, 2 for each of its jobs.
TEST_F(PreemptTest, TheJobFurthestAboveItsShareLosesAndNoneIsTakenBelow) {
  EXPECT_PLAYS(&Make(), R"(
    0 NodeJoined node=n1 maps=9
    1 JobSubmitted job=job1 pool=a maps=1:;1:;1:;1:;1:;1:
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job1.m.2.0 n1 off
    -> launch job1.m.3.0 n1 off
    -> launch job1.m.4.0 n1 off
    -> launch job1.m.5.0 n1 off
    2 JobSubmitted job=job2 pool=a maps=1:;1:;1:
    2 decide
    -> launch job2.m.0.0 n1 off
    -> launch job2.m.1.0 n1 off
    -> launch job2.m.2.0 n1 off
    3 NodeJoined node=n2
    10 JobSubmitted job=job3 pool=b maps=1:;1:;1:;1:;1:;1:;1:;1:
    10 decide
    110 decide
    # 6 and 3 of 2.25 each: 5, 4 and 3, then the later launched, and so on down to 2 and 3
    -> preempt job1.m.5.0 n1: pool b is below its fair share
    -> preempt job1.m.4.0 n1: pool b is below its fair share
    -> preempt job1.m.3.0 n1: pool b is below its fair share
    -> preempt job2.m.2.0 n1: pool b is below its fair share
    -> launch job3.m.0.0 n1 off
    -> launch job3.m.1.0 n1 off
    -> launch job3.m.2.0 n1 off
    -> launch job3.m.3.0 n1 off
    900 decide
  )");
}

// 3.33 slots each: those who have 5 may be taken down to 3.
TEST_F(PreemptTest, SharesAreKeptInWholeSlots) {
  EXPECT_PLAYS(&Make(), R"(
    0 NodeJoined node=n1 maps=10
    1 JobSubmitted job=job1 pool=a maps=1:;1:;1:;1:;1:;1:
    1 JobSubmitted job=job2 pool=b maps=1:;1:;1:;1:;1:;1:
    1 AttemptLaunched attempt=job1.m.0.0 node=n1
    1 AttemptLaunched attempt=job1.m.1.0 node=n1
    1 AttemptLaunched attempt=job1.m.2.0 node=n1
    1 AttemptLaunched attempt=job1.m.3.0 node=n1
    1 AttemptLaunched attempt=job1.m.4.0 node=n1
    2 AttemptLaunched attempt=job2.m.0.0 node=n1
    2 AttemptLaunched attempt=job2.m.1.0 node=n1
    2 AttemptLaunched attempt=job2.m.2.0 node=n1
    2 AttemptLaunched attempt=job2.m.3.0 node=n1
    2 AttemptLaunched attempt=job2.m.4.0 node=n1
    10 JobSubmitted job=job3 pool=c maps=1:;1:;1:;1:;1:;1:
    10 decide
    110 decide
    -> preempt job2.m.4.0 n1: pool c is below its fair share
    -> preempt job1.m.4.0 n1: pool c is below its fair share
    -> preempt job2.m.3.0 n1: pool c is below its fair share
    -> launch job3.m.0.0 n1 off
    -> launch job3.m.1.0 n1 off
    -> launch job3.m.2.0 n1 off
    900 decide
  )");
}

TEST_F(PreemptTest, ReducesAreTakenAsMapsAreEachKindForItself) {
  settings_.Named<PoolSettings>()["b"].min_reduces = 1;
  settings_.Named<PoolSettings>()["b"].min_share_timeout = 20;
  EXPECT_PLAYS(&Make(), R"(
    0 NodeJoined node=n1 maps=1 reduces=2
    1 JobSubmitted job=job1 pool=a reduces=3
    1 decide
    -> launch job1.r.0.0 n1
    -> launch job1.r.1.0 n1
    10 JobSubmitted job=job2 pool=b reduces=1
    10 decide
    30 decide
    -> preempt job1.r.1.0 n1: pool b is below its minimum share
    -> launch job2.r.0.0 n1
    31 AttemptSucceeded attempt=job1.r.1.0
    -> refused
    40 AttemptSucceeded attempt=job1.r.0.0
    41 AttemptSucceeded attempt=job2.r.0.0
    -> ended job2 succeeded
    41 decide
    -> launch job1.r.1.1 n1
    -> launch job1.r.2.0 n1
  )");
}

TEST_F(PreemptTest, InAFifoPoolTheLaterJobGivesWay) {
  settings_.Named<PoolSettings>()["a"].order = PoolOrder::kFifo;
  EXPECT_PLAYS(&Make(), R"(
    0 NodeJoined node=n1 maps=4
    1 JobSubmitted job=job1 pool=a maps=1:;1:
    1 JobSubmitted job=job2 pool=a maps=1:;1:
    1 AttemptLaunched attempt=job2.m.0.0 node=n1
    1 AttemptLaunched attempt=job2.m.1.0 node=n1
    2 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    10 JobSubmitted job=job3 pool=b maps=1:;1:;1:
    10 decide
    110 decide
    -> preempt job2.m.1.0 n1: pool b is below its fair share
    -> preempt job2.m.0.0 n1: pool b is below its fair share
    -> launch job3.m.0.0 n1 off
    -> launch job3.m.1.0 n1 off
  )");
}

// The wait for the data of job2, 5 s, begins only when it is offered a slot.
TEST_F(PreemptTest, ASlotThatWasTakenForAPoolIsNotRefusedForLocality) {
  EXPECT_PLAYS(&Make("fair+delay+preempt"), R"(
    0 NodeJoined node=n1 rack=a maps=3
    0 NodeJoined node=n2 rack=b maps=1
    1 JobSubmitted job=job1 pool=a maps=1:n1;1:n1;1:n1;1:n2
    1 decide
    -> launch job1.m.0.0 n1 node
    -> launch job1.m.1.0 n1 node
    -> launch job1.m.2.0 n1 node
    -> launch job1.m.3.0 n2 node
    2 AttemptLost attempt=job1.m.1.0
    2 decide
    -> launch job1.m.1.1 n1 node
    10 JobSubmitted job=job2 pool=b maps=1:n2;1:n2;1:n2
    10 decide
    110 decide
    -> preempt job1.m.1.1 n1: pool b is below its fair share
    -> preempt job1.m.3.0 n2: pool b is below its fair share
    -> launch job2.m.0.0 n2 node
    -> launch job2.m.1.0 n1 datacenter
  )");
}

TEST_F(PreemptTest, APoolThatIsGoneWaitsForNothing) {
  EXPECT_PLAYS(&Make(), R"(
    0 NodeJoined node=n1 maps=2
    1 JobSubmitted job=job1 pool=a maps=1:;1:
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    10 JobSubmitted job=job2 pool=b maps=1:
    10 decide
    20 JobKilled job=job2
    -> ended job2 killed
    20 decide
  )");
  EXPECT_EQ(engine_->NextWake(), std::nullopt);
  EXPECT_PLAYS(engine_.get(), R"(
    30 JobSubmitted job=job3 pool=b maps=1:
    30 decide
    110 decide
    130 decide
    -> preempt job1.m.1.0 n1: pool b is below its fair share
    -> launch job3.m.0.0 n1 off
  )");
}

class WithinPoolsTest : public PreemptTest {
 protected:
  WithinPoolsTest() { settings_.Of<FairSettings>().preempt_within_pools = true; }
};

constexpr const char* kHoarding = R"(
    0 NodeJoined node=n1 maps=5
    1 JobSubmitted job=job1 pool=a maps=1:;1:;1:;1:;1:
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job1.m.2.0 n1 off
    -> launch job1.m.3.0 n1 off
    -> launch job1.m.4.0 n1 off
    10 JobSubmitted job=job2 pool=a maps=1:;1:;1:
    10 decide
    109 decide
)";

// Two jobs of 5 and 3 maps have 2.5 slots each.
TEST_F(WithinPoolsTest, AJobThatHoardsItsPoolGivesTheOthersTheirShare) {
  EXPECT_PLAYS(&Make(), kHoarding);
  EXPECT_EQ(engine_->NextWake(), 110);
  EXPECT_PLAYS(engine_.get(), R"(
    110 decide
    -> preempt job1.m.4.0 n1: job2 is below its fair share of pool a
    -> preempt job1.m.3.0 n1: job2 is below its fair share of pool a
    -> launch job2.m.0.0 n1 off
    -> launch job2.m.1.0 n1 off
  )");
  EXPECT_EQ(engine_->NextWake(), std::nullopt);  // 3 would be more than its share
}

TEST_F(WithinPoolsTest, OnlyWhereItIsAsked) {
  settings_.Of<FairSettings>().preempt_within_pools = false;
  EXPECT_PLAYS(&Make(), kHoarding);
  EXPECT_EQ(engine_->NextWake(), std::nullopt);
  EXPECT_PLAYS(engine_.get(), "500 decide");
}

TEST_F(WithinPoolsTest, OnlyWhereJobsHaveShares) {
  for (const PoolOrder order : {PoolOrder::kFifo, PoolOrder::kSjf, PoolOrder::kMlq}) {
    settings_.Named<PoolSettings>()["a"].order = order;
    EXPECT_PLAYS(&Make(), kHoarding);
    EXPECT_PLAYS(engine_.get(), "500 decide");
  }
}

// When the slots are freed, pool b comes first in the order: it runs 1 of its 2, and pool a 3 of its 4. But b has not
// waited for long enough.
TEST_F(WithinPoolsTest, WhatAJobLosesStaysInItsPool) {
  settings_.Named<PoolSettings>()["b"].weight = 0.5;
  EXPECT_PLAYS(&Make(), R"(
    0 NodeJoined node=n1 maps=6
    1 JobSubmitted job=job1 pool=a maps=1:;1:;1:;1:;1:
    1 JobSubmitted job=job2 pool=b maps=1:;1:;1:;1:
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job2.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job1.m.2.0 n1 off
    -> launch job2.m.1.0 n1 off
    -> launch job1.m.3.0 n1 off
    10 JobSubmitted job=job3 pool=a maps=1:;1:;1:
    10 decide
    105 AttemptSucceeded attempt=job2.m.0.0
    105 AttemptLaunched attempt=job1.m.4.0 node=n1
    105 decide
    110 decide
    -> preempt job1.m.4.0 n1: job3 is below its fair share of pool a
    -> preempt job1.m.3.0 n1: job3 is below its fair share of pool a
    -> launch job3.m.0.0 n1 off
    -> launch job3.m.1.0 n1 off
  )");
}

TEST_F(WithinPoolsTest, AJobThatWasFedIsNotStarvedAnyMore) {
  EXPECT_PLAYS(&Make(), kHoarding);
  EXPECT_PLAYS(engine_.get(), R"(
    109 AttemptSucceeded attempt=job1.m.0.0
    109 AttemptSucceeded attempt=job1.m.1.0
    109 decide
    -> launch job2.m.0.0 n1 off
    -> launch job2.m.1.0 n1 off
    110 decide
    300 decide
  )");
}

TEST_F(WithinPoolsTest, AChangeOfPriorityStartsTheClock) {
  EXPECT_PLAYS(&Make(), R"(
    0 NodeJoined node=n1 maps=4
    1 JobSubmitted job=job1 pool=a maps=1:;1:;1:;1:
    1 JobSubmitted job=job2 pool=a maps=1:;1:;1:;1:
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job2.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job2.m.1.0 n1 off
    10 JobPrioritySet job=job2 priority=VERY_HIGH
    10 decide
    110 decide
    -> preempt job1.m.1.0 n1: job2 is below its fair share of pool a
    -> launch job2.m.2.0 n1 off
  )");
}

TEST_F(WithinPoolsTest, AJobThatHoardsReduceSlotsGivesTheOthersTheirShare) {
  EXPECT_PLAYS(&Make(), R"(
    0 NodeJoined node=n1 maps=2 reduces=2
    1 JobSubmitted job=job1 pool=a reduces=3
    1 decide
    -> launch job1.r.0.0 n1
    -> launch job1.r.1.0 n1
    10 JobSubmitted job=job2 pool=a reduces=1
    10 decide
    110 decide
    -> preempt job1.r.1.0 n1: job2 is below its fair share of pool a
    -> launch job2.r.0.0 n1
  )");
}

TEST_F(WithinPoolsTest, AJobTakesAPermitOnANodeWhereItsReduceWaits) {
  EXPECT_PLAYS(&Make("fair+ccs+preempt"), R"(
    0 NodeJoined node=n1 reduces=1
    0 NodeJoined node=n2 reduces=1
    0 JobSubmitted job=job1 pool=a reduces=2
    0 decide
    -> launch job1.r.0.0 n1
    -> launch job1.r.1.0 n2
    1 ReduceComputing attempt=job1.r.0.0
    2 ReduceComputing attempt=job1.r.1.0
    3 JobSubmitted job=job2 pool=a reduces=1
    3 decide
    -> launch job2.r.0.0 n1
    4 ReduceCopied attempt=job2.r.0.0
    4 decide
    103 decide
    104 decide
    -> preempt job1.r.0.0 n1: job2 is below its fair share of pool a
    -> compute job2.r.0.0 n1
    -> launch job1.r.0.1 n1
  )");
}

// The node holds three reduces, and three jobs have one each, of which that of job1 computes. Once job2 has lost its
// own it has as little of its share as job4, but the room was freed for job4.
TEST_F(WithinPoolsTest, AJobTakesRoomToCopyFromReducesThatDoNotCompute) {
  EXPECT_PLAYS(&Make("fair+ccs+preempt"), R"(
    0 NodeJoined node=n1 reduces=1
    0 JobSubmitted job=job1 pool=a reduces=1
    0 JobSubmitted job=job2 pool=a reduces=1
    0 JobSubmitted job=job3 pool=a reduces=1
    0 decide
    -> launch job1.r.0.0 n1
    -> launch job2.r.0.0 n1
    -> launch job3.r.0.0 n1
    1 ReduceComputing attempt=job1.r.0.0
    2 JobSubmitted job=job4 pool=a priority=VERY_HIGH reduces=1
    2 decide
    102 decide
    -> preempt job2.r.0.0 n1: job4 is below its fair share of pool a
    -> launch job4.r.0.0 n1
  )");
}

TEST_F(WithinPoolsTest, WhatIsTakenForAPoolComesFirst) {
  EXPECT_PLAYS(&Make(), R"(
    0 NodeJoined node=n1 maps=8
    1 JobSubmitted job=job1 pool=a maps=1:;1:;1:;1:;1:;1:;1:;1:
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job1.m.2.0 n1 off
    -> launch job1.m.3.0 n1 off
    -> launch job1.m.4.0 n1 off
    -> launch job1.m.5.0 n1 off
    -> launch job1.m.6.0 n1 off
    -> launch job1.m.7.0 n1 off
    10 JobSubmitted job=job2 pool=a maps=1:
    10 JobSubmitted job=job3 pool=b maps=1:;1:;1:;1:;1:
    10 decide
    110 decide
    -> preempt job1.m.7.0 n1: pool b is below its fair share
    -> preempt job1.m.6.0 n1: pool b is below its fair share
    -> preempt job1.m.5.0 n1: pool b is below its fair share
    -> preempt job1.m.4.0 n1: pool b is below its fair share
    -> launch job3.m.0.0 n1 off
    -> launch job3.m.1.0 n1 off
    -> launch job3.m.2.0 n1 off
    -> launch job3.m.3.0 n1 off
    111 decide
    -> preempt job1.m.3.0 n1: job2 is below its fair share of pool a
    -> launch job2.m.0.0 n1 off
    500 decide
  )");
}

// Pools a and c hold 5 slots each of a share of 4.5. What job2 could run takes nothing from the share of job1.
TEST_F(PreemptTest, AJobThatMayNotRunHasNoShareOfItsPool) {
  settings_.Named<PoolSettings>()["a"].max_running_jobs = 1;
  EXPECT_PLAYS(&Make(), R"(
    0 NodeJoined node=n1 maps=10
    1 JobSubmitted job=job1 pool=a maps=1:;1:;1:;1:;1:;1:
    1 JobSubmitted job=job2 pool=a maps=1:;1:;1:;1:;1:;1:
    1 AttemptLaunched attempt=job1.m.0.0 node=n1
    1 AttemptLaunched attempt=job1.m.1.0 node=n1
    1 AttemptLaunched attempt=job1.m.2.0 node=n1
    1 AttemptLaunched attempt=job1.m.3.0 node=n1
    1 AttemptLaunched attempt=job1.m.4.0 node=n1
    2 JobSubmitted job=job3 pool=c maps=1:;1:;1:;1:;1:;1:
    2 AttemptLaunched attempt=job3.m.0.0 node=n1
    2 AttemptLaunched attempt=job3.m.1.0 node=n1
    2 AttemptLaunched attempt=job3.m.2.0 node=n1
    2 AttemptLaunched attempt=job3.m.3.0 node=n1
    2 AttemptLaunched attempt=job3.m.4.0 node=n1
    10 JobSubmitted job=job4 pool=b maps=1:
    10 decide
    110 decide
    -> preempt job3.m.4.0 n1: pool b is below its fair share
    -> launch job4.m.0.0 n1 off
  )");
}

constexpr const char* kComputes = R"(
    0 NodeJoined node=n1 maps=1 reduces=2
    1 JobSubmitted job=job1 pool=a reduces=2
    1 decide
    -> launch job1.r.0.0 n1
    -> launch job1.r.1.0 n1
    2 ReduceComputing attempt=job1.r.1.0
    10 JobSubmitted job=job2 pool=b reduces=1
    10 decide
)";

TEST_F(PreemptTest, AReduceThatComputesIsTakenAsAnyOther) {
  EXPECT_PLAYS(&Make(), kComputes);
  EXPECT_PLAYS(engine_.get(), R"(
    110 decide
    -> preempt job1.r.1.0 n1: pool b is below its fair share
    -> launch job2.r.0.0 n1
  )");
}

TEST_F(PreemptTest, AReduceThatComputesIsLeftAloneWhereThatIsAsked) {
  settings_.Of<FairSettings>().preempt_computing = false;
  EXPECT_PLAYS(&Make(), kComputes);
  EXPECT_PLAYS(engine_.get(), R"(
    110 decide
    -> preempt job1.r.0.0 n1: pool b is below its fair share
    -> launch job2.r.0.0 n1
  )");
}

TEST_F(PreemptTest, NoPermitIsTakenWhereReducesThatComputeAreLeftAlone) {
  constexpr const char* kLacksAPermit = R"(
    0 NodeJoined node=n1 reduces=2
    0 JobSubmitted job=job1 pool=a reduces=2
    0 decide
    -> launch job1.r.0.0 n1
    -> launch job1.r.1.0 n1
    1 ReduceComputing attempt=job1.r.0.0
    1 ReduceComputing attempt=job1.r.1.0
    2 JobSubmitted job=job2 pool=b reduces=1
    2 decide
    -> launch job2.r.0.0 n1
    3 ReduceCopied attempt=job2.r.0.0
    3 decide
  )";
  EXPECT_PLAYS(&Make("fair+ccs+preempt"), kLacksAPermit);
  EXPECT_EQ(engine_->View(3).groups[1].slots[TaskKind::kReduce].preempts_at, 103);
  settings_.Of<FairSettings>().preempt_computing = false;
  EXPECT_PLAYS(&Make("fair+ccs+preempt"), kLacksAPermit);
  EXPECT_EQ(engine_->View(3).groups[1].slots[TaskKind::kReduce].preempts_at, std::nullopt);
  EXPECT_EQ(engine_->NextWake(), std::nullopt);
  EXPECT_PLAYS(engine_.get(), "500 decide");
}

// job1 is due 3.5 of the 4 slots, job2 and job3 0.25 each. These come first while they have none, so by the order alone
// job2 would have the slot that was taken from it again as soon as a map of job1 ends, and lose it again.
std::string TakenOnce(const std::string& of_job1, const std::string& of_job2, const std::string& of_job3,
                      const std::string& reason) {
  return R"(
    0 NodeJoined node=n1 maps=4
    1 JobSubmitted job=job1 maps=1:;1:;1:;1:;1:;1:;1: )" +
         of_job1 + "\n1 JobSubmitted job=job2 maps=1:;1: " + of_job2 +
         "\n1 JobSubmitted job=job3 maps=1:;1: " + of_job3 + R"(
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job2.m.0.0 n1 off
    -> launch job3.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    101 decide
    -> preempt job2.m.0.0 n1: )" +
         reason + R"(
    -> launch job1.m.2.0 n1 off
    500 AttemptSucceeded attempt=job1.m.0.0
    500 decide
    -> launch job1.m.3.0 n1 off
    2000 decide
    2000 AttemptSucceeded attempt=job3.m.0.0
    2000 decide
    -> launch job2.m.0.1 n1 off
    2100 AttemptSucceeded attempt=job1.m.1.0
    2100 decide
    -> launch job1.m.4.0 n1 off
    9000 decide
  )";
}

TEST_F(PreemptTest, WhatWasTakenIsNotGivenBackAndTakenAgain) {
  settings_.Named<PoolSettings>()["b"].weight = 14;
  EXPECT_PLAYS(&Make(), TakenOnce("pool=b", "pool=c", "pool=d", "pool b is below its fair share"));
}

// The weights of the priorities are 4 and 0.25, so the shares are 3.6, 0.2 and 0.2.
TEST_F(WithinPoolsTest, WhatWasTakenIsNotGivenBackAndTakenAgain) {
  EXPECT_PLAYS(&Make(), TakenOnce("pool=a priority=VERY_HIGH", "pool=a priority=VERY_LOW", "pool=a priority=VERY_LOW",
                                  "job1 is below its fair share of pool a"));
}

// b was served at 110, and is below its share again from 299 on, further than c. But it is c that has waited for its
// second slot since 200, and for which one is taken at 300.
TEST_F(PreemptTest, WhatIsTakenForAPoolIsNotOfferedToOneThatWasServedBefore) {
  settings_.Named<PoolSettings>()["b"].weight = 2;
  EXPECT_PLAYS(&Make(), R"(
    0 NodeJoined node=n1 maps=8
    1 JobSubmitted job=job1 pool=a maps=1:;1:;1:;1:;1:;1:;1:;1:;1:;1:;1:;1:
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job1.m.2.0 n1 off
    -> launch job1.m.3.0 n1 off
    -> launch job1.m.4.0 n1 off
    -> launch job1.m.5.0 n1 off
    -> launch job1.m.6.0 n1 off
    -> launch job1.m.7.0 n1 off
    10 JobSubmitted job=job2 pool=b maps=1:;1:;1:;1:;1:;1:;1:;1:;1:;1:;1:;1:
    10 decide
    110 decide
    -> preempt job1.m.7.0 n1: pool b is below its fair share
    -> preempt job1.m.6.0 n1: pool b is below its fair share
    -> preempt job1.m.5.0 n1: pool b is below its fair share
    -> preempt job1.m.4.0 n1: pool b is below its fair share
    -> preempt job1.m.3.0 n1: pool b is below its fair share
    -> launch job2.m.0.0 n1 off
    -> launch job2.m.1.0 n1 off
    -> launch job2.m.2.0 n1 off
    -> launch job2.m.3.0 n1 off
    -> launch job2.m.4.0 n1 off
    200 JobSubmitted job=job3 pool=c maps=1:;1:;1:
    200 decide
    250 AttemptSucceeded attempt=job2.m.0.0
    250 decide
    -> launch job3.m.0.0 n1 off
    299 AttemptSucceeded attempt=job2.m.1.0
    299 AttemptSucceeded attempt=job2.m.2.0
    299 AttemptSucceeded attempt=job2.m.3.0
    299 AttemptLaunched attempt=job1.m.3.1 node=n1
    299 AttemptLaunched attempt=job1.m.4.1 node=n1
    299 AttemptLaunched attempt=job1.m.5.1 node=n1
    299 decide
    300 decide
    -> preempt job1.m.5.1 n1: pool c is below its fair share
    -> launch job3.m.1.0 n1 off
  )");
}

// b was served at 101, and is below its share of 3.3 again. job5 has waited for its share of pool x just as long as it
// may, but has no room for its output, so nothing is owed to it and b comes first, though c has nothing.
TEST_F(WithinPoolsTest, AJobThatCouldUseNothingKeepsNoPoolFromWhatItIsDue) {
  settings_.Named<PoolSettings>()["b"].weight = 12;
  settings_.Named<PoolSettings>()["x"].weight = 8;
  EXPECT_PLAYS(&Make(), R"(
    0 NodeJoined node=n1 maps=6 reduces=1
    0 NodeSpace node=n1 free_bytes=10
    1 JobSubmitted job=job1 pool=b maps=1:;1:;1:;1:;1:;1:
    1 JobSubmitted job=job2 pool=c maps=1:;1:
    1 JobSubmitted job=job3 pool=d maps=1:;1:
    1 JobSubmitted job=job4 pool=x maps=1:;1:;1:
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job2.m.0.0 n1 off
    -> launch job3.m.0.0 n1 off
    -> launch job4.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job4.m.1.0 n1 off
    101 decide
    -> preempt job2.m.0.0 n1: pool b is below its fair share
    -> launch job1.m.2.0 n1 off
    200 JobSubmitted job=job5 pool=x maps=50: reduces=1 slow_start=1 profile_runs=1 profile_ratio=1
    200 decide
    300 AttemptSucceeded attempt=job1.m.0.0
    300 decide
    -> launch job1.m.3.0 n1 off
  )");
}

// b was served, and is below its share again. m is below its minimum, so it comes first.
TEST_F(PreemptTest, APoolThatWasServedComesAfterThoseBelowTheirMinimum) {
  settings_.Named<PoolSettings>()["b"].weight = 14;
  settings_.Named<PoolSettings>()["m"].min_maps = 1;
  EXPECT_PLAYS(&Make(), R"(
    0 NodeJoined node=n1 maps=4
    1 JobSubmitted job=job1 pool=b maps=1:;1:;1:;1:;1:;1:;1:
    1 JobSubmitted job=job2 pool=c maps=1:;1:
    1 JobSubmitted job=job3 pool=d maps=1:;1:
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job2.m.0.0 n1 off
    -> launch job3.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    101 decide
    -> preempt job2.m.0.0 n1: pool b is below its fair share
    -> launch job1.m.2.0 n1 off
    500 AttemptSucceeded attempt=job1.m.0.0
    500 AttemptSucceeded attempt=job1.m.1.0
    500 JobSubmitted job=job4 pool=m maps=1:;1:
    500 decide
    -> launch job4.m.0.0 n1 off
    -> launch job1.m.3.0 n1 off
  )");
}

// The minima of 6, 1 and 3 are scaled to 1.2, 0.2 and 0.6 of the 2 slots. c and d hold one each.
TEST_F(PreemptTest, APoolThatHasNoneGetsOneFromPoolsOfLessThanOne) {
  settings_.Named<PoolSettings>()["b"].min_maps = 6;
  settings_.Named<PoolSettings>()["c"].min_maps = 1;
  settings_.Named<PoolSettings>()["d"].min_maps = 3;
  EXPECT_PLAYS(&Make(), R"(
    0 NodeJoined node=n1 maps=2
    1 JobSubmitted job=job2 pool=c maps=1:;1:;1:
    1 JobSubmitted job=job3 pool=d maps=1:;1:;1:
    1 decide
    -> launch job2.m.0.0 n1 off
    -> launch job3.m.0.0 n1 off
    10 JobSubmitted job=job1 pool=b maps=1:;1:;1:;1:;1:;1:;1:
    10 decide
    70 decide
    -> preempt job2.m.0.0 n1: pool b is below its minimum share
    -> launch job1.m.0.0 n1 off
    500 decide
  )");
}

// Under `+ccs` a node has room for 3 reduces, but one of each job at most may copy there. Of pool a as much copies as
// may, so it lacks nothing, though its share of the room is 1.5.
TEST_F(PreemptTest, NoReduceIsKilledForAPoolThatMayCopyNoMore) {
  EXPECT_PLAYS(&Make("fair+ccs+preempt"), R"(
    0 NodeJoined node=n1 maps=1 reduces=1
    1 JobSubmitted job=job1 pool=a maps=1:;1: reduces=5 slow_start=0
    1 JobSubmitted job=job2 pool=b maps=1:;1: reduces=5 slow_start=0
    1 JobSubmitted job=job3 pool=b maps=1:;1: reduces=5 slow_start=0
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.r.0.0 n1
    -> launch job2.r.0.0 n1
    -> launch job3.r.0.0 n1
    101 decide
    1001 decide
  )");
  const PolicyView view = engine_->View(1001);
  for (const GroupView& group : view.groups) EXPECT_EQ(group.slots[TaskKind::kReduce].preempts_at, std::nullopt);
}

TEST_F(PreemptTest, NoReduceIsKilledForAJobOfItsPoolThatMayCopyNoMore) {
  settings_.Of<FairSettings>().preempt_within_pools = true;
  EXPECT_PLAYS(&Make("fair+ccs+preempt"), R"(
    0 NodeJoined node=n1 maps=1 reduces=1
    1 JobSubmitted job=job1 pool=a maps=1:;1: reduces=5 slow_start=0 priority=VERY_HIGH
    1 JobSubmitted job=job2 pool=a maps=1:;1: reduces=5 slow_start=0
    1 JobSubmitted job=job3 pool=a maps=1:;1: reduces=5 slow_start=0
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.r.0.0 n1
    -> launch job2.r.0.0 n1
    -> launch job3.r.0.0 n1
    101 decide
    1001 decide
  )");
}

// Pool a is due 3 of the 6 rooms to copy and has 1, but its job may copy with one reduce more on the node.
TEST_F(PreemptTest, NoMoreReducesAreKilledThanThePoolMayCopy) {
  EXPECT_PLAYS(&Make("fair+ccs+preempt"), R"(
    0 NodeJoined node=n1 maps=1 reduces=2
    1 JobSubmitted job=job2 pool=b maps=1:;1: reduces=2 slow_start=0
    1 JobSubmitted job=job3 pool=b maps=1: reduces=2 slow_start=0
    1 JobSubmitted job=job4 pool=b maps=1: reduces=1 slow_start=0
    1 decide
    -> launch job2.m.0.0 n1 off
    -> launch job2.r.0.0 n1
    -> launch job3.r.0.0 n1
    -> launch job4.r.0.0 n1
    -> launch job2.r.1.0 n1
    -> launch job3.r.1.0 n1
    2 JobSubmitted job=job1 pool=a maps=1: reduces=5 slow_start=0
    2 decide
    -> launch job1.r.0.0 n1
    102 decide
    -> preempt job2.r.1.0 n1: pool a is below its fair share
    -> launch job1.r.1.0 n1
    1000 decide
  )");
}

// The map of b would write more than n1 has room for, so the map of a that was launched last stays, and n2 gives one.
TEST_F(PreemptTest, ASlotIsTakenOnlyWhereItIsOfUse) {
  EXPECT_PLAYS(&Make(), R"(
    0 NodeJoined node=n1 maps=1
    0 NodeJoined node=n2 maps=1 reduces=1
    0 NodeSpace node=n1 free_bytes=10
    1 JobSubmitted job=job1 pool=a maps=1:n2;1:n1;1:;1:
    1 decide
    -> launch job1.m.0.0 n2 node
    -> launch job1.m.1.0 n1 node
    10 JobSubmitted job=job2 pool=b maps=50: reduces=1 profile_runs=1 profile_ratio=1
    10 decide
    110 decide
    -> preempt job1.m.0.0 n2: pool b is below its fair share
    -> launch job2.m.0.0 n2 off
  )");
}

// Both slots of n2 are free, but no map of b fits there.
TEST_F(PreemptTest, SlotsThatAreFreeCountOnlyWhereTheyAreOfUse) {
  EXPECT_PLAYS(&Make(), R"(
    0 NodeJoined node=n1 maps=4 reduces=1
    0 NodeJoined node=n2 maps=2
    0 NodeSpace node=n2 free_bytes=10
    1 JobSubmitted job=job1 pool=a maps=50:;50:;50:;50: reduces=1 slow_start=1 profile_runs=1 profile_ratio=1
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job1.m.2.0 n1 off
    -> launch job1.m.3.0 n1 off
    10 JobSubmitted job=job2 pool=b maps=50:;50:;50: reduces=1 slow_start=1 profile_runs=1 profile_ratio=1
    10 decide
    110 decide
    -> preempt job1.m.3.0 n1: pool b is below its fair share
    -> launch job2.m.0.0 n1 off
  )");
}

// The map of b that is closest to n1 does not fit there as long as maps run, though another one would.
TEST_F(PreemptTest, NothingIsTakenForAMapThatWouldNotBeLaunchedThere) {
  EXPECT_PLAYS(&Make(), R"(
    0 NodeJoined node=n1 maps=1
    0 NodeJoined node=n2 maps=1 reduces=1
    0 NodeSpace node=n1 free_bytes=10
    0 NodeSpace node=n2 free_bytes=10
    1 JobSubmitted job=job1 pool=a maps=1:n1;1:n2;1:;1:
    1 decide
    -> launch job1.m.0.0 n1 node
    -> launch job1.m.1.0 n2 node
    10 JobSubmitted job=job2 pool=b maps=50:n1;1: reduces=1 profile_runs=1 profile_ratio=1
    10 decide
    110 decide
    500 decide
  )");
}

// Each is due one of the 3 slots. When both are due, the map of job2 does not fit beside the three of job1, so the slot
// is taken for job3 alone, and is its own, though the map of job2 would fit by then.
std::string FitsNotYet(const std::string& of_job2, const std::string& of_job3, const std::string& reason_of_job2,
                       const std::string& reason_of_job3) {
  const std::string writes = " reduces=1 slow_start=1 profile_runs=1 profile_ratio=1 ";
  return R"(
    0 NodeJoined node=n1 maps=3 reduces=1
    0 NodeSpace node=n1 free_bytes=130
    1 JobSubmitted job=job1 pool=a maps=40:;40:;40:)" +
         writes + R"(
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job1.m.2.0 n1 off
    10 JobSubmitted job=job2 maps=40:)" +
         writes + of_job2 + "\n10 JobSubmitted job=job3 maps=10:" + writes + of_job3 + R"(
    10 decide
    110 decide
    -> preempt job1.m.2.0 n1: )" +
         reason_of_job3 + R"(
    -> launch job3.m.0.0 n1 off
    210 decide
    -> preempt job1.m.1.0 n1: )" +
         reason_of_job2 + R"(
    -> launch job2.m.0.0 n1 off
    500 decide
  )";
}

TEST_F(PreemptTest, APoolThatCouldUseNothingIsNotOfferedWhatIsTakenForAnother) {
  EXPECT_PLAYS(&Make(),
               FitsNotYet("pool=b", "pool=c", "pool b is below its fair share", "pool c is below its fair share"));
}

TEST_F(WithinPoolsTest, AJobThatCouldUseNothingIsNotOfferedWhatIsTakenForAnother) {
  EXPECT_PLAYS(&Make(), FitsNotYet("pool=a", "pool=a", "job2 is below its fair share of pool a",
                                   "job3 is below its fair share of pool a"));
}

// There is room for one more output. At 110 slots are taken for b and c, which is due two of the 4, but what is taken
// for c goes back to a, since the map of b leaves no room. As soon as b lost its map the same would happen again: c is
// left alone until it has got a slot by itself, at 300.
TEST_F(PreemptTest, NothingIsTakenAgainForAPoolThatGotNothingByIt) {
  settings_.Named<PoolSettings>()["c"].weight = 2;
  EXPECT_PLAYS(&Make(), R"(
    0 NodeJoined node=n1 maps=4 reduces=1
    0 NodeSpace node=n1 free_bytes=10
    1 JobSubmitted job=job1 pool=a maps=1:;1:;1:;1:
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job1.m.2.0 n1 off
    -> launch job1.m.3.0 n1 off
    10 JobSubmitted job=job2 pool=b maps=6:;6: reduces=1 slow_start=1 profile_runs=1 profile_ratio=1
    10 JobSubmitted job=job3 pool=c maps=6:;6:;6: reduces=1 slow_start=1 profile_runs=1 profile_ratio=1
    10 decide
    110 decide
    -> preempt job1.m.3.0 n1: pool b is below its fair share
    -> preempt job1.m.2.0 n1: pool c is below its fair share
    -> preempt job1.m.1.0 n1: pool c is below its fair share
    -> launch job2.m.0.0 n1 off
    -> launch job1.m.1.1 n1 off
    -> launch job1.m.2.1 n1 off
    110 AttemptLost attempt=job2.m.0.0
    110 AttemptLaunched attempt=job1.m.3.1 node=n1
    110 decide
    210 decide
    -> preempt job1.m.3.1 n1: pool b is below its fair share
    -> launch job2.m.0.1 n1 off
  )");
  EXPECT_EQ(engine_->NextWake(), std::nullopt);
  EXPECT_PLAYS(engine_.get(), R"(
    220 NodeSpace node=n1 free_bytes=100
    300 AttemptSucceeded attempt=job1.m.1.1
    300 decide
    -> launch job3.m.0.0 n1 off
    399 decide
    400 decide
    -> preempt job1.m.2.1 n1: pool c is below its fair share
    -> launch job3.m.1.0 n1 off
  )");
}

TEST_F(PreemptTest, NothingIsTakenOnANodeThatTakesNoTasks) {
  EXPECT_PLAYS(&Make(), R"(
    0 NodeJoined node=n1 maps=2
    0 NodeJoined node=n2 maps=2
    1 JobSubmitted job=job1 pool=a maps=1:n2;1:n1;1:n2;1:n1
    1 decide
    -> launch job1.m.0.0 n2 node
    -> launch job1.m.1.0 n1 node
    -> launch job1.m.2.0 n2 node
    -> launch job1.m.3.0 n1 node
    9 NodeDrained node=n1
    10 JobSubmitted job=job2 pool=b maps=1:;1:;1:
    10 decide
    110 decide
    -> preempt job1.m.2.0 n2: pool b is below its fair share
    -> launch job2.m.0.0 n2 off
    500 decide
  )");
}

// Of a three reduces copy where one may run since `+ccs` is gone. To kill one leaves no slot for b.
TEST_F(PreemptTest, NothingIsTakenOnANodeWhereMoreRunsThanMay) {
  settings_.Named<PoolSettings>()["b"].min_reduces = 1;
  std::string why;
  const auto make = [&](const SchedulerSet& set) { return MakePolicy(set.name, settings_, &why); };
  engine_ = std::make_unique<Engine>(EngineOptions{.make_policy = make}, MakePolicy("fair+ccs", settings_, &why));
  EXPECT_PLAYS(engine_.get(), R"(
    0 NodeJoined node=n1 maps=1 reduces=1
    1 JobSubmitted job=job1 pool=a maps=1:;1: reduces=2 slow_start=0
    1 JobSubmitted job=job2 pool=a maps=1:;1: reduces=2 slow_start=0
    1 JobSubmitted job=job3 pool=a maps=1:;1: reduces=2 slow_start=0
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.r.0.0 n1
    -> launch job2.r.0.0 n1
    -> launch job3.r.0.0 n1
    2 SchedulerSet name=fair%2Bpreempt
    2 JobSubmitted job=job4 pool=b maps= reduces=1
    2 decide
    62 decide
    500 decide
  )");
}

// What was taken for b went to a node that it may not use any more when it was offered: nothing is taken again for it
// before it has got a slot by itself.
TEST(StarvationClocksRest, UntilAMemberHasMore) {
  StarvationClocks clocks([](const StarvationClocks::Lack&) { return Micros{10}; });
  FairQueue queue;
  FairQueue::Member member("a", 1);
  const StarvationClocks::Lack lack{&member, StarvationClocks::Cause::kFairShare};
  queue.SetCapacity(10 * kSlot);
  queue.Put(member, {kSlot, 0, 5, 2, true});
  clocks.Start(lack, 0);
  EXPECT_EQ(clocks.NextDue(), 10);
  clocks.Rest(lack, 2);
  EXPECT_EQ(clocks.NextDue(), std::nullopt);
  EXPECT_TRUE(clocks.Due(1000).empty());
  clocks.WakeThoseThatGained(20);
  EXPECT_EQ(clocks.NextDue(), std::nullopt);
  queue.Put(member, {kSlot, 0, 5, 3, true});
  clocks.WakeThoseThatGained(30);
  EXPECT_EQ(clocks.NextDue(), 40);
  clocks.Rest(lack, 3);
  // It loses what it has, and then gets some again by itself.
  queue.Put(member, {kSlot, 0, 5, 0, true});
  clocks.WakeThoseThatGained(41);
  EXPECT_EQ(clocks.NextDue(), std::nullopt);
  queue.Put(member, {kSlot, 0, 5, 1, true});
  clocks.WakeThoseThatGained(42);
  EXPECT_EQ(clocks.NextDue(), 52);
  clocks.Rest(lack, 1);
  clocks.Stop(lack);  // it lacks nothing any more
  clocks.Start(lack, 50);
  EXPECT_EQ(clocks.NextDue(), 60);
  queue.Erase(member);
}

}  // namespace
}  // namespace millrace::sched
