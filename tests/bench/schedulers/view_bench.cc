// SPDX-License-Identifier: Apache-2.0
// Measures the cost of a view of an engine, with the trials of who gets the next slot and without: 500 nodes with two
// map slots, 1,000 jobs of 100 maps in 100 pools, which wait for them.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>
#include <random>
#include <string>

#include "schedulers/core/engine.h"
#include "schedulers/core/policy_view.h"
#include "schedulers/policies/catalog.h"

namespace millrace::sched {
namespace {

constexpr std::uint32_t kNodes = 500, kJobs = 1'000, kMaps = 100;

void View(benchmark::State& state, const char* scheduler, std::uint32_t trials) {
  std::string why;
  EngineOptions options;
  options.trials.trials = trials;
  Engine engine(options, MakePolicy(scheduler, {}, &why));
  std::mt19937_64 random(1);
  Effects effects;
  for (std::uint32_t id = 0; id < kNodes; ++id)
    (void)engine.Apply(0, NodeJoined{NodeId{id}, "r" + std::to_string(id / 20), "", {2, 1}}, &effects);
  for (std::uint32_t job = 0; job < kJobs; ++job) {
    JobSpec spec;
    spec.pool = "p" + std::to_string(job % 100);
    for (std::uint32_t map = 0; map < kMaps; ++map) {
      MapInput& input = spec.maps.emplace_back(MapInput{64 << 20, {}});
      for (int i = 0; i < 3; ++i) input.replicas.push_back(NodeId{static_cast<std::uint32_t>(random() % kNodes)});
    }
    (void)engine.Apply(0, JobSubmitted{JobId{job}, spec}, &effects);
  }
  engine.Decide(0, &effects);
  std::uint64_t tried = 0;
  for (auto _ : state) {
    const PolicyView view = engine.View(1'000'000);
    for (const WaitView& wait : view.waits) tried = wait.next ? wait.next->tried : tried;
    benchmark::DoNotOptimize(view.waits.data());
  }
  state.counters["tried"] = static_cast<double>(tried);
}

#define MILLRACE_VIEW(name, scheduler)                                                       \
  BENCHMARK_CAPTURE(View, name##_with_trials, scheduler, 64)->Unit(benchmark::kMillisecond); \
  BENCHMARK_CAPTURE(View, name##_without_trials, scheduler, 0)->Unit(benchmark::kMillisecond)
MILLRACE_VIEW(fifo, "fifo");
MILLRACE_VIEW(fair, "fair");
MILLRACE_VIEW(fair_delay_ccs_preempt, "fair+delay+ccs+preempt");
MILLRACE_VIEW(capacity, "capacity");
MILLRACE_VIEW(cp, "cp");
MILLRACE_VIEW(fresh_dynamic, "fresh-dynamic");
MILLRACE_VIEW(lsap, "lsap");

}  // namespace
}  // namespace millrace::sched

BENCHMARK_MAIN();
