// Prover: says that no schedule of a problem beats a cost. With Gecode in the build there is one, else none: a plan is
// then known to be the best only if it meets the bound (bound.h). A prover never calls a cost unbeaten that is
// above LeastCost (reference.h).
#pragma once

#include <memory>

#include "schedulers/policies/cp/plan/problem.h"

namespace millrace::sched {

class Prover {
 public:
  virtual ~Prover() = default;
  // Returns true if no schedule at all, idle slots allowed, costs less than `cost` (but for rounding errors); false if
  // that is not known.
  [[nodiscard]] virtual bool NothingBelow(const PlanProblem& problem, double cost) = 0;
};

// Returns null without Gecode.
[[nodiscard]] std::unique_ptr<Prover> MakeProver();

}  // namespace millrace::sched
