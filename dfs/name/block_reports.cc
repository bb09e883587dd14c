// SPDX-License-Identifier: Apache-2.0
// These are the calls of BlockManager by which nodes come, go and report what they hold.
#include <algorithm>
#include <string>

#include "base/check.h"
#include "dfs/name/block_manager_impl.h"
#include "dfs/wire/blocks.h"

namespace millrace::dfs {

NodeState* BlockManager::Impl::UpNode(NodeId id) {
  const auto it = nodes.find(id);
  return it == nodes.end() || !it->second.up ? nullptr : &it->second;
}

void BlockManager::Impl::Hold(NodeId id, NodeState* node, const Block& reported, ToldBy told) {
  const bool unnamed = node->unnamed.erase(reported.id) > 0;
  if (node->gone.erase(reported.id) > 0 && told == ToldBy::kWriter) return;
  if (unnamed && told == ToldBy::kWriter) {
    ++node->asked[reported.id];  // so that its own word counts when it comes
    return;
  }
  const auto it = blocks.find(reported.id);
  if (it == blocks.end()) {
    const auto open = expected.find(reported.id);
    if (open != expected.end()) return HoldExpected(id, node, reported, told, &open->second);
    if (removed.contains(reported.id)) return node->to_delete.push_back(reported.id);
    return HoldUnknown(node, reported);
  }
  const bool ordered = TakeOrder(node, reported.id);
  const std::optional<NodeId> giver = copies.empty() ? std::nullopt : FinishCopy(reported.id, id);
  if (node->reporting && node->bad.contains(reported.id)) node->named.insert(reported.id);
  if (told == ToldBy::kNode && !ordered && !node->bad.contains(reported.id))
    return MarkBad(id, node, reported.id, ReplicaFlaw::kUnordered);
  BlockState& block = it->second;
  if (!block.Is(reported)) {
    MarkBad(id, node, reported.id, ReplicaFlaw::kOther);
    if (node->reporting) node->named.insert(reported.id);  // or else ReportEnd would take the flaw for gone
    return;
  }
  if (const auto bad = node->bad.find(reported.id); bad != node->bad.end()) {
    const bool cleared = bad->second == ReplicaFlaw::kOther ||
                         (bad->second == ReplicaFlaw::kBytes && told == ToldBy::kNode) ||
                         (bad->second == ReplicaFlaw::kUnordered && ordered && told == ToldBy::kNode);
    if (!cleared) {
      node->to_delete.push_back(reported.id);
      return;
    }
    UnmarkBad(id, node, reported.id);
  }
  const bool known = node->unconfirmed.erase(reported.id) > 0;
  if (!node->blocks.insert(reported.id).second || known) return;
  AddHolder(reported.id, &block, id);
  if (giver.has_value() && Live(block) > block.wanted) moves_to_end[reported.id] = {*giver, id};
}

void BlockManager::Impl::HoldUnknown(NodeState* node, const Block& reported) {
  if (node->unknown.emplace(reported.id, reported.length).second) node->to_aside.push_back(reported.id);
}

// The question is asked at once, and not only when the node reports next.
void BlockManager::Impl::BecomeUnknown(NodeState* node, const Block& reported) {
  node->blocks.erase(reported.id);
  node->unconfirmed.erase(reported.id);
  HoldUnknown(node, reported);
  const std::uint64_t all = node->blocks.size() + node->unconfirmed.size() + node->bad.size() + node->unknown.size();
  if (TooManyUnknown(node->unknown.size(), all)) node->unknown_held = true;
}

void BlockManager::Impl::HoldExpected(NodeId id, NodeState* node, const Block& reported, ToldBy told,
                                      ExpectedBlock* block) {
  const bool ordered = told != ToldBy::kNode || !node->Listed() || block->at.empty() ||
                       std::ranges::find(block->at, id) != block->at.end();
  const auto known = std::ranges::find(block->replicas, id, &ExpectedReplica::node);
  if (!ordered) {
    if (known == block->replicas.end()) block->replicas.push_back({id, reported, false});
    return;
  }
  node->unconfirmed.erase(reported.id);
  node->blocks.insert(reported.id);
  if (known != block->replicas.end()) {
    *known = {id, reported};
  } else {
    block->replicas.push_back({id, reported});
  }
}

// Reports of a node that come while it lists its blocks belong to the list. A replica that was ordered away counted
// before.
bool BlockManager::Impl::TakeOrder(NodeState* node, BlockId block) {
  if (node->blocks.contains(block) || node->unconfirmed.contains(block)) return true;
  if (const auto asked = node->asked.find(block); asked != node->asked.end()) {
    if (--asked->second == 0) node->asked.erase(asked);
    return true;
  }
  return !node->bad.contains(block) && (!node->Listed() || node->ordered.contains(block));
}

void BlockManager::Impl::MarkBad(NodeId id, NodeState* node, BlockId block, ReplicaFlaw flaw) {
  const bool was_unconfirmed = node->unconfirmed.erase(block) > 0;
  node->blocks.erase(block);
  Disbelieve(node, block);
  const auto [mark, fresh] = node->bad.try_emplace(block, flaw);
  if (flaw == ReplicaFlaw::kBytes && mark->second == ReplicaFlaw::kOther) mark->second = flaw;
  if (fresh) bad_at[block].push_back(id);
  if (node->reporting && !was_unconfirmed) node->named.insert(block);
  node->to_delete.push_back(block);
  RemoveHolder(block, &blocks.at(block), id);
  CancelCopiesOf(block, &id);
}

void BlockManager::Impl::UnmarkBad(NodeId id, NodeState* node, BlockId block) {
  if (node->bad.erase(block) == 0) return;
  const auto it = bad_at.find(block);
  std::erase(it->second, id);
  if (it->second.empty()) bad_at.erase(it);
}

bool BlockManager::Impl::IsUnordered(const NodeState& node, BlockId block) const {
  const auto bad = node.bad.find(block);
  return bad != node.bad.end() && bad->second == ReplicaFlaw::kUnordered;
}

void BlockManager::Impl::Lose(NodeId id, BlockId block) {
  if (const auto it = blocks.find(block); it != blocks.end()) return RemoveHolder(block, &it->second, id);
  if (const auto it = expected.find(block); it != expected.end()) {
    const auto lost = std::erase_if(it->second.replicas, [id](const ExpectedReplica& r) { return r.node == id; });
    if (lost > 0) nodes.at(id).gone.insert(block);
  }
}

void BlockManager::Impl::NoteUnnamed(NodeId id, NodeState* node) const {
  for (const auto& [block, open] : expected) {
    const bool may_be_there = open.at.empty() || std::ranges::find(open.at, id) != open.at.end();
    if (may_be_there && std::ranges::find(open.replicas, id, &ExpectedReplica::node) == open.replicas.end())
      node->unnamed.insert(block);
  }
}

void BlockManager::NodeUp(NodeId id, const Location& where) {
  NodeState& node = impl_->nodes[id];
  if (!node.up) ++impl_->nodes_up;
  // A node that was up has started again. It has lost its orders, and what it holds counts until its report says
  // otherwise.
  impl_->CancelCopiesAt(id);
  node.up = true;
  node.last_held.reset();
  node.where = where;
  node.reported = node.reporting = false;
  node.to_delete.clear();
  node.to_aside.clear();
  impl_->UpdateCandidate(id);
}

void BlockManager::NodeDown(NodeId id) {
  NodeState* node = impl_->UpNode(id);
  if (node == nullptr) return;
  --impl_->nodes_up;
  node->up = node->reported = node->reporting = false;
  impl_->UpdateCandidate(id);
  if (impl_->maintenance.contains(id)) {  // these stay counted, since they were before
    if (!node->believed) node->believed.emplace();
    for (const auto* held : {&node->blocks, &node->unconfirmed}) node->believed->insert(held->begin(), held->end());
  }
  for (const auto* held : {&node->blocks, &node->unconfirmed}) {
    for (const BlockId block : *held) impl_->Lose(id, block);
  }
  for (auto& [block, open] : impl_->expected) {
    std::erase_if(open.replicas, [id](const ExpectedReplica& r) { return r.node == id; });  // those that nobody ordered
  }
  node->last_held = std::move(node->blocks);
  node->last_held->insert(node->unconfirmed.begin(), node->unconfirmed.end());
  node->blocks = {};
  node->unconfirmed = {};
  node->named = {};
  node->to_delete.clear();
  node->to_aside.clear();
  node->unknown.clear();
  node->unknown_held = false;
  impl_->CancelCopiesAt(id);
}

// For a node that is down only two things are kept: the replicas found bad there, and the deletions that were ordered.
void BlockManager::ForgetNode(NodeId id) {
  const auto it = impl_->nodes.find(id);
  if (it == impl_->nodes.end()) return;
  MILLRACE_CHECK(!it->second.up, "node " + std::to_string(id.value) + " is forgotten though it is up");
  while (!it->second.bad.empty()) impl_->UnmarkBad(id, &it->second, it->second.bad.begin()->first);
  SetMaintenance(id, false);
  impl_->draining.erase(id);
  impl_->leaving.erase(id);
  impl_->ailing.erase(id);
  impl_->nodes.erase(it);
}

void BlockManager::NodeSpace(NodeId id, std::uint64_t free_bytes, std::uint64_t capacity_bytes) {
  NodeState* node = impl_->UpNode(id);
  if (node == nullptr) return;
  node->capacity_bytes = capacity_bytes;
  if (node->free_bytes == free_bytes) return;
  node->free_bytes = free_bytes;
  impl_->UpdateCandidate(id);
}

void BlockManager::SetDraining(NodeId id, bool draining) {
  NodeState& node = impl_->nodes[id];
  if (node.draining == draining) return;
  const auto for_each_held = [&](auto change) {
    for (const auto* held : {&node.blocks, &node.unconfirmed}) {
      for (const BlockId block : *held) {
        const auto it = impl_->blocks.find(block);
        if (it != impl_->blocks.end()) change(block, &it->second);
      }
    }
  };
  for_each_held([&](BlockId block_id, BlockState* block) { impl_->Account(block_id, *block, false); });
  node.draining = draining;
  if (draining) {
    impl_->draining.insert(id);
  } else {
    impl_->draining.erase(id);
  }
  for_each_held([&](BlockId block_id, BlockState* block) {
    impl_->Account(block_id, *block, true);
    impl_->Enqueue(block_id, block);
  });
  if (draining) impl_->CancelCopiesTo(id);  // they would count for nothing, so they go to others
  impl_->UpdateCandidate(id);
}

void BlockManager::SetLeaving(NodeId id, bool leaving) {
  if (impl_->leaving.contains(id) == leaving) return;
  NodeState& node = impl_->nodes[id];
  if (leaving) {
    impl_->leaving.insert(id);
  } else {
    impl_->leaving.erase(id);
  }
  for (const auto* held : {&node.blocks, &node.unconfirmed}) {
    for (const BlockId block : *held) {
      const auto it = impl_->blocks.find(block);
      if (it != impl_->blocks.end()) impl_->Enqueue(block, &it->second);
    }
  }
}

void BlockManager::SetAiling(NodeId id, bool ailing) {
  if (impl_->ailing.contains(id) == ailing) return;
  impl_->nodes.try_emplace(id);
  if (ailing) {
    impl_->ailing.insert(id);
  } else {
    impl_->ailing.erase(id);
  }
  impl_->UpdateCandidate(id);
}

void BlockManager::WritesUnderWay(NodeId id, int change) {
  const auto it = impl_->nodes.find(id);
  if (it == impl_->nodes.end()) return;
  const std::int64_t writes = std::int64_t{it->second.writes} + change;
  it->second.writes = static_cast<std::uint32_t>(std::max<std::int64_t>(0, writes));
  impl_->UpdateCandidate(id);
}

void BlockManager::ReportBegin(NodeId id) {
  NodeState* node = impl_->UpNode(id);
  if (node == nullptr) return;
  node->reporting = true;
  ++node->reports;
  node->named = {};
  node->to_delete.clear();  // the report names what is still there
  node->to_aside.clear();
  node->unknown.clear();
  node->named_blocks = 0;
  if (node->unconfirmed.empty()) {
    node->unconfirmed.swap(node->blocks);
  } else {
    node->unconfirmed.insert(node->blocks.begin(), node->blocks.end());
    node->blocks = {};
  }
}

std::uint64_t BlockManager::ReportsBegun(NodeId id) const {
  const auto node = impl_->nodes.find(id);
  return node == impl_->nodes.end() ? 0 : node->second.reports;
}

void BlockManager::ReportPart(NodeId id, const std::vector<Block>& blocks) {
  NodeState* node = impl_->UpNode(id);
  if (node == nullptr || !node->reporting) return;
  node->named_blocks += blocks.size();
  for (const Block& block : blocks) impl_->Hold(id, node, block, ToldBy::kReport);
}

void BlockManager::ReportEnd(NodeId id) {
  NodeState* node = impl_->UpNode(id);
  if (node == nullptr || !node->reporting) return;
  const auto gone = std::move(node->unconfirmed);
  node->unconfirmed = {};
  for (const BlockId block : gone) impl_->Lose(id, block);
  std::vector<BlockId> cured;
  for (const auto& [block, flaw] : node->bad) {
    if (!node->named.contains(block)) cured.push_back(block);
  }
  for (const BlockId block : cured) impl_->UnmarkBad(id, node, block);
  boost::unordered::erase_if(node->asked, [&](const auto& asked) { return !impl_->blocks.contains(asked.first); });
  boost::unordered::erase_if(node->gone, [&](BlockId block) { return !impl_->expected.contains(block); });
  node->unnamed = {};
  impl_->NoteUnnamed(id, node);
  node->ordered = {};  // they are made, or will never be
  node->named = {};
  node->reporting = false;
  node->reported = true;
  node->unknown_held = TooManyUnknown(node->unknown.size(), node->named_blocks);
  impl_->EndBeliefs(node);
}

void BlockManager::Received(NodeId id, const Block& block) {
  NodeState* node = impl_->UpNode(id);
  if (node != nullptr) impl_->Hold(id, node, block, ToldBy::kNode);
}

void BlockManager::Written(NodeId id, const Block& block) {
  if (NodeState* node = impl_->UpNode(id)) return impl_->Hold(id, node, block, ToldBy::kWriter);
  const auto down = impl_->nodes.find(id);
  if (down == impl_->nodes.end() || !down->second.last_held) return;
  down->second.last_held->insert(block.id);
  if (!down->second.believed) return;
  const boost::unordered_flat_set<BlockId> concerned{block.id};
  impl_->Reconsider(&concerned, [&] { down->second.believed->insert(block.id); });
}

void BlockManager::Deleted(NodeId id, BlockId block) {
  NodeState* node = impl_->UpNode(id);
  if (node == nullptr) return;
  node->blocks.erase(block);
  node->unconfirmed.erase(block);
  node->ordered.erase(block);
  node->unknown.erase(block);
  impl_->UnmarkBad(id, node, block);
  impl_->Lose(id, block);
  impl_->Disbelieve(node, block);
}

void BlockManager::Corrupt(NodeId id, BlockId block) {
  NodeState* node = impl_->UpNode(id);
  if (node == nullptr) return;
  const bool held = node->blocks.contains(block) || node->unconfirmed.contains(block);
  if (impl_->blocks.contains(block)) {
    if (held || node->ordered.contains(block)) impl_->MarkBad(id, node, block, ReplicaFlaw::kBytes);
    return;
  }
  if (!held) return;
  impl_->HoldExpected(id, node, {block, kDamagedLength, 0}, ToldBy::kReport, &impl_->expected.at(block));
}

}  // namespace millrace::dfs
