// SPDX-License-Identifier: Apache-2.0
// The fairness of a schedule, as two metrics for every scheduler (docs/schedulers/policies.md#metrics).
//
// The functions are pure. A caller that samples them through a run takes the mean over time.
#pragma once

#include <vector>

namespace millrace::sched {

// Returns the overall fairness F (FRESH): Jain's index of r_i, the slot time that an active job has used / the time
// since it started. It is 1 if all jobs are alike, 1/n if one of n jobs has everything, and 1 if there are no jobs or
// no job has used anything.
[[nodiscard]] double OverallFairness(const std::vector<double>& usages);

struct GroupShare {
  double share = 0;   // of the running maps of all groups
  double weight = 0;  // of the weights of all groups; above 0
};
// Returns the fairness distance d (Guo et al.): the mean over groups of |share - weight| / weight. It is 0 if the
// shares equal the weights, and 0 without groups. Requires: the shares add up to 1, and so do the weights.
[[nodiscard]] double FairnessDistance(const std::vector<GroupShare>& groups);

}  // namespace millrace::sched
