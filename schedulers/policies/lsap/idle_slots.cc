// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/lsap/idle_slots.h"

#include <algorithm>
#include <map>

namespace millrace::sched {

std::uint32_t IdleSlots::FreeMapSlots(const NodeState& node) { return node.FreeSlots(TaskKind::kMap); }

IdleSlots::IdleSlots(const ClusterState& state, bool divide, Assignment* problem)
    : nodes_(state.node_ids(), Assignment::kNoPlace), tree_of_(state.node_ids()) {
  std::map<std::uint32_t, std::vector<NodeId>> by_free;
  for (const std::uint32_t id : state.FreeNodes(TaskKind::kMap)) {
    const std::uint32_t free = FreeMapSlots(*state.FindNode(NodeId{id}));
    by_free[divide ? free : 1].push_back(NodeId{id});
    total_ += free;
  }
  for (const auto& [free, nodes] : by_free) AddTree(state, nodes, free, problem);
}

Assignment::Place IdleSlots::Add(PlaceLevel level, std::uint32_t id, Assignment::Place above, std::uint32_t slots,
                                 Assignment* problem) {
  const Assignment::Place place = problem->AddPlace(above, slots);
  places_.push_back({level, id, above, {}});
  if (above != Assignment::kNoPlace) places_[above].below.push_back(place);
  return place;
}

void IdleSlots::AddTree(const ClusterState& state, const std::vector<NodeId>& nodes, std::uint32_t slots,
                        Assignment* problem) {
  const Topology& topology = state.topology();
  const auto tree = static_cast<std::uint32_t>(trees_.size());
  const Assignment::Place root = Add(PlaceLevel::kCluster, 0, Assignment::kNoPlace, 0, problem);
  trees_.push_back({slots, root});
  auto& racks = racks_.emplace_back(topology.racks(), Assignment::kNoPlace);
  auto& datacenters = datacenters_.emplace_back(topology.datacenters(), Assignment::kNoPlace);
  for (const NodeId node : nodes) {
    const Location location = topology.Of(node);
    Assignment::Place& datacenter = datacenters[location.datacenter];
    if (datacenter == Assignment::kNoPlace) {
      datacenter =
          topology.datacenters() == 1 ? root : Add(PlaceLevel::kDatacenter, location.datacenter, root, 0, problem);
    }
    Assignment::Place& rack = racks[location.rack];
    if (rack == Assignment::kNoPlace) {
      rack = topology.racks() == 1 ? root : Add(PlaceLevel::kRack, location.rack, datacenter, 0, problem);
    }
    nodes_[node.value] = Add(PlaceLevel::kNode, node.value, rack, FreeMapSlots(*state.FindNode(node)), problem);
    tree_of_[node.value] = tree;
  }
}

Assignment::Place IdleSlots::Find(std::size_t tree, PlaceLevel level, std::uint32_t id) const {
  switch (level) {
    case PlaceLevel::kCluster:
      return trees_[tree].root;
    case PlaceLevel::kDatacenter:
      return datacenters_[tree][id];
    case PlaceLevel::kRack:
      return racks_[tree][id];
    case PlaceLevel::kNode:
      return tree_of_[id] == tree ? nodes_[id] : Assignment::kNoPlace;
  }
  return Assignment::kNoPlace;
}

}  // namespace millrace::sched
