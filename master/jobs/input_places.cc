// SPDX-License-Identifier: Apache-2.0
#include "master/jobs/input_places.h"

#include <algorithm>
#include <map>

#include "master/jobs/job_plan.h"

namespace millrace::master {
namespace {

// Calls visit(map, block) for the blocks that say where the maps' inputs lie.
template <class Visit>
void VisitBlocks(const std::vector<MapSplits>& maps, const Visit& visit) {
  for (std::uint32_t map = 0; map < maps.size(); ++map) {
    for (const Split& split : maps[map]) {
      if (!split.blocks.empty()) visit(map, PlacingBlock(split));
    }
  }
}

std::optional<NodeId> ClosestHolder(NodeId node, const Split& split, const FileSystem& files,
                                    const sched::Topology& topology) {
  if (split.blocks.empty()) return std::nullopt;
  const std::vector<NodeId> holders = files.Holders(split.blocks.front().id);
  const auto distance = [&](NodeId holder) { return topology.Distance(node, {holder}); };
  const auto closest =
      std::min_element(holders.begin(), holders.end(), [&](NodeId a, NodeId b) { return distance(a) < distance(b); });
  if (closest == holders.end()) return std::nullopt;
  return *closest;
}

}  // namespace

void InputPlaces::Watch(JobId job, const std::vector<MapSplits>& maps, dfs::BlockManager& blocks) {
  VisitBlocks(maps, [&](std::uint32_t map, dfs::BlockId block) {
    readers_.emplace(block, Reader{job, map});
    blocks.Watch(block);
  });
}

void InputPlaces::Unwatch(JobId job, const std::vector<MapSplits>& maps, dfs::BlockManager& blocks) {
  VisitBlocks(maps, [&](std::uint32_t map, dfs::BlockId block) {
    const auto [first, last] = readers_.equal_range(block);
    readers_.erase(std::find_if(first, last, [&](const auto& entry) { return entry.second == Reader{job, map}; }));
    if (!readers_.contains(block)) blocks.Unwatch(block);
  });
  doubted_.erase(doubted_.lower_bound({job, TaskKind::kMap, 0}), doubted_.lower_bound({job, TaskKind::kReduce, 0}));
}

std::vector<TaskId> InputPlaces::Take(std::size_t most, dfs::BlockManager& blocks) {
  while (doubted_.size() < most) {
    const std::vector<dfs::BlockId> moved = blocks.TakeMoved(1);
    if (moved.empty()) break;
    const auto [first, last] = readers_.equal_range(moved.front());
    for (auto it = first; it != last; ++it) Doubt({it->second.job, TaskKind::kMap, it->second.map});
  }
  std::vector<TaskId> taken;
  while (taken.size() < most && !doubted_.empty()) {
    auto next = doubted_.upper_bound(last_);
    if (next == doubted_.end()) next = doubted_.begin();
    taken.push_back(last_ = *next);
    doubted_.erase(next);
  }
  return taken;
}

std::optional<NodeId> MainInputSource(NodeId node, const MapSplits& splits, const FileSystem& files,
                                      const sched::Topology& topology) {
  std::map<NodeId, std::uint64_t> bytes;  // that come from each other node
  std::uint64_t total = 0;
  for (const Split& split : splits) {
    const std::optional<NodeId> from = ClosestHolder(node, split, files, topology);
    if (!from || *from == node) continue;
    bytes[*from] += split.length;
    total += split.length;
  }
  for (const auto& [from, part] : bytes) {
    if (part > total / 2) return from;
  }
  return std::nullopt;
}

}  // namespace millrace::master
