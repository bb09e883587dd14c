// The linear sum assignment problem as the textbooks have it: a dense matrix, O(n^2 m), no structure. What the solver
// of the product is compared with.
#pragma once

#include <cstdint>
#include <vector>

namespace millrace::sched {

// cost[i][j] of worker i on item j; all rows equally long. Returns the least sum over all ways to give each worker an
// item of his own, or each item a worker if there are fewer items.
std::int64_t LeastDenseCost(const std::vector<std::vector<std::int64_t>>& cost);

}  // namespace millrace::sched
