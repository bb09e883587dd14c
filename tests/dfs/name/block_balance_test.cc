// SPDX-License-Identifier: Apache-2.0
// Tests balancing by BlockManager: each rule of its header, and random clusters in which the rules hold all the time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "dfs/name/block_manager.h"
#include "tests/node_ids.h"

namespace millrace::dfs {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::UnorderedElementsAre;

constexpr Micros kTimeout = 60 * kSecond;
constexpr std::uint64_t kLength = 100;
constexpr std::uint64_t kCapacity = 1000;  // ten blocks
constexpr std::uint64_t kFree = 1'000'000;

class BlockBalanceTest : public testing::Test {
 protected:
  // Lets the node hold blocks [first, last). Blocks that are not wanted yet get one wanted replica.
  void Up(NodeId node, BlockId first, BlockId last, const Location& where = {"r", "d"}) {
    std::vector<Block> blocks;
    for (BlockId id = first; id < last; ++id) {
      if (!blocks_.Find(id).has_value()) blocks_.Want({id, kLength}, 1);
      blocks.push_back({id, kLength});
    }
    blocks_.NodeUp(node, where);
    blocks_.NodeSpace(node, kFree, kCapacity);
    Report(node, blocks);
  }
  void Report(NodeId node, const std::vector<Block>& blocks) {
    blocks_.ReportBegin(node);
    blocks_.ReportPart(node, blocks);
    blocks_.ReportEnd(node);
  }
  BlockWork Work(std::uint32_t max_copies = 100) { return blocks_.NextWork(now_, max_copies, kTimeout); }
  void Arrive(const ReplicateWork& copy) {
    for (const NodeId to : copy.to) blocks_.Received(to, copy.block);
  }
  std::map<NodeId, std::vector<BlockId>> Deletions(const BlockWork& work) {
    std::map<NodeId, std::vector<BlockId>> all;
    for (const DeleteWork& removal : work.remove) all[removal.node] = removal.blocks;
    return all;
  }
  // Goes on until balancing has ended; every copy arrives, and every deletion is done.
  void Finish() {
    for (int call = 0; call < 200 && State() == BalanceState::kMoving; ++call) {
      const BlockWork work = Work();
      for (const ReplicateWork& copy : work.replicate) Arrive(copy);
      for (const DeleteWork& removal : work.remove) {
        for (const BlockId id : removal.blocks) blocks_.Deleted(removal.node, id);
      }
    }
  }
  BalanceState State() const { return blocks_.Balance().state; }

  BlockManager blocks_{Random(7)};
  Micros now_ = 0;
};

using Deleted = std::map<NodeId, std::vector<BlockId>>;

TEST_F(BlockBalanceTest, NothingMovesUnasked) {
  Up(0_n, 1, 11);
  Up(1_n, 0, 0);
  EXPECT_THAT(Work().replicate, IsEmpty());
  EXPECT_EQ(State(), BalanceState::kNever);
}

TEST_F(BlockBalanceTest, MovesFromTheFullToTheEmpty) {
  Up(0_n, 1, 11);
  Up(1_n, 0, 0);
  blocks_.StartBalance(0.1);
  const BlockWork work = Work();
  ASSERT_THAT(work.replicate, SizeIs(4)) << "10 and 0 of 10: at 6 and 4 both are within";
  EXPECT_THAT(work.replicate,
              Each(AllOf(Field(&ReplicateWork::from, 0_n), Field(&ReplicateWork::to, ElementsAre(1_n)))));
  EXPECT_EQ(blocks_.Balance().moving_blocks, 4u);
  EXPECT_THAT(Work().remove, IsEmpty()) << "before the copies have arrived";
  for (const ReplicateWork& copy : work.replicate) Arrive(copy);
  EXPECT_THAT(Deletions(Work())[0_n], SizeIs(4));
  EXPECT_EQ(State(), BalanceState::kBalanced);
  const BalanceView view = blocks_.Balance();
  EXPECT_EQ(view.moved_blocks, 4u);
  EXPECT_EQ(view.moved_bytes, 4 * kLength);
  EXPECT_EQ(view.bytes_left, 0u);
  EXPECT_DOUBLE_EQ(view.mean, 0.5);
  EXPECT_DOUBLE_EQ(view.largest, 0.6);
  EXPECT_DOUBLE_EQ(view.smallest, 0.4);
}

TEST_F(BlockBalanceTest, TheSourceGivesUpItsReplicaAndNotWhoHasLeastRoom) {
  blocks_.Want({1, kLength}, 2);
  Up(0_n, 1, 11);
  Up(1_n, 1, 2);
  Up(2_n, 0, 0);
  blocks_.NodeSpace(1_n, 5, kCapacity);  // would be the choice by space
  blocks_.StartBalance(0.1);
  std::map<NodeId, std::vector<BlockId>> deleted;
  for (const ReplicateWork& copy : Work().replicate) {
    EXPECT_EQ(copy.from, 0_n);
    Arrive(copy);
  }
  for (const auto& [node, ids] : Deletions(Work())) deleted[node] = ids;
  EXPECT_THAT(deleted, SizeIs(1));
  EXPECT_FALSE(deleted[0_n].empty());
}

TEST_F(BlockBalanceTest, AboveTheMeanGivesToTheUnder) {
  Up(0_n, 1, 7);
  Up(1_n, 7, 13);
  Up(2_n, 0, 0);
  blocks_.StartBalance(0.25);  // 60%, 60% and 0% round 40%: nobody is over, one is under
  Finish();
  EXPECT_EQ(State(), BalanceState::kBalanced);
  EXPECT_EQ(blocks_.Balance().moved_blocks, 2u);
}

TEST_F(BlockBalanceTest, CopiesThatBlocksLackComeFirst) {
  blocks_.Want({1, kLength}, 2);
  Up(0_n, 1, 11);
  Up(1_n, 0, 0);
  blocks_.StartBalance(0.1);
  const BlockWork work = Work();
  ASSERT_THAT(work.replicate, SizeIs(1)) << "and nothing else, as long as it is under way";
  EXPECT_EQ(work.replicate[0].block.id, 1u);
  EXPECT_THAT(Work().replicate, IsEmpty());
  EXPECT_EQ(State(), BalanceState::kMoving);
  Arrive(work.replicate[0]);
  EXPECT_THAT(Work().replicate, SizeIs(4));
}

TEST_F(BlockBalanceTest, ALackThatNobodyCanMendHoldsNothingUp) {
  blocks_.Want({1, kLength}, 3);
  Up(0_n, 1, 11);
  Up(1_n, 1, 2);
  blocks_.StartBalance(0.1);
  Finish();
  EXPECT_EQ(State(), BalanceState::kBalanced);
  EXPECT_THAT(blocks_.Replicas(1), ElementsAre(0_n, 1_n));
}

TEST_F(BlockBalanceTest, HalfOfTheLimitIsLeftToCopies) {
  Up(0_n, 1, 11);
  Up(1_n, 0, 0);
  Up(2_n, 0, 0);
  blocks_.StartBalance(0);
  const BlockWork work = Work(5);
  ASSERT_THAT(work.replicate, SizeIs(2));
  EXPECT_THAT(Work(5).replicate, IsEmpty());
  BlockId other = 1;
  while (other == work.replicate[0].block.id || other == work.replicate[1].block.id) ++other;
  blocks_.SetReplication(other, 3);
  EXPECT_THAT(Work(5).replicate, ElementsAre(Field(&ReplicateWork::to, SizeIs(2))));
}

TEST_F(BlockBalanceTest, AReceiverIsLimitedToo) {
  Up(0_n, 1, 11);
  Up(1_n, 11, 21);
  Up(2_n, 0, 0);
  blocks_.StartBalance(0);
  EXPECT_THAT(Work(2).replicate, SizeIs(1));
  EXPECT_THAT(Work(2).replicate, IsEmpty());
}

TEST_F(BlockBalanceTest, WithALimitOfOneNoneBeginsWhileABlockLacks) {
  blocks_.Want({1, kLength}, 3);
  Up(0_n, 1, 11);
  Up(1_n, 1, 2);
  Up(2_n, 0, 0);
  blocks_.NodeSpace(2_n, 0, kCapacity);  // nowhere to copy it to
  blocks_.StartBalance(0.1);
  EXPECT_THAT(Work(1).replicate, IsEmpty());
  blocks_.SetReplication(1, 2);
  EXPECT_THAT(Work(1).replicate, SizeIs(1));
}

TEST_F(BlockBalanceTest, ABlockThatIsShortOfNodesKeepsNothingFromMoving) {
  blocks_.Want({1, kLength}, 3);
  Up(0_n, 1, 11);
  Up(1_n, 1, 2);
  blocks_.StartBalance(0.1);
  EXPECT_THAT(Work(1).replicate, SizeIs(1));
}

TEST_F(BlockBalanceTest, RacksDoNotBecomeFewer) {
  for (BlockId id = 1; id < 9; ++id) blocks_.Want({id, kLength}, 2);
  Up(0_n, 1, 9, {"r0", "d"});
  Up(1_n, 1, 5, {"r1", "d"});
  Up(2_n, 5, 9, {"r1", "d"});
  Up(3_n, 0, 0, {"r1", "d"});
  blocks_.StartBalance(0.1);
  const BlockWork work = Work();
  for (const ReplicateWork& copy : work.replicate) EXPECT_NE(copy.from, 0_n) << "the only one in its rack";
  Finish();
  EXPECT_EQ(State(), BalanceState::kStuck);
  EXPECT_GT(blocks_.Balance().bytes_left, 0u);
}

TEST_F(BlockBalanceTest, DatacentersDoNotBecomeFewer) {
  for (BlockId id = 1; id < 9; ++id) blocks_.Want({id, kLength}, 2);
  Up(0_n, 1, 9, {"r0", "d0"});
  Up(1_n, 1, 9, {"r1", "d1"});
  Up(2_n, 0, 0, {"r2", "d1"});  // another rack, but in the datacenter that the other replicas are in
  blocks_.StartBalance(0.1);
  for (const ReplicateWork& copy : Work().replicate) EXPECT_EQ(copy.from, 1_n);
}

TEST_F(BlockBalanceTest, TheNearestTakerIsChosen) {
  Up(0_n, 1, 11, {"r0", "d0"});
  Up(1_n, 0, 0, {"r1", "d1"});
  Up(2_n, 0, 0, {"r1", "d0"});
  Up(3_n, 11, 12, {"r0", "d0"});
  blocks_.StartBalance(0.1);
  EXPECT_THAT(Work().replicate.at(0).to, ElementsAre(3_n)) << "though it is not the emptiest";
}

TEST_F(BlockBalanceTest, DrainingNodesNeitherGiveNorTake) {
  Up(0_n, 1, 11);
  Up(1_n, 0, 0);
  Up(2_n, 0, 0);
  blocks_.SetDraining(1_n, true);
  blocks_.StartBalance(0.1);
  for (const ReplicateWork& copy : Work().replicate) EXPECT_THAT(copy.to, ElementsAre(2_n));
}

TEST_F(BlockBalanceTest, WhoBeginsToDrainGivesNothingUp) {
  Up(0_n, 1, 11);
  Up(1_n, 0, 0);
  blocks_.StartBalance(0.1);
  BlockWork work = Work();
  ASSERT_THAT(work.replicate, SizeIs(4));
  blocks_.SetDraining(0_n, true);
  for (int call = 0; call < 20; ++call, work = Work()) {
    EXPECT_THAT(work.remove, IsEmpty());
    for (const ReplicateWork& copy : work.replicate) Arrive(copy);
  }
  EXPECT_EQ(blocks_.Balance().moved_blocks, 0u) << "the blocks need what was copied";
  EXPECT_TRUE(blocks_.Drained(0_n));
}

TEST_F(BlockBalanceTest, ANodeWithoutRoomTakesNothing) {
  Up(0_n, 1, 11);
  Up(1_n, 0, 0);
  blocks_.NodeSpace(1_n, 2 * kLength + 50, kCapacity);
  blocks_.StartBalance(0.1);
  EXPECT_THAT(Work().replicate, SizeIs(2)) << "what is on its way takes room as well";
}

TEST_F(BlockBalanceTest, ACopyThatIsNeededByThenIsNoMove) {
  for (BlockId id = 1; id < 9; ++id) blocks_.Want({id, kLength}, 2);
  Up(0_n, 1, 9);
  Up(1_n, 1, 9);
  Up(2_n, 0, 0);
  blocks_.StartBalance(0.1);
  const BlockWork work = Work();
  ASSERT_FALSE(work.replicate.empty());
  const NodeId other = work.replicate[0].from == 0_n ? 1_n : 0_n;
  blocks_.NodeDown(other);
  Arrive(work.replicate[0]);
  EXPECT_THAT(Work().remove, IsEmpty());
  EXPECT_THAT(blocks_.Replicas(work.replicate[0].block.id), SizeIs(2));
  EXPECT_EQ(blocks_.Balance().moved_blocks, 0u);
}

TEST_F(BlockBalanceTest, AMoveThatTimesOutIsForgotten) {
  Up(0_n, 1, 11);
  Up(1_n, 0, 0);
  blocks_.StartBalance(0.3);
  const BlockWork work = Work();
  ASSERT_THAT(work.replicate, SizeIs(2));
  now_ = kTimeout;
  const BlockWork others = Work();  // each block is offered once in a pass
  for (const ReplicateWork& copy : others.replicate) {
    for (const ReplicateWork& late : work.replicate) EXPECT_NE(copy.block.id, late.block.id);
  }
  blocks_.NodeSpace(1_n, 5, kCapacity);  // the choice by space
  Arrive(work.replicate[0]);
  EXPECT_EQ(Deletions(Work()), (Deleted{{1_n, {work.replicate[0].block.id}}}));
  EXPECT_EQ(blocks_.Balance().moved_blocks, 0u);
}

TEST_F(BlockBalanceTest, ItEndsThoughNoMoveEverArrives) {
  Up(0_n, 1, 11);
  Up(1_n, 0, 0);
  blocks_.StartBalance(0.1);
  for (int call = 0; call < 20 && State() == BalanceState::kMoving; ++call, now_ += kTimeout) (void)Work();
  EXPECT_EQ(State(), BalanceState::kStuck);
  EXPECT_EQ(blocks_.Balance().moving_blocks, 0u);
}

TEST_F(BlockBalanceTest, WhoMovedElsewhereMeanwhileKeepsItsReplica) {
  blocks_.Want({1, kLength}, 2);
  blocks_.Want({2, kLength}, 2);
  Up(0_n, 1, 11, {"r0", "d"});
  Up(1_n, 1, 3, {"r0", "d"});
  Up(2_n, 0, 0, {"r0", "d"});
  blocks_.StartBalance(0.1);
  std::optional<ReplicateWork> move;
  for (const ReplicateWork& copy : Work().replicate) {
    if (copy.block.id <= 2) move = copy;
  }
  ASSERT_TRUE(move.has_value());
  Arrive(*move);
  std::vector<Block> held;
  for (BlockId id = 1; id < 11; ++id) held.push_back({id, kLength});
  blocks_.NodeUp(0_n, {"r1", "d"});
  Report(0_n, held);
  for (const auto& [node, ids] : Deletions(Work())) {
    const bool gave_up = node == 0_n && std::find(ids.begin(), ids.end(), move->block.id) != ids.end();
    EXPECT_FALSE(gave_up) << "the only one in r1";
  }
  EXPECT_THAT(blocks_.Replicas(move->block.id), testing::Contains(0_n));
}

TEST_F(BlockBalanceTest, ABlockWithASurplusOrADoubtStays) {
  Up(0_n, 1, 11);
  Up(1_n, 0, 0);
  blocks_.Expect(50);
  Up(2_n, 0, 0);
  for (BlockId id = 1; id < 11; ++id) blocks_.Written(2_n, {id, kLength});  // surplus now
  blocks_.ReportBegin(2_n);                                                 // and it is not known whether it has them
  blocks_.StartBalance(0.1);
  EXPECT_THAT(Work().replicate, IsEmpty());
  EXPECT_EQ(State(), BalanceState::kMoving) << "what is not known yet is waited for";
}

TEST_F(BlockBalanceTest, WaitsForReportsAndSizes) {
  Up(0_n, 1, 5);
  blocks_.NodeUp(1_n, {"r", "d"});
  Report(1_n, {});
  blocks_.StartBalance(0.1);
  (void)Work();
  EXPECT_EQ(State(), BalanceState::kMoving) << "one node alone is balanced, but there is another";
  blocks_.NodeSpace(1_n, kFree, kCapacity);
  Finish();
  EXPECT_EQ(State(), BalanceState::kBalanced);
  EXPECT_EQ(blocks_.Balance().moved_blocks, 1u);
}

TEST_F(BlockBalanceTest, OneReplicaOfABlockMovesAtATime) {
  blocks_.Want({1, kLength}, 2);
  blocks_.Want({2, kLength}, 2);
  Up(0_n, 1, 3);
  Up(1_n, 1, 3);
  Up(2_n, 0, 0);
  Up(3_n, 0, 0);
  blocks_.StartBalance(0);
  const BlockWork work = Work();
  ASSERT_THAT(work.replicate, SizeIs(2));
  EXPECT_NE(work.replicate[0].from, work.replicate[1].from);
  EXPECT_NE(work.replicate[0].block.id, work.replicate[1].block.id);
}

TEST_F(BlockBalanceTest, WhereAReplicaWasFoundBadNoneIsMovedUntilItIsGone) {
  Up(0_n, 1, 3);
  Up(1_n, 1, 2);
  blocks_.Corrupt(1_n, 1);
  blocks_.StartBalance(0);
  const BlockWork work = Work();
  EXPECT_EQ(Deletions(work), (Deleted{{1_n, {1}}}));
  ASSERT_THAT(work.replicate, SizeIs(1));
  EXPECT_EQ(work.replicate[0].block.id, 2u);
}

TEST_F(BlockBalanceTest, WhereASurplusReplicaIsBeingDeletedNoneIsMoved) {
  Up(0_n, 1, 3);
  Up(1_n, 1, 2);
  blocks_.NodeSpace(1_n, 5, kCapacity);  // so that it gives up its replica
  const BlockWork before = Work();
  ASSERT_EQ(Deletions(before), (Deleted{{1_n, {1}}}));
  blocks_.NodeSpace(1_n, kFree, kCapacity);
  blocks_.StartBalance(0);
  const BlockWork work = Work();
  ASSERT_THAT(work.replicate, SizeIs(1));
  EXPECT_EQ(work.replicate[0].block.id, 2u);
}

// A report names a replica that an order to delete has not reached yet. That replica does not count as one that stays.
TEST_F(BlockBalanceTest, ABlockOfWhichAReplicaIsBeingDeletedDoesNotMove) {
  blocks_.Want({1, kLength}, 2);
  Up(0_n, 1, 4);
  Up(1_n, 1, 2);
  Up(2_n, 1, 2);
  blocks_.NodeSpace(2_n, 5, kCapacity);
  ASSERT_EQ(Deletions(Work()), (Deleted{{2_n, {1}}}));
  blocks_.Received(2_n, {1, kLength});  // it was read and found sound
  blocks_.Deleted(1_n, 1);              // as a worker says that lost it
  Up(3_n, 0, 0);
  blocks_.StartBalance(0);
  const BlockWork work = Work();
  ASSERT_THAT(work.replicate, Not(IsEmpty()));
  for (const ReplicateWork& copy : work.replicate) EXPECT_NE(copy.block.id, 1u);
}

TEST_F(BlockBalanceTest, StopEndsItAndWhatIsUnderWayIsFinished) {
  Up(0_n, 1, 11);
  Up(1_n, 0, 0);
  blocks_.StartBalance(0.1);
  const BlockWork work = Work(4);
  ASSERT_THAT(work.replicate, SizeIs(2));
  blocks_.StopBalance();
  EXPECT_EQ(State(), BalanceState::kStopped);
  for (const ReplicateWork& copy : work.replicate) Arrive(copy);
  const BlockWork after = Work(4);
  EXPECT_THAT(after.replicate, IsEmpty());
  EXPECT_THAT(Deletions(after)[0_n], SizeIs(2));
  blocks_.StartBalance(0.1);
  EXPECT_EQ(blocks_.Balance().moved_blocks, 0u) << "of this time";
  EXPECT_THAT(Work(4).replicate, SizeIs(2));
}

TEST_F(BlockBalanceTest, WhatANodeHoldsIsCountedThroughEveryChange) {
  blocks_.Want({1, kLength}, 1);
  blocks_.Expect(2);
  Up(0_n, 1, 2);
  Up(1_n, 0, 0);
  const auto largest = [this] { return blocks_.Balance().largest; };
  EXPECT_DOUBLE_EQ(largest(), 0.1);
  blocks_.Received(0_n, {2, kLength});
  blocks_.Want({2, kLength}, 1);
  EXPECT_DOUBLE_EQ(largest(), 0.2);
  blocks_.Corrupt(0_n, 2);
  EXPECT_DOUBLE_EQ(largest(), 0.1);
  blocks_.Received(0_n, {2, kLength});
  blocks_.Unwant(2);
  EXPECT_DOUBLE_EQ(largest(), 0.1);
  blocks_.Deleted(0_n, 1);
  EXPECT_DOUBLE_EQ(largest(), 0);
  blocks_.Received(0_n, {1, kLength});
  blocks_.NodeDown(0_n);
  EXPECT_DOUBLE_EQ(largest(), 0);
}

// ---- random clusters ----

// Carries out what BlockManager says, but late, and some copies never. Nodes do not fail here (in
// block_convergence_test.cc they do, with balancing too), so only moves could cost a block a replica or a rack.
class RandomCluster {
 public:
  RandomCluster(std::uint64_t seed, bool lossy) : random_(seed), manager_(Random(seed + 1)), lossy_(lossy) {
    const std::uint64_t nodes = 3 + random_.Below(8);
    const std::uint64_t racks = 1 + random_.Below(4);
    for (std::uint32_t n = 0; n < nodes; ++n) {
      where_[NodeId{n}] = {"r" + std::to_string(random_.Below(racks)), "d" + std::to_string(random_.Below(2))};
      disks_[NodeId{n}] = {};
    }
    for (BlockId id = 1; id <= 200; ++id) {
      const std::uint32_t replication = static_cast<std::uint32_t>(1 + random_.Below(3));
      manager_.Want({id, kLength}, replication);
      // Mostly on the first nodes.
      while (Holders(id).size() < replication) disks_[AnyOf(1 + random_.Below(nodes))].insert(id);
      wanted_[id] = replication;
    }
    for (const auto& [n, where] : where_) {
      manager_.NodeUp(n, where);
      manager_.NodeSpace(n, kFree, 40'000 + 1000 * random_.Below(20));
      Report(n);
    }
    for (const auto& [id, count] : wanted_) spread_[id] = SpreadOf(id);
  }

  void Balance(double threshold) {
    manager_.StartBalance(threshold);
    for (int step = 0; step < 3000 && manager_.Balance().state == BalanceState::kMoving; ++step) Step();
    EXPECT_NE(manager_.Balance().state, BalanceState::kMoving) << "it does not end";
    while (!orders_.empty()) Step();
    EXPECT_EQ(manager_.Health().over_replicated, 0u);
    EXPECT_EQ(manager_.Health().under_replicated, 0u);
    for (const auto& [id, count] : wanted_) EXPECT_EQ(Holders(id).size(), count);
  }
  BlockManager& manager() { return manager_; }

 private:
  struct Order {
    NodeId node;
    Block block;
    std::optional<NodeId> copy_from;  // none: delete
  };
  using Spread = std::pair<std::size_t, std::size_t>;

  NodeId AnyOf(std::uint64_t first) { return NodeId{static_cast<std::uint32_t>(random_.Below(first))}; }

  void Step() {
    now_ += kSecond;
    constexpr std::uint32_t kMost = 4;
    const bool moving = manager_.Balance().state == BalanceState::kMoving;
    const BlockWork work = manager_.NextWork(now_, kMost, kTimeout);
    // This is checked here because a copy that was given up may still arrive and change what its node holds.
    if (const BalanceView view = manager_.Balance(); moving && view.state != BalanceState::kMoving) {
      EXPECT_EQ(view.state == BalanceState::kBalanced, view.bytes_left == 0);
    }
    for (const ReplicateWork& copy : work.replicate) {
      for (const NodeId to : copy.to) orders_.push_back({to, copy.block, copy.from});
    }
    for (const DeleteWork& removal : work.remove) {
      for (const BlockId id : removal.blocks) orders_.push_back({removal.node, {id, kLength}, std::nullopt});
    }
    EXPECT_LE(manager_.Health().pending, kMost * disks_.size());
    if (random_.Below(20) == 0) Report(AnyOf(disks_.size()));
    for (std::size_t left = orders_.size(); left > 0; --left) {
      const Order order = orders_.front();
      orders_.pop_front();
      if (random_.Below(2) == 0) {
        orders_.push_back(order);
      } else if (!lossy_ || !order.copy_from.has_value() || random_.Below(8) != 0) {
        CarryOut(order);
      }
    }
  }

  void CarryOut(const Order& order) {
    const BlockId id = order.block.id;
    if (order.copy_from.has_value()) {
      if (!disks_[*order.copy_from].contains(id)) return;
      disks_[order.node].insert(id);
      return manager_.Received(order.node, order.block);
    }
    disks_[order.node].erase(id);
    manager_.Deleted(order.node, id);
    EXPECT_GE(Holders(id).size(), wanted_.at(id)) << "block " << id << " has fewer than it wants";
    EXPECT_GE(SpreadOf(id).first, spread_.at(id).first) << "block " << id << " is in fewer racks";
    EXPECT_GE(SpreadOf(id).second, spread_.at(id).second) << "block " << id << " is in fewer datacenters";
    if (Holders(id).size() == wanted_.at(id)) spread_[id] = SpreadOf(id);
  }

  // The node carries out the deletions that have reached it, and then lists its blocks.
  void Report(NodeId n) {
    std::deque<Order> deletions;
    std::erase_if(orders_, [&](const Order& order) {
      const bool deletion = order.node == n && !order.copy_from.has_value();
      if (deletion) deletions.push_back(order);
      return deletion;
    });
    for (const Order& order : deletions) CarryOut(order);
    std::vector<Block> held;
    for (const BlockId id : disks_[n]) held.push_back({id, kLength});
    manager_.ReportBegin(n);
    manager_.ReportPart(n, held);
    manager_.ReportEnd(n);
  }

  std::set<NodeId> Holders(BlockId id) const {
    std::set<NodeId> nodes;
    for (const auto& [n, disk] : disks_) {
      if (disk.contains(id)) nodes.insert(n);
    }
    return nodes;
  }
  Spread SpreadOf(BlockId id) const {
    std::set<Location> racks;
    std::set<std::string> datacenters;
    for (const NodeId n : Holders(id)) {
      racks.insert(where_.at(n));
      datacenters.insert(where_.at(n).datacenter);
    }
    return {racks.size(), datacenters.size()};
  }

  Random random_;
  BlockManager manager_;
  bool lossy_;
  Micros now_ = 0;
  std::map<NodeId, Location> where_;
  std::map<NodeId, std::set<BlockId>> disks_;
  std::map<BlockId, std::uint32_t> wanted_;
  std::map<BlockId, Spread> spread_;
  std::deque<Order> orders_;
};

TEST(BlockBalance, NeverFewerReplicasOrRacksAndItEnds) {
  const std::uint64_t base = SeedFromSystem();
  int moved = 0;
  for (std::uint64_t round = 0; round < 60; ++round) {
    SCOPED_TRACE("seed " + std::to_string(base + round));
    RandomCluster cluster(base + round, round % 2 == 0);
    cluster.Balance(0.02 + 0.01 * static_cast<double>(round % 10));
    moved += cluster.manager().Balance().moved_blocks > 0 ? 1 : 0;
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(moved, 30) << "of 60 clusters that are all lopsided";
}

}  // namespace
}  // namespace millrace::dfs
