// SPDX-License-Identifier: Apache-2.0
// IdleSlots: the free map slots of a cluster as the places of an Assignment: datacenters, racks and nodes, with one
// tree for all nodes with the same number of free slots.
//
// The bandwidth to a node is divided by its free slots (Guo et al., section 3.2), so nodes with equally many free slots
// share costs and belong to one tree. A level that the cluster does not have (one datacenter, one rack) has no places
// of its own. Thread rule: one thread; made for one assignment.
#pragma once

#include <cstdint>
#include <vector>

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/policies/lsap/assignment.h"

namespace millrace::sched {

enum class PlaceLevel : std::uint8_t { kCluster, kDatacenter, kRack, kNode };

class IdleSlots {
 public:
  struct SlotPlace {
    PlaceLevel level = PlaceLevel::kCluster;
    std::uint32_t id = 0;  // of the node, rack or datacenter
    Assignment::Place above = Assignment::kNoPlace;
    std::vector<Assignment::Place> below;
  };
  struct Tree {
    std::uint32_t free_slots = 1;  // of each node in it; 1 when there is one tree for all
    Assignment::Place root = 0;
  };

  // Adds all places to *problem. With `divide`, the cost depends on a node's free slots, so there is a tree for each
  // number of free slots.
  IdleSlots(const ClusterState& state, bool divide, Assignment* problem);

  [[nodiscard]] std::uint32_t total() const { return total_; }
  [[nodiscard]] const std::vector<Tree>& trees() const { return trees_; }
  [[nodiscard]] const SlotPlace& At(Assignment::Place place) const { return places_[place]; }
  [[nodiscard]] std::size_t size() const { return places_.size(); }
  // Returns the place in this tree; kNoPlace if it has no free slot in the tree.
  [[nodiscard]] Assignment::Place Find(std::size_t tree, PlaceLevel level, std::uint32_t id) const;
  // Returns the place of the node in any tree; kNoPlace if the node has no free slot.
  [[nodiscard]] Assignment::Place OfNode(NodeId node) const { return nodes_[node.value]; }

  static std::uint32_t FreeMapSlots(const NodeState& node);

 private:
  Assignment::Place Add(PlaceLevel level, std::uint32_t id, Assignment::Place above, std::uint32_t slots,
                        Assignment* problem);
  void AddTree(const ClusterState& state, const std::vector<NodeId>& nodes, std::uint32_t slots, Assignment* problem);

  std::vector<Tree> trees_;
  std::vector<SlotPlace> places_;
  std::vector<std::vector<Assignment::Place>> racks_, datacenters_;  // by tree, then id
  std::vector<Assignment::Place> nodes_;                             // by id
  std::vector<std::uint32_t> tree_of_;                               // by node id
  std::uint32_t total_ = 0;
};

}  // namespace millrace::sched
