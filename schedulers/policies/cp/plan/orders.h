// Orders of jobs that a search starts from. Pure; ties go to the lower index.
#pragma once

#include <cstdint>
#include <vector>

#include "schedulers/policies/cp/plan/problem.h"

namespace millrace::sched {

// The problem's jobs by index.
using JobSequence = std::vector<std::uint32_t>;

// By deadline; jobs without one last, in submit order.
[[nodiscard]] JobSequence EarliestDeadline(const PlanProblem& problem);
// By deadline - the end if the job had all slots to itself (`alone`, bound.h).
[[nodiscard]] JobSequence LeastSlack(const PlanProblem& problem, const std::vector<Micros>& alone);
// By what is left to do: slot time over slots, maps and reduces together.
[[nodiscard]] JobSequence ShortestWork(const PlanProblem& problem);
// By deadline those that Moore and Hodgson's rule keeps in time, then the others by what is left to do.
[[nodiscard]] JobSequence MooreHodgson(const PlanProblem& problem);
// By deadline, those that can no longer make it last.
[[nodiscard]] JobSequence HopelessLast(const PlanProblem& problem, const std::vector<Micros>& alone);
// Johnson's rule for two machines: first those with less map than reduce work, by rising map work, then by falling
// reduce work.
[[nodiscard]] JobSequence Johnson(const PlanProblem& problem);
// The longest waiting first.
[[nodiscard]] JobSequence Oldest(const PlanProblem& problem);
// `previous` of the problem, and each job that it does not name before the first with a later deadline.
[[nodiscard]] JobSequence Previous(const PlanProblem& problem);

// The eight, the first is Previous.
[[nodiscard]] std::vector<JobSequence> StartOrders(const PlanProblem& problem, const std::vector<Micros>& alone);

}  // namespace millrace::sched
