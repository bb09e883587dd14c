// LeastServed: which of some jobs has had the least of the cluster so far (FRESH, Algorithm 4 and equation 1):
//
//   r_i = (run times of its finished and running tasks, of maps and reduces together) / (now - T_i)
//
// T_i when its first task started. A job that has not started has had nothing. Among equals, as all are when a batch
// starts, the one with the fewest running tasks, then the lowest id: the print would give all free slots of a moment to
// the first.
//
// The run time is kept as a sum, and how fast it grows, so a question costs O(jobs that stand in line), a
// multiplication or two each: the order of the r_i changes with time alone. FRESH's k bounds the line. Thread rule: one
// thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedulers/core/ids.h"
#include "schedulers/core/job_state.h"

namespace millrace::sched {

class LeastServed {
 public:
  // The job stands in line, with figures as they are now.
  void Put(const JobState& job);
  void Remove(JobId job);
  [[nodiscard]] bool empty() const { return line_.empty(); }

  // The one of which Excluded was not said since the last Readmit.
  [[nodiscard]] std::optional<JobId> First(Time now) const;
  void Exclude(JobId job);
  void Readmit();
  // In line, by job id.
  [[nodiscard]] std::vector<JobId> Jobs() const;

 private:
  struct Entry {
    JobId job;
    bool excluded = false;
    double used = 0;     // slot-us at `base_`, if the running tasks had run since then
    double running = 0;  // tasks
    double started = 0;  // us after `base_`; past any time if it has not
  };
  static constexpr std::uint32_t kNowhere = 0xffffffff;
  static bool Less(const Entry& a, const Entry& b, double now);
  Entry& Find(JobId job) { return line_[place_[job.value]]; }

  std::optional<Time> base_;          // so that figures stay small
  std::vector<Entry> line_;           // in no order
  std::vector<std::uint32_t> place_;  // in line_, by job id
};

}  // namespace millrace::sched
