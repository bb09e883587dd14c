// SPDX-License-Identifier: Apache-2.0
// Planner: the source of plans. `cp` hands it a picture of the cluster after a change and takes plans as they come,
// without knowing whether the search runs inline (simulator) or on a thread of its own (live master).
//
// The rule, as code:
//
//   inline      Submit(problem):  plan = SearchPlan(problem, by a number of evaluations)
//               TakePlan():       plan, on the first call
//   background  Submit(problem):  number += 1;  leave (number, problem) for the thread, in place of one not yet begun
//               its thread:       take that pair, and SearchPlan until the budget is used up or `number` has grown;
//                                 leave each better plan, with the number of its problem, in place of one not yet taken
//               TakePlan():       the plan left last, if its number is still `number`
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "schedulers/policies/cp/problem.h"

namespace millrace::sched {

// Thread rule: calls come from one thread.
class Planner {
 public:
  virtual ~Planner() = default;
  // Makes plans for this problem from now on, and gives up the problem submitted before.
  virtual void Submit(PlanProblem problem) = 0;
  // Returns the best plan for the problem last submitted if that plan is better than the one at the last call, else
  // null.
  virtual std::unique_ptr<const Plan> TakePlan() = 0;
  // Returns a planner that makes the same plans; null if its plans depend on time.
  [[nodiscard]] virtual std::unique_ptr<Planner> Clone() const { return nullptr; }
};

// Returns a planner that never has a plan.
[[nodiscard]] std::unique_ptr<Planner> MakeIdlePlanner();

// Returns a planner that solves in Submit(), by a number of evaluations and no clock: the same problems give the same
// plans.
[[nodiscard]] std::unique_ptr<Planner> MakeInlinePlanner(std::uint64_t evaluations);

struct BackgroundLimits {
  Micros budget = 100'000;        // for one problem, in the unit of `clock`
  std::function<Micros()> clock;  // monotonic; called on the planner's thread
};
// Returns a planner that solves on a thread of its own, which sleeps while there is nothing to solve. Neither call
// waits for the thread. Destruction waits for the evaluation under way, at most about 10 ms.
[[nodiscard]] std::unique_ptr<Planner> MakeBackgroundPlanner(BackgroundLimits limits);

}  // namespace millrace::sched
