// SPDX-License-Identifier: Apache-2.0
#include "dfs/name/balancer.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/check.h"

namespace millrace::dfs {

Shares::Shares(const std::vector<NodeUse>& nodes, double threshold) : threshold_(threshold) {
  double used = 0, capacity = 0;
  for (const NodeUse& node : nodes) {
    MILLRACE_CHECK(node.capacity > 0, "node " + std::to_string(node.node.value) + " has no capacity, and so no share");
    nodes_.push_back({node.node, static_cast<double>(node.used), static_cast<double>(node.capacity)});
    used += nodes_.back().used;
    capacity += nodes_.back().capacity;
  }
  if (capacity > 0) mean_ = used / capacity;
}

std::uint64_t Shares::BytesLeft() const {
  double too_much = 0, too_little = 0;
  for (const NodeShare& node : nodes_) {
    too_much += std::max(0.0, (node.Share() - mean_ - threshold_) * node.capacity);
    too_little += std::max(0.0, (mean_ - threshold_ - node.Share()) * node.capacity);
  }
  return static_cast<std::uint64_t>(std::round(std::max(too_much, too_little)));
}

double Shares::Largest() const {
  double largest = 0;
  for (const NodeShare& node : nodes_) largest = std::max(largest, node.Share());
  return largest;
}

double Shares::Smallest() const {
  double smallest = nodes_.empty() ? 0 : nodes_.front().Share();
  for (const NodeShare& node : nodes_) smallest = std::min(smallest, node.Share());
  return smallest;
}

std::vector<NodeId> Shares::Givers() const { return Sorted(true); }
std::vector<NodeId> Shares::Takers() const { return Sorted(false); }

std::vector<NodeId> Shares::Sorted(bool above) const {
  std::vector<std::pair<double, NodeId>> distances;
  for (const NodeShare& node : nodes_) {
    const double distance = above ? node.Share() - mean_ : mean_ - node.Share();
    if (distance > 0) distances.emplace_back(-distance, node.id);
  }
  std::sort(distances.begin(), distances.end());
  std::vector<NodeId> nodes;
  nodes.reserve(distances.size());
  for (const auto& [distance, id] : distances) nodes.push_back(id);
  return nodes;
}

template <class Nodes>
auto Shares::Find(Nodes& nodes, NodeId id) -> decltype(nodes.data()) {
  const auto at =
      std::lower_bound(nodes.begin(), nodes.end(), id, [](const NodeShare& n, NodeId i) { return n.id < i; });
  return at == nodes.end() || at->id != id ? nullptr : &*at;
}

bool Shares::Helps(NodeId from, NodeId to, std::uint64_t bytes) const {
  const NodeShare* giver = Find(nodes_, from);
  const NodeShare* taker = Find(nodes_, to);
  if (giver == nullptr || taker == nullptr || bytes == 0) return false;
  const double given = giver->Share(), taken = taker->Share();
  if (given <= mean_ || taken >= mean_) return false;
  if (given <= mean_ + threshold_ && taken >= mean_ - threshold_) return false;
  const auto size = static_cast<double>(bytes);
  return taker->Share(size) <= giver->Share(-size);
}

void Shares::Add(NodeId id, std::uint64_t bytes) {
  if (NodeShare* node = Find(nodes_, id)) node->used += static_cast<double>(bytes);
}

void Shares::Subtract(NodeId id, std::uint64_t bytes) {
  if (NodeShare* node = Find(nodes_, id)) node->used -= static_cast<double>(bytes);
}

}  // namespace millrace::dfs
