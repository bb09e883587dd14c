// SPDX-License-Identifier: Apache-2.0
// Bandwidths: the throughput of recent transfers between nodes. It serves as lsap's BW (Guo et al., section 4.2) and
// for the D of adaptive delay scheduling.
//
// The estimate for a pair of nodes comes from its own transfers, else from those between their racks, else from those
// between their datacenters, else from the caller's setting for their distance. Each is an exponential mean in which
// the last transfer weighs a quarter. Pairs have a direction. Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids/ids.h"
#include "schedulers/cluster/topology.h"

namespace millrace::sched {

// Bytes per second by distance, for pairs without a measurement.
struct LevelBandwidths {
  double rack = 100e6;
  double datacenter = 50e6;
  double off = 10e6;
};

class Bandwidths {
 public:
  // The measured mean towards a node (its id), or towards a rack or datacenter (its number in Topology).
  struct Known {
    std::uint32_t to = 0;
    double bytes_per_second = 0;
  };

  struct End {
    NodeId node;
    Location location;  // where the node stands, or stood before it was lost
  };

  // Adds a measured transfer to the means. Requires: bytes_per_second > 0, and `from` and `to` differ and have joined.
  void Record(const End& from, const End& to, double bytes_per_second);
  // Returns the bytes per second of the pair; the number is above 0.
  [[nodiscard]] double Between(NodeId from, NodeId to, const Topology& topology,
                               const LevelBandwidths& configured) const;
  // Return the bytes per second of a pair of racks, and of a pair of datacenters.
  [[nodiscard]] double BetweenRacks(Location from, Location to, const LevelBandwidths& configured) const;
  [[nodiscard]] double BetweenDatacenters(std::uint32_t from, std::uint32_t to,
                                          const LevelBandwidths& configured) const;
  // Return all means measured from that node, rack or datacenter, by rising `to`. The span is valid until the next
  // Record.
  [[nodiscard]] std::span<const Known> NodesFrom(NodeId node) const { return nodes_.From(node.value); }
  [[nodiscard]] std::span<const Known> RacksFrom(std::uint32_t rack) const { return racks_.From(rack); }
  [[nodiscard]] std::span<const Known> DatacentersFrom(std::uint32_t datacenter) const {
    return datacenters_.From(datacenter);
  }
  // Return the number of measured pairs.
  [[nodiscard]] std::size_t node_pairs() const { return nodes_.pairs(); }
  [[nodiscard]] std::size_t rack_pairs() const { return racks_.pairs(); }

 private:
  // Means by pair. Few places have measurements to many others, so each place has a sorted list of its own.
  class Means {
   public:
    void Note(std::uint32_t from, std::uint32_t to, double bytes_per_second);
    [[nodiscard]] const double* Find(std::uint32_t from, std::uint32_t to) const;  // null: nothing
    [[nodiscard]] std::span<const Known> From(std::uint32_t from) const;
    [[nodiscard]] std::size_t pairs() const { return pairs_; }

   private:
    std::vector<std::vector<Known>> by_from_;
    std::size_t pairs_ = 0;
  };

  Means nodes_, racks_, datacenters_;
};

}  // namespace millrace::sched
