// SPDX-License-Identifier: Apache-2.0
// The search for a plan (docs/schedulers/policies.md#cp).
//
// The rule, as code; it stops as soon as the best order costs no more than PlanBound (bound.h), or at its limits, or
// when it has made 200 moves, and 20 more for each chunk, without progress:
//
//   best = the cheapest of StartOrders(problem)                           // orders.h: eight
//   if there are at most 6 jobs: best = the cheapest of all orders of jobs
//   else:                        Climb(MoveJob), for 9 of 10 evaluations  // orders.h
//   cut the maps of each job into up to 4 chunks, and Climb(MoveChunk) for the rest of the evaluations
//
//   Climb(move), from now = best until it makes no progress:              // late acceptance, Burke and Bykov 2017
//     next = move(now)
//     if next costs less than best: best = next, and hand it out
//     if next costs no more than now does, or did 4 moves ago: now = next
//
// The search is anytime: each better plan is handed out at once. It is pure, and deterministic as long as `stop` is:
// the same problem and limits give the same plan.
//
// A plan never costs less than LeastCost (reference.h), the best of all schedules, and costs no more if it is marked
// optimal. It may miss that cost where the best schedule lets a slot idle, since no order does that.
#pragma once

#include <cstdint>
#include <functional>

#include "schedulers/policies/cp/problem.h"

namespace millrace::sched {

struct SearchLimits {
  std::uint64_t evaluations = 2'000;  // at least 1: the first order is always evaluated
  std::function<bool()> stop = {};    // called before each evaluation; empty: never stops
  std::uint64_t seed = 1;             // for the random moves
};

using OnBetter = std::function<void(const Plan&)>;  // may be empty

// Returns the best plan found; an empty plan for a problem without jobs.
[[nodiscard]] Plan SearchPlan(const PlanProblem& problem, const SearchLimits& limits, const OnBetter& on_better = {});

}  // namespace millrace::sched
