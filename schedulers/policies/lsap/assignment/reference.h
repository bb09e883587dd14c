// The assignment of lsap without structure: the cost of a map in a slot as formula 1 has it, one by one, and the linear
// sum assignment problem as the textbooks have it, over a dense matrix. Tests hold TransferCosts and Assignment against
// them: each pair costs the same, and so does the plan. Thread rule: free functions, one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids/ids.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/policies/lsap/assignment/assignment.h"
#include "schedulers/policies/lsap/assignment/transfer_costs.h"

namespace millrace::sched {

// Returns what it costs to run the row's map in a free slot of the node (Guo et al., formula 1, rounded as
// TransferCosts::Round does); nothing if it may not run there.
[[nodiscard]] std::optional<Assignment::Cost> CostByFormula(const ClusterState& state, const TransferCosts::Row& row,
                                                            NodeId node, const TransferCosts::Options& options);

// Returns the least sum over all ways to give each worker an item of its own, or each item a worker if there are fewer
// items; cost[i][j] is that of worker i on item j. Requires: all rows are equally long. O(n^2 m).
[[nodiscard]] std::int64_t LeastDenseCost(const std::vector<std::vector<std::int64_t>>& cost);

}  // namespace millrace::sched
