// SPDX-License-Identifier: Apache-2.0
#include "dfs/name/block_manager.h"

#include <algorithm>
#include <ranges>
#include <utility>

#include "base/check.h"
#include "dfs/name/block_manager_impl.h"
#include "dfs/wire/blocks.h"

namespace millrace::dfs {
namespace {

auto FindCandidate(std::vector<Candidate>* candidates, NodeId node) {
  return std::lower_bound(candidates->begin(), candidates->end(), node,
                          [](const Candidate& c, NodeId n) { return c.node < n; });
}

void CheckReplication(BlockId block, std::uint32_t replication) {
  MILLRACE_CHECK(replication >= 1 && replication <= kMaxReplication,
                 BlockName(block) + ": replication " + std::to_string(replication));
}

bool IsGood(const ExpectedReplica& replica) { return replica.ordered && replica.reported.length != kDamagedLength; }

}  // namespace

std::uint32_t BlockManager::Impl::Live(const BlockState& block) const {
  auto live = static_cast<std::uint32_t>(block.holders.size());
  if (draining.empty() && maintenance.empty()) return live;
  for (const NodeId node : block.holders) live -= IsApart(node) ? 1 : 0;
  return live;
}

std::uint32_t BlockManager::Impl::Away(BlockId id, const BlockState& block) const {
  return static_cast<std::uint32_t>(std::ranges::count_if(maintenance, [&](NodeId number) {
    const NodeState& node = nodes.at(number);
    return node.may_have_any || std::ranges::binary_search(block.holders, number) ||
           (node.believed && node.believed->contains(id));
  }));
}

std::uint32_t BlockManager::Impl::Needed(BlockId id, const BlockState& block) const {
  const std::uint32_t wanted = block.wanted;
  if (maintenance.empty()) return wanted;
  if (std::ranges::any_of(block.holders, [this](NodeId node) { return draining.contains(node); })) return wanted;
  return std::max(std::min(wanted, least_staying), wanted - std::min(wanted, Away(id, block)));
}

void BlockManager::Impl::EndBeliefs(NodeState* node) {
  if (!node->believed && !node->may_have_any) return;
  Reconsider(node->may_have_any ? nullptr : &*node->believed, [&] {
    node->believed.reset();
    node->may_have_any = false;
  });
}

std::uint32_t BlockManager::Impl::Staying(BlockId id, const BlockState& block) const {
  return static_cast<std::uint32_t>(std::ranges::count_if(
      block.holders, [&](NodeId node) { return !IsApart(node) && !nodes.at(node).ordered.contains(id); }));
}

std::size_t BlockManager::Impl::LevelOf(const BlockState& block) const {
  std::size_t safe = block.holders.size();
  if (!leaving.empty() || !maintenance.empty()) {
    for (const NodeId node : block.holders) safe -= leaving.contains(node) || maintenance.contains(node) ? 1 : 0;
  }
  return std::min(safe, kLevels - 1);
}

void BlockManager::Impl::Account(BlockId id, const BlockState& block, bool add) {
  const std::uint32_t live = Live(block);
  const bool is_exposed =
      !maintenance.empty() && live < std::min<std::uint32_t>(block.wanted, least_staying) && Away(id, block) > 0;
  if (add) {
    counts.Add(block.wanted, Needed(id, block), live, block.holders.size());
    exposed += is_exposed ? 1 : 0;
  } else {
    counts.Remove(block.wanted, Needed(id, block), live, block.holders.size());
    exposed -= is_exposed ? 1 : 0;
  }
}

void BlockManager::Impl::Recount() {
  counts = {};
  exposed = 0;
  for (auto& [id, block] : blocks) {
    Account(id, block, true);
    Enqueue(id, &block);
  }
}

void BlockManager::Impl::Reconsider(const boost::unordered_flat_set<BlockId>* concerned,
                                    const std::function<void()>& change) {
  if (concerned == nullptr) {
    change();
    return Recount();
  }
  std::vector<std::pair<BlockId, BlockState*>> wanted;
  for (const BlockId id : *concerned) {
    if (const auto it = blocks.find(id); it != blocks.end()) wanted.emplace_back(id, &it->second);
  }
  for (const auto& [id, block] : wanted) Account(id, *block, false);
  change();
  for (const auto& [id, block] : wanted) {
    Account(id, *block, true);
    Enqueue(id, block);
  }
}

void BlockManager::Impl::Disbelieve(NodeState* node, BlockId block) {
  if (!node->believed || !node->believed->contains(block)) return;
  const boost::unordered_flat_set<BlockId> concerned{block};
  Reconsider(&concerned, [&] { node->believed->erase(block); });
}

void BlockManager::Impl::Enqueue(BlockId id, BlockState* block) {
  if (block->holders.empty()) return;
  const std::uint32_t live = Live(*block);
  if (live < Needed(id, *block)) {
    const std::size_t level = LevelOf(*block);
    const auto bit = static_cast<std::uint8_t>(1u << level);
    if ((block->queued & bit) != 0) return;
    block->queued |= bit;
    endangered[level].push_back(id);
  } else if (live > block->wanted && !block->queued_surplus) {
    block->queued_surplus = true;
    surplus.push_back(id);
  }
}

void BlockManager::Impl::AddHolder(BlockId id, BlockState* block, NodeId node) {
  Account(id, *block, false);
  block->holders.insert(std::lower_bound(block->holders.begin(), block->holders.end(), node), node);
  nodes.at(node).held_bytes += block->length;
  Account(id, *block, true);
  NoteMoved(id, block);
  // A hint at a more endangered level is enough, since its level is corrected when it is taken. After a start, when
  // every block gains its replicas one by one, this saves most of the hints.
  if (block->queued == 0 || Live(*block) > block->wanted) Enqueue(id, block);
}

void BlockManager::Impl::RemoveHolder(BlockId id, BlockState* block, NodeId node) {
  const auto at = std::lower_bound(block->holders.begin(), block->holders.end(), node);
  if (at == block->holders.end() || *at != node) return;
  Account(id, *block, false);
  block->holders.erase(at);
  nodes.at(node).held_bytes -= block->length;
  Account(id, *block, true);
  NoteMoved(id, block);
  Enqueue(id, block);
}

void BlockManager::Impl::ChangeWanted(BlockId id, BlockState* block, std::uint32_t replication) {
  Account(id, *block, false);
  block->wanted = static_cast<std::uint8_t>(replication);
  Account(id, *block, true);
  Enqueue(id, block);
}

void BlockManager::Impl::NoteMoved(BlockId id, BlockState* block) {
  if (block->watched != Watched::kYes) return;
  block->watched = Watched::kMoved;
  moved.push_back(id);
}

void BlockManager::Impl::Remember(BlockId removed_block) {
  if (!removed.insert(removed_block).second) return;
  removed_order.push_back(removed_block);
  if (removed_order.size() <= kRemembered) return;
  removed.erase(removed_order.front());
  given_up.erase(removed_order.front());
  removed_order.pop_front();
}

void BlockManager::Impl::UpdateCandidate(NodeId id) {
  const NodeState& node = nodes.at(id);
  const auto at = FindCandidate(&candidates, id);
  const bool known = at != candidates.end() && at->node == id;
  if (!node.up || IsApart(id) || ailing.contains(id)) {
    if (known) candidates.erase(at);
    return;
  }
  Candidate& candidate = known ? *at : *candidates.insert(at, Candidate{});
  candidate = CandidateOf(id);
}

Candidate BlockManager::Impl::CandidateOf(NodeId id) const {
  const NodeState& node = nodes.at(id);
  return {.node = id,
          .where = node.where,
          .free_bytes = node.free_bytes,
          .writes_under_way = node.writes,
          .ailing = ailing.contains(id)};
}

std::vector<NodeId> BlockManager::Impl::AilingInUse() const {
  std::vector<NodeId> in_use;
  for (const NodeId id : ailing) {
    if (nodes.at(id).up && !IsApart(id)) in_use.push_back(id);
  }
  return in_use;
}

std::vector<Candidate> BlockManager::Impl::WithAiling() const {
  std::vector<Candidate> all = candidates;
  for (const NodeId id : AilingInUse()) all.push_back(CandidateOf(id));
  std::ranges::sort(all, {}, &Candidate::node);
  return all;
}

BlockManager::BlockManager(Random random) : impl_(std::make_unique<Impl>(random)) {}
BlockManager::~BlockManager() = default;

void BlockManager::Want(const Block& block, std::uint32_t replication) {
  CheckReplication(block.id, replication);
  const auto [it, fresh] = impl_->blocks.try_emplace(block.id);
  BlockState& state = it->second;
  if (!fresh) {
    MILLRACE_CHECK(state.Is(block), BlockName(block.id) + " changed");
    return impl_->ChangeWanted(block.id, &state, replication);
  }
  state.length = block.length;
  state.crc = block.crc;
  state.wanted = static_cast<std::uint8_t>(replication);
  impl_->Account(block.id, state, true);
  const auto expected = impl_->expected.find(block.id);
  if (expected == impl_->expected.end()) return;
  const std::vector<ExpectedReplica> replicas = std::move(expected->second.replicas);
  impl_->expected.erase(expected);
  for (const ExpectedReplica& replica : replicas) {
    NodeState* node = &impl_->nodes.at(replica.node);
    if (!replica.ordered) {
      impl_->MarkBad(replica.node, node, block.id, ReplicaFlaw::kUnordered);
      continue;
    }
    impl_->AddHolder(block.id, &state, replica.node);
    if (state.Is(replica.reported)) continue;
    const bool damaged = replica.reported.length == kDamagedLength;
    impl_->MarkBad(replica.node, node, block.id, damaged ? ReplicaFlaw::kBytes : ReplicaFlaw::kOther);
  }
}

void BlockManager::SetReplication(BlockId block, std::uint32_t replication) {
  CheckReplication(block, replication);
  const auto it = impl_->blocks.find(block);
  if (it != impl_->blocks.end()) impl_->ChangeWanted(block, &it->second, replication);
}

void BlockManager::GiveUp(BlockId block) {
  Unwant(block);
  impl_->given_up.insert(block);
}

void BlockManager::Unwant(BlockId block) {
  impl_->Remember(block);
  std::vector<NodeId> holders;
  if (const auto it = impl_->blocks.find(block); it != impl_->blocks.end()) {
    holders.assign(it->second.holders.begin(), it->second.holders.end());
    for (const NodeId id : holders) impl_->nodes.at(id).held_bytes -= it->second.length;
    impl_->Account(block, it->second, false);
    impl_->blocks.erase(it);
  }
  if (const auto it = impl_->expected.find(block); it != impl_->expected.end()) {
    for (const ExpectedReplica& replica : it->second.replicas) holders.push_back(replica.node);
    impl_->expected.erase(it);
  }
  if (const auto it = impl_->bad_at.find(block); it != impl_->bad_at.end()) {
    const std::vector<NodeId> bad = it->second;
    for (const NodeId id : bad) impl_->UnmarkBad(id, &impl_->nodes.at(id), block);
    holders.insert(holders.end(), bad.begin(), bad.end());
  }
  for (const NodeId id : holders) {
    NodeState& node = impl_->nodes.at(id);
    node.blocks.erase(block);
    node.unconfirmed.erase(block);
    if (node.up) node.to_delete.push_back(block);
  }
  impl_->CancelCopiesOf(block, nullptr);
}

void BlockManager::Disown(BlockId block) {
  impl_->disowned.insert(block);
  impl_->removed.erase(block);
  impl_->given_up.erase(block);
  std::vector<std::pair<NodeId, std::uint64_t>> holders;  // with the length that each has
  if (const auto it = impl_->blocks.find(block); it != impl_->blocks.end()) {
    const std::uint64_t length = it->second.length;
    for (const NodeId id : it->second.holders) holders.emplace_back(id, length);
    if (const auto bad = impl_->bad_at.find(block); bad != impl_->bad_at.end()) {
      for (const NodeId id : bad->second) holders.emplace_back(id, length);
    }
    for (const NodeId id : it->second.holders) impl_->nodes.at(id).held_bytes -= length;
    impl_->Account(block, it->second, false);
    impl_->blocks.erase(it);
  }
  if (const auto it = impl_->expected.find(block); it != impl_->expected.end()) {
    for (const ExpectedReplica& replica : it->second.replicas)
      holders.emplace_back(replica.node, replica.reported.length);
    impl_->expected.erase(it);
  }
  for (const auto& [id, length] : holders) {
    NodeState& node = impl_->nodes.at(id);
    impl_->UnmarkBad(id, &node, block);
    if (node.up) impl_->BecomeUnknown(&node, {block, length, 0});
  }
  impl_->CancelCopiesOf(block, nullptr);
}

void BlockManager::SetDoubt(bool doubt) { impl_->doubt = doubt; }

void BlockManager::Expect(BlockId block, std::vector<NodeId> at) {
  if (!impl_->blocks.contains(block)) impl_->expected.try_emplace(block, ExpectedBlock{std::move(at), {}});
}

void BlockManager::Watch(BlockId block) {
  const auto it = impl_->blocks.find(block);
  if (it != impl_->blocks.end() && it->second.watched == Watched::kNo) it->second.watched = Watched::kYes;
}

void BlockManager::Unwatch(BlockId block) {
  const auto it = impl_->blocks.find(block);
  if (it != impl_->blocks.end()) it->second.watched = Watched::kNo;
}

std::vector<BlockId> BlockManager::TakeMoved(std::size_t most) {
  std::vector<BlockId> taken;
  for (; taken.size() < most && !impl_->moved.empty(); impl_->moved.pop_front()) {
    const BlockId id = impl_->moved.front();
    const auto it = impl_->blocks.find(id);
    if (it == impl_->blocks.end() || it->second.watched != Watched::kMoved) continue;
    it->second.watched = Watched::kYes;
    taken.push_back(id);
  }
  return taken;
}

std::optional<std::uint64_t> BlockManager::LeftToDrain(NodeId node) const {
  const auto it = impl_->nodes.find(node);
  if (it == impl_->nodes.end() || !it->second.draining || !it->second.Ready()) return std::nullopt;
  const auto places = static_cast<std::uint32_t>(std::max<std::size_t>(1, impl_->Places()));
  std::uint64_t left = 0;
  for (const BlockId id : it->second.blocks) {
    const auto block = impl_->blocks.find(id);
    const bool written = block != impl_->blocks.end();  // otherwise it is still being written
    if (!written || impl_->Staying(id, block->second) < std::min<std::uint32_t>(block->second.wanted, places)) ++left;
  }
  return left + DamagedAlone(node);
}

std::uint64_t BlockManager::DamagedAlone(NodeId id) const {
  const NodeState* node = impl_->UpNode(id);
  if (node == nullptr) return 0;
  return static_cast<std::uint64_t>(std::ranges::count_if(node->bad, [this](const auto& replica) {
    const auto block = impl_->blocks.find(replica.first);
    return block != impl_->blocks.end() && block->second.holders.empty();
  }));
}

bool BlockManager::ExpectedElsewhere(NodeId id, BlockId block) const {
  const auto open = impl_->expected.find(block);
  return open != impl_->expected.end() &&
         std::ranges::any_of(open->second.replicas, [&](const ExpectedReplica& replica) {
           return IsGood(replica) && replica.node != id && !impl_->IsApart(replica.node);
         });
}

std::optional<std::uint64_t> BlockManager::LostWith(NodeId id, const std::function<bool(BlockId)>& visit) const {
  const auto node = impl_->nodes.find(id);
  if (node == impl_->nodes.end() || !node->second.last_held) return std::nullopt;
  std::vector<BlockId> lost;
  for (const BlockId id_of : *node->second.last_held) {
    const auto block = impl_->blocks.find(id_of);
    const auto open = impl_->expected.find(id_of);
    const bool missing = block != impl_->blocks.end()
                             ? block->second.holders.empty()
                             : open != impl_->expected.end() && std::ranges::none_of(open->second.replicas, IsGood);
    if (missing) lost.push_back(id_of);
  }
  std::ranges::sort(lost);
  for (std::size_t i = 0; visit && i < lost.size() && visit(lost[i]); ++i) {
  }
  return lost.size();
}

void BlockManager::SetLeastStaying(std::uint32_t replicas) {
  MILLRACE_CHECK(impl_->maintenance.empty(), "the least number of staying replicas is set during maintenance");
  impl_->least_staying = replicas;
}

void BlockManager::SetMaintenance(NodeId id, bool maintenance) {
  if (impl_->maintenance.contains(id) == maintenance) return;
  NodeState& node = impl_->nodes[id];
  const bool vague = maintenance ? !(node.Ready() || (!node.up && node.last_held)) : node.may_have_any;
  boost::unordered_flat_set<BlockId> concerned = node.blocks;
  concerned.insert(node.unconfirmed.begin(), node.unconfirmed.end());
  const auto& away = maintenance ? node.last_held : node.believed;
  if (away) concerned.insert(away->begin(), away->end());
  impl_->Reconsider(vague ? nullptr : &concerned, [&] {
    node.may_have_any = maintenance && vague;
    if (maintenance) {
      impl_->maintenance.insert(id);
      if (!vague) node.believed = node.last_held;
    } else {
      impl_->maintenance.erase(id);
      node.believed.reset();
    }
  });
  if (maintenance) impl_->CancelCopiesTo(id);
  impl_->UpdateCandidate(id);
}

std::optional<std::uint64_t> BlockManager::LackingWithout(const std::set<NodeId>& nodes) const {
  boost::unordered_flat_set<BlockId> theirs;
  for (const NodeId id : nodes) {
    const auto node = impl_->nodes.find(id);
    if (node == impl_->nodes.end() || !node->second.Ready()) return std::nullopt;
    theirs.insert(node->second.blocks.begin(), node->second.blocks.end());
  }
  const auto goes = [&](NodeId node) { return nodes.contains(node) || impl_->IsApart(node); };
  std::uint64_t lacking = 0;
  for (const BlockId id : theirs) {
    if (const auto it = impl_->blocks.find(id); it != impl_->blocks.end()) {
      const BlockState& block = it->second;
      const auto stay = std::ranges::count_if(
          block.holders, [&](NodeId node) { return !goes(node) && !impl_->nodes.at(node).ordered.contains(id); });
      if (stay < std::min<std::uint32_t>(block.wanted, impl_->least_staying)) ++lacking;
    } else if (const auto open = impl_->expected.find(id); open != impl_->expected.end()) {
      const auto stays = [&](const ExpectedReplica& replica) { return IsGood(replica) && !goes(replica.node); };
      if (std::ranges::none_of(open->second.replicas, stays)) ++lacking;
    }
  }
  return lacking;
}

std::uint32_t BlockManager::MostWanted() const { return impl_->counts.MostWanted(); }

UnknownBlocks BlockManager::UnknownOn(NodeId id) const {
  const auto it = impl_->nodes.find(id);
  if (it == impl_->nodes.end() || !it->second.up) return {};
  return {it->second.unknown.size(), it->second.unknown_held};
}

void BlockManager::ForEachUnknown(NodeId id, BlockId after, const std::function<bool(const Block&)>& visit) const {
  const NodeState* node = impl_->UpNode(id);
  if (node == nullptr) return;
  for (auto it = node->unknown.upper_bound(after); it != node->unknown.end(); ++it) {
    if (!visit({it->first, it->second})) return;
  }
}

Result<std::uint64_t> BlockManager::DiscardUnknown(NodeId id) {
  NodeState* node = impl_->UpNode(id);
  if (node == nullptr) return std::uint64_t{0};
  if (!node->Ready())
    return Busy("put unknown blocks aside: node " + std::to_string(id.value) +
                " is still listing its blocks; try again when it has listed all");
  node->unknown_held = false;
  node->to_aside.clear();
  for (const auto& [block, length] : node->unknown) node->to_aside.push_back(block);
  return std::uint64_t{node->unknown.size()};
}

bool BlockManager::Recall(NodeId id, const Block& trashed) {
  NodeState* node = impl_->UpNode(id);
  const auto block = impl_->blocks.find(trashed.id);
  const bool wanted = node != nullptr && block != impl_->blocks.end() && block->second.Is(trashed) &&
                      !node->blocks.contains(trashed.id) && !node->unconfirmed.contains(trashed.id) &&
                      !impl_->IsUnordered(*node, trashed.id);
  if (wanted) ++node->asked[trashed.id];
  return wanted;
}

std::vector<NodeId> BlockManager::ChooseTargets(const PlacementRequest& request) {
  std::vector<NodeId> targets = dfs::ChooseTargets(impl_->candidates, request, impl_->random);
  if (!targets.empty() || impl_->ailing.empty()) return targets;
  return dfs::ChooseTargets(impl_->WithAiling(), request, impl_->random);
}

std::vector<NodeId> BlockManager::Replicas(BlockId block) const {
  const auto it = impl_->blocks.find(block);
  if (it == impl_->blocks.end()) return {};
  std::vector<NodeId> nodes(it->second.holders.begin(), it->second.holders.end());
  std::stable_partition(nodes.begin(), nodes.end(), [this](NodeId n) { return !impl_->IsApart(n); });
  std::stable_partition(nodes.begin(), nodes.end(), [this](NodeId n) { return !impl_->ailing.contains(n); });
  return nodes;
}

std::optional<Block> BlockManager::Find(BlockId block) const {
  const auto it = impl_->blocks.find(block);
  if (it == impl_->blocks.end()) return std::nullopt;
  return Block{block, it->second.length, it->second.crc};
}

void BlockManager::NodeExists(NodeId node) { impl_->nodes.try_emplace(node); }

bool BlockManager::Knows(NodeId node) const { return impl_->nodes.contains(node); }

bool BlockManager::Holds(NodeId node, BlockId block) const {
  const auto it = impl_->nodes.find(node);
  return it != impl_->nodes.end() && (it->second.blocks.contains(block) || it->second.unconfirmed.contains(block));
}

std::vector<NodeId> BlockManager::AllReplicas(BlockId block) const {
  std::vector<NodeId> nodes = Replicas(block);
  const auto bad = impl_->bad_at.find(block);
  if (bad == impl_->bad_at.end()) return nodes;
  const std::size_t good = nodes.size();
  for (const NodeId node : bad->second) {
    const NodeState& holder = impl_->nodes.at(node);
    if (holder.up && !impl_->IsUnordered(holder, block)) nodes.push_back(node);
  }
  std::sort(nodes.begin() + static_cast<std::ptrdiff_t>(good), nodes.end());
  return nodes;
}

std::uint32_t BlockManager::LiveReplicas(BlockId block) const {
  const auto it = impl_->blocks.find(block);
  return it == impl_->blocks.end() ? 0 : impl_->Live(it->second);
}

BlockHealth BlockManager::Health() const {
  const ReplicaCounts& counts = impl_->counts;
  const std::size_t places = impl_->Places();
  BlockHealth health;
  health.blocks = impl_->blocks.size();
  health.missing = counts.missing();
  health.single_replica = counts.single();
  health.under_replicated = counts.Under(places);
  health.short_of_nodes = counts.ShortOfPlaces(places);
  health.over_replicated = counts.Over();
  health.pending = impl_->copies.size();
  health.only_in_maintenance = impl_->exposed;
  for (const auto& [id, node] : impl_->nodes) {
    if (!node.up) continue;
    const auto unordered =
        static_cast<std::uint64_t>(std::ranges::count(node.bad | std::views::values, ReplicaFlaw::kUnordered));
    health.corrupt_replicas += node.bad.size() - unordered;
    health.unknown += node.unknown.size() + unordered;
    health.nodes_held += node.unknown_held ? 1 : 0;
  }
  return health;
}

void BlockManager::ForEachUnhealthy(
    const std::function<bool(const Block&, std::uint32_t live, std::uint32_t wanted)>& visit) const {
  const auto places = static_cast<std::uint32_t>(std::max<std::size_t>(1, impl_->Places()));
  std::vector<BlockId> unhealthy;
  for (const auto& [id, block] : impl_->blocks) {
    const std::size_t held = block.holders.size();
    const bool under = impl_->Live(block) < std::min(impl_->Needed(id, block), places);
    if (held == 0 || (held == 1 && block.wanted > 1) || under) unhealthy.push_back(id);
  }
  std::sort(unhealthy.begin(), unhealthy.end());
  for (const BlockId id : unhealthy) {
    const BlockState& block = impl_->blocks.at(id);
    if (!visit({id, block.length, block.crc}, static_cast<std::uint32_t>(block.holders.size()), block.wanted)) return;
  }
}

}  // namespace millrace::dfs
