// SPDX-License-Identifier: Apache-2.0
// What is guaranteed whatever comes: minimum shares, weights and capacities without preemption, within the time of the
// longest task. Endless streams of other jobs change nothing of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "schedulers/policies/fair/fair_settings.h"
#include "schedulers/policies/simple/capacity_settings.h"
#include "tests/schedulers/starvation/load.h"

namespace millrace::sched {
namespace {

struct Claim {
  std::uint32_t running = 0, pending = 0;
};

using GroupOf = std::function<std::string(const JobState&)>;

std::map<std::string, Claim> Claims(const ClusterState& state, const GroupOf& group, TaskKind kind) {
  std::map<std::string, Claim> claims;
  for (const QueueKey& key : state.LiveJobs()) {
    const JobState& job = *state.FindJob(key.job);
    Claim& claim = claims[group(job)];
    claim.running += job.running_attempts[kind];
    if (job.runnable[kind]) claim.pending += job.Pending(kind).size();
  }
  return claims;
}

// No group is below its guarantee, with so much waiting that it could have it, for longer than the longest task.
class Guarantee {
 public:
  Guarantee(const SmallCluster& cluster, GroupOf group, TaskKind kind, Micros longest)
      : cluster_(cluster), group_(std::move(group)), kind_(kind), longest_(longest) {}

  // `enough`: at least so much has to wait for the guarantee to hold.
  void Set(const std::string& group, double guaranteed, std::uint32_t enough) {
    sets_[group] = {guaranteed, enough, {}};
  }

  void Look(Micros now) {
    auto claims = Claims(cluster_.state(), group_, kind_);
    for (auto& [name, set] : sets_) {
      const Claim claim = claims[name];
      if (claim.pending < set.enough || claim.running + 1 > set.guaranteed + 1e-9) {
        set.since.reset();
        continue;
      }
      if (!set.since) set.since = now;
      ++looks_;
      EXPECT_LE(now - *set.since, longest_) << name << (kind_ == TaskKind::kMap ? " maps" : " reduces") << " has "
                                            << claim.running << " of " << set.guaranteed << " at " << now;
    }
  }
  [[nodiscard]] std::uint32_t looks() const { return looks_; }

 private:
  struct Guaranteed {
    double guaranteed = 0;
    std::uint32_t enough = 1;
    std::optional<Micros> since;
  };
  const SmallCluster& cluster_;
  const GroupOf group_;
  const TaskKind kind_;
  const Micros longest_;
  std::map<std::string, Guaranteed> sets_;
  std::uint32_t looks_ = 0;
};

std::string PoolOf(const JobState& job) { return job.spec.PoolName(); }

// Weights w over W in all, n groups on m slots. Let a group with work to do run x slots or fewer for longer than the
// longest task L: then all that runs was launched meanwhile, each other group o when it had no more than its weight's
// part of x: running(o) <= 1 + x w(o) / w. All m slots are busy, so m <= x + sum(1 + x w(o) / w), and x is at least
// (m - (n - 1)) w / W: below that no group stays for longer than L. (A group whose share is its demand does not follow
// its weight, so enough has to wait: m.)
double Part(Micros slots, std::size_t groups, double weight, double weights) {
  return static_cast<double>(slots - static_cast<Micros>(groups) + 1) * weight / weights;
}

// A pool below its minimum comes before all that are not. If one stays below it for longer than L, all that runs was
// launched by pools below their minima: none is above its own, and the minima, which fit together, are not all the
// slots. So it has its minimum within L.
TEST(Guarantees, FairPoolsHaveTheirMinimumWithinOneTask) {
  const unsigned base = std::random_device()();
  std::uint32_t looks = 0;
  for (unsigned seed = base; seed < base + 30 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Load load = RandomLoad(seed, {.jobs = 40});
    Settings settings;
    settings.Named<PoolSettings>()["u0"].min_maps = static_cast<std::uint32_t>(load.Slots(TaskKind::kMap)) / 2;
    settings.Named<PoolSettings>()["u0"].weight = 0.1;
    settings.Named<PoolSettings>()["u1"].min_maps = 1 + static_cast<std::uint32_t>(random() % 2);
    settings.Named<PoolSettings>()["u1"].min_reduces = static_cast<std::uint32_t>(load.Slots(TaskKind::kReduce)) / 2;
    settings.Named<PoolSettings>()["u2"].min_reduces = 1;
    settings.Named<PoolSettings>()["u3"].weight = 10;
    const auto cluster = Start("fair", settings, load);
    Guarantee maps(*cluster, PoolOf, TaskKind::kMap, load.Longest(TaskKind::kMap));
    Guarantee reduces(*cluster, PoolOf, TaskKind::kReduce, load.Longest(TaskKind::kReduce));
    for (const auto& [name, pool] : settings.Named<PoolSettings>()) {
      maps.Set(name, pool.min_maps, 1);
      reduces.Set(name, pool.min_reduces, 1);
    }
    cluster->watch = [&](Micros now) { maps.Look(now), reduces.Look(now); };
    cluster->Run();
    looks += maps.looks() + reduces.looks();
  }
  EXPECT_GT(looks, 0U) << "no pool was ever below its minimum";
}

TEST(Guarantees, FairPoolsHaveTheirWeightsPartWithinOneTask) {
  const unsigned base = std::random_device()();
  std::uint32_t looks = 0;
  for (unsigned seed = base; seed < base + 30 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Load load = RandomLoad(seed, {.jobs = 40});
    const Micros slots = load.Slots(TaskKind::kMap);
    Settings settings;
    double weights = 0;
    for (int user = 0; user < 5; ++user)
      weights += settings.Named<PoolSettings>()["u" + std::to_string(user)].weight =
          0.5 * (1 + static_cast<double>(random() % 6));
    const auto cluster = Start("fair", settings, load);
    Guarantee maps(*cluster, PoolOf, TaskKind::kMap, load.Longest(TaskKind::kMap));
    for (const auto& [name, pool] : settings.Named<PoolSettings>())
      maps.Set(name, Part(slots, 5, pool.weight, weights), static_cast<std::uint32_t>(slots));
    cluster->watch = [&](Micros now) { maps.Look(now); };
    cluster->Run();
    looks += maps.looks();
  }
  EXPECT_GT(looks, 0U) << "no pool was ever below its part";
}

// Queues come by running/capacity: the same argument with capacities for weights.
TEST(Guarantees, QueuesHaveTheirCapacityBackWithinOneTask) {
  const unsigned base = std::random_device()();
  std::uint32_t looks = 0;
  for (unsigned seed = base; seed < base + 30 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Load load = RandomLoad(seed, {.jobs = 40});
    Settings settings;
    const double capacities[] = {40, 25, 20, 10, 5};
    for (int user = 0; user < 5; ++user)
      settings.Named<QueueSettings>()["u" + std::to_string(user)].capacity = capacities[user];
    const auto cluster = Start("capacity", settings, load);
    Guarantee maps(*cluster, PoolOf, TaskKind::kMap, load.Longest(TaskKind::kMap));
    Guarantee reduces(*cluster, PoolOf, TaskKind::kReduce, load.Longest(TaskKind::kReduce));
    for (const auto& [name, queue] : settings.Named<QueueSettings>()) {
      maps.Set(name, Part(load.Slots(TaskKind::kMap), 5, queue.capacity, 100), 1);
      reduces.Set(name, Part(load.Slots(TaskKind::kReduce), 5, queue.capacity, 100), 1);
    }
    cluster->watch = [&](Micros now) { maps.Look(now), reduces.Look(now); };
    cluster->Run();
    looks += maps.looks() + reduces.looks();
  }
  EXPECT_GT(looks, 0U) << "no queue was ever below its capacity";
}

// mlq: the same of its two queues. Inside each it is fifo.
TEST(Guarantees, SmallAndLargeJobsHaveTheirPartWithinOneTask) {
  const unsigned base = std::random_device()();
  std::uint32_t looks = 0;
  for (unsigned seed = base; seed < base + 30 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Load load = RandomLoad(seed, {.jobs = 40});
    const Micros slots = load.Slots(TaskKind::kMap);
    Settings settings;
    settings.Of<MlqSettings>().small_job_maps = 15;
    settings.Of<MlqSettings>().small_weight = 3;
    const auto cluster = Start("mlq", settings, load);
    const GroupOf size = [](const JobState& job) { return job.spec.maps.size() <= 15 ? "small" : "large"; };
    Guarantee maps(*cluster, size, TaskKind::kMap, load.Longest(TaskKind::kMap));
    maps.Set("small", Part(slots, 2, 3, 4), static_cast<std::uint32_t>(slots));
    maps.Set("large", Part(slots, 2, 1, 4), static_cast<std::uint32_t>(slots));
    cluster->watch = [&](Micros now) { maps.Look(now); };
    cluster->Run();
    looks += maps.looks();
  }
  EXPECT_GT(looks, 0U) << "no queue was ever below its part";
}

}  // namespace
}  // namespace millrace::sched
