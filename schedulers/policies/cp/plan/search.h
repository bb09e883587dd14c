// The search for a plan (docs/policies.md#cp): the best of eight orders of jobs, then all orders of up to 6 jobs or
// else local search on the order, then local search on chunks of maps and on the order of the reduces.
//
// Anytime: each better plan is handed out at once. It stops at the lower bound, when the prover says that there is
// nothing better, when it no longer gets on, or at its limits. Pure and deterministic as long as `stop` is: the same
// problem and limits give the same plan.
//
// A plan never costs less than LeastCost (reference.h), the best of all schedules, and no more when it says that it is
// optimal. It may miss that cost where the best schedule lets a slot wait, which no order does.
#pragma once

#include <cstdint>
#include <functional>

#include "schedulers/policies/cp/plan/plan.h"
#include "schedulers/policies/cp/plan/problem.h"
#include "schedulers/policies/cp/plan/prover.h"

namespace millrace::sched {

struct SearchLimits {
  std::uint64_t evaluations = 2'000;  // at least 1: the first order is always costed
  std::function<bool()> stop = {};    // asked before each evaluation; empty: never
  std::uint64_t seed = 1;             // of its random moves
  Prover* prover = nullptr;           // null: none
};

using OnBetter = std::function<void(const Plan&)>;  // may be empty

// Returns the best plan found; for a problem without jobs an empty one.
[[nodiscard]] Plan SearchPlan(const PlanProblem& problem, const SearchLimits& limits, const OnBetter& on_better = {});

}  // namespace millrace::sched
