// SPDX-License-Identifier: Apache-2.0
// The state that the parts of BlockManager share: block_manager.cc keeps the wanted blocks and answers queries,
// block_reports.cc keeps the replicas on nodes, block_copies.cc chooses copies, block_balance.cc chooses moves, and
// block_work.cc chooses deletions. Thread rule: one thread.
#pragma once

#include <array>
#include <boost/container/small_vector.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "dfs/name/balancer.h"
#include "dfs/name/block_manager.h"
#include "dfs/name/replica_counts.h"

namespace millrace::dfs {

enum class ReplicaFlaw : std::uint8_t {
  kOther,      // its length or checksum is not that of the block: a later report of the right ones clears it
  kBytes,      // found corrupt: only a fresh copy clears it
  kUnordered,  // it turned up unasked, with bytes from an unknown source: only an ordered copy clears it
};

// The source of a report that a node has a replica.
enum class ToldBy : std::uint8_t {
  kReport,  // the node's full report, which is believed
  kNode,    // the node, for this replica alone, which has arrived, has come back, or was read
  kWriter,
};

enum class Watched : std::uint8_t {
  kNo,
  kYes,
  kMoved,  // watched, with an entry in Impl::moved
};

struct BlockState {  // of a wanted block; millions of them
  std::uint64_t length = 0;
  std::uint32_t crc = 0;
  std::uint8_t wanted = 0;
  std::uint8_t queued = 0;      // bit i: an entry in Impl::endangered[i]
  bool queued_surplus = false;  // an entry in Impl::surplus
  Watched watched = Watched::kNo;
  boost::container::small_vector<NodeId, 3> holders;  // nodes of good replicas, ascending

  [[nodiscard]] bool Is(const Block& reported) const { return reported.length == length && reported.crc == crc; }
};

struct ExpectedReplica {
  NodeId node;
  Block reported;
  bool ordered = true;
};
struct ExpectedBlock {
  std::vector<NodeId> at;                 // the nodes that it was allocated for; empty: no longer known
  std::vector<ExpectedReplica> replicas;  // on nodes that are up
};

struct NodeState {
  Location where;
  std::uint64_t free_bytes = 0;
  std::uint64_t capacity_bytes = 0;  // 0: unknown
  std::uint64_t held_bytes = 0;      // bytes of good replicas of wanted blocks
  std::uint32_t writes = 0;
  std::uint32_t copies = 0;  // copies from and to it
  bool up = false;
  bool draining = false;
  bool reported = false;                           // a full report is complete since it came up
  bool reporting = false;                          // a report is under way
  std::uint64_t reports = 0;                       // full reports begun
  boost::unordered_flat_set<BlockId> blocks;       // blocks held: good or expected
  boost::unordered_flat_set<BlockId> unconfirmed;  // held, but not named so far by the report under way
  // Blocks that the node was asked to copy or to bring back, each with the number of requests that it has not confirmed
  // yet. A copy may arrive long after it was given up, and after another copy ordered meanwhile.
  boost::unordered_flat_map<BlockId, std::uint32_t> asked;
  // Blocks being written that the node has lost: a writer that reports one of them on the node is not believed.
  boost::unordered_flat_set<BlockId> gone;
  // Blocks being written that may have been allocated for the node but were not in its last report. Perhaps their
  // writing was under way then, or perhaps their files had vanished. So the node's own report is awaited, and a
  // writer's is not believed.
  boost::unordered_flat_set<BlockId> unnamed;
  // These two survive when the node goes down, as the replicas do.
  std::map<BlockId, ReplicaFlaw> bad;
  // Replicas of wanted blocks whose deletion was issued, until the node reports them gone or makes a full report. Such
  // a replica may go at any moment, so it never justifies the deletion of another, and no copy of its block goes to the
  // node.
  std::set<BlockId> ordered;
  boost::unordered_flat_set<BlockId> named;  // the blocks in `bad` that the report under way has named
  std::deque<BlockId> to_delete;             // hints, checked again when issued
  std::map<BlockId, std::uint64_t> unknown;  // length by id; kept until the node reports them gone
  std::deque<BlockId> to_aside;              // the blocks in `unknown` to put aside; hints, as in `to_delete`
  std::uint64_t named_blocks = 0;            // the number of blocks in the report under way, or in the last one
  // The blocks that the node held when it went down; nothing if it was never up, or is up.
  std::optional<boost::unordered_flat_set<BlockId>> last_held;
  bool unknown_held = false;
  // What a node in maintenance is believed to have while it does not say: the blocks that it had when it went down, or,
  // if that is not known, perhaps any block.
  std::optional<boost::unordered_flat_set<BlockId>> believed;
  bool may_have_any = false;

  [[nodiscard]] bool Listed() const { return reported && !reporting; }
  [[nodiscard]] bool Ready() const { return up && Listed(); }
};

struct BlockCopy {
  NodeId from;
  Micros started = 0;
  bool moves = false;  // `from` gives up its replica afterwards
};

// A replica that was copied so that its source may give it up; the source has not done so yet.
struct BlockMove {
  NodeId from;
  NodeId to;
};

// Balancing runs in passes. Each pass offers every replica on nodes that are too full, each once. The last pass is one
// in which no move was made.
struct Balancing {
  BalanceState state = BalanceState::kNever;
  double threshold = 0;
  std::uint64_t moved_blocks = 0, moved_bytes = 0;
  bool moved_in_pass = false;
  std::map<NodeId, std::deque<BlockId>> offers;  // blocks still to be offered, for nodes whose turn came in this pass
};

struct CopyExpiry {
  Micros started = 0;
  BlockId block = 0;
  NodeId to;
};

struct BlockManager::Impl {
  // The last level holds all blocks with at least kLevels - 1 safe replicas.
  static constexpr std::size_t kLevels = 8;

  // The most that one call of NextWork does for each queue, to stay within a few milliseconds.
  static constexpr int kMaxHints = 200'000;   // hints that are no longer true
  static constexpr int kMaxAttempts = 5'000;  // attempts at blocks that need work

  explicit Impl(Random r) : random(r) {}

  Random random;
  boost::unordered_flat_map<BlockId, BlockState> blocks;  // wanted
  std::map<BlockId, ExpectedBlock> expected;
  std::map<NodeId, NodeState> nodes;
  std::set<NodeId> draining;
  std::set<NodeId> leaving;
  std::set<NodeId> ailing;
  std::set<NodeId> maintenance;
  std::uint32_t least_staying = 1;    // replicas of each block that must be on nodes that are not in maintenance
  std::uint64_t exposed = 0;          // BlockHealth::only_in_maintenance
  std::vector<Candidate> candidates;  // nodes that are up and neither draining nor in maintenance nor ailing, by node
  std::size_t nodes_up = 0;
  std::map<BlockId, std::vector<NodeId>> bad_at;
  bool doubt = false;
  boost::unordered_flat_set<BlockId> disowned;
  boost::unordered_flat_set<BlockId> removed;  // the blocks of the last calls of Unwant
  std::deque<BlockId> removed_order;
  boost::unordered_flat_set<BlockId> given_up;  // the blocks in `removed` that GiveUp added
  // The entries are hints. The code that takes a hint checks whether it is still true, and puts it at the end if its
  // time has not come, so that no block is starved and a call stays short. endangered[i] holds the blocks with i safe
  // replicas (good ones on nodes that are neither leaving nor in maintenance), or more by now.
  std::array<std::deque<BlockId>, kLevels> endangered;
  std::deque<BlockId> surplus;
  std::map<std::pair<BlockId, NodeId>, BlockCopy> copies;  // by block and target
  std::deque<CopyExpiry> expiries;                         // by time
  std::map<BlockId, BlockMove> moves_to_end;               // moves of blocks in `surplus` whose copy has arrived
  Balancing balancing;
  std::deque<BlockId> moved;  // watched blocks; hints, as above
  ReplicaCounts counts;       // counts of all wanted blocks

  // ---- blocks (block_manager.cc) ----
  [[nodiscard]] std::uint32_t Live(const BlockState& block) const;
  // Returns true if the replicas on the node do not count as live, since it drains or is in maintenance.
  [[nodiscard]] bool IsApart(NodeId node) const { return draining.contains(node) || maintenance.contains(node); }
  // Returns the number of nodes in maintenance that have the block, or are believed to.
  [[nodiscard]] std::uint32_t Away(BlockId id, const BlockState& block) const;
  // Returns the number of live replicas that the block is to have now: those that it wants and nodes in maintenance do
  // not have, but at least `least_staying`. A block on a draining node needs all of them, so that the node may go
  // whatever becomes of the nodes in maintenance.
  [[nodiscard]] std::uint32_t Needed(BlockId id, const BlockState& block) const;
  // Returns the number of live replicas that no node was ordered to delete.
  [[nodiscard]] std::uint32_t Staying(BlockId id, const BlockState& block) const;
  [[nodiscard]] std::size_t LevelOf(const BlockState& block) const;
  void Account(BlockId id, const BlockState& block, bool add);
  // Counts all blocks anew, and enqueues those that need work. O(blocks)
  void Recount();
  // Changes what is believed of a node by calling `change`, where that concerns only `concerned`, or any block.
  void Reconsider(const boost::unordered_flat_set<BlockId>* concerned, const std::function<void()>& change);
  void Disbelieve(NodeState* node, BlockId block);
  void EndBeliefs(NodeState* node);  // for a node that has listed its blocks
  void Enqueue(BlockId id, BlockState* block);
  void AddHolder(BlockId id, BlockState* block, NodeId node);
  void RemoveHolder(BlockId id, BlockState* block, NodeId node);
  void NoteMoved(BlockId id, BlockState* block);
  void Remember(BlockId removed_block);
  void ChangeWanted(BlockId id, BlockState* block, std::uint32_t replication);
  void UpdateCandidate(NodeId id);
  [[nodiscard]] Candidate CandidateOf(NodeId id) const;
  [[nodiscard]] std::vector<NodeId> AilingInUse() const;    // ailing nodes that are up and not apart
  [[nodiscard]] std::vector<Candidate> WithAiling() const;  // the candidates and AilingInUse, by node
  // Returns the number of nodes that can hold replicas: an ailing one keeps those that it has.
  [[nodiscard]] std::size_t Places() const { return candidates.size() + AilingInUse().size(); }

  // ---- replicas on nodes (block_reports.cc) ----
  NodeState* UpNode(NodeId id);  // null if the node is not up
  void Hold(NodeId id, NodeState* node, const Block& reported, ToldBy told);
  bool TakeOrder(NodeState* node, BlockId block);  // returns true if the replica was ordered; the order is then done
  void HoldUnknown(NodeState* node, const Block& reported);
  void BecomeUnknown(NodeState* node, const Block& reported);  // for a replica that was held, or found bad
  void HoldExpected(NodeId id, NodeState* node, const Block& reported, ToldBy told, ExpectedBlock* block);
  void MarkBad(NodeId id, NodeState* node, BlockId block, ReplicaFlaw flaw);
  void UnmarkBad(NodeId id, NodeState* node, BlockId block);
  [[nodiscard]] bool IsUnordered(const NodeState& node, BlockId block) const;  // a replica of a wanted block
  void Lose(NodeId id, BlockId block);                                         // for a held replica that is gone
  void NoteUnnamed(NodeId id, NodeState* node) const;                          // called at the end of its report

  // ---- copies (block_copies.cc), moves (block_balance.cc) and deletions (block_work.cc) ----
  class Copier;
  class Mover;
  class Remover;
  void ExpireCopies(Micros now, Micros timeout);
  void ChooseCopies(Micros now, std::uint32_t max_copies_per_node, std::vector<ReplicateWork>* work);
  void ChooseMoves(Micros now, std::uint32_t max_copies_per_node, std::vector<ReplicateWork>* work);
  [[nodiscard]] std::vector<NodeUse> Uses() const;  // the use of the nodes that balancing counts
  void BeginCopy(const Block& block, NodeId from, NodeId to, Micros now, bool moves);
  [[nodiscard]] std::uint32_t CopiesOf(BlockId block) const;
  // Ends the copy, if there is one. Returns the node that may now give up its replica.
  std::optional<NodeId> FinishCopy(BlockId block, NodeId to);
  void EndMove(BlockId block, bool made);  // ends the move, if there is one
  void CancelCopiesOf(BlockId block, const NodeId* from_only);
  void CancelCopiesAt(NodeId node);
  void CancelCopiesTo(NodeId node);
  void EndCopy(std::map<std::pair<BlockId, NodeId>, BlockCopy>::iterator copy);
};

}  // namespace millrace::dfs
