// SPDX-License-Identifier: Apache-2.0
// Shares computes how full the nodes of a cluster are, and which moves of replicas even them out. It is pure and knows
// nothing of blocks; block_balance.cc uses it.
//
// Rule (HDFS's balancer): a node's share is the used part of its capacity; the cluster's share, the mean, is the used
// part of all capacities together. A node is over when its share is above the mean by more than the threshold, and
// under when it is below the mean by more than the threshold. A move goes from a node above the mean to one below it.
// One of the two must be over or under, and the receiver must end no fuller than the giver. So the sum of used * used /
// capacity falls with every move, and a series of moves ends.
#pragma once

#include <cstdint>
#include <vector>

#include "dfs/name/types.h"

namespace millrace::dfs {

struct NodeUse {
  NodeId node;
  std::uint64_t used = 0;
  std::uint64_t capacity = 0;  // above 0
};

class Shares {
 public:
  // `threshold` is a fraction of 1. Requires: `nodes` is sorted by rising number.
  Shares(const std::vector<NodeUse>& nodes, double threshold);

  [[nodiscard]] bool Balanced() const { return BytesLeft() == 0; }  // no node is over or under
  // Returns the least number of bytes that must move: the excess of the nodes that are over or the lack of those that
  // are under, whichever is more.
  [[nodiscard]] std::uint64_t BytesLeft() const;
  // These return 0 if there are no nodes.
  [[nodiscard]] double mean() const { return mean_; }
  [[nodiscard]] double Largest() const;
  [[nodiscard]] double Smallest() const;
  // Givers returns the nodes above the mean, the fullest first; Takers those below it, the emptiest first. Ties are
  // broken by number.
  [[nodiscard]] std::vector<NodeId> Givers() const;
  [[nodiscard]] std::vector<NodeId> Takers() const;

  // Returns true if the rule allows a move of `bytes` bytes; false for an unknown node.
  [[nodiscard]] bool Helps(NodeId from, NodeId to, std::uint64_t bytes) const;
  // Add and Subtract change the used bytes of a node. An unknown node is ignored.
  void Add(NodeId node, std::uint64_t bytes);
  void Subtract(NodeId node, std::uint64_t bytes);

 private:
  struct NodeShare {
    NodeId id;
    double used = 0, capacity = 0;
    [[nodiscard]] double Share(double more = 0) const { return (used + more) / capacity; }
  };
  [[nodiscard]] std::vector<NodeId> Sorted(bool above) const;
  template <class Nodes>
  [[nodiscard]] static auto Find(Nodes& nodes, NodeId id) -> decltype(nodes.data());  // null if it is unknown

  std::vector<NodeShare> nodes_;  // by rising number
  double threshold_;
  double mean_ = 0;
};

}  // namespace millrace::dfs
