// SPDX-License-Identifier: Apache-2.0
// Fair shares: weighted max-min with minimum guarantees (Zaharia et al. appendix A; docs/schedulers/policies.md#fair).
//
// Water is poured into buckets. A claimant whose demand is at most its minimum gets its demand, the others get their
// minimum, and the rest goes to the lowest share/weight first until demand or maximum is met. So a share is min(demand,
// maximum, max(minimum, weight x level)), with the one level at which the shares add up to the capacity.
//
// Minima that do not fit are scaled down in proportion, by the largest factor at which all min(demand, factor x
// minimum) add up to the capacity. The part of a minimum that its claimant cannot use does not reduce the minima of
// others.
//
// The functions are pure. fair_queue.h keeps the same shares up to date as single claims change.
#pragma once

#include <limits>
#include <vector>

namespace millrace::sched {

struct ShareClaim {
  double weight = 1;   // above 0
  double minimum = 0;  // slots
  double demand = 0;
  double maximum = std::numeric_limits<double>::infinity();  // takes precedence over the minimum
};

// Returns the shares in slots, in the order of the claims. They add up to the capacity or to the total of the claims,
// whichever is less. O(n log n). Requires: capacity >= 0.
[[nodiscard]] std::vector<double> FairShares(double capacity, const std::vector<ShareClaim>& claims);

// Returns the granted minima: min(demand, maximum, minimum), scaled down if they do not fit.
[[nodiscard]] std::vector<double> GrantedMinima(double capacity, const std::vector<ShareClaim>& claims);

}  // namespace millrace::sched
