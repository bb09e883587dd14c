// SPDX-License-Identifier: Apache-2.0
// BlockManager knows which live node holds which block, and decides what to copy or delete so that every block has the
// replicas that its file wants. It is pure: it takes reports and node events, and returns work. Replica places are
// never stored; they are learned from reports after every start, and a node gets no copies or deletions before its
// report is complete.
//
// It is safe rather than quick: a replica is deleted only while every holder's report is complete and there remains
// another replica that no node was ordered to delete. So orders that are carried out late cannot delete the last copy.
// An order stands until its node reports that the replica is gone, or until the next full report, which shows the
// result of all earlier orders (ReportBegin).
//
// Two kinds of replicas belong to no file. Replicas of a file that is known to be removed are deleted; if only the
// file's writer seems to be gone (GiveUp), they are put aside (into the worker's trash). Unknown replicas, whose
// removal was never recorded, are put aside by separate work. If too many of a node's blocks are unknown
// (TooManyUnknown), that work is held back until an operator confirms it (DiscardUnknown), since the fault then
// probably lies with the master, whose database is too old or belongs to another cluster. The set of nodes held back is
// not stored, since the next report shows it again.
//
// While the wanted blocks may be older than what clients were promised (SetDoubt), surplus replicas and those of a
// wrong length are put aside, too. Only replicas with bad bytes and those that nobody ordered are still deleted.
//
// A replica counts if this master ordered it (a copy, a block allocated to a writer for this node, or one brought back
// from the trash), or if the node's full report names it: nothing gets onto a worker's disk unless some master ordered
// it (dfs/wire/write_order.h). A replica that a node reports on its own, without an order, may hold anybody's bytes,
// whatever its checksum. It never counts, is neither copied nor read, and is deleted once a replica that counts is sure
// to stay.
//
// Thread rule: one thread. Costs: a report of n blocks O(n) with small constants (300,000 blocks well under 100 ms);
// NextWork O(work returned), and a few milliseconds at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "base/status.h"
#include "dfs/name/placement.h"
#include "dfs/name/types.h"

namespace millrace::dfs {

struct ReplicateWork {
  Block block;
  NodeId from;
  std::vector<NodeId> to;
};
struct DeleteWork {
  NodeId node;
  std::vector<BlockId> blocks;
  std::uint64_t report = 0;  // BlockManager::ReportsBegun of the node when this was issued
};
struct BlockWork {
  std::vector<ReplicateWork> replicate;
  std::vector<DeleteWork> remove;  // at most one entry for each node
  // Blocks to put into the trash: unknown ones, those given up and, in doubt, others. At most one entry for each node.
  std::vector<DeleteWork> aside;
};

// Counts over all wanted blocks.
// - under_replicated: blocks with fewer replicas than their file wants, and fewer than there are usable nodes (up, and
//   neither draining nor in maintenance); replicas on draining nodes do not count, and those on nodes in maintenance do
//   as SetMaintenance says.
// - short_of_nodes: blocks that have a replica on each usable node and want more; they must wait for another node.
// - single_replica: those of the two kinds above whose file wants more than one replica, but that have only one on a
//   live node, draining or not; after one more failure they are missing.
// - corrupt_replicas: corrupt replicas on live nodes.
// - pending: copies under way.
struct BlockHealth {
  std::uint64_t blocks = 0, missing = 0, under_replicated = 0, over_replicated = 0, corrupt_replicas = 0, pending = 0;
  std::uint64_t short_of_nodes = 0, single_replica = 0;
  // Blocks with fewer replicas on nodes that are not in maintenance than SetLeastStaying says, and one that a node in
  // maintenance has or may have. Those that no node has which is up are among the missing ones, too.
  std::uint64_t only_in_maintenance = 0;
  // `unknown` counts replicas on live nodes that belong to no file or that nobody ordered; `nodes_held`, live nodes
  // with too many replicas that belong to no file.
  std::uint64_t unknown = 0, nodes_held = 0;
};

// The unknown blocks of one node.
struct UnknownBlocks {
  std::uint64_t count = 0;
  bool held = false;  // too many: they stay until DiscardUnknown
};

// Returns true if the unknown blocks are more than a tenth of the node's blocks, however few those are.
[[nodiscard]] constexpr bool TooManyUnknown(std::uint64_t unknown, std::uint64_t blocks) {
  return unknown > blocks / 10;  // rounding down is right: a whole number is above a tenth if it is above the quotient
}

enum class BalanceState : std::uint8_t {
  kNever,     // not started since this object was made
  kMoving,    // under way
  kBalanced,  // ended: no node is over or under the threshold
  kStuck,     // ended: some nodes are over or under, but no allowed move would help
  kStopped,   // by StopBalance
};

struct BalanceView {
  BalanceState state = BalanceState::kNever;
  // These four are fractions of 1, of the bytes of files on nodes. The last three are taken over the nodes that are up,
  // not draining, and of known capacity.
  double threshold = 0;
  double mean = 0, smallest = 0, largest = 0;
  std::uint64_t bytes_left = 0;                     // as Shares::BytesLeft
  std::uint64_t moved_blocks = 0, moved_bytes = 0;  // since balancing began
  std::uint64_t moving_blocks = 0;                  // copies under way whose source will give up its own replica
};

class BlockManager {
 public:
  explicit BlockManager(Random random);
  ~BlockManager();

  // ---- blocks that the namespace wants ----

  // Records a finished block of a visible file. It is called for each block at load, before any node reports, and at
  // Complete. A replica that a node has named already counts at once if the block was expected then. Otherwise that
  // replica was unknown; it is no longer put aside, and counts when its node names it again. Requires: the length and
  // checksum of a block never change.
  void Want(const Block& block, std::uint32_t replication);
  void SetReplication(BlockId block, std::uint32_t replication);
  // Records that no file has the block any longer: its replicas are deleted wherever they are or turn up (at least for
  // the last kRemembered such blocks). It is also called at load, before Want, for blocks that were removed before the
  // master restarted.
  static constexpr std::size_t kRemembered = std::size_t{1} << 18;
  void Unwant(BlockId block);
  // Records that no file has the block, since its writer seems to be gone. The writer may instead have completed the
  // file with a master whose database went further, so the replicas are put aside, however many they are, wherever they
  // are or turn up.
  void GiveUp(BlockId block);
  // Records that no file has the block any longer, though the records may be wrong: its replicas are unknown from now
  // on, wherever they are or turn up, and held back if they are too many. It also reverses Unwant.
  void Disown(BlockId block);
  // Sets whether the wanted blocks may be older than what clients were promised.
  void SetDoubt(bool doubt);
  // Records that the block was allocated for a writer, on the nodes `at` (on any node if `at` is empty, as for a block
  // allocated before the master restarted). Replicas that turn up are neither copied nor deleted until Want or Unwant.
  // A replica on any other node does not count even after Want.
  void Expect(BlockId block, std::vector<NodeId> at = {});

  // ---- nodes ----
  void NodeExists(NodeId node);  // the node was up before the master restarted
  // Records that the node is up. If it was up already, it has restarted: copies and deletions that it was ordered to
  // make are issued again.
  void NodeUp(NodeId node, const Location& where);
  void NodeDown(NodeId node);    // the node's replicas are gone until it reports again
  void ForgetNode(NodeId node);  // forgets the node. Requires: the node is not up.
  // Sets the free space and the capacity of a node. Until the first call, the node counts as having no free space. A
  // capacity of 0 means unknown: balancing waits for it. Requires: the node is up.
  void NodeSpace(NodeId node, std::uint64_t free_bytes, std::uint64_t capacity_bytes = 0);
  // A draining node's replicas can be read, but do not count towards replication. Copies that are on their way to the
  // node when it begins to drain are issued again, to other nodes.
  void SetDraining(NodeId node, bool draining);
  // A leaving node will soon be gone, and its replicas with it. In the order of copies (NextWork) its replicas do not
  // count, and blocks that have no other replica are copied before any other block. More copies than usual may be under
  // way from it. Requires: the caller also sets the node to drain.
  void SetLeaving(NodeId node, bool leaving);
  // An ailing node is alive and its replicas count, but it is slow or others cannot reach it. It gets no blocks while
  // another node has room (it gets a copy if all others have the block or are full), and its replicas are read and
  // copied last. Among surplus replicas whose deletion leaves the block in equally many racks, those on ailing nodes
  // are deleted first.
  void SetAiling(NodeId node, bool ailing);
  // A node in maintenance is away for a while, or soon will be. It gets no blocks. Its replicas count, whether it is up
  // or not, so that nothing is copied because of it, as long as the block also has SetLeastStaying replicas on other
  // nodes, and no node that has it drains. They never justify the deletion of another replica. While a node in
  // maintenance is down or has not listed its blocks, it counts as having those that it had when it went down. If this
  // is not known, since the master has started meanwhile, it counts as having any block. O(blocks of the node), and
  // O(all blocks) if it counts as having any.
  void SetMaintenance(NodeId node, bool maintenance);
  // Sets the number of replicas of each block that are to be on nodes that are not in maintenance; 1 at first. A block
  // with fewer is copied, from a node in maintenance if no other has it. Requires: no node is in maintenance.
  void SetLeastStaying(std::uint32_t replicas);
  // Returns the number of blocks that would have fewer than SetLeastStaying replicas if these nodes, too, were away:
  // of those that the nodes have, and those that are being written and have a replica on no other node. Returns nothing
  // if one of these nodes is not up or has not listed its blocks. O(blocks of the nodes).
  [[nodiscard]] std::optional<std::uint64_t> LackingWithout(const std::set<NodeId>& nodes) const;
  // Returns the number of blocks on a draining node that do not yet have their replicas elsewhere (all that they want,
  // or one on each node left to hold them). Blocks being written, and damaged ones without a good replica, are
  // included. Returns nothing for a node that is not draining or whose report is not complete. O(blocks of the node).
  [[nodiscard]] std::optional<std::uint64_t> LeftToDrain(NodeId node) const;
  [[nodiscard]] bool Drained(NodeId node) const { return LeftToDrain(node) == 0; }
  // Returns the number of damaged blocks on the node that have no good replica anywhere: they cannot be copied.
  [[nodiscard]] std::uint64_t DamagedAlone(NodeId node) const;
  // Returns true if another node that is up and neither draining nor in maintenance has reported this expected block.
  [[nodiscard]] bool ExpectedElsewhere(NodeId node, BlockId block) const;
  // Returns how many of the blocks that a node had when it went down now have no good replica; nothing if the node is
  // up or was never up. Calls `visit` for these blocks, by rising id, until it returns false. O(blocks that the node
  // had).
  [[nodiscard]] std::optional<std::uint64_t> LostWith(NodeId node,
                                                      const std::function<bool(BlockId)>& visit = {}) const;
  // Returns the most replicas that any block wants; 0 without blocks.
  [[nodiscard]] std::uint32_t MostWanted() const;

  // ---- reports of nodes ----

  // A full report is one ReportBegin, any number of ReportPart and one ReportEnd. At the end of the report, the
  // replicas that the report did not name are gone. A replica whose length or checksum differs from that of the wanted
  // block is corrupt. An unwanted replica is to be deleted, an unknown one to be put aside. Requires: each deletion
  // that the node was ordered to make before ReportBegin either was made before the node listed its blocks, or will
  // never be made.
  void ReportBegin(NodeId node);
  // Returns the number of full reports that the node has begun. A caller that delays DeleteWork must drop it if the
  // number has grown: deletions of replicas that the node still has are issued again.
  [[nodiscard]] std::uint64_t ReportsBegun(NodeId node) const;
  void ReportPart(NodeId node, const std::vector<Block>& blocks);
  void ReportEnd(NodeId node);
  // Records that the node has reported this replica on its own.
  void Received(NodeId node, const Block& block);
  // Records that a writer reports the block on the node. The writer is believed unless the node has found its replica
  // bad, or has lost a replica that it had. If the node has listed its blocks meanwhile without this one, the replica
  // counts once the node reports it itself.
  void Written(NodeId node, const Block& block);
  void Deleted(NodeId node, BlockId block);
  // Records that a reader or the node's scanner found the replica bad. The replica is deleted once a good copy exists
  // elsewhere, and only Received makes it good again. The call is ignored if the node neither holds the block nor was
  // ordered to delete it.
  void Corrupt(NodeId node, BlockId block);

  // ---- unknown blocks ----
  [[nodiscard]] UnknownBlocks UnknownOn(NodeId node) const;
  // Calls `visit` for the unknown blocks after `after`, by rising id, until it returns false.
  void ForEachUnknown(NodeId node, BlockId after, const std::function<bool(const Block&)>& visit) const;
  // Allows the present unknown blocks of the node to be put aside, however many they are. Returns their number, or
  // kBusy while the node's report is not complete, since they are not all known yet.
  [[nodiscard]] Result<std::uint64_t> DiscardUnknown(NodeId node);
  // Returns true if a block from the node's trash should come back: a file has it, with this length and checksum, and
  // the node has neither a replica that counts nor one that nobody ordered. The caller then asks the node for the
  // block, and its replica counts when it comes.
  [[nodiscard]] bool Recall(NodeId node, const Block& trashed);

  // ---- watched blocks ----

  // Watch begins to watch a wanted block, and Unwatch ends it. A repeated call does nothing.
  void Watch(BlockId block);
  void Unwatch(BlockId block);
  // Returns at most `most` watched blocks whose good replicas have changed since this function last returned them, in
  // the order of their changes. O(blocks returned, or unwatched since they changed).
  [[nodiscard]] std::vector<BlockId> TakeMoved(std::size_t most);

  // ---- work ----

  // Returns the copies and deletions to start now. At most `max_copies_per_node` copies are under way from or to one
  // node, and kLeavingHaste times as many from a leaving one. A copy that is not reported (Received) within
  // `copy_timeout` is issued again. The most endangered blocks (fewest replicas) come first. Only nodes whose report is
  // complete get work. A call returns at most 1000 deletions for each node.
  static constexpr std::uint32_t kLeavingHaste = 4;
  [[nodiscard]] BlockWork NextWork(Micros now, std::uint32_t max_copies_per_node, Micros copy_timeout);

  // ---- balancing ----

  // Starts balancing, or restarts it if it is under way. NextWork then also returns moves, by the rule of balancer.h,
  // until no node is over or under the threshold (a share of 1) or no move can be made. A move is a copy after which
  // the source's replica is surplus; the block must then be in as many racks and datacenters as before. A move is
  // forgotten if it fails or times out, or if the block needs the copy itself meanwhile. A block moves only if it has
  // exactly the replicas that it wants, and only between nodes that are not draining. Moves begin only while all copies
  // under way are moves. Moves leave half of the copies that NextWork may have under way at a node to copies that
  // blocks lack; if NextWork may have only one, moves begin only while no block lacks a replica.
  void StartBalance(double threshold);
  void StopBalance();  // ends balancing if it is under way: no further moves begin
  [[nodiscard]] BalanceView Balance() const;

  // Returns the targets for a new block; none if no live node has room. Ailing nodes are among them only if no other
  // has room.
  [[nodiscard]] std::vector<NodeId> ChooseTargets(const PlacementRequest& request);
  // Records that a writer began (+1) or ended (-1) a pipeline through the node.
  void WritesUnderWay(NodeId node, int change);

  [[nodiscard]] std::optional<Block> Find(BlockId block) const;  // nothing if the block is not wanted
  [[nodiscard]] bool Knows(NodeId node) const;                   // the node is or was up, or exists (NodeExists)
  [[nodiscard]] bool Holds(NodeId node, BlockId block) const;    // by its reports; a wanted or expected block
  // Returns the nodes with good replicas of a wanted block, draining ones and those in maintenance last and ailing ones
  // after these, otherwise by node id.
  [[nodiscard]] std::vector<NodeId> Replicas(BlockId block) const;
  // Returns the nodes that Replicas returns, followed by those whose replicas were found bad, by node id; replicas that
  // nobody ordered are left out.
  [[nodiscard]] std::vector<NodeId> AllReplicas(BlockId block) const;
  [[nodiscard]] std::uint32_t LiveReplicas(BlockId block) const;  // replicas that count towards replication
  [[nodiscard]] BlockHealth Health() const;
  // Calls `visit` for the blocks that are missing, under-replicated or have a single replica, by rising id, until it
  // returns false.
  // `live` includes draining nodes, so 0 means that the block is missing. It looks at every block; for fsck.
  void ForEachUnhealthy(const std::function<bool(const Block&, std::uint32_t live, std::uint32_t wanted)>& visit) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::dfs
