// BlockManager: which live node holds which block, and what must be copied or deleted so that every block has the replicas
// its file wants. Pure: reports and node events in, work out. Replica places are never stored; they are learned from
// reports after every start, and nothing is deleted or copied before a node's report is complete.
//
// Thread rule: one thread. Costs: a report of n blocks O(n) with small constants (300,000 blocks well under 100 ms);
// NextWork O(work given out).
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

struct ReplicateWork { Block block; NodeId from = 0; std::vector<NodeId> to; };
struct DeleteWork { NodeId node = 0; std::vector<BlockId> blocks; };
struct BlockWork {
  std::vector<ReplicateWork> replicate;
  std::vector<DeleteWork> remove;  // one entry a node at most
};

struct BlockHealth {  // over all known blocks
  std::uint64_t blocks = 0, missing = 0, under_replicated = 0, over_replicated = 0, corrupt_replicas = 0, pending = 0;
};

class BlockManager {
 public:
  explicit BlockManager(Random random);
  ~BlockManager();

  // ---- what the namespace wants ----
  // A finished block of a visible file. Called for each at load and at Complete.
  void Want(const Block& block, std::uint32_t replication);
  void SetReplication(BlockId block, std::uint32_t replication);
  // No file has it any more: replicas are deleted wherever they are or turn up.
  void Unwant(BlockId block);
  // Given out to a writer: replicas that turn up are neither copied nor deleted until Want or Unwant.
  void Expect(BlockId block);

  // ---- nodes ----
  void NodeUp(NodeId node, const Location& where);
  void NodeDown(NodeId node);  // its replicas are gone, until it reports again
  void NodeSpace(NodeId node, std::uint64_t free_bytes);
  // A draining node's replicas are good for reading and do not count towards replication.
  void SetDraining(NodeId node, bool draining);
  // True when every block on a draining node has its replicas elsewhere.
  [[nodiscard]] bool Drained(NodeId node) const;

  // ---- what nodes report ----
  // A full report comes in parts: begin, parts in any number, end. At the end, replicas not named are gone. A replica whose
  // length differs from the wanted block is corrupt. An unwanted one is to be deleted.
  void ReportBegin(NodeId node);
  void ReportPart(NodeId node, const std::vector<Block>& blocks);
  void ReportEnd(NodeId node);
  void Received(NodeId node, const Block& block);
  void Deleted(NodeId node, BlockId block);
  void Corrupt(NodeId node, BlockId block);  // found by a reader or the node's scanner; deleted once a good copy exists elsewhere

  // ---- what to do ----
  // Copies and deletions to start now; at most `max_copies_per_node` copies under way from or to one node. A copy that was
  // not reported Received within `copy_timeout` is given out again. Most endangered blocks (fewest replicas) first.
  [[nodiscard]] BlockWork NextWork(Micros now, std::uint32_t max_copies_per_node, Micros copy_timeout);
  // Targets for a new block; empty when no live node has room.
  [[nodiscard]] std::vector<NodeId> ChooseTargets(const PlacementRequest& request);
  // A writer began (+1) or ended (-1) a pipeline through the node.
  void WritesUnderWay(NodeId node, int change);

  // Good replicas, draining ones last; ordered by node id otherwise.
  [[nodiscard]] std::vector<NodeId> Replicas(BlockId block) const;
  [[nodiscard]] std::uint32_t LiveReplicas(BlockId block) const;
  [[nodiscard]] BlockHealth Health() const;
  // Blocks that have no good replica, or fewer than wanted; false from visit stops. For fsck.
  void ForEachUnhealthy(const std::function<bool(const Block&, std::uint32_t live, std::uint32_t wanted)>& visit) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::dfs
