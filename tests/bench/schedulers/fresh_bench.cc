// SPDX-License-Identifier: Apache-2.0
// FRESH: the search of fresh-static (the paper needs 0.578 s for 500 slots and 100 jobs of 400 tasks), and what an
// assignment of fresh-dynamic and joss costs on 10,000 nodes with 1,000 jobs.
#include <benchmark/benchmark.h>

#include <random>
#include <string>
#include <vector>

#include "schedulers/core/engine.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/fresh/fresh_settings.h"
#include "schedulers/policies/fresh/slot_split.h"

namespace millrace::sched {
namespace {

void BestSplitOf(benchmark::State& state) {
  const auto slots = static_cast<std::uint32_t>(state.range(0)), jobs = static_cast<std::uint32_t>(state.range(1));
  std::mt19937_64 random(1);
  std::vector<PhaseProfile> batch(jobs);
  for (PhaseProfile& job : batch) {
    const std::uint32_t maps = 100 + random() % 201;
    job = {maps, static_cast<Micros>(10'000'000 + random() % 50'000'000), 400 - maps,
           static_cast<Micros>(10'000'000 + random() % 50'000'000)};
  }
  for (auto _ : state) benchmark::DoNotOptimize(BestSplit(batch, slots, 10));
}
BENCHMARK(BestSplitOf)->Args({500, 100})->Args({80'000, 1'000});

// Nodes of 4 + 4 slots in two datacenters, jobs of 1,000 maps and 100 reduces, three replicas.
class FullCluster {
 public:
  FullCluster(const std::string& scheduler, std::uint32_t nodes, std::uint32_t jobs, std::uint32_t k)
      : random_(1), engine_({}, Make(scheduler, k)) {
    Effects effects;
    for (std::uint32_t node = 0; node < nodes; ++node) {
      const std::string center = node < nodes / 2 ? "a" : "b";
      (void)engine_.Apply(0, NodeJoined{{node}, center + std::to_string(node / 40), center, {4, 4}}, &effects);
    }
    for (std::uint32_t job = 0; job < jobs; ++job) {
      JobSpec spec;
      spec.user = "user" + std::to_string(job % 20);
      spec.maps.resize(1000);
      for (MapInput& map : spec.maps) {
        map.bytes = 1 << 26;
        for (int replica = 0; replica < 3; ++replica) map.replicas.push_back({Below(nodes)});
      }
      spec.reduces = 100;
      spec.profile = {1, 10'000'000, 10'000'000, 1};
      (void)engine_.Apply(0, JobSubmitted{{job}, std::move(spec)}, &effects);
    }
    Decide();
  }

  // A task ends somewhere, and its slot is filled again.
  void Step() {
    now_ += 100;
    const std::size_t at = Below(static_cast<std::uint32_t>(running_.size()));
    std::swap(running_[at], running_.back());
    const AttemptId done = running_.back();
    running_.pop_back();
    Effects effects;
    (void)engine_.Apply(now_, AttemptSucceeded{done}, &effects);
    Decide();
  }

 private:
  static std::unique_ptr<Policy> Make(const std::string& name, std::uint32_t k) {
    Settings settings;
    settings.Of<FreshSettings>().k = k;
    std::string why;
    return MakePolicy(name, settings, &why);
  }
  std::uint32_t Below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  void Decide() {
    Effects effects;
    engine_.Decide(now_, &effects);
    for (const Effect& effect : effects) {
      if (const auto* launch = std::get_if<Launch>(&effect)) running_.push_back(launch->attempt);
    }
  }

  std::mt19937_64 random_;
  Engine engine_;
  Micros now_ = 0;
  std::vector<AttemptId> running_;
};

void RefillOne(benchmark::State& state, const std::string& scheduler, std::uint32_t k) {
  FullCluster cluster(scheduler, 10'000, 1'000, k);
  for (auto _ : state) cluster.Step();
}

BENCHMARK_CAPTURE(RefillOne, fifo, "fifo", 0);
BENCHMARK_CAPTURE(RefillOne, fresh_static, "fresh-static", 20);
BENCHMARK_CAPTURE(RefillOne, fresh_dynamic_k20, "fresh-dynamic", 20);
BENCHMARK_CAPTURE(RefillOne, fresh_dynamic_no_limit, "fresh-dynamic", 0);
BENCHMARK_CAPTURE(RefillOne, joss_t, "joss-t", 0);
BENCHMARK_CAPTURE(RefillOne, joss_j, "joss-j", 0);

}  // namespace
}  // namespace millrace::sched

BENCHMARK_MAIN();
