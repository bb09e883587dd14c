// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/lsap/reference.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "schedulers/policies/lsap/idle_slots.h"

namespace millrace::sched {
namespace {

using Matrix = std::vector<std::vector<std::int64_t>>;
constexpr std::int64_t kInfinity = std::numeric_limits<std::int64_t>::max() / 4;

Matrix Transposed(const Matrix& cost) {
  Matrix turned(cost[0].size(), std::vector<std::int64_t>(cost.size()));
  for (std::size_t i = 0; i < cost.size(); ++i) {
    for (std::size_t j = 0; j < cost[i].size(); ++j) turned[j][i] = cost[i][j];
  }
  return turned;
}

// The Hungarian method: rows one by one, each by a shortest augmenting path; column 0 and row 0 are auxiliary.
class Hungarian {
 public:
  explicit Hungarian(const Matrix& cost)
      : cost_(cost), u_(cost.size() + 1), v_(cost[0].size() + 1), row_of_(v_.size()), way_(v_.size()) {}

  void Add(std::size_t row) {
    row_of_[0] = row;
    std::size_t column = 0;
    least_.assign(v_.size(), kInfinity);
    used_.assign(v_.size(), false);
    do column = Grow(column);
    while (row_of_[column] != 0);
    for (; column != 0; column = way_[column]) row_of_[column] = row_of_[way_[column]];
  }
  [[nodiscard]] std::int64_t Sum() const {
    std::int64_t sum = 0;
    for (std::size_t j = 1; j < row_of_.size(); ++j) {
      if (row_of_[j] != 0) sum += cost_[row_of_[j] - 1][j - 1];
    }
    return sum;
  }

 private:
  std::size_t Grow(std::size_t from) {
    used_[from] = true;
    const std::size_t i = row_of_[from];
    std::size_t next = 0;
    std::int64_t delta = kInfinity;
    for (std::size_t j = 1; j < v_.size(); ++j) {
      if (used_[j]) continue;
      const std::int64_t reduced = cost_[i - 1][j - 1] - u_[i] - v_[j];
      if (reduced < least_[j]) {
        least_[j] = reduced;
        way_[j] = from;
      }
      if (least_[j] < delta) {
        delta = least_[j];
        next = j;
      }
    }
    for (std::size_t j = 0; j < v_.size(); ++j) {
      if (used_[j]) {
        u_[row_of_[j]] += delta;
        v_[j] -= delta;
      } else {
        least_[j] -= delta;
      }
    }
    return next;
  }

  const Matrix& cost_;
  std::vector<std::int64_t> u_, v_, least_;
  std::vector<std::size_t> row_of_, way_;
  std::vector<bool> used_;
};

}  // namespace

std::optional<Assignment::Cost> CostByFormula(const ClusterState& state, const TransferCosts::Row& row, NodeId node,
                                              const TransferCosts::Options& options) {
  if (std::find(row.closed.begin(), row.closed.end(), node) != row.closed.end()) return std::nullopt;
  const auto& replicas = row.input->replicas;
  if (state.topology().Distance(node, replicas) > row.worst) return std::nullopt;
  const auto fixed = static_cast<Assignment::Cost>(row.fixed * TransferCosts::kUnit);
  double bandwidth = 0;
  for (const NodeId replica : replicas) {
    if (replica == node) return fixed;
    if (state.topology().Of(replica) == Location{}) continue;
    bandwidth = std::max(bandwidth, state.bandwidths().Between(replica, node, state.topology(), options.configured));
  }
  if (bandwidth == 0) bandwidth = options.configured.off;  // no replica is anywhere
  const double free = IdleSlots::FreeMapSlots(*state.FindNode(node));
  const double seconds = options.uniform ? 1 : static_cast<double>(row.input->bytes) / bandwidth * free;
  return fixed + TransferCosts::Round(seconds * row.weight * TransferCosts::kUnit);
}

std::int64_t LeastDenseCost(const Matrix& cost) {
  if (cost.empty() || cost[0].empty()) return 0;
  if (cost.size() > cost[0].size()) return LeastDenseCost(Transposed(cost));
  Hungarian hungarian(cost);
  for (std::size_t row = 1; row <= cost.size(); ++row) hungarian.Add(row);
  return hungarian.Sum();
}

}  // namespace millrace::sched
