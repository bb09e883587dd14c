// SPDX-License-Identifier: Apache-2.0
// Measures what a forecast costs: the detached copy, which the master's control thread makes, and the play, which
// another thread makes. 100 nodes with two map slots and a reduce slot, and 100 jobs of equal size.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>

#include "schedulers/core/engine.h"
#include "schedulers/forecast/play_forward.h"
#include "schedulers/policies/catalog.h"

namespace millrace::sched {
namespace {

constexpr std::uint32_t kNodes = 100, kJobs = 100;

std::unique_ptr<Engine> EngineOf(const char* scheduler, std::uint32_t maps) {
  std::string why;
  auto engine = std::make_unique<Engine>(EngineOptions{}, MakePolicy(scheduler, {}, &why));
  std::mt19937_64 random(1);
  Effects effects;
  for (std::uint32_t id = 0; id < kNodes; ++id)
    (void)engine->Apply(0, NodeJoined{NodeId{id}, "r" + std::to_string(id / 20), "", {2, 1}}, &effects);
  for (std::uint32_t job = 0; job < kJobs; ++job) {
    JobSpec spec;
    spec.pool = "p" + std::to_string(job % 10);
    spec.map_time = 20 * kSecond;
    spec.reduce_time = 60 * kSecond;
    spec.reduces = 5;
    for (std::uint32_t map = 0; map < maps; ++map) {
      MapInput& input = spec.maps.emplace_back(MapInput{64 << 20, {}});
      for (int i = 0; i < 3; ++i) input.replicas.push_back(NodeId{static_cast<std::uint32_t>(random() % kNodes)});
    }
    (void)engine->Apply(0, JobSubmitted{JobId{job}, spec}, &effects);
  }
  engine->Decide(0, &effects);
  return engine;
}

void Detach(benchmark::State& state, const char* scheduler) {
  const auto engine = EngineOf(scheduler, static_cast<std::uint32_t>(state.range(0)));
  for (auto _ : state) {
    auto copy = engine->Detach();
    state.PauseTiming();
    copy.reset();  // the other thread does this
    state.ResumeTiming();
  }
}

void Play(benchmark::State& state, const char* scheduler) {
  const auto engine = EngineOf(scheduler, static_cast<std::uint32_t>(state.range(0)));
  std::uint64_t events = 0;
  for (auto _ : state) {
    const auto copy = engine->Detach();
    events = PlayForward(*copy, 0, TaskTimes(), {}).events;
  }
  state.counters["events"] = static_cast<double>(events);
}

#define MILLRACE_FORECAST(name, scheduler)                                                        \
  BENCHMARK_CAPTURE(Detach, name, scheduler)->Arg(100)->Arg(1000)->Unit(benchmark::kMillisecond); \
  BENCHMARK_CAPTURE(Play, name, scheduler)->Arg(100)->Arg(1000)->Unit(benchmark::kMillisecond)
MILLRACE_FORECAST(fifo, "fifo");
MILLRACE_FORECAST(fair_delay_ccs, "fair+delay+ccs");
MILLRACE_FORECAST(sjf, "sjf");
MILLRACE_FORECAST(capacity, "capacity");

}  // namespace
}  // namespace millrace::sched

BENCHMARK_MAIN();
