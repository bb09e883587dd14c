// Finds the job that has had the least of the cluster so far (FRESH, Algorithm 4 and equation 1;
// docs/schedulers/policies.md#fresh).
//
// The rule, as code:
//
//   r_i = 0 if job i has not started before now, else
//         (run times of its finished and running tasks, of maps and reduces together) / (now - T_i),
//         where T_i is the time at which its first task started;
//   w_i = 4, 2, 1, 0.5 or 0.25 by the priority of job i, VERY_HIGH to VERY_LOW, as in `fair`;
//   the first job = the least by (r_i / w_i, running tasks / w_i, job id).
//
// The paper has only r_i. All jobs are equal when a batch starts, and the paper's rule would give every free slot of
// that moment to one job. The paper has no priorities; among jobs of one priority the order is the paper's.
//
// The order of the r_i changes even when only time passes, so no order is kept. Fractions are compared as whole
// numbers, so equal ones are equal. Thread rule: free functions over their arguments. O(1) each.
#pragma once

#include <cstdint>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/cluster/job_state.h"

namespace millrace::sched {

// A job's use of the cluster: r_i = used / age.
struct ServiceFraction {
  JobId job;
  std::uint32_t running = 0;  // tasks
  std::uint32_t weight = 4;   // 4 w_i, which is a whole number
  Micros used = 0;            // run times of all tasks, finished and running
  Micros age = 1;             // now - T_i; a job that has not started before now has 0 / 1
};

// Returns the fraction of the job at `now`.
[[nodiscard]] ServiceFraction ServiceOf(const JobState& job, Micros now);
// Returns true if the job of `a` comes before that of `b`. This is a strict order of jobs with different ids.
[[nodiscard]] bool LeastServedFirst(const ServiceFraction& a, const ServiceFraction& b);

}  // namespace millrace::sched
