// SPDX-License-Identifier: Apache-2.0
// Topology: the rack and datacenter of each node, and the distance of a node from a set of replicas.
//
// Names are interned: two nodes are in one rack when rack AND datacenter have the same names. A rack of the same name
// in another datacenter is another rack, and the empty name is a name like any other. A lost node cannot be read, so a
// replica on it does not count until the node is back. On a cluster with one rack, every replica that counts is at
// least rack-local everywhere. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids/ids.h"
#include "schedulers/events/effects.h"

namespace millrace::sched {

// The interned numbers of a rack and a datacenter. Names get numbers in the order in which they first occur.
struct Location {
  static constexpr std::uint32_t kNowhere = 0xffffffff;
  std::uint32_t rack = kNowhere;
  std::uint32_t datacenter = kNowhere;
  bool operator==(const Location&) const = default;
};

class Topology {
 public:
  // Returns the numbers of these names; new names get new numbers.
  Location Intern(std::string_view rack, std::string_view datacenter);
  // Place puts a node that has joined at a location, or moves it there. Remove takes a lost node away.
  void Place(NodeId node, Location location);
  void Remove(NodeId node) { Place(node, Location{}); }

  // Returns the location of the node; kNowhere twice for a node that never joined, or is lost.
  [[nodiscard]] Location Of(NodeId node) const {
    return node.value < locations_.size() ? locations_[node.value] : Location{};
  }
  // Returns the distance of the node from the closest of the replicas; kOff if no replica is on a node that has a
  // place.
  [[nodiscard]] Locality Distance(NodeId node, const std::vector<NodeId>& replicas) const;
  // Returns true if another node in the rack has a replica. Then no other node gets closer to the replicas when this
  // node joins in that rack, and none gets farther away when it leaves.
  [[nodiscard]] bool AnotherIn(std::uint32_t rack, NodeId node, const std::vector<NodeId>& replicas) const;

  // Returns the names of the rack and the datacenter at this location; empty ones for kNowhere. O(racks).
  [[nodiscard]] std::pair<std::string, std::string> NamesOf(Location location) const;

  [[nodiscard]] std::uint32_t racks() const { return static_cast<std::uint32_t>(racks_.size()); }
  [[nodiscard]] std::uint32_t datacenters() const { return static_cast<std::uint32_t>(datacenters_.size()); }

 private:
  std::map<std::string, std::uint32_t, std::less<>> datacenters_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> racks_;  // by datacenter and name
  std::vector<Location> locations_;                                       // by node id
};

}  // namespace millrace::sched
