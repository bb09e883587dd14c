// SPDX-License-Identifier: Apache-2.0
// Holds BlockManager::NextWork, and chooses which replicas to delete.
#include <algorithm>

#include "dfs/name/block_manager_impl.h"

namespace millrace::dfs {
namespace {

constexpr std::size_t kMaxDeletesPerNode = 1000;  // given out in one call; later calls give out the rest

}  // namespace

// Chooses the deletions of one call.
class BlockManager::Impl::Remover {
 public:
  explicit Remover(Impl* impl) : impl_(*impl) {}

  void Run(BlockWork* work) {
    RunSurplus();
    for (auto& [id, node] : impl_.nodes) {
      if (!node.Ready()) continue;
      RunNode(id, &node);
      if (!node.unknown_held) RunUnknown(id, &node);
    }
    GiveOut(&chosen_, &work->remove);
    GiveOut(&aside_, &work->aside);
  }

 private:
  using Chosen = std::map<NodeId, std::vector<BlockId>>;

  void GiveOut(Chosen* chosen, std::vector<DeleteWork>* work) const {
    for (auto& [id, lot] : *chosen) {
      std::sort(lot.begin(), lot.end());
      lot.erase(std::unique(lot.begin(), lot.end()), lot.end());
      work->push_back({id, std::move(lot), impl_.nodes.at(id).reports});
    }
  }

  void RunSurplus() {
    std::size_t left = std::min<std::size_t>(impl_.surplus.size(), kMaxAttempts);
    for (; left > 0; --left) {
      const BlockId id = impl_.surplus.front();
      impl_.surplus.pop_front();
      const auto it = impl_.blocks.find(id);
      if (it == impl_.blocks.end()) {
        impl_.EndMove(id, false);
        continue;
      }
      DropSurplus(id, &it->second);
      if (impl_.Live(it->second) <= it->second.wanted) impl_.EndMove(id, false);
      it->second.queued_surplus = false;
      impl_.Enqueue(id, &it->second);
    }
  }

  void DropSurplus(BlockId id, BlockState* block) {
    while (impl_.Live(*block) > block->wanted) {
      const std::optional<NodeId> loser = Loser(id, *block);
      if (!loser.has_value() || IsFull(*loser)) return;
      impl_.nodes.at(*loser).blocks.erase(id);
      Order(*loser, id, false);
      impl_.RemoveHolder(id, block, *loser);
      if (const auto move = impl_.moves_to_end.find(id); move != impl_.moves_to_end.end()) {
        impl_.EndMove(id, move->second.from == *loser);
      }
    }
  }

  // Gives the order, unless one is on its way. What may be wanted after all is put aside.
  void Order(NodeId id, BlockId block, bool of_no_use) {
    Chosen& chosen = impl_.doubt && !of_no_use ? aside_ : chosen_;
    if (impl_.nodes.at(id).ordered.insert(block).second) chosen[id].push_back(block);
  }

  // Returns the node that gives up its replica. Returns none while a holder's report is under way, or while no replica
  // is sure to stay.
  std::optional<NodeId> Loser(BlockId id, const BlockState& block) {
    std::optional<NodeId> ordered_before;
    std::vector<Candidate> sure;
    for (const NodeId holder : block.holders) {
      const NodeState& node = impl_.nodes.at(holder);
      if (impl_.IsApart(holder)) continue;
      if (!node.Ready()) return std::nullopt;
      if (node.ordered.contains(id)) {
        if (!ordered_before.has_value()) ordered_before = holder;
      } else {
        sure.push_back(impl_.CandidateOf(holder));
      }
    }
    if (sure.empty()) return std::nullopt;
    if (ordered_before.has_value()) return ordered_before;
    const auto move = impl_.moves_to_end.find(id);
    return move != impl_.moves_to_end.end() && CanEnd(move->second, sure) ? move->second.from : ChooseSurplus(sure);
  }

  // Returns true if the source may still give up its replica. Nodes may have come, gone or changed their place since
  // the move began.
  static bool CanEnd(const BlockMove& move, const std::vector<Candidate>& holders) {
    const Location* from = nullptr;
    const Location* to = nullptr;
    std::vector<const Location*> others;
    for (const Candidate& holder : holders) {
      if (holder.node == move.from) {
        from = &holder.where;
      } else if (holder.node == move.to) {
        to = &holder.where;
      } else {
        others.push_back(&holder.where);
      }
    }
    return from != nullptr && to != nullptr && MoveKeepsSpread(others, *from, *to);
  }

  void RunNode(NodeId id, NodeState* node) {
    std::size_t left = std::min<std::size_t>(node->to_delete.size(), kMaxAttempts);
    for (; left > 0 && !IsFull(id); --left) {
      const BlockId block = node->to_delete.front();
      node->to_delete.pop_front();
      const auto wanted = impl_.blocks.find(block);
      if (wanted == impl_.blocks.end()) {
        if (impl_.expected.contains(block) || impl_.disowned.contains(block)) continue;
        (impl_.given_up.contains(block) ? aside_ : chosen_)[id].push_back(block);
      } else if (const auto bad = node->bad.find(block); bad != node->bad.end()) {
        if (HasSureReplica(block, wanted->second)) {
          Order(id, block, bad->second != ReplicaFlaw::kOther);
        } else {
          node->to_delete.push_back(block);
        }
      }
    }
  }

  void RunUnknown(NodeId id, NodeState* node) {
    while (!node->to_aside.empty() && !IsFull(aside_, id)) {
      const BlockId block = node->to_aside.front();
      node->to_aside.pop_front();
      const bool meant = impl_.blocks.contains(block) || impl_.expected.contains(block);
      if (!meant && node->unknown.contains(block)) aside_[id].push_back(block);
    }
  }

  [[nodiscard]] bool HasSureReplica(BlockId id, const BlockState& block) const {
    return std::any_of(block.holders.begin(), block.holders.end(), [&](NodeId holder) {
      const NodeState& node = impl_.nodes.at(holder);
      return node.Ready() && !node.ordered.contains(id);
    });
  }

  [[nodiscard]] static bool IsFull(const Chosen& chosen, NodeId id) {
    const auto it = chosen.find(id);
    return it != chosen.end() && it->second.size() >= kMaxDeletesPerNode;
  }
  [[nodiscard]] bool IsFull(NodeId id) const { return IsFull(chosen_, id) || IsFull(aside_, id); }

  Impl& impl_;
  Chosen chosen_;  // to be deleted
  Chosen aside_;   // to be put into the trash
};

BlockWork BlockManager::NextWork(Micros now, std::uint32_t max_copies_per_node, Micros copy_timeout) {
  BlockWork work;
  impl_->ExpireCopies(now, copy_timeout);
  impl_->ChooseCopies(now, max_copies_per_node, &work.replicate);
  Impl::Remover(impl_.get()).Run(&work);
  impl_->ChooseMoves(now, max_copies_per_node, &work.replicate);
  return work;
}

}  // namespace millrace::dfs
