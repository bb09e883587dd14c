#include "schedulers/core/bandwidths.h"

namespace millrace::sched {
namespace {

constexpr double kWeightOfTheLast = 0.25;

}  // namespace

void Bandwidths::Record(NodeId from, NodeId to, double bytes_per_second, const Topology& topology) {
  const auto note = [bytes_per_second](std::map<Pair, double>& means, std::uint32_t a, std::uint32_t b) {
    const auto [at, first] = means.try_emplace({a, b}, bytes_per_second);
    if (!first) at->second += kWeightOfTheLast * (bytes_per_second - at->second);
  };
  const Location here = topology.Of(from), there = topology.Of(to);
  note(nodes_, from.value, to.value);
  note(racks_, here.rack, there.rack);
  note(datacenters_, here.datacenter, there.datacenter);
  ++version_;
}

double Bandwidths::Between(NodeId from, NodeId to, const Topology& topology, const LevelBandwidths& configured) const {
  if (const auto at = nodes_.find({from.value, to.value}); at != nodes_.end()) return at->second;
  return BetweenRacks(topology.Of(from), topology.Of(to), configured);
}

double Bandwidths::BetweenRacks(Location from, Location to, const LevelBandwidths& configured) const {
  if (const auto at = racks_.find({from.rack, to.rack}); at != racks_.end()) return at->second;
  const bool measured = datacenters_.contains({from.datacenter, to.datacenter});
  if (!measured && from.rack == to.rack) return configured.rack;
  return BetweenDatacenters(from.datacenter, to.datacenter, configured);
}

double Bandwidths::BetweenDatacenters(std::uint32_t from, std::uint32_t to, const LevelBandwidths& configured) const {
  if (const auto at = datacenters_.find({from, to}); at != datacenters_.end()) return at->second;
  return from == to ? configured.datacenter : configured.off;
}

}  // namespace millrace::sched
