// What plans are checked against: schedules made task by task, slot by slot, tick by tick, with none of the code under
// test; and the best of all schedules of a tiny problem.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "schedulers/policies/cp/plan/evaluator.h"
#include "schedulers/policies/cp/plan/problem.h"

namespace millrace::sched {

// The objective as the page prints it, without PlanCost.
double CostOf(const PlanProblem& problem, const std::vector<Micros>& ends);

// C_j when free slots follow the order and never wait.
std::vector<Micros> Follow(const PlanProblem& problem, const PlanOrder& order);

// The least cost of any schedule, idle slots allowed: the best of all active schedules, among which for costs that do
// not fall when an end comes later there is a best one. For up to about 8 tasks.
double LeastCost(const PlanProblem& problem);

struct RandomShape {
  std::uint32_t jobs = 3;
  std::uint32_t maps = 3, reduces = 2;  // of a job, at most
  std::uint32_t slots = 3;              // of a kind, at most
  Micros task = 9;                      // at most
  bool waiting = false;                 // some jobs may not start yet
};
PlanProblem RandomProblem(std::mt19937_64* random, const RandomShape& shape);

}  // namespace millrace::sched
