// Says where replicas go, and from where they are read. It is pure; the Random that is passed in breaks ties. Thread
// rule: free functions, any thread.
//
// Rule (HDFS's default policy): the first replica goes to the writer's node if it is a live worker, else anywhere; the
// second to another rack; the third to the second's rack, on another node; further ones anywhere. A node never has two.
// If a rule cannot be kept (there is one rack), the replica goes to any live node that has none. With
// `spread_datacenters` a further datacenter is preferred for each replica until all have one. Two racks are the same if
// rack and datacenter are. With `existing` replicas the rule goes on from them: the first new one takes the place after
// the last existing one, and where the first two share a rack the third goes to another.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids/ids.h"
#include "base/random.h"
#include "dfs/name/types.h"

namespace millrace::dfs {

struct Candidate {
  NodeId node;
  Location where = {};
  std::uint64_t free_bytes = 0;  // as last reported
  std::uint32_t writes_under_way = 0;
  bool ailing = false;  // its replica is given up before others that are worth as much
};

struct PlacementRequest {
  std::uint32_t replicas = 1;
  std::uint64_t block_size = 0;       // nodes with less free space than this are not chosen
  std::optional<NodeId> writer = {};  // the node the writer runs on
  std::vector<NodeId> existing = {};  // these hold the block already: they count for racks and are not chosen
  std::vector<NodeId> excluded = {};  // these failed the writer a moment ago
  bool spread_datacenters = false;
};

// Returns nodes in the order of the pipeline: fewer than asked for if there are not enough, none if nothing fits. Ties
// go to the node with fewer writes under way, then to chance. Requires: `candidates` is sorted by node id.
[[nodiscard]] std::vector<NodeId> ChooseTargets(const std::vector<Candidate>& candidates,
                                                const PlacementRequest& request, Random& random);

// Returns the holder that gives up its replica if there is one too many: the one whose loss keeps the most racks, then
// the most datacenters, then an ailing one, then the one with the least free space, then the one with the smallest
// number. Requires: there are at least two holders.
[[nodiscard]] NodeId ChooseSurplus(const std::vector<Candidate>& holders);

// Returns true if a move of a replica from `from` to `to` leaves the block, with its other replicas at `others`, in at
// least as many racks and at least as many datacenters as before.
[[nodiscard]] bool MoveKeepsSpread(const std::vector<const Location*>& others, const Location& from,
                                   const Location& to);

// Returns how far a reader is from a replica. Smaller is closer.
[[nodiscard]] Locality DistanceBetween(NodeId a, const Location& a_where, NodeId b, const Location& b_where);

}  // namespace millrace::dfs
