// How fair a schedule is, in two figures. Metrics for every scheduler (docs/policies.md#metrics).
//
// Pure arithmetic; who samples them through a run takes the mean over time.
#pragma once

#include <vector>

namespace millrace::sched {

// Overall fairness F (FRESH): Jain's index of r_i, the slot time that an active job has used over the time since it
// started. 1: all the same; 1/n: one of n has everything. 1 without jobs, and when no job has used anything.
[[nodiscard]] double OverallFairness(const std::vector<double>& usages);

struct GroupShare {
  double share = 0;   // of the running maps of all groups
  double weight = 0;  // of the weights of all groups; above 0
};
// Fairness distance d (Guo et al.): the mean over groups of |share - weight| / weight. 0: as the weights say. Both
// columns add up to 1. 0 without groups.
[[nodiscard]] double FairnessDistance(const std::vector<GroupShare>& groups);

}  // namespace millrace::sched
