// SPDX-License-Identifier: Apache-2.0
// Tests the rules of dfs/name/block_manager.h, one at a time; those for deletions are in block_deletions_test.cc.
#include "tests/dfs/name/block_manager_fixture.h"

namespace millrace::dfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::UnorderedElementsAre;

TEST_F(BlockManagerTest, CopiesAnUnderReplicatedBlock) {
  blocks_.Want({1, kLength}, 3);
  UpAll({{1}, {}, {}, {}});
  EXPECT_EQ(blocks_.Health().under_replicated, 1u);
  const BlockWork work = Work();
  ASSERT_THAT(work.replicate, SizeIs(1));
  EXPECT_EQ(work.replicate[0].block, (Block{1, kLength}));
  EXPECT_EQ(work.replicate[0].from, 0_n);
  ASSERT_THAT(work.replicate[0].to, SizeIs(2));
  EXPECT_EQ(blocks_.Health().pending, 2u);
  ExpectIdle();
  for (const NodeId to : work.replicate[0].to) blocks_.Received(to, {1, kLength});
  EXPECT_THAT(blocks_.Replicas(1), SizeIs(3));
  EXPECT_EQ(blocks_.Health().under_replicated, 0u);
  EXPECT_EQ(blocks_.Health().pending, 0u);
  ExpectIdle();
}

TEST_F(BlockManagerTest, PlacesCopiesByRack) {
  blocks_.Want({1, kLength}, 2);
  Up(0_n, {{1, kLength}}, "r0");
  for (const NodeId n : {1_n, 2_n, 3_n, 4_n, 5_n}) Up(n, {}, n == 5_n ? "r1" : "r0");
  const BlockWork work = Work();
  ASSERT_THAT(work.replicate, SizeIs(1));
  EXPECT_THAT(work.replicate[0].to, ElementsAre(5_n));
}

TEST_F(BlockManagerTest, TooFewNodesCopyWhatTheyCan) {
  blocks_.Want({1, kLength}, 3);
  UpAll({{1}, {}});
  const BlockWork work = Work();
  ASSERT_THAT(work.replicate, SizeIs(1));
  EXPECT_THAT(work.replicate[0].to, ElementsAre(1_n));
  EXPECT_EQ(blocks_.Health().under_replicated, 1u);
  EXPECT_EQ(blocks_.Health().short_of_nodes, 0u);
  blocks_.Received(1_n, {1, kLength});
  ExpectIdle();
  EXPECT_EQ(blocks_.Health().under_replicated, 0u) << "two nodes hold no more";
  EXPECT_EQ(blocks_.Health().short_of_nodes, 1u);
  std::size_t listed = 0;
  blocks_.ForEachUnhealthy([&](const Block&, std::uint32_t, std::uint32_t) { return ++listed, true; });
  EXPECT_EQ(listed, 0u);
  Up(2_n);
  EXPECT_EQ(blocks_.Health().under_replicated, 1u);
  EXPECT_EQ(blocks_.Health().short_of_nodes, 0u);
  EXPECT_THAT(Work().replicate[0].to, ElementsAre(2_n));
}

TEST_F(BlockManagerTest, AFullNodeTakesNoCopy) {
  blocks_.Want({1, kLength}, 2);
  UpAll({{1}, {}});
  blocks_.NodeSpace(1_n, kLength - 1);
  ExpectIdle();
  blocks_.NodeSpace(1_n, kLength);
  EXPECT_THAT(Work().replicate, SizeIs(1));
}

TEST_F(BlockManagerTest, ACopyThatIsNotReportedIsGivenOutAgain) {
  blocks_.Want({1, kLength}, 2);
  UpAll({{1}, {}});
  ASSERT_THAT(Work().replicate, SizeIs(1));
  now_ = kTimeout - 1;
  ExpectIdle();
  now_ = kTimeout;
  EXPECT_THAT(Work().replicate, SizeIs(1));
  blocks_.Received(1_n, {1, kLength});
  now_ = 3 * kTimeout;
  ExpectIdle();
}

TEST_F(BlockManagerTest, CopiesFromAndToANodeAreLimited) {
  std::vector<BlockId> ids;
  for (BlockId id = 1; id <= 50; ++id) {
    blocks_.Want({id, kLength}, 2);
    ids.push_back(id);
  }
  UpAll({ids, {}, {}, {}});
  std::map<NodeId, int> load;
  for (int call = 0; call < 3; ++call) {
    for (const ReplicateWork& work : Work(3).replicate) {
      load[work.from] += static_cast<int>(work.to.size());
      for (const NodeId to : work.to) ++load[to];
    }
  }
  EXPECT_EQ(load[0_n], 3);
  for (const auto& [node, copies] : load) EXPECT_LE(copies, 3) << ToText(node);
  EXPECT_EQ(blocks_.Health().pending, 3u);
  now_ = kTimeout;
  EXPECT_THAT(Work(3).replicate, SizeIs(3));
}

TEST_F(BlockManagerTest, MostEndangeredFirst) {
  blocks_.Want({1, kLength}, 4);
  blocks_.Want({2, kLength}, 4);
  blocks_.Want({3, kLength}, 4);
  UpAll({{1, 2, 3}, {1, 2}, {1}, {}, {}, {}});
  const BlockWork work = Work(100);
  ASSERT_THAT(work.replicate, SizeIs(3));
  EXPECT_EQ(work.replicate[0].block.id, 3u);
  EXPECT_EQ(work.replicate[1].block.id, 2u);
  EXPECT_EQ(work.replicate[2].block.id, 1u);
}

TEST_F(BlockManagerTest, SetReplicationWorksBothWays) {
  blocks_.Want({1, kLength}, 1);
  UpAll({{1}, {}, {}});
  ExpectIdle();
  blocks_.SetReplication(1, 3);
  const BlockWork work = Work();
  ASSERT_THAT(work.replicate, SizeIs(1));
  for (const NodeId to : work.replicate[0].to) blocks_.Received(to, {1, kLength});
  blocks_.SetReplication(1, 1);
  std::size_t deleted = 0;
  for (const auto& [node, ids] : Deletions()) deleted += ids.size();
  EXPECT_EQ(deleted, 2u);
  EXPECT_EQ(blocks_.LiveReplicas(1), 1u);
}

TEST_F(BlockManagerTest, ANodeThatGoesDownTakesItsReplicasAndBringsThemBack) {
  blocks_.Want({1, kLength}, 2);
  blocks_.Want({2, kLength}, 1);
  UpAll({{1, 2}, {1}, {}});
  blocks_.NodeDown(0_n);
  EXPECT_EQ(blocks_.Health().missing, 1u);
  EXPECT_EQ(blocks_.Health().under_replicated, 1u);
  EXPECT_THAT(blocks_.Replicas(2), IsEmpty());
  const BlockWork work = Work();
  ASSERT_THAT(work.replicate, SizeIs(1));
  EXPECT_EQ(work.replicate[0].from, 1_n);
  EXPECT_THAT(work.replicate[0].to, ElementsAre(2_n));
  blocks_.Received(2_n, {1, kLength});
  Up(0_n, {{1, kLength}, {2, kLength}});
  EXPECT_EQ(blocks_.Health().missing, 0u);
  EXPECT_EQ(blocks_.Health().over_replicated, 1u);
  std::size_t deleted = 0;
  for (const auto& [node, ids] : Deletions()) deleted += ids.size();
  EXPECT_EQ(deleted, 1u);
}

TEST_F(BlockManagerTest, TellsOfTheWatchedBlocksWhoseReplicasMovedOnceEach) {
  for (const BlockId id : {1, 2, 3, 4}) blocks_.Want({id, kLength}, 2);
  for (const BlockId id : {1, 2, 4}) blocks_.Watch(id);
  UpAll({{1, 3, 4}, {1, 4}, {2}});
  EXPECT_THAT(blocks_.TakeMoved(2), UnorderedElementsAre(1, 4));
  EXPECT_THAT(blocks_.TakeMoved(2), ElementsAre(2));
  EXPECT_THAT(blocks_.TakeMoved(2), IsEmpty());
  blocks_.NodeDown(0_n);
  EXPECT_THAT(blocks_.TakeMoved(9), UnorderedElementsAre(1, 4));
  blocks_.Written(2_n, {1, kLength});
  blocks_.Corrupt(2_n, 2);
  blocks_.Unwatch(2);
  blocks_.Deleted(1_n, 4);
  blocks_.Unwant(4);
  EXPECT_THAT(blocks_.TakeMoved(9), ElementsAre(1));
  Report(1_n, {{1, kLength}});
  EXPECT_THAT(blocks_.TakeMoved(9), IsEmpty()) << "it has what it had";
}

TEST_F(BlockManagerTest, OfAForgottenNodeNothingIsLeft) {
  blocks_.Want({1, kLength}, 2);
  blocks_.Want({2, kLength}, 1);
  UpAll({{1, 2}, {1}});
  blocks_.Corrupt(0_n, 2);
  blocks_.SetDraining(0_n, true);
  blocks_.NodeDown(0_n);
  blocks_.ForgetNode(0_n);
  blocks_.ForgetNode(0_n);
  EXPECT_FALSE(blocks_.Knows(0_n));
  EXPECT_THAT(blocks_.AllReplicas(2), IsEmpty()) << "also of what was bad on it";
  EXPECT_EQ(blocks_.Health().corrupt_replicas, 0u);
  Up(2_n, {{1, kLength}, {2, kLength}});  // its directory, with a new number
  EXPECT_THAT(blocks_.Replicas(2), ElementsAre(2_n));
  EXPECT_EQ(blocks_.Health().missing, 0u);
  Up(0_n);
  EXPECT_FALSE(blocks_.Drained(0_n)) << "a node of that number begins again";
  blocks_.Unwant(2);
}

TEST_F(BlockManagerTest, CopiesThroughANodeThatGoesDownAreGivenOutAgain) {
  blocks_.Want({1, kLength}, 2);
  UpAll({{1}, {}});
  ASSERT_THAT(Work().replicate, SizeIs(1));
  blocks_.NodeDown(1_n);
  EXPECT_EQ(blocks_.Health().pending, 0u);
  Up(2_n);
  ASSERT_THAT(Work().replicate, SizeIs(1));
  blocks_.NodeUp(2_n, {"r", "d"});  // a new session: it lost its orders
  ExpectIdle();
  Report(2_n, {});
  EXPECT_THAT(Work().replicate, SizeIs(1));
}

TEST_F(BlockManagerTest, NothingIsToldToANodeWhoseReportIsNotComplete) {
  blocks_.Want({1, kLength}, 2);
  blocks_.NodeUp(0_n, {"r", "d"});
  blocks_.NodeSpace(0_n, 1'000'000);
  blocks_.ReportBegin(0_n);
  std::vector<Block> held = {{1, kLength}, {66, 5}};
  for (BlockId id = 101; id <= 110; ++id) {  // so that one unknown block is not too many
    blocks_.Want({id, kLength}, 1);
    held.push_back({id, kLength});
  }
  blocks_.ReportPart(0_n, held);
  Up(1_n);
  ExpectIdle();  // neither copied from 0 nor 66 put aside there
  EXPECT_THAT(blocks_.Replicas(1), ElementsAre(0_n));
  blocks_.ReportEnd(0_n);
  const BlockWork work = Work();
  EXPECT_THAT(work.replicate, SizeIs(1));
  ASSERT_THAT(work.aside, SizeIs(1));
  EXPECT_THAT(work.aside[0].blocks, ElementsAre(66));
}

// ---- what a node takes with it ----

TEST_F(BlockManagerTest, WhatIsLostWithANodeIsWhatItHadAndNobodyHasNow) {
  for (const BlockId id : {1, 2, 3, 4}) blocks_.Want({id, kLength}, 2);
  blocks_.Expect(9);
  Up(0_n, {{1, kLength}, {2, kLength}, {9, kLength}});
  Up(1_n, {{2, kLength}, {3, kLength}});
  EXPECT_EQ(blocks_.LostWith(0_n), std::nullopt) << "it is here";
  EXPECT_EQ(blocks_.LostWith(7_n), std::nullopt) << "it was never here";
  blocks_.NodeDown(0_n);
  std::vector<BlockId> lost;
  EXPECT_EQ(blocks_.LostWith(0_n,
                             [&](BlockId id) {
                               lost.push_back(id);
                               return true;
                             }),
            2u);
  EXPECT_THAT(lost, ElementsAre(1, 9));
  blocks_.Written(0_n, {4, kLength});  // a writer says so when the node is gone already
  EXPECT_EQ(blocks_.LostWith(0_n), 3u);
  blocks_.Unwant(1);
  Report(1_n, {{2, kLength}, {3, kLength}, {4, kLength}});
  EXPECT_EQ(blocks_.LostWith(0_n), 1u);
  blocks_.NodeDown(1_n);
  EXPECT_EQ(blocks_.LostWith(0_n), 3u) << "2 and 4 as well, of which the other replica is gone";
  Up(0_n, {{2, kLength}});
  EXPECT_EQ(blocks_.LostWith(0_n), std::nullopt);
  EXPECT_EQ(blocks_.LostWith(1_n), 2u);
}

// Going away would take the last bytes that may be left of it.
TEST_F(BlockManagerTest, ADamagedReplicaWithoutAGoodOneKeepsItsNode) {
  blocks_.Want({1, kLength}, 1);
  Up(0_n, {{1, kLength}});
  Up(1_n);
  blocks_.SetDraining(0_n, true);
  blocks_.Corrupt(0_n, 1);
  EXPECT_EQ(blocks_.LeftToDrain(0_n), 1u);
  EXPECT_EQ(blocks_.DamagedAlone(0_n), 1u);
  Report(1_n, {{1, kLength}});
  EXPECT_EQ(blocks_.LeftToDrain(0_n), 0u);
  EXPECT_EQ(blocks_.DamagedAlone(0_n), 0u);
}

// Of a block that is being written, too, a replica that nobody ordered or that is damaged replaces none.
TEST_F(BlockManagerTest, WhatIsLostOfABlockThatIsBeingWrittenIsNotWithOthersInNameOnly) {
  for (const BlockId id : {1, 2, 3}) blocks_.Expect(id, {0_n, 2_n});
  for (std::uint32_t node = 0; node < 3; ++node) Up(NodeId{node});
  for (const BlockId id : {1, 2, 3}) blocks_.Received(0_n, {id, kLength});
  blocks_.Received(1_n, {1, kLength});
  for (const BlockId id : {2, 3}) blocks_.Received(2_n, {id, kLength});
  blocks_.Corrupt(2_n, 2);
  EXPECT_FALSE(blocks_.ExpectedElsewhere(0_n, 1)) << "nobody ordered it there";
  EXPECT_FALSE(blocks_.ExpectedElsewhere(0_n, 2)) << "it is damaged there";
  EXPECT_TRUE(blocks_.ExpectedElsewhere(0_n, 3));
  blocks_.NodeDown(0_n);
  EXPECT_EQ(blocks_.LostWith(0_n), 2u);
}

// The order may be carried out late, and the replica is told of until then, as by a check of it.
TEST_F(BlockManagerTest, AReplicaThatIsOrderedAwayIsNoneElsewhere) {
  const NodeId ordered = OrderSurplusAway();
  const NodeId keeps = ordered == 0_n ? 1_n : 0_n;
  blocks_.Received(ordered, {1, kLength});
  blocks_.SetDraining(keeps, true);
  EXPECT_EQ(blocks_.LeftToDrain(keeps), 1u);
  blocks_.Deleted(ordered, 1);
  ASSERT_THAT(Work().replicate, SizeIs(1));
  blocks_.Received(ordered, {1, kLength});
  EXPECT_EQ(blocks_.LeftToDrain(keeps), 0u);
}

TEST_F(BlockManagerTest, ACopyToANodeThatBeginsToDrainGoesToAnother) {
  blocks_.Want({1, kLength}, 2);
  Up(0_n, {{1, kLength}});
  Up(1_n);
  const BlockWork first = Work();
  ASSERT_THAT(first.replicate, SizeIs(1));
  EXPECT_THAT(first.replicate[0].to, ElementsAre(1_n));
  Up(2_n);
  ExpectIdle();
  blocks_.SetDraining(1_n, true);
  const BlockWork second = Work();
  ASSERT_THAT(second.replicate, SizeIs(1));
  EXPECT_THAT(second.replicate[0].to, ElementsAre(2_n));
  blocks_.Received(1_n, {1, kLength});  // it arrives all the same, and counts for nothing
  EXPECT_EQ(blocks_.LiveReplicas(1), 1u);
}

TEST_F(BlockManagerTest, AReportRemovesWhatItDoesNotName) {
  blocks_.Want({1, kLength}, 1);
  blocks_.Want({2, kLength}, 1);
  UpAll({{1, 2}});
  blocks_.ReportBegin(0_n);
  EXPECT_EQ(blocks_.LiveReplicas(2), 1u);
  blocks_.ReportPart(0_n, {{1, kLength}});
  blocks_.Received(0_n, {2, kLength});
  blocks_.ReportEnd(0_n);
  EXPECT_EQ(blocks_.LiveReplicas(2), 1u) << "received while the report was under way";
  Report(0_n, {{1, kLength}});
  EXPECT_EQ(blocks_.LiveReplicas(1), 1u);
  EXPECT_EQ(blocks_.LiveReplicas(2), 0u);
  EXPECT_EQ(blocks_.Health().missing, 1u);
}

TEST_F(BlockManagerTest, ExpectedReplicasWaitForTheirFate) {
  blocks_.Expect(1);
  blocks_.Expect(2);
  UpAll({{}, {}});
  Report(0_n, {{1, 7}, {2, 7}});
  blocks_.Received(0_n, {1, kLength});
  blocks_.Received(1_n, {1, kLength - 1});
  ExpectIdle();
  EXPECT_EQ(blocks_.Health().blocks, 0u);
  blocks_.Want({1, kLength}, 1);
  EXPECT_THAT(blocks_.Replicas(1), ElementsAre(0_n));
  blocks_.Unwant(2);
  EXPECT_EQ(Deletions(), (Deleted{{0_n, {2}}, {1_n, {1}}})) << "the short one is corrupt";
}

TEST_F(BlockManagerTest, DrainingMovesReplicasAndKeepsThemReadable) {
  blocks_.Want({1, kLength}, 2);
  UpAll({{1}, {1}, {}});
  EXPECT_FALSE(blocks_.Drained(0_n));
  blocks_.SetDraining(0_n, true);
  EXPECT_FALSE(blocks_.Drained(0_n));
  EXPECT_THAT(blocks_.Replicas(1), ElementsAre(1_n, 0_n));
  EXPECT_EQ(blocks_.LiveReplicas(1), 1u);
  const BlockWork work = Work();
  ASSERT_THAT(work.replicate, SizeIs(1));
  EXPECT_THAT(work.replicate[0].to, ElementsAre(2_n));
  EXPECT_THAT(blocks_.ChooseTargets({.replicas = 3, .block_size = 1}), UnorderedElementsAre(1_n, 2_n));
  blocks_.Received(2_n, {1, kLength});
  EXPECT_TRUE(blocks_.Drained(0_n));
  ExpectIdle();
  blocks_.SetDraining(0_n, false);
  EXPECT_FALSE(blocks_.Drained(0_n));
  EXPECT_EQ(blocks_.Health().over_replicated, 1u);
  EXPECT_THAT(Deletions(), SizeIs(1));
}

TEST_F(BlockManagerTest, TheLastReplicaOnADrainingNodeIsCopiedFromIt) {
  blocks_.Want({1, kLength}, 1);
  blocks_.Expect(2);
  UpAll({{1, 2}, {}});
  blocks_.SetDraining(0_n, true);
  EXPECT_EQ(blocks_.Health().missing, 0u);
  const BlockWork work = Work();
  ASSERT_THAT(work.replicate, SizeIs(1));
  EXPECT_EQ(work.replicate[0].from, 0_n);
  blocks_.Received(1_n, {1, kLength});
  EXPECT_FALSE(blocks_.Drained(0_n)) << "a block is still being written there";
  blocks_.Unwant(2);
  EXPECT_TRUE(blocks_.Drained(0_n));
}

TEST_F(BlockManagerTest, DrainedAsksForNoMoreReplicasThanThereAreNodes) {
  blocks_.Want({1, kLength}, 3);
  UpAll({{1}, {1}});
  blocks_.SetDraining(0_n, true);
  EXPECT_TRUE(blocks_.Drained(0_n));
  blocks_.SetDraining(1_n, true);
  EXPECT_FALSE(blocks_.Drained(0_n)) << "nowhere to go";
}

TEST_F(BlockManagerTest, WhatOnlyALeavingNodeHasIsCopiedBeforeAnythingElse) {
  for (BlockId id = 1; id <= 20; ++id) blocks_.Want({id, kLength}, 2);  // one replica each, on a node that stays
  blocks_.Want({30, kLength}, 1);                                       // on the leaving node alone
  blocks_.Want({31, kLength}, 2);                                       // there and elsewhere
  std::vector<BlockId> lacking;
  for (BlockId id = 1; id <= 20; ++id) lacking.push_back(id);
  lacking.push_back(31);
  UpAll({lacking, {30, 31}, {}, {}});
  blocks_.SetLeaving(1_n, true);
  blocks_.SetDraining(1_n, true);
  const BlockWork work = Work(1);
  ASSERT_THAT(work.replicate, Not(IsEmpty()));
  EXPECT_EQ(work.replicate[0].block.id, 30u);
  EXPECT_EQ(work.replicate[0].from, 1_n);
}

TEST_F(BlockManagerTest, ALeavingNodeIsSparedForWhatOnlyItHasAndMayCopyMoreAtATime) {
  blocks_.Want({1, kLength}, 2);
  std::vector<BlockId> ids = {1};
  for (BlockId id = 10; id < 30; ++id) {
    blocks_.Want({id, kLength}, 1);
    ids.push_back(id);
  }
  std::vector<std::vector<BlockId>> held(12);
  held[0] = ids;
  held[1] = {1};
  UpAll(held);
  blocks_.SetDraining(0_n, true);
  blocks_.SetLeaving(0_n, true);
  std::size_t from_leaving = 0;
  for (const ReplicateWork& work : Work(2).replicate) {
    if (work.from == 0_n) ++from_leaving;
    if (work.block.id == 1) {
      EXPECT_EQ(work.from, 1_n);
    }
  }
  EXPECT_EQ(from_leaving, 2u * BlockManager::kLeavingHaste);
}

TEST_F(BlockManagerTest, ANodeThatStaysAfterAllIsANodeAsBefore) {
  blocks_.Want({1, kLength}, 1);
  UpAll({{1}, {}});
  blocks_.SetLeaving(0_n, true);
  blocks_.SetDraining(0_n, true);
  ASSERT_THAT(Work().replicate, SizeIs(1));
  blocks_.Received(1_n, {1, kLength});
  EXPECT_TRUE(blocks_.Drained(0_n));
  blocks_.SetLeaving(0_n, false);
  blocks_.SetDraining(0_n, false);
  EXPECT_EQ(blocks_.LiveReplicas(1), 2u);
  EXPECT_THAT(Deletions(), SizeIs(1));
}

TEST_F(BlockManagerTest, ABlockOnLeavingNodesAloneIsCopiedThoughTheyAreMany) {
  blocks_.Want({1, kLength}, 2);
  UpAll({{1}, {1}, {}, {}});
  for (const NodeId node : {0_n, 1_n}) {
    blocks_.SetLeaving(node, true);
    blocks_.SetDraining(node, true);
  }
  const BlockWork work = Work();
  ASSERT_THAT(work.replicate, SizeIs(1));
  EXPECT_THAT(work.replicate[0].to, UnorderedElementsAre(2_n, 3_n));
}

TEST_F(BlockManagerTest, TargetsForNewBlocksMindWritesAndRoom) {
  EXPECT_THAT(blocks_.ChooseTargets({.replicas = 1, .block_size = 1}), IsEmpty());
  blocks_.NodeUp(0_n, {"r", "d"});
  EXPECT_THAT(blocks_.ChooseTargets({.replicas = 1, .block_size = 1}), IsEmpty()) << "its room is not known";
  UpAll({{}, {}});
  blocks_.WritesUnderWay(0_n, 1);
  for (int i = 0; i < 20; ++i) EXPECT_THAT(blocks_.ChooseTargets({.replicas = 1, .block_size = 1}), ElementsAre(1_n));
  blocks_.WritesUnderWay(0_n, -1);
  blocks_.WritesUnderWay(0_n, -1);
  blocks_.WritesUnderWay(1_n, 1);
  EXPECT_THAT(blocks_.ChooseTargets({.replicas = 1, .block_size = 1}), ElementsAre(0_n));
  blocks_.NodeDown(0_n);
  EXPECT_THAT(blocks_.ChooseTargets({.replicas = 2, .block_size = 1}), ElementsAre(1_n));
}

// One failure more, and they are missing: however many nodes there are to hold more.
TEST_F(BlockManagerTest, BlocksWithASingleReplicaAreCountedAndListedByWhatTheirFilesWant) {
  blocks_.Want({1, kLength}, 2);
  blocks_.Want({2, kLength}, 3);
  blocks_.Want({3, kLength}, 1);
  UpAll({{1, 2, 3}, {1, 2}});
  const auto listed = [&] {
    std::vector<BlockId> ids;
    blocks_.ForEachUnhealthy([&](const Block& block, std::uint32_t, std::uint32_t) {
      ids.push_back(block.id);
      return true;
    });
    return ids;
  };
  EXPECT_EQ(blocks_.Health().single_replica, 0u) << "block 3 wants no more";
  EXPECT_THAT(listed(), IsEmpty());
  blocks_.NodeDown(1_n);
  EXPECT_EQ(blocks_.Health().single_replica, 2u);
  EXPECT_EQ(blocks_.Health().under_replicated, 0u) << "one node holds no more";
  EXPECT_EQ(blocks_.Health().short_of_nodes, 2u);
  EXPECT_THAT(listed(), ElementsAre(1, 2));
  blocks_.SetDraining(0_n, true);
  EXPECT_EQ(blocks_.Health().single_replica, 2u) << "a replica on a draining node is one";
  blocks_.SetDraining(0_n, false);
  blocks_.SetReplication(1, 1);
  EXPECT_EQ(blocks_.Health().single_replica, 1u);
  blocks_.SetReplication(3, 2);
  EXPECT_EQ(blocks_.Health().single_replica, 2u);
  blocks_.NodeDown(0_n);
  EXPECT_EQ(blocks_.Health().single_replica, 0u) << "they are missing";
  EXPECT_EQ(blocks_.Health().missing, 3u);
  blocks_.Unwant(2);
  UpAll({{1, 2, 3}});
  EXPECT_EQ(blocks_.Health().single_replica, 1u);
}

TEST_F(BlockManagerTest, FsckSeesUnhealthyBlocksInOrder) {
  for (const BlockId id : {5, 3, 9, 1}) blocks_.Want({id, kLength}, 2);
  UpAll({{9, 5, 1}, {1}});
  std::vector<std::tuple<BlockId, std::uint32_t, std::uint32_t>> seen;
  const auto visit = [&](const Block& b, std::uint32_t live, std::uint32_t wanted) {
    seen.emplace_back(b.id, live, wanted);
    return seen.size() < 2;
  };
  blocks_.ForEachUnhealthy(visit);
  EXPECT_THAT(seen, ElementsAre(std::tuple(3, 0, 2), std::tuple(5, 1, 2)));
  EXPECT_EQ(blocks_.Health().blocks, 4u);
  EXPECT_EQ(blocks_.Health().missing, 1u);
  EXPECT_EQ(blocks_.Health().under_replicated, 2u);
}

}  // namespace
}  // namespace millrace::dfs
