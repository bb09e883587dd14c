// SPDX-License-Identifier: Apache-2.0
// `fair+preempt` as tables: when a pool gets slots of others, how many, and whose; times in us.
#include <gtest/gtest.h>

#include "schedulers/core/policy_view.h"
#include "tests/schedulers/policies/fair/preemption_fixture.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

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

}  // namespace
}  // namespace millrace::sched
