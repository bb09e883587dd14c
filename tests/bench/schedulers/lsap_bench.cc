// SPDX-License-Identifier: Apache-2.0
// Measures the cost of lsap and dl as schedulers of an engine, engine included: 10,000 nodes with 8 map slots, 1,000
// jobs.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "schedulers/core/engine.h"
#include "schedulers/policies/catalog.h"

namespace millrace::sched {
namespace {

constexpr std::uint32_t kNodes = 10'000, kJobs = 1'000;

std::unique_ptr<Engine> MakeEngine(const std::string& scheduler, std::uint32_t slots, std::uint32_t maps_each) {
  std::string why;
  auto engine = std::make_unique<Engine>(EngineOptions{}, MakePolicy(scheduler, {}, &why));
  std::mt19937_64 random(1);
  Effects effects;
  for (std::uint32_t id = 0; id < kNodes; ++id) {
    (void)engine->Apply(0, NodeJoined{NodeId{id}, "r" + std::to_string(id / 20), "", {slots, 0}}, &effects);
  }
  for (std::uint32_t job = 0; job < kJobs; ++job) {
    JobSpec spec;
    spec.pool = "p" + std::to_string(job % 10);
    for (std::uint32_t map = 0; map < maps_each; ++map) {
      MapInput input{64 << 20, {}};
      for (int i = 0; i < 3; ++i) input.replicas.push_back(NodeId{static_cast<std::uint32_t>(random() % kNodes)});
      spec.maps.push_back(input);
    }
    (void)engine->Apply(0, JobSubmitted{JobId{job}, spec}, &effects);
  }
  return engine;
}

// All free slots filled from nothing.
void Fill(benchmark::State& state, const char* scheduler, std::uint32_t slots, std::uint32_t maps_each) {
  for (auto _ : state) {
    state.PauseTiming();
    auto engine = MakeEngine(scheduler, slots, maps_each);
    Effects effects;
    state.ResumeTiming();
    engine->Decide(0, &effects);
    state.counters["launched"] = static_cast<double>(effects.size());
    state.PauseTiming();
    engine.reset();
    state.ResumeTiming();
  }
}

// A map ends on a full cluster, its slot is filled.
void OneSlot(benchmark::State& state, const char* scheduler) {
  auto engine = MakeEngine(scheduler, 8, 1'000);
  Effects effects;
  engine->Decide(0, &effects);
  std::vector<AttemptId> running;
  for (const Effect& effect : effects) {
    if (const auto* launch = std::get_if<Launch>(&effect)) running.push_back(launch->attempt);
  }
  std::size_t next = 0;
  for (auto _ : state) {
    if (next == running.size()) {
      state.SkipWithError("too few maps");
      break;
    }
    effects.clear();
    (void)engine->Apply(1'000'000, AttemptSucceeded{running[next++]}, &effects);
    engine->Decide(1'000'000, &effects);
    for (const Effect& effect : effects) {
      if (const auto* launch = std::get_if<Launch>(&effect)) running.push_back(launch->attempt);
    }
  }
}

BENCHMARK_CAPTURE(Fill, lsap_10000_slots_100000_maps, "lsap", 1, 100)->Unit(benchmark::kMillisecond)->Iterations(3);
BENCHMARK_CAPTURE(Fill, lsap_fair_10000_slots_100000_maps, "lsap-fair", 1, 100)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(3);
BENCHMARK_CAPTURE(Fill, dl_80000_slots_1000000_maps, "dl", 8, 1'000)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK_CAPTURE(Fill, lsap_80000_slots_1000000_maps, "lsap", 8, 1'000)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK_CAPTURE(OneSlot, dl, "dl")->Unit(benchmark::kMicrosecond)->Iterations(50'000);
BENCHMARK_CAPTURE(OneSlot, lsap, "lsap")->Unit(benchmark::kMicrosecond)->Iterations(50'000);
BENCHMARK_CAPTURE(OneSlot, lsap_fair, "lsap-fair")->Unit(benchmark::kMicrosecond)->Iterations(2'000);

}  // namespace
}  // namespace millrace::sched

BENCHMARK_MAIN();
