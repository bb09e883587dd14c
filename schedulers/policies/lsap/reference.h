// SPDX-License-Identifier: Apache-2.0
// The assignment of lsap without the structure that makes it fast: the cost of each map in each slot, computed pair by
// pair with formula 1, and the textbook linear sum assignment problem over a dense matrix. Tests check that
// TransferCosts gives each pair the same cost, and that the plan of Assignment has the same cost. Thread rule: free
// functions, one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids/ids.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/policies/lsap/assignment.h"
#include "schedulers/policies/lsap/transfer_costs.h"

namespace millrace::sched {

// Returns the cost of the row's map in a free slot of the node (Guo et al., formula 1, rounded by
// TransferCosts::Round); nothing if the map may not run there.
[[nodiscard]] std::optional<Assignment::Cost> CostByFormula(const ClusterState& state, const TransferCosts::Row& row,
                                                            NodeId node, const TransferCosts::Options& options);

// Returns the least sum over all ways to give each worker an item of its own, or each item a worker if there are fewer
// items; cost[i][j] is that of worker i on item j. Requires: all rows have the same length. O(n^2 m).
[[nodiscard]] std::int64_t LeastDenseCost(const std::vector<std::vector<std::int64_t>>& cost);

}  // namespace millrace::sched
