// SPDX-License-Identifier: Apache-2.0
#include "lab/measure/fairness.h"

#include <cmath>

namespace millrace::sched {

double OverallFairness(const std::vector<double>& usages) {
  double sum = 0, squares = 0;
  for (const double usage : usages) {
    sum += usage;
    squares += usage * usage;
  }
  return squares > 0 ? sum * sum / (static_cast<double>(usages.size()) * squares) : 1;
}

double FairnessDistance(const std::vector<GroupShare>& groups) {
  if (groups.empty()) return 0;
  double sum = 0;
  for (const GroupShare& group : groups) sum += std::abs(group.share - group.weight) / group.weight;
  return sum / static_cast<double>(groups.size());
}

}  // namespace millrace::sched
