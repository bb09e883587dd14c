// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/fresh/fresh_dynamic.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "schedulers/core/engine.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

Engine Fresh(std::uint32_t k) {
  FreshSettings settings;
  settings.k = k;
  return Engine({}, std::make_unique<FreshDynamic>(settings));
}

TEST(FreshDynamicTest, SlotsHaveNoType) {
  Engine engine = Fresh(0);
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1 reduces=2
    1 JobSubmitted job=job1 maps=1:;1:;1: reduces=3
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job1.m.2.0 n1 off
    11 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n1
    11 AttemptSucceeded attempt=job1.m.1.0
    -> ready job1.m.1.0 n1
    11 decide
    11 AttemptSucceeded attempt=job1.m.2.0
    -> ready job1.m.2.0 n1
    11 decide
    -> launch job1.r.0.0 n1
    -> launch job1.r.1.0 n1
    -> launch job1.r.2.0 n1
  )");
}

// 4 slots, k = 1. At 11 job1 has 6 reduces of 10 us left and job2 enters with 2 maps of 10 us: theta_cur S is 1 and no
// map runs; then 4 x 10/70, 10/60, 10/50 < 1. At 21 it is 4 x 10/40 = 1, no more than what runs, then 4 x 10/30 > 1.
TEST(FreshDynamicTest, SlotsGoByTheWorkLeft) {
  Engine engine = Fresh(1);
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=2 reduces=2
    1 JobSubmitted job=job1 maps=1: reduces=6 map_time=10 reduce_time=10
    1 JobSubmitted job=job2 maps=1:;1: map_time=10
    1 decide
    -> launch job1.m.0.0 n1 off
    11 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n1
    11 decide
    -> launch job2.m.0.0 n1 off
    -> launch job1.r.0.0 n1
    -> launch job1.r.1.0 n1
    -> launch job1.r.2.0 n1
    21 AttemptSucceeded attempt=job1.r.0.0
    21 decide
    -> launch job1.r.3.0 n1
    21 AttemptSucceeded attempt=job1.r.1.0
    21 decide
    -> launch job2.m.1.0 n1 off
  )");
}

TEST(FreshDynamicTest, AtMostKJobsInAPhaseAndTheOthersWaitInLine) {
  Engine engine = Fresh(1);
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=4 reduces=4
    1 JobSubmitted job=job1 maps=1: reduces=1
    1 JobSubmitted job=job2 maps=1: reduces=1
    1 JobSubmitted job=job3 maps=1: reduces=1 priority=HIGH
    1 decide
    -> launch job3.m.0.0 n1 off
    2 AttemptSucceeded attempt=job3.m.0.0
    -> ready job3.m.0.0 n1
    2 decide
    -> launch job1.m.0.0 n1 off
    -> launch job3.r.0.0 n1
    3 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n1
    3 decide
    -> launch job2.m.0.0 n1 off
    4 AttemptSucceeded attempt=job2.m.0.0
    -> ready job2.m.0.0 n1
    4 decide
    5 AttemptSucceeded attempt=job3.r.0.0
    -> ended job3 succeeded
    5 decide
    -> launch job1.r.0.0 n1
    6 JobKilled job=job1 reason=x
    -> kill job1.r.0.0 n1: x
    -> ended job1 killed: x
    6 decide
    -> launch job2.r.0.0 n1
  )");
}

TEST(FreshDynamicTest, JohnsonsOrderDecidesWhoEnters) {
  FreshSettings settings;
  settings.k = 1;
  settings.order = FreshSettings::Order::kJohnson;
  Engine engine({}, std::make_unique<FreshDynamic>(settings));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=4
    1 JobSubmitted job=job1 maps=1:;1:;1: reduces=1 map_time=10 reduce_time=10
    1 JobSubmitted job=job2 maps=1:;1: reduces=4 map_time=10 reduce_time=10
    1 JobSubmitted job=job3 maps=1: reduces=2 map_time=10 reduce_time=10
    1 decide
    -> launch job3.m.0.0 n1 off
    2 JobKilled job=job3 reason=x
    -> kill job3.m.0.0 n1: x
    -> ended job3 killed: x
    2 decide
    -> launch job2.m.0.0 n1 off
    -> launch job2.m.1.0 n1 off
  )");
}

// VERY_HIGH gets four times as much as NORMAL. At 20 job1 has used 20 in 20 and job2 80, which are equal for their
// weights, until job2 is only LOW.
TEST(FreshDynamicTest, PrioritiesAreWeights) {
  Engine engine = Fresh(0);
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=5
    0 JobSubmitted job=job1 maps=1:;1:;1:;1:;1:;1:;1:
    0 JobSubmitted job=job2 maps=1:;1:;1:;1:;1:;1:;1: priority=VERY_HIGH
    0 decide
    -> launch job1.m.0.0 n1 off
    -> launch job2.m.0.0 n1 off
    -> launch job2.m.1.0 n1 off
    -> launch job2.m.2.0 n1 off
    -> launch job2.m.3.0 n1 off
    10 AttemptSucceeded attempt=job1.m.0.0
    10 decide
    -> launch job1.m.1.0 n1 off
    20 AttemptSucceeded attempt=job2.m.0.0
    20 JobPrioritySet job=job2 priority=LOW
    20 decide
    -> launch job1.m.2.0 n1 off
  )");
}

// At 20 job1 has used 10 + 20 in 20, job2 10 in 10; at 30 they stand at 30/30 and 20/20 + 10/20; at 31 at 31/31 and
// 31/21.
TEST(FreshDynamicTest, TheLeastServedJobFirst) {
  Engine engine = Fresh(0);
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=2
    0 JobSubmitted job=job1 maps=1:;1:;1:;1:
    0 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    10 AttemptSucceeded attempt=job1.m.0.0
    10 JobSubmitted job=job2 maps=1:;1:;1:;1:
    10 decide
    -> launch job2.m.0.0 n1 off
    20 AttemptSucceeded attempt=job1.m.1.0
    20 decide
    -> launch job2.m.1.0 n1 off
    30 AttemptSucceeded attempt=job2.m.0.0
    30 decide
    -> launch job1.m.2.0 n1 off
    31 AttemptSucceeded attempt=job2.m.1.0
    31 decide
    -> launch job1.m.3.0 n1 off
  )");
}

// At the start of a batch nobody has had anything: the slots go round.
TEST(FreshDynamicTest, AmongEqualsTheOneWithTheFewestTasks) {
  Engine engine = Fresh(2);
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=3 reduces=2
    1 JobSubmitted job=job1 maps=1:;1:;1:;1:
    1 JobSubmitted job=job2 maps=1:;1:;1:;1:
    1 JobSubmitted job=job3 maps=1:;1:;1:;1:
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job2.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job2.m.1.0 n1 off
    -> launch job1.m.2.0 n1 off
  )");
}

TEST(FreshDynamicTest, AMapGoesToItsData) {
  Engine engine = Fresh(0);
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 rack=a maps=1
    0 NodeJoined node=n2 rack=b maps=1
    0 NodeJoined node=n3 rack=b maps=1
    1 JobSubmitted job=job1 maps=1:n3;1:n2
    1 decide
    -> launch job1.m.0.0 n3 node
    -> launch job1.m.1.0 n2 node
  )");
}

TEST(FreshDynamicTest, AReduceThatComputesIsLeftAlone) {
  Engine engine = Fresh(1);
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1
    0 NodeJoined node=n2 maps=1
    1 JobSubmitted job=job1 maps=1:n2 reduces=2
    1 decide
    -> launch job1.m.0.0 n2 node
    2 NodeDrained node=n2
    2 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n2
    2 decide
    -> launch job1.r.0.0 n1
    3 ReduceComputing attempt=job1.r.0.0
    4 NodeLost node=n2
    -> gone job1.m.0.0 n2
    4 decide
    5 AttemptSucceeded attempt=job1.r.0.0
    5 decide
    -> launch job1.m.0.1 n1 off
  )");
}

// On n2, where one may run, three reduces wait for the map: all of them would have to go. They were launched last, but
// on n1 it is enough that one goes.
TEST(FreshDynamicTest, TheNodeGivesASlotWhereTheFewestReducesHaveToGo) {
  Engine engine = Fresh(0);
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1
    0 NodeJoined node=n2 maps=1
    1 JobSubmitted job=job1 maps=1: reduces=4
    1 decide
    -> launch job1.m.0.0 n1 off
    2 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n1
    2 AttemptLaunched attempt=job1.r.0.0 node=n1
    3 AttemptLaunched attempt=job1.r.1.0 node=n2
    3 AttemptLaunched attempt=job1.r.2.0 node=n2
    3 AttemptLaunched attempt=job1.r.3.0 node=n2
    4 AttemptLost attempt=job1.m.0.0
    -> gone job1.m.0.0 n1
    4 decide
    -> preempt job1.r.0.0 n1: a map that the reduces wait for needs a slot
    -> launch job1.m.0.1 n1 off
  )");
}

// Under another scheduler reduces of job1 began before its maps were done, and hold every slot. Its last map is nearly
// the end of all map work, so Algorithm 2 would have a reduce slot next, but it is for the map that a reduce goes.
TEST(FreshDynamicTest, ASlotThatAReduceGaveToAMapGoesToAMap) {
  FreshSettings settings;
  settings.tau_progress = 0.5;
  Engine engine({}, std::make_unique<FreshDynamic>(settings));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1 reduces=1
    1 JobSubmitted job=job1 maps=1:;1: reduces=2
    1 JobSubmitted job=job2 maps=1: reduces=1
    2 AttemptLaunched attempt=job1.m.0.0 node=n1
    2 AttemptLaunched attempt=job2.m.0.0 node=n1
    3 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n1
    3 AttemptSucceeded attempt=job2.m.0.0
    -> ready job2.m.0.0 n1
    3 AttemptLaunched attempt=job1.r.0.0 node=n1
    4 AttemptLaunched attempt=job1.r.1.0 node=n1
    5 decide
    -> preempt job1.r.1.0 n1: a map that the reduces wait for needs a slot
    -> launch job1.m.1.0 n1 off
    6 AttemptSucceeded attempt=job1.m.1.0
    -> ready job1.m.1.0 n1
    6 decide
    -> launch job2.r.0.0 n1
  )");
}

// A scheduler that takes over lets in first what has begun.
TEST(FreshDynamicTest, TakesOverWhatRuns) {
  Engine engine = Fresh(0);
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=2 reduces=1
    1 JobSubmitted job=job1 maps=1:;1:;1: reduces=1
    1 JobSubmitted job=job2 maps=1:;1:;1: reduces=1
    2 AttemptLaunched attempt=job2.m.0.0 node=n1
    2 AttemptLaunched attempt=job2.m.1.0 node=n1
  )");
  FreshSettings settings;
  settings.k = 1;
  engine.SetPolicy(std::make_unique<FreshDynamic>(settings));
  EXPECT_PLAYS(&engine, R"(
    3 decide
    -> launch job2.m.2.0 n1 off
    4 AttemptSucceeded attempt=job2.m.0.0
    -> ready job2.m.0.0 n1
    4 decide
  )");
}

TEST(FreshDynamicTest, SaysWhyJobsWait) {
  Engine engine = Fresh(1);
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1 reduces=3
    1 JobSubmitted job=job1 maps=1:;1:;1:;1:;1: reduces=1 slow_start=0.2
    1 JobSubmitted job=job2 maps=1:
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job1.m.2.0 n1 off
    -> launch job1.m.3.0 n1 off
    2 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n1
    2 decide
    -> launch job1.m.4.0 n1 off
  )");
  const PolicyView view = engine.policy().View(engine.state(), 2);
  ASSERT_EQ(view.waits.size(), 2U);
  EXPECT_EQ(InWords(view.waits[0], engine.state(), 2), "1 of its maps are done; its reduces start when 5 are");
  EXPECT_EQ(view.waits[1].job, JobId{2});
  EXPECT_EQ(InWords(view.waits[1], engine.state(), 2), "1 job is in the map phase, of at most 1");
  EXPECT_EQ(view.facts[0], Fact::Number("fresh.k", 1));
}

}  // namespace
}  // namespace millrace::sched
