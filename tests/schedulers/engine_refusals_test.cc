// SPDX-License-Identifier: Apache-2.0
// Tests that a job tries a node again some time after it began to refuse it, and that all jobs avoid a node for a while
// if several refuse it.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/engine.h"
#include "schedulers/events/limits.h"
#include "schedulers/policies/simple/fifo.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

class Refusals : public testing::Test {
 protected:
  // Only n1 has slots. The other nodes only make it one of many.
  Refusals() {
    EXPECT_PLAYS(&engine_, R"(
      0 NodeJoined node=n1 maps=1 reduces=1
      0 NodeJoined node=n2
      0 NodeJoined node=n3
      0 NodeJoined node=n4
      0 NodeJoined node=n5
    )");
  }

  [[nodiscard]] bool Avoids(std::uint32_t node) const { return engine_.state().Avoids(NodeId{node}); }

  Engine engine_{{.max_failures_per_node = 1, .refusal = 100, .longest_refusal = 300, .retry_pause = 0},
                 std::make_unique<Fifo>()};
};

TEST_F(Refusals, ANodeIsTriedAgainAfterAWhileThatDoublesUpToTheLongest) {
  EXPECT_PLAYS(&engine_, R"(
    1 JobSubmitted job=job1 maps=1:n1 max_attempts=9
    1 decide
    -> launch job1.m.0.0 n1 node
    2 AttemptFailed attempt=job1.m.0.0
    -> blame n1 by job1 until 102
    2 decide
    101 decide
  )");
  EXPECT_EQ(engine_.NextWake(), 102);
  EXPECT_PLAYS(&engine_, R"(
    102 decide
    -> launch job1.m.0.1 n1 node
    110 AttemptFailed attempt=job1.m.0.1
    -> blame n1 by job1 until 310
    309 decide
    310 decide
    -> launch job1.m.0.2 n1 node
    320 AttemptFailed attempt=job1.m.0.2
    -> blame n1 by job1 until 620
    620 decide
    -> launch job1.m.0.3 n1 node
    630 AttemptSucceeded attempt=job1.m.0.3
    -> ended job1 succeeded
  )");
  EXPECT_FALSE(engine_.NextWake());
}

// The count goes on where it was: after three failures, which were too many, one more is too many again.
TEST(RefusalsOfThree, OneMoreFailureIsEnoughOnceItIsTriedAgain) {
  Engine engine({.max_failures_per_node = 3, .refusal = 100, .retry_pause = 0}, std::make_unique<Fifo>());
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=2
    0 NodeJoined node=n2
    0 NodeJoined node=n3
    0 NodeJoined node=n4
    0 NodeJoined node=n5
    1 JobSubmitted job=job1 maps=1:n1;1:n1 max_attempts=9
    1 decide
    -> launch job1.m.0.0 n1 node
    -> launch job1.m.1.0 n1 node
    2 AttemptFailed attempt=job1.m.0.0
    2 decide
    -> launch job1.m.0.1 n1 node
    3 AttemptFailed attempt=job1.m.0.1
    3 decide
    -> launch job1.m.0.2 n1 node
    4 AttemptFailed attempt=job1.m.0.2
    -> blame n1 by job1 until 104
    # It ran there since before.
    5 AttemptFailed attempt=job1.m.1.0
    104 decide
    -> launch job1.m.0.3 n1 node
    -> launch job1.m.1.1 n1 node
    105 AttemptFailed attempt=job1.m.0.3
    -> blame n1 by job1 until 305
    105 decide
  )");
  EXPECT_EQ(engine.state().FindJob(JobId{1})->Failures(), 8u) << "five failures, refused, forgiven, refused";
}

constexpr char kThreeJobsRefuseN1[] = R"(
    1 JobSubmitted job=job1 maps=1:n1 max_attempts=9
    1 JobSubmitted job=job2 maps=1:n1 max_attempts=9
    1 JobSubmitted job=job3 maps=1:n1 max_attempts=9
    2 AttemptLaunched attempt=job1.m.0.0 node=n1
    2 AttemptFailed attempt=job1.m.0.0
    -> blame n1 by job1 until 102
    3 AttemptLaunched attempt=job2.m.0.0 node=n1
    3 AttemptFailed attempt=job2.m.0.0
    -> blame n1 by job2 until 103
    4 AttemptLaunched attempt=job3.m.0.0 node=n1
    4 AttemptFailed attempt=job3.m.0.0
    -> blame n1 by job3 until 104
)";

TEST_F(Refusals, ANodeThatThreeJobsRefuseIsAvoidedByAllForAWhile) {
  EXPECT_PLAYS(&engine_, "0 NodeJoined node=n2 maps=1 reduces=1");
  EXPECT_PLAYS(&engine_, kThreeJobsRefuseN1);
  ASSERT_TRUE(Avoids(1));
  EXPECT_EQ(engine_.state().AvoidedUntil(NodeId{1}), 102);
  EXPECT_EQ(engine_.state().Capacity(TaskKind::kMap), 1u);
  EXPECT_PLAYS(&engine_, R"(
    5 JobSubmitted job=job4 maps=1:n1;1:n1 priority=HIGH
    5 decide
    -> launch job4.m.0.0 n2 rack
    101 decide
  )");
  EXPECT_EQ(engine_.NextWake(), 102);
  EXPECT_PLAYS(&engine_, R"(
    102 decide
    -> launch job4.m.1.0 n1 node
  )");
  EXPECT_FALSE(Avoids(1));
}

TEST_F(Refusals, WhatRunsOnAnAvoidedNodeGoesOnAndWhoComesBackIsAvoidedStill) {
  EXPECT_PLAYS(&engine_, "0 NodeJoined node=n2 maps=1 reduces=1");
  EXPECT_PLAYS(&engine_, "0 JobSubmitted job=job9 reduces=1\n0 AttemptLaunched attempt=job9.r.0.0 node=n1");
  EXPECT_PLAYS(&engine_, kThreeJobsRefuseN1);
  EXPECT_PLAYS(&engine_, R"(
    5 AttemptSucceeded attempt=job9.r.0.0
    -> ended job9 succeeded
    6 NodeLost node=n1
    7 NodeJoined node=n1 maps=1 reduces=1
  )");
  EXPECT_TRUE(Avoids(1));
}

TEST_F(Refusals, TheLastNodeWithSlotsOfAKindIsNotAvoided) {
  EXPECT_PLAYS(&engine_, "0 NodeJoined node=n2 maps=1");
  EXPECT_PLAYS(&engine_, kThreeJobsRefuseN1);
  EXPECT_FALSE(Avoids(1)) << "nobody else has a slot for reduces";
  EXPECT_PLAYS(&engine_, "5 NodeJoined node=n3 reduces=1");
  EXPECT_TRUE(Avoids(1));
  EXPECT_PLAYS(&engine_, "6 NodeDrained node=n2");
  EXPECT_FALSE(Avoids(1)) << "nobody else has a slot for maps";
  EXPECT_PLAYS(&engine_, "7 NodeDrained node=n2 drained=0");
  EXPECT_TRUE(Avoids(1));
}

TEST_F(Refusals, FewerThanAQuarterOfTheNodesAreAvoided) {
  EXPECT_PLAYS(&engine_, "0 NodeJoined node=n2 maps=1 reduces=1");
  EXPECT_PLAYS(&engine_, kThreeJobsRefuseN1);
  EXPECT_PLAYS(&engine_, R"(
    5 NodeBlamed node=n2 by=job5 until=900
    5 NodeBlamed node=n2 by=job6 until=900
    5 NodeBlamed node=n2 by=job7 until=900
    5 NodeJoined node=n3 maps=1 reduces=1
  )");
  EXPECT_TRUE(Avoids(2)) << "it is refused for longer";
  EXPECT_FALSE(Avoids(1));
  EXPECT_PLAYS(&engine_, "6 NodeLost node=n5");
  EXPECT_FALSE(Avoids(2)) << "four nodes live";
}

TEST_F(Refusals, AJobThatFailedOrWasKilledBlamesNobody) {
  EXPECT_PLAYS(&engine_, "0 NodeJoined node=n2 maps=1 reduces=1");
  EXPECT_PLAYS(&engine_, kThreeJobsRefuseN1);
  EXPECT_PLAYS(&engine_, R"(
    5 AttemptLaunched attempt=job1.m.0.1 node=n2
    5 AttemptSucceeded attempt=job1.m.0.1
    -> ended job1 succeeded
  )");
  EXPECT_TRUE(Avoids(1)) << "it was right, as far as we know";
  EXPECT_PLAYS(&engine_, R"(
    6 JobKilled job=job2 reason=enough
    -> blame n1 by job2 until 6
    -> ended job2 killed: enough
  )");
  EXPECT_FALSE(Avoids(1));
}

// A job that fails on a quarter of the nodes is to blame itself.
TEST_F(Refusals, AJobThatFailsInManyPlacesBlamesNobodyMore) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n2 maps=1 reduces=1
    1 JobSubmitted job=job1 maps=1:n1 max_attempts=9
    1 AttemptLaunched attempt=job1.m.0.0 node=n1
    1 AttemptFailed attempt=job1.m.0.0
    -> blame n1 by job1 until 101
    2 AttemptLaunched attempt=job1.m.0.1 node=n2
    2 AttemptFailed attempt=job1.m.0.1
  )");
}

TEST_F(Refusals, TakenIntoUseByHandANodeIsAvoidedNoMore) {
  EXPECT_PLAYS(&engine_, "0 NodeJoined node=n2 maps=1 reduces=1");
  EXPECT_PLAYS(&engine_, kThreeJobsRefuseN1);
  EXPECT_PLAYS(&engine_, "5 NodeDrained node=n1 drained=0");
  EXPECT_FALSE(Avoids(1));
  EXPECT_TRUE(engine_.state().Refused(*engine_.state().FindJob(JobId{1}), NodeId{1}));
}

}  // namespace
}  // namespace millrace::sched
