// Planner: where plans come from. `cp` hands it a picture of the cluster when something changed and takes plans as they
// come, without knowing whether the search runs here and now (simulator) or on a thread of its own (live master).
//
// The rule, as code:
//
//   inline      Submit(problem):  plan = SearchPlan(problem, by a number of evaluations)
//               TakePlan():       plan, the first time
//   background  Submit(problem):  number += 1;  leave (number, problem) for the thread, in place of one not yet begun
//               its thread:       take what was left, and SearchPlan until the budget is used up or `number` has grown;
//                                 leave each better plan, with the number of its problem, in place of one not yet taken
//               TakePlan():       the plan that was left, if its number is still the last
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "schedulers/policies/cp/plan/plan.h"
#include "schedulers/policies/cp/plan/problem.h"

namespace millrace::sched {

// Thread rule: calls come from one thread.
class Planner {
 public:
  virtual ~Planner() = default;
  // Makes plans for this problem from now on, and gives up the one that is being solved.
  virtual void Submit(PlanProblem problem) = 0;
  // Returns the best plan for the problem last submitted if there is a better one than at the last call, else null.
  virtual std::unique_ptr<const Plan> TakePlan() = 0;
  // Returns a planner that makes the same plans; null if that depends on time.
  [[nodiscard]] virtual std::unique_ptr<Planner> Clone() const { return nullptr; }
};

// Never has a plan.
[[nodiscard]] std::unique_ptr<Planner> MakeIdlePlanner();

// Solves in Submit(), by a number of evaluations and no clock: the same problems give the same plans.
[[nodiscard]] std::unique_ptr<Planner> MakeInlinePlanner(std::uint64_t evaluations);

struct BackgroundLimits {
  Micros budget = 100'000;        // of one problem, in the unit of `clock`
  std::function<Micros()> clock;  // monotonic; called on the planner's thread
};
// Solves on a thread of its own, which sleeps while there is nothing to solve. Neither call waits for it; destruction
// waits for the evaluation (or proof) that is under way, at most some 10 ms.
[[nodiscard]] std::unique_ptr<Planner> MakeBackgroundPlanner(BackgroundLimits limits);

}  // namespace millrace::sched
