// Prover: proves that no schedule of a problem beats a cost. There is one only if Gecode is in the build; otherwise a
// plan is known to be the best only if it meets the bound (bound.h). A prover never calls a cost unbeaten that is above
// LeastCost (reference.h).
#pragma once

#include <memory>

#include "schedulers/policies/cp/plan/problem.h"

namespace millrace::sched {

class Prover {
 public:
  virtual ~Prover() = default;
  // Returns true if no schedule at all, idle slots allowed, costs less than `cost` (up to rounding errors); false if
  // that is not known.
  [[nodiscard]] virtual bool NothingBelow(const PlanProblem& problem, double cost) = 0;
};

// Returns a prover; null without Gecode.
[[nodiscard]] std::unique_ptr<Prover> MakeProver();

}  // namespace millrace::sched
