// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/fair/single_pool.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "schedulers/core/engine.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

std::unique_ptr<Policy> Make(const std::string& scheduler, const Settings& settings = {}) {
  std::string why;
  return MakePolicy(scheduler, settings, &why);
}

TEST(Sjf, TheLeastRemainingWorkFirst) {
  Engine engine({}, Make("sjf"));
  EXPECT_PLAYS(&engine, R"(
    # 3 x 2 s, 2 x 5 s, 1 x 7 s
    0 JobSubmitted job=job1 maps=1:;1: map_time=5000000
    0 JobSubmitted job=job2 maps=1:;1:;1: map_time=2000000
    0 JobSubmitted job=job3 maps=1: map_time=7000000
    0 NodeJoined node=n1 maps=6
    0 decide
    -> launch job2.m.0.0 n1 off
    -> launch job2.m.1.0 n1 off
    -> launch job2.m.2.0 n1 off
    -> launch job3.m.0.0 n1 off
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
  )");
}

TEST(Sjf, WhatFinishedTasksShowGoesBeforeWhatWasSaid) {
  Engine engine({}, Make("sjf"));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1
    0 JobSubmitted job=job1 maps=1:;1: map_time=1000000
    0 JobSubmitted job=job2 maps=1: profile_runs=1 profile_map_time=3000000
    0 decide
    -> launch job1.m.0.0 n1 off
    4000000 AttemptSucceeded attempt=job1.m.0.0
    4000000 decide
    -> launch job2.m.0.0 n1 off
  )");
}

TEST(Sjf, MoreTasksAreMoreWorkAlsoWhereTasksTookNoTime) {
  Engine engine({}, Make("sjf+delay"));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1
    0 JobSubmitted job=job1 maps=1:n1;1:n1
    0 JobSubmitted job=job2 maps=1:n1
    0 JobSubmitted job=job3 maps=1:n1
    0 decide
    -> launch job2.m.0.0 n1 node
    0 AttemptSucceeded attempt=job2.m.0.0
    -> ended job2 succeeded
    0 decide
    -> launch job3.m.0.0 n1 node
  )");
}

TEST(Sjf, OfJobsOfWhichNothingIsKnownTheOneWithTheFewestTasks) {
  Engine engine({}, Make("sjf"));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1
    0 JobSubmitted job=job1 maps=1:;1:
    0 JobSubmitted job=job2 maps=1:
    0 decide
    -> launch job2.m.0.0 n1 off
    # The cluster's mean is 3 s now: 2 x 3 s are more than 1 x 5 s.
    3000000 AttemptSucceeded attempt=job2.m.0.0
    -> ended job2 succeeded
    3000000 JobSubmitted job=job3 maps=1: map_time=5000000
    3000000 decide
    -> launch job3.m.0.0 n1 off
  )");
}

TEST(Mlq, SmallAndLargeJobsShareByWeight) {
  Settings settings;
  settings.Of<MlqSettings>().small_job_maps = 2;
  settings.Of<MlqSettings>().small_weight = 2;
  Engine engine({}, Make("mlq", settings));
  EXPECT_PLAYS(&engine, R"(
    0 JobSubmitted job=job1 maps=1:;1:;1:
    0 JobSubmitted job=job2 maps=1:;1:;1:
    0 JobSubmitted job=job3 maps=1:;1:
    0 JobSubmitted job=job4 maps=1:;1:
    0 JobSubmitted job=job5 maps=1:;1:
    0 NodeJoined node=n1 maps=6
  )");
  Effects effects;
  engine.Decide(0, &effects);
  // Two thirds of six slots to the small jobs, each queue in submit order.
  EXPECT_EQ(engine.Progress({1})->maps_running, 2U);
  EXPECT_EQ(engine.Progress({2})->maps_running, 0U);
  EXPECT_EQ(engine.Progress({3})->maps_running, 2U);
  EXPECT_EQ(engine.Progress({4})->maps_running, 2U);
  EXPECT_EQ(engine.Progress({5})->maps_running, 0U);
  const PolicyView view = engine.policy().View(engine.state(), 0);
  ASSERT_EQ(view.groups.size(), 2U);
  EXPECT_EQ(view.groups[1].name, "small");
  EXPECT_EQ(view.groups[1].slots[TaskKind::kMap].running, 4U);
  EXPECT_EQ(view.groups[1].slots[TaskKind::kMap].share, 4);
}

TEST(Mlq, OneQueueUsesWhatTheOtherLeaves) {
  Settings settings;
  settings.Of<MlqSettings>().small_job_maps = 1;
  Engine engine({}, Make("mlq", settings));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=3
    0 JobSubmitted job=job1 maps=1:;1:;1:
    0 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job1.m.2.0 n1 off
  )");
}

// A queue's share is what the order goes by: as far as it has demand.
TEST(Mlq, AQueueWithoutJobsHasNoShare) {
  Engine engine({}, Make("mlq"));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=8
    0 JobSubmitted job=job1 maps=1:;1:;1:
  )");
  const PolicyView view = engine.policy().View(engine.state(), 0);
  ASSERT_EQ(view.groups.size(), 2U);
  EXPECT_EQ(view.groups[0].slots[TaskKind::kMap].share, 0);  // large
  EXPECT_EQ(view.groups[1].slots[TaskKind::kMap].share, 3);  // small
}

}  // namespace
}  // namespace millrace::sched
