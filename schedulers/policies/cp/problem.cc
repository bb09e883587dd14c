// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/cp/problem.h"

#include <algorithm>
#include <cmath>

namespace millrace::sched {

double Lateness(const PlanObjective& objective, const PlanJob& job, Micros end) {
  if (!job.deadline) return 0;
  if (end > *job.deadline) return 1;
  return 0.9 * std::exp(-static_cast<double>(*job.deadline - end) / static_cast<double>(objective.tau));
}

double PlanCost(const PlanProblem& problem, std::span<const Micros> ends) {
  const bool mix = problem.objective.kind == PlanObjective::Kind::kMix;
  double late = mix ? 0 : problem.fixed_late;
  double total = 0;
  Micros worst = problem.fixed_worst;
  for (std::size_t i = 0; i < problem.jobs.size(); ++i) {
    const PlanJob& job = problem.jobs[i];
    const Micros turnaround = ends[i] - job.submitted;
    total += static_cast<double>(turnaround);
    worst = std::max(worst, turnaround);
    late += mix ? Lateness(problem.objective, job, ends[i]) : job.deadline && ends[i] > *job.deadline ? 1 : 0;
  }
  if (!mix) return (late + 1) * static_cast<double>(worst);
  return late + total / static_cast<double>(problem.objective.total_scale) +
         static_cast<double>(worst) / static_cast<double>(problem.objective.worst_scale);
}

}  // namespace millrace::sched
