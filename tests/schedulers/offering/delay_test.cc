// SPDX-License-Identifier: Apache-2.0
// Algorithm 1 of Zaharia et al., level by level, at driven times. T1, T2, T3 are 5 s each.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "schedulers/core/engine.h"
#include "schedulers/core/policy.h"
#include "schedulers/policies/catalog.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

class DelayTest : public testing::Test {
 protected:
  static std::unique_ptr<Policy> Make() {
    std::string why;
    return MakePolicy("fifo+delay", {}, &why);
  }
  // job1 waits from 1 s on for n1, where job0 holds both slots; another rack and datacenter exist.
  void Wait(const std::string& submit) {
    EXPECT_PLAYS(&engine_, R"(
      0 NodeJoined node=n1 rack=a datacenter=east maps=2
      0 NodeJoined node=n8 rack=b datacenter=east
      0 NodeJoined node=n9 rack=c datacenter=west
      0 JobSubmitted job=job0 maps=1:n1;1:n1
      0 decide
      -> launch job0.m.0.0 n1 node
      -> launch job0.m.1.0 n1 node
      1000000 )" + submit + R"(
    )");
  }
  // With this node free, the job launches nothing before the time, and "LAUNCH" then.
  void ExpectAt(const std::string& place, Micros time, const std::string& launch) {
    EXPECT_PLAYS(&engine_, "1000000 NodeJoined node=n2 maps=1 " + place + "\n1000000 decide");
    for (int wakes = 0; engine_.NextWake() && *engine_.NextWake() < time; ++wakes) {
      ASSERT_LT(wakes, 4);
      EXPECT_PLAYS(&engine_, std::to_string(*engine_.NextWake()) + " decide");
    }
    EXPECT_EQ(engine_.NextWake(), time);
    EXPECT_PLAYS(&engine_, std::to_string(time - 1) + " decide");
    EXPECT_PLAYS(&engine_, std::to_string(time) + " decide\n-> launch " + launch);
  }

  Engine engine_{{}, Make()};
};

constexpr const char* kJob = "JobSubmitted job=job1 maps=1:n1";

TEST_F(DelayTest, TheRackAfterT1) {
  Wait(kJob);
  ExpectAt("rack=a datacenter=east", 6'000'000, "job1.m.0.0 n2 rack");
}

TEST_F(DelayTest, TheDatacenterAfterT1AndT2) {
  Wait(kJob);
  ExpectAt("rack=b datacenter=east", 11'000'000, "job1.m.0.0 n2 datacenter");
}

TEST_F(DelayTest, AnywhereAfterT1T2AndT3) {
  Wait(kJob);
  ExpectAt("rack=c datacenter=west", 16'000'000, "job1.m.0.0 n2 off");
}

TEST_F(DelayTest, WaitsOfTheJobGoBeforeTheSchedulers) {
  Wait("JobSubmitted job=job1 maps=1:n1 locality_waits=1000000,500000,250000");
  ExpectAt("rack=c datacenter=west", 2'750'000, "job1.m.0.0 n2 off");
}

TEST_F(DelayTest, TheLastWaitOfTheJobStandsForTheRest) {
  Wait("JobSubmitted job=job1 maps=1:n1 locality_waits=2000000");
  ExpectAt("rack=c datacenter=west", 7'000'000, "job1.m.0.0 n2 off");
}

TEST_F(DelayTest, AJobThatDoesNotWaitRunsAnywhereAtOnce) {
  Wait("JobSubmitted job=job1 maps=1:n1 locality_waits=0");
  EXPECT_PLAYS(&engine_, R"(
    1000000 NodeJoined node=n2 maps=1 rack=c datacenter=west
    1000000 decide
    -> launch job1.m.0.0 n2 off
  )");
}

// The wait is bounded whoever takes slots meanwhile, unlike that of Algorithm 1, which stands still while the job is
// offered nothing.
TEST_F(DelayTest, TheClockRunsWhileAnotherJobHasTheSlot) {
  Wait(kJob);
  EXPECT_PLAYS(&engine_, R"(
    1000000 NodeJoined node=n2 maps=1 rack=a datacenter=east
    1000000 decide
    1500000 JobSubmitted job=job2 maps=1:n2 priority=VERY_HIGH
    1500000 decide
    -> launch job2.m.0.0 n2 node
    6000000 AttemptSucceeded attempt=job2.m.0.0
    -> ended job2 succeeded
    6000000 decide
    -> launch job1.m.0.0 n2 rack
  )");
}

// A map whose input lies nowhere is as local anywhere. Its launch is no local one: the wait of the other goes on.
TEST_F(DelayTest, AMapWithoutLocatedInputDoesNotWait) {
  Wait("JobSubmitted job=job1 maps=1:n1;1:;1:");
  EXPECT_PLAYS(&engine_, R"(
    1000000 NodeJoined node=n2 maps=1 rack=a datacenter=east
    1000000 decide
    -> launch job1.m.1.0 n2 off
    2000000 AttemptSucceeded attempt=job1.m.1.0
    2000000 decide
    -> launch job1.m.2.0 n2 off
    3000000 AttemptSucceeded attempt=job1.m.2.0
    3000000 decide
    # Now it is refused a slot for the first time.
    7999999 decide
    8000000 decide
    -> launch job1.m.0.0 n2 rack
  )");
}

// Nobody waits for a slot on a node that is lost, and everybody does again when it is back.
TEST_F(DelayTest, AMapWhoseReplicasAreAllOnLostNodesDoesNotWait) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    0 NodeJoined node=n2 maps=1
    0 NodeJoined node=n3 maps=2
    0 JobSubmitted job=job0 maps=1:n1;1:n2
    0 decide
    -> launch job0.m.0.0 n1 node
    -> launch job0.m.1.0 n2 node
    1 JobSubmitted job=job1 maps=1:n2;1:n1
    1 decide
    2 NodeLost node=n2
    2 decide
    -> launch job0.m.1.1 n3 off
    -> launch job1.m.0.0 n3 off
    3 NodeJoined node=n2 maps=1
    3 JobSubmitted job=job2 maps=1:n2
    3 JobSubmitted job=job3 maps=1:n2
    3 AttemptSucceeded attempt=job1.m.0.0
    3 decide
    -> launch job2.m.0.0 n2 node
    4 decide
  )");
}

// A job's turn counts, not who has data at the node that is free.
TEST(Unlocated, AJobGetsItsShareBesideOneWithLocalMaps) {
  for (const char* scheduler : {"fair+delay", "dl+delay", "capacity+delay", "edf+delay", "lsap+delay"}) {
    SCOPED_TRACE(scheduler);
    std::string why;
    Engine engine({}, MakePolicy(scheduler, {}, &why));
    EXPECT_PLAYS(&engine, R"(
      0 NodeJoined node=n1 rack=a maps=2
      0 NodeJoined node=n2 rack=b maps=1
      0 JobSubmitted job=job1 user=a maps=1:n1;1:n1
      0 decide
      -> launch job1.m.0.0 n1 node
      -> launch job1.m.1.0 n1 node
      1 JobSubmitted job=job2 user=b maps=1:
      1 decide
      -> launch job2.m.0.0 n2 off
    )");
  }
}

TEST_F(DelayTest, TheClockRunsFromTheFirstRefusal) {
  Wait(kJob);
  EXPECT_PLAYS(&engine_, "3000000 decide");  // no slot is offered
  EXPECT_EQ(engine_.NextWake(), std::nullopt);
  EXPECT_PLAYS(&engine_, R"(
    4000000 NodeJoined node=n2 maps=1 rack=a datacenter=east
    4000000 decide
    8999999 decide
    9000000 decide
    -> launch job1.m.0.0 n2 rack
  )");
}

TEST_F(DelayTest, ALevelIsKeptUntilALaunchThatIsCloser) {
  Wait("JobSubmitted job=job1 maps=1:n1;1:n1");
  ExpectAt("rack=a datacenter=east", 6'000'000, "job1.m.0.0 n2 rack");
  EXPECT_PLAYS(&engine_, R"(
    # Level rack: no wait for the rack, T2 for the datacenter from the next refusal on.
    7000000 NodeJoined node=n3 maps=1 rack=b datacenter=east
    7000000 decide
    8000000 NodeJoined node=n4 maps=1 rack=a datacenter=east
    8000000 decide
    -> launch job1.m.1.0 n4 rack
    # One runs again at its data, so the other one has to wait for T1 again.
    9000000 AttemptLost attempt=job0.m.0.0
    9000000 AttemptLost attempt=job0.m.1.0
    9000000 AttemptLost attempt=job1.m.0.0
    9000000 JobPrioritySet job=job1 priority=HIGH
    9000000 decide
    -> launch job1.m.0.1 n1 node
    -> launch job0.m.0.1 n1 node
    9500000 AttemptLost attempt=job1.m.1.0
    9500000 decide
    13999999 decide
    14000000 decide
    -> launch job0.m.1.1 n2 rack
    14499999 decide
    14500000 decide
    -> launch job1.m.1.1 n4 rack
  )");
}

TEST_F(DelayTest, OthersTakeWhatAJobRefuses) {
  Wait("JobSubmitted job=job1 maps=1:n1");
  EXPECT_PLAYS(&engine_, R"(
    1000000 JobSubmitted job=job2 maps=1:n2;1:n2
    1000000 NodeJoined node=n2 maps=2 rack=a datacenter=east
    1000000 decide
    -> launch job2.m.0.0 n2 node
    -> launch job2.m.1.0 n2 node
    6000000 AttemptLost attempt=job2.m.0.0
    6000000 decide
    -> launch job1.m.0.0 n2 rack
  )");
}

TEST_F(DelayTest, OnOneRackOnlyT1IsWaitedFor) {
  Engine engine({}, Make());
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 rack=a maps=2
    0 JobSubmitted job=job0 maps=1:n1;1:n1
    0 decide
    -> launch job0.m.0.0 n1 node
    -> launch job0.m.1.0 n1 node
    0 NodeJoined node=n2 rack=a maps=2
    0 JobSubmitted job=job1 maps=1:n1;1:n77
    0 decide
    # There is no n77 to wait for.
    -> launch job1.m.1.0 n2 off
    4999999 decide
    5000000 decide
    -> launch job1.m.0.0 n2 rack
  )");
}

TEST_F(DelayTest, ADatacenterOfOneRackIsNotWaitedFor) {
  Engine engine({}, Make());
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 rack=a datacenter=east maps=1
    0 JobSubmitted job=job0 maps=1:n1
    0 decide
    -> launch job0.m.0.0 n1 node
    0 NodeJoined node=n2 rack=b datacenter=west maps=1
    0 JobSubmitted job=job1 maps=1:n1
    0 decide
    9999999 decide
    10000000 decide
    -> launch job1.m.0.0 n2 off
  )");
}

TEST_F(DelayTest, MoreMapsThanSlotsAtTheirDataUseIdleSlotsAtOnce) {
  Engine engine({}, Make());
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 rack=a maps=1
    0 NodeJoined node=n2 rack=a maps=1
    0 NodeJoined node=n3 rack=a maps=1
    0 JobSubmitted job=job1 maps=1:n1;1:n1;1:n1
    0 decide
    # Two are left for one slot, then one: that one waits.
    -> launch job1.m.0.0 n1 node
    -> launch job1.m.1.0 n2 rack
    1000000 AttemptSucceeded attempt=job1.m.0.0
    1000000 decide
    -> launch job1.m.2.0 n1 node
  )");
}

TEST_F(DelayTest, IdleSlotsGoFirstToWhoHasDataThere) {
  Engine engine({}, Make());
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 rack=a maps=1
    0 NodeJoined node=n2 rack=a maps=1
    0 JobSubmitted job=job1 maps=1:n1;1:n1;1:n1
    0 JobSubmitted job=job2 maps=1:n2
    0 decide
    -> launch job1.m.0.0 n1 node
    -> launch job2.m.0.0 n2 node
  )");
}

TEST_F(DelayTest, DataThatComesNearIsSeen) {
  Wait(kJob);
  EXPECT_PLAYS(&engine_, R"(
    1000000 NodeJoined node=n2 maps=1 rack=c datacenter=west
    1000000 decide
    2000000 ReplicasMoved map=job1.m.0 replicas=n2
    2000000 decide
    -> launch job1.m.0.0 n2 node
  )");
}

TEST_F(DelayTest, TheViewSaysSinceWhenAJobWaits) {
  Wait(kJob);
  EXPECT_PLAYS(&engine_, "1000000 NodeJoined node=n2 maps=1 rack=c datacenter=west\n1000000 decide");
  const PolicyView view = engine_.policy().View(engine_.state(), 4'250'000);
  ASSERT_EQ(view.waits.size(), 1U);
  EXPECT_EQ(view.waits[0].job, JobId{1});
  EXPECT_EQ(InWords(view.waits[0], engine_.state(), 4'250'000),
            "waits for a slot at its data, 3.2 s of 5 s; the free ones are farther");
}

}  // namespace
}  // namespace millrace::sched
