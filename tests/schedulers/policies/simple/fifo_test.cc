// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/simple/fifo.h"

#include <gtest/gtest.h>

#include <memory>

#include "schedulers/core/engine.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

class FifoTest : public testing::Test {
 protected:
  Engine engine_{{}, std::make_unique<Fifo>()};
};

TEST_F(FifoTest, PrioritiesFirstThenSubmitOrder) {
  EXPECT_PLAYS(&engine_, R"(
    1 JobSubmitted job=job1 priority=VERY_LOW maps=1:
    1 JobSubmitted job=job2 priority=LOW maps=1:
    1 JobSubmitted job=job9 priority=NORMAL maps=1:
    1 JobSubmitted job=job4 priority=NORMAL maps=1:
    1 JobSubmitted job=job5 priority=HIGH maps=1:
    1 JobSubmitted job=job6 priority=VERY_HIGH maps=1:;1:
    2 NodeJoined node=n1 maps=7
    2 decide
    -> launch job6.m.0.0 n1 off
    -> launch job6.m.1.0 n1 off
    -> launch job5.m.0.0 n1 off
    -> launch job9.m.0.0 n1 off
    -> launch job4.m.0.0 n1 off
    -> launch job2.m.0.0 n1 off
    -> launch job1.m.0.0 n1 off
  )");
}

TEST_F(FifoTest, ANewPriorityCountsFromTheNextSlotAndKeepsSubmitOrder) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1 reduces=1
    1 JobSubmitted job=job1 maps=1:;1: reduces=1 slow_start=0
    1 JobSubmitted job=job2 maps=1:;1: reduces=1 slow_start=0
    1 JobSubmitted job=job3 maps=1: priority=HIGH
    1 decide
    -> launch job3.m.0.0 n1 off
    -> launch job1.r.0.0 n1
    2 JobPrioritySet job=job2 priority=HIGH
    2 AttemptSucceeded attempt=job3.m.0.0
    -> ended job3 succeeded
    2 decide
    -> launch job2.m.0.0 n1 off
    3 JobPrioritySet job=job1 priority=HIGH
    3 AttemptLost attempt=job2.m.0.0
    3 decide
    -> launch job1.m.0.0 n1 off
    4 AttemptLost attempt=job1.r.0.0
    4 JobPrioritySet job=job1 priority=LOW
    4 decide
    -> launch job2.r.0.0 n1
  )");
}

TEST_F(FifoTest, WithinAJobTheClosestMapThenTheLowestIndex) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 rack=a datacenter=east maps=5
    0 NodeJoined node=n2 rack=a datacenter=east
    0 NodeJoined node=n3 rack=b datacenter=east
    0 NodeJoined node=n4 rack=a datacenter=west
    1 JobSubmitted job=job1 maps=1:n4;1:n3;1:n2;1:n4,n1;1:n1;1:n1
    1 decide
    -> launch job1.m.3.0 n1 node
    -> launch job1.m.4.0 n1 node
    -> launch job1.m.5.0 n1 node
    -> launch job1.m.2.0 n1 rack
    -> launch job1.m.1.0 n1 datacenter
    2 AttemptSucceeded attempt=job1.m.3.0
    2 decide
    -> launch job1.m.0.0 n1 off
  )");
}

// A replica counts while its node is there, and again when it comes back.
TEST_F(FifoTest, AReplicaOnALostNodeIsNone) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 rack=a datacenter=east maps=0
    0 NodeJoined node=n2 rack=b datacenter=east maps=0
    0 NodeJoined node=n3 rack=c datacenter=west maps=0
    0 JobSubmitted job=job1 maps=1:n1;1:n1,n2;1:n1,n3;1:n1
    1 NodeLost node=n1
    # n1 stood in the rack of n4; n2 stands in its datacenter.
    1 NodeJoined node=n4 rack=a datacenter=east maps=2
    1 decide
    -> launch job1.m.1.0 n4 datacenter
    -> launch job1.m.0.0 n4 off
    2 NodeJoined node=n1 rack=a datacenter=east maps=0
    2 AttemptSucceeded attempt=job1.m.1.0
    2 decide
    -> launch job1.m.2.0 n4 rack
    # A job that comes while the node is away finds no replica there either.
    3 NodeLost node=n1
    3 JobSubmitted job=job2 maps=1:n1
    3 AttemptFailed attempt=job1.m.2.0 reason=disk
    3 decide
    -> launch job1.m.2.1 n4 off
    4 AttemptSucceeded attempt=job1.m.0.0
    4 AttemptSucceeded attempt=job1.m.2.1
    4 decide
    -> launch job1.m.3.0 n4 off
    -> launch job2.m.0.0 n4 off
  )");
}

TEST_F(FifoTest, TheFirstJobTakesTheSlotEvenIfALaterOneIsCloser) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 rack=a maps=1
    0 NodeJoined node=n2 rack=b maps=1
    1 JobSubmitted job=job1 maps=1:n2;1:n2
    1 JobSubmitted job=job2 maps=1:n1
    1 decide
    -> launch job1.m.0.0 n2 node
    -> launch job1.m.1.0 n1 datacenter
  )");
}

TEST_F(FifoTest, OfSeveralFreeNodesOneWithTheDataIsServedFirst) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 rack=a maps=1
    0 NodeJoined node=n2 rack=a maps=1
    0 NodeJoined node=n3 rack=a maps=1
    1 JobSubmitted job=job1 maps=1:n3;1:n9
    1 decide
    -> launch job1.m.0.0 n3 node
    -> launch job1.m.1.0 n1 off
  )");
}

TEST_F(FifoTest, ReducesGoToTheFirstJobThatSlowStartLetsGo) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=3 reduces=1
    1 JobSubmitted job=job1 maps=1:;1: reduces=1 slow_start=1.0
    1 JobSubmitted job=job2 maps=1: reduces=2
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job2.m.0.0 n1 off
    2 AttemptSucceeded attempt=job2.m.0.0
    -> ready job2.m.0.0 n1
    2 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n1
    2 decide
    -> launch job2.r.0.0 n1
    3 AttemptSucceeded attempt=job1.m.1.0
    -> ready job1.m.1.0 n1
    3 decide
    4 AttemptSucceeded attempt=job2.r.0.0
    4 decide
    -> launch job1.r.0.0 n1
    5 AttemptSucceeded attempt=job1.r.0.0
    -> ended job1 succeeded
    5 decide
    -> launch job2.r.1.0 n1
  )");
}

TEST_F(FifoTest, AJobIsPassedOverOnANodeThatIsRefusedToIt) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    0 NodeJoined node=n2
    0 NodeJoined node=n3
    0 NodeJoined node=n4
    0 NodeJoined node=n5
    1 JobSubmitted job=job1 maps=1:n1;1:n1 max_attempts=9
    1 JobSubmitted job=job2 maps=1:;1:
    1 AttemptLaunched attempt=job1.m.0.0 node=n1
    1 AttemptFailed attempt=job1.m.0.0
    1 AttemptLaunched attempt=job1.m.0.1 node=n1
    1 AttemptFailed attempt=job1.m.0.1
    1 AttemptLaunched attempt=job1.m.1.0 node=n1
    1 AttemptFailed attempt=job1.m.1.0
    -> blame n1 by job1 until 600000001
    2 decide
    -> launch job2.m.0.0 n1 off
    3 NodeJoined node=n3 maps=1
    3 decide
    -> launch job1.m.1.1 n3 rack
  )");
}

TEST_F(FifoTest, FreeNodesAreServedInTurnById) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n300 maps=1
    0 NodeJoined node=n2 maps=2 reduces=2
    0 NodeJoined node=n70 maps=1 reduces=2
    1 JobSubmitted job=job1 maps=1:;1:;1:;1:;1: reduces=3 slow_start=0
    1 decide
    -> launch job1.m.0.0 n2 off
    -> launch job1.m.1.0 n70 off
    -> launch job1.m.2.0 n300 off
    -> launch job1.m.3.0 n2 off
    -> launch job1.r.0.0 n2
    -> launch job1.r.1.0 n70
    -> launch job1.r.2.0 n2
    1 decide
    2 AttemptLost attempt=job1.r.0.0
    2 AttemptLost attempt=job1.r.1.0
    2 decide
    -> launch job1.r.0.1 n70
    -> launch job1.r.1.1 n2
  )");
}

}  // namespace
}  // namespace millrace::sched
