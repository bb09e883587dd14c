// SPDX-License-Identifier: Apache-2.0
// Tests how long jobs stand still for lack of room for map outputs, and what then happens.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <variant>

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/engine.h"
#include "schedulers/policies/catalog.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

class Still : public testing::Test {
 protected:
  static std::unique_ptr<Policy> Make() {
    std::string why;
    return MakePolicy("fifo", {}, &why);
  }
  // Plays one decision, and returns its effects.
  Effects Decide(Micros now) {
    Effects effects;
    engine_.Decide(now, &effects);
    return effects;
  }
  Engine engine_{{}, Make()};
};

// The second map of job1 fits nowhere. Its reduce holds the slot that job2 needs, while job3 always runs a map.
class Stream : public Still {
 protected:
  Stream() {
    std::string maps = "10:";
    for (int map = 1; map < 60; ++map) maps += ";10:";
    EXPECT_PLAYS(&engine_, R"(
      0 NodeJoined node=n1 maps=1 reduces=1
      0 NodeSpace node=n1 free_bytes=100
      1 JobSubmitted job=job1 maps=10:;5000: reduces=1 slow_start=0 profile_runs=1 profile_ratio=1
      1 decide
      -> launch job1.m.0.0 n1 off
      -> launch job1.r.0.0 n1
      1 JobSubmitted job=job2 maps=1: reduces=1
      1 JobSubmitted job=job3 maps=)" +
                               maps + R"( priority=LOW
      2 AttemptSucceeded attempt=job1.m.0.0 input_bytes=10 output_bytes=10
      -> ready job1.m.0.0 n1
      2 decide
      -> launch job2.m.0.0 n1 off
      3 AttemptSucceeded attempt=job2.m.0.0 input_bytes=1 output_bytes=1
      -> ready job2.m.0.0 n1
      3 decide
      -> launch job3.m.0.0 n1 off
    )");
  }
  // Plays the end of the running map of job3. Returns the effects.
  std::string NextMinute() {
    const std::string map = "job3.m." + std::to_string(maps_done_++) + ".0", now = std::to_string(now_ += 60 * kSecond);
    EXPECT_PLAYS(&engine_, now + " AttemptSucceeded attempt=" + map);
    std::string text;
    for (const Effect& effect : Decide(now_)) text += FormatEffect(effect) + '\n';
    return text;
  }
  Micros now_ = 3;
  int maps_done_ = 0;
};

TEST_F(Stream, AJobThatFitsNowhereGivesWayThoughMapsOfOthersRunAllTheTime) {
  for (int minute = 1; minute < 5; ++minute)
    EXPECT_EQ(NextMinute(), "launch job3.m." + std::to_string(minute) + ".0 n1 off\n");
  EXPECT_EQ(engine_.NextWake(), 3 + 300 * kSecond);
  EXPECT_EQ(NextMinute(), R"(launch job3.m.5.0 n1 off
evict job1
kill job1.r.0.0 n1: the job gives way for lack of space
gone job1.m.0.0 n1
launch job2.r.0.0 n1
)");
  EXPECT_EQ(engine_.NextWake(), std::nullopt);
}

// A job that waits for its turn is not in anybody's way while the slots that others need are free.
TEST_F(Stream, AJobThatFitsNowhereKeepsWhatNobodyNeeds) {
  EXPECT_PLAYS(&engine_, "4 NodeJoined node=n2 reduces=1\n 4 decide\n -> launch job2.r.0.0 n2");
  for (int minute = 1; minute < 10; ++minute)
    EXPECT_EQ(NextMinute(), "launch job3.m." + std::to_string(minute) + ".0 n1 off\n");
  EXPECT_EQ(engine_.NextWake(), std::nullopt);
}

// Each time it has given way another job needs the slot again.
TEST_F(Stream, AJobThatWouldFitNowhereEvenAloneFailsInTheEnd) {
  std::string all;
  for (int minute = 1; minute < 40; ++minute) {
    all += NextMinute();
    const std::string now = std::to_string(now_), next = "job" + std::to_string(100 + minute);
    for (int job = 2; job < 140; ++job) {
      const AttemptId reduce{{{static_cast<std::uint32_t>(job)}, TaskKind::kReduce, 0}, 0};
      if (!engine_.MayCommit(reduce)) continue;
      EXPECT_PLAYS(&engine_, now + " AttemptSucceeded attempt=" + ToText(reduce) + "\n-> ended job" +
                                 std::to_string(job) + " succeeded\n" + now + " NodeSpace node=n1 free_bytes=100");
      for (const Effect& effect : Decide(now_)) all += FormatEffect(effect) + '\n';
      EXPECT_PLAYS(&engine_, now + " JobSubmitted job=" + next + " maps= reduces=1");
    }
    for (std::uint32_t number = 1; number < 4; ++number) {
      const AttemptId map{{{1}, TaskKind::kMap, 0}, number};
      if (!engine_.MayCommit(map)) continue;
      EXPECT_PLAYS(&engine_, now + " AttemptSucceeded attempt=" + ToText(map) + " input_bytes=10 output_bytes=10\n" +
                                 "-> ready " + ToText(map) + " n1");
      for (const Effect& effect : Decide(now_)) all += FormatEffect(effect) + '\n';
    }
  }
  std::size_t evictions = 0;
  for (std::size_t at = 0; (at = all.find("evict job1\n", at)) != std::string::npos; ++at) ++evictions;
  EXPECT_EQ(evictions, 3U);
  EXPECT_NE(
      all.find("give up job1: its map outputs do not fit: map 1 is expected to write 4.9 KiB, and the only worker "
               "that takes maps, 1, has "),
      std::string::npos)
      << all;
  EXPECT_NE(all.find("; none of its maps has run for 5 min, it has given way to other jobs 3 times, and it would not "
                     "fit without their outputs, either. Free space"),
            std::string::npos)
      << all;
}

constexpr std::string_view kNoRoom = R"(
    0 NodeJoined node=n1 maps=1 reduces=1
    0 NodeSpace node=n1 free_bytes=100
    1 JobSubmitted job=job1 maps=50: reduces=1 profile_runs=1 profile_ratio=4)";

bool GivesUp(const Effects& effects) {
  return std::ranges::any_of(effects, [](const Effect& effect) { return std::holds_alternative<GiveUp>(effect); });
}

TEST_F(Still, ARecoveryBeginsTheTimeAnewAlsoIfAJobWasEvictedBefore) {
  EXPECT_PLAYS(&engine_, std::string(kNoRoom) + R"(
    2 JobSubmitted job=job2 maps=50: reduces=1 profile_runs=1 profile_ratio=4
    3 JobEvicted job=job2
    3000000000 decide
  )");
  EXPECT_EQ(engine_.NextWake(), 3300 * kSecond);
  EXPECT_TRUE(GivesUp(Decide(3300 * kSecond)));
}

// job1 is the first in the queue, but what it waits for is what job2 holds.
TEST_F(Still, TheJobThatHoldsSomethingIsGivenUpBeforeTheFirstInTheQueue) {
  EXPECT_PLAYS(&engine_, std::string(kNoRoom) + R"(
    1 JobSubmitted job=job2 maps=10:;5000: reduces=1 slow_start=0 profile_runs=1 profile_ratio=1
    1 decide
    -> launch job2.m.0.0 n1 off
    -> launch job2.r.0.0 n1
    2 AttemptSucceeded attempt=job2.m.0.0 input_bytes=10 output_bytes=10
    -> ready job2.m.0.0 n1
    2 decide
  )");
  const Effects effects = Decide(2 + 300 * kSecond);
  ASSERT_TRUE(GivesUp(effects));
  EXPECT_EQ(std::get<GiveUp>(effects.front()).job, JobId{2});
}

TEST_F(Still, AProcessThatStoodStillBeginsTheTimeAnew) {
  EXPECT_PLAYS(&engine_, std::string(kNoRoom) + "\n0 decide");
  EXPECT_EQ(engine_.NextWake(), 1 + 300 * kSecond);
  EXPECT_TRUE(Decide(900 * kSecond).empty());
  EXPECT_EQ(engine_.NextWake(), 1200 * kSecond);
  EXPECT_TRUE(GivesUp(Decide(1201 * kSecond)));
}

TEST_F(Still, ALaunchShowsThatAnEvictedJobWasLetGo) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    1 JobSubmitted job=job1 maps=10:;10:
    1 JobSubmitted job=job2 maps=10:;10:
    1 JobSubmitted job=job3 maps=10:;10:
    2 JobEvicted job=job1
    2 JobEvicted job=job2
    # The job whose end let them go is not in the journal any more.
    3 AttemptLaunched attempt=job1.m.0.0 node=n1
    4 AttemptSucceeded attempt=job1.m.0.0
    4 decide
    -> launch job1.m.1.0 n1 off
    5 AttemptSucceeded attempt=job1.m.1.0
    -> ended job1 succeeded
    5 decide
    -> launch job2.m.0.0 n1 off
  )");
}

TEST_F(Still, JobsThatAreLetGoByNoEventAreLetGoInAReplay) {
  const std::string held = R"(
    0 NodeJoined node=n1 maps=1
    1 JobSubmitted job=job1 maps=10:
    1 JobSubmitted job=job2 maps=10:
    1 JobSubmitted job=job3 maps= reduces=1
    2 JobEvicted job=job1
    2 JobEvicted job=job2)";
  EXPECT_PLAYS(&engine_, held + "\n3 decide");
  EXPECT_EQ(engine_.NextWake(), 3 + 300 * kSecond);
  EXPECT_PLAYS(&engine_, "300000003 decide\n-> launch job1.m.0.0 n1 off");
  Engine replay({}, Make());
  EXPECT_PLAYS(&replay, held + "\n300000003 AttemptLaunched attempt=job1.m.0.0 node=n1");
  for (const std::uint32_t job : {1, 2}) {
    EXPECT_FALSE(engine_.state().FindJob({job})->held);
    EXPECT_FALSE(replay.state().FindJob({job})->held);
  }
}

TEST_F(Still, AJobThatFitsOnANodeThatIsOnlyAvoidedWaitsForIt) {
  EXPECT_PLAYS(&engine_, std::string(kNoRoom) + R"(
    1 NodeJoined node=n2 maps=1
    1 NodeJoined node=n3 maps=1
    1 NodeJoined node=n4 maps=1
    1 NodeJoined node=n5 maps=1
    1 NodeSpace node=n2 free_bytes=100
    1 NodeSpace node=n3 free_bytes=100
    1 NodeSpace node=n4 free_bytes=100
    1 NodeSpace node=n5 free_bytes=6000
    1 NodeBlamed node=n5 by=job11 until=1000000000
    1 NodeBlamed node=n5 by=job12 until=1000000000
    1 NodeBlamed node=n5 by=job13 until=1000000000
    1 decide
    300000001 decide
    600000001 decide
    900000001 decide
    1000000000 decide
    -> launch job1.m.0.0 n5 off
  )");
}

TEST_F(Still, TheSentenceDoesNotCallAnAvoidedNodeOneThatTakesMaps) {
  EXPECT_PLAYS(&engine_, std::string(kNoRoom) + R"(
    1 NodeJoined node=n2 maps=1
    1 NodeJoined node=n3 maps=1
    1 NodeJoined node=n4 maps=1
    1 NodeJoined node=n5 maps=1
    1 NodeSpace node=n2 free_bytes=100
    1 NodeSpace node=n3 free_bytes=100
    1 NodeSpace node=n4 free_bytes=100
    1 NodeSpace node=n5 free_bytes=150
    1 NodeBlamed node=n5 by=job11 until=1000000000
    1 NodeBlamed node=n5 by=job12 until=1000000000
    1 NodeBlamed node=n5 by=job13 until=1000000000
    1 decide
  )");
  const Effects effects = Decide(300000001);
  ASSERT_TRUE(GivesUp(effects));
  EXPECT_NE(FormatEffect(effects.front())
                .find("of 5 workers that take maps (1 of them not now, since too many jobs "
                      "failed there) worker 5 has most room, 150 B;"),
            std::string::npos)
      << FormatEffect(effects.front());
}

// After a power cut the nodes come back one by one.
TEST_F(Still, ANodeThatComesOrGoesBeginsTheTimeAnew) {
  EXPECT_PLAYS(&engine_, std::string(kNoRoom) + R"(
    1 decide
    200000000 NodeJoined node=n2 maps=1
    200000000 NodeSpace node=n2 free_bytes=100
    200000000 decide)");
  EXPECT_EQ(engine_.NextWake(), 500 * kSecond);
  EXPECT_PLAYS(&engine_, "400000000 NodeDrained node=n2 drained=1\n400000000 decide");
  EXPECT_EQ(engine_.NextWake(), 700 * kSecond);
  EXPECT_PLAYS(&engine_, "600000000 NodeLost node=n2\n600000000 decide");
  EXPECT_EQ(engine_.NextWake(), 900 * kSecond);
}

// job1 has given way three times, so it holds its output until it has kept job2 from the room for 5 min. A second
// later the standstill has lasted as long, but what n1 has now is not known yet: job2 fits.
TEST_F(Still, AJobThatGaveWayBeginsTheTimeAnew) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1 reduces=1
    0 NodeSpace node=n1 free_bytes=100
    1 JobSubmitted job=job1 maps=90:;90: reduces=1 slow_start=1 profile_runs=1 profile_ratio=1
    1 JobEvicted job=job1
    1 AttemptLaunched attempt=job1.m.0.0 node=n1
    1 JobEvicted job=job1
    -> kill job1.m.0.0 n1: the job gives way for lack of space
    1 AttemptLaunched attempt=job1.m.0.1 node=n1
    1 JobEvicted job=job1
    -> kill job1.m.0.1 n1: the job gives way for lack of space
    1 AttemptLaunched attempt=job1.m.0.2 node=n1
    1000000 AttemptSucceeded attempt=job1.m.0.2 input_bytes=90 output_bytes=90
    -> ready job1.m.0.2 n1
    1000000 NodeSpace node=n1 free_bytes=10
    1000000 JobSubmitted job=job2 maps=80: reduces=1 slow_start=1 profile_runs=1 profile_ratio=1
    1000000 JobSubmitted job=job3 maps=1:
    1000000 decide
    -> launch job3.m.0.0 n1 off
    2000000 AttemptSucceeded attempt=job3.m.0.0
    -> ended job3 succeeded
    2000000 decide
    301000000 decide
    -> evict job1
    -> gone job1.m.0.2 n1
    302000000 decide
    303000000 NodeSpace node=n1 free_bytes=100
    303000000 decide
    -> launch job2.m.0.0 n1 off
  )");
}

// The node says what room the end of a job has left once it has deleted the outputs.
TEST_F(Still, OutputsThatAreDeletedBeginTheTimeAnew) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1 reduces=1
    0 NodeSpace node=n1 free_bytes=10
    1 JobSubmitted job=job1 maps=90:;90: reduces=1 slow_start=1 profile_runs=1 profile_ratio=1
    1 AttemptLaunched attempt=job1.m.0.0 node=n1
    2 AttemptSucceeded attempt=job1.m.0.0 input_bytes=90 output_bytes=90
    -> ready job1.m.0.0 n1
    3 JobSubmitted job=job2 maps=95: reduces=1 slow_start=1 profile_runs=1 profile_ratio=1
    3 NodeSpace node=n1 free_bytes=4
    3 decide
    300000000 JobKilled job=job1 reason=why
    -> ended job1 killed: why
    300000000 decide
    301000000 decide
    302000000 NodeSpace node=n1 free_bytes=100
    302000000 decide
    -> launch job2.m.0.0 n1 off
  )");
}

// What A holds is 90 bytes on each of two nodes: job2 could not write 150 on either without it.
TEST_F(Still, NobodyGivesWayForAMapThatWouldNotFitAfterwards) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1 reduces=1
    0 NodeJoined node=n2 maps=1
    0 NodeSpace node=n1 free_bytes=100
    0 NodeSpace node=n2 free_bytes=100
    1 JobSubmitted job=job1 maps=90:n1;90:n2;90: reduces=1 slow_start=1 profile_runs=1 profile_ratio=1
    1 JobSubmitted job=job2 maps=150: reduces=1 slow_start=1 profile_runs=1 profile_ratio=1
    1 decide
    -> launch job1.m.0.0 n1 node
    -> launch job1.m.1.0 n2 node
    2 AttemptSucceeded attempt=job1.m.0.0 input_bytes=90 output_bytes=90
    -> ready job1.m.0.0 n1
    2 AttemptSucceeded attempt=job1.m.1.0 input_bytes=90 output_bytes=90
    -> ready job1.m.1.0 n2
    2 decide
    3 JobSubmitted job=job3 maps=100: reduces=1 slow_start=1 profile_runs=1 profile_ratio=1
    3 decide
    -> evict job1
    -> gone job1.m.0.0 n1
    -> gone job1.m.1.0 n2
    4 NodeSpace node=n1 free_bytes=100
    4 decide
    -> launch job3.m.0.0 n1 off
  )");
}

// What cannot be placed is not searched again and again, however many maps it is and however often somebody asks.
TEST_F(Still, AStandstillThatLastsCostsNoSearchOfAllMaps) {
  constexpr std::uint32_t kMaps = 10'000;
  JobSubmitted job{{1}, {}};
  job.spec.maps.resize(kMaps);
  for (std::uint32_t map = 0; map < kMaps; ++map) job.spec.maps[map].bytes = 1000 + map % 7;
  job.spec.reduces = 1;
  job.spec.profile.runs = 1, job.spec.profile.output_ratio = 1;
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1 reduces=1
    0 NodeJoined node=n2 maps=1
    0 NodeSpace node=n1 free_bytes=1000
    0 NodeSpace node=n2 free_bytes=100
  )");
  Effects effects;
  ASSERT_TRUE(engine_.Apply(1, job, &effects));
  EXPECT_EQ(FormatEffect(Decide(1).front()), "launch job1.m.0.0 n1 off");
  EXPECT_PLAYS(&engine_, "2 AttemptFailed attempt=job1.m.0.0 reason=why\n2 NodeSpace node=n1 free_bytes=500\n2 decide");
  for (Micros now = 3; now < 1000; ++now) EXPECT_TRUE(Decide(now).empty());
  EXPECT_EQ(engine_.state().maps_looked_at(), 0U);
}

}  // namespace
}  // namespace millrace::sched
