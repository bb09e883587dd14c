// SPDX-License-Identifier: Apache-2.0
// The plan of MRCP by brute force: schedules made task by task, slot by slot, tick by tick, and the best of all
// schedules of a tiny problem. It shares no code with the planner. It is slow; only tests link it, to check the
// planner:
//
//   CostOf     problem.h    PlanCost is the same number
//   Follow     evaluator.h  Evaluator::ends are the same times, with and without checkpoints
//   LeastCost  bound.h      PlanBound is never above it
//              search.h     no plan costs less, and a plan marked optimal costs no more
#pragma once

#include <vector>

#include "schedulers/policies/cp/evaluator.h"
#include "schedulers/policies/cp/problem.h"

namespace millrace::sched {

// Returns the cost of jobs with these ends: the objective as docs/schedulers/policies.md#cp prints it.
[[nodiscard]] double CostOf(const PlanProblem& problem, const std::vector<Micros>& ends);

// Returns C_j of each job, by index, when free slots follow the order and never wait. Costs O(ticks x slots x chunks).
// Requires: each kind with a pending task has a slot; otherwise Follow loops for ever.
[[nodiscard]] std::vector<Micros> Follow(const PlanProblem& problem, const PlanOrder& order);

// Returns the least cost of any schedule, even one with idle slots. This is the cost of the best active schedule, since
// the cost never falls when an end comes later. LeastCost tries every order of the tasks, so it can handle about 8
// tasks. Requires: each kind with a pending task has a slot, and all tasks, run one after the other once every slot is
// free, end within kReferenceTicks of `now`.
[[nodiscard]] double LeastCost(const PlanProblem& problem);
inline constexpr Micros kReferenceTicks = 400;

}  // namespace millrace::sched
