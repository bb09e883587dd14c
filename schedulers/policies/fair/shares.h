// Fair shares: weighted max-min with minimum guarantees (Zaharia et al. appendix A; docs/policies.md#fair).
//
// Water is poured into buckets. A claimant whose demand is at most its minimum gets its demand, the others get their
// minimum, and what is left goes to the lowest share/weight first until demand or maximum is met. So a share is
// min(demand, maximum, max(minimum, weight x level)), with the one level at which the shares add up to the capacity.
//
// Minima that do not fit are scaled down in proportion, by the largest factor at which min(demand, factor x minimum)
// add up to the capacity; what a claimant cannot use of its minimum is no reason to cut those of others.
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
  double maximum = std::numeric_limits<double>::infinity();  // counts before the minimum
};

// Returns the shares in slots, in the order of the claims. They add up to the capacity or to what is asked for,
// whichever is less. O(n log n). Requires: capacity >= 0.
[[nodiscard]] std::vector<double> FairShares(double capacity, const std::vector<ShareClaim>& claims);

// Returns the minima as they can be granted: min(demand, maximum, minimum), scaled down if they do not fit.
[[nodiscard]] std::vector<double> GrantedMinima(double capacity, const std::vector<ShareClaim>& claims);

}  // namespace millrace::sched
