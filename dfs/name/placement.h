// SPDX-License-Identifier: Apache-2.0
// Placement: functions that choose the nodes of new, surplus and read replicas. They are pure; the Random that is
// passed in breaks ties. Thread rule: free functions, any thread.
//
// Rule (HDFS's default policy): the first replica goes to the writer's node if that is a live worker, else anywhere;
// the second to another rack; the third to another node in the rack of the second; further ones anywhere. A node never
// has two. If the rule cannot be kept (with only one rack), the replica goes to any live node without one. With
// `spread_datacenters`, each replica goes to a new datacenter if possible, until every datacenter has one. Two racks
// are the same if both rack and datacenter are equal. With `existing` replicas the rule continues from them: the first
// new one takes the place after the last existing one, and if the first two share a rack, the third goes to another.
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
  bool ailing = false;  // its replica is given up before others of equal worth
};

struct PlacementRequest {
  std::uint32_t replicas = 1;
  std::uint64_t block_size = 0;       // nodes with less free space than this are not chosen
  std::optional<NodeId> writer = {};  // the node the writer runs on
  std::vector<NodeId> existing = {};  // nodes that hold the block already: they count for racks and are not chosen
  std::vector<NodeId> excluded = {};  // nodes that failed the writer a moment ago
  bool spread_datacenters = false;
};

// Returns nodes in the order of the pipeline: fewer than `request.replicas` if there are not enough, none if no node
// fits. Ties go to the node with fewer writes under way, then to chance. Requires: `candidates` is sorted by node id.
[[nodiscard]] std::vector<NodeId> ChooseTargets(const std::vector<Candidate>& candidates,
                                                const PlacementRequest& request, Random& random);

// Returns the holder that gives up a surplus replica: the one whose loss keeps the most racks, then the most
// datacenters, then an ailing one, then the one with the least free space, then the one with the smallest number.
// Requires: there are at least two holders.
[[nodiscard]] NodeId ChooseSurplus(const std::vector<Candidate>& holders);

// Returns true if a move of a replica from `from` to `to` leaves the block, with its other replicas at `others`, in at
// least as many racks and at least as many datacenters as before.
[[nodiscard]] bool MoveKeepsSpread(const std::vector<const Location*>& others, const Location& from,
                                   const Location& to);

// Returns the distance of a reader from a replica. Smaller is closer.
[[nodiscard]] Locality DistanceBetween(NodeId a, const Location& a_where, NodeId b, const Location& b_where);

}  // namespace millrace::dfs
