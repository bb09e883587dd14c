// SPDX-License-Identifier: Apache-2.0
// `fair+preempt` as tables: a task is killed only where somebody gains by it, and he is who gets the slot; times in us.
#include <gtest/gtest.h>

#include "schedulers/core/policy_view.h"
#include "schedulers/policies/fair/starvation_clocks.h"
#include "tests/schedulers/policies/fair/preemption_fixture.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

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

// The slot that is free on n2 is of no use to b, whose outputs do not fit there: one is taken where they do.
TEST_F(PreemptTest, AFreeSlotThatIsOfNoUseIsNoSlot) {
  EXPECT_PLAYS(&Make(), R"(
    0 NodeJoined node=n1 maps=2 reduces=1
    0 NodeJoined node=n2 maps=1 reduces=1
    0 NodeSpace node=n2 free_bytes=5
    1 JobSubmitted job=job1 pool=a maps=1:n1;1:n1
    1 decide
    -> launch job1.m.0.0 n1 node
    -> launch job1.m.1.0 n1 node
    10 JobSubmitted job=job2 pool=b maps=6:;6: reduces=1 slow_start=1 profile_runs=1 profile_ratio=1
    10 decide
    110 decide
    -> preempt job1.m.1.0 n1: pool b is below its fair share
    -> launch job2.m.0.0 n1 off
    -> launch job1.m.1.1 n2 rack
  )");
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

// b is below its minimum, but its reduce would wait for a map that fits nowhere before the reduce of job1 has ended. It
// was killed for b, whereupon nothing went on and job2 had to give way at once: job1 had lost its work for nothing.
TEST_F(PreemptTest, NoReduceIsKilledForAJobWhoseMapsFitNowhere) {
  settings_.Named<PoolSettings>()["b"].min_reduces = 1;
  EXPECT_PLAYS(&Make(), R"(
    0 NodeJoined node=n1 maps=1 reduces=1
    0 NodeSpace node=n1 free_bytes=100
    1 JobSubmitted job=job1 pool=a maps=60: reduces=1 profile_runs=1 profile_ratio=1
    1 decide
    -> launch job1.m.0.0 n1 off
    2 AttemptSucceeded attempt=job1.m.0.0 input_bytes=60 output_bytes=60
    -> ready job1.m.0.0 n1
    2 NodeSpace node=n1 free_bytes=40
    2 decide
    -> launch job1.r.0.0 n1
    3 ReduceComputing attempt=job1.r.0.0
    3 JobSubmitted job=job2 pool=b maps=10:;50: reduces=1 slow_start=0.5 profile_runs=1 profile_ratio=1
    3 decide
    -> launch job2.m.0.0 n1 off
    4 AttemptSucceeded attempt=job2.m.0.0 input_bytes=10 output_bytes=10
    -> ready job2.m.0.0 n1
    4 NodeSpace node=n1 free_bytes=30
    4 decide
    64 decide
  )");
  EXPECT_EQ(engine_->View(64).groups.back().slots[TaskKind::kReduce].preempts_at, std::nullopt);
  EXPECT_PLAYS(engine_.get(), R"(
    70 AttemptSucceeded attempt=job1.r.0.0
    -> ended job1 succeeded
    70 NodeSpace node=n1 free_bytes=90
    70 decide
    -> launch job2.m.1.0 n1 off
    -> launch job2.r.0.0 n1
  )");
}

// While a map runs it may be that one that makes room, so b gets its minimum.
TEST_F(PreemptTest, AReduceIsKilledForAJobWhoseMapsMayFitOnceThoseThatRunHaveEnded) {
  settings_.Named<PoolSettings>()["b"].min_reduces = 1;
  EXPECT_PLAYS(&Make(), R"(
    0 NodeJoined node=n1 maps=1 reduces=1
    0 NodeSpace node=n1 free_bytes=100
    1 JobSubmitted job=job1 pool=a maps=10:;10: reduces=1 slow_start=0 profile_runs=1 profile_ratio=1
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.r.0.0 n1
    2 JobSubmitted job=job2 pool=b maps=95: reduces=1 slow_start=0 profile_runs=1 profile_ratio=1
    2 decide
    62 decide
    -> preempt job1.r.0.0 n1: pool b is below its minimum share
    -> launch job2.r.0.0 n1
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
