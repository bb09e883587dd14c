// SPDX-License-Identifier: Apache-2.0
// Tests maps that a job goes on without (JobSpec::max_failed_maps).
#include <gtest/gtest.h>

#include <memory>

#include "base/ids/ids.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/engine.h"
#include "schedulers/policies/simple/fifo.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

class LeftOut : public testing::Test {
 protected:
  Engine engine_{{}, std::make_unique<Fifo>()};
};

TEST_F(LeftOut, AMapThatFailedTooOftenCountsAsDoneAndReducesDoNotWaitForIt) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=2 reduces=1
    1 JobSubmitted job=job1 maps=1:n1;1:n1 reduces=1 slow_start=1 max_attempts=2 max_failed_maps=50
    1 decide
    -> launch job1.m.0.0 n1 node
    -> launch job1.m.1.0 n1 node
    2 AttemptFailed attempt=job1.m.0.0 reason=signal%2011
    2 decide
    -> launch job1.m.0.1 n1 node
    3 AttemptSucceeded attempt=job1.m.1.0
    -> ready job1.m.1.0 n1
    3 decide
    4 AttemptFailed attempt=job1.m.0.1 reason=signal%2011
    -> left out job1.m.0: task job1.m.0 failed 2 times, the last time: signal 11
    4 decide
    -> launch job1.r.0.0 n1
  )");
  EXPECT_EQ(engine_.LeftOutMaps(JobId{1}), std::vector<std::uint32_t>{0});
  EXPECT_EQ(engine_.ReadyOutputs(JobId{1}).size(), 1U);
  EXPECT_PLAYS(&engine_, R"(
    5 AttemptLaunched attempt=job1.m.0.2 node=n1
    -> refused
    6 AttemptSucceeded attempt=job1.r.0.0
    -> ended job1 succeeded
  )");
  EXPECT_EQ(engine_.Progress(JobId{1})->maps_left_out, 1U);
  EXPECT_EQ(engine_.LeftOutMaps(JobId{1}), std::vector<std::uint32_t>());
}

TEST_F(LeftOut, OneMoreThanTheShareFailsTheJob) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=3
    1 JobSubmitted job=job1 maps=1:n1;1:n1;1:n1 max_attempts=1 max_failed_maps=34
    1 decide
    -> launch job1.m.0.0 n1 node
    -> launch job1.m.1.0 n1 node
    -> launch job1.m.2.0 n1 node
    2 AttemptFailed attempt=job1.m.2.0 reason=a
    -> left out job1.m.2: task job1.m.2 failed 1 time, the last time: a
    3 AttemptFailed attempt=job1.m.0.0 reason=b
    -> kill job1.m.1.0 n1: task job1.m.0 failed 1 time, the last time: b (1 of 3 maps are left out already, and no more than 34% may be)
    -> ended job1 failed: task job1.m.0 failed 1 time, the last time: b (1 of 3 maps are left out already, and no more than 34% may be)
  )");
}

TEST_F(LeftOut, AJobWithoutReducesEndsWithItsLastMapOrWithoutIt) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=2
    1 JobSubmitted job=job1 maps=1:n1;1:n1 max_attempts=1 max_failed_maps=100
    1 decide
    -> launch job1.m.0.0 n1 node
    -> launch job1.m.1.0 n1 node
    2 AttemptSucceeded attempt=job1.m.0.0
    3 AttemptFailed attempt=job1.m.1.0 reason=a
    -> left out job1.m.1: task job1.m.1 failed 1 time, the last time: a
    -> ended job1 succeeded
  )");
}

TEST_F(LeftOut, AReduceIsNever) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 reduces=1
    1 JobSubmitted job=job1 reduces=1 max_attempts=1 max_failed_maps=100
    1 decide
    -> launch job1.r.0.0 n1
    2 AttemptFailed attempt=job1.r.0.0 reason=a
    -> ended job1 failed: task job1.r.0 failed 1 time, the last time: a
  )");
}

TEST_F(LeftOut, LossesDoNotCountAndTheTwinOfTheLastFailureIsKilled) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    0 NodeJoined node=n2 maps=1
    1 JobSubmitted job=job1 maps=1:n1 reduces=1 max_attempts=1 max_failed_maps=100
    1 AttemptLaunched attempt=job1.m.0.0 node=n1
    2 AttemptLost attempt=job1.m.0.0
    2 AttemptLaunched attempt=job1.m.0.1 node=n1
    3 NodeLost node=n1
    3 AttemptLaunched attempt=job1.m.0.2 node=n2
    4 NodeJoined node=n1 maps=1
    4 AttemptLaunched attempt=job1.m.0.3 node=n1
    5 AttemptFailed attempt=job1.m.0.2 reason=a
    -> kill job1.m.0.3 n1: the job goes on without its map
    -> left out job1.m.0: task job1.m.0 failed 1 time, the last time: a
    5 decide
    6 AttemptSucceeded attempt=job1.m.0.3
    -> refused
  )");
}

// The output of its first attempt was there, and is still on the node's list.
TEST_F(LeftOut, ItHasNoOutputToLoseOrToFetch) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    0 NodeJoined node=n2 maps=1 reduces=1
    1 JobSubmitted job=job1 maps=1:n1;1:n1 reduces=1 slow_start=0 max_attempts=1 max_failed_maps=50
    1 AttemptLaunched attempt=job1.m.0.0 node=n1
    2 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n1
    2 AttemptLaunched attempt=job1.r.0.0 node=n2
    3 FetchFailed reduce=job1.r.0.0 map_attempt=job1.m.0.0
    -> gone job1.m.0.0 n1
    4 AttemptLaunched attempt=job1.m.0.1 node=n2
    5 AttemptFailed attempt=job1.m.0.1 reason=a
    -> left out job1.m.0: task job1.m.0 failed 1 time, the last time: a
    6 FetchFailed reduce=job1.r.0.0 map_attempt=job1.m.0.0
    -> refused
    6 AttemptLost attempt=job1.m.0.0
    -> refused
    7 NodeLost node=n1
    8 JobEvicted job=job1
    -> kill job1.r.0.0 n2: the job gives way for lack of space
  )");
  EXPECT_EQ(engine_.LeftOutMaps(JobId{1}), std::vector<std::uint32_t>{0});
  EXPECT_EQ(engine_.Progress(JobId{1})->maps_done, 1U);
}

TEST_F(LeftOut, SoIsAMapThatWasLostWithItsWorkerTooOften) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    0 NodeJoined node=n2 maps=1 reduces=1
    1 JobSubmitted job=job1 maps=1:n1;1:n2 reduces=1 max_failed_maps=50
    1 AttemptLaunched attempt=job1.m.0.0 node=n1
    2 NodeLost node=n1 died=1
    3 NodeJoined node=n1 maps=1
    3 AttemptLaunched attempt=job1.m.0.1 node=n1
    4 NodeLost node=n1 died=1
    5 AttemptLaunched attempt=job1.m.0.2 node=n2
    6 NodeLost node=n2 died=1
    -> left out job1.m.0: task job1.m.0 was lost with its worker 3 times (workers 1, 1, 2), which may be its doing; no other worker is given it
    7 decide
    8 NodeJoined node=n2 maps=1 reduces=1
    8 decide
    -> launch job1.m.1.0 n2 node
    -> launch job1.r.0.0 n2
  )");
}

TEST(MapsLeftOut, TheShareIsExact) {
  struct Case {
    std::uint32_t percent, maps, most;
  };
  for (const Case& c : {Case{0, 1000, 0}, Case{7, 100, 7}, Case{29, 100, 29}, Case{1, 99, 0}, Case{1, 100, 1},
                        Case{33, 3, 0}, Case{34, 3, 1}, Case{50, 3, 1}, Case{100, 3, 3}}) {
    JobState job;
    job.spec.max_failed_maps = c.percent;
    job.progress.maps = c.maps;
    for (std::uint32_t left_out = 0; left_out <= c.maps; ++left_out) {
      job.progress.maps_left_out = left_out;
      EXPECT_EQ(job.MayLeaveOutAnother(), left_out < c.most) << left_out << " of " << c.maps << ", " << c.percent;
    }
  }
}

}  // namespace
}  // namespace millrace::sched
