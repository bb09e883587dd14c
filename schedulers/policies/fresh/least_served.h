// LeastServed: finds the job that has had the least of the cluster so far (FRESH, Algorithm 4 and equation 1;
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
// The print has only r_i. All jobs are equal when a batch starts, and the print would give every free slot of that
// moment to one job. The print knows no priorities; among jobs of one priority the order is that of the print.
//
// The order of the r_i changes even when only time passes, so no order is kept: First computes r_i of each job in line.
// FRESH's k bounds the line. For each job, the line holds the run time so far and its rate of growth, because a
// JobState spans many cache lines.
//
// Cost, for n jobs in line: Put and Remove take O(log n), and a move of part of the line when a job enters or leaves
// it; First takes O(n). Thread rule: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/cluster/job_state.h"

namespace millrace::sched {

class LeastServed {
 public:
  // Puts the job in line, or renews its figures if it is in line.
  void Put(const JobState& job);
  // Takes the job out of the line. Does nothing if it is not in line.
  void Remove(JobId job);
  [[nodiscard]] bool empty() const { return line_.empty(); }

  // Returns the least-served job in line that is not excluded; nothing if there is none.
  [[nodiscard]] std::optional<JobId> First(Micros now) const;
  // Leaves the job out of First until Readmit, or until it leaves the line. Requires: the job is in line.
  void Exclude(JobId job);
  // Lets First return excluded jobs again.
  void Readmit();
  // Returns the jobs in line, also excluded ones, the least-served first; ties by id.
  [[nodiscard]] std::vector<JobId> InOrder(Micros now) const;
  // Returns the jobs in line, by id.
  [[nodiscard]] std::vector<JobId> Jobs() const;

 private:
  struct Service {
    JobId job;
    bool excluded = false;
    bool has_started = false;
    std::uint32_t running = 0;  // tasks
    std::uint32_t weight = 0;   // 4 w_i, which is a whole number
    Micros started = 0;         // T_i
    Micros used_at_start = 0;   // slot time extrapolated back to `started` at the rate of the tasks that run now
  };
  // Returns r_i / w_i, in quarters.
  static double Share(const Service& service, Micros now);
  [[nodiscard]] std::vector<Service>::iterator Find(JobId job);

  std::vector<Service> line_;  // by job id
  bool any_excluded_ = false;
};

}  // namespace millrace::sched
