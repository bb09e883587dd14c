// SPDX-License-Identifier: Apache-2.0
// Makes the inputs of maps from splits: small splits share a map, so that a job with many small files does not pay for
// a task for each of them (as with Spark's FilePartition.maxSplitBytes and Hadoop's CombineFileInputFormat). Pure.
//
// The cost of a split is its bytes, but at least kLeastPackCost, since opening a file is work too. A split of
// kLargeSplit or more is work enough for a map and has a map of its own, as a whole block does. So does a split that
// costs as much as the target. Others share a map as long as their total cost is at most the target and some node has a
// replica of each; splits without a known holder share maps among themselves. Each node has one open map, to which
// splits can be added. A split joins the open map of one of its nodes. If none of these maps has room, a new map is
// opened on one of the nodes, and that node's earlier map is closed. Among the nodes, one with map slots is chosen
// (nothing would be local on another), then the one that was given the least, then the one with the lower number. If no
// holder has map slots, all holders count, for the sake of their racks.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "dfs/name/types.h"
#include "master/jobs/job_record.h"

namespace millrace::master {

constexpr std::uint64_t kLeastPackCost = std::uint64_t{256} << 10;
constexpr std::uint64_t kLargeSplit = std::uint64_t{32} << 20;
// The most splits in a map. The message that launches a map names each split with its nodes, and must stay well below 1
// MiB.
constexpr std::size_t kMostPacked = 256;
constexpr std::size_t kMostPackedNames = std::size_t{256} << 10;  // bytes of paths and names

struct PackedSplits {
  MapSplits splits;           // in their order
  std::vector<NodeId> nodes;  // the nodes that have a replica of each split, in the order of the first split's nodes
};

// Returns the total cost that the splits of one map should have, at most `most`: so low that each of the cluster's map
// slots has two maps, if there are enough splits for that. Returns 0 if there are no slots; splits are then never
// packed.
[[nodiscard]] std::uint64_t PackTarget(const std::vector<Split>& splits, std::uint64_t most, std::uint64_t map_slots);

// The facts about the cluster that packing needs.
struct PackingPlaces {
  std::function<std::vector<NodeId>(const Split&)> nodes_of;  // a split's nodes, each once, in any order
  std::function<bool(NodeId)> has_slots;                      // the node runs maps
};

// Gives every split to one map; the maps are ordered by their first split. With target 0, each split has a map of its
// own. O(splits x replicas).
[[nodiscard]] std::vector<PackedSplits> PackSplits(std::vector<Split> splits, const PackingPlaces& places,
                                                   std::uint64_t target);

}  // namespace millrace::master
