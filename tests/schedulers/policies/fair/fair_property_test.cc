// SPDX-License-Identifier: Apache-2.0
// `fair` and `fair+preempt` over random workloads: what has to hold whatever comes.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "schedulers/core/policy.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "tests/schedulers/policies/fair/small_cluster.h"

namespace millrace::sched {
namespace {

constexpr Micros kMinPatience = 20 * kSecond, kFairPatience = 45 * kSecond;

struct Submission {
  Micros at = 0;
  JobId job;
  JobSpec spec;
  Work work;
};

struct Workload {
  Settings settings;
  std::vector<Slots> nodes;
  std::vector<Submission> jobs;
};

Workload RandomWorkload(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  Workload load;
  load.settings.Of<FairSettings>().min_share_timeout = kMinPatience;
  load.settings.Of<FairSettings>().fair_share_timeout = kFairPatience;
  for (std::uint32_t pool = 0; pool < 4; ++pool) {
    PoolSettings& settings = load.settings.Named<PoolSettings>()["pool" + std::to_string(pool)];
    settings.weight = 0.5 * (1 + below(6));
    if (below(2) == 0) settings.min_maps = below(10);
    if (below(2) == 0) settings.min_reduces = below(6);
    if (below(4) == 0) settings.max_maps = 1 + below(10);
    if (below(4) == 0) settings.max_running_jobs = 1 + below(3);
    settings.order = static_cast<PoolOrder>(below(4));
  }
  load.settings.Of<MlqSettings>().small_job_maps = 10;
  for (std::uint32_t node = 0; node < 4 + below(8); ++node) load.nodes.push_back({1 + below(4), below(3)});
  load.nodes.push_back({1, 1});
  for (std::uint32_t job = 1; job <= 25; ++job) {
    const auto nodes = static_cast<std::uint32_t>(load.nodes.size());
    Submission submission{below(300) * kSecond,
                          JobId{job},
                          RandomJob(&random, 1 + below(40), nodes, 2),
                          {(1 + below(80)) * kSecond, (1 + below(80)) * kSecond, 0.3}};
    submission.spec.user = "pool" + std::to_string(below(5));
    submission.spec.reduces = below(12);
    submission.spec.slow_start = 1;  // the little cluster does not make reduces wait for maps
    submission.spec.priority = static_cast<Priority>(below(5));
    load.jobs.push_back(std::move(submission));
  }
  return load;
}

std::unique_ptr<SmallCluster> Start(const std::string& scheduler, const Workload& load) {
  auto cluster = std::make_unique<SmallCluster>(scheduler, load.settings, 1);
  for (const Slots& slots : load.nodes) cluster->AddNodes(1, slots);
  for (const Submission& job : load.jobs) cluster->Submit(job.at, job.job, job.spec, job.work);
  return cluster;
}

// The running tasks of a pool, counted over its jobs.
std::uint32_t RunningIn(const ClusterState& state, const std::string& pool, TaskKind kind) {
  std::uint32_t running = 0;
  for (const QueueKey& key : state.LiveJobs()) {
    const JobState& job = *state.FindJob(key.job);
    if (job.spec.PoolName() == pool) running += job.running_attempts[kind];
  }
  return running;
}

class Watch {
 public:
  Watch(const SmallCluster& cluster, bool preempting) : cluster_(cluster), preempting_(preempting) {}

  void Look(Micros now) {
    const PolicyView view = cluster_.engine().policy().View(cluster_.state(), now);
    for (const TaskKind kind : kTaskKinds) {
      double shares = 0, asked = 0;
      for (const GroupView& group : view.groups) {
        const GroupSlots& slots = group.slots[kind];
        EXPECT_EQ(slots.running, RunningIn(cluster_.state(), group.name, kind));
        EXPECT_LE(slots.running, slots.maximum.value_or(slots.running));
        shares += slots.share;
        asked += std::min(slots.demand, slots.maximum.value_or(slots.demand));
        if (preempting_) LookForStarved(now, group.name, kind, slots);
      }
      EXPECT_NEAR(shares, std::min<double>(cluster_.state().Capacity(kind), asked), 1e-3);
    }
  }

 private:
  void LookForStarved(Micros now, const std::string& pool, TaskKind kind, const GroupSlots& slots) {
    const double most = std::min(slots.demand, slots.maximum.value_or(slots.demand));
    const double next = slots.running + 1 - 1e-6;
    const bool below[] = {next <= std::min({slots.share, most, static_cast<double>(slots.minimum)}),
                          next <= slots.share && next <= most};
    const Micros patience[] = {kMinPatience, kFairPatience};
    for (const int which : {0, 1}) {
      auto& since = since_[{pool, kind, which}];
      if (!below[which]) {
        since.reset();
      } else if (!since) {
        since = now;
      }
      EXPECT_TRUE(!since || now - *since < patience[which])
          << pool << (kind == TaskKind::kMap ? " maps " : " reduces ") << slots.running << " of " << slots.share
          << " since " << *since << " at " << now;
    }
  }

  const SmallCluster& cluster_;
  bool preempting_;
  std::map<std::tuple<std::string, TaskKind, int>, std::optional<Micros>> since_;
};

class FairOverRandomWorkloads : public testing::TestWithParam<std::string> {};

TEST_P(FairOverRandomWorkloads, SharesAddUpNobodyStarvesAndNothingIsLost) {
  const unsigned base = std::random_device()();
  std::uint32_t preempted = 0;
  for (unsigned seed = base; seed < base + 40 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Workload load = RandomWorkload(seed);
    const auto cluster = Start(GetParam(), load);
    Watch watch(*cluster, GetParam() == "fair+preempt");
    cluster->watch = [&](Micros now) { watch.Look(now); };
    cluster->Run();
    for (const Submission& job : load.jobs) {
      const auto progress = cluster->engine().Progress(job.job);
      EXPECT_EQ(progress->outcome, JobOutcome::kSucceeded);
      EXPECT_EQ(progress->failed_attempts, 0U);
      EXPECT_EQ(progress->killed_attempts, 0U);
      preempted += progress->preempted_attempts;
    }
  }
  EXPECT_EQ(preempted > 0, GetParam() == "fair+preempt");
}

// Neither where things lie in memory nor in which order jobs of one moment were told of is seen in what is decided.
TEST_P(FairOverRandomWorkloads, TheSameIsDecidedWhereverMemoryLiesAndInWhichOrderJobsCame) {
  const unsigned base = std::random_device()();
  for (unsigned seed = base; seed < base + 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Workload load = RandomWorkload(seed);
    for (auto& [name, pool] : load.settings.Named<PoolSettings>()) {
      pool.max_running_jobs.reset();
      pool.order = seed % 2 == 0 ? PoolOrder::kFair : PoolOrder::kSjf;  // the others look at the submit order
    }
    for (Submission& job : load.jobs) job.at = job.at / (60 * kSecond) * (60 * kSecond);
    const auto first = Start(GetParam(), load);
    first->Run();
    std::mt19937 random(seed);
    std::shuffle(load.jobs.begin(), load.jobs.end(), random);
    std::vector<std::unique_ptr<int[]>> elsewhere;
    for (int i = 0; i < 1000; ++i) elsewhere.push_back(std::make_unique<int[]>(1 + random() % 200));
    for (std::size_t i = 0; i < elsewhere.size(); i += 2) elsewhere[i].reset();
    const auto second = Start(GetParam(), load);
    second->Run();
    ASSERT_EQ(first->log(), second->log());
  }
}

INSTANTIATE_TEST_SUITE_P(Parts, FairOverRandomWorkloads, testing::Values("fair", "fair+preempt"),
                         [](const auto& param) { return param.param == "fair" ? "alone" : "preempt"; });

// One pool begins alone; the others come, and each has its share when the tasks that ran have ended.
TEST(FairInTime, WhatPoolsRunConvergesToTheirShares) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  Settings settings;
  settings.Named<PoolSettings>()["b"].weight = 2;
  settings.Named<PoolSettings>()["c"].min_maps = 30;
  SmallCluster cluster("fair", settings, seed);
  cluster.AddNodes(25, {4, 0});
  const std::vector<std::string> pools = {"a", "b", "c", "a"};
  for (std::uint32_t i = 0; i < pools.size(); ++i) {
    JobSpec spec = RandomJob(&random, 2'000, 25, 3);
    spec.pool = pools[i];
    cluster.Submit(i * 10 * kSecond, JobId{i + 1}, spec, {20 * kSecond, 0, 0.5});
  }
  // a and b share 70 slots 1 : 2, c has its minimum.
  const std::map<std::string, double> shares = {{"a", 70.0 / 3}, {"b", 140.0 / 3}, {"c", 30}};
  std::uint32_t looks = 0;
  cluster.watch = [&](Micros now) {
    if (now < 65 * kSecond) return;
    ++looks;
    for (const auto& [pool, share] : shares) {
      EXPECT_NEAR(RunningIn(cluster.state(), pool, TaskKind::kMap), share, 1) << pool << " at " << now;
    }
    const auto of_a = [&](std::uint32_t job) {
      return cluster.state().FindJob(JobId{job})->running_attempts[TaskKind::kMap];
    };
    EXPECT_NEAR(of_a(1), of_a(4), 1.01);
  };
  cluster.Run(200 * kSecond);
  EXPECT_GT(looks, 100U);
}

}  // namespace
}  // namespace millrace::sched
