// SPDX-License-Identifier: Apache-2.0
// Tests nodes where attempts fail: a task avoids them, and a job refuses them.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "schedulers/core/engine.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/simple/fifo.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

class BadNodes : public testing::Test {
 protected:
  Engine engine_{{.retry_pause = 0}, std::make_unique<Fifo>()};
};

TEST_F(BadNodes, AFailedTaskGoesToAnotherNodeThatWouldTakeIt) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1 reduces=1
    0 NodeJoined node=n2
    1 JobSubmitted job=job1 maps=1:n1;1:n9 reduces=1 slow_start=0
    1 decide
    -> launch job1.m.0.0 n1 node
    -> launch job1.r.0.0 n1
    # n2 has no slots: n1 is the only one.
    2 AttemptFailed attempt=job1.m.0.0
    2 AttemptFailed attempt=job1.r.0.0
    2 decide
    -> launch job1.m.0.1 n1 node
    -> launch job1.r.0.1 n1
    # n3 is busy, but would take them when it is free; n1 runs something else meanwhile.
    3 NodeJoined node=n3 maps=1 reduces=1
    3 JobSubmitted job=job2 maps=1: reduces=1 slow_start=0 priority=HIGH
    3 AttemptLaunched attempt=job2.m.0.0 node=n3
    3 AttemptLaunched attempt=job2.r.0.0 node=n3
    4 AttemptFailed attempt=job1.m.0.1
    4 AttemptFailed attempt=job1.r.0.1
    4 decide
    -> launch job1.m.1.0 n1 off
    5 AttemptSucceeded attempt=job1.m.1.0
    -> ready job1.m.1.0 n1
    5 decide
    6 JobPrioritySet job=job2 priority=LOW
    6 AttemptLost attempt=job2.r.0.0
    6 decide
    -> launch job1.r.0.2 n3
    -> launch job2.r.0.1 n1
    # Drained, n3 takes nothing: back to n1.
    7 NodeDrained node=n3
    7 decide
    -> launch job1.m.0.2 n1 node
  )");
}

// n1 turns bad because outputs cannot be fetched from it. The reduce that waits for n1 goes back to n2, though nothing
// else has changed for it.
TEST_F(BadNodes, ANodeThatTurnsBadIsNotWaitedFor) {
  for (const std::string policy : {"fifo", "dl", "fair"}) {
    SCOPED_TRACE(policy);
    std::string why;
    Engine engine({.retry_pause = 0}, MakePolicy(policy, {}, &why));
    EXPECT_PLAYS(&engine, R"(
      0 NodeJoined node=n1 maps=3 reduces=1
      0 NodeJoined node=n2 reduces=1
      0 NodeJoined node=n4
      0 NodeJoined node=n5
      1 JobSubmitted job=job1 maps=1:n1;1:n1;1:n1 reduces=2 slow_start=0
      1 decide
      -> launch job1.m.0.0 n1 node
      -> launch job1.m.1.0 n1 node
      -> launch job1.m.2.0 n1 node
      -> launch job1.r.0.0 n1
      -> launch job1.r.1.0 n2
      2 AttemptSucceeded attempt=job1.m.0.0
      -> ready job1.m.0.0 n1
      2 AttemptSucceeded attempt=job1.m.1.0
      -> ready job1.m.1.0 n1
      2 AttemptSucceeded attempt=job1.m.2.0
      -> ready job1.m.2.0 n1
      3 NodeJoined node=n3 rack=r3 maps=1
      3 AttemptFailed attempt=job1.r.1.0
      3 decide
      4 FetchFailed reduce=job1.r.0.0 map_attempt=job1.m.0.0
      -> gone job1.m.0.0 n1
      4 decide
      -> launch job1.m.0.1 n3 datacenter
      5 FetchFailed reduce=job1.r.0.0 map_attempt=job1.m.1.0
      -> gone job1.m.1.0 n1
      5 decide
      6 FetchFailed reduce=job1.r.0.0 map_attempt=job1.m.2.0
      -> gone job1.m.2.0 n1
      -> blame n1 by job1 until 600000006
      6 decide
      -> launch job1.r.1.1 n2
    )");
  }
}

TEST_F(BadNodes, ATaskThatFailedEverywhereIsTriedAnywhere) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    0 NodeJoined node=n2 maps=1
    1 JobSubmitted job=job1 maps=1:n1 max_attempts=4
    1 decide
    -> launch job1.m.0.0 n1 node
    2 AttemptFailed attempt=job1.m.0.0
    2 decide
    -> launch job1.m.0.1 n2 rack
    3 AttemptFailed attempt=job1.m.0.1
    3 decide
    -> launch job1.m.0.2 n1 node
  )");
}

// A node where the task failed is not counted if it is gone, and not counted twice if it is refused as well: the task
// waits for n3, which is busy.
TEST_F(BadNodes, AnotherNodeThatIsBusyIsWaitedFor) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    0 NodeJoined node=n2 maps=1
    0 NodeJoined node=n3 maps=1
    1 JobSubmitted job=job1 maps=1:n1 max_attempts=9
    1 JobSubmitted job=job2 maps=1: priority=LOW
    1 AttemptLaunched attempt=job2.m.0.0 node=n3
    1 AttemptLaunched attempt=job1.m.0.0 node=n2
    1 AttemptFailed attempt=job1.m.0.0
    2 NodeLost node=n2
    2 decide
    -> launch job1.m.0.1 n1 node
    3 AttemptFailed attempt=job1.m.0.1
    3 decide
    4 NodeJoined node=n2 maps=1
    4 NodeJoined node=n4
    4 NodeJoined node=n5
    4 AttemptLaunched attempt=job1.m.0.2 node=n2
    4 AttemptFailed attempt=job1.m.0.2
    4 AttemptLaunched attempt=job1.m.0.3 node=n2
    4 AttemptFailed attempt=job1.m.0.3
    -> blame n2 by job1 until 600000004
    5 decide
    6 AttemptSucceeded attempt=job2.m.0.0
    -> ended job2 succeeded
    6 decide
    -> launch job1.m.0.4 n3 rack
  )");
}

// n6 is refused to the job, so it is no alternative for a task that failed on n1.
TEST_F(BadNodes, ARefusedNodeIsNoOtherPlaceToGo) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    0 NodeJoined node=n2
    0 NodeJoined node=n3
    0 NodeJoined node=n4
    0 NodeJoined node=n6 maps=1
    1 JobSubmitted job=job1 maps=1:n1;1:n6 max_attempts=9
    1 AttemptLaunched attempt=job1.m.1.0 node=n6
    1 AttemptFailed attempt=job1.m.1.0
    1 AttemptLaunched attempt=job1.m.1.1 node=n6
    1 AttemptFailed attempt=job1.m.1.1
    1 AttemptLaunched attempt=job1.m.1.2 node=n6
    1 AttemptFailed attempt=job1.m.1.2
    -> blame n6 by job1 until 600000001
    2 decide
    -> launch job1.m.0.0 n1 node
    3 AttemptFailed attempt=job1.m.0.0
    3 decide
    -> launch job1.m.0.1 n1 node
  )");
}

// There are five nodes, so that one of them is fewer than a quarter.
constexpr char kFiveNodes[] = R"(
  0 NodeJoined node=n1 maps=1
  0 NodeJoined node=n2
  0 NodeJoined node=n3
  0 NodeJoined node=n4
  0 NodeJoined node=n5
)";

TEST_F(BadNodes, ANodeOnWhichAJobFailedThreeTimesIsRefusedToItAlone) {
  EXPECT_PLAYS(&engine_, kFiveNodes);
  EXPECT_PLAYS(&engine_, R"(
    1 JobSubmitted job=job1 maps=1:n1;1:n1 max_attempts=9
    1 decide
    -> launch job1.m.0.0 n1 node
    2 AttemptFailed attempt=job1.m.0.0
    2 decide
    -> launch job1.m.0.1 n1 node
    3 AttemptFailed attempt=job1.m.0.1
    3 decide
    -> launch job1.m.0.2 n1 node
    4 AttemptFailed attempt=job1.m.0.2
    -> blame n1 by job1 until 600000004
    4 decide
    5 JobSubmitted job=job2 maps=1:n1
    5 decide
    -> launch job2.m.0.0 n1 node
    6 AttemptSucceeded attempt=job2.m.0.0
    -> ended job2 succeeded
    6 decide
    # Four nodes are left: one of them is a quarter, and no longer refused.
    7 NodeLost node=n5
    7 decide
    -> launch job1.m.0.3 n1 node
    # While the bad node is away it counts for nothing; back, it is refused again.
    8 NodeJoined node=n5
    8 NodeLost node=n1
    8 NodeJoined node=n1 maps=1
    8 decide
    9 NodeJoined node=n2 maps=1
    9 decide
    -> launch job1.m.0.4 n2 rack
  )");
}

TEST_F(BadNodes, RefusedNodesTakeNoReducesEither) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 reduces=1
    0 NodeJoined node=n2
    0 NodeJoined node=n3
    0 NodeJoined node=n4
    0 NodeJoined node=n5
    1 JobSubmitted job=job1 reduces=2 max_attempts=9
    1 decide
    -> launch job1.r.0.0 n1
    2 AttemptFailed attempt=job1.r.0.0
    2 decide
    -> launch job1.r.0.1 n1
    2 AttemptFailed attempt=job1.r.0.1
    2 decide
    -> launch job1.r.0.2 n1
    2 AttemptFailed attempt=job1.r.0.2
    -> blame n1 by job1 until 600000002
    2 decide
    3 NodeJoined node=n2 reduces=1
    3 decide
    -> launch job1.r.0.3 n2
  )");
}

TEST(BadNodesOptions, ZeroFailuresPerNodeMeansNever) {
  Engine engine({.max_failures_per_node = 0, .retry_pause = 0}, std::make_unique<Fifo>());
  EXPECT_PLAYS(&engine, kFiveNodes);
  EXPECT_PLAYS(&engine, "1 JobSubmitted job=job1 maps=1:n1 max_attempts=99");
  for (int i = 0; i < 20; ++i) {
    const std::string attempt = "job1.m.0." + std::to_string(i);
    EXPECT_PLAYS(&engine, "2 decide\n-> launch " + attempt + " n1 node\n2 AttemptFailed attempt=" + attempt);
  }
}

}  // namespace
}  // namespace millrace::sched
