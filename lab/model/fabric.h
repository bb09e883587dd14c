// SPDX-License-Identifier: Apache-2.0
// Fabric: the links of a cluster, and the links that each transfer uses. Every node of the ClusterSpec has an up and a
// down link, every rack an uplink, and every datacenter a link to the others. Racks of one name in two datacenters are
// two racks.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids/ids.h"
#include "lab/model/network.h"
#include "lab/workload/cluster_spec.h"
#include "schedulers/events/effects.h"

namespace millrace::sim {

class Fabric {
 public:
  // Adds the links of the cluster to the network.
  Fabric(const ClusterSpec& cluster, Network* network);

  [[nodiscard]] std::uint32_t nodes() const { return static_cast<std::uint32_t>(nodes_.size()); }
  [[nodiscard]] std::uint32_t racks() const { return static_cast<std::uint32_t>(racks_.size()); }
  [[nodiscard]] std::uint32_t datacenters() const { return static_cast<std::uint32_t>(datacenters_.size()); }
  [[nodiscard]] std::uint32_t RackOf(NodeId node) const { return nodes_[node.value].rack; }
  [[nodiscard]] std::uint32_t DatacenterOf(NodeId node) const { return racks_[nodes_[node.value].rack].datacenter; }
  [[nodiscard]] std::uint32_t DatacenterOfRack(std::uint32_t rack) const { return racks_[rack].datacenter; }
  [[nodiscard]] Locality Distance(NodeId a, NodeId b) const;

  // Replaces *uses by the links of a transfer between two nodes. Requires: the nodes differ.
  void Path(NodeId from, NodeId to, std::vector<LinkUse>* uses) const;
  // Returns the throughput of an unshared transfer on that path, bytes/s; infinity without limits.
  [[nodiscard]] double Narrowest(NodeId from, NodeId to) const;

 private:
  friend class Gathering;
  using MaybeLink = std::optional<LinkId>;
  struct NodeLinks {
    std::uint32_t rack = 0;
    MaybeLink up, down;
    double up_bandwidth = 0, down_bandwidth = 0;
  };
  struct Rack {
    std::uint32_t datacenter = 0;
    MaybeLink up, down;
  };
  struct Datacenter {
    MaybeLink up, down;
  };

  std::vector<NodeLinks> nodes_;  // by node
  std::vector<Rack> racks_;
  std::vector<Datacenter> datacenters_;
  double rack_bandwidth_, datacenter_bandwidth_;
};

// The links of one flow that gathers bytes from many places at one node, each link weighted by its share of the bytes.
class Gathering {
 public:
  explicit Gathering(const Fabric& fabric);

  void Begin(NodeId to);
  // AddNode adds bytes from a node (not `to`), over its own link. AddRack adds bytes from anywhere in a rack, and
  // ignores the links of its nodes.
  void AddNode(NodeId from, double bytes);
  void AddRack(std::uint32_t rack, double bytes);
  // Replaces *uses by the links of the flow. Requires: bytes() > 0.
  void End(std::vector<LinkUse>* uses);

  [[nodiscard]] double bytes() const { return bytes_; }                        // in all
  [[nodiscard]] double rack_bytes() const { return rack_bytes_; }              // from other racks
  [[nodiscard]] double datacenter_bytes() const { return datacenter_bytes_; }  // from other datacenters

 private:
  const Fabric& fabric_;
  NodeId to_;
  double bytes_ = 0, rack_bytes_ = 0, datacenter_bytes_ = 0;
  std::vector<double> from_node_, from_rack_, from_datacenter_;  // all zero between End and Begin
  std::vector<std::uint32_t> nodes_, racks_, datacenters_;       // the indices of the entries that are not zero
};

}  // namespace millrace::sim
