#include "master/jobs/input_source.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

namespace millrace::master {

namespace {

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
