// SPDX-License-Identifier: Apache-2.0
// Keeps the copies that are under way, and chooses which to start.
#include <algorithm>

#include "dfs/name/block_manager_impl.h"

namespace millrace::dfs {

std::uint32_t BlockManager::Impl::CopiesOf(BlockId block) const {
  std::uint32_t count = 0;
  for (auto it = copies.lower_bound({block, NodeId{}}); it != copies.end() && it->first.first == block; ++it) ++count;
  return count;
}

void BlockManager::Impl::EndCopy(std::map<std::pair<BlockId, NodeId>, BlockCopy>::iterator copy) {
  --nodes.at(copy->second.from).copies;
  --nodes.at(copy->first.second).copies;
  const BlockId id = copy->first.first;
  copies.erase(copy);
  if (const auto block = blocks.find(id); block != blocks.end()) Enqueue(id, &block->second);
}

void BlockManager::Impl::BeginCopy(const Block& block, NodeId from, NodeId to, Micros now, bool moves) {
  copies.emplace(std::pair(block.id, to), BlockCopy{from, now, moves});
  expiries.push_back({now, block.id, to});
  ++nodes.at(from).copies;
  ++nodes.at(to).copies;
  ++nodes.at(to).asked[block.id];
}

std::optional<NodeId> BlockManager::Impl::FinishCopy(BlockId block, NodeId to) {
  const auto it = copies.find({block, to});
  if (it == copies.end()) return std::nullopt;
  const BlockCopy copy = it->second;
  EndCopy(it);
  return copy.moves ? std::optional(copy.from) : std::nullopt;
}

void BlockManager::Impl::CancelCopiesOf(BlockId block, const NodeId* from_only) {
  for (auto it = copies.lower_bound({block, NodeId{}}); it != copies.end() && it->first.first == block;) {
    const auto copy = it++;
    if (from_only == nullptr || copy->second.from == *from_only) EndCopy(copy);
  }
}

void BlockManager::Impl::CancelCopiesAt(NodeId node) {
  for (auto it = copies.begin(); it != copies.end();) {
    const auto copy = it++;
    if (copy->first.second == node || copy->second.from == node) EndCopy(copy);
  }
}

void BlockManager::Impl::CancelCopiesTo(NodeId node) {
  for (auto it = copies.begin(); it != copies.end();) {
    const auto copy = it++;
    if (copy->first.second == node) EndCopy(copy);
  }
}

// Chooses the copies of one call.
class BlockManager::Impl::Copier {
 public:
  Copier(Impl* impl, Micros now, std::uint32_t max_copies, std::vector<ReplicateWork>* work)
      : impl_(*impl), now_(now), max_copies_(max_copies), work_(*work) {}

  void Run() {
    const auto empty = [](const auto& queue) { return queue.empty(); };
    if (std::all_of(impl_.endangered.begin(), impl_.endangered.end(), empty)) return;
    targets_ = impl_.WithAiling();
    for (Candidate& target : targets_) {
      const NodeState& node = impl_.nodes.at(target.node);
      if (!node.Ready() || node.copies >= MostTo(target)) target.free_bytes = 0;
      if (target.ailing) ailing_.push_back(target.node);
      if (target.free_bytes > 0) ++Open(target);
    }
    const auto staying = static_cast<std::size_t>(std::ranges::count_if(
        impl_.nodes, [this](const auto& node) { return node.second.up && !IsSpared(node.first); }));
    for (std::size_t level = 0; level < kLevels; ++level) {
      // A block with a replica on every node has no place for another. In a small cluster that is true of every block.
      if (level + 1 < kLevels && level >= staying) return;
      RunLevel(level);
    }
  }

 private:
  void RunLevel(std::size_t level) {
    std::deque<BlockId>& queue = impl_.endangered[level];
    int attempts = kMaxAttempts;
    std::size_t left = std::min<std::size_t>(queue.size(), kMaxHints);
    for (; left > 0 && attempts > 0 && open_well_ + open_ailing_ > 0; --left) {
      const BlockId id = queue.front();
      queue.pop_front();
      const auto it = impl_.blocks.find(id);
      if (it == impl_.blocks.end()) continue;
      BlockState& block = it->second;
      block.queued &= static_cast<std::uint8_t>(~(1u << level));
      if (Lacking(id, block) <= 0) continue;
      if (impl_.LevelOf(block) == level) {
        --attempts;
        CopyBlock(id, block);
      }
      if (Lacking(id, block) > 0) impl_.Enqueue(id, &block);  // at the level where it belongs
    }
  }

  [[nodiscard]] int Lacking(BlockId id, const BlockState& block) const {
    return static_cast<int>(impl_.Needed(id, block)) - static_cast<int>(impl_.Live(block) + impl_.CopiesOf(id));
  }

  void CopyBlock(BlockId id, const BlockState& block) {
    const std::optional<NodeId> from = Source(id, block);
    if (!from.has_value()) return;
    NodeState& source = impl_.nodes.at(*from);
    PlacementRequest request;
    request.block_size = std::max<std::uint64_t>(1, block.length);
    request.existing.assign(block.holders.begin(), block.holders.end());
    std::erase_if(request.existing, [this](NodeId n) { return impl_.IsApart(n); });
    for (auto it = impl_.copies.lower_bound({id, NodeId{}}); it != impl_.copies.end() && it->first.first == id; ++it) {
      request.existing.push_back(it->first.second);
    }
    if (const auto bad = impl_.bad_at.find(id); bad != impl_.bad_at.end()) request.excluded = bad->second;
    std::uint32_t most = MostFrom(*from);
    if (OthersCanTake(request)) {
      if (open_well_ == 0) return;
      request.excluded.insert(request.excluded.end(), ailing_.begin(), ailing_.end());
    } else {
      most = Half(most);
    }
    if (source.copies >= most) return;
    request.replicas = std::min(static_cast<std::uint32_t>(Lacking(id, block)), most - source.copies);
    ReplicateWork work{.block = {id, block.length, block.crc}, .from = *from, .to = {}};
    work.to = dfs::ChooseTargets(targets_, request, impl_.random);
    // An order to delete this block may still be on its way to these nodes.
    std::erase_if(work.to, [&](NodeId n) { return impl_.nodes.at(n).ordered.contains(id); });
    if (work.to.empty()) return;
    for (const NodeId to : work.to) {
      impl_.BeginCopy(work.block, *from, to, now_, false);
      CloseIfFull(to);
      CloseIfFull(*from);
    }
    work_.push_back(std::move(work));
  }

  // Returns true if a healthy node has room for another replica, now or later: then the ailing ones are spared.
  [[nodiscard]] bool OthersCanTake(const PlacementRequest& request) const {
    return ailing_.empty() || std::ranges::any_of(impl_.candidates, [&](const Candidate& candidate) {
             return candidate.free_bytes >= request.block_size &&
                    std::ranges::find(request.existing, candidate.node) == request.existing.end();
           });
  }

  // Copies to ailing nodes may all fail, each when its time is over. They leave half of what a node may do to others.
  static std::uint32_t Half(std::uint32_t copies) { return (copies + 1) / 2; }
  [[nodiscard]] std::uint32_t MostTo(const Candidate& target) const {
    return target.ailing ? Half(max_copies_) : max_copies_;
  }
  [[nodiscard]] std::uint32_t MostFrom(NodeId source) const {
    return impl_.leaving.contains(source) ? max_copies_ * kLeavingHaste : max_copies_;
  }

  // A node that is leaving or in maintenance is spared for the blocks that no other healthy node has.
  [[nodiscard]] bool IsSpared(NodeId node) const {
    return impl_.leaving.contains(node) || impl_.maintenance.contains(node);
  }

  // Returns a holder with the fewest copies under way. Ties are broken at random. An ailing node is asked if no other
  // has the block.
  std::optional<NodeId> Source(BlockId id, const BlockState& block) {
    const bool ailing_only = std::ranges::all_of(block.holders, [&](NodeId n) { return impl_.ailing.contains(n); });
    std::optional<NodeId> best;
    std::uint32_t fewest = max_copies_ * kLeavingHaste;
    std::uint64_t equals = 0;
    const bool spares =
        std::ranges::any_of(block.holders, [&](NodeId n) { return !IsSpared(n) && !impl_.ailing.contains(n); });
    for (const NodeId holder : block.holders) {
      const NodeState& node = impl_.nodes.at(holder);
      if (spares && IsSpared(holder)) continue;
      if (!ailing_only && impl_.ailing.contains(holder)) continue;
      if (!node.Ready() || node.copies >= MostFrom(holder) || node.copies > fewest || node.ordered.contains(id))
        continue;
      if (node.copies < fewest) equals = 0;
      fewest = node.copies;
      if (impl_.random.Below(++equals) == 0) best = holder;
    }
    return best;
  }

  void CloseIfFull(NodeId id) {
    const auto target =
        std::lower_bound(targets_.begin(), targets_.end(), id, [](const Candidate& c, NodeId n) { return c.node < n; });
    if (target == targets_.end() || target->node != id || target->free_bytes == 0) return;
    if (impl_.nodes.at(id).copies < MostTo(*target)) return;
    target->free_bytes = 0;
    --Open(*target);
  }
  std::size_t& Open(const Candidate& target) { return target.ailing ? open_ailing_ : open_well_; }

  Impl& impl_;
  const Micros now_;
  const std::uint32_t max_copies_;
  std::vector<ReplicateWork>& work_;
  std::vector<Candidate> targets_;  // those without free bytes take no copy now
  std::vector<NodeId> ailing_;      // of them
  std::size_t open_well_ = 0, open_ailing_ = 0;
};

void BlockManager::Impl::ExpireCopies(Micros now, Micros timeout) {
  for (; !expiries.empty() && expiries.front().started + timeout <= now; expiries.pop_front()) {
    const CopyExpiry& expiry = expiries.front();
    const auto copy = copies.find({expiry.block, expiry.to});
    if (copy != copies.end() && copy->second.started == expiry.started) EndCopy(copy);
  }
}

void BlockManager::Impl::ChooseCopies(Micros now, std::uint32_t max_copies_per_node, std::vector<ReplicateWork>* work) {
  Copier(this, now, max_copies_per_node, work).Run();
}

}  // namespace millrace::dfs
