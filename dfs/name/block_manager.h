// BlockManager: which live node holds which block, and what must be copied or deleted so that every block has the
// replicas its file wants. Pure: reports and node events in, work out. Replica places are never stored; they are
// learned from reports after every start, and nothing is deleted or copied before a node's report is complete.
//
// Safe rather than quick: a replica is deleted only while every holder's report is complete and one is left whose
// deletion was never ordered, so that orders that come late or twice cannot take the last copy.
//
// Two kinds of replicas belong to no file. Those of a file that is known to be removed are deleted.
// Unknown ones, of which nobody said that they were removed: they are told apart as work to be put aside (into the
// worker's trash), and when they are too many of a node's blocks (TooManyUnknown) nothing is told at all until somebody
// confirms it, since then it is rather we who lack something: a database too old, or of another cluster. Which nodes
// are held back so is not stored: it comes out again at the next report.
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
#include "base/status.h"
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
  std::vector<DeleteWork> aside;   // unknown blocks, likewise; for the trash
};

// Over all wanted blocks; those on draining nodes count as under-replicated until they are elsewhere. Corrupt replicas
// are those on live nodes; pending are copies under way.
struct BlockHealth {
  std::uint64_t blocks = 0, missing = 0, under_replicated = 0, over_replicated = 0, corrupt_replicas = 0, pending = 0;
  std::uint64_t unknown = 0, nodes_held = 0;  // unknown replicas on live nodes; live nodes with too many of them
};

// Of one node's.
struct UnknownBlocks {
  std::uint64_t count = 0;
  bool held = false;  // too many: they stay until DiscardUnknown
};

// More than a handful, and more than a tenth of what the node reported.
[[nodiscard]] constexpr bool TooManyUnknown(std::uint64_t unknown, std::uint64_t reported) {
  return unknown > 10 && unknown > reported / 10;
}

enum class BalanceState : std::uint8_t {
  kNever,     // not asked for since this object was made
  kMoving,    // under way
  kBalanced,  // ended: no node is over or under the threshold
  kStuck,     // ended: some are, but no replica may move that would help
  kStopped,   // by StopBalance
};

struct BalanceView {
  BalanceState state = BalanceState::kNever;
  double threshold = 0;                             // these four as a share of 1, of what nodes hold of files
  double mean = 0, smallest = 0, largest = 0;       // over the nodes that are up, not draining, and known for size
  std::uint64_t bytes_left = 0;                     // as Shares::BytesLeft
  std::uint64_t moved_blocks = 0, moved_bytes = 0;  // since balancing began
  std::uint64_t moving_blocks = 0;                  // copies under way of which the source gives its own up
};

class BlockManager {
 public:
  explicit BlockManager(Random random);
  ~BlockManager();

  // ---- what the namespace wants ----
  // A finished block of a visible file. Called for each at load, before any node reports, and at Complete. A replica
  // that was named before counts if the block was expected then; else it was unknown, is not put aside any more, and
  // counts when its node names it again. The length and checksum of a block never change.
  void Want(const Block& block, std::uint32_t replication);
  void SetReplication(BlockId block, std::uint32_t replication);
  // No file has it any more: replicas are deleted wherever they are or turn up (at least of the last kRemembered). Also
  // called at load, before Want, for those that were removed in an earlier life of the master.
  static constexpr std::size_t kRemembered = std::size_t{1} << 18;
  void Unwant(BlockId block);
  // Given out to a writer: replicas that turn up are neither copied nor deleted until Want or Unwant.
  void Expect(BlockId block);

  // ---- nodes ----
  void NodeExists(NodeId node);  // it was up in an earlier life of the master
  // A node that is up already has begun anew: copies and deletions it was told of are given out again.
  void NodeUp(NodeId node, const Location& where);
  void NodeDown(NodeId node);    // its replicas are gone, until it reports again
  void ForgetNode(NodeId node);  // nothing is known of it any more. Requires: it is not up.
  // Of a node that is up; before it, none is known to be free. Capacity 0 is not known: balancing waits for it.
  void NodeSpace(NodeId node, std::uint64_t free_bytes, std::uint64_t capacity_bytes = 0);
  // A draining node's replicas are good for reading and do not count towards replication.
  void SetDraining(NodeId node, bool draining);
  // True when every block on a draining node has its replicas elsewhere (as many as there are nodes left to hold them).
  // False for a node that is not draining, or whose report is not complete.
  [[nodiscard]] bool Drained(NodeId node) const;

  // ---- what nodes report ----
  // A full report comes in parts: begin, parts in any number, end. At the end, replicas not named are gone. A replica
  // whose length or checksum differs from the wanted block's is corrupt. An unwanted one is to be deleted, an unknown
  // one put aside.
  void ReportBegin(NodeId node);
  void ReportPart(NodeId node, const std::vector<Block>& blocks);
  void ReportEnd(NodeId node);
  void Received(NodeId node, const Block& block);
  void Deleted(NodeId node, BlockId block);
  // Found by a reader or the node's scanner; deleted once a good copy exists elsewhere. Ignored for what the node does
  // not hold. Only Received makes the replica good again.
  void Corrupt(NodeId node, BlockId block);

  // ---- unknown blocks ----
  [[nodiscard]] UnknownBlocks UnknownOn(NodeId node) const;
  // By rising id, those after `after`; false from visit stops.
  void ForEachUnknown(NodeId node, BlockId after, const std::function<bool(const Block&)>& visit) const;
  // Those that the node has now may be put aside, however many they are. Returns how many they are. kBusy while its
  // report is not complete: nobody knows yet which they are.
  [[nodiscard]] Result<std::uint64_t> DiscardUnknown(NodeId node);
  // Whether a block from the node's trash should come back: a file has it, with this length and checksum, and the node
  // has no replica.
  [[nodiscard]] bool WantsBack(NodeId node, const Block& trashed) const;

  // ---- what to do ----
  // Copies and deletions to start now; at most `max_copies_per_node` copies under way from or to one node. A copy that
  // was not reported Received within `copy_timeout` is given out again. Most endangered blocks (fewest replicas) first.
  // Only nodes whose report is complete are told to do anything. At most 1000 deletions a node and call.
  [[nodiscard]] BlockWork NextWork(Micros now, std::uint32_t max_copies_per_node, Micros copy_timeout);
  // ---- balancing ----
  // From now on NextWork gives out moves as well, by the rule of balancer.h, until no node is over or under the
  // threshold (a share of 1) or no move can be made; where it is under way it begins anew. A move is a copy after which
  // its source's replica is the surplus one, if the block is then in as many racks and datacenters as before; one that
  // fails, times out, or whose copy the block has come to need meanwhile is forgotten. Only blocks that have exactly
  // what they want move, between nodes that are not draining. Moves begin only while no copy that a block lacks is
  // under way, and leave half of what NextWork may have under way at a node to such copies; where that is one, they
  // begin only while no block lacks any.
  void StartBalance(double threshold);
  void StopBalance();  // if it is under way: no more moves begin
  [[nodiscard]] BalanceView Balance() const;

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
