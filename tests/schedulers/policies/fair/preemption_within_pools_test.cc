// SPDX-License-Identifier: Apache-2.0
// `fair+preempt` within pools as tables: jobs that hoard what is their pool's give way; times in us.
#include <gtest/gtest.h>

#include "tests/schedulers/policies/fair/preemption_fixture.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

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

}  // namespace
}  // namespace millrace::sched
