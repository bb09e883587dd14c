// The plan of MRCP by brute force: schedules made task by task, slot by slot, tick by tick, and the best of all
// schedules of a tiny problem, with none of the code that plans. It is slow, and only tests link it. They hold the
// planner to it:
//
//   CostOf     problem.h    PlanCost is the same number
//   Follow     evaluator.h  Evaluator::ends are the same times, with and without checkpoints
//   LeastCost  bound.h      PlanBound is never above it
//              search.h     no plan costs less, and one that says it is optimal costs no more
//              prover.h     no cost above it is called unbeaten; Gecode, left to search, finds the same
#pragma once

#include <vector>

#include "schedulers/policies/cp/plan/evaluator.h"
#include "schedulers/policies/cp/plan/problem.h"

namespace millrace::sched {

// Returns what jobs that end then cost: the objective as docs/policies.md#cp prints it.
[[nodiscard]] double CostOf(const PlanProblem& problem, const std::vector<Micros>& ends);

// Returns C_j of each job, by index, when free slots follow the order and never wait. Costs O(ticks x slots x chunks).
// Requires: there is a slot of each kind of which a task is pending; without one this loops for ever.
[[nodiscard]] std::vector<Micros> Follow(const PlanProblem& problem, const PlanOrder& order);

// Returns the least cost of any schedule, idle slots allowed: that of the best active schedule, since the cost is no
// less when an end comes later. It tries every order of the tasks, so a problem has at most about 8.
// Requires: there is a slot of each kind of which a task is pending, and all tasks, run one after the other once every
// slot is free, end within kReferenceTicks of `now`.
[[nodiscard]] double LeastCost(const PlanProblem& problem);
inline constexpr Micros kReferenceTicks = 400;

}  // namespace millrace::sched
