// Plan: the order, found for a PlanProblem, in which free slots are offered to jobs. Only this order is followed, not
// the start times of tasks; cp_order.h has the rule.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids/ids.h"

namespace millrace::sched {

struct PlanChunk {
  JobId job;
  std::uint32_t maps = 0;  // at least 1
  bool operator==(const PlanChunk&) const = default;
};

struct Plan {
  std::vector<PlanChunk> maps;    // the chunks of a job together have all its pending maps
  std::vector<JobId> reduces;     // all jobs of the problem
  double cost = 0;                // in the problem's objective
  double bound = 0;               // no schedule costs less
  bool optimal = false;           // true: proven that no schedule costs less
  std::uint64_t evaluations = 0;  // orders evaluated to find it
};

}  // namespace millrace::sched
