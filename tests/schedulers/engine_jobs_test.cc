// SPDX-License-Identifier: Apache-2.0
// Tests the life of a job: submission, slow start, priority, kill, end, forgetting. Also tests replacing the policy.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/engine.h"
#include "schedulers/policies/simple/fifo.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

class Jobs : public testing::Test {
 protected:
  Engine engine_{{}, std::make_unique<Fifo>()};
};

TEST_F(Jobs, AMapOnlyJobEndsWithItsLastMap) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=2
    5 JobSubmitted job=job1 maps=1:n1;1:n2
    7 decide
    -> launch job1.m.0.0 n1 node
    -> launch job1.m.1.0 n1 off
    8 AttemptSucceeded attempt=job1.m.1.0
    9 AttemptSucceeded attempt=job1.m.0.0
    -> ended job1 succeeded
  )");
  const auto progress = engine_.Progress(JobId{1});
  EXPECT_EQ(progress->submitted, 5);
  EXPECT_EQ(progress->started, 7);
  EXPECT_EQ(progress->ended, 9);
  EXPECT_EQ(progress->outcome, JobOutcome::kSucceeded);
  EXPECT_EQ(progress->maps_done, 2U);
  EXPECT_EQ(progress->launched_at[0], 1U);
  EXPECT_EQ(progress->launched_at[3], 1U);
}

TEST_F(Jobs, AJobWithoutTasksEndsAtOnce) {
  EXPECT_PLAYS(&engine_, R"(
    0 JobSubmitted job=job1
    -> ended job1 succeeded
    0 JobKilled job=job1
    -> refused
  )");
}

TEST_F(Jobs, AJobWithoutMapsGoesStraightToItsReduces) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1 reduces=2
    1 JobSubmitted job=job1 reduces=2 slow_start=1
    1 decide
    -> launch job1.r.0.0 n1
    -> launch job1.r.1.0 n1
    2 AttemptSucceeded attempt=job1.r.1.0
    3 AttemptSucceeded attempt=job1.r.0.0
    -> ended job1 succeeded
  )");
}

TEST_F(Jobs, SlowStartHoldsReducesUntilTheFractionOfMapsIsDone) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=4 reduces=1
    1 JobSubmitted job=job1 maps=1:;1:;1:;1: reduces=1 slow_start=0.5
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job1.m.2.0 n1 off
    -> launch job1.m.3.0 n1 off
    2 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n1
    2 decide
    3 AttemptSucceeded attempt=job1.m.1.0
    -> ready job1.m.1.0 n1
    3 decide
    -> launch job1.r.0.0 n1
  )");
}

// The number of maps that must be done follows the decimal fraction: 0.07 of 100 is 7, whatever 0.07 * 100 is in
// binary.
TEST_F(Jobs, SlowStartIsExactForDecimalFractions) {
  struct Case {
    std::uint32_t maps;
    double slow_start;
    std::uint32_t needed;
  };
  for (const Case& c : {Case{100, 0.07, 7}, Case{100, 0.05, 5}, Case{100, 0.29, 29}, Case{10, 0.3, 3}, Case{7, 0.05, 1},
                        Case{3, 0, 0}, Case{3, 1, 3}, Case{3, -4, 0}, Case{3, 7, 3}, Case{1000, 0.999, 999}}) {
    JobState job;
    job.spec.slow_start = c.slow_start;
    job.progress.maps = c.maps;
    for (std::uint32_t done = 0; done <= c.maps; ++done) {
      job.progress.maps_done = done;
      EXPECT_EQ(job.ReducesMayStart(), done >= c.needed) << done << " of " << c.maps << " at " << c.slow_start;
    }
  }
}

TEST_F(Jobs, AKillEndsItWithAllThatRuns) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n2 maps=2 reduces=1
    0 NodeJoined node=n1 maps=1
    1 JobSubmitted job=job1 maps=1:;1:;1: reduces=1 slow_start=0
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n2 off
    -> launch job1.m.2.0 n2 off
    -> launch job1.r.0.0 n2
    2 JobKilled job=job1 reason=by%20request
    -> kill job1.m.0.0 n1: by request
    -> kill job1.m.1.0 n2: by request
    -> kill job1.m.2.0 n2: by request
    -> kill job1.r.0.0 n2: by request
    -> ended job1 killed: by request
    3 JobKilled job=job1
    -> refused
    3 JobPrioritySet job=job1 priority=HIGH
    -> refused
    3 JobSubmitted job=job2 maps=1:
    3 decide
    -> launch job2.m.0.0 n1 off
  )");
}

TEST_F(Jobs, AnIdIsUsedOnceEvenWhenTheJobIsForgotten) {
  EXPECT_PLAYS(&engine_, R"(
    0 JobSubmitted job=job1 reduces=1
    0 JobSubmitted job=job1
    -> refused
  )");
  EXPECT_FALSE(engine_.Forget(JobId{1}));  // it lives
  EXPECT_FALSE(engine_.Forget(JobId{2}));
  EXPECT_PLAYS(&engine_, R"(
    1 JobKilled job=job1
    -> ended job1 killed
  )");
  EXPECT_TRUE(engine_.Forget(JobId{1}));
  EXPECT_FALSE(engine_.Forget(JobId{1}));
  EXPECT_FALSE(engine_.Progress(JobId{1}).has_value());
  EXPECT_PLAYS(&engine_, R"(
    2 JobSubmitted job=job1
    -> refused
    2 JobSubmitted job=job16777216
    -> refused
    2 JobSubmitted job=job3 reduces=1048577
    -> refused
  )");
}

TEST_F(Jobs, ALaunchAtTimeZeroIsItsStart) {
  EXPECT_PLAYS(&engine_, R"(
    0 NodeJoined node=n1 maps=1
    0 JobSubmitted job=job1 maps=1:;1:
    0 decide
    -> launch job1.m.0.0 n1 off
    6 AttemptSucceeded attempt=job1.m.0.0
    6 decide
    -> launch job1.m.1.0 n1 off
  )");
  EXPECT_EQ(engine_.Progress(JobId{1})->started, 0);
}

TEST_F(Jobs, AClockThatGoesBackStandsStill) {
  EXPECT_PLAYS(&engine_, R"(
    9 NodeJoined node=n1 maps=1
    3 JobSubmitted job=job1 maps=1:
    4 decide
    -> launch job1.m.0.0 n1 off
    5 AttemptSucceeded attempt=job1.m.0.0
    -> ended job1 succeeded
  )");
  EXPECT_EQ(engine_.Progress(JobId{1})->submitted, 9);
  EXPECT_EQ(engine_.Progress(JobId{1})->started, 9);
  EXPECT_EQ(engine_.Progress(JobId{1})->ended, 9);
}

// A policy that notes what the engine tells it.
class Told : public Fifo {
 public:
  explicit Told(std::vector<std::string>* told) : told_(told) {}
  void OnJobSubmitted(const ClusterState& state, JobId job) override { Tell("submitted", state, job); }
  void OnJobPrioritySet(const ClusterState& state, JobId job) override { Tell("priority", state, job); }
  void OnJobEnded(const ClusterState& state, JobId job) override { Tell("ended", state, job); }
  [[nodiscard]] std::optional<Micros> NextWake(const ClusterState&) const override { return 77; }

 private:
  void Tell(const char* what, const ClusterState& state, JobId job) {
    const JobState& known = *state.FindJob(job);
    told_->push_back(std::string(what) + " job" + std::to_string(job.value) + (known.alive() ? " alive" : " over") +
                     " priority " + std::to_string(static_cast<int>(known.progress.priority)));
  }
  std::vector<std::string>* told_;
};

TEST_F(Jobs, ANewPolicyIsToldOfTheLiveJobsInSubmitOrder) {
  EXPECT_PLAYS(&engine_, R"(
    0 JobSubmitted job=job5 reduces=1 priority=LOW
    0 JobSubmitted job=job1 reduces=1
    0 JobSubmitted job=job2 reduces=1
    0 JobKilled job=job1
    -> ended job1 killed
  )");
  EXPECT_EQ(engine_.NextWake(), std::nullopt);
  std::vector<std::string> told;
  engine_.SetPolicy(std::make_unique<Told>(&told));
  EXPECT_EQ(engine_.NextWake(), 77);
  EXPECT_PLAYS(&engine_, R"(
    1 JobSubmitted job=job6
    -> ended job6 succeeded
    1 JobPrioritySet job=job2 priority=VERY_HIGH
    1 JobKilled job=job2
    -> ended job2 killed
  )");
  EXPECT_EQ(told, (std::vector<std::string>{"submitted job5 alive priority 3", "submitted job2 alive priority 2",
                                            "submitted job6 alive priority 2", "ended job6 over priority 2",
                                            "priority job2 alive priority 0", "ended job2 over priority 0"}));
}

}  // namespace
}  // namespace millrace::sched
