// SPDX-License-Identifier: Apache-2.0
// `fair` as tables: who gets the next slot.
#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "schedulers/core/policy.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

class FairTest : public testing::Test {
 protected:
  Engine& Make(const Settings& settings = {}) {
    std::string why;
    engine_ = std::make_unique<Engine>(EngineOptions{}, MakePolicy("fair", settings, &why));
    return *engine_;
  }
  std::unique_ptr<Engine> engine_;
};

TEST_F(FairTest, PoolsOfEqualWeightTakeTurnsAndEqualOnesGoByName) {
  EXPECT_PLAYS(&Make(), R"(
    0 NodeJoined node=n1 maps=4
    1 JobSubmitted job=job1 pool=b maps=1:;1:;1:;1:
    1 JobSubmitted job=job2 pool=a maps=1:;1:;1:;1:
    1 decide
    -> launch job2.m.0.0 n1 off
    -> launch job1.m.0.0 n1 off
    -> launch job2.m.1.0 n1 off
    -> launch job1.m.1.0 n1 off
    2 AttemptSucceeded attempt=job1.m.0.0
    2 decide
    -> launch job1.m.2.0 n1 off
    3 AttemptSucceeded attempt=job2.m.0.0
    3 AttemptSucceeded attempt=job2.m.1.0
    3 AttemptSucceeded attempt=job1.m.1.0
    3 decide
    -> launch job2.m.2.0 n1 off
    -> launch job2.m.3.0 n1 off
    -> launch job1.m.3.0 n1 off
  )");
}

// Shares 6 and 2: a b, then a until 3/6 = 1/2 (the name decides), and so on.
TEST_F(FairTest, WeightsDecideHowOften) {
  Settings settings;
  settings.Named<PoolSettings>()["a"].weight = 3;
  EXPECT_PLAYS(&Make(settings), R"(
    0 NodeJoined node=n1 maps=8
    1 JobSubmitted job=job1 pool=a maps=1:;1:;1:;1:;1:;1:;1:;1:
    1 JobSubmitted job=job2 pool=b maps=1:;1:;1:;1:;1:;1:;1:;1:
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job2.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job1.m.2.0 n1 off
    -> launch job1.m.3.0 n1 off
    -> launch job2.m.1.0 n1 off
    -> launch job1.m.4.0 n1 off
    -> launch job1.m.5.0 n1 off
  )");
}

TEST_F(FairTest, PoolsBelowTheirMinimumComeFirstTheSmallestPartOfItBeforeOthers) {
  Settings settings;
  settings.Named<PoolSettings>()["b"].min_maps = 4;
  settings.Named<PoolSettings>()["c"].min_maps = 2;
  settings.Named<PoolSettings>()["c"].min_reduces = 1;
  EXPECT_PLAYS(&Make(settings), R"(
    0 NodeJoined node=n1 maps=8 reduces=2
    1 JobSubmitted job=job1 pool=a maps=1:;1:;1:;1:;1:;1:;1:;1: reduces=2 slow_start=0
    1 JobSubmitted job=job2 pool=b maps=1:;1:;1:;1:;1:;1:;1:;1: reduces=2 slow_start=0
    1 JobSubmitted job=job3 pool=c maps=1:;1:;1:;1:;1:;1:;1:;1: reduces=2 slow_start=0
    1 decide
    # 0/4 and 0/2, 1/4, 2/4 and 1/2, 3/4; then shares are 2, 4 and 2
    -> launch job2.m.0.0 n1 off
    -> launch job3.m.0.0 n1 off
    -> launch job2.m.1.0 n1 off
    -> launch job2.m.2.0 n1 off
    -> launch job3.m.1.0 n1 off
    -> launch job2.m.3.0 n1 off
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job3.r.0.0 n1
    -> launch job1.r.0.0 n1
  )");
}

TEST_F(FairTest, APoolTakesNoMoreThanItsMaximum) {
  Settings settings;
  settings.Named<PoolSettings>()["a"].max_maps = 2;
  settings.Named<PoolSettings>()["a"].max_reduces = 0;
  EXPECT_PLAYS(&Make(settings), R"(
    0 NodeJoined node=n1 maps=6 reduces=6
    1 JobSubmitted job=job1 pool=a maps=1:;1:;1: reduces=1 slow_start=0
    1 JobSubmitted job=job2 pool=b maps=1: reduces=1 slow_start=0
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job2.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job2.r.0.0 n1
  )");
  const PolicyView view = engine_->policy().View(engine_->state(), 1);
  ASSERT_EQ(view.waits.size(), 2U);
  EXPECT_EQ(view.waits[0].job, JobId{1});
  EXPECT_EQ(view.waits[0].slot, kMapSlot);
  EXPECT_EQ(InWords(view.waits[0], engine_->state(), 1), "pool a runs 2 of at most 2 maps");
  EXPECT_EQ(view.waits[1].slot, kReduceSlot);
  EXPECT_PLAYS(engine_.get(), R"(
    2 AttemptSucceeded attempt=job1.m.1.0
    -> ready job1.m.1.0 n1
    2 decide
    -> launch job1.m.2.0 n1 off
  )");
}

TEST_F(FairTest, NoMoreJobsRunThanMaxRunningJobsByPriorityThenSubmitOrder) {
  Settings settings;
  settings.Named<PoolSettings>()["a"].max_running_jobs = 1;
  EXPECT_PLAYS(&Make(settings), R"(
    0 NodeJoined node=n1 maps=9
    1 JobSubmitted job=job1 pool=a maps=1:
    1 JobSubmitted job=job2 pool=a maps=1:
    1 JobSubmitted job=job3 pool=a maps=1:
    1 JobSubmitted job=job4 pool=a maps=1:
    1 decide
    -> launch job1.m.0.0 n1 off
    # who runs goes on running
    2 JobPrioritySet job=job3 priority=HIGH
    2 AttemptLost attempt=job1.m.0.0
    2 decide
    -> launch job1.m.0.1 n1 off
    3 JobKilled job=job2
    -> ended job2 killed
    3 AttemptSucceeded attempt=job1.m.0.1
    -> ended job1 succeeded
    3 decide
    -> launch job3.m.0.0 n1 off
  )");
  const PolicyView view = engine_->policy().View(engine_->state(), 3);
  ASSERT_EQ(view.waits.size(), 1U);
  EXPECT_EQ(view.waits[0].job, JobId{4});
  EXPECT_EQ(InWords(view.waits[0], engine_->state(), 3), "pool a runs 1 of at most 1 job");
}

TEST_F(FairTest, JobsThatHaveBegunUnderAnotherSchedulerAreTheOnesThatRun) {
  Settings settings;
  settings.Named<PoolSettings>()["a"].max_running_jobs = 2;
  std::string why;
  Engine engine({}, MakePolicy("fifo", {}, &why));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=3
    1 JobSubmitted job=job1 pool=a maps=1:;1: priority=LOW
    1 JobSubmitted job=job2 pool=a maps=1:;1:
    1 JobSubmitted job=job3 pool=a maps=1:;1: priority=VERY_LOW
    1 JobSubmitted job=job4 pool=a maps=1:;1: priority=HIGH
    1 AttemptLaunched attempt=job3.m.0.0 node=n1
    1 AttemptLaunched attempt=job2.m.0.0 node=n1
  )");
  engine.SetPolicy(MakePolicy("fair", settings, &why));
  EXPECT_PLAYS(&engine, R"(
    2 decide
    -> launch job2.m.1.0 n1 off
    3 AttemptSucceeded attempt=job2.m.0.0
    3 AttemptSucceeded attempt=job2.m.1.0
    -> ended job2 succeeded
    3 decide
    -> launch job4.m.0.0 n1 off
    -> launch job4.m.1.0 n1 off
  )");
}

TEST_F(FairTest, AUserHasAPoolUnlessTheJobNamesOne) {
  EXPECT_PLAYS(&Make(), R"(
    0 NodeJoined node=n1 maps=4
    1 JobSubmitted job=job1 user=ann maps=1:;1:
    1 JobSubmitted job=job2 user=ann maps=1:;1:
    1 JobSubmitted job=job3 user=bob maps=1:;1:
    1 JobSubmitted job=job4 user=bob pool=ann maps=1:;1:
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job3.m.0.0 n1 off
    -> launch job2.m.0.0 n1 off
    -> launch job3.m.1.0 n1 off
  )");
}

TEST_F(FairTest, PrioritiesAreWeightsInThePool) {
  // Shares of 1, 2 and 4; then weights of 4, 2 and 0.25.
  EXPECT_PLAYS(&Make(), R"(
    0 NodeJoined node=n1 maps=7
    1 JobSubmitted job=job1 user=u priority=NORMAL maps=1:;1:;1:;1:;1:;1:;1:
    1 JobSubmitted job=job2 user=u priority=HIGH maps=1:;1:;1:;1:;1:;1:;1:
    1 JobSubmitted job=job3 user=u priority=VERY_HIGH maps=1:;1:;1:;1:;1:;1:;1:
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job2.m.0.0 n1 off
    -> launch job3.m.0.0 n1 off
    -> launch job3.m.1.0 n1 off
    -> launch job2.m.1.0 n1 off
    -> launch job3.m.2.0 n1 off
    -> launch job3.m.3.0 n1 off
    2 JobPrioritySet job=job1 priority=VERY_HIGH
    2 JobPrioritySet job=job3 priority=VERY_LOW
    2 AttemptLost attempt=job3.m.3.0
    2 AttemptLost attempt=job3.m.2.0
    2 AttemptLost attempt=job2.m.1.0
    2 decide
    -> launch job1.m.1.0 n1 off
    -> launch job1.m.2.0 n1 off
    -> launch job2.m.1.1 n1 off
  )");
}

TEST_F(FairTest, PoolOrderFifo) {
  Settings settings;
  settings.Named<PoolSettings>()["u"].order = PoolOrder::kFifo;
  EXPECT_PLAYS(&Make(settings), R"(
    0 NodeJoined node=n1 maps=4
    1 JobSubmitted job=job2 user=u maps=1:;1:
    1 JobSubmitted job=job1 user=u maps=1:;1:
    1 JobSubmitted job=job3 user=u maps=1: priority=HIGH
    1 decide
    -> launch job3.m.0.0 n1 off
    -> launch job2.m.0.0 n1 off
    -> launch job2.m.1.0 n1 off
    -> launch job1.m.0.0 n1 off
  )");
}

// What is pending x the time of a map: 3 x 20, 2 x 25, and 4 x 10 for the one that is unknown (10 s is the guess while
// nothing has run at all).
TEST_F(FairTest, PoolOrderSjf) {
  Settings settings;
  settings.Of<FairSettings>().order = PoolOrder::kSjf;
  EXPECT_PLAYS(&Make(settings), R"(
    0 NodeJoined node=n1 maps=1
    1 JobSubmitted job=job1 user=u maps=1:;1:;1: map_time=20000000
    1 JobSubmitted job=job2 user=u maps=1:;1: map_time=25000000
    1 JobSubmitted job=job3 user=u maps=1:;1:;1:;1:
    1 decide
    -> launch job3.m.0.0 n1 off
    # it took 30 s: 3 x 30 s are left
    30000001 AttemptSucceeded attempt=job3.m.0.0
    30000001 decide
    -> launch job2.m.0.0 n1 off
    31000001 AttemptSucceeded attempt=job2.m.0.0
    31000001 decide
    -> launch job2.m.1.0 n1 off
    32000001 AttemptSucceeded attempt=job2.m.1.0
    -> ended job2 succeeded
    32000001 decide
    -> launch job1.m.0.0 n1 off
  )");
}

// Small: at most two maps. They and the large ones get a slot in turn, weights being equal.
TEST_F(FairTest, PoolOrderMlq) {
  Settings settings;
  settings.Of<FairSettings>().order = PoolOrder::kMlq;
  settings.Of<MlqSettings>().small_job_maps = 2;
  EXPECT_PLAYS(&Make(settings), R"(
    0 NodeJoined node=n1 maps=5
    1 JobSubmitted job=job1 user=u maps=1:;1:;1:
    1 JobSubmitted job=job2 user=u maps=1:;1:;1:
    1 JobSubmitted job=job3 user=u maps=1:;1:
    1 JobSubmitted job=job4 user=u maps=1:
    1 decide
    -> launch job3.m.0.0 n1 off
    -> launch job1.m.0.0 n1 off
    -> launch job3.m.1.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job4.m.0.0 n1 off
  )");
}

TEST_F(FairTest, ShowsSharesMinimaDemandsAndWhatRuns) {
  Settings settings;
  settings.Named<PoolSettings>()["ads"].min_maps = 50;
  settings.Named<PoolSettings>()["ads"].weight = 2;
  settings.Named<PoolSettings>()["idle"].min_reduces = 7;
  Make(settings);
  EXPECT_PLAYS(engine_.get(), R"(
    0 NodeJoined node=n1 maps=6 reduces=2
    1 JobSubmitted job=job1 pool=ads maps=1:;1:
    1 JobSubmitted job=job2 user=bob maps=1:;1:;1:;1:;1:;1:;1: reduces=1
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job2.m.0.0 n1 off
    -> launch job2.m.1.0 n1 off
    -> launch job2.m.2.0 n1 off
    -> launch job2.m.3.0 n1 off
  )");
  const PolicyView view = engine_->policy().View(engine_->state(), 1);
  ASSERT_EQ(view.groups.size(), 3U);
  const GroupView &ads = view.groups[0], &bob = view.groups[1], &idle = view.groups[2];
  EXPECT_EQ(ads.name, "ads");
  EXPECT_EQ(ads.weight, 2);
  EXPECT_EQ(ads.jobs.size(), 1U);
  EXPECT_EQ(ads.slots[TaskKind::kMap].minimum, 50U);
  EXPECT_EQ(ads.slots[TaskKind::kMap].demand, 2U);
  EXPECT_EQ(ads.slots[TaskKind::kMap].running, 2U);
  EXPECT_DOUBLE_EQ(ads.slots[TaskKind::kMap].share, 2);
  EXPECT_EQ(bob.name, "bob");
  EXPECT_EQ(bob.slots[TaskKind::kMap].demand, 7U);
  EXPECT_EQ(bob.slots[TaskKind::kMap].running, 4U);
  EXPECT_DOUBLE_EQ(bob.slots[TaskKind::kMap].share, 4);
  EXPECT_EQ(bob.slots[TaskKind::kReduce].demand, 0U);  // slow start
  EXPECT_EQ(idle.name, "idle");
  EXPECT_EQ(idle.jobs.size(), 0U);
  EXPECT_EQ(idle.slots[TaskKind::kReduce].minimum, 7U);
}

}  // namespace
}  // namespace millrace::sched
