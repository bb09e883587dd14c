// A cost that no schedule of a problem can beat, whether it follows an order or not.
//
// Each job ends no sooner than it would alone. Together the jobs cannot use more map slot time than there is before a
// moment, which bounds the number of late jobs (Moore and Hodgson's rule on one machine that is as fast as all slots),
// the sum of the turnarounds (shortest work first on that machine) and the worst of them; the same for reduces.
// It is never above LeastCost (reference.h). Pure. O(jobs log jobs + jobs x groups of slots).
#pragma once

#include <vector>

#include "schedulers/policies/cp/plan/problem.h"

namespace millrace::sched {

// Returns when each job would end if no other job had pending tasks, by index: no schedule ends it sooner.
[[nodiscard]] std::vector<Micros> AloneEnds(const PlanProblem& problem);
// Requires: `alone` is AloneEnds of the problem.
[[nodiscard]] double PlanBound(const PlanProblem& problem, const std::vector<Micros>& alone);

// Returns a lower bound of how many jobs with these works and due dates must be late on slots that become free as said.
// `work` is in slot time. Requires: `due` is below kNever.
struct DueWork {
  Micros due = 0;
  double work = 0;
};
[[nodiscard]] std::uint32_t FewestLate(const std::vector<SlotGroup>& slots, std::vector<DueWork> jobs);

}  // namespace millrace::sched
