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
// By remaining work: slot time over slots, maps and reduces together.
[[nodiscard]] JobSequence ShortestWork(const PlanProblem& problem);
// First the jobs that Moore and Hodgson's rule keeps in time, by deadline; then the others, by remaining work.
[[nodiscard]] JobSequence MooreHodgson(const PlanProblem& problem);
// By deadline; jobs that can no longer meet it come last.
[[nodiscard]] JobSequence HopelessLast(const PlanProblem& problem, const std::vector<Micros>& alone);
// Johnson's rule for two machines: first those with less map than reduce work, by rising map work, then by falling
// reduce work.
[[nodiscard]] JobSequence Johnson(const PlanProblem& problem);
// The longest waiting first.
[[nodiscard]] JobSequence Oldest(const PlanProblem& problem);
// `previous` of the problem; each job that it does not name goes before the first one with a later deadline.
[[nodiscard]] JobSequence Previous(const PlanProblem& problem);

// Returns these eight orders, Previous first.
[[nodiscard]] std::vector<JobSequence> StartOrders(const PlanProblem& problem, const std::vector<Micros>& alone);

}  // namespace millrace::sched
