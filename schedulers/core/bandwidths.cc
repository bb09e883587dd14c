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
  const Location here = topology.Of(from), there = topology.Of(to);
  if (const auto at = nodes_.find({from.value, to.value}); at != nodes_.end()) return at->second;
  if (const auto at = racks_.find({here.rack, there.rack}); at != racks_.end()) return at->second;
  if (const auto at = datacenters_.find({here.datacenter, there.datacenter}); at != datacenters_.end())
    return at->second;
  if (here.rack == there.rack) return configured.rack;
  return here.datacenter == there.datacenter ? configured.datacenter : configured.off;
}

}  // namespace millrace::sched
