// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/external/external.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "schedulers/core/engine.h"
#include "schedulers/policies/simple/fifo.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

constexpr auto kRanking = OutsideTerms::Kind::kRanking;
constexpr auto kAssignment = OutsideTerms::Kind::kAssignment;

// A policy whose fallback is fifo, and whose program the test plays.
std::unique_ptr<Policy> Made(OutsideTerms::Kind kind, const std::string& program = "program") {
  OutsideTerms terms;
  terms.program = program, terms.kind = kind, terms.fallback = "fifo";
  return std::make_unique<External>("external", terms, std::make_unique<FifoOrder>(), Admission());
}

TEST(ExternalTest, WithoutAProgramTheFallbackDecides) {
  Engine engine({}, Made(kAssignment, ""));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1
    1 JobSubmitted job=job1 maps=1:
    1 JobSubmitted job=job2 maps=1: priority=HIGH
    1 decide
    -> launch job2.m.0.0 n1 off
  )");
  EXPECT_FALSE(engine.outside()->open());
}

// The order that the program gave holds although it is old; job3 came later, and follows by the fallback's order.
TEST(ExternalTest, ARankingHoldsUntilTheNextAndNobodyWaitsForIt) {
  Engine engine({}, Made(kRanking));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1
    1 JobSubmitted job=job1 maps=1:;1:
    1 decide
    -> launch job1.m.0.0 n1 off
    2 JobSubmitted job=job2 maps=1:;1:
    2 PolicyAnswered question=1 answer=order%20maps%3Djob2,job1
    3 JobSubmitted job=job3 maps=1: priority=VERY_HIGH
    4 AttemptSucceeded attempt=job1.m.0.0
    4 decide
    -> launch job2.m.0.0 n1 off
    5 AttemptSucceeded attempt=job2.m.0.0
    5 decide
    -> launch job2.m.1.0 n1 off
    6 AttemptSucceeded attempt=job2.m.1.0
    -> ended job2 succeeded
    6 decide
    -> launch job1.m.1.0 n1 off
    7 AttemptSucceeded attempt=job1.m.1.0
    -> ended job1 succeeded
    7 decide
    -> launch job3.m.0.0 n1 off
  )");
}

TEST(ExternalTest, ARankingIsAskedForOnceInAnInterval) {
  Engine engine({}, Made(kRanking));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1
    1000 JobSubmitted job=job1 maps=1:;1:
    1000 decide
    -> launch job1.m.0.0 n1 off
    1001 PolicyAnswered question=1 answer=order%20maps%3Djob1
    1002 JobSubmitted job=job2 maps=1:
    1002 decide
  )");
  EXPECT_FALSE(engine.outside()->open());
  EXPECT_EQ(engine.NextWake(), 501'000);
  Effects effects;
  engine.Decide(501'000, &effects);
  EXPECT_EQ(engine.outside()->open(), 2U);
  EXPECT_EQ(engine.NextWake(), std::nullopt);
}

// One launch for each answer; the next question tells of it.
TEST(ExternalTest, AnAssignmentIsAskedForEachSlot) {
  Engine engine({}, Made(kAssignment));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=2
    1 JobSubmitted job=job1 maps=1:;1:
    1 JobSubmitted job=job2 maps=1:
    1 decide
    1 PolicyAnswered question=1 answer=order%20maps%3Djob2,job1
    1 decide
    -> launch job2.m.0.0 n1 off
    1 PolicyAnswered question=2 answer=order%20maps%3Djob2,job1
    1 decide
    -> launch job1.m.0.0 n1 off
  )");
  EXPECT_FALSE(engine.outside()->open());  // there is no slot left
}

TEST(ExternalTest, LaunchesOfAnAnswerAreMadeInItsOrderAndTheImpossibleIsRefused) {
  Engine engine({}, Made(kAssignment));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1
    0 NodeJoined node=n2 maps=1
    1 JobSubmitted job=job1 maps=1:n1;1:n2
    1 JobSubmitted job=job2 maps=1:
    1 decide
    1 PolicyAnswered question=1 answer=launch%20kind%3Dmap%20job%3Djob9%20node%3Dn1%0Alaunch%20kind%3Dmap%20job%3Djob2%20node%3Dn2%0Alaunch%20kind%3Dmap%20job%3Djob1%20node%3Dn2%0Alaunch%20kind%3Dreduce%20job%3Djob1%20node%3Dn1%0Alaunch%20kind%3Dmap%20job%3Djob1%20node%3Dn1
    1 decide
    -> launch job2.m.0.0 n2 off
    -> launch job1.m.0.0 n1 node
  )");
  EXPECT_EQ(engine.outside()->counts().refused, 3U);
}

TEST(ExternalTest, AQuestionThatMissesTheLimitGoesToTheFallback) {
  Engine engine({}, Made(kAssignment));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1
    0 JobSubmitted job=job1 maps=1:
    0 JobSubmitted job=job2 maps=1:
    0 decide
    9999 decide
    10000 decide
    -> launch job1.m.0.0 n1 off
    10001 PolicyAnswered question=1 answer=order%20maps%3Djob2,job1
    10002 AttemptSucceeded attempt=job1.m.0.0
    -> ended job1 succeeded
    10002 decide
    10002 PolicyAnswered question=2 answer=order%20maps%3Djob1,job2
    10002 decide
    -> launch job2.m.0.0 n1 off
  )");
  EXPECT_EQ(engine.outside()->counts().missed, 1U);
  EXPECT_EQ(engine.outside()->counts().refused, 0U);  // that job1 has ended is no fault
}

// The last order named job2 first. It does not count for the slot that the fallback fills.
TEST(ExternalTest, TheLastOrderDoesNotCountForAQuestionThatMissedTheLimit) {
  Engine engine({}, Made(kAssignment));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1
    0 JobSubmitted job=job1 maps=1:;1:;1:
    0 JobSubmitted job=job2 maps=1:;1:;1:
    0 decide
    0 PolicyAnswered question=1 answer=order%20maps%3Djob2,job1
    0 decide
    -> launch job2.m.0.0 n1 off
    1 AttemptSucceeded attempt=job2.m.0.0
    1 decide
    10001 decide
    -> launch job1.m.0.0 n1 off
    10002 PolicyAnswered question=2 answer=
    10003 AttemptSucceeded attempt=job1.m.0.0
    10003 decide
    10003 PolicyAnswered question=3 answer=
    10003 decide
    -> launch job2.m.1.0 n1 off
  )");
}

TEST(ExternalTest, TwoWishesToPreemptAJobTakeTwoAttempts) {
  Engine engine({}, Made(kRanking));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=2
    1 JobSubmitted job=job1 maps=1:;1:
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    2 JobSubmitted job=job2 maps=1:;1:
    2 PolicyAnswered question=1 answer=order%20maps%3Djob2%0Apreempt%20kind%3Dmap%20job%3Djob1%20reason%3Dx%0Apreempt%20kind%3Dmap%20job%3Djob1%20reason%3Dy
    2 decide
    -> preempt job1.m.1.0 n1: x
    -> preempt job1.m.0.0 n1: y
    -> launch job2.m.0.0 n1 off
    -> launch job2.m.1.0 n1 off
  )");
  EXPECT_EQ(engine.outside()->counts().refused, 0U);
}

TEST(ExternalTest, PreemptsTheNewestAttempts) {
  Engine engine({}, Made(kRanking));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=3
    1 JobSubmitted job=job1 maps=1:;1:;1:
    1 AttemptLaunched attempt=job1.m.0.0 node=n1
    2 AttemptLaunched attempt=job1.m.1.0 node=n1
    3 AttemptLaunched attempt=job1.m.2.0 node=n1
    3 JobSubmitted job=job2 maps=1:;1:
    3 decide
    3 PolicyAnswered question=1 answer=order%20maps%3Djob2,job1%0Apreempt%20kind%3Dmap%20job%3Djob1%20tasks%3D2%20reason%3Droom%0Apreempt%20kind%3Dmap%20job%3Djob2%20tasks%3D1
    3 decide
    -> preempt job1.m.2.0 n1: room
    -> preempt job1.m.1.0 n1: room
    -> launch job2.m.0.0 n1 off
    -> launch job2.m.1.0 n1 off
  )");
  EXPECT_EQ(engine.outside()->counts().refused, 1U);  // no task of job2 ran
}

TEST(ExternalTest, AnAnswerToAnotherQuestionOrThatIsNoneIsRefused) {
  Engine engine({}, Made(kRanking));
  EXPECT_PLAYS(&engine, R"(
    0 PolicyAnswered question=0 answer=
    -> refused
    0 NodeJoined node=n1 maps=1
    1 JobSubmitted job=job1 maps=1:
    1 decide
    -> launch job1.m.0.0 n1 off
    2 PolicyAnswered question=2 answer=
    -> refused
    2 PolicyAnswered question=1 answer=nonsense
    -> refused
    2 PolicyAnswered question=1 answer=
    3 PolicyAnswered question=1 answer=
    -> refused
  )");
}

TEST(ExternalTest, IsAskedWhenTheProgramWantsToBe) {
  Engine engine({}, Made(kRanking));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1
    0 JobSubmitted job=job1 maps=1:
    0 decide
    -> launch job1.m.0.0 n1 off
    0 PolicyAnswered question=1 answer=wake%20at%3D7000000
    500000 decide
    500000 PolicyAnswered question=2 answer=wake%20at%3D8000000
  )");
  EXPECT_EQ(engine.NextWake(), 8'000'000);
  Effects effects;
  engine.Decide(8'000'000, &effects);
  EXPECT_EQ(engine.outside()->open(), 3U);
}

// Otherwise a simulation would ask for ever at one moment, and a master all the time.
TEST(ExternalTest, TimeGoesOnBetweenQuestionsThatOnlyTheProgramAsksFor) {
  for (const OutsideTerms::Kind kind : {kRanking, kAssignment}) {
    for (const auto& [wake, next] :
         {std::pair("1000000", 0), std::pair("7", 0), std::pair("0", 0), std::pair("1000001", 1)}) {
      Engine engine({}, Made(kind));
      EXPECT_PLAYS(&engine, R"(
        0 NodeJoined node=n1 maps=1
        1000000 JobSubmitted job=job1 maps=1:
      )");
      Effects effects;
      engine.Decide(1'000'000, &effects);
      ASSERT_EQ(engine.outside()->open(), 1U);
      (void)engine.Apply(1'000'000, PolicyAnswered{1, "wake at=" + std::string(wake)}, &effects);
      engine.Decide(1'000'000, &effects);
      const auto at = engine.NextWake();
      if (next == 0) {
        EXPECT_EQ(engine.outside()->counts().refused, 1U) << wake;
        EXPECT_FALSE(at && *at <= 1'000'000) << wake;
      } else {
        EXPECT_EQ(engine.outside()->counts().refused, 0U) << wake;
        EXPECT_EQ(at, kind == kRanking ? 1'500'000 : 1'001'000) << wake;
      }
    }
  }
}

TEST(ExternalTest, DescribesEverythingAndThenWhatHasChanged) {
  Engine engine({}, Made(kAssignment));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 rack=r1 maps=2 reduces=1
    5 JobSubmitted job=job1 name=a%20b user=ada maps=10:;20: reduces=1 slow_start=1 map_time=7
    5 decide
  )");
  EXPECT_EQ(engine.outside()->Describe(engine.state(), 5, true),
            "whole\nat now=5\nnode id=n1 rack=r1 datacenter= maps=2 reduces=1 free_maps=2 free_reduces=1\n"
            "slots maps=2 reduces=1 permits=1\n"
            "job id=job1 name=a%20b user=ada pool=ada priority=NORMAL submitted=5 order=0 maps=2 reduces=1 bytes=30 "
            "map_time=7\n"
            "tasks job=job1 maps_pending=2 maps_running=0 maps_done=0 reduces_pending=1 reduces_running=0 "
            "reduces_done=0 computing=0 demand_maps=2 demand_reduces=0 demand_permits=0 offered=m\n"
            "decide question=1\n");
  EXPECT_PLAYS(&engine, R"(
    5 PolicyAnswered question=1 answer=order%20maps%3Djob9
    5 decide
    -> launch job1.m.0.0 n1 off
  )");
  EXPECT_EQ(engine.outside()->Describe(engine.state(), 5, false),
            "at now=5\nnode id=n1 rack=r1 datacenter= maps=2 reduces=1 free_maps=1 free_reduces=1\n"
            "tasks job=job1 maps_pending=1 maps_running=1 maps_done=0 reduces_pending=1 reduces_running=0 "
            "reduces_done=0 computing=0 demand_maps=2 demand_reduces=0 demand_permits=0 offered=m\n"
            "refused what=order%20of%20job9 why=there%20was%20never%20such%20a%20job\n"
            "decide question=2\n");
  EXPECT_PLAYS(&engine, R"(
    6 PolicyAnswered question=2 answer=
    6 decide
    -> launch job1.m.1.0 n1 off
    7 JobKilled job=job1 reason=x
    -> kill job1.m.0.0 n1: x
    -> kill job1.m.1.0 n1: x
    -> ended job1 killed: x
    7 NodeLost node=n1
    8 NodeJoined node=n2 maps=1
    8 JobSubmitted job=job2 maps=1:
    8 decide
  )");
  EXPECT_EQ(engine.outside()->Describe(engine.state(), 8, false),
            "at now=8\nlost id=n1\nnode id=n2 rack= datacenter= maps=1 reduces=0 free_maps=1 free_reduces=0\n"
            "slots maps=1 reduces=0 permits=0\nended job=job1\n"
            "job id=job2 name= user= pool= priority=NORMAL submitted=8 order=1 maps=1 reduces=0 bytes=1\n"
            "tasks job=job2 maps_pending=1 maps_running=0 maps_done=0 reduces_pending=0 reduces_running=0 "
            "reduces_done=0 computing=0 demand_maps=1 demand_reduces=0 demand_permits=0 offered=m\n"
            "decide question=3\n");
}

// A clone has nobody to ask, and goes on by the last order.
TEST(ExternalTest, ACloneGoesOnByTheLastOrder) {
  Engine engine({}, Made(kAssignment));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1
    1 JobSubmitted job=job1 maps=1:
    1 JobSubmitted job=job2 maps=1:;1:
    1 decide
    1 PolicyAnswered question=1 answer=order%20maps%3Djob2,job1
  )");
  const std::unique_ptr<Engine> clone = engine.Clone();
  ASSERT_NE(clone, nullptr);
  EXPECT_PLAYS(clone.get(), R"(
    2 decide
    -> launch job2.m.0.0 n1 off
    3 AttemptSucceeded attempt=job2.m.0.0
    3 decide
    -> launch job2.m.1.0 n1 off
  )");
  EXPECT_FALSE(clone->outside()->open());
}

}  // namespace
}  // namespace millrace::sched
