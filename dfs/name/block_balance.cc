// SPDX-License-Identifier: Apache-2.0
// Balancing chooses which replicas to move. Here a move is only a copy; block_work.cc then has its source give up its
// own replica.
#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "dfs/name/block_manager_impl.h"

namespace millrace::dfs {

// Chooses the moves of one call.
class BlockManager::Impl::Mover {
 public:
  Mover(Impl* impl, Micros now, std::uint32_t max_copies, std::vector<ReplicateWork>* work)
      : impl_(*impl),
        balancing_(impl->balancing),
        now_(now),
        max_copies_(max_copies),
        max_moves_(std::max(1u, max_copies / 2)),
        work_(*work),
        shares_(impl->Uses(), balancing_.threshold) {}

  void Run() {
    if (!Survey()) return;
    bool all_offered = true;
    if (!shares_.Balanced()) {
      FindTakers();
      for (const NodeId giver : shares_.Givers()) all_offered = Offer(giver) && all_offered;
    }
    if (!all_offered || moving_ > 0 || !all_known_) return;
    if (shares_.Balanced()) {
      balancing_.state = BalanceState::kBalanced;
    } else if (!std::exchange(balancing_.moved_in_pass, false)) {
      balancing_.state = BalanceState::kStuck;
    }
    balancing_.offers.clear();
  }

 private:
  // These bound the work of one call, so that it takes a few milliseconds at most.
  static constexpr int kMaxPairs = 20'000;            // pairs of a block and a node that may take it
  static constexpr std::size_t kMaxListed = 200'000;  // blocks listed to be offered

  struct Taker {
    NodeId id;
    const NodeState* node = nullptr;
    std::uint64_t room = 0;  // bytes
  };
  enum class Outcome { kBegun, kLater, kNever };

  // Counts moves that are under way as if they had been made. Returns false while copies that blocks lack must come
  // first.
  bool Survey() {
    if (max_copies_ == 1 && impl_.counts.Under(impl_.Places()) > 0) return false;
    for (const auto& [key, copy] : impl_.copies) {
      if (!copy.moves) return false;
      const auto block = impl_.blocks.find(key.first);
      if (block != impl_.blocks.end()) Count(copy.from, key.second, block->second.length);
    }
    for (const auto& [id, move] : impl_.moves_to_end) {
      ++moving_;
      const auto block = impl_.blocks.find(id);
      if (block != impl_.blocks.end()) shares_.Subtract(move.from, block->second.length);
    }
    all_known_ = std::all_of(impl_.candidates.begin(), impl_.candidates.end(), [this](const Candidate& candidate) {
      const NodeState& node = impl_.nodes.at(candidate.node);
      return node.Ready() && node.capacity_bytes > 0;
    });
    return true;
  }

  void Count(NodeId from, NodeId to, std::uint64_t length) {
    ++moving_;
    ++moves_[from];
    ++moves_[to];
    coming_[to] += length;
    shares_.Subtract(from, length);
    shares_.Add(to, length);
  }

  void FindTakers() {
    for (const NodeId id : shares_.Takers()) {
      const NodeState& node = impl_.nodes.at(id);
      const std::uint64_t coming = coming_[id];
      if (node.Ready() && node.free_bytes > coming) takers_.push_back({id, &node, node.free_bytes - coming});
    }
  }

  [[nodiscard]] bool IsBusy(NodeId id) { return moves_[id] >= max_moves_ || impl_.nodes.at(id).copies >= max_copies_; }

  // Returns true if nothing on the node is left to be offered in this pass.
  bool Offer(NodeId giver) {
    const NodeState& node = impl_.nodes.at(giver);
    const bool needless = std::none_of(takers_.begin(), takers_.end(),
                                       [&](const Taker& taker) { return shares_.Helps(giver, taker.id, 1); });
    if (needless || !node.Ready()) return true;
    if (IsBusy(giver) || pairs_ <= 0) return false;
    auto offer = balancing_.offers.find(giver);
    if (offer == balancing_.offers.end()) {
      if (listed_ > kMaxListed) return false;
      listed_ += node.blocks.size();
      offer = balancing_.offers.emplace(giver, std::deque<BlockId>(node.blocks.begin(), node.blocks.end())).first;
    }
    std::deque<BlockId>& offered = offer->second;
    for (std::size_t left = offered.size(); left > 0 && pairs_ > 0 && !IsBusy(giver); --left) {
      const BlockId id = offered.front();
      offered.pop_front();
      if (OfferBlock(giver, id) == Outcome::kLater) offered.push_back(id);
    }
    return offered.empty();
  }

  Outcome OfferBlock(NodeId giver, BlockId id) {
    --pairs_;
    const auto it = impl_.blocks.find(id);
    if (it == impl_.blocks.end() || !CanMove(giver, id, it->second)) return Outcome::kNever;
    const BlockState& block = it->second;
    bool later = false;
    Taker* best = nullptr;
    Locality best_distance = Locality::kOff;
    const Location& where = impl_.nodes.at(giver).where;
    for (Taker& taker : takers_) {
      --pairs_;
      if (!CanTake(taker, giver, id, block)) continue;
      if (IsBusy(taker.id)) {
        later = true;
        continue;
      }
      const Locality distance = DistanceBetween(giver, where, taker.id, taker.node->where);
      if (best != nullptr && distance >= best_distance) continue;
      best = &taker;
      best_distance = distance;
      if (distance == Locality::kRack) break;
    }
    if (best == nullptr) return later ? Outcome::kLater : Outcome::kNever;
    Begin({id, block.length, block.crc}, giver, best);
    return Outcome::kBegun;
  }

  // Returns true if the block has exactly the replicas it wants, and nothing about it is in doubt or under way.
  bool CanMove(NodeId giver, BlockId id, const BlockState& block) {
    if (impl_.Live(block) != block.wanted || impl_.CopiesOf(id) > 0) return false;
    others_.clear();
    bool holds = false;
    for (const NodeId holder : block.holders) {
      const NodeState& node = impl_.nodes.at(holder);
      if (!node.Ready() || node.ordered.contains(id)) return false;
      if (holder == giver) {
        holds = true;
      } else if (!impl_.IsApart(holder)) {
        others_.push_back(&node.where);
      }
    }
    return holds;
  }

  // Requires: CanMove has just returned true for the block, and has filled `others_`.
  bool CanTake(const Taker& taker, NodeId giver, BlockId id, const BlockState& block) {
    if (std::binary_search(block.holders.begin(), block.holders.end(), taker.id) || taker.room < block.length) {
      return false;
    }
    // An order to delete this block may still be on its way to that node.
    if (taker.node->bad.contains(id) || taker.node->ordered.contains(id)) return false;
    return shares_.Helps(giver, taker.id, block.length) &&
           MoveKeepsSpread(others_, impl_.nodes.at(giver).where, taker.node->where);
  }

  void Begin(const Block& block, NodeId giver, Taker* taker) {
    impl_.BeginCopy(block, giver, taker->id, now_, true);
    Count(giver, taker->id, block.length);
    taker->room -= block.length;
    work_.push_back({.block = block, .from = giver, .to = {taker->id}});
  }

  Impl& impl_;
  Balancing& balancing_;
  const Micros now_;
  const std::uint32_t max_copies_;
  const std::uint32_t max_moves_;
  std::vector<ReplicateWork>& work_;
  Shares shares_;  // as they will be once all moves under way are made
  bool all_known_ = false;
  std::uint64_t moving_ = 0;
  std::map<NodeId, std::uint32_t> moves_;   // from and to each node
  std::map<NodeId, std::uint64_t> coming_;  // bytes on their way to each node
  std::vector<Taker> takers_;               // the emptiest comes first
  std::vector<const Location*> others_;
  int pairs_ = kMaxPairs;
  std::size_t listed_ = 0;
};

std::vector<NodeUse> BlockManager::Impl::Uses() const {
  std::vector<NodeUse> uses;
  for (const Candidate& candidate : candidates) {
    const NodeState& node = nodes.at(candidate.node);
    if (node.capacity_bytes > 0) uses.push_back({candidate.node, node.held_bytes, node.capacity_bytes});
  }
  return uses;
}

void BlockManager::Impl::ChooseMoves(Micros now, std::uint32_t max_copies_per_node, std::vector<ReplicateWork>* work) {
  if (balancing.state == BalanceState::kMoving) Mover(this, now, max_copies_per_node, work).Run();
}

void BlockManager::Impl::EndMove(BlockId block, bool made) {
  const auto move = moves_to_end.find(block);
  if (move == moves_to_end.end()) return;
  moves_to_end.erase(move);
  if (!made) return;
  balancing.moved_in_pass = true;
  ++balancing.moved_blocks;
  balancing.moved_bytes += blocks.at(block).length;
}

void BlockManager::StartBalance(double threshold) {
  MILLRACE_CHECK(threshold >= 0 && threshold <= 1, "balance within " + std::to_string(threshold));
  impl_->balancing = {.state = BalanceState::kMoving,
                      .threshold = threshold,
                      .moved_blocks = 0,
                      .moved_bytes = 0,
                      .moved_in_pass = false,
                      .offers = {}};
}

void BlockManager::StopBalance() {
  if (impl_->balancing.state != BalanceState::kMoving) return;
  impl_->balancing.state = BalanceState::kStopped;
  impl_->balancing.offers.clear();
}

BalanceView BlockManager::Balance() const {
  const Balancing& balancing = impl_->balancing;
  const Shares shares(impl_->Uses(), balancing.threshold);
  BalanceView view;
  view.state = balancing.state;
  view.threshold = balancing.threshold;
  view.mean = shares.mean();
  view.smallest = shares.Smallest();
  view.largest = shares.Largest();
  view.bytes_left = shares.BytesLeft();
  view.moved_blocks = balancing.moved_blocks;
  view.moved_bytes = balancing.moved_bytes;
  view.moving_blocks = static_cast<std::uint64_t>(
      std::count_if(impl_->copies.begin(), impl_->copies.end(), [](const auto& copy) { return copy.second.moves; }));
  return view;
}

}  // namespace millrace::dfs
