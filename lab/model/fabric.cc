// SPDX-License-Identifier: Apache-2.0
#include "lab/model/fabric.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>

namespace millrace::sim {
namespace {

// A share of a link below this counts as nothing.
constexpr double kLeastShare = 1e-6;

std::optional<LinkId> Add(Network* network, double bandwidth) {
  return bandwidth > 0 ? std::optional(network->AddLink(bandwidth)) : std::nullopt;
}

void Note(std::vector<double>& sums, std::vector<std::uint32_t>& touched, std::uint32_t at, double bytes) {
  if (sums[at] == 0) touched.push_back(at);
  sums[at] += bytes;
}

}  // namespace

Fabric::Fabric(const ClusterSpec& cluster, Network* network)
    : rack_bandwidth_(cluster.rack_bandwidth), datacenter_bandwidth_(cluster.datacenter_bandwidth) {
  std::map<std::string, std::uint32_t> datacenters;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> racks;
  for (const NodeSpec& node : cluster.nodes) {
    const auto [datacenter, new_datacenter] =
        datacenters.try_emplace(node.datacenter, static_cast<std::uint32_t>(datacenters.size()));
    if (new_datacenter) datacenters_.emplace_back();
    const auto [rack, new_rack] =
        racks.try_emplace({datacenter->second, node.rack}, static_cast<std::uint32_t>(racks.size()));
    if (new_rack) racks_.emplace_back().datacenter = datacenter->second;
    NodeLinks& place = nodes_.emplace_back();
    place = {rack->second, Add(network, node.up), Add(network, node.down), node.up, node.down};
  }
  for (Rack& rack : racks_) {
    if (racks_.size() > 1) rack.up = Add(network, rack_bandwidth_), rack.down = Add(network, rack_bandwidth_);
  }
  for (Datacenter& datacenter : datacenters_) {
    if (datacenters_.size() == 1) continue;
    datacenter.up = Add(network, datacenter_bandwidth_);
    datacenter.down = Add(network, datacenter_bandwidth_);
  }
}

Locality Fabric::Distance(NodeId a, NodeId b) const {
  if (a == b) return Locality::kNode;
  if (RackOf(a) == RackOf(b)) return Locality::kRack;
  return DatacenterOf(a) == DatacenterOf(b) ? Locality::kDatacenter : Locality::kOff;
}

void Fabric::Path(NodeId from, NodeId to, std::vector<LinkUse>* uses) const {
  uses->clear();
  const auto add = [uses](const MaybeLink& link) {
    if (link) uses->push_back({*link, 1});
  };
  const Locality distance = Distance(from, to);
  add(nodes_[from.value].up), add(nodes_[to.value].down);
  if (distance >= Locality::kDatacenter) add(racks_[RackOf(from)].up), add(racks_[RackOf(to)].down);
  if (distance == Locality::kOff) add(datacenters_[DatacenterOf(from)].up), add(datacenters_[DatacenterOf(to)].down);
}

double Fabric::Narrowest(NodeId from, NodeId to) const {
  const Locality distance = Distance(from, to);
  double least = std::numeric_limits<double>::infinity();
  const auto limit = [&least](double bandwidth) {
    if (bandwidth > 0) least = std::min(least, bandwidth);
  };
  limit(nodes_[from.value].up_bandwidth), limit(nodes_[to.value].down_bandwidth);
  if (distance >= Locality::kDatacenter) limit(rack_bandwidth_);
  if (distance == Locality::kOff) limit(datacenter_bandwidth_);
  return least;
}

Gathering::Gathering(const Fabric& fabric)
    : fabric_(fabric), from_node_(fabric.nodes()), from_rack_(fabric.racks()), from_datacenter_(fabric.datacenters()) {}

void Gathering::Begin(NodeId to) {
  to_ = to;
  bytes_ = rack_bytes_ = datacenter_bytes_ = 0;
  for (const std::uint32_t node : nodes_) from_node_[node] = 0;
  for (const std::uint32_t rack : racks_) from_rack_[rack] = 0;
  for (const std::uint32_t datacenter : datacenters_) from_datacenter_[datacenter] = 0;
  nodes_.clear(), racks_.clear(), datacenters_.clear();
}

void Gathering::AddNode(NodeId from, double bytes) {
  if (bytes <= 0) return;
  Note(from_node_, nodes_, from.value, bytes);
  AddRack(fabric_.RackOf(from), bytes);
}

void Gathering::AddRack(std::uint32_t rack, double bytes) {
  if (bytes <= 0) return;
  bytes_ += bytes;
  if (rack == fabric_.RackOf(to_)) return;
  rack_bytes_ += bytes;
  Note(from_rack_, racks_, rack, bytes);
  const std::uint32_t datacenter = fabric_.DatacenterOfRack(rack);
  if (datacenter == fabric_.DatacenterOf(to_)) return;
  datacenter_bytes_ += bytes;
  Note(from_datacenter_, datacenters_, datacenter, bytes);
}

void Gathering::End(std::vector<LinkUse>* uses) {
  uses->clear();
  const auto add = [this, uses](const std::optional<LinkId>& link, double bytes) {
    if (link && bytes > kLeastShare * bytes_) uses->push_back({*link, bytes / bytes_});
  };
  add(fabric_.nodes_[to_.value].down, bytes_);
  add(fabric_.racks_[fabric_.RackOf(to_)].down, rack_bytes_);
  add(fabric_.datacenters_[fabric_.DatacenterOf(to_)].down, datacenter_bytes_);
  for (const std::uint32_t node : nodes_) add(fabric_.nodes_[node].up, from_node_[node]);
  for (const std::uint32_t rack : racks_) add(fabric_.racks_[rack].up, from_rack_[rack]);
  for (const std::uint32_t datacenter : datacenters_)
    add(fabric_.datacenters_[datacenter].up, from_datacenter_[datacenter]);
}

}  // namespace millrace::sim
