// SPDX-License-Identifier: Apache-2.0
#include "schedulers/cluster/bandwidths.h"

#include <algorithm>

namespace millrace::sched {
namespace {

constexpr double kWeightOfTheLast = 0.25;

}  // namespace

void Bandwidths::Means::Note(std::uint32_t from, std::uint32_t to, double bytes_per_second) {
  if (by_from_.size() <= from) by_from_.resize(from + std::size_t{1});
  std::vector<Known>& known = by_from_[from];
  const auto at = std::ranges::lower_bound(known, to, {}, &Known::to);
  if (at != known.end() && at->to == to) {
    at->bytes_per_second += kWeightOfTheLast * (bytes_per_second - at->bytes_per_second);
    return;
  }
  known.insert(at, {to, bytes_per_second});
  ++pairs_;
}

std::span<const Bandwidths::Known> Bandwidths::Means::From(std::uint32_t from) const {
  return from < by_from_.size() ? std::span<const Known>(by_from_[from]) : std::span<const Known>();
}

const double* Bandwidths::Means::Find(std::uint32_t from, std::uint32_t to) const {
  const std::span<const Known> known = From(from);
  const auto at = std::ranges::lower_bound(known, to, {}, &Known::to);
  return at != known.end() && at->to == to ? &at->bytes_per_second : nullptr;
}

void Bandwidths::Record(const End& from, const End& to, double bytes_per_second) {
  nodes_.Note(from.node.value, to.node.value, bytes_per_second);
  racks_.Note(from.location.rack, to.location.rack, bytes_per_second);
  datacenters_.Note(from.location.datacenter, to.location.datacenter, bytes_per_second);
}

double Bandwidths::Between(NodeId from, NodeId to, const Topology& topology, const LevelBandwidths& configured) const {
  if (const double* mean = nodes_.Find(from.value, to.value)) return *mean;
  return BetweenRacks(topology.Of(from), topology.Of(to), configured);
}

double Bandwidths::BetweenRacks(Location from, Location to, const LevelBandwidths& configured) const {
  if (const double* mean = racks_.Find(from.rack, to.rack)) return *mean;
  const bool measured = datacenters_.Find(from.datacenter, to.datacenter) != nullptr;
  if (!measured && from.rack == to.rack) return configured.rack;
  return BetweenDatacenters(from.datacenter, to.datacenter, configured);
}

double Bandwidths::BetweenDatacenters(std::uint32_t from, std::uint32_t to, const LevelBandwidths& configured) const {
  if (const double* mean = datacenters_.Find(from, to)) return *mean;
  return from == to ? configured.datacenter : configured.off;
}

}  // namespace millrace::sched
