// BlockManager: which live node holds which block, and what must be copied or deleted so that every block has the
// replicas its file wants. It is pure: it takes reports and node events, and gives out work. Replica places are never
// stored; they are learned from reports after every start, and nothing is deleted or copied before a node's report is
// complete.
//
// It is safe rather than quick: a replica is deleted only while every holder's report is complete and another replica
// is left that nobody was ordered to delete, so that orders that are carried out late cannot take the last copy. An
// order stands until its node says that the replica is gone, or until the next full report, which tells what became of
// all orders before it (ReportBegin).
//
// Two kinds of replicas belong to no file. Those of a file that is known to be removed are deleted, or put aside if
// only its writer seems to be gone (GiveUp). Unknown ones, which nobody has said were removed, are given out as
// separate work: they are put aside (into the worker's trash). If they are too many of a node's blocks
// (TooManyUnknown), that work is held back until an operator confirms it (DiscardUnknown), since then it is rather the
// master that lacks something: its database is too old, or of another cluster. Which nodes are held back is not stored:
// the next report shows it again.
//
// While what is wanted may be older than what was promised (SetDoubt), surplus replicas and those of another length
// than the wanted one are put aside, too. Only those with bad bytes and those that nobody ordered are deleted as ever.
//
// A replica counts if it is there by an order of this master (a copy, a block that a writer was given for this node,
// one that came back from the trash), or if the node's full report names it: nothing gets onto a worker's disk that
// some master did not order (dfs/wire/write_order.h). One of which a node tells on its own, and which nobody asked it
// for, may have anybody's bytes, whatever its checksum: it never counts, is no source and no reader's, and is deleted
// once a replica that counts is sure to stay.
//
// Thread rule: one thread. Costs: a report of n blocks O(n) with small constants (300,000 blocks well under 100 ms);
// NextWork O(work given out), and a few milliseconds at most.
#pragma once

#include <cstddef>
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
  NodeId from;
  std::vector<NodeId> to;
};
struct DeleteWork {
  NodeId node;
  std::vector<BlockId> blocks;
  std::uint64_t report = 0;  // BlockManager::ReportsBegun of the node when it was given out
};
struct BlockWork {
  std::vector<ReplicateWork> replicate;
  std::vector<DeleteWork> remove;  // at most one entry for each node
  std::vector<DeleteWork> aside;   // to be put into the trash: unknown blocks, given up ones, in doubt others; likewise
};

// Counts over all wanted blocks. Under-replicated are those with fewer replicas than their file wants and than there
// are nodes to hold them (up, and not draining); those on draining nodes are until they are elsewhere. Blocks that have
// one on each such node and want more are short of nodes: nothing can be done for them until a node comes. Either may
// have a single replica, if there is one alone on a live node, draining or not, and the file wants more: one failure
// more, and they are missing. Corrupt replicas are those on live nodes; `pending` counts copies under way.
struct BlockHealth {
  std::uint64_t blocks = 0, missing = 0, under_replicated = 0, over_replicated = 0, corrupt_replicas = 0, pending = 0;
  std::uint64_t short_of_nodes = 0, single_replica = 0;
  // Replicas on live nodes that no file has or nobody ordered; live nodes with too many of the former.
  std::uint64_t unknown = 0, nodes_held = 0;
};

// The unknown blocks of one node.
struct UnknownBlocks {
  std::uint64_t count = 0;
  bool held = false;  // they are too many: they stay until DiscardUnknown
};

// Returns true if the unknown blocks are more than a tenth of what the node has, however few these are.
[[nodiscard]] constexpr bool TooManyUnknown(std::uint64_t unknown, std::uint64_t blocks) {
  return unknown >
         blocks / 10;  // the quotient without its fraction: a whole number is above a tenth if it is above that
}

enum class BalanceState : std::uint8_t {
  kNever,     // not asked for since this object was made
  kMoving,    // under way
  kBalanced,  // ended: no node is over or under the threshold
  kStuck,     // ended: some nodes are, but no replica that may move would help
  kStopped,   // by StopBalance
};

struct BalanceView {
  BalanceState state = BalanceState::kNever;
  double threshold = 0;                             // these four are shares of 1, of what nodes hold of files
  double mean = 0, smallest = 0, largest = 0;       // over the nodes that are up, not draining, and known for size
  std::uint64_t bytes_left = 0;                     // as Shares::BytesLeft
  std::uint64_t moved_blocks = 0, moved_bytes = 0;  // since balancing began
  std::uint64_t moving_blocks = 0;                  // copies under way whose source gives up its own replica
};

class BlockManager {
 public:
  explicit BlockManager(Random random);
  ~BlockManager();

  // ---- what the namespace wants ----

  // Records a finished block of a visible file. It is called for each block at load, before any node reports, and at
  // Complete. A replica that a node named before counts at once if the block was expected then; otherwise it was
  // unknown, is no longer put aside, and counts when its node names it again. Requires: the length and checksum of a
  // block never change.
  void Want(const Block& block, std::uint32_t replication);
  void SetReplication(BlockId block, std::uint32_t replication);
  // Records that no file has the block any more: its replicas are deleted wherever they are or turn up (at least those
  // of the last kRemembered such blocks). It is also called at load, before Want, for blocks that were removed before
  // the master was started anew.
  static constexpr std::size_t kRemembered = std::size_t{1} << 18;
  void Unwant(BlockId block);
  // Records the same of a block whose writer seems to have gone away. It may as well have ended the file, with a master
  // that knew more: so the replicas are put aside, however many they are, wherever they are or turn up.
  void GiveUp(BlockId block);
  // Records that no file has the block any more, though that may be an error of what is known: its replicas are unknown
  // from now on, wherever they are or turn up, and held back if they are too many. It also takes Unwant back.
  void Disown(BlockId block);
  // Says whether what is wanted may be older than what was promised.
  void SetDoubt(bool doubt);
  // Records that the block was given out to a writer, for these nodes (for any, if none is named, as for a block that
  // was given out before the master was started anew): replicas that turn up are neither copied nor deleted until Want
  // or Unwant. One on another node does not count then.
  void Expect(BlockId block, std::vector<NodeId> at = {});

  // ---- nodes ----
  void NodeExists(NodeId node);  // it was up before the master was started anew
  // The node is up. If it was up already, it has started anew: copies and deletions that it was told of are given out
  // again.
  void NodeUp(NodeId node, const Location& where);
  void NodeDown(NodeId node);    // its replicas are gone until it reports again
  void ForgetNode(NodeId node);  // forgets all about it. Requires: it is not up.
  // Sets the free space and the capacity of a node. Until the first call no space of it is known to be free. A capacity
  // of 0 means that it is not known: balancing waits for it. Requires: the node is up.
  void NodeSpace(NodeId node, std::uint64_t free_bytes, std::uint64_t capacity_bytes = 0);
  // A draining node's replicas are good for reading and do not count towards replication. Copies that are on their way
  // to it when it begins to drain are given out again to others.
  void SetDraining(NodeId node, bool draining);
  // A leaving node will be gone soon, and its replicas with it. Blocks that have no other replica are copied before any
  // other block; for the rest its replicas count for nothing. More copies than usual may be under way from it
  // (NextWork). Requires: the caller sets it to drain as well.
  void SetLeaving(NodeId node, bool leaving);
  // An ailing node is alive and its replicas count, but it is slow or others cannot reach it. It gets no blocks while
  // another node has room (a copy goes there if all others have the block or are full), and reads and copies are taken
  // where it is spared: its replicas are read and copied last. Of surplus replicas whose loss leaves a block in as many
  // racks its own are deleted first.
  void SetAiling(NodeId node, bool ailing);
  // Returns how many blocks on a draining node do not have their replicas elsewhere yet (as many as there are nodes
  // left to hold them), those that are being written and the damaged ones that have no good replica included; nothing
  // for a node that is not draining or whose report is not complete. O(blocks of the node)
  [[nodiscard]] std::optional<std::uint64_t> LeftToDrain(NodeId node) const;
  [[nodiscard]] bool Drained(NodeId node) const { return LeftToDrain(node) == 0; }
  // Returns how many of these are damaged, and have no good replica anywhere: they cannot be copied.
  [[nodiscard]] std::uint64_t DamagedAlone(NodeId node) const;
  // Returns true if a node that is up, not draining and another one says that it has this expected block.
  [[nodiscard]] bool ExpectedElsewhere(NodeId node, BlockId block) const;
  // Returns how many of the blocks that a node had when it went down have no good replica now; nothing if the node is
  // up or has not been up. Calls `visit` for them, by rising id, until it returns false. O(blocks that it had)
  [[nodiscard]] std::optional<std::uint64_t> LostWith(NodeId node,
                                                      const std::function<bool(BlockId)>& visit = {}) const;
  // Returns the most replicas that any block wants; 0 without blocks.
  [[nodiscard]] std::uint32_t MostWanted() const;

  // ---- what nodes report ----

  // A full report is one ReportBegin, any number of ReportPart and one ReportEnd. At its end the replicas that it did
  // not name are gone. A replica whose length or checksum differs from the wanted block's is corrupt. An unwanted one
  // is to be deleted, an unknown one to be put aside. Requires: each deletion that the node was ordered to make before
  // ReportBegin either was made before the node listed its blocks, or will never be made.
  void ReportBegin(NodeId node);
  // Returns how many full reports the node has begun. Who keeps DeleteWork back for a while must not send it any more
  // if they have become more: what the node still has is given out anew.
  [[nodiscard]] std::uint64_t ReportsBegun(NodeId node) const;
  void ReportPart(NodeId node, const std::vector<Block>& blocks);
  void ReportEnd(NodeId node);
  // Records that the node says, on its own, that it has this replica.
  void Received(NodeId node, const Block& block);
  // Records that a writer says that the node has the block. It is believed unless the node has found its replica bad,
  // or has had it and has it no more; if the node has listed its blocks meanwhile, and not this one, it counts once the
  // node says so itself.
  void Written(NodeId node, const Block& block);
  void Deleted(NodeId node, BlockId block);
  // Records that a reader or the node's scanner found the replica bad. It is deleted once a good copy exists elsewhere,
  // and only Received makes it good again. The call is ignored if the node neither holds the block nor was ordered to
  // delete it.
  void Corrupt(NodeId node, BlockId block);

  // ---- unknown blocks ----
  [[nodiscard]] UnknownBlocks UnknownOn(NodeId node) const;
  // Calls `visit` for the unknown blocks after `after`, by rising id, until it returns false.
  void ForEachUnknown(NodeId node, BlockId after, const std::function<bool(const Block&)>& visit) const;
  // Lets the unknown blocks that the node has now be put aside, however many they are. Returns their number, or kBusy
  // while the node's report is not complete, since nobody knows yet which they are.
  [[nodiscard]] Result<std::uint64_t> DiscardUnknown(NodeId node);
  // Returns true if a block from the node's trash should come back: a file has it, with this length and checksum, and
  // the node has no replica that counts, nor one that nobody ordered. The node is taken to be asked for it.
  [[nodiscard]] bool Recall(NodeId node, const Block& trashed);

  // ---- blocks that are watched ----

  // Watches a wanted block, or watches it no more. Either does nothing if that is so already.
  void Watch(BlockId block);
  void Unwatch(BlockId block);
  // Returns the watched blocks of which the good replicas have changed since the call that returned them last: at most
  // `most`, those first that changed first. O(blocks returned, or unwatched since they changed).
  [[nodiscard]] std::vector<BlockId> TakeMoved(std::size_t most);

  // ---- what to do ----

  // Returns the copies and deletions to start now. At most `max_copies_per_node` copies are under way from or to one
  // node, and kLeavingHaste times as many from one that is leaving. A copy that was not reported Received within
  // `copy_timeout` is given out again. The most endangered blocks (fewest replicas) come first. Only nodes whose report
  // is complete get work. A call gives out at most 1000 deletions for each node.
  static constexpr std::uint32_t kLeavingHaste = 4;
  [[nodiscard]] BlockWork NextWork(Micros now, std::uint32_t max_copies_per_node, Micros copy_timeout);

  // ---- balancing ----

  // Starts balancing, or starts it anew if it is under way: NextWork gives out moves as well, by the rule of
  // balancer.h, until no node is over or under the threshold (a share of 1) or no move can be made. A move is a copy
  // after which the source's replica is the surplus one; the block must then be in as many racks and datacenters as
  // before. A move is forgotten if it fails or times out, or if the block has come to need the copy meanwhile. Only
  // blocks that have exactly the replicas they want move, between nodes that are not draining. Moves begin only while
  // no copy that a block lacks is under way. They leave half of the copies that NextWork may have under way at a node
  // to such copies; where NextWork may have only one, moves begin only while no block lacks a replica.
  void StartBalance(double threshold);
  void StopBalance();  // ends balancing if it is under way: no more moves begin
  [[nodiscard]] BalanceView Balance() const;

  // Returns the targets for a new block; none if no live node has room. Ailing nodes are among them only if no other
  // has room.
  [[nodiscard]] std::vector<NodeId> ChooseTargets(const PlacementRequest& request);
  // Records that a writer began (+1) or ended (-1) a pipeline through the node.
  void WritesUnderWay(NodeId node, int change);

  [[nodiscard]] std::optional<Block> Find(BlockId block) const;  // nothing if it is not wanted
  [[nodiscard]] bool Knows(NodeId node) const;                   // it is or was up, or exists
  [[nodiscard]] bool Holds(NodeId node, BlockId block) const;    // by its reports; a wanted or expected block
  // Returns the nodes with good replicas of a wanted block, draining ones last and ailing ones after these, otherwise
  // by node id.
  [[nodiscard]] std::vector<NodeId> Replicas(BlockId block) const;
  // Returns the same and after them, by node id, the nodes whose replicas were found bad; none that nobody ordered.
  [[nodiscard]] std::vector<NodeId> AllReplicas(BlockId block) const;
  [[nodiscard]] std::uint32_t LiveReplicas(BlockId block) const;  // those that count towards replication
  [[nodiscard]] BlockHealth Health() const;
  // Calls `visit` for the blocks that are missing, under-replicated or have a single replica, by rising id, until it
  // returns false.
  // `live` counts draining nodes too, so 0 means that the block is missing. It looks at every block, and serves fsck.
  void ForEachUnhealthy(const std::function<bool(const Block&, std::uint32_t live, std::uint32_t wanted)>& visit) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::dfs
