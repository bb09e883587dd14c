// LeastServed: which of some jobs has had the least of the cluster so far (FRESH, Algorithm 4 and equation 1):
//
//   r_i = (run times of its finished and running tasks, of maps and reduces together) / (now - T_i)
//
// T_i is when the job's first task started. A job that has not started has had nothing. Among equals, as all jobs are
// when a batch starts, the job with the fewest running tasks comes first, then the one with the lowest id; the print
// would give all free slots of a moment to one job.
//
// The run time is kept as a sum and as how fast it grows. The order of the r_i changes even when only time passes, so
// First looks at each job in line; FRESH's k bounds the line. Without k the line is long, so the figures lie apart from
// the jobs, column by column, in blocks that the compiler compares in vectors with the first job so far. Only a block
// with a job that goes before that one is looked at job by job: of n jobs in no order, these are about ln n blocks.
//
// Cost: a change is O(1), and First is O(jobs in line). Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/cluster/job_state.h"

namespace millrace::sched {

class LeastServed {
 public:
  // Puts the job in line, or renews its figures if it stands there.
  void Put(const JobState& job);
  void Remove(JobId job);
  [[nodiscard]] bool empty() const { return size_ == 0; }

  // Returns the least-served job in line that is not excluded; nothing if there is none. Exclude leaves the job out
  // until Readmit, which takes all jobs in again.
  [[nodiscard]] std::optional<JobId> First(Micros now) const;
  void Exclude(JobId job);
  void Readmit();
  // Returns the jobs in line, by id.
  [[nodiscard]] std::vector<JobId> Jobs() const;

 private:
  static constexpr std::size_t kBlock = 8;  // doubles of a cache line
  static constexpr std::uint32_t kNowhere = 0xffffffff;

  // The figures of kBlock seats in the line, those of each seat at the same index. An empty seat is not open.
  struct alignas(64) Block {
    double used[kBlock] = {};        // slot-us at `base_`, if the running tasks had run since then
    double running[kBlock] = {};     // tasks
    double started[kBlock] = {};     // us after `base_`; past any time if it has not
    std::int64_t rank[kBlock] = {};  // among equals: running tasks, then job id
    std::int64_t open[kBlock] = {};  // may be chosen: all bits, or none
  };
  // What a seat claims at some time: r is used / age.
  struct Claim {
    double used = 0;
    double age = 1;
    std::int64_t rank = 0;
  };
  static Claim ClaimOf(const Block& block, std::size_t at, double now);
  static bool Less(const Claim& a, const Claim& b);
  // Returns true if an open seat of the block goes before `than`.
  static bool AnyLess(const Block& block, double now, Claim than);

  [[nodiscard]] Block& BlockOf(std::uint32_t seat) { return line_[seat / kBlock]; }
  [[nodiscard]] JobId JobAt(std::size_t seat) const {
    return {static_cast<std::uint32_t>(line_[seat / kBlock].rank[seat % kBlock])};
  }

  std::optional<Micros> base_;        // so that figures stay small
  std::vector<Block> line_;           // in no order; seats from size_ on are empty
  std::uint32_t size_ = 0;            // jobs in line
  std::vector<std::uint32_t> place_;  // seat by job id
};

}  // namespace millrace::sched
