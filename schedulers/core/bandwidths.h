// Bandwidths: what transfers between nodes have lately been seen to reach (lsap's BW, Guo et al. section 4.2; the D of
// adaptive delay scheduling).
//
// A pair of nodes is known by its own transfers; else by those between their racks, else between their datacenters,
// else by what the caller configured for their distance. Each is an exponential mean in which the last transfer weighs
// a quarter. Pairs have a direction. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "schedulers/core/ids.h"
#include "schedulers/core/topology.h"

namespace millrace::sched {

// Bytes per second by distance, for pairs of which nothing was measured.
struct LevelBandwidths {
  double rack = 100e6;
  double datacenter = 50e6;
  double off = 10e6;
};

class Bandwidths {
 public:
  using Pair = std::pair<std::uint32_t, std::uint32_t>;  // from, to: ids of nodes, or numbers of Topology

  // bytes_per_second > 0; from and to differ and have joined.
  void Record(NodeId from, NodeId to, double bytes_per_second, const Topology& topology);
  // Bytes per second, above 0.
  [[nodiscard]] double Between(NodeId from, NodeId to, const Topology& topology,
                               const LevelBandwidths& configured) const;
  // The same for nodes of which only the rack, or only the datacenter, is looked at.
  [[nodiscard]] double BetweenRacks(Location from, Location to, const LevelBandwidths& configured) const;
  [[nodiscard]] double BetweenDatacenters(std::uint32_t from, std::uint32_t to,
                                          const LevelBandwidths& configured) const;
  // All that was measured, in bytes per second.
  [[nodiscard]] const std::map<Pair, double>& nodes() const { return nodes_; }
  [[nodiscard]] const std::map<Pair, double>& racks() const { return racks_; }
  [[nodiscard]] const std::map<Pair, double>& datacenters() const { return datacenters_; }
  // How often something was recorded: who keeps costs looks whether they are still right.
  [[nodiscard]] std::uint64_t version() const { return version_; }

 private:
  std::map<Pair, double> nodes_, racks_, datacenters_;
  std::uint64_t version_ = 0;
};

}  // namespace millrace::sched
