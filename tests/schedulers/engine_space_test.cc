// SPDX-License-Identifier: Apache-2.0
// Tests the space for map outputs: where a map is placed, and which job gives way when no job can go on.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <variant>

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/engine.h"
#include "schedulers/offering/common_settings.h"
#include "schedulers/policies/catalog.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

class Space : public testing::Test {
 protected:
  static std::unique_ptr<Policy> Make() {
    std::string why;
    return MakePolicy("fifo", {}, &why);
  }
  Engine engine_{{}, Make()};
};

TEST_F(Space, AMapGoesWhereItsExpectedOutputFitsBesideThatOfOthers) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=3 reduces=1
    0 NodeJoined node=n2 maps=3 reduces=1
    0 NodeSpace node=n1 free_bytes=100
    0 NodeSpace node=n2 free_bytes=250
    1 JobSubmitted job=job1 maps=100:n1;100:n1;100:n1;100:n1 reduces=1 slow_start=1 profile_runs=1 profile_ratio=1
    1 decide
    -> launch job1.m.0.0 n1 node
    -> launch job1.m.1.0 n2 rack
    -> launch job1.m.2.0 n2 rack
    2 NodeSpace node=n2 free_bytes=350
    2 decide
    -> launch job1.m.3.0 n2 rack
  )");
}

TEST_F(Space, TheRatioIsThatOfTheJobsOwnFinishedMaps) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1 reduces=1
    0 NodeSpace node=n1 free_bytes=130
    1 JobSubmitted job=job1 maps=100:n1;100:n1 reduces=1 slow_start=1
    1 decide
    -> launch job1.m.0.0 n1 node
    2 AttemptSucceeded attempt=job1.m.0.0 input_bytes=100 output_bytes=70
    -> ready job1.m.0.0 n1
    # 60 are left, and 70 expected: alone, it waits for room.
    2 decide
    3 NodeSpace node=n1 free_bytes=75
    3 decide
    -> launch job1.m.1.0 n1 node
  )");
}

constexpr std::string_view kStuck = R"(
    0 NodeJoined node=n1 maps=1 reduces=2
    0 NodeSpace node=n1 free_bytes=100
    1 JobSubmitted job=job1 maps=10:;10:;10: reduces=1 slow_start=0 profile_runs=1 profile_ratio=4
    1 JobSubmitted job=job2 maps=10:;10: reduces=1 slow_start=0 profile_runs=1 profile_ratio=4 priority=HIGH
    1 decide
    -> launch job2.m.0.0 n1 off
    -> launch job2.r.0.0 n1
    -> launch job1.r.0.0 n1
    2 AttemptSucceeded attempt=job2.m.0.0 input_bytes=10 output_bytes=40
    -> ready job2.m.0.0 n1
    2 JobPrioritySet job=job1 priority=VERY_HIGH
    2 decide
    -> launch job1.m.0.0 n1 off
    3 AttemptSucceeded attempt=job1.m.0.0 input_bytes=10 output_bytes=40
    -> ready job1.m.0.0 n1)";

TEST_F(Space, WhenNobodyCanGoOnTheJobSubmittedLastGivesWayUntilAnotherEnds) {
  EXPECT_PLAYS(&engine_, std::string(kStuck) + R"(
    3 decide
    -> evict job2
    -> kill job2.r.0.0 n1: the job gives way for lack of space
    -> gone job2.m.0.0 n1
    4 NodeSpace node=n1 free_bytes=60
    4 decide
    -> launch job1.m.1.0 n1 off
    5 AttemptSucceeded attempt=job1.m.1.0 input_bytes=10 output_bytes=10
    -> ready job1.m.1.0 n1
    5 decide
    -> launch job1.m.2.0 n1 off
    6 AttemptSucceeded attempt=job1.m.2.0 input_bytes=10 output_bytes=10
    -> ready job1.m.2.0 n1
    # Job 2 is still held, though slots and room are free.
    6 NodeSpace node=n1 free_bytes=100
    6 decide
    7 AttemptSucceeded attempt=job1.r.0.0
    -> ended job1 succeeded
    7 decide
    -> launch job2.m.0.1 n1 off
    -> launch job2.r.0.1 n1
  )");
}

TEST_F(Space, AnEvictionIsReplayed) {
  EXPECT_PLAYS(&engine_, std::string(kStuck) + R"(
    3 JobEvicted job=job2
    -> kill job2.r.0.0 n1: the job gives way for lack of space
    -> gone job2.m.0.0 n1
    3 decide
    4 JobEvicted job=job3
    -> refused
  )");
  EXPECT_TRUE(engine_.state().RunnableJobs(TaskKind::kMap).size() == 1);
}

// This is the state after a recovery, which learns of the eviction but not of the job that has ended since.
TEST_F(Space, AHeldJobThatLivesAloneGoesOn) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    1 JobSubmitted job=job1 maps=10:
    1 decide
    -> launch job1.m.0.0 n1 off
    2 JobEvicted job=job1
    -> kill job1.m.0.0 n1: the job gives way for lack of space
    3 decide
    -> launch job1.m.0.1 n1 off
  )");
}

TEST(SpaceOptions, TheJobWithTheLeastProgressGivesWayIfSoConfigured) {
  std::string why;
  Settings settings;
  settings.Of<EvictionSettings>().gives_way = GivesWay::kLeastProgress;
  Engine engine({}, MakePolicy("fifo", settings, &why));
  EXPECT_PLAYS(&engine, std::string(kStuck) + R"(
    3 decide
    -> evict job1
    -> kill job1.r.0.0 n1: the job gives way for lack of space
    -> gone job1.m.0.0 n1
  )");
}

// job1 writes more than there is room for, and its reduce holds the slot that job2 needs. job2 has no maps left.
constexpr std::string_view kHolder = R"(
    0 NodeJoined node=n1 maps=1 reduces=1
    0 NodeSpace node=n1 free_bytes=100
    1 JobSubmitted job=job1 maps=10:;10:;10: reduces=1 slow_start=0 profile_runs=1 profile_ratio=4 priority=HIGH
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.r.0.0 n1
    2 AttemptSucceeded attempt=job1.m.0.0 input_bytes=10 output_bytes=40
    -> ready job1.m.0.0 n1
    2 JobSubmitted job=job2 maps=1: reduces=1 priority=VERY_HIGH
    2 decide
    -> launch job2.m.0.0 n1 off
    3 AttemptSucceeded attempt=job2.m.0.0 input_bytes=1 output_bytes=1
    -> ready job2.m.0.0 n1
    3 NodeSpace node=n1 free_bytes=30)";

TEST_F(Space, AJobThatAloneHoldsSlotsGivesThemToOthers) {
  EXPECT_PLAYS(&engine_, std::string(kHolder) + R"(
    3 decide
    -> evict job1
    -> kill job1.r.0.0 n1: the job gives way for lack of space
    -> gone job1.m.0.0 n1
    -> launch job2.r.0.0 n1
    4 AttemptSucceeded attempt=job2.r.0.0
    -> ended job2 succeeded
    4 NodeSpace node=n1 free_bytes=100
    4 decide
    -> launch job1.m.0.1 n1 off
    -> launch job1.r.0.1 n1
  )");
}

// The reduce of job3 has all its input. When it ends job2 has a slot without anybody giving way.
TEST_F(Space, NobodyGivesWayWhileAReduceThatHasAllItsInputRuns) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n2 reduces=1
    0 JobSubmitted job=job3 maps= reduces=1
    0 decide
    -> launch job3.r.0.0 n2
  )" + std::string(kHolder) + R"(
    3 decide
    4 AttemptSucceeded attempt=job3.r.0.0
    -> ended job3 succeeded
    4 decide
    -> launch job2.r.0.0 n2
  )");
}

TEST_F(Space, AJobWhoseOutputsFitNowhereFailsAndSaysWhatDoesNotFit) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1 reduces=1
    0 NodeJoined node=n2 maps=1
    0 NodeSpace node=n1 free_bytes=100
    0 NodeSpace node=n2 free_bytes=6000
    1 JobSubmitted job=job1 maps=10:;5000: reduces=1 slow_start=0 profile_runs=1 profile_ratio=4
    1 JobSubmitted job=job2 maps=9000: reduces=1 profile_runs=1 profile_ratio=4
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.r.0.0 n1
    2 AttemptSucceeded attempt=job1.m.0.0 input_bytes=10 output_bytes=40
    -> ready job1.m.0.0 n1
    2 decide
  )");
  EXPECT_EQ(engine_.NextWake(), 2 + 300 * kSecond);
  EXPECT_PLAYS(&engine_, R"(
    300000001 decide
    300000002 decide
    -> give up job1: its map outputs do not fit: map 1 is expected to write 19.5 KiB, and of 2 workers that take maps worker 2 has most room, 5.9 KiB; nothing has run for 5 min that would free some. Free space on the workers' disks or add workers, or have the maps write less (a combiner, compression)
    -> kill job1.r.0.0 n1: its map outputs do not fit: map 1 is expected to write 19.5 KiB, and of 2 workers that take maps worker 2 has most room, 5.9 KiB; nothing has run for 5 min that would free some. Free space on the workers' disks or add workers, or have the maps write less (a combiner, compression)
    -> ended job1 failed: its map outputs do not fit: map 1 is expected to write 19.5 KiB, and of 2 workers that take maps worker 2 has most room, 5.9 KiB; nothing has run for 5 min that would free some. Free space on the workers' disks or add workers, or have the maps write less (a combiner, compression)
    600000002 decide
    -> give up job2: its map outputs do not fit: map 0 is expected to write 35.2 KiB, and of 2 workers that take maps worker 2 has most room, 5.9 KiB; nothing has run for 5 min that would free some. Free space on the workers' disks or add workers, or have the maps write less (a combiner, compression)
    -> ended job2 failed: its map outputs do not fit: map 0 is expected to write 35.2 KiB, and of 2 workers that take maps worker 2 has most room, 5.9 KiB; nothing has run for 5 min that would free some. Free space on the workers' disks or add workers, or have the maps write less (a combiner, compression)
  )");
  EXPECT_EQ(engine_.NextWake(), std::nullopt);
}

TEST_F(Space, ANodeThatJoinsInTimeSavesTheJob) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1 reduces=1
    0 NodeSpace node=n1 free_bytes=100
    1 JobSubmitted job=job1 maps=50: reduces=1 profile_runs=1 profile_ratio=4
    1 decide
    299000000 NodeJoined node=n2 maps=1
    299000000 NodeSpace node=n2 free_bytes=200
    299000000 decide
    -> launch job1.m.0.0 n2 off
    400000000 decide
  )");
}

// Neither the closest map of n1 nor that of n2 fits there, but each fits on the other node.
TEST_F(Space, WhenNothingRunsTheClosestMapThatFitsIsTaken) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1 reduces=1
    0 NodeJoined node=n2 maps=1
    0 NodeSpace node=n1 free_bytes=10
    0 NodeSpace node=n2 free_bytes=30
    1 JobSubmitted job=job1 maps=20:n1;10:n1,n2;40:n2 reduces=1 slow_start=1 profile_runs=1 profile_ratio=1
    1 decide
    -> launch job1.m.1.0 n1 node
    2 AttemptSucceeded attempt=job1.m.1.0 input_bytes=10 output_bytes=10
    -> ready job1.m.1.0 n1
    2 decide
    -> launch job1.m.0.0 n2 rack
  )");
}

TEST_F(Space, AJobThatIsGivenUpIsReplayed) {
  EXPECT_PLAYS(&engine_, std::string(kHolder) + R"(
    4 JobGivenUp job=job1 reason=why
    -> kill job1.r.0.0 n1: why
    -> ended job1 failed: why
    4 decide
    -> launch job2.r.0.0 n1
    5 JobGivenUp job=job1
    -> refused
  )");
}

// job2 fits nowhere, but what it waits for is no room that others hold. It gives way to job1 three times at most.
TEST_F(Space, NobodyGivesWayForEver) {
  std::string script = R"(
    0 NodeJoined node=n1 maps=1 reduces=1
    0 NodeSpace node=n1 free_bytes=100
    1 JobSubmitted job=job2 maps=10:;30: reduces=1 slow_start=0 profile_runs=1 profile_ratio=4
    1 decide
    -> launch job2.m.0.0 n1 off
    -> launch job2.r.0.0 n1)";
  for (int other = 3; other <= 6; ++other) {
    const std::string number = std::to_string(other - 3), now = std::to_string(other), job = "job" + now;
    script += "\n" + now + " AttemptSucceeded attempt=job2.m.0." + number + " input_bytes=10 output_bytes=40" +
              "\n-> ready job2.m.0." + number + " n1\n" + now + " JobSubmitted job=" + job +
              " maps= reduces=1 priority=HIGH\n" + now + " decide";
    if (other == 6) break;
    script += "\n-> evict job2\n-> kill job2.r.0." + number + " n1: the job gives way for lack of space" +
              "\n-> gone job2.m.0." + number + " n1\n-> launch " + job + ".r.0.0 n1\n" + now +
              " AttemptSucceeded attempt=" + job + ".r.0.0\n-> ended " + job + " succeeded\n" + now +
              " NodeSpace node=n1 free_bytes=100\n" + now + " decide\n-> launch job2.m.0." + std::to_string(other - 2) +
              " n1 off\n-> launch job2.r.0." + std::to_string(other - 2) + " n1";
  }
  EXPECT_PLAYS(&engine_, script);
  Effects effects;
  engine_.Decide(6 + 300 * kSecond, &effects);
  EXPECT_TRUE(std::holds_alternative<GiveUp>(effects.front()));
  EXPECT_EQ(FormatEffect(effects.back()), "launch job6.r.0.0 n1");
}

TEST_F(Space, NobodyGivesWayWhileAReduceCanEnd) {
  EXPECT_PLAYS(&engine_, std::string(kStuck) + R"(
    3 ReduceComputing attempt=job2.r.0.0
    3 decide
  )");
}

}  // namespace
}  // namespace millrace::sched
