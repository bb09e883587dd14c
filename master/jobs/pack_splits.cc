// SPDX-License-Identifier: Apache-2.0
#include "master/jobs/pack_splits.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

namespace millrace::master {
namespace {

std::uint64_t PackCost(const Split& split) { return std::max(split.length, kLeastPackCost); }

class Packer {
 public:
  Packer(const PackingPlaces& places, std::uint64_t target) : places_(places), target_(target) {}

  void Add(Split split) {
    std::vector<NodeId> nodes = places_.nodes_of(split);
    const std::uint64_t cost = PackCost(split);
    if (cost >= std::min(target_, kLargeSplit)) return Begin(std::move(split), std::move(nodes));
    OpenMap& open = Choose(nodes, split);
    open.given += cost;
    const std::size_t names = NameBytes(split);
    if (HasRoom(open, split)) {
      PackedSplits& map = maps_[open.map];
      std::erase_if(map.nodes, [&](NodeId node) { return std::ranges::find(nodes, node) == nodes.end(); });
      map.splits.push_back(std::move(split));
      open.cost += cost;
      open.names += names;
      return;
    }
    open.map = maps_.size();
    open.cost = cost;
    open.names = names;
    Begin(std::move(split), std::move(nodes));
  }
  std::vector<PackedSplits> Take() { return std::move(maps_); }

 private:
  static constexpr NodeId kNobody{std::numeric_limits<std::uint32_t>::max()};
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  struct OpenMap {  // the open map of a node
    std::size_t map = kNone;
    std::uint64_t cost = 0;
    std::size_t names = 0;
    std::uint64_t given = 0;  // the cost of all maps that were opened on the node
  };

  static std::size_t NameBytes(const Split& split) { return split.path.size() + split.name.size(); }

  void Begin(Split split, std::vector<NodeId> nodes) {
    MapSplits splits;
    splits.push_back(std::move(split));
    maps_.push_back({std::move(splits), std::move(nodes)});
  }

  [[nodiscard]] bool HasRoom(const OpenMap& open, const Split& split) const {
    return open.map != kNone && open.cost + PackCost(split) <= target_ &&
           open.names + NameBytes(split) <= kMostPackedNames && maps_[open.map].splits.size() < kMostPacked;
  }

  OpenMap& Choose(const std::vector<NodeId>& nodes, const Split& split) {
    if (nodes.empty()) return open_[kNobody];
    const auto rank = [&](NodeId node) {
      const OpenMap& open = open_[node];
      return std::tuple(!places_.has_slots(node), !HasRoom(open, split), open.given, node);
    };
    return open_[*std::ranges::min_element(nodes, {}, rank)];
  }

  const PackingPlaces& places_;
  const std::uint64_t target_;
  std::vector<PackedSplits> maps_;
  std::map<NodeId, OpenMap> open_;
};

}  // namespace

std::uint64_t PackTarget(const std::vector<Split>& splits, std::uint64_t most, std::uint64_t map_slots) {
  if (map_slots == 0) return 0;
  std::uint64_t total = 0;
  for (const Split& split : splits) total += PackCost(split);
  return std::min(most, total / (2 * map_slots));
}

std::vector<PackedSplits> PackSplits(std::vector<Split> splits, const PackingPlaces& places, std::uint64_t target) {
  Packer packer(places, target);
  for (Split& split : splits) packer.Add(std::move(split));
  return packer.Take();
}

}  // namespace millrace::master
