// Prover: proves that no schedule of a problem beats a cost. There is a prover only if Gecode is in the build;
// otherwise a plan is known to be the best only if it meets the bound (bound.h). A prover never claims that no schedule
// beats a cost above LeastCost (reference.h).
#pragma once

#include <memory>

#include "schedulers/policies/cp/plan/problem.h"

namespace millrace::sched {

class Prover {
 public:
  virtual ~Prover() = default;
  // Returns true if no schedule at all, even one with idle slots, costs less than `cost` (up to rounding errors); false
  // if this is not known.
  [[nodiscard]] virtual bool NothingBelow(const PlanProblem& problem, double cost) = 0;
};

// Returns a prover; null without Gecode.
[[nodiscard]] std::unique_ptr<Prover> MakeProver();

}  // namespace millrace::sched
