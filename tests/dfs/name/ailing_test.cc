// SPDX-License-Identifier: Apache-2.0
// Tests what becomes of blocks while a node is ailing.
#include "tests/dfs/name/block_manager_fixture.h"

namespace millrace::dfs {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

using AilingTest = BlockManagerTest;

TEST_F(AilingTest, AnAilingNodeGetsNoBlocksWhileAnotherHasRoom) {
  UpAll({{}, {}, {}});
  blocks_.SetAiling(NodeId{1}, true);
  for (int i = 0; i < 20; ++i) {
    const auto targets = blocks_.ChooseTargets({.replicas = 3, .block_size = 10, .writer = NodeId{1}});
    EXPECT_THAT(targets, SizeIs(2));
    EXPECT_THAT(targets, Not(Contains(NodeId{1})));
  }
  for (const std::uint32_t full : {0, 2}) blocks_.NodeSpace(NodeId{full}, 0);
  EXPECT_THAT(blocks_.ChooseTargets({.replicas = 3, .block_size = 10}), ElementsAre(NodeId{1})) << "no other has room";
  for (const std::uint32_t full : {0, 2}) blocks_.NodeSpace(NodeId{full}, 1'000'000);
  blocks_.SetAiling(NodeId{1}, false);
  EXPECT_THAT(blocks_.ChooseTargets({.replicas = 3, .block_size = 10}), SizeIs(3));
}

TEST_F(AilingTest, ItsReplicasCountAndAreReadLast) {
  blocks_.Want({1, kLength}, 2);
  UpAll({{1}, {1}, {}});
  blocks_.SetAiling(NodeId{0}, true);
  ExpectIdle();
  EXPECT_THAT(blocks_.Replicas(1), ElementsAre(NodeId{1}, NodeId{0}));
  EXPECT_EQ(blocks_.LiveReplicas(1), 2U);
  EXPECT_EQ(blocks_.Health().under_replicated, 0U);
  blocks_.SetAiling(NodeId{0}, false);
  EXPECT_THAT(blocks_.Replicas(1), ElementsAre(NodeId{0}, NodeId{1}));
}

TEST_F(AilingTest, CopiesComeFromOthersAndGoToOthers) {
  for (BlockId id = 1; id <= 20; ++id) blocks_.Want({id, kLength}, 3);
  std::vector<BlockId> all;
  for (BlockId id = 1; id <= 20; ++id) all.push_back(id);
  UpAll({all, all, {}, {}});
  blocks_.SetAiling(NodeId{0}, true);
  blocks_.SetAiling(NodeId{3}, true);
  const BlockWork work = Work(100);
  EXPECT_THAT(work.replicate, SizeIs(20));
  for (const ReplicateWork& copy : work.replicate) {
    EXPECT_EQ(copy.from, NodeId{1});
    EXPECT_THAT(copy.to, ElementsAre(NodeId{2}));
  }
}

TEST_F(AilingTest, WhatOnlyAnAilingNodeHasIsCopiedFromThere) {
  blocks_.Want({1, kLength}, 2);
  UpAll({{1}, {}, {}});
  blocks_.SetAiling(NodeId{0}, true);
  const BlockWork work = Work();
  ASSERT_THAT(work.replicate, SizeIs(1));
  EXPECT_EQ(work.replicate[0].from, NodeId{0});
}

TEST_F(AilingTest, OfTooManyReplicasAnAilingNodesGoes) {
  blocks_.Want({1, kLength}, 1);
  UpAll({{1}, {1}, {1}});
  blocks_.SetAiling(NodeId{1}, true);
  EXPECT_EQ(Deletions(), (Deleted{{NodeId{0}, {1}}, {NodeId{1}, {1}}}));
}

TEST_F(AilingTest, TheRacksOfABlockComeBeforeTheAilingNode) {
  blocks_.Want({1, kLength}, 2);
  Up(NodeId{0}, {{1, kLength}}, "r0");
  Up(NodeId{1}, {{1, kLength}}, "r1");
  Up(NodeId{2}, {{1, kLength}}, "r0");
  blocks_.SetAiling(NodeId{1}, true);
  const auto deletions = Deletions();
  ASSERT_THAT(deletions, SizeIs(1));
  EXPECT_NE(deletions.begin()->first, NodeId{1});
}

TEST_F(AilingTest, OfTooManyReplicasAnAilingNodesGoesBeforeThatOfAFullOne) {
  blocks_.Want({1, kLength}, 1);
  UpAll({{1}, {1}});
  blocks_.SetAiling(NodeId{1}, true);
  for (const std::uint32_t full : {0, 1}) blocks_.NodeSpace(NodeId{full}, 0);
  EXPECT_EQ(Deletions(), (Deleted{{NodeId{1}, {1}}}));
}

// The source gives up its replica, and not the ailing node.
TEST_F(AilingTest, AMoveEndsAsItWasMeantWhileAHolderAils) {
  const Block moved{1, kLength}, larger{2, 10 * kLength};  // the other would leave node 2 fuller than node 0
  blocks_.Want(moved, 2);
  blocks_.Want(larger, 1);
  Up(NodeId{0}, {moved, larger}, "r0");
  Up(NodeId{1}, {moved}, "r1");
  Up(NodeId{2}, {}, "r0");
  for (const std::uint32_t n : {0, 1, 2}) blocks_.NodeSpace(NodeId{n}, 1'000'000, 100 * kLength);
  blocks_.SetAiling(NodeId{1}, true);
  blocks_.StartBalance(0.01);
  const BlockWork move = Work();
  ASSERT_THAT(move.replicate, SizeIs(1));
  EXPECT_EQ(move.replicate[0].from, NodeId{0});
  blocks_.Received(NodeId{2}, {1, kLength});
  EXPECT_EQ(Deletions(), (Deleted{{NodeId{0}, {1}}}));
  EXPECT_EQ(blocks_.Balance().moved_blocks, 1U);
}

TEST_F(AilingTest, ACopyGoesToAnotherRackThanTheReplicaOfAnAilingNode) {
  std::vector<Block> all;
  for (BlockId id = 1; id <= 20; ++id) all.push_back({id, kLength});
  for (const Block& block : all) blocks_.Want(block, 2);
  Up(NodeId{0}, all, "r0");
  Up(NodeId{1}, {}, "r0");
  Up(NodeId{2}, {}, "r1");
  blocks_.SetAiling(NodeId{0}, true);
  const BlockWork work = Work(100);
  EXPECT_THAT(work.replicate, SizeIs(20));
  for (const ReplicateWork& copy : work.replicate) EXPECT_THAT(copy.to, ElementsAre(NodeId{2}));
}

TEST_F(AilingTest, ABlockGetsAReplicaOnAnAilingNodeIfNoOtherCanTakeIt) {
  blocks_.Want({1, kLength}, 3);
  UpAll({{1}, {1}, {}, {}});
  blocks_.SetAiling(NodeId{2}, true);
  const BlockWork first = Work();
  ASSERT_THAT(first.replicate, SizeIs(1));
  EXPECT_THAT(first.replicate[0].to, ElementsAre(NodeId{3}));
  blocks_.NodeDown(NodeId{3});
  const BlockWork second = Work();
  ASSERT_THAT(second.replicate, SizeIs(1));
  EXPECT_THAT(second.replicate[0].to, ElementsAre(NodeId{2}));
  blocks_.Received(NodeId{2}, {1, kLength});
  EXPECT_EQ(blocks_.Health().under_replicated, 0U);
  ExpectIdle();
}

TEST_F(AilingTest, ABlockWaitsForANodeThatIsBusyRatherThanGoToAnAilingOne) {
  for (const BlockId id : {1, 2}) blocks_.Want({id, kLength}, 2);
  UpAll({{1}, {2}, {}, {}});
  blocks_.SetAiling(NodeId{3}, true);
  blocks_.NodeSpace(NodeId{0}, 0);
  blocks_.NodeSpace(NodeId{1}, 0);
  const BlockWork work = Work(1);
  ASSERT_THAT(work.replicate, SizeIs(1));
  EXPECT_THAT(work.replicate[0].to, ElementsAre(NodeId{2}));
  blocks_.NodeSpace(NodeId{2}, 0);
  const BlockWork full = Work(1);
  ASSERT_THAT(full.replicate, SizeIs(1));
  EXPECT_THAT(full.replicate[0].to, ElementsAre(NodeId{3})) << "no other has room";
}

// Such copies may fail, one after the other, until their time is over.
TEST_F(AilingTest, CopiesToAilingNodesLeaveHalfOfTheirSourceToOthers) {
  std::vector<BlockId> all;
  for (BlockId id = 1; id <= 10; ++id) all.push_back(id);
  for (const BlockId id : all) blocks_.Want({id, kLength}, 2);
  UpAll({all, {}});
  blocks_.SetAiling(NodeId{1}, true);
  EXPECT_THAT(Work(4).replicate, SizeIs(2));
  blocks_.SetAiling(NodeId{1}, false);
  EXPECT_THAT(Work(4).replicate, SizeIs(2)) << "the others";
}

TEST_F(AilingTest, ANodeIsDrainedThoughTheOnlyPlaceForItsBlocksAils) {
  blocks_.Want({1, kLength}, 3);
  UpAll({{1}, {1}, {}, {1}});
  blocks_.SetAiling(NodeId{2}, true);
  blocks_.SetDraining(NodeId{0}, true);
  EXPECT_FALSE(blocks_.Drained(NodeId{0}));
  const BlockWork work = Work();
  ASSERT_THAT(work.replicate, SizeIs(1));
  EXPECT_THAT(work.replicate[0].to, ElementsAre(NodeId{2}));
  blocks_.Received(NodeId{2}, {1, kLength});
  EXPECT_TRUE(blocks_.Drained(NodeId{0}));
}

// A replica on an ailing node is not enough to let another node go.
TEST_F(AilingTest, ADrainedNodeWaitsForCopiesOnNodesThatAreWell) {
  blocks_.Want({1, kLength}, 2);
  UpAll({{1}, {1}, {}});
  blocks_.SetAiling(NodeId{1}, true);
  blocks_.SetDraining(NodeId{0}, true);
  EXPECT_FALSE(blocks_.Drained(NodeId{0}));
  ASSERT_THAT(Work().replicate, SizeIs(1));
  blocks_.Received(NodeId{2}, {1, kLength});
  EXPECT_TRUE(blocks_.Drained(NodeId{0}));
}

TEST_F(AilingTest, WhatOnlyALeavingAndAnAilingNodeHaveIsCopiedFromTheLeavingOne) {
  blocks_.Want({1, kLength}, 2);
  UpAll({{1}, {1}, {}});
  blocks_.SetAiling(NodeId{0}, true);
  blocks_.SetLeaving(NodeId{1}, true);
  blocks_.SetDraining(NodeId{1}, true);
  const BlockWork work = Work();
  ASSERT_THAT(work.replicate, SizeIs(1));
  EXPECT_EQ(work.replicate[0].from, NodeId{1});
}

TEST_F(AilingTest, ANodeThatIsForgottenAilsNoMore) {
  UpAll({{}, {}});
  blocks_.SetAiling(NodeId{1}, true);
  blocks_.NodeDown(NodeId{1});
  blocks_.ForgetNode(NodeId{1});
  Up(NodeId{1});
  EXPECT_THAT(blocks_.ChooseTargets({.replicas = 2, .block_size = 10}), SizeIs(2));
  EXPECT_THAT(Work().remove, IsEmpty());
}

}  // namespace
}  // namespace millrace::dfs
