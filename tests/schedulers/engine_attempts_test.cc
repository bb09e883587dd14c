// SPDX-License-Identifier: Apache-2.0
// Tests attempts: launch, retry, speculation, late reports, drained nodes.
#include <gtest/gtest.h>

#include <memory>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/core/engine.h"
#include "schedulers/policies/simple/fifo.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

class Attempts : public testing::Test {
 protected:
  Engine engine_{{}, std::make_unique<Fifo>()};
};

TEST_F(Attempts, FailedOnesAreRetriedUntilOneTaskHasUsedUpItsAttempts) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=2
    1 JobSubmitted job=job1 maps=1:n1;1:n1 max_attempts=2
    1 decide
    -> launch job1.m.0.0 n1 node
    -> launch job1.m.1.0 n1 node
    2 AttemptFailed attempt=job1.m.0.0 reason=exit%20status%201
    2 decide
    -> launch job1.m.0.1 n1 node
    # A failure of another task has a count of its own.
    3 AttemptFailed attempt=job1.m.1.0 reason=signal%2011
    3 decide
    -> launch job1.m.1.1 n1 node
    4 AttemptFailed attempt=job1.m.0.1 reason=exit%20status%202
    -> kill job1.m.1.1 n1: task job1.m.0 failed 2 times, the last time: exit status 2
    -> ended job1 failed: task job1.m.0 failed 2 times, the last time: exit status 2
    5 decide
    5 AttemptSucceeded attempt=job1.m.1.1
    -> refused
  )");
  EXPECT_EQ(engine_.Progress(JobId{1})->failed_attempts, 3U);
  EXPECT_EQ(engine_.Progress(JobId{1})->killed_attempts, 1U);
  EXPECT_EQ(engine_.RunningOn(NodeId{1}), std::vector<AttemptId>());
}

TEST_F(Attempts, OneThatWouldFailInTheSameWayIsNotTriedAgain) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=2
    1 JobSubmitted job=job1 maps=1:n1;1:n1 max_attempts=4
    1 decide
    -> launch job1.m.0.0 n1 node
    -> launch job1.m.1.0 n1 node
    2 AttemptFailed attempt=job1.m.0.0 reason=no%20text permanent=1
    -> kill job1.m.1.0 n1: task job1.m.0 failed and is not tried again, since it would fail again: no text
    -> ended job1 failed: task job1.m.0 failed and is not tried again, since it would fail again: no text
    3 decide
  )");
  EXPECT_EQ(engine_.Progress(JobId{1})->failed_attempts, 1U);
}

// It is the node's fault as little as a record's.
TEST_F(Attempts, OneThatWouldFailInTheSameWayLeavesItsMapOutWhereThatIsAllowed) {
  Engine engine({.max_failures_per_node = 1}, std::make_unique<Fifo>());
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1
    0 NodeJoined node=n2 maps=1
    1 JobSubmitted job=job1 maps=1:n1;1:n1 max_attempts=4 max_failed_maps=50 skip_bad_records=1
    1 decide
    -> launch job1.m.0.0 n1 node
    -> launch job1.m.1.0 n2 rack
    2 AttemptFailed attempt=job1.m.0.0 reason=no%20text permanent=1
    -> left out job1.m.0: task job1.m.0 failed and is not tried again, since it would fail again: no text
    3 AttemptLost attempt=job1.m.1.0
    3 NodeLost node=n2
    3 decide
    -> launch job1.m.1.1 n1 node
    4 AttemptSucceeded attempt=job1.m.1.1
    -> ended job1 succeeded
  )");
}

TEST_F(Attempts, WhatFailsAgainPausesLongerEachTime) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=2
    1 JobSubmitted job=job1 maps=1:n1;1:n1 max_attempts=100
    1 decide
    -> launch job1.m.0.0 n1 node
    -> launch job1.m.1.0 n1 node
    2 AttemptFailed attempt=job1.m.0.0 reason=full
    2 decide
    -> launch job1.m.0.1 n1 node
    3 AttemptFailed attempt=job1.m.0.1 reason=full
    3 decide
    1000002 decide
  )");
  EXPECT_EQ(engine_.NextWake(), 1'000'003);
  EXPECT_PLAYS(&engine_, R"(
    1000003 decide
    -> launch job1.m.0.2 n1 node
    # Another task of the job has a pause of its own.
    1000004 AttemptFailed attempt=job1.m.1.0 reason=full
    1000004 decide
    -> launch job1.m.1.1 n1 node
    1000005 AttemptFailed attempt=job1.m.0.2 reason=full
    3000004 decide
    # An event at the time, or the replay of a launch, finds the task pending.
    3000005 AttemptLaunched attempt=job1.m.0.3 node=n1
    3000006 AttemptFailed attempt=job1.m.0.3 reason=full
    3000007 AttemptLaunched attempt=job1.m.0.4 node=n1
  )");
  EXPECT_EQ(engine_.NextWake(), 601000004) << "nothing pauses; n1, where three attempts failed, is forgiven then";
  EXPECT_EQ(engine_.Progress(JobId{1})->maps_running, 2U);
  EXPECT_EQ(engine_.Progress(JobId{1})->speculative_attempts, 0U);
}

TEST_F(Attempts, APauseIsNeverLongerThanTheLongest) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    0 JobSubmitted job=job1 maps=1:n1 max_attempts=100
    0 decide
    -> launch job1.m.0.0 n1 node
  )");
  Micros now = 0, total = 0;
  for (std::uint32_t attempt = 0; attempt < 99; ++attempt) {
    Effects effects;
    ASSERT_TRUE(engine_.Apply(now, AttemptFailed{{{{1}, TaskKind::kMap, 0}, attempt}, "full"}, &effects));
    const Micros wake = engine_.NextWake().value_or(now);
    EXPECT_LE(wake - now, 30 * kSecond);
    total += wake - now;
    now = wake;
    engine_.Decide(now, &effects);
    ASSERT_EQ(effects.size(), 1U) << attempt;
  }
  EXPECT_EQ(total, (1 + 2 + 4 + 8 + 16 + 93 * 30) * kSecond);
}

TEST_F(Attempts, AJobThatEndsLeavesNoPause) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    0 JobSubmitted job=job1 maps=1:n1 max_attempts=100
    0 decide
    -> launch job1.m.0.0 n1 node
    1 AttemptFailed attempt=job1.m.0.0 reason=full
    1 decide
    -> launch job1.m.0.1 n1 node
    2 AttemptFailed attempt=job1.m.0.1 reason=full
    3 JobKilled job=job1 reason=enough
    -> ended job1 killed: enough
    9000000 decide
  )");
  EXPECT_EQ(engine_.NextWake(), std::nullopt);
}

TEST_F(Attempts, LostOnesRunAgainAndDoNotCount) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    1 JobSubmitted job=job1 maps=1:n1 max_attempts=1
    1 decide
    -> launch job1.m.0.0 n1 node
    2 AttemptLost attempt=job1.m.0.0 reason=worker%20stopped
    2 decide
    -> launch job1.m.0.1 n1 node
    3 NodeLost node=n1
    4 NodeJoined node=n1 maps=1
    4 decide
    -> launch job1.m.0.2 n1 node
    5 AttemptSucceeded attempt=job1.m.0.2
    -> ended job1 succeeded
  )");
  EXPECT_EQ(engine_.Progress(JobId{1})->failed_attempts, 0U);
  EXPECT_EQ(engine_.Progress(JobId{1})->killed_attempts, 2U);
}

TEST_F(Attempts, TheFirstSuccessWinsAndTheOthersAreKilled) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 rack=a maps=1
    0 NodeJoined node=n2 rack=b maps=1
    0 NodeJoined node=n3 rack=b maps=1
    1 JobSubmitted job=job1 maps=1:n1 reduces=1
    1 decide
    -> launch job1.m.0.0 n1 node
    2 AttemptLaunched attempt=job1.m.0.1 node=n2
    2 AttemptLaunched attempt=job1.m.0.2 node=n3
    3 AttemptSucceeded attempt=job1.m.0.1
    -> kill job1.m.0.0 n1: attempt 1 has succeeded
    -> kill job1.m.0.2 n3: attempt 1 has succeeded
    -> ready job1.m.0.1 n2
    4 AttemptSucceeded attempt=job1.m.0.0
    -> refused
    4 AttemptLaunched attempt=job1.m.0.3 node=n1
    -> refused
  )");
  const auto progress = engine_.Progress(JobId{1});
  EXPECT_EQ(progress->maps_done, 1U);
  EXPECT_EQ(progress->maps_running, 0U);
  EXPECT_EQ(progress->killed_attempts, 2U);
  EXPECT_EQ(progress->launched_at[0], 1U);
  EXPECT_EQ(progress->launched_at[2], 2U);  // n1 and the others: one (nameless) datacenter, two racks
}

TEST_F(Attempts, ATaskIsPendingOnlyWhenItsLastRunningAttemptIsGone) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=2
    0 NodeJoined node=n2 maps=1
    1 JobSubmitted job=job1 maps=1:n1
    1 decide
    -> launch job1.m.0.0 n1 node
    2 AttemptLaunched attempt=job1.m.0.1 node=n2
    3 AttemptFailed attempt=job1.m.0.0
    3 decide
    4 NodeLost node=n2
    4 decide
    -> launch job1.m.0.2 n1 node
  )");
}

// The policy at the time of the journal may have had other limits (with +ccs a node holds more reduces than it has
// slots).
TEST_F(Attempts, WhatWasLaunchedIsReplayedBeyondTheLimitsOfToday) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1 reduces=1
    1 JobSubmitted job=job1 reduces=3
    1 AttemptLaunched attempt=job1.r.0.0 node=n1
    1 AttemptLaunched attempt=job1.r.1.0 node=n1
    2 decide
    3 AttemptSucceeded attempt=job1.r.0.0
    3 decide
    4 AttemptSucceeded attempt=job1.r.1.0
    4 decide
    -> launch job1.r.2.0 n1
  )");
}

TEST_F(Attempts, EventsThatDoNotFitAreRefusedAndChangeNothing) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1 reduces=0
    1 JobSubmitted job=job1 maps=1:n1;1:n1 reduces=1
    1 decide
    -> launch job1.m.0.0 n1 node
    2 AttemptSucceeded attempt=job1.m.0.1
    -> refused
    2 AttemptSucceeded attempt=job1.m.1.0
    -> refused
    2 AttemptSucceeded attempt=job1.m.2.0
    -> refused
    2 AttemptSucceeded attempt=job2.m.0.0
    -> refused
    2 AttemptFailed attempt=job1.r.0.0
    -> refused
    2 AttemptLost attempt=job1.m.0.7
    -> refused
    # Not the next number of its task; no such node.
    2 AttemptLaunched attempt=job1.m.1.1 node=n1
    -> refused
    2 AttemptLaunched attempt=job1.m.1.0 node=n2
    -> refused
    2 ReplicasMoved map=job1.m.9 replicas=n1
    -> refused
    2 ReplicasMoved map=job1.r.0 replicas=n1
    -> refused
    2 NodeLost node=n2
    -> refused
    2 NodeDrained node=n2
    -> refused
    2 NodeJoined node=n16777216 maps=1
    -> refused
    2 NodeJoined node=n2 maps=65537
    -> refused
    3 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n1
    3 AttemptSucceeded attempt=job1.m.0.0
    -> refused
  )");
}

TEST_F(Attempts, ADrainedNodeFinishesWhatItRunsAndTakesNothingNew) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    1 JobSubmitted job=job1 maps=1:;1:;1:
    1 decide
    -> launch job1.m.0.0 n1 off
    2 NodeDrained node=n1
    3 AttemptSucceeded attempt=job1.m.0.0
    3 decide
    4 AttemptLaunched attempt=job1.m.1.0 node=n1
    -> refused
    4 NodeDrained node=n1 drained=0
    4 decide
    -> launch job1.m.1.0 n1 off
    # It is not drained when it comes back.
    5 NodeDrained node=n1
    5 NodeJoined node=n1 maps=2
    5 decide
    -> launch job1.m.1.1 n1 off
    -> launch job1.m.2.0 n1 off
  )");
}

TEST_F(Attempts, MayCommitWhileItRuns) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=2
    1 JobSubmitted job=job1 maps=1:n1 reduces=1
    1 decide
    -> launch job1.m.0.0 n1 node
    2 AttemptLaunched attempt=job1.m.0.1 node=n1
  )");
  EXPECT_TRUE(engine_.MayCommit(*ParseAttempt("job1.m.0.0")));
  EXPECT_TRUE(engine_.MayCommit(*ParseAttempt("job1.m.0.1")));
  EXPECT_FALSE(engine_.MayCommit(*ParseAttempt("job1.m.0.2")));
  EXPECT_FALSE(engine_.MayCommit(*ParseAttempt("job1.m.1.0")));
  EXPECT_FALSE(engine_.MayCommit(*ParseAttempt("job9.m.0.0")));
  EXPECT_PLAYS(&engine_, R"(
    3 AttemptSucceeded attempt=job1.m.0.1
    -> kill job1.m.0.0 n1: attempt 1 has succeeded
    -> ready job1.m.0.1 n1
  )");
  EXPECT_FALSE(engine_.MayCommit(*ParseAttempt("job1.m.0.0")));
  EXPECT_FALSE(engine_.MayCommit(*ParseAttempt("job1.m.0.1")));
}

// The task may be what kills them (`kill -9 $PPID`), and it would go on forever.
TEST(EnginePoison, ATaskThatIsLostWithThreeWorkersFailsItsJob) {
  Engine engine({}, std::make_unique<Fifo>());
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=2
    1 JobSubmitted job=job1 maps=1:n1
    1 JobSubmitted job=job2 maps=1:n1;1:n1
    1 decide
    -> launch job1.m.0.0 n1 node
    -> launch job2.m.0.0 n1 node
    # Another incarnation, then a process that ended, then another incarnation again.
    2 NodeJoined node=n1 maps=2
    2 decide
    -> launch job1.m.0.1 n1 node
    -> launch job2.m.0.1 n1 node
    3 AttemptSucceeded attempt=job2.m.0.1
    3 decide
    -> launch job2.m.1.0 n1 node
    4 NodeLost node=n1 died=1
    5 NodeJoined node=n2 maps=2
    5 decide
    -> launch job1.m.0.2 n2 off
    -> launch job2.m.1.1 n2 off
    6 NodeJoined node=n2 maps=2
    -> ended job1 failed: task job1.m.0 was lost with its worker 3 times (workers 1, 1, 2), which may be its doing; no other worker is given it
    6 decide
    -> launch job2.m.1.2 n2 off
    7 AttemptSucceeded attempt=job2.m.1.2
    -> ended job2 succeeded
  )");
}

// Machines and networks fail often enough by themselves, and no task can make them.
TEST(EnginePoison, SilentNodesDoNotCount) {
  Engine engine({}, std::make_unique<Fifo>());
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1
    1 JobSubmitted job=job1 maps=1:n1
  )");
  for (int round = 0; round < 5; ++round) {
    EXPECT_PLAYS(&engine, "2 decide\n -> launch job1.m.0." + std::to_string(round) +
                              " n1 node\n 3 NodeLost node=n1\n 4 NodeJoined node=n1 maps=1");
  }
}

TEST(EnginePoison, WhatAnOperatorTakesAwayDoesNotCountNorDoLostAttemptsOfLivingWorkers) {
  Engine engine({}, std::make_unique<Fifo>());
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1
    1 JobSubmitted job=job1 maps=1:n1
  )");
  for (int round = 0; round < 5; ++round) {
    const std::string number = std::to_string(2 * round);
    const std::string next = std::to_string(2 * round + 1);
    EXPECT_PLAYS(&engine, "2 decide\n -> launch job1.m.0." + number + " n1 node\n 2 NodeDrained node=n1\n" +
                              "3 NodeLost node=n1\n 4 NodeJoined node=n1 maps=1\n 4 decide\n -> launch job1.m.0." +
                              next + " n1 node\n 5 AttemptLost attempt=job1.m.0." + next);
  }
}

}  // namespace
}  // namespace millrace::sched
