// LeastServed: which of some jobs has had the least of the cluster so far (FRESH, Algorithm 4 and equation 1):
//
//   r_i = (run times of its finished and running tasks, of maps and reduces together) / (now - T_i)
//
// T_i when its first task started. A job that has not started has had nothing. Among equals, as all are when a batch
// starts, the one with the fewest running tasks, then the lowest id: the print would give all free slots of a moment to
// the first.
//
// The run time is kept as a sum, and how fast it grows. The order of the r_i changes with time alone, so a question
// looks at each job that stands in line; FRESH's k bounds the line. Without k it is long, so the figures lie apart from
// the jobs, column by column, in blocks that the compiler compares in vectors with the first so far. Only a block that
// has somebody to go before that one is looked at job by job: of n jobs in no order, ln n blocks or so.
//
// Cost: O(1) a change, O(jobs in line) a question. Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/core/job_state.h"

namespace millrace::sched {

class LeastServed {
 public:
  // The job stands in line, with figures as they are now.
  void Put(const JobState& job);
  void Remove(JobId job);
  [[nodiscard]] bool empty() const { return size_ == 0; }

  // The one of which Excluded was not said since the last Readmit.
  [[nodiscard]] std::optional<JobId> First(Micros now) const;
  void Exclude(JobId job);
  void Readmit();
  // In line, by job id.
  [[nodiscard]] std::vector<JobId> Jobs() const;

 private:
  static constexpr std::size_t kBlock = 8;  // doubles of a cache line
  static constexpr std::uint32_t kNowhere = 0xffffffff;

  // Of so many seats in the line, the figures of each at the same index. An empty seat is not open.
  struct alignas(64) Block {
    double used[kBlock] = {};        // slot-us at `base_`, if the running tasks had run since then
    double running[kBlock] = {};     // tasks
    double started[kBlock] = {};     // us after `base_`; past any time if it has not
    std::int64_t rank[kBlock] = {};  // among equals: running tasks, then job id
    std::int64_t open[kBlock] = {};  // may be chosen: all bits, or none
  };
  // A seat at some time: r is used / age.
  struct Claim {
    double used = 0;
    double age = 1;
    std::int64_t rank = 0;
  };
  static Claim ClaimOf(const Block& block, std::size_t at, double now);
  static bool Less(const Claim& a, const Claim& b);
  // Of an open seat.
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
