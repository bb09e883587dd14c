// SPDX-License-Identifier: Apache-2.0
#include "lab/workload/cluster_spec.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/random.h"
#include "lab/workload/block_placer.h"

namespace millrace::sim {
namespace {

// Draws from an exponential distribution. Returns at least 1 us.
Micros Exponential(Random& random, Micros mean) {
  return std::max<Micros>(1, static_cast<Micros>(-std::log1p(-random.Unit()) * static_cast<double>(mean)));
}

}  // namespace

ClusterSpec MakeCluster(std::uint32_t nodes, std::uint32_t racks, std::uint32_t datacenters, sched::Slots slots) {
  ClusterSpec cluster;
  cluster.nodes.resize(nodes);
  racks = std::clamp(racks, 1U, std::max(nodes, 1U));
  datacenters = std::clamp(datacenters, 1U, racks);
  for (std::uint64_t i = 0; i < nodes; ++i) {
    NodeSpec& node = cluster.nodes[i];
    node.slots = slots;
    node.rack = "r" + std::to_string(i * racks / nodes);
    node.datacenter = "dc" + std::to_string(i * racks / nodes * datacenters / racks);
  }
  return cluster;
}

Result<Machines> MachinesOf(const ClusterSpec& cluster) {
  Machines machines;
  std::map<std::pair<std::string, std::size_t>, std::uint32_t> known;  // by name; of one without, by its first node
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i) {
    const NodeSpec& node = cluster.nodes[i];
    const double cores = node.cores > 0 ? node.cores : cluster.cores;
    const std::size_t block = node.machine.empty() ? i / cluster.nodes_per_machine : 0;
    const auto [at, is_new] =
        known.try_emplace({node.machine, block}, static_cast<std::uint32_t>(machines.cores.size()));
    if (is_new) machines.cores.push_back(cores);
    if (machines.cores[at->second] != cores)
      return Invalid("node " + std::to_string(i) + " gives its machine other cores than an earlier node of the same");
    machines.of_node.push_back(at->second);
  }
  return machines;
}

void AddRandomFailures(ClusterSpec* cluster, Micros mean_between, Micros mean_repair, Micros horizon,
                       std::uint64_t seed) {
  for (std::uint32_t node = 0; node < cluster->nodes.size(); ++node) {
    Random random(MixSeeds(seed, node, 0xfa11));
    Micros at = Exponential(random, mean_between);
    while (at < horizon) {
      const Micros back = at + Exponential(random, mean_repair);
      cluster->failures.push_back({node, at, back});
      at = back + Exponential(random, mean_between);
    }
  }
}

}  // namespace millrace::sim
