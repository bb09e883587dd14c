// SPDX-License-Identifier: Apache-2.0
// A simulated cluster carries out what BlockManager says late or not at all. Meanwhile nodes die, come back, ail,
// leave, and lose or spoil replicas, files come and go, nodes are balanced, and replicas that nobody ordered turn up,
// with bytes of somebody's own and the right checksum. At times what is wanted is in doubt: then files that go are
// disowned, and nodes are asked for what lies in their trash. No block may be lost by deletion, what may be wanted
// after all is not deleted in doubt, and nothing is copied from what nobody ordered; no block loses a rack by the
// deletion of a surplus replica. When the failures stop, every block reaches its replication, or has a replica on every
// node that does not drain, and no unwanted replica remains. In some clusters nodes ail and drain for ever: the latter
// are drained all the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <ranges>
#include <set>
#include <string>

#include "base/ids/ids.h"
#include "dfs/name/block_manager.h"

namespace millrace::dfs {
namespace {

constexpr std::uint32_t kNodes = 8;
constexpr std::uint64_t kLength = 100;
constexpr Micros kTimeout = 10;

struct Order {
  NodeId node;
  BlockId block = 0;
  std::optional<NodeId> copy_from;  // none: delete
  bool aside = false;               // into the trash
};

class Cluster {
 public:
  explicit Cluster(std::uint64_t seed) : random_(seed), manager_(Random(seed + 1)) {
    for (std::uint32_t n = 0; n < kNodes; ++n) Start(NodeId{n});
  }

  void Disturb() {
    const NodeId n{static_cast<std::uint32_t>(random_.Below(kNodes))};
    switch (random_.Below(20)) {
      case 0:
        return up_[n] && UpCount() > kNodes / 2 ? Stop(n) : up_[n] ? Report(n) : Start(n);
      case 1:
        return up_[n] ? Report(n) : Start(n);
      case 2:
        return up_[n] ? Restart(n) : Start(n);
      case 3:
        return SpoilOne(n);
      case 4:
        return random_.Below(3) == 0 ? Drain(n, !draining_[n]) : void();
      case 5:
        return RemoveFile();
      case 6:
        return ChangeReplication();
      case 7:
        return random_.Below(8) == 0 ? manager_.StopBalance() : manager_.StartBalance(0.01);
      case 8:
        return CheckOne(n);
      case 9:
      case 10:
        return Forge(n);
      case 11:
        return random_.Below(4) == 0 ? manager_.SetDoubt(doubt_ = !doubt_) : void();
      case 12:
        return manager_.SetAiling(n, random_.Below(2) == 0);
      case 14:
        return manager_.NodeSpace(n, 1'000'000 + random_.Below(100), 10 * kLength * (1 + n.value));
      case 13:
        return RecallOne(n);
      case 15:
        return random_.Below(3) == 0 && !draining_[n] ? Maintain(n, !maintained_.contains(n)) : void();
      default:
        return WriteFile();
    }
  }

  void Step(bool lossy) {
    ++now_;
    std::map<BlockId, std::set<NodeId>> sure;  // where each wanted block is sure to stay
    for (const auto& [id, replication] : wanted_) sure[id] = Sure(id);
    const BlockWork work = manager_.NextWork(now_, 2, kTimeout);
    std::set<std::pair<NodeId, BlockId>> told;
    for (const ReplicateWork& copy : work.replicate) {
      EXPECT_TRUE(up_[copy.from]);
      for (const NodeId to : copy.to) {
        EXPECT_TRUE(up_[to] && !draining_[to] && !maintained_.contains(to));
        EXPECT_TRUE(told.emplace(to, copy.block.id).second);
        asked_.emplace(to, copy.block.id);
        orders_.push_back({to, copy.block.id, copy.from});
      }
    }
    for (const DeleteWork& gone : work.aside) {
      for (const BlockId id : gone.blocks) {
        EXPECT_TRUE(disowned_.contains(id) || given_up_.contains(id) || (doubt_ && wanted_.contains(id)))
            << "block " << id << " was removed";
        orders_.push_back({gone.node, id, std::nullopt, true});
      }
    }
    for (const DeleteWork& gone : work.remove) {
      for (const BlockId id : gone.blocks) {
        EXPECT_FALSE(disowned_.contains(id) || given_up_.contains(id)) << "block " << id << " may be wanted after all";
        const auto held = disks_[gone.node].find(id);
        const bool good = held != disks_[gone.node].end() && held->second && !forged_.contains({gone.node, id});
        EXPECT_FALSE(doubt_ && good && wanted_.contains(id)) << "good block " << id << " is deleted in doubt";
        orders_.push_back({gone.node, id, std::nullopt});
      }
    }
    for (const auto& [id, before] : sure) {
      const std::set<NodeId> after = Sure(id);
      EXPECT_GE(Racks(after), std::min(Racks(before), after.size())) << "block " << id << " is in one rack now";
    }
    for (std::size_t n = orders_.size(); n > 0; --n) {
      const Order order = orders_.front();
      orders_.pop_front();
      if (lossy && random_.Below(3) == 0) {
        if (random_.Below(4) != 0 || !order.copy_from.has_value())
          orders_.push_back(order);  // later; copies may get lost
      } else {
        CarryOut(order);
      }
    }
  }

  void Settle() {
    const std::uint64_t ailing = random_.Below(3) == 0 ? 1 + random_.Below(kNodes - 1) : 0;
    const std::uint64_t draining = random_.Below(3) == 0 ? 1 + random_.Below(kNodes - 1) : 0;
    for (std::uint32_t i = 0, first = static_cast<std::uint32_t>(random_.Below(kNodes)); i < kNodes; ++i) {
      const NodeId n{(first + i) % kNodes};
      if (!up_[n]) Start(n);
      Maintain(n, false);
      if (draining_[n] != (i < draining)) Drain(n, i < draining);
      manager_.SetAiling(n, kNodes - i <= ailing);
    }
    if (random_.Below(2) == 0) manager_.SetDoubt(doubt_ = false);
    for (int i = 0; i < 400; ++i) {
      Step(false);
      if (i % 50 == 0) {
        for (const auto& [n, disk] : disks_) {
          Report(n);
          for (const auto& [id, good] : disk) Check(n, id, good);
          EXPECT_TRUE(manager_.DiscardUnknown(n).ok());
        }
      }
    }
  }

  void ExpectAllWell() {
    const auto drains = [this](NodeId n) { return draining_[n]; };
    const auto places = static_cast<std::size_t>(kNodes - std::ranges::count_if(disks_ | std::views::keys, drains));
    for (const auto& [id, replication] : wanted_) {
      std::set<NodeId> good = GoodCopies(id);
      std::erase_if(good, drains);
      EXPECT_EQ(good.size(), std::min<std::size_t>(replication, places)) << "block " << id;
      EXPECT_EQ(manager_.LiveReplicas(id), good.size()) << "block " << id;
    }
    for (const auto& [n, draining] : draining_) EXPECT_TRUE(!draining || manager_.Drained(n)) << ToText(n);
    for (const auto& [n, disk] : disks_) {
      for (const auto& [id, good] : disk) {
        EXPECT_TRUE(wanted_.contains(id)) << "unwanted block " << id << " on " << ToText(n);
        EXPECT_TRUE(good) << "corrupt block " << id << " on " << ToText(n);
        EXPECT_FALSE(forged_.contains({n, id})) << "forged block " << id << " on " << ToText(n);
      }
    }
    const BlockHealth health = manager_.Health();
    EXPECT_EQ(health.blocks, wanted_.size());
    EXPECT_EQ(health.over_replicated, 0u);
    EXPECT_EQ(health.under_replicated, 0u);
    EXPECT_EQ(health.missing, 0u);
    EXPECT_EQ(health.corrupt_replicas, 0u);
    EXPECT_EQ(health.unknown, 0u);
    EXPECT_EQ(health.pending, 0u);
    EXPECT_EQ(health.only_in_maintenance, 0u);
    EXPECT_NE(manager_.Balance().state, BalanceState::kMoving);
  }

 private:
  BlockId Some() {
    return std::next(wanted_.begin(), static_cast<std::ptrdiff_t>(random_.Below(wanted_.size())))->first;
  }
  std::size_t UpCount() const {
    return static_cast<std::size_t>(
        std::count_if(up_.begin(), up_.end(), [](const auto& node) { return node.second; }));
  }

  std::set<NodeId> GoodCopies(BlockId id) {
    std::set<NodeId> nodes;
    for (const auto& [n, disk] : disks_) {
      if (const auto at = disk.find(id); at != disk.end() && at->second && !forged_.contains({n, id})) nodes.insert(n);
    }
    return nodes;
  }

  // Returns which nodes have a good replica that counts and that nobody was ordered to delete.
  std::set<NodeId> Sure(BlockId id) {
    std::set<NodeId> nodes;
    for (const NodeId n : manager_.Replicas(id)) {
      if (!draining_[n] && !maintained_.contains(n)) nodes.insert(n);
    }
    for (const Order& order : orders_) {
      if (order.block == id && !order.copy_from) nodes.erase(order.node);
    }
    return nodes;
  }
  static const char* RackOf(NodeId n) { return n.value < kNodes / 2 ? "r0" : "r1"; }
  static std::size_t Racks(const std::set<NodeId>& nodes) {
    std::set<std::string> racks;
    for (const NodeId n : nodes) racks.insert(RackOf(n));
    return racks.size();
  }

  void Maintain(NodeId n, bool maintained) {
    manager_.SetMaintenance(n, maintained);
    maintained ? static_cast<void>(maintained_.insert(n)) : static_cast<void>(maintained_.erase(n));
  }
  void Start(NodeId n) {
    up_[n] = true;
    manager_.NodeUp(n, {RackOf(n), "d"});
    manager_.NodeSpace(n, 1'000'000 + n.value, 10 * kLength * (1 + n.value));
    Report(n);
  }
  void Stop(NodeId n) {
    up_[n] = false;
    manager_.NodeDown(n);
  }
  // The node is decommissioned, or its machine will be taken away.
  void Drain(NodeId n, bool drain) {
    manager_.SetLeaving(n, drain && random_.Below(2) == 0);
    manager_.SetDraining(n, draining_[n] = drain);
  }
  void Restart(NodeId n) {
    Stop(n);
    Start(n);
  }
  // A node lists its blocks after the deletions that have reached it; the others have not left the master's side of a
  // broken connection, and never will.
  void Report(NodeId n) {
    std::deque<Order> deletions;
    std::erase_if(orders_, [&](const Order& order) {
      const bool deletion = order.node == n && !order.copy_from.has_value();
      if (deletion && random_.Below(2) == 0) deletions.push_back(order);
      return deletion;
    });
    for (const Order& order : deletions) CarryOut(order);
    manager_.ReportBegin(n);
    std::vector<Block> part;
    for (const auto& [id, good] : disks_[n]) {
      part.push_back({id, kLength});
      if (part.size() == 3) {
        manager_.ReportPart(n, part);
        part.clear();
      }
    }
    manager_.ReportPart(n, part);
    manager_.ReportEnd(n);
  }

  void SpoilOne(NodeId n) {
    if (!up_[n] || disks_[n].empty()) return;
    auto it = std::next(disks_[n].begin(), static_cast<std::ptrdiff_t>(random_.Below(disks_[n].size())));
    if (forged_.contains({n, it->first})) return;
    // A block that failures alone can lose proves nothing. So failures leave one good copy that no late order will
    // delete.
    std::set<NodeId> safe = GoodCopies(it->first);
    safe.erase(n);
    for (const Order& order : orders_) {
      if (order.block == it->first && !order.copy_from.has_value()) safe.erase(order.node);
    }
    if (safe.empty()) return;
    it->second = false;
    manager_.Corrupt(n, it->first);
  }

  // Somebody gets bytes of his own to a node that was never asked for the block; their checksum is right.
  void Forge(NodeId n) {
    if (!up_[n] || wanted_.empty()) return;
    const BlockId id = Some();
    if (disks_[n].contains(id) || asked_.contains({n, id})) return;
    disks_[n][id] = true;
    forged_.emplace(n, id);
    manager_.Received(n, {id, kLength});
  }

  // The node tells of a block in its trash, and brings it back if it is asked to.
  void RecallOne(NodeId n) {
    if (!up_[n] || trash_[n].empty()) return;
    const auto it = std::next(trash_[n].begin(), static_cast<std::ptrdiff_t>(random_.Below(trash_[n].size())));
    const BlockId id = *it;
    if (!manager_.Recall(n, {id, kLength})) return;
    asked_.emplace(n, id);
    trash_[n].erase(it);
    if (disks_[n].try_emplace(id, true).second) manager_.Received(n, {id, kLength});
  }

  // The node reads a block, and tells what it found.
  void Check(NodeId n, BlockId id, bool good) { good ? manager_.Received(n, {id, kLength}) : manager_.Corrupt(n, id); }
  void CheckOne(NodeId n) {
    if (!up_[n] || disks_[n].empty()) return;
    const auto it = std::next(disks_[n].begin(), static_cast<std::ptrdiff_t>(random_.Below(disks_[n].size())));
    Check(n, it->first, it->second);
  }

  void WriteFile() {
    const BlockId id = next_++;
    const auto replication = static_cast<std::uint32_t>(1 + random_.Below(3));
    const std::vector<NodeId> targets = manager_.ChooseTargets({.replicas = replication, .block_size = kLength});
    manager_.Expect(id, targets);
    for (const NodeId n : targets) asked_.emplace(n, id);
    const NodeId other{static_cast<std::uint32_t>(random_.Below(kNodes))};
    if (!targets.empty() && up_[other] && !asked_.contains({other, id}) && random_.Below(4) == 0) {
      disks_[other][id] = true;
      forged_.emplace(other, id);
      manager_.Received(other, {id, kLength});
    }
    for (const NodeId n : targets) {
      disks_[n][id] = true;
      if (random_.Below(2) == 0) manager_.Received(n, {id, kLength});
    }
    if (targets.empty() || random_.Below(5) == 0) {
      if (random_.Below(2) == 0) return manager_.Unwant(id);
      given_up_.insert(id);
      return manager_.GiveUp(id);
    }
    manager_.Want({id, kLength}, replication);
    for (const NodeId n : targets) {
      manager_.Written(n, {id, kLength});
      if (random_.Below(2) == 0) manager_.Received(n, {id, kLength});
    }
    wanted_[id] = replication;
  }

  void ChangeReplication() {
    if (wanted_.empty()) return;
    const BlockId id = Some();
    wanted_[id] = static_cast<std::uint32_t>(1 + random_.Below(4));
    manager_.SetReplication(id, wanted_[id]);
  }

  void RemoveFile() {
    if (wanted_.empty()) return;
    const BlockId id = Some();
    wanted_.erase(id);
    if (!doubt_) return manager_.Unwant(id);
    disowned_.insert(id);
    manager_.Disown(id);
  }

  void CarryOut(const Order& order) {
    if (!up_[order.node]) return;
    auto& disk = disks_[order.node];
    if (!order.copy_from.has_value()) {
      const bool was_last = wanted_.contains(order.block) && GoodCopies(order.block) == std::set<NodeId>{order.node};
      EXPECT_FALSE(was_last) << "the last copy of block " << order.block << " was deleted";
      if (const auto held = disk.find(order.block); held != disk.end()) {
        const bool forged = forged_.erase({order.node, order.block}) > 0;
        EXPECT_FALSE(order.aside && forged && wanted_.contains(order.block)) << "it could come back from there";
        if (order.aside && !forged && held->second) trash_[order.node].insert(order.block);
        disk.erase(held);
      }
      manager_.Deleted(order.node, order.block);
      return;
    }
    auto& source = disks_[*order.copy_from];
    if (!up_[*order.copy_from] || !source.contains(order.block)) return;
    if (!source[order.block]) return manager_.Corrupt(*order.copy_from, order.block);
    if (disk.contains(order.block) && forged_.contains({order.node, order.block})) return;  // it is there already
    EXPECT_FALSE(forged_.contains({*order.copy_from, order.block}))
        << "block " << order.block << " was copied from there";
    disk[order.block] = true;
    manager_.Received(order.node, {order.block, kLength});
  }

  Random random_;
  BlockManager manager_;
  Micros now_ = 0;
  BlockId next_ = 1;
  std::map<NodeId, bool> up_, draining_;
  std::set<NodeId> maintained_;
  std::map<NodeId, std::map<BlockId, bool>> disks_;  // whether the bytes are good
  std::set<std::pair<NodeId, BlockId>> forged_;      // of these, the ones that are somebody's own
  std::set<std::pair<NodeId, BlockId>> asked_;       // who was ever asked for what
  std::map<NodeId, std::set<BlockId>> trash_;        // good replicas
  std::map<BlockId, std::uint32_t> wanted_;
  std::set<BlockId> disowned_;
  std::set<BlockId> given_up_;
  bool doubt_ = false;
  std::deque<Order> orders_;
};

TEST(BlockConvergence, EveryBlockReachesItsReplicationAndNoUnwantedReplicaRemains) {
  const std::uint64_t base = SeedFromSystem();
  for (std::uint64_t round = 0; round < 100; ++round) {
    SCOPED_TRACE("seed " + std::to_string(base + round));
    Cluster cluster(base + round);
    for (int i = 0; i < 300; ++i) {
      cluster.Disturb();
      if (i % 2 == 0) cluster.Step(true);
    }
    cluster.Settle();
    cluster.ExpectAllWell();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace millrace::dfs
