// What the parts of BlockManager share: block_manager.cc keeps what is wanted and answers questions, block_reports.cc
// keeps what nodes hold, block_copies.cc says what to copy, block_balance.cc what to move, and block_work.cc what to
// delete. Thread rule: one thread.
#pragma once

#include <array>
#include <boost/container/small_vector.hpp>
#include <boost/unordered/unordered_flat_map.hpp>
#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <deque>
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
  kOther,      // its length or checksum is not the block's: a later report of the right ones clears it
  kBytes,      // found corrupt: only a fresh copy clears it
  kUnordered,  // it turned up unasked, so nobody knows whose bytes it has: only a copy that was ordered clears it
};

// Who says that a node has a replica.
enum class ToldBy : std::uint8_t {
  kReport,  // the node, of all that it has: it is taken at its word
  kNode,    // the node, of this one: that it has arrived, has come back, or was read
  kWriter,
};

enum class Watched : std::uint8_t {
  kNo,
  kYes,
  kMoved,  // and an entry in Impl::moved
};

struct BlockState {  // of a wanted block; millions of them
  std::uint64_t length = 0;
  std::uint32_t crc = 0;
  std::uint8_t wanted = 0;
  std::uint8_t queued = 0;      // bit i: an entry in Impl::endangered[i]
  bool queued_surplus = false;  // an entry in Impl::surplus
  Watched watched = Watched::kNo;
  boost::container::small_vector<NodeId, 3> holders;  // of good replicas, ascending

  [[nodiscard]] bool Is(const Block& reported) const { return reported.length == length && reported.crc == crc; }
};

struct ExpectedReplica {
  NodeId node;
  Block reported;
  bool ordered = true;
};
struct ExpectedBlock {
  std::vector<NodeId> at;                 // the nodes that it was given out for; none: they are not known any more
  std::vector<ExpectedReplica> replicas;  // on nodes that are up
};

struct NodeState {
  Location where;
  std::uint64_t free_bytes = 0;
  std::uint64_t capacity_bytes = 0;  // 0: not known
  std::uint64_t held_bytes = 0;      // of good replicas of wanted blocks
  std::uint32_t writes = 0;
  std::uint32_t copies = 0;  // from and to it
  bool up = false;
  bool draining = false;
  bool reported = false;                           // all of it, since it came up
  bool reporting = false;                          // a report is under way
  std::uint64_t reports = 0;                       // begun
  boost::unordered_flat_set<BlockId> blocks;       // held: good or expected
  boost::unordered_flat_set<BlockId> unconfirmed;  // held, but not named so far by the report under way
  // Blocks that the node was asked to copy or to bring back, and how often more than it has said to have come. A copy
  // may arrive long after it was given up, and after another that was ordered meanwhile.
  boost::unordered_flat_map<BlockId, std::uint32_t> asked;
  // Blocks that are being written, that the node had and has no more: a writer that names it is not believed.
  boost::unordered_flat_set<BlockId> gone;
  // Such blocks that its last report did not name, though they may have been given out for it. Their writing may have
  // been under way, or their files vanished before: the node's own word is waited for, and not the writer's believed.
  boost::unordered_flat_set<BlockId> unnamed;
  // These two outlive the node's going down, as the replicas do.
  std::map<BlockId, ReplicaFlaw> bad;
  // Replicas of wanted blocks whose deletion was given out; neither did the node say that they are gone, nor has it
  // reported since. Such a replica may be gone any moment, so it never justifies the deletion of another, and no copy
  // goes where it is.
  std::set<BlockId> ordered;
  boost::unordered_flat_set<BlockId> named;  // of `bad`, by the report under way
  std::deque<BlockId> to_delete;             // checked again when given out
  std::map<BlockId, std::uint64_t> unknown;  // length by id; until the node says that they are gone
  std::deque<BlockId> to_aside;              // of `unknown`; checked again likewise
  std::uint64_t named_blocks = 0;            // in the report under way, or the last
  // What it held when it went down; nothing if it has not been up, or is up.
  std::optional<boost::unordered_flat_set<BlockId>> last_held;
  bool unknown_held = false;

  [[nodiscard]] bool Listed() const { return reported && !reporting; }
  [[nodiscard]] bool Ready() const { return up && Listed(); }
};

struct BlockCopy {
  NodeId from;
  Micros started = 0;
  bool moves = false;  // `from` is to give up its replica afterwards
};

// A replica that was copied so that its source may give it up; the source has not done so yet.
struct BlockMove {
  NodeId from;
  NodeId to;
};

// Balancing goes in passes. Each pass offers every replica of a node that is too full once. The last pass is one in
// which no move was made.
struct Balancing {
  BalanceState state = BalanceState::kNever;
  double threshold = 0;
  std::uint64_t moved_blocks = 0, moved_bytes = 0;
  bool moved_in_pass = false;
  std::map<NodeId, std::deque<BlockId>>
      offers;  // of the nodes whose turn came in this pass, what is still to be offered
};

struct CopyExpiry {
  Micros started = 0;
  BlockId block = 0;
  NodeId to;
};

struct BlockManager::Impl {
  // The last level is shared by the blocks with one safe replica less than this, or more.
  static constexpr std::size_t kLevels = 8;

  // The most that one call of NextWork does for each queue, to stay within a few milliseconds.
  static constexpr int kMaxHints = 200'000;   // hints that no longer hold
  static constexpr int kMaxAttempts = 5'000;  // attempts at blocks that need work

  explicit Impl(Random r) : random(r) {}

  Random random;
  boost::unordered_flat_map<BlockId, BlockState> blocks;  // wanted
  std::map<BlockId, ExpectedBlock> expected;
  std::map<NodeId, NodeState> nodes;
  std::set<NodeId> draining;
  std::set<NodeId> leaving;
  std::set<NodeId> ailing;
  std::vector<Candidate> candidates;  // nodes that are up and neither draining nor ailing, by node
  std::size_t nodes_up = 0;
  std::map<BlockId, std::vector<NodeId>> bad_at;
  bool doubt = false;
  boost::unordered_flat_set<BlockId> disowned;
  boost::unordered_flat_set<BlockId> removed;  // the last ones that Unwant named
  std::deque<BlockId> removed_order;
  boost::unordered_flat_set<BlockId> given_up;  // of `removed`
  // The entries are hints. The code that takes one checks whether it still holds, and puts it at the end if its time
  // has not come, so that no block is starved and a call stays short. endangered[i] has the blocks with i safe
  // replicas, or more by now: good ones on nodes that are not leaving.
  std::array<std::deque<BlockId>, kLevels> endangered;
  std::deque<BlockId> surplus;
  std::map<std::pair<BlockId, NodeId>, BlockCopy> copies;  // by block and target
  std::deque<CopyExpiry> expiries;                         // by time
  std::map<BlockId, BlockMove> moves_to_end;               // of blocks in `surplus`: the copy has arrived
  Balancing balancing;
  std::deque<BlockId> moved;  // watched; hints, as above
  ReplicaCounts counts;       // of all wanted blocks

  // ---- blocks (block_manager.cc) ----
  [[nodiscard]] std::uint32_t Live(const BlockState& block) const;
  // Returns how many of these nobody was ordered to delete.
  [[nodiscard]] std::uint32_t Staying(BlockId id, const BlockState& block) const;
  [[nodiscard]] std::size_t LevelOf(const BlockState& block) const;
  void Account(const BlockState& block, bool add);
  void Enqueue(BlockId id, BlockState* block);
  void AddHolder(BlockId id, BlockState* block, NodeId node);
  void RemoveHolder(BlockId id, BlockState* block, NodeId node);
  void NoteMoved(BlockId id, BlockState* block);
  void Remember(BlockId removed_block);
  void ChangeWanted(BlockId id, BlockState* block, std::uint32_t replication);
  void UpdateCandidate(NodeId id);
  [[nodiscard]] Candidate CandidateOf(NodeId id) const;
  [[nodiscard]] std::vector<NodeId> AilingInUse() const;    // up and not draining
  [[nodiscard]] std::vector<Candidate> WithAiling() const;  // the candidates and those, by node
  // Returns how many nodes are there to hold replicas: an ailing one keeps those that it has.
  [[nodiscard]] std::size_t Places() const { return candidates.size() + AilingInUse().size(); }

  // ---- what nodes hold (block_reports.cc) ----
  NodeState* UpNode(NodeId id);  // null if it is not up
  void Hold(NodeId id, NodeState* node, const Block& reported, ToldBy told);
  bool TakeOrder(NodeState* node, BlockId block);  // returns whether it is there by an order, which is then carried out
  void HoldUnknown(NodeState* node, const Block& reported);
  void BecomeUnknown(NodeState* node, const Block& reported);  // it was held, or found bad
  void HoldExpected(NodeId id, NodeState* node, const Block& reported, ToldBy told, ExpectedBlock* block);
  void MarkBad(NodeId id, NodeState* node, BlockId block, ReplicaFlaw flaw);
  void UnmarkBad(NodeId id, NodeState* node, BlockId block);
  [[nodiscard]] bool IsUnordered(const NodeState& node, BlockId block) const;  // a replica of a wanted block
  void Lose(NodeId id, BlockId block);                                         // a replica that was held is gone
  void NoteUnnamed(NodeId id, NodeState* node) const;                          // at the end of its report

  // ---- copies (block_copies.cc), moves (block_balance.cc) and deletions (block_work.cc) ----
  class Copier;
  class Mover;
  class Remover;
  void ExpireCopies(Micros now, Micros timeout);
  void ChooseCopies(Micros now, std::uint32_t max_copies_per_node, std::vector<ReplicateWork>* work);
  void ChooseMoves(Micros now, std::uint32_t max_copies_per_node, std::vector<ReplicateWork>* work);
  [[nodiscard]] std::vector<NodeUse> Uses() const;  // of the nodes that balancing counts
  void BeginCopy(const Block& block, NodeId from, NodeId to, Micros now, bool moves);
  [[nodiscard]] std::uint32_t CopiesOf(BlockId block) const;
  std::optional<NodeId> FinishCopy(BlockId block,
                                   NodeId to);  // if there is one; returns the node that may now give up its replica
  void EndMove(BlockId block, bool made);       // if there is one
  void CancelCopiesOf(BlockId block, const NodeId* from_only);
  void CancelCopiesAt(NodeId node);
  void CancelCopiesTo(NodeId node);
  void EndCopy(std::map<std::pair<BlockId, NodeId>, BlockCopy>::iterator copy);
};

}  // namespace millrace::dfs
