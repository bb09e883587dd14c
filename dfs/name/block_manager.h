// BlockManager: which live node holds which block, and what must be copied or deleted so that every block has the
// replicas its file wants. Pure: reports and node events in, work out. Replica places are never stored; they are
// learned from reports after every start, and nothing is deleted or copied before a node's report is complete.
//
// Safe rather than quick: a replica is deleted only while every holder's report is complete and one is left whose
// deletion was never ordered, so that orders that come late or twice cannot take the last copy.
//
// Thread rule: one thread. Costs: a report of n blocks O(n) with small constants (300,000 blocks well under 100 ms);
// NextWork O(work given out), and a few milliseconds at most.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "dfs/name/placement.h"
#include "dfs/name/types.h"

namespace millrace::dfs {

struct ReplicateWork {
  Block block;
  NodeId from = 0;
  std::vector<NodeId> to;
};
struct DeleteWork {
  NodeId node = 0;
  std::vector<BlockId> blocks;
};
struct BlockWork {
  std::vector<ReplicateWork> replicate;
  std::vector<DeleteWork> remove;  // one entry a node at most
};

// Over all wanted blocks; those on draining nodes count as under-replicated until they are elsewhere. Corrupt replicas
// are those on live nodes; pending are copies under way.
struct BlockHealth {
  std::uint64_t blocks = 0, missing = 0, under_replicated = 0, over_replicated = 0, corrupt_replicas = 0, pending = 0;
};

class BlockManager {
 public:
  explicit BlockManager(Random random);
  ~BlockManager();

  // ---- what the namespace wants ----
  // A finished block of a visible file. Called for each at load (before any node reports: an unknown replica is an
  // unwanted one) and at Complete. The length and checksum of a block never change.
  void Want(const Block& block, std::uint32_t replication);
  void SetReplication(BlockId block, std::uint32_t replication);
  // No file has it any more: replicas are deleted wherever they are or turn up.
  void Unwant(BlockId block);
  // Given out to a writer: replicas that turn up are neither copied nor deleted until Want or Unwant.
  void Expect(BlockId block);

  // ---- nodes ----
  void NodeExists(NodeId node);  // it was up in an earlier life of the master
  // A node that is up already has begun anew: copies and deletions it was told of are given out again.
  void NodeUp(NodeId node, const Location& where);
  void NodeDown(NodeId node);                             // its replicas are gone, until it reports again
  void NodeSpace(NodeId node, std::uint64_t free_bytes);  // of a node that is up; before it, none is known to be free
  // A draining node's replicas are good for reading and do not count towards replication.
  void SetDraining(NodeId node, bool draining);
  // True when every block on a draining node has its replicas elsewhere (as many as there are nodes left to hold them).
  // False for a node that is not draining, or whose report is not complete.
  [[nodiscard]] bool Drained(NodeId node) const;

  // ---- what nodes report ----
  // A full report comes in parts: begin, parts in any number, end. At the end, replicas not named are gone. A replica
  // whose length or checksum differs from the wanted block's is corrupt. An unwanted one is to be deleted.
  void ReportBegin(NodeId node);
  void ReportPart(NodeId node, const std::vector<Block>& blocks);
  void ReportEnd(NodeId node);
  void Received(NodeId node, const Block& block);
  void Deleted(NodeId node, BlockId block);
  // Found by a reader or the node's scanner; deleted once a good copy exists elsewhere. Ignored for what the node does
  // not hold. Only Received makes the replica good again.
  void Corrupt(NodeId node, BlockId block);

  // ---- what to do ----
  // Copies and deletions to start now; at most `max_copies_per_node` copies under way from or to one node. A copy that
  // was not reported Received within `copy_timeout` is given out again. Most endangered blocks (fewest replicas) first.
  // Only nodes whose report is complete are told to do anything. At most 1000 deletions a node and call.
  [[nodiscard]] BlockWork NextWork(Micros now, std::uint32_t max_copies_per_node, Micros copy_timeout);
  // Targets for a new block; empty when no live node has room.
  [[nodiscard]] std::vector<NodeId> ChooseTargets(const PlacementRequest& request);
  // A writer began (+1) or ended (-1) a pipeline through the node.
  void WritesUnderWay(NodeId node, int change);

  [[nodiscard]] std::optional<Block> Find(BlockId block) const;  // if it is wanted
  [[nodiscard]] bool Knows(NodeId node) const;                   // it is or was up, or exists
  [[nodiscard]] bool Holds(NodeId node, BlockId block) const;    // as it reports; wanted or expected
  // Good replicas of a wanted block, draining ones last; ordered by node id otherwise.
  [[nodiscard]] std::vector<NodeId> Replicas(BlockId block) const;
  // The same and after them, by node id, those that were found bad.
  [[nodiscard]] std::vector<NodeId> AllReplicas(BlockId block) const;
  [[nodiscard]] std::uint32_t LiveReplicas(BlockId block) const;  // that count towards replication
  [[nodiscard]] BlockHealth Health() const;
  // Blocks that have no good replica, or fewer than wanted, by rising id; `live` counts draining nodes too, so 0 is
  // missing. False from visit stops. For fsck: looks at every block.
  void ForEachUnhealthy(const std::function<bool(const Block&, std::uint32_t live, std::uint32_t wanted)>& visit) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::dfs
