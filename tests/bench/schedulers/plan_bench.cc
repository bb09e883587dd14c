// SPDX-License-Identifier: Apache-2.0
// The search of `cp`: what an evaluation costs, and how far from the bound a plan is after so many of them.
//
//   plan_bench --benchmark_filter=Solve
//
// The counter `gap` of a solve is the cost above the lower bound in percent, mean over the problems of that size;
// `optimal` the share of them that meet the bound.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>
#include <vector>

#include "schedulers/policies/cp/evaluator.h"
#include "schedulers/policies/cp/orders.h"
#include "schedulers/policies/cp/search.h"

namespace millrace::sched {
namespace {

constexpr Micros kMoment = 100'000'000'000;
constexpr Micros kTick = 100'000;

struct Size {
  std::uint32_t slots, jobs, maps, reduces;  // maps and reduces of a job, on average
};
// 20 jobs of the paper's workload on its cluster; 3,200 tasks; 100 nodes with 200 jobs; 10,000 nodes with a million
// tasks.
constexpr Size kSizes[] = {{4, 20, 11, 1}, {100, 20, 150, 10}, {200, 200, 67, 5}, {80'000, 1'000, 1'000, 20}};

// A backlog: jobs came over the last minutes, deadlines are 1 to 5 times the time that a job takes alone.
PlanProblem Backlog(const Size& size, std::uint64_t seed, PlanObjective::Kind objective) {
  std::mt19937_64 random(seed);
  const auto between = [&](std::uint64_t low, std::uint64_t high) { return low + random() % (high - low + 1); };
  PlanProblem problem;
  problem.now = kMoment;
  problem.objective.kind = objective;
  problem.objective.tau = 200 * kTick;
  for (auto* groups : {&problem.map_slots, &problem.reduce_slots}) {
    std::vector<Micros> free;
    for (std::uint32_t i = 0; i < size.slots; ++i)
      free.push_back(kMoment + kTick * static_cast<Micros>(between(0, 200)));
    std::sort(free.begin(), free.end());
    for (const Micros time : free) groups->push_back({time, 1});
  }
  for (std::uint32_t i = 0; i < size.jobs; ++i) {
    PlanJob job;
    job.id = JobId{i};
    job.submitted = kMoment - kTick * static_cast<Micros>(between(0, 3'000));
    job.maps = static_cast<std::uint32_t>(between(size.maps / 4, size.maps * 7 / 4));
    job.reduces = static_cast<std::uint32_t>(between(1, 2 * size.reduces - 1));
    job.map_time = kTick * static_cast<Micros>(between(100, 300));
    job.reduce_time = kTick * static_cast<Micros>(between(100, 400));
    const Micros alone = job.map_time * ((job.maps - 1) / size.slots + 1) + job.reduce_time;
    const auto load = static_cast<double>(size.jobs) * size.maps * 200 * kTick / size.slots;
    const double share = static_cast<double>(between(0, 100)) / 100;
    job.deadline = kMoment + alone * static_cast<Micros>(between(1, 5)) + static_cast<Micros>(load * share);
    problem.jobs.push_back(job);
  }
  return problem;
}

void BM_Evaluate(benchmark::State& state) {
  const PlanProblem problem = Backlog(kSizes[state.range(0)], 1, PlanObjective::Kind::kMix);
  Evaluator evaluator(problem);
  PlanOrder order = OrderOf(problem, EarliestDeadline(problem));
  evaluator.Rebase(order);
  std::mt19937_64 random(1);
  PlanOrder next = order;
  for (auto _ : state) {
    next = order;
    const std::size_t same = MoveJob(&random, &next);
    benchmark::DoNotOptimize(evaluator.Cost(next, same));
  }
}
BENCHMARK(BM_Evaluate)->ArgName("size")->DenseRange(0, 3)->Unit(benchmark::kMicrosecond);

void BM_Solve(benchmark::State& state) {
  const auto objective = state.range(2) == 0 ? PlanObjective::Kind::kMix : PlanObjective::Kind::kPaper;
  std::vector<PlanProblem> problems;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) problems.push_back(Backlog(kSizes[state.range(0)], seed, objective));
  SearchLimits limits;
  limits.evaluations = static_cast<std::uint64_t>(state.range(1));
  double gap = 0, optimal = 0, cost = 0, count = 0;
  for (auto _ : state) {
    const Plan plan = SearchPlan(problems[static_cast<std::size_t>(count) % problems.size()], limits);
    gap += 100 * (plan.cost / plan.bound - 1);
    cost += plan.cost;
    optimal += plan.optimal ? 1 : 0;
    ++count;
  }
  state.counters["gap"] = gap / count;
  state.counters["cost"] = cost / count;
  state.counters["optimal"] = optimal / count;
}
BENCHMARK(BM_Solve)
    ->ArgNames({"size", "evaluations", "paper"})
    ->ArgsProduct({{0, 1, 2, 3}, {100, 500, 2'000}, {0, 1}})
    ->Iterations(20)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace millrace::sched

BENCHMARK_MAIN();
