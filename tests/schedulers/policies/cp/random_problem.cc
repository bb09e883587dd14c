// SPDX-License-Identifier: Apache-2.0
#include "tests/schedulers/policies/cp/random_problem.h"

#include <algorithm>
#include <vector>

namespace millrace::sched {

PlanProblem RandomProblem(std::mt19937_64* random, const RandomShape& shape) {
  const auto upto = [&](std::uint64_t most) { return (*random)() % (most + 1); };
  PlanProblem problem;
  problem.now = 1'000;
  for (auto* slots : {&problem.map_slots, &problem.reduce_slots}) {
    const std::uint64_t count = 1 + upto(shape.slots - 1);
    std::vector<Micros> free;
    for (std::uint64_t i = 0; i < count; ++i) free.push_back(problem.now + static_cast<Micros>(upto(1) * upto(6)));
    std::sort(free.begin(), free.end());
    for (const Micros time : free) slots->push_back({time, 1});
  }
  for (std::uint32_t i = 0; i < shape.jobs; ++i) {
    PlanJob job;
    job.id = JobId{i + 1};
    job.submitted = problem.now - static_cast<Micros>(upto(20));
    job.maps = static_cast<std::uint32_t>(upto(shape.maps));
    job.reduces = static_cast<std::uint32_t>(upto(shape.reduces));
    job.map_time = 1 + static_cast<Micros>(upto(static_cast<std::uint64_t>(shape.task - 1)));
    job.reduce_time = 1 + static_cast<Micros>(upto(static_cast<std::uint64_t>(shape.task - 1)));
    if (upto(5) > 0) job.deadline = problem.now + static_cast<Micros>(5 + upto(40));
    if (upto(3) == 0) job.maps_until = problem.now + static_cast<Micros>(1 + upto(6));
    if (job.maps == 0 && upto(3) == 0) job.reduces_until = problem.now + static_cast<Micros>(1 + upto(6));
    problem.jobs.push_back(job);
  }
  if (upto(3) == 0) problem.fixed_worst = static_cast<Micros>(upto(60));
  problem.fixed_late = static_cast<std::uint32_t>(upto(1) * upto(2));
  problem.objective.tau = 10;
  problem.objective.total_scale = 1'000;
  problem.objective.worst_scale = 2'000;
  if (upto(1) == 0) problem.objective.kind = PlanObjective::Kind::kPaper;
  return problem;
}

}  // namespace millrace::sched
