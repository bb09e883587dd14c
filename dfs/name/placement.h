// Where replicas go, and from where they are read. Pure; ties are broken by the Random that is passed in.
//
// Rule (HDFS's default policy): first replica on the writer's node if it is a live worker, else anywhere; second in
// another rack; third in the second's rack on another node; further ones anywhere; never two on a node. When a rule
// cannot be kept (one rack), any live node that has none. With `spread_datacenters` a further datacenter is preferred
// for each replica until all have one. Two racks are the same if rack and datacenter are. With `existing` replicas the
// rule goes on from them: the first new one takes the place after the last existing one, and where the first two share
// a rack the third goes to another.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/random.h"
#include "dfs/name/types.h"

namespace millrace::dfs {

struct Candidate {
  NodeId node = 0;
  Location where = {};
  std::uint64_t free_bytes = 0;  // as last reported
  std::uint32_t writes_under_way = 0;
};

struct PlacementRequest {
  std::uint32_t replicas = 1;
  std::uint64_t block_size = 0;       // nodes with less free space than this are not chosen
  std::optional<NodeId> writer = {};  // the node the writer runs on
  std::vector<NodeId> existing = {};  // already hold it: count for racks, are not chosen
  std::vector<NodeId> excluded = {};  // failed this writer a moment ago
  bool spread_datacenters = false;
};

// Nodes in the order of the pipeline; fewer than asked when there are not enough, none when nothing fits. `candidates`
// is ordered by node id. Among equals nodes with fewer writes under way are chosen, then by chance.
[[nodiscard]] std::vector<NodeId> ChooseTargets(const std::vector<Candidate>& candidates,
                                                const PlacementRequest& request, Random& random);

// Of the holders of a replica, which to give up when there is one too many: the one whose loss keeps the most racks,
// then the most datacenters, then the one with the least free space, then with the smallest number. At least two
// holders.
[[nodiscard]] NodeId ChooseSurplus(const std::vector<Candidate>& holders);

// Whether a block whose other replicas are at `others` is in as many racks, and in as many datacenters, with one at
// `to` as with one at `from`.
[[nodiscard]] bool MoveKeepsSpread(const std::vector<const Location*>& others, const Location& from,
                                   const Location& to);

// How far a reader is from a replica; smaller is closer.
enum class Distance : std::uint8_t { kNode = 0, kRack = 1, kDatacenter = 2, kOff = 3 };
[[nodiscard]] Distance DistanceBetween(NodeId a, const Location& a_where, NodeId b, const Location& b_where);

}  // namespace millrace::dfs
