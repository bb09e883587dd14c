// SPDX-License-Identifier: Apache-2.0
// lsap-fair on a full cluster where one slot after the other frees: each time the cheapest of all maps by the formula
// of lsap_fair.h, worked out again.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "schedulers/core/engine.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "schedulers/policies/lsap/lsap_settings.h"

namespace millrace::sched {
namespace {

constexpr std::uint32_t kNodes = 8;
constexpr double kSecondsAway = 0.5;  // about that: a map of 1 MB at 2 MB/s, on any other node

struct Priced {
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> cost;  // by job and map
  double least = std::numeric_limits<double>::infinity();
};

Priced PriceAll(const ClusterState& state, const Settings& settings, NodeId node, Micros now) {
  std::map<std::string, double> running, weight;
  double all_running = 0, weights = 0;
  for (const QueueKey& key : state.LiveJobs()) {
    const JobState& job = *state.FindJob(key.job);
    const std::string& pool = job.spec.PoolName();
    running[pool] += job.running_attempts[TaskKind::kMap];
    all_running += job.running_attempts[TaskKind::kMap];
    if (weight.emplace(pool, settings.Named<PoolSettings>().at(pool).weight).second) weights += weight[pool];
  }
  std::map<std::string, int> left;
  for (auto& [pool, w] : weight) {
    w /= weights;
    left[pool] = static_cast<int>(std::max(0.0, w * state.Capacity(TaskKind::kMap) - running[pool] + 1e-9));
  }
  Priced priced;
  for (const bool local : {true, false}) {
    for (const QueueKey& key : state.RunnableJobs(TaskKind::kMap)) {
      const JobState& job = *state.FindJob(key.job);
      const std::string& pool = job.spec.PoolName();
      const double steps =
          std::floor(4.0 * (now - job.progress.submitted) / settings.Of<LsapSettings>().ageing_half_life);
      for (const std::uint32_t map : job.pending_maps.all()) {
        const auto& replicas = job.spec.maps[map].replicas;
        if ((std::count(replicas.begin(), replicas.end(), node) > 0) != local) continue;
        const double fairness = left[pool]-- > 0 || weight.size() == 1
                                    ? 100 * running[pool] / all_running / weight[pool]
                                    : (1 - weight[pool]) * settings.Of<LsapSettings>().beta;
        const double cost =
            std::exp2(-steps / 4) * (fairness + (local ? 0 : settings.Of<LsapSettings>().alpha * kSecondsAway));
        priced.cost[{key.job.value, map}] = cost;
        priced.least = std::min(priced.least, cost);
      }
    }
  }
  return priced;
}

TEST(LsapFairTest, OneSlotGoesToTheCheapestOfAllMaps) {
  int local = 0, away = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    Settings settings;
    settings.Of<LsapSettings>().batch_window = 0;
    settings.Of<LsapSettings>().beta = seed % 2 == 0 ? 100 : 1'000;
    settings.Of<LsapSettings>().bandwidths = {2e6, 2e6, 2e6};
    for (const char* pool : {"a", "b", "c"}) settings.Named<PoolSettings>()[pool].weight = 1 + random() % 3;
    std::string why;
    Engine engine({}, MakePolicy("lsap-fair", settings, &why));
    Effects effects;
    for (std::uint32_t id = 0; id < kNodes; ++id) {
      (void)engine.Apply(0, NodeJoined{NodeId{id}, "r", "", {2, 0}}, &effects);
    }
    Micros now = 0;
    for (std::uint32_t job = 0; job < 12; ++job) {
      JobSpec spec;
      spec.pool = std::string(1, static_cast<char>('a' + random() % 3));
      const std::uint64_t maps = 10 + random() % 30;
      for (std::uint64_t map = 0; map < maps; ++map) {
        spec.maps.push_back({1'000'000, {NodeId{static_cast<std::uint32_t>(random() % kNodes)}}});
      }
      now += static_cast<Micros>(random() % 20) * kSecond;
      (void)engine.Apply(now, JobSubmitted{JobId{job}, spec}, &effects);
      engine.Decide(now, &effects);
    }
    std::vector<Launch> running;
    const auto note = [&] {
      for (const Effect& effect : effects) {
        if (const auto* launch = std::get_if<Launch>(&effect)) running.push_back(*launch);
      }
      effects.clear();
    };
    note();
    while (!engine.state().RunnableJobs(TaskKind::kMap).empty()) {
      const auto done = running.begin() + static_cast<std::ptrdiff_t>(random() % running.size());
      const Launch ended = *done;
      running.erase(done);
      now += static_cast<Micros>(random() % 3) * kSecond;
      (void)engine.Apply(now, AttemptSucceeded{ended.attempt}, &effects);
      effects.clear();
      const Priced priced = PriceAll(engine.state(), settings, ended.node, now);
      engine.Decide(now, &effects);
      note();
      const Launch& launched = running.back();
      ASSERT_EQ(launched.node, ended.node);
      // Transfers are rounded down by up to a sixteenth.
      const TaskId& task = launched.attempt.task;
      ASSERT_LE(priced.cost.at({task.job.value, task.index}), priced.least + kSecondsAway / 16 + 1e-3);
      ++(launched.locality == Locality::kNode ? local : away);
    }
  }
  EXPECT_GT(local, 100);
  EXPECT_GT(away, 100);
}

}  // namespace
}  // namespace millrace::sched
