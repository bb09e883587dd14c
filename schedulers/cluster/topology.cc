// SPDX-License-Identifier: Apache-2.0
#include "schedulers/cluster/topology.h"

#include <algorithm>

namespace millrace::sched {

Location Topology::Intern(std::string_view rack, std::string_view datacenter) {
  const auto dc = datacenters_.try_emplace(std::string(datacenter), datacenters()).first->second;
  return {racks_.try_emplace({dc, std::string(rack)}, racks()).first->second, dc};
}

void Topology::Place(NodeId node, Location location) {
  if (node.value >= locations_.size()) locations_.resize(node.value + 1);
  locations_[node.value] = location;
}

Locality Topology::Distance(NodeId node, const std::vector<NodeId>& replicas) const {
  const Location here = Of(node);
  Locality best = Locality::kOff;
  for (const NodeId replica : replicas) {
    if (replica == node) return Locality::kNode;
    const Location there = Of(replica);
    if (there.rack == Location::kNowhere) continue;
    if (there.rack == here.rack) {
      best = std::min(best, Locality::kRack);
    } else if (there.datacenter == here.datacenter) {
      best = std::min(best, Locality::kDatacenter);
    }
  }
  return best;
}

bool Topology::AnotherIn(std::uint32_t rack, NodeId node, const std::vector<NodeId>& replicas) const {
  return std::any_of(replicas.begin(), replicas.end(),
                     [&](NodeId other) { return other != node && Of(other).rack == rack; });
}

std::pair<std::string, std::string> Topology::NamesOf(Location location) const {
  std::pair<std::string, std::string> names;
  for (const auto& [key, rack] : racks_) {
    if (rack == location.rack) names.first = key.second;
  }
  for (const auto& [name, datacenter] : datacenters_) {
    if (datacenter == location.datacenter) names.second = name;
  }
  return names;
}

}  // namespace millrace::sched
