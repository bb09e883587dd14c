// SPDX-License-Identifier: Apache-2.0
#include "lab/workload/block_placer.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/random.h"

namespace millrace::sim {
namespace {

constexpr int kTries = 16;  // random picks before all nodes are searched

std::uint64_t Hash(const std::string& text) {  // FNV-1a
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace

std::uint64_t MixSeeds(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) {
  std::uint64_t mixed = Random(a).Next();
  for (const std::uint64_t next : {b, c, d}) mixed = Random(mixed ^ next).Next();
  return mixed;
}

BlockPlacer::BlockPlacer(const ClusterSpec& cluster, Placement placement, std::uint64_t seed)
    : placement_(placement), seed_(seed) {
  std::map<std::string, std::uint32_t> datacenters;
  std::map<std::pair<std::string, std::string>, std::uint32_t> racks;
  for (const NodeSpec& node : cluster.nodes) {
    const auto number = [](auto& names, auto name) {
      return names.try_emplace(std::move(name), static_cast<std::uint32_t>(names.size())).first->second;
    };
    datacenter_.push_back(number(datacenters, node.datacenter));
    rack_.push_back(number(racks, std::pair(node.datacenter, node.rack)));
  }
  datacenters_ = static_cast<std::uint32_t>(datacenters.size());
}

std::uint64_t BlockPlacer::DataKey(const SimJob& job, std::uint32_t index) {
  return job.input.empty() ? MixSeeds(0, index) : Hash(job.input);
}

// Adds a node that fits and holds no replica yet; if none fits, any node that holds none.
template <class Source, class Fits>
void BlockPlacer::Add(Source& random, std::vector<NodeId>* chosen, const Fits& fits) const {
  const auto nodes = static_cast<std::uint32_t>(rack_.size());
  const auto is_new = [chosen](std::uint32_t node) {
    return std::find(chosen->begin(), chosen->end(), NodeId{node}) == chosen->end();
  };
  for (int i = 0; i < kTries; ++i) {
    const auto node = static_cast<std::uint32_t>(random.Below(nodes));
    if (fits(node) && is_new(node)) return chosen->push_back(NodeId{node});
  }
  const auto from = static_cast<std::uint32_t>(random.Below(nodes));
  for (const bool must_fit : {true, false}) {
    for (std::uint32_t i = 0; i < nodes; ++i) {
      const std::uint32_t node = from + i < nodes ? from + i : from + i - nodes;
      if (is_new(node) && (!must_fit || fits(node))) return chosen->push_back(NodeId{node});
    }
  }
}

std::vector<NodeId> BlockPlacer::Place(std::uint64_t key, std::uint32_t block) const {
  Random random(MixSeeds(seed_, key, block));
  const auto replicas = std::min<std::size_t>(placement_.replication, rack_.size());
  std::vector<NodeId> chosen;
  if (placement_.kind == Placement::Kind::kIndependent) {
    const auto nodes = static_cast<std::uint32_t>(rack_.size());
    for (std::uint32_t node = 0; node < nodes; ++node) {
      if (random.Below(nodes) < replicas) chosen.push_back(NodeId{node});
    }
    return chosen;
  }
  chosen.reserve(replicas);
  const auto anywhere = [](std::uint32_t) { return true; };
  while (chosen.size() < replicas) {
    const std::size_t number = chosen.size();
    if (placement_.kind == Placement::Kind::kDfs && number == 1) {
      Add(random, &chosen, [&](std::uint32_t node) { return rack_[node] != rack_[chosen[0].value]; });
    } else if (placement_.kind == Placement::Kind::kDfs && number == 2) {
      const std::uint32_t second = rack_[chosen[1].value];
      Add(random, &chosen, [&](std::uint32_t node) { return rack_[node] == second; });
    } else if (placement_.kind == Placement::Kind::kSpread && number < datacenters_) {
      Add(random, &chosen, [&](std::uint32_t node) {
        return std::none_of(chosen.begin(), chosen.end(),
                            [&](NodeId held) { return datacenter_[held.value] == datacenter_[node]; });
      });
    } else {
      Add(random, &chosen, anywhere);
    }
  }
  return chosen;
}

}  // namespace millrace::sim
