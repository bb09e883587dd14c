// Topology: which rack and datacenter a node stands in, and how far a node is from a set of replicas.
//
// Names are interned: two nodes are in one rack when rack AND datacenter have the same names (a rack of the same name
// in another datacenter is another rack; no name is a name like any other). What is on a node that is lost cannot be
// read, so a replica there is no replica until the node is back. On a cluster with one rack every other replica is at
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

// The interned numbers of a rack and a datacenter. They are given in the order in which the names came up.
struct Location {
  static constexpr std::uint32_t kNowhere = 0xffffffff;
  std::uint32_t rack = kNowhere;
  std::uint32_t datacenter = kNowhere;
  bool operator==(const Location&) const = default;
};

class Topology {
 public:
  // Returns the numbers of these names, and gives them numbers if they are new.
  Location Intern(std::string_view rack, std::string_view datacenter);
  // Puts a node there that has joined, or moves it. Remove takes it away when it is lost.
  void Place(NodeId node, Location location);
  void Remove(NodeId node) { Place(node, Location{}); }

  // Returns where the node stands; kNowhere twice for a node that never joined, or is lost.
  [[nodiscard]] Location Of(NodeId node) const {
    return node.value < locations_.size() ? locations_[node.value] : Location{};
  }
  // Returns how far the node is from the closest of the replicas. It is kOff if there are no replicas, or none on a
  // node that is there.
  [[nodiscard]] Locality Distance(NodeId node, const std::vector<NodeId>& replicas) const;
  // Returns true if a replica on another node stands in the rack. Then no other node comes closer to the replicas when
  // this node joins in that rack, and none is farther away when it goes.
  [[nodiscard]] bool AnotherIn(std::uint32_t rack, NodeId node, const std::vector<NodeId>& replicas) const;

  [[nodiscard]] std::uint32_t racks() const { return static_cast<std::uint32_t>(racks_.size()); }
  [[nodiscard]] std::uint32_t datacenters() const { return static_cast<std::uint32_t>(datacenters_.size()); }

 private:
  std::map<std::string, std::uint32_t, std::less<>> datacenters_;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> racks_;  // by datacenter and name
  std::vector<Location> locations_;                                       // by node id
};

}  // namespace millrace::sched
