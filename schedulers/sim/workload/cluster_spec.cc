#include "schedulers/sim/workload/cluster_spec.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "schedulers/sim/workload/block_placer.h"

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
