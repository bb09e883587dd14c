// SPDX-License-Identifier: Apache-2.0
// Measures the time of the assignment solver (targets: 2,900 x 2,900 with levels in 10 ms, 10,000 idle slots x 100,000
// pending tasks in 250 ms; the paper's solver took 1 s for 2,900 x 2,900 dense). Time includes the building of the
// problem.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <vector>

#include "schedulers/policies/lsap/assignment.h"

namespace millrace::sched {
namespace {

struct Shape {
  std::uint32_t nodes;
  std::uint32_t slots_each;
  std::uint32_t tasks;
  std::uint32_t groups;  // fixed costs of that many kinds, as of lsap-fair; 1: none
};

struct Task {
  std::uint32_t group;
  std::uint32_t nodes[3];
};

std::vector<Task> RandomTasks(const Shape& shape) {
  std::mt19937_64 random(1);
  std::vector<Task> tasks(shape.tasks);
  for (Task& task : tasks) {
    task.group = static_cast<std::uint32_t>(random() % shape.groups);
    for (std::uint32_t& node : task.nodes) node = static_cast<std::uint32_t>(random() % shape.nodes);
  }
  return tasks;
}

// Racks of 20 nodes; 3 replicas on random nodes; costs by level.
Assignment::Plan SolveOnce(const Shape& shape, const std::vector<Task>& tasks) {
  constexpr std::uint32_t kRack = 20;
  Assignment problem;
  const auto all = problem.AddPlace(Assignment::kNoPlace, 0);
  const std::uint32_t racks = (shape.nodes + kRack - 1) / kRack;
  for (std::uint32_t i = 0; i < racks; ++i) problem.AddPlace(all, 0);
  for (std::uint32_t i = 0; i < shape.nodes; ++i) problem.AddPlace(1 + i / kRack, shape.slots_each);
  std::vector<Assignment::PlaceCost> costs;
  for (const Task& task : tasks) {
    const std::int64_t fixed = task.group * 700;
    costs.clear();
    for (const std::uint32_t node : task.nodes) {
      costs.push_back({1 + racks + node, fixed});
      costs.push_back({1 + node / kRack, fixed + 1000});
    }
    costs.push_back({all, fixed + 4000});
    problem.AddRow(1, costs);
  }
  return problem.Solve();
}

void Run(benchmark::State& state, const Shape& shape) {
  const std::vector<Task> tasks = RandomTasks(shape);
  Assignment::Plan plan;
  for (auto _ : state) benchmark::DoNotOptimize(plan = SolveOnce(shape, tasks));
  state.counters["assigned"] = plan.tasks;
  state.counters["cost"] = static_cast<double>(plan.cost);
}

BENCHMARK_CAPTURE(Run, 2900x2900_one_slot_each, Shape{2'900, 1, 2'900, 1})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Run, 2900x2900_two_slots_each, Shape{1'450, 2, 2'900, 1})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Run, 2900x5800_groups, Shape{2'900, 1, 5'800, 10})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Run, 10000x10000, Shape{10'000, 1, 10'000, 1})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Run, 10000x12000_groups, Shape{10'000, 1, 12'000, 10})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Run, 10000x100000, Shape{10'000, 1, 100'000, 1})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Run, 10000x100000_two_each, Shape{5'000, 2, 100'000, 1})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Run, 10000x100000_groups, Shape{10'000, 1, 100'000, 10})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Run, 10000x100000_hot_nodes, Shape{1'250, 8, 100'000, 1})->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace millrace::sched

BENCHMARK_MAIN();
