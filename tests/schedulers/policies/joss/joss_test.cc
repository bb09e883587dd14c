// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/joss/joss.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "schedulers/core/engine.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

std::unique_ptr<Policy> TaskDriven(double ratio = -1) {
  JossSettings settings;
  settings.default_ratio = ratio;
  return std::make_unique<Joss>(Joss::Assigner::kTask, settings);
}

std::unique_ptr<Policy> JobDriven(double ratio = -1) {
  JossSettings settings;
  settings.default_ratio = ratio;
  return std::make_unique<Joss>(Joss::Assigner::kJob, settings);
}

std::optional<Fact> FactOf(const Engine& engine, const std::string& name) {
  for (const Fact& fact : engine.View(0).facts) {
    if (fact.name == name) return fact;
  }
  return std::nullopt;
}

// Figure 3: three datacenters of six nodes; Y's blocks B1 to B6 are maps 0 to 5. cen2 (n11 to n16) gets four maps and
// the reduces, cen3 (n21 to n26) the maps of B4 and B6.
TEST(JossTest, FigureThree) {
  Engine engine({}, TaskDriven(1));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 datacenter=cen1 maps=6 reduces=3
    0 NodeJoined node=n2 datacenter=cen1
    0 NodeJoined node=n3 datacenter=cen1
    0 NodeJoined node=n4 datacenter=cen1
    0 NodeJoined node=n5 datacenter=cen1
    0 NodeJoined node=n6 datacenter=cen1
    0 NodeJoined node=n11 datacenter=cen2 maps=6 reduces=3
    0 NodeJoined node=n12 datacenter=cen2
    0 NodeJoined node=n13 datacenter=cen2
    0 NodeJoined node=n14 datacenter=cen2
    0 NodeJoined node=n15 datacenter=cen2
    0 NodeJoined node=n16 datacenter=cen2
    0 NodeJoined node=n21 datacenter=cen3 maps=6 reduces=3
    0 NodeJoined node=n22 datacenter=cen3
    0 NodeJoined node=n23 datacenter=cen3
    0 NodeJoined node=n24 datacenter=cen3
    0 NodeJoined node=n25 datacenter=cen3
    0 NodeJoined node=n26 datacenter=cen3
    1 JobSubmitted job=job1 maps=1:n2,n12;1:n3,n13;1:n14,n22;1:n4,n23;1:n15,n24;1:n25,n26 reduces=2 slow_start=0
    1 decide
    -> launch job1.m.0.0 n11 rack
    -> launch job1.m.3.0 n21 rack
    -> launch job1.m.1.0 n11 rack
    -> launch job1.m.5.0 n21 rack
    -> launch job1.m.2.0 n11 rack
    -> launch job1.m.4.0 n11 rack
    -> launch job1.r.0.0 n11
    -> launch job1.r.1.0 n11
  )");
}

// Nothing is known of job2: MQ_FIFO comes first, everywhere.
TEST(JossTest, UnknownJobsFirstAndAsByFifo) {
  Engine engine({}, TaskDriven());
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 datacenter=a maps=1 reduces=1
    0 NodeJoined node=n2 datacenter=b maps=1 reduces=1
    1 JobSubmitted job=job1 maps=1:n1;1:n1 profile_runs=1
    1 JobSubmitted job=job2 maps=1:n2;1:n2 reduces=1 slow_start=0
    1 decide
    -> launch job2.m.0.0 n2 node
    -> launch job2.m.1.0 n1 off
    -> launch job2.r.0.0 n1
    2 AttemptSucceeded attempt=job2.m.0.0
    -> ready job2.m.0.0 n2
    2 decide
    2 AttemptSucceeded attempt=job2.m.1.0
    -> ready job2.m.1.0 n1
    2 decide
    -> launch job1.m.0.0 n1 node
  )");
}

// Policy A: Permu over two datacenters gives on 3 times its input, so all of it goes to the idle datacenter b, although
// its data is in a.
TEST(JossTest, SmallReduceHeavyJobsGoWhereFewestTasksAre) {
  Engine engine({}, TaskDriven(3));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 datacenter=a maps=1 reduces=1
    0 NodeJoined node=n2 datacenter=a maps=1
    0 NodeJoined node=n3 datacenter=b maps=1 reduces=1
    0 NodeJoined node=n4 datacenter=b maps=1
    1 JobSubmitted job=job1 maps=1:n1 reduces=1 slow_start=0
    1 decide
    -> launch job1.m.0.0 n1 node
    -> launch job1.r.0.0 n1
    2 JobSubmitted job=job2 maps=1:n1;1:n2 reduces=1 slow_start=0
    2 decide
    -> launch job2.m.0.0 n3 off
    -> launch job2.m.1.0 n4 off
    -> launch job2.r.0.0 n3
  )");
}

// Policy C: job1 is large and has queues of its own, so the small job2 is served in turn with it.
TEST(JossTest, LargeJobsHaveQueuesOfTheirOwnServedInTurn) {
  Engine engine({}, TaskDriven(1));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 datacenter=a maps=1
    0 NodeJoined node=n2 datacenter=b
    1 JobSubmitted job=job1 maps=1:n1;1:n1;1:n1
    1 JobSubmitted job=job2 maps=1:n1
    1 JobSubmitted job=job3 maps=1:n1
    1 JobSubmitted job=job4 maps=1:n1;1:n1
    1 decide
    -> launch job2.m.0.0 n1 node
    2 AttemptSucceeded attempt=job2.m.0.0
    -> ended job2 succeeded
    2 decide
    -> launch job1.m.0.0 n1 node
    3 AttemptSucceeded attempt=job1.m.0.0
    3 decide
    -> launch job4.m.0.0 n1 node
    4 AttemptSucceeded attempt=job4.m.0.0
    4 decide
    -> launch job3.m.0.0 n1 node
    5 AttemptSucceeded attempt=job3.m.0.0
    -> ended job3 succeeded
    5 decide
    -> launch job1.m.1.0 n1 node
    6 AttemptSucceeded attempt=job1.m.1.0
    6 decide
    -> launch job4.m.1.0 n1 node
    7 AttemptSucceeded attempt=job4.m.1.0
    -> ended job4 succeeded
    7 decide
    -> launch job1.m.2.0 n1 node
  )");
}

constexpr const char* kTwoNodesInA = R"(
    0 NodeJoined node=n1 datacenter=a rack=r1
    0 NodeJoined node=n2 datacenter=a rack=r2 maps=1
    0 NodeJoined node=n3 datacenter=b
    0 NodeJoined node=n4 datacenter=b
    1 JobSubmitted job=job1 maps=1:n1;1:n2
    1 decide
  )";

TEST(JossTest, TaskDrivenTakesTheFirstOfTheQueue) {
  Engine engine({}, TaskDriven(1));
  EXPECT_PLAYS(&engine, std::string(kTwoNodesInA) + "-> launch job1.m.0.0 n2 datacenter\n");
}

TEST(JossTest, JobDrivenTakesTheClosestOfTheQueue) {
  Engine engine({}, JobDriven(1));
  EXPECT_PLAYS(&engine, std::string(kTwoNodesInA) + "-> launch job1.m.1.0 n2 node\n");
}

TEST(JossTest, JobDrivenTakesTheClosestOfAllJobsInTheQueue) {
  Engine engine({}, JobDriven(1));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 datacenter=a rack=r1
    0 NodeJoined node=n2 datacenter=a rack=r2 maps=1
    0 NodeJoined node=n3 datacenter=b
    0 NodeJoined node=n4 datacenter=b
    1 JobSubmitted job=job1 maps=1:n1
    1 JobSubmitted job=job2 maps=1:n2
    1 decide
    -> launch job2.m.0.0 n2 node
  )");
}

constexpr const char* kDataOnTheSecondNode = R"(
    0 NodeJoined node=n1 datacenter=a rack=r1 maps=1
    0 NodeJoined node=n2 datacenter=a rack=r2 maps=1
    0 NodeJoined node=n3 datacenter=b
    0 NodeJoined node=n4 datacenter=b
    1 JobSubmitted job=job1 maps=1:n2
    1 decide
  )";

TEST(JossTest, TaskDrivenServesNodesByNumber) {
  Engine engine({}, TaskDriven(1));
  EXPECT_PLAYS(&engine, std::string(kDataOnTheSecondNode) + "-> launch job1.m.0.0 n1 datacenter\n");
}

TEST(JossTest, JobDrivenServesANodeWithTheDataOfTheFirstMapFirst) {
  Engine engine({}, JobDriven(1));
  EXPECT_PLAYS(&engine, std::string(kDataOnTheSecondNode) + "-> launch job1.m.0.0 n2 node\n");
}

// Large jobs: job1 has the turn and then job2, and each has its choice of a node. Then job1 has to take what is left,
// though job2 has its data there.
TEST(JossTest, TheChoiceOfANodeLeavesTheTurnsOfTheQueues) {
  Engine engine({}, JobDriven(1));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 datacenter=a rack=r1 maps=2
    0 NodeJoined node=n2 datacenter=a rack=r2 maps=1
    0 NodeJoined node=n3 datacenter=b
    1 JobSubmitted job=job1 maps=1:n2;1:n2;1:n2
    1 JobSubmitted job=job2 maps=1:n1;1:n1
    1 decide
    -> launch job1.m.0.0 n2 node
    -> launch job2.m.0.0 n1 node
    -> launch job1.m.1.0 n1 datacenter
  )");
}

// Large jobs: job1 has the turn, and its own closest map goes, then job2, which has none at the node.
TEST(JossTest, JobDrivenTakesTheClosestOfALargeJobsOwnQueue) {
  Engine engine({}, JobDriven(1));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 datacenter=a rack=r1
    0 NodeJoined node=n2 datacenter=a rack=r2 maps=1
    0 NodeJoined node=n3 datacenter=b
    1 JobSubmitted job=job1 maps=1:n1;1:n2;1:n2
    1 JobSubmitted job=job2 maps=1:n1;1:n1
    1 decide
    -> launch job1.m.1.0 n2 node
    2 AttemptSucceeded attempt=job1.m.1.0
    2 decide
    -> launch job2.m.0.0 n2 datacenter
    3 AttemptSucceeded attempt=job2.m.0.0
    3 decide
    -> launch job1.m.2.0 n2 node
  )");
}

// Policy A put all of it in datacenter a, though the data of map 0 is in b: maps with data in the datacenter first.
TEST(JossTest, JobDrivenTakesMapsWithoutDataInTheDatacenterLast) {
  Engine engine({}, JobDriven(3));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 datacenter=a rack=r1 maps=1 reduces=1
    0 NodeJoined node=n2 datacenter=a rack=r2
    0 NodeJoined node=n3 datacenter=b reduces=1
    0 NodeJoined node=n4 datacenter=b
    1 JobSubmitted job=job1 maps=1:n3;1:n2
    1 decide
    -> launch job1.m.1.0 n1 datacenter
    2 AttemptSucceeded attempt=job1.m.1.0
    2 decide
    -> launch job1.m.0.0 n1 off
  )");
}

TEST(JossTest, ATaskThatMustRunAgainIsFirst) {
  Engine engine({}, TaskDriven(1));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 datacenter=a maps=2
    0 NodeJoined node=n2 datacenter=a
    0 NodeJoined node=n3 datacenter=b
    0 NodeJoined node=n4 datacenter=b
    1 JobSubmitted job=job1 maps=1:n1;1:n1
    1 JobSubmitted job=job2 maps=1:n1;1:n1
    1 decide
    -> launch job1.m.0.0 n1 node
    -> launch job1.m.1.0 n1 node
    2 AttemptLost attempt=job1.m.1.0
    2 decide
    -> launch job1.m.1.1 n1 node
    3 AttemptLost attempt=job1.m.0.0
    3 AttemptLost attempt=job1.m.1.1
    3 decide
    -> launch job1.m.0.1 n1 node
    -> launch job1.m.1.2 n1 node
  )");
}

// A journal says that map 1, which waits, was launched elsewhere. Map 0 returns before the next decision, so as many
// maps wait as before, but not the same.
TEST(JossTest, ATaskThatIsLaunchedFromOutsideLeavesItsQueueThoughAnotherReturns) {
  Engine engine({}, TaskDriven(1));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 datacenter=a maps=1
    0 NodeJoined node=n2 datacenter=b maps=1
    1 JobSubmitted job=job1 maps=1:n1;1:n1
    1 decide
    -> launch job1.m.0.0 n1 node
    2 AttemptLaunched attempt=job1.m.1.0 node=n2
    2 AttemptLost attempt=job1.m.0.0
    2 decide
    -> launch job1.m.0.1 n1 node
  )");
}

// Three datacenters; b is lost with what waits and runs there. c has nothing to do, so all goes there; but a holds the
// block of map 1, so that one moves on when its turn comes.
TEST(JossTest, ALostDatacentersQueuesMoveAndBlocksAreRehomed) {
  Engine engine({}, TaskDriven(1));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 datacenter=a maps=1 reduces=1
    0 NodeJoined node=n2 datacenter=b reduces=1
    0 NodeJoined node=n7 datacenter=b maps=1
    0 NodeJoined node=n3 datacenter=c reduces=1
    1 JobSubmitted job=job9 maps=1:n1;1:n1;1:n1
    1 JobSubmitted job=job1 maps=1:n2;1:n2,n1 reduces=1 slow_start=0
    1 NodeDrained node=n2
    1 decide
    -> launch job9.m.0.0 n1 node
    -> launch job1.m.0.0 n7 rack
    -> launch job1.r.0.0 n3
    2 NodeLost node=n2
    2 NodeLost node=n7
    2 NodeJoined node=n3 datacenter=c maps=1 reduces=1
    2 decide
    -> launch job1.m.0.1 n3 off
    -> launch job1.r.0.1 n3
    3 AttemptSucceeded attempt=job1.m.0.1
    -> ready job1.m.0.1 n3
    3 decide
    4 AttemptSucceeded attempt=job9.m.0.0
    4 decide
    -> launch job1.m.1.0 n1 node
  )");
}

TEST(JossTest, ATaskThatItsDatacenterMayNotRunMoves) {
  Engine engine({}, TaskDriven(1));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 datacenter=a maps=1
    0 NodeJoined node=n2 datacenter=b maps=1
    1 JobSubmitted job=job1 maps=1:n1
    1 decide
    -> launch job1.m.0.0 n1 node
    2 AttemptFailed attempt=job1.m.0.0 reason=x
    2 decide
    -> launch job1.m.0.1 n2 off
  )");
}

// Map 0 fits nowhere, maps 1 and 3 only on n2, which is full.
TEST(JossTest, AMapThatDoesNotFitHoldsBackNoneBehindIt) {
  Engine engine({}, TaskDriven(1));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 datacenter=a maps=1 reduces=1
    0 NodeJoined node=n2 datacenter=a maps=1
    0 NodeJoined node=n3 datacenter=b maps=1
    0 NodeSpace node=n1 free_bytes=50
    0 NodeSpace node=n2 free_bytes=80
    0 NodeSpace node=n3 free_bytes=5
    1 JobSubmitted job=job1 maps=1:n2 reduces=1 slow_start=1 profile_runs=1 profile_ratio=1
    1 AttemptLaunched attempt=job1.m.0.0 node=n2
    1 JobSubmitted job=job2 maps=100:n1;70:n1;40:n1;60:n1;30:n1 reduces=1 slow_start=1 profile_runs=1 profile_ratio=1
    1 decide
    -> launch job2.m.2.0 n1 node
  )");
}

TEST(JossTest, WithOneDatacenterItRunsAsFifoAndSaysSo) {
  Engine engine({}, JobDriven(1));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 datacenter=a maps=1
    1 JobSubmitted job=job1 maps=1:n9
    1 JobSubmitted job=job2 maps=1:n1 priority=HIGH
    1 decide
    -> launch job2.m.0.0 n1 node
  )");
  EXPECT_EQ(FactOf(engine, "runs as"), Fact::Words("runs as", "fifo: JoSS needs two datacenters"));
  EXPECT_EQ(engine.policy().name(), "joss-j");
  // A second one comes: what waits is placed again, by its blocks.
  EXPECT_PLAYS(&engine, R"(
    2 NodeJoined node=n9 datacenter=b maps=1
    2 decide
    -> launch job1.m.0.0 n9 node
    3 JobSubmitted job=job3 maps=1:n1
    3 decide
  )");
  EXPECT_EQ(FactOf(engine, "runs as"), std::nullopt);
  EXPECT_EQ(FactOf(engine, "reduce-heavy above map output / input of")->number, 2);
  EXPECT_EQ(FactOf(engine, "maps that wait in datacenter 0")->number, 1);
  EXPECT_EQ(FactOf(engine, "reduces that wait in datacenter 0")->number, 0);
  EXPECT_PLAYS(&engine, R"(
    4 NodeLost node=n9
    4 AttemptSucceeded attempt=job2.m.0.0
    -> ended job2 succeeded
    4 decide
    -> launch job1.m.0.1 n1 off
  )");
}

TEST(JossTest, TakesOverWhatWaits) {
  Engine engine({}, TaskDriven());
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 datacenter=a maps=2
    0 NodeJoined node=n2 datacenter=b maps=1
    1 JobSubmitted job=job1 maps=1:n1;1:n2;1:n1
    1 AttemptLaunched attempt=job1.m.0.0 node=n1
  )");
  engine.SetPolicy(JobDriven(1));
  EXPECT_PLAYS(&engine, R"(
    2 decide
    -> launch job1.m.2.0 n1 node
    -> launch job1.m.1.0 n2 node
  )");
}

}  // namespace
}  // namespace millrace::sched
