// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/fresh/fresh_static.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "schedulers/core/engine.h"
#include "schedulers/core/policy_view.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "schedulers/policies/fresh/fresh_settings.h"
#include "tests/schedulers/history.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

std::unique_ptr<Policy> Fresh(std::uint32_t k) {
  Settings settings;
  settings.Of<FreshSettings>().k = k;
  std::string why;
  return MakePolicy("fresh-static", settings, &why);
}

NodeLimits LimitsOf(const Engine& engine, std::uint32_t node) { return engine.state().FindNode(NodeId{node})->limits; }

// 12 slot-us of maps, then 12 of reduces, on 6 slots: 12/s + 12/(6-s) is least at 3. The nodes have 4 and 2 slots, so
// they get 2 + 1 map slots, though they declare 4 + 2.
TEST(FreshStaticTest, TheSplitIsThatOfTheBatchAndSpreadOverTheNodes) {
  Engine engine({}, Fresh(0));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=4
    0 NodeJoined node=n2 maps=2
    1 JobSubmitted job=job1 maps=1:;1:;1:;1: reduces=6 map_time=3 reduce_time=2
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n2 off
    -> launch job1.m.2.0 n1 off
  )");
  EXPECT_EQ(LimitsOf(engine, 1), (NodeLimits{2, 2, 4}));
  EXPECT_EQ(LimitsOf(engine, 2), (NodeLimits{1, 1, 2}));
}

// job1 has 12 slot-us of maps to go, job2 48: they share, so job1 ends its maps when 24 are done, and the makespan
// max(24/s + 12/(6-s), 60/s) is least at 4: max(12, 15) = 15; 3 takes 20, 5 takes 16.8. So one more map runs.
TEST(FreshStaticTest, ANewJobChangesTheSplitAndRunningTasksEndFirst) {
  Engine engine({}, Fresh(0));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=3 reduces=3
    1 JobSubmitted job=job1 maps=1:;1:;1:;1: reduces=6 map_time=3 reduce_time=2
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job1.m.2.0 n1 off
    2 JobSubmitted job=job2 maps=1:;1:;1:;1: map_time=12
    2 decide
    -> launch job2.m.0.0 n1 off
    3 JobKilled job=job2 reason=x
    -> kill job2.m.0.0 n1: x
    -> ended job2 killed: x
    3 decide
    4 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n1
    4 decide
    -> launch job1.m.3.0 n1 off
  )");
  EXPECT_EQ(LimitsOf(engine, 1), (NodeLimits{3, 3, 6}));
}

TEST(FreshStaticTest, AllSlotsAreMapSlotsWhileNobodyReduces) {
  Engine engine({}, Fresh(0));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1 reduces=2
    1 JobSubmitted job=job1 maps=1:;1:;1:
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job1.m.2.0 n1 off
    2 JobSubmitted job=job2 maps=1: reduces=1
    2 decide
  )");
  EXPECT_GT(LimitsOf(engine, 1).reduces, 0U);
}

TEST(FreshStaticTest, OneSlotServesBothKinds) {
  Engine engine({}, Fresh(0));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1
    1 JobSubmitted job=job1 maps=1: reduces=1
    1 decide
    -> launch job1.m.0.0 n1 off
    2 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n1
    2 decide
    -> launch job1.r.0.0 n1
  )");
}

TEST(FreshStaticTest, AtMostKJobsInAPhaseAndFairAmongThem) {
  Engine engine({}, Fresh(2));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=4
    1 JobSubmitted job=job1 user=a maps=1:;1:;1:
    1 JobSubmitted job=job2 user=b maps=1:;1:;1:
    1 JobSubmitted job=job3 user=c maps=1:;1:
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job2.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job2.m.1.0 n1 off
    2 AttemptSucceeded attempt=job1.m.0.0
    2 AttemptSucceeded attempt=job1.m.1.0
    2 decide
    -> launch job1.m.2.0 n1 off
    -> launch job2.m.2.0 n1 off
    3 AttemptSucceeded attempt=job1.m.2.0
    -> ended job1 succeeded
    3 decide
    -> launch job3.m.0.0 n1 off
  )");
  const PolicyView view = engine.policy().View(engine.state(), 3);
  EXPECT_EQ(view.facts.back(), Fact::Number("fresh.k", 2));
}

// n5 has the one map slot of 5 and is refused to job1 after three failures: the slot moves to the node beside it.
TEST(FreshStaticTest, TheSlotsOfAKindMoveWhereAJobMayRun) {
  Engine engine({}, Fresh(0));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1
    0 NodeJoined node=n2 maps=1
    0 NodeJoined node=n3 maps=1
    0 NodeJoined node=n4 maps=1
    0 NodeJoined node=n5 maps=1
    1 JobSubmitted job=job1 maps=1: reduces=100 max_attempts=9 map_time=1 reduce_time=1
    1 decide
    -> launch job1.m.0.0 n5 off
    2 AttemptFailed attempt=job1.m.0.0 reason=x
    2 AttemptLaunched attempt=job1.m.0.1 node=n5
    2 AttemptFailed attempt=job1.m.0.1 reason=x
    2 AttemptLaunched attempt=job1.m.0.2 node=n5
    2 AttemptFailed attempt=job1.m.0.2 reason=x
    -> blame n5 by job1 until 600000002
    2000002 decide
    -> launch job1.m.0.3 n4 off
  )");
}

// docs/schedulers/policies.md#fresh: 4 map and 4 reduce slots, unit tasks, all maps before reduces.
TEST(FreshStaticTest, TheWorkedExampleUnderFairSharing) {
  Settings settings;
  std::string why;
  Engine engine({}, MakePolicy("fair", settings, &why));
  Effects effects;
  ASSERT_TRUE(engine.Apply(0, NodeJoined{NodeId{1}, "r", "d", {4, 4}}, &effects));
  const std::uint32_t tasks[][2] = {{2, 9}, {3, 4}, {7, 3}};
  for (std::uint32_t job = 0; job < 3; ++job) {
    JobSpec spec;
    spec.user = "batch";
    spec.maps.resize(tasks[job][0]);
    spec.reduces = tasks[job][1];
    spec.slow_start = 1;
    ASSERT_TRUE(engine.Apply(0, JobSubmitted{JobId{job + 1}, spec}, &effects));
  }
  std::vector<std::map<std::string, int>> steps;
  while (!engine.state().LiveJobs().empty()) {
    effects.clear();
    engine.Decide(static_cast<Micros>(steps.size()), &effects);
    steps.emplace_back();
    std::vector<AttemptId> launched;
    for (const Effect& effect : effects) {
      const TaskId task = std::get<Launch>(effect).attempt.task;
      launched.push_back(std::get<Launch>(effect).attempt);
      ++steps.back()["J" + std::to_string(task.job.value) + (task.kind == TaskKind::kMap ? "M" : "R")];
    }
    ASSERT_FALSE(launched.empty());
    for (const AttemptId& attempt : launched)
      ASSERT_TRUE(engine.Apply(static_cast<Micros>(steps.size()), AttemptSucceeded{attempt}, &effects));
  }
  // The table has J1 with 1 and J3 with 2 reduces in step 4 and the reverse in step 5: all three stand equal there, and
  // `fair` gives the slot that does not divide to the first of equals.
  const std::vector<std::map<std::string, int>> expected = {{{"J1M", 2}, {"J2M", 1}, {"J3M", 1}},
                                                            {{"J1R", 4}, {"J2M", 2}, {"J3M", 2}},
                                                            {{"J1R", 2}, {"J2R", 2}, {"J3M", 4}},
                                                            {{"J1R", 2}, {"J2R", 1}, {"J3R", 1}},
                                                            {{"J1R", 1}, {"J2R", 1}, {"J3R", 2}}};
  EXPECT_EQ(steps, expected);
}

TEST(FreshStaticTest, AnyHistoryKeepsToKAndTheSplitsOfTheNodesSumUp) {
  const unsigned base = std::random_device()();
  for (unsigned round = 0; round < 60; ++round) {
    SCOPED_TRACE("seed " + std::to_string(base + round));
    HistoryOptions options{"fresh-static", {}, false};
    const std::uint32_t k = options.settings.Of<FreshSettings>().k = round % 4;
    if (round % 3 == 0) options.settings.Of<FreshSettings>().order = FreshSettings::Order::kJohnson;
    History history(base + round, options);
    const auto& policy = dynamic_cast<const FreshStatic&>(history.engine().policy());
    const ClusterState& state = history.engine().state();
    for (int step = 0; step < 300 && !HasFailure(); ++step) {
      const std::size_t before = history.records().size();
      history.Step();
      if (history.records().size() <= before + 1) continue;  // without a call of Decide
      ASSERT_TRUE(k == 0 || policy.admission().Count(PhaseAdmission::Phase::kMap) <= k);
      ASSERT_TRUE(k == 0 || policy.admission().Count(PhaseAdmission::Phase::kReduce) <= k);
      if (policy.map_slots() == 0) continue;
      ASSERT_EQ(state.Capacity(TaskKind::kMap), policy.map_slots());
      ASSERT_EQ(state.Capacity(TaskKind::kMap) + state.Capacity(TaskKind::kReduce), state.TotalCapacity());
    }
    history.FinishAll();
    ASSERT_FALSE(HasFailure());
  }
}

// All map slots lie on n1, which is lost with the outputs; n2 is full of reduces that copy them.
TEST(FreshStaticTest, LostMapsRunAgainBesideTheReducesThatWaitForThem) {
  Engine engine({}, Fresh(0));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1 reduces=1
    0 NodeJoined node=n2 maps=2 reduces=2
    1 JobSubmitted job=job1 maps=1: reduces=9 map_time=1 reduce_time=9
    1 decide
    -> launch job1.m.0.0 n2 off
    2 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n2
    2 decide
    -> launch job1.r.0.0 n1
    -> launch job1.r.1.0 n2
    -> launch job1.r.2.0 n1
    -> launch job1.r.3.0 n2
    -> launch job1.r.4.0 n2
    3 NodeLost node=n2
    -> gone job1.m.0.0 n2
    3 decide
    -> launch job1.m.0.1 n1 off
  )");
}

// One slot serves both kinds. The reduce in it waits for a map whose output was lost.
TEST(FreshStaticTest, InAnOnlySlotAReduceGivesWayToTheMapThatItWaitsFor) {
  Engine engine({}, Fresh(0));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1
    1 JobSubmitted job=job1 maps=1: reduces=1
    1 decide
    -> launch job1.m.0.0 n1 off
    2 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n1
    2 decide
    -> launch job1.r.0.0 n1
    3 AttemptLost attempt=job1.m.0.0
    -> gone job1.m.0.0 n1
    3 decide
    -> preempt job1.r.0.0 n1: a map that the reduces wait for needs a slot
    -> launch job1.m.0.1 n1 off
  )");
}

// The only map slot goes to n1 at first, which is full.
TEST(FreshStaticTest, MapSlotsGoWhereThereIsRoomForOutputs) {
  Engine engine({}, Fresh(0));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1 reduces=1
    0 NodeJoined node=n2 maps=1 reduces=1
    0 NodeSpace node=n1 free_bytes=1000
    0 NodeSpace node=n2 free_bytes=5
    1 JobSubmitted job=job1 maps=10: reduces=9 map_time=1 reduce_time=9 profile_runs=1 profile_ratio=1
    1 decide
    -> launch job1.m.0.0 n1 off
  )");
}

std::unique_ptr<Policy> WithPools(std::uint32_t k) {
  Settings settings;
  settings.Of<FreshSettings>().k = k;
  settings.Named<PoolSettings>()["p"].max_running_jobs = 1;
  settings.Named<PoolSettings>()["closed"].max_maps = 0;
  std::string why;
  return MakePolicy("fresh-static", settings, &why);
}

// job2 has no maps and would enter R at once, where it would wait for its pool, which waits for job1, which would wait
// for R.
TEST(FreshStaticTest, AJobThatItsPoolDoesNotLetRunHoldsNoPlaceOfK) {
  Engine engine({}, WithPools(1));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=2 reduces=2
    1 JobSubmitted job=job1 pool=p maps=1: reduces=1
    1 decide
    -> launch job1.m.0.0 n1 off
    2 JobSubmitted job=job2 pool=p maps= reduces=1
    2 decide
  )");
  const PolicyView view = engine.View(2);
  const auto wait =
      std::find_if(view.waits.begin(), view.waits.end(), [](const WaitView& one) { return one.job == JobId{2}; });
  ASSERT_NE(wait, view.waits.end());
  EXPECT_EQ(InWords(*wait, engine.state(), 2), "pool p runs 1 of at most 1 job");
  EXPECT_PLAYS(&engine, R"(
    3 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n1
    3 decide
    -> launch job1.r.0.0 n1
    4 AttemptSucceeded attempt=job1.r.0.0
    -> ended job1 succeeded
    4 decide
    -> launch job2.r.0.0 n1
  )");
}

// M is full with job2 when pool p has room for job3, which goes past M.
TEST(FreshStaticTest, AJobWithoutMapsTakesItsPlaceInThePoolWhileMIsFull) {
  Engine engine({}, WithPools(1));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=2 reduces=2
    1 JobSubmitted job=job1 pool=p maps= reduces=1
    1 JobSubmitted job=job2 pool=q maps=1: reduces=1
    1 JobSubmitted job=job3 pool=p maps= reduces=1
    1 decide
    -> launch job2.m.0.0 n1 off
    -> launch job1.r.0.0 n1
    2 AttemptSucceeded attempt=job1.r.0.0
    -> ended job1 succeeded
    2 decide
    -> launch job3.r.0.0 n1
  )");
}

// Both are in pool p, which lets one job run. job2 has begun under another policy, so it is the one, though job1 was
// submitted first and could go to R at once.
TEST(FreshStaticTest, WhatHasBegunKeepsItsPlaceInThePool) {
  std::string why;
  Engine engine({}, MakePolicy("fifo", {}, &why));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=2 reduces=2
    1 JobSubmitted job=job1 pool=p maps= reduces=1
    1 JobSubmitted job=job2 pool=p maps=1: reduces=1
    2 AttemptLaunched attempt=job2.m.0.0 node=n1
  )");
  engine.SetPolicy(WithPools(1));
  EXPECT_PLAYS(&engine, R"(
    3 decide
    4 AttemptSucceeded attempt=job2.m.0.0
    -> ready job2.m.0.0 n1
    4 decide
    -> launch job2.r.0.0 n1
    5 AttemptSucceeded attempt=job2.r.0.0
    -> ended job2 succeeded
    5 decide
    -> launch job1.r.0.0 n1
  )");
}

// job2 waits for its pool, so job3 enters M in its place; job4 may never run, and keeps nobody.
TEST(FreshStaticTest, OthersPassAJobThatItsPoolHoldsBack) {
  Engine engine({}, WithPools(1));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=2 reduces=2
    1 JobSubmitted job=job1 pool=p maps=1: reduces=1
    1 JobSubmitted job=job4 pool=closed maps=1: priority=VERY_HIGH
    1 JobSubmitted job=job2 pool=p maps=1:
    1 JobSubmitted job=job3 pool=q maps=1:
    1 decide
    -> launch job1.m.0.0 n1 off
    2 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n1
    2 decide
    -> launch job3.m.0.0 n1 off
    -> launch job1.r.0.0 n1
    3 AttemptSucceeded attempt=job3.m.0.0
    -> ended job3 succeeded
    3 decide
    4 AttemptSucceeded attempt=job1.r.0.0
    -> ended job1 succeeded
    4 decide
    -> launch job2.m.0.0 n1 off
  )");
}

}  // namespace
}  // namespace millrace::sched
