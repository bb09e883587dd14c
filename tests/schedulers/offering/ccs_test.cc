// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "schedulers/core/engine.h"
#include "schedulers/offering/copy_compute_splitting.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "schedulers/policies/simple/capacity_settings.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

std::unique_ptr<Policy> Make(const std::string& scheduler, Settings settings) {
  std::string why;
  return MakePolicy(scheduler, settings, &why);
}

std::unique_ptr<Policy> Make(const std::string& scheduler, double max_reducers = 3) {
  Settings settings;
  settings.Of<CcsSettings>().max_reducers = max_reducers;
  return Make(scheduler, settings);
}

// Figure 6: a long job has as many reduces as the cluster has slots, and a small job comes later. A dual-core machine
// with 2 reduce slots.
constexpr const char* kLongJob = R"(
    0 NodeJoined node=n1 maps=1 reduces=2
    0 JobSubmitted job=job1 maps=1:;1: reduces=6 slow_start=0
    0 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.r.0.0 n1
    -> launch job1.r.1.0 n1
    1 JobSubmitted job=job2 reduces=3 priority=LOW
)";

TEST(Ccs, WithoutItALongJobHoardsTheReduceSlots) {
  Engine engine({}, Make("fifo"));
  EXPECT_PLAYS(&engine, std::string(kLongJob) + R"(
    1 decide
  )");
}

TEST(Ccs, WithItASmallJobRunsBesideALongOne) {
  Engine engine({}, Make("fifo+ccs"));
  EXPECT_PLAYS(&engine, std::string(kLongJob) + R"(
    1 decide
    -> launch job2.r.0.0 n1
    -> launch job2.r.1.0 n1
    # Its third has to wait until one of it computes, although the node may hold 6.
    2 ReduceComputing attempt=job2.r.1.0
    2 decide
    -> launch job2.r.2.0 n1
  )");
}

TEST(Ccs, AJobWhoseReducesComputeCopiesMore) {
  Engine engine({}, Make("fifo+ccs"));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 reduces=2
    0 JobSubmitted job=job1 reduces=9
    0 decide
    -> launch job1.r.0.0 n1
    -> launch job1.r.1.0 n1
    1 ReduceComputing attempt=job1.r.0.0
    1 ReduceComputing attempt=job1.r.1.0
    1 decide
    -> launch job1.r.2.0 n1
    -> launch job1.r.3.0 n1
    2 AttemptSucceeded attempt=job1.r.0.0
    2 decide
    3 ReduceComputing attempt=job1.r.2.0
    3 decide
    -> launch job1.r.4.0 n1
    4 AttemptLost attempt=job1.r.4.0
    4 decide
    -> launch job1.r.4.1 n1
  )");
}

TEST(Ccs, ANodeHoldsMaxReducersAndItsMapSlotsStayAsTheyAre) {
  Engine engine({}, Make("fifo+ccs", 1.5));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1 reduces=2
    0 JobSubmitted job=job1 reduces=2
    0 JobSubmitted job=job2 reduces=2
    0 JobSubmitted job=job3 maps=1:;1:
    0 decide
    -> launch job3.m.0.0 n1 off
    -> launch job1.r.0.0 n1
    -> launch job1.r.1.0 n1
    -> launch job2.r.0.0 n1
  )");
}

// Reduces of two jobs compute on one node with one slot; the one of job1 came first.
constexpr const char* kTwoWait = R"(
    0 NodeJoined node=n1 reduces=1
    0 JobSubmitted job=job1 reduces=2 priority=VERY_LOW user=ann deadline=90
    0 JobSubmitted job=job2 reduces=2 priority=VERY_HIGH user=bob deadline=50
    0 JobSubmitted job=job3 reduces=1 priority=LOW user=cid deadline=70
    0 decide
)";

TEST(Ccs, APermitGoesToTheFirstJobInThePolicysOrder) {
  for (const char* scheduler : {"fifo+ccs", "edf+ccs", "dl+ccs", "lsap+ccs"}) {
    SCOPED_TRACE(scheduler);
    Engine engine({}, Make(scheduler));
    (void)Play(&engine, kTwoWait);
    // job1 was the first to copy, and job3 the second; the permit is free then, so job1 has it at once.
    EXPECT_PLAYS(&engine, R"(
      1 ReduceCopied attempt=job1.r.0.0
      1 decide
      -> compute job1.r.0.0 n1
      2 ReduceCopied attempt=job3.r.0.0
      3 ReduceCopied attempt=job2.r.0.0
      3 decide
      4 AttemptSucceeded attempt=job1.r.0.0
    )");
    EXPECT_THAT(Play(&engine, "4 decide"), testing::HasSubstr("-> compute job2.r.0.0 n1\n")) << scheduler;
  }
}

TEST(Ccs, WithinAJobThePermitGoesToTheReduceThatHasWaitedLongest) {
  Engine engine({}, Make("fifo+ccs"));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 reduces=2
    0 JobSubmitted job=job1 reduces=6
    0 decide
    -> launch job1.r.0.0 n1
    -> launch job1.r.1.0 n1
    1 ReduceComputing attempt=job1.r.0.0
    1 ReduceComputing attempt=job1.r.1.0
    1 decide
    -> launch job1.r.2.0 n1
    -> launch job1.r.3.0 n1
    2 ReduceCopied attempt=job1.r.3.0
    3 ReduceCopied attempt=job1.r.2.0
    3 ReduceCopied attempt=job1.r.2.0
    -> refused
    4 AttemptSucceeded attempt=job1.r.0.0
    4 decide
    -> compute job1.r.3.0 n1
    -> launch job1.r.4.0 n1
    5 AttemptFailed attempt=job1.r.2.0
    5 decide
    -> launch job1.r.2.1 n1
    6 AttemptSucceeded attempt=job1.r.1.0
    6 decide
  )");
}

// Weights 3 to 1: of four permits, three. What copies or waits counts for nothing.
TEST(Ccs, PoolsShareThePermitsByTheirWeights) {
  Settings settings;
  settings.Named<PoolSettings>()["ann"].weight = 3;
  Engine engine({}, Make("fair+ccs", settings));
  (void)Play(&engine, R"(
    0 NodeJoined node=n1 reduces=4
    0 JobSubmitted job=job1 reduces=8 user=bob
    0 decide
    0 JobSubmitted job=job2 reduces=8 user=ann
    0 decide
    1 ReduceCopied attempt=job1.r.0.0
    1 ReduceCopied attempt=job1.r.1.0
    1 ReduceCopied attempt=job1.r.2.0
    1 ReduceCopied attempt=job1.r.3.0
    1 ReduceCopied attempt=job2.r.0.0
    1 ReduceCopied attempt=job2.r.1.0
    1 ReduceCopied attempt=job2.r.2.0
    1 ReduceCopied attempt=job2.r.3.0
    1 decide
  )");
  EXPECT_EQ(engine.state().FindJob(JobId{1})->running_attempts[kComputePermit], 1U);
  EXPECT_EQ(engine.state().FindJob(JobId{2})->running_attempts[kComputePermit], 3U);
}

TEST(Ccs, AMaximumHoldsForThoseThatCompute) {
  Settings settings;
  settings.Named<PoolSettings>()["ann"].max_reduces = 1;
  settings.Named<QueueSettings>()["ann"] = {.capacity = 40, .max_capacity = 50};
  for (const char* scheduler : {"fair+ccs", "capacity+ccs"}) {
    SCOPED_TRACE(scheduler);
    Engine engine({}, Make(scheduler, settings));
    // Two may copy, though one may compute; each has to ask, though there are permits for both.
    EXPECT_PLAYS(&engine, R"(
      0 NodeJoined node=n1 reduces=2
      0 JobSubmitted job=job1 reduces=2 user=ann
      0 decide
      -> launch job1.r.0.0 n1 asks
      -> launch job1.r.1.0 n1 asks
      1 ReduceCopied attempt=job1.r.0.0
      1 ReduceCopied attempt=job1.r.1.0
      1 decide
      -> compute job1.r.0.0 n1
      2 AttemptSucceeded attempt=job1.r.0.0
      2 decide
      -> compute job1.r.1.0 n1
    )");
  }
}

TEST(Ccs, APoolThatIsStarvedOfPermitsTakesOneOnANodeWhereItWaits) {
  Settings settings;
  settings.Of<FairSettings>().fair_share_timeout = 10;
  Engine engine({}, Make("fair+ccs+preempt", settings));
  (void)Play(&engine, R"(
    0 NodeJoined node=n1 reduces=1
    0 NodeJoined node=n2 reduces=1
    0 JobSubmitted job=job1 reduces=2 user=ann
    0 decide
    1 ReduceComputing attempt=job1.r.0.0
    2 ReduceComputing attempt=job1.r.1.0
    3 JobSubmitted job=job2 reduces=1 user=bob
    3 decide
    4 ReduceCopied attempt=job2.r.0.0
    4 decide
  )");
  // The reduce of job1 on n2 was launched last, but job2 waits on n1.
  EXPECT_PLAYS(&engine, R"(
    13 decide
    14 decide
    -> preempt job1.r.0.0 n1: pool bob is below its fair share
    -> compute job2.r.0.0 n1
    -> launch job1.r.0.1 n1
  )");
}

// Figure 6 with reduces of 1,000 s: those that give way go back to where they computed, behind the small job's, and not
// behind their own kind on another node.
TEST(Ccs, AReduceThatLostItsPermitIsNotHeldUpByAnotherOfItsJob) {
  Settings settings;
  settings.Of<FairSettings>().fair_share_timeout = 10;
  Engine engine({}, Make("fair+ccs+preempt", settings));
  (void)Play(&engine, R"(
    0 NodeJoined node=n1 reduces=1
    0 NodeJoined node=n2 reduces=1
    0 NodeJoined node=n3 reduces=1
    0 NodeJoined node=n4 reduces=1
    0 JobSubmitted job=job1 reduces=4 user=ann
    0 decide
    1 ReduceComputing attempt=job1.r.0.0
    2 ReduceComputing attempt=job1.r.1.0
    3 ReduceComputing attempt=job1.r.2.0
    4 ReduceComputing attempt=job1.r.3.0
    5 JobSubmitted job=job2 reduces=2 user=bob
    5 decide
    -> launch job2.r.0.0 n1
    -> launch job2.r.1.0 n2
    6 ReduceCopied attempt=job2.r.0.0
    6 ReduceCopied attempt=job2.r.1.0
    6 decide
  )");
  EXPECT_PLAYS(&engine, R"(
    15 decide
    16 decide
    -> preempt job1.r.1.0 n2: pool bob is below its fair share
    -> preempt job1.r.0.0 n1: pool bob is below its fair share
    -> compute job2.r.0.0 n1
    -> compute job2.r.1.0 n2
    -> launch job1.r.0.1 n1
    -> launch job1.r.1.1 n2
    17 ReduceCopied attempt=job1.r.0.1
    17 ReduceCopied attempt=job1.r.1.1
    21 AttemptSucceeded attempt=job2.r.0.0
    21 AttemptSucceeded attempt=job2.r.1.0
    -> ended job2 succeeded
    21 decide
    -> compute job1.r.0.1 n1
    -> compute job1.r.1.1 n2
  )");
}

// Three jobs of ann fill the node, which holds three reduces. What computes is not taken for room to copy.
TEST(Ccs, APoolThatLacksRoomToCopyGetsItFromReducesThatDoNotCompute) {
  Settings settings;
  settings.Of<FairSettings>().fair_share_timeout = 10;
  Engine engine({}, Make("fair+ccs+preempt", settings));
  (void)Play(&engine, R"(
    0 NodeJoined node=n1 reduces=1
    0 JobSubmitted job=job1 reduces=1 user=ann
    0 JobSubmitted job=job2 reduces=1 user=ann
    0 JobSubmitted job=job3 reduces=1 user=ann
    0 decide
    1 ReduceComputing attempt=job1.r.0.0
    2 JobSubmitted job=job4 reduces=1 user=bob
    2 decide
  )");
  EXPECT_PLAYS(&engine, R"(
    11 decide
    12 decide
    -> preempt job2.r.0.0 n1: pool bob is below its fair share
    -> launch job4.r.0.0 n1
  )");
}

// As long as a reduce waits for its permit it is not running: nothing that is learnt of the job counts the wait.
TEST(Ccs, AWaitForAPermitIsNoRunTime) {
  Engine engine({}, Make("fifo+ccs"));
  (void)Play(&engine, R"(
    0 NodeJoined node=n1 reduces=1
    0 JobSubmitted job=job1 reduces=1
    0 JobSubmitted job=job2 reduces=1
    0 decide
    10 ReduceCopied attempt=job1.r.0.0
    10 ReduceCopied attempt=job2.r.0.0
    10 decide
    500 AttemptSucceeded attempt=job1.r.0.0
    500 decide
    560 AttemptSucceeded attempt=job2.r.0.0
  )");
  EXPECT_EQ(engine.state().FindJob(JobId{2})->MeanTime(TaskKind::kReduce), 70);
}

TEST(Ccs, EachNodeHasItsOwnRoomForCopies) {
  Engine engine({}, Make("fifo+ccs"));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 reduces=1
    0 NodeJoined node=n2 reduces=2
    0 NodeJoined node=n3
    0 JobSubmitted job=job1 reduces=9
    0 decide
    -> launch job1.r.0.0 n1
    -> launch job1.r.1.0 n2
    -> launch job1.r.2.0 n2
  )");
}

}  // namespace
}  // namespace millrace::sched
