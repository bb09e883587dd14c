// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/simple/edf.h"

#include <gtest/gtest.h>

#include <memory>

#include "schedulers/core/engine.h"
#include "schedulers/offering/greedy.h"
#include "schedulers/offering/locality_wait.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

std::unique_ptr<Policy> Edf(bool exclusive) {
  EdfSettings settings;
  settings.exclusive = exclusive;
  return std::make_unique<Greedy>("edf", std::make_unique<EdfOrder>(settings), Admission());
}

TEST(EdfTest, TheEarliestDeadlineFirstAndJobsWithoutOneLastInSubmitOrder) {
  Engine engine({}, Edf(false));
  EXPECT_PLAYS(&engine, R"(
    1 JobSubmitted job=job1 maps=1: priority=VERY_HIGH
    1 JobSubmitted job=job9 maps=1: deadline=900
    1 JobSubmitted job=job2 maps=1:
    1 JobSubmitted job=job4 maps=1:;1: deadline=500
    1 JobSubmitted job=job3 maps=1: deadline=900
    1 NodeJoined node=n1 maps=6
    1 decide
    -> launch job4.m.0.0 n1 off
    -> launch job4.m.1.0 n1 off
    -> launch job9.m.0.0 n1 off
    -> launch job3.m.0.0 n1 off
    -> launch job1.m.0.0 n1 off
    -> launch job2.m.0.0 n1 off
  )");
}

TEST(EdfTest, ALaterJobUsesWhatTheFirstLeavesAndANewOneGoesBeforeIt) {
  Engine engine({}, Edf(false));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=2 reduces=1
    1 JobSubmitted job=job1 maps=1: reduces=1 slow_start=1 deadline=500
    1 JobSubmitted job=job2 maps=1:;1:;1: deadline=900
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job2.m.0.0 n1 off
    2 JobSubmitted job=job3 maps=1: deadline=300
    3 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n1
    3 decide
    -> launch job3.m.0.0 n1 off
    -> launch job1.r.0.0 n1
    4 AttemptSucceeded attempt=job2.m.0.0
    4 decide
    -> launch job2.m.1.0 n1 off
  )");
}

// The round that begins lets a job in, whichever job is then asked for the slot.
TEST(EdfTest, ExclusiveAJobIsLetInOnTheOnlyFreeNodeAlsoWithDelay) {
  EdfSettings settings;
  settings.exclusive = true;
  Engine engine({}, std::make_unique<Greedy>(
                        "edf", std::make_unique<EdfOrder>(settings),
                        Admission(std::make_unique<LocalityWait>(DelaySettings{}, LevelBandwidths{}), nullptr)));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1
    1 JobSubmitted job=job1 maps=1:n1
    1 decide
    -> launch job1.m.0.0 n1 node
  )");
}

TEST(EdfTest, ExclusiveTheNextJobStartsWhenHalfOfTheReduceTimeIsOver) {
  Engine engine({}, Edf(true));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=2 reduces=1
    0 JobSubmitted job=job1 maps=1: reduces=1 slow_start=1 deadline=900 reduce_time=100
    0 JobSubmitted job=job2 maps=1: deadline=950
    0 JobSubmitted job=job3 maps=1: deadline=990
    0 decide
    -> launch job1.m.0.0 n1 off
    5 JobSubmitted job=job4 maps=1: deadline=10
    5 decide
    10 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n1
    10 decide
    -> launch job1.r.0.0 n1
    59 decide
  )");
  EXPECT_EQ(engine.NextWake(), 60);
  EXPECT_PLAYS(&engine, R"(
    60 decide
    -> launch job4.m.0.0 n1 off
    70 AttemptSucceeded attempt=job4.m.0.0
    -> ended job4 succeeded
    70 decide
    -> launch job2.m.0.0 n1 off
  )");
  EXPECT_EQ(engine.NextWake(), std::nullopt);
}

// With a second reduce what runs is half of the work by its run time, and that since long ago.
TEST(EdfTest, ExclusiveALaunchThatMakesTheJobHalfDoneLetsTheNextInAtOnce) {
  Engine engine({}, Edf(true));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1 reduces=1
    0 JobSubmitted job=job1 maps=1: reduces=3 slow_start=1 deadline=900 reduce_time=10
    0 JobSubmitted job=job2 maps=1:
    0 decide
    -> launch job1.m.0.0 n1 off
    10 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n1
    10 decide
    -> launch job1.r.0.0 n1
  )");
  EXPECT_EQ(engine.NextWake(), std::nullopt);
  EXPECT_PLAYS(&engine, R"(
    100 NodeJoined node=n2 reduces=1
    100 decide
    -> launch job1.r.1.0 n2
  )");
  EXPECT_EQ(engine.NextWake(), 101);
  EXPECT_PLAYS(&engine, R"(
    101 decide
    -> launch job2.m.0.0 n1 off
  )");
}

TEST(EdfTest, ExclusiveHalfOfTheReducesByWhatTheyReport) {
  Engine engine({}, Edf(true));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1 reduces=3
    0 JobSubmitted job=job1 maps=1: reduces=3 slow_start=1 deadline=900 reduce_time=1000
    0 JobSubmitted job=job2 maps=1:
    0 decide
    -> launch job1.m.0.0 n1 off
    1 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n1
    1 decide
    -> launch job1.r.0.0 n1
    -> launch job1.r.1.0 n1
    -> launch job1.r.2.0 n1
    2 AttemptProgressed attempt=job1.r.2.0 per_mille=999
    2 AttemptProgressed attempt=job1.r.0.0 per_mille=450
    2 decide
    3 AttemptProgressed attempt=job1.r.1.0 per_mille=51
    3 decide
    -> launch job2.m.0.0 n1 off
  )");
}

// Of job1, which comes after job2 by deadline, two reduces hold the slots that job2 will need: it has begun under
// another policy, so it goes on.
TEST(EdfTest, ExclusiveLetsInWhatHasBegunAlready) {
  Engine engine({.make_policy = [](const SchedulerSet&) { return Edf(true); }}, Edf(false));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1 reduces=2
    1 JobSubmitted job=job1 maps=1:;1: reduces=2 slow_start=0 deadline=900
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.r.0.0 n1
    -> launch job1.r.1.0 n1
    2 JobSubmitted job=job2 maps=1: reduces=1 deadline=500
    2 JobSubmitted job=job3 maps=1: deadline=400
    3 SchedulerSet name=edf
    3 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n1
    3 decide
    -> launch job1.m.1.0 n1 off
    4 AttemptSucceeded attempt=job1.m.1.0
    -> ready job1.m.1.0 n1
    4 decide
    5 ReduceComputing attempt=job1.r.0.0
    6 AttemptSucceeded attempt=job1.r.0.0
    6 decide
    -> launch job3.m.0.0 n1 off
  )");
}

}  // namespace
}  // namespace millrace::sched
