// SPDX-License-Identifier: Apache-2.0
// What would help a job, against small cases worked out by hand.
#include "schedulers/forecast/what_if.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "schedulers/policies/catalog.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

std::unique_ptr<Policy> PolicyOf(const std::string& scheduler, const Settings& settings = {}) {
  std::string why;
  auto policy = MakePolicy(scheduler, settings, &why);
  EXPECT_NE(policy, nullptr) << why;
  return policy;
}

std::unique_ptr<Engine> EngineUnder(const std::string& scheduler, const Settings& settings = {}) {
  return std::make_unique<Engine>(EngineOptions{}, PolicyOf(scheduler, settings));
}

template <class... Changes>
WhatIf Try(const Engine& engine, Micros now, std::uint32_t job, Changes... changes) {
  std::vector<Change> all;
  (all.push_back(std::move(changes)), ...);
  return TryChanges(engine, now, JobId{job}, TaskTimes(), std::move(all), {});
}

Change ToPriority(Priority priority) { return {.kind = ChangeKind::kPriority, .priority = priority}; }
Change ToPool(const std::string& pool) { return {.kind = ChangeKind::kPool, .name = pool}; }
Change OneNode() { return {.kind = ChangeKind::kNode}; }
Change Under(const std::string& scheduler) {
  return {.kind = ChangeKind::kScheduler, .name = scheduler, .policy = PolicyOf(scheduler)};
}

using Laters = std::vector<Later>;

std::vector<JobId> Ahead(const WhatIf& what) {
  std::vector<JobId> jobs;
  for (const PlayedJob& job : what.ahead) jobs.push_back(job.job);
  return jobs;
}

// Two nodes of one map slot. job1 has six maps of 10 s, and job2 two of 4 s. By fifo, job1 runs in waves until 30 s,
// then both maps of job2 until 34 s.
std::unique_ptr<Engine> TwoJobs(const std::string& scheduler) {
  auto engine = EngineUnder(scheduler);
  Play(engine.get(), R"(
    0 NodeJoined node=n1 maps=1
    0 NodeJoined node=n2 maps=1
    0 JobSubmitted job=job1 pool=one maps=1:;1:;1:;1:;1:;1: map_time=10000000
    0 JobSubmitted job=job2 pool=two maps=1:;1: map_time=4000000
    0 decide
  )");
  return engine;
}

TEST(WhatIf, APriorityLetsItGoFirst) {
  const auto engine = TwoJobs("fifo");
  const WhatIf what = Try(*engine, 0, 2, ToPriority(Priority::kHigh), ToPriority(Priority::kVeryHigh));
  EXPECT_EQ(what.job.start, 30 * kSecond);
  EXPECT_EQ(what.job.end, 34 * kSecond);
  ASSERT_EQ(Ahead(what), std::vector{JobId{1}});
  EXPECT_EQ(what.ahead[0].end, 30 * kSecond);
  ASSERT_EQ(what.tried.size(), 2U);
  for (const Tried& tried : what.tried) {
    // The two running maps go on until 10 s, both maps of job2 follow, and job1 goes on 4 s later.
    EXPECT_EQ(tried.untried, "");
    EXPECT_EQ(tried.job.start, 10 * kSecond);
    EXPECT_EQ(tried.job.end, 14 * kSecond);
    EXPECT_EQ(tried.later, (Laters{{JobId{1}, 4 * kSecond}}));
    EXPECT_EQ(tried.unknown, 0U);
  }
}

TEST(WhatIf, ALowerPriorityMakesItNoWorseThanLast) {
  const auto engine = TwoJobs("fifo");
  const WhatIf what = Try(*engine, 0, 2, ToPriority(Priority::kVeryLow));
  EXPECT_EQ(what.tried.at(0).job.end, 34 * kSecond);
  EXPECT_TRUE(what.tried.at(0).later.empty());
}

TEST(WhatIf, AnotherNodeHelpsAll) {
  const auto engine = TwoJobs("fifo");
  const WhatIf what = Try(*engine, 0, 2, OneNode());
  // With three slots, job1 takes two waves until 20 s, and job2 has a wave of its own.
  const Tried& tried = what.tried.at(0);
  EXPECT_EQ(tried.slots, (Slots{1, 0}));
  EXPECT_EQ(tried.job.start, 20 * kSecond);
  EXPECT_EQ(tried.job.end, 24 * kSecond);
  EXPECT_TRUE(tried.later.empty());
}

TEST(WhatIf, AnotherSchedulerShares) {
  const auto engine = TwoJobs("fifo");
  const WhatIf what = Try(*engine, 0, 2, Under("fair"));
  // The running maps end at 10 s. Each pool gets a slot of the two: job2 runs its maps one after the other, from 10 and
  // 14 s. job1 has maps on the other slot from 10 and 20 s, and on the slot of job2 from 18 and 28 s. So its last one
  // ends at 38 s, not at 30 s.
  const Tried& tried = what.tried.at(0);
  EXPECT_EQ(tried.job.start, 10 * kSecond);
  EXPECT_EQ(tried.job.end, 18 * kSecond);
  EXPECT_EQ(tried.later, (Laters{{JobId{1}, 8 * kSecond}}));
}

TEST(WhatIf, AnotherPoolHasAShareOfItsOwn) {
  const auto engine = EngineUnder("fair");
  Play(engine.get(), R"(
    0 NodeJoined node=n1 maps=1
    0 NodeJoined node=n2 maps=1
    0 JobSubmitted job=job1 pool=one maps=1:;1:;1:;1:;1:;1:;1:;1: map_time=10000000
    0 decide
    0 JobSubmitted job=job2 pool=one maps=1: map_time=10000000
    0 JobSubmitted job=job3 pool=one maps=1: map_time=10000000
  )");
  // At 10 s both slots are free and no job runs: the pool serves job1, then job2, and job3 has to wait until 20 s. In a
  // pool of its own it gets the second slot at 10 s, so that job2 waits instead.
  const WhatIf what = Try(*engine, 0, 3, ToPool("two"));
  EXPECT_EQ(what.job.start, 20 * kSecond);
  EXPECT_EQ(Ahead(what), (std::vector{JobId{1}, JobId{2}}));
  EXPECT_EQ(what.tried.at(0).job.start, 10 * kSecond);
  EXPECT_EQ(what.tried.at(0).job.end, 20 * kSecond);
  EXPECT_EQ(what.tried.at(0).later, (Laters{{JobId{2}, 10 * kSecond}}));
}

TEST(WhatIf, APoolIsChosenAtTheSubmission) {
  Settings settings;
  settings.Named<PoolSettings>()["closed"].max_maps = 0;
  const auto engine = EngineUnder("fair", settings);
  Play(engine.get(), R"(
    0 NodeJoined node=n1 maps=1
    0 NodeJoined node=n2 maps=1
    0 JobSubmitted job=job1 pool=open maps=1: map_time=10000000
    0 decide
    0 JobSubmitted job=job2 pool=closed maps=1: map_time=10000000
    0 decide
  )");
  const WhatIf what = Try(*engine, kSecond, 2, ToPool("open"), ToPriority(Priority::kHigh));
  EXPECT_EQ(what.job.start, std::nullopt);
  EXPECT_EQ(what.job.why_no_start, Unforeseen::kStandsStill);
  EXPECT_EQ(what.tried.at(0).job.start, kSecond) << "a slot is free";
  EXPECT_EQ(what.tried.at(0).job.end, 11 * kSecond);
  EXPECT_EQ(what.tried.at(1).job.start, std::nullopt) << "a priority does not open the pool";
  EXPECT_EQ(Try(*engine, kSecond, 1, ToPool("closed")).tried.at(0).untried,
            "it runs already, and a job stays in its pool");
}

TEST(WhatIf, CountsTheJobsOfWhichNothingIsKnown) {
  const auto engine = TwoJobs("fifo");
  Play(engine.get(), R"(
    0 JobSubmitted job=job3 pool=two maps=1:
    10000000 AttemptSucceeded attempt=job1.m.0.0
    10000000 decide
  )");
  const WhatIf what = Try(*engine, 10 * kSecond, 2, ToPriority(Priority::kHigh));
  EXPECT_EQ(what.tried.at(0).unknown, 1U);
}

TEST(WhatIf, LeavesOutWhatCannotBeTriedInTime) {
  const auto engine = TwoJobs("fifo");
  std::vector<Change> changes;
  changes.push_back({.kind = ChangeKind::kScheduler, .name = "none", .untried = "there is no such scheduler"});
  changes.push_back(OneNode());
  PlayBounds bounds;
  bounds.stop = [] { return true; };
  const WhatIf late = TryChanges(*engine, 0, JobId{2}, TaskTimes(), std::move(changes), bounds);
  for (const Tried& tried : late.tried) EXPECT_EQ(tried.untried, "no time was left to try it");
  Change none{.kind = ChangeKind::kScheduler, .name = "none", .untried = "there is no such scheduler"};
  EXPECT_EQ(Try(*engine, 0, 2, std::move(none)).tried.at(0).untried, "there is no such scheduler");
}

}  // namespace
}  // namespace millrace::sched
