// From splits to the inputs of maps: small splits share a map, so that a job of many small files does not pay a task
// for each (as Spark's FilePartition.maxSplitBytes and Hadoop's CombineFileInputFormat have it). Pure.
//
// A split counts its bytes, but kLeastPackCost at least: opening a file is work too. One of kLargeSplit or more is work
// enough for a map and has one of its own, so a whole block does. Others that count less than the target share a map as
// long as they count no more than it together and some node holds a replica of them all; those of which nobody knows a
// holder share maps among themselves. Each node has one map that is open for more. A split joins the open map of one of
// its nodes; if none has room, a new one is opened on one of them, and closes the one that was open there. Between
// nodes the one that was given least decides, then the lower number.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "dfs/name/types.h"
#include "master/job_record.h"

namespace millrace::master {

constexpr std::uint64_t kLeastPackCost = std::uint64_t{256} << 10;
constexpr std::uint64_t kLargeSplit = std::uint64_t{32} << 20;
// The message that launches a map names each split with its nodes, and must stay well below 1 MiB.
constexpr std::size_t kMostPacked = 256;
constexpr std::size_t kMostPackedNames = std::size_t{256} << 10;  // bytes of paths and names

struct PackedSplits {
  MapSplits splits;                // in their order
  std::vector<dfs::NodeId> nodes;  // that hold a replica of each, in the order in which the first split's are given
};

// What splits should count together in a map, at most `most`: so little that each of the cluster's map slots has two
// maps, if there are so many splits. 0, which is never to pack, without slots.
[[nodiscard]] std::uint64_t PackTarget(const std::vector<Split>& splits, std::uint64_t most, std::uint64_t map_slots);

// Every split once, maps by their first split. `nodes_of` names a split's nodes, each once, in any order. With target 0
// each split has a map of its own. O(splits x replicas).
using NodesOf = std::function<std::vector<dfs::NodeId>(const Split&)>;
[[nodiscard]] std::vector<PackedSplits> PackSplits(std::vector<Split> splits, const NodesOf& nodes_of,
                                                   std::uint64_t target);

}  // namespace millrace::master
