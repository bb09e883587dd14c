// SPDX-License-Identifier: Apache-2.0
// The rules of dfs/name/block_manager.h for replicas that are bad, surplus or unwanted, and for their deletion.
#include "dfs/wire/blocks.h"
#include "tests/dfs/name/block_manager_fixture.h"

namespace millrace::dfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST_F(BlockManagerTest, DeletesSurplusAndLearnsOfIt) {
  blocks_.Want({1, kLength}, 2);
  UpAll({{1}, {1}, {1}});
  blocks_.NodeSpace(1_n, 5);
  EXPECT_EQ(blocks_.Health().over_replicated, 1u);
  EXPECT_EQ(Deletions(), (Deleted{{1_n, {1}}}));
  EXPECT_THAT(blocks_.Replicas(1), ElementsAre(0_n, 2_n));
  EXPECT_EQ(blocks_.Health().over_replicated, 0u);
  blocks_.Deleted(1_n, 1);
  ExpectIdle();
}

TEST_F(BlockManagerTest, SurplusWaitsForTheReportsOfAllHolders) {
  blocks_.Want({1, kLength}, 1);
  UpAll({{1}, {1}});
  blocks_.ReportBegin(0_n);
  ExpectIdle();
  blocks_.ReportEnd(0_n);  // it has it no more
  ExpectIdle();
  EXPECT_THAT(blocks_.Replicas(1), ElementsAre(1_n));
}

TEST_F(BlockManagerTest, UnwantedReplicasAreDeletedWhereverTheyAreOrTurnUp) {
  blocks_.Want({1, kLength}, 2);
  UpAll({{1}, {1}, {}});
  blocks_.Unwant(1);
  EXPECT_EQ(blocks_.Health().blocks, 0u);
  EXPECT_THAT(blocks_.Replicas(1), IsEmpty());
  EXPECT_EQ(Deletions(), (Deleted{{0_n, {1}}, {1_n, {1}}}));
  blocks_.Received(2_n, {1, kLength});
  EXPECT_EQ(Deletions(), (Deleted{{2_n, {1}}}));
  Report(2_n, {{1, kLength}});
  EXPECT_EQ(Deletions(), (Deleted{{2_n, {1}}}));
  Report(2_n, {});
  ExpectIdle();
}

TEST_F(BlockManagerTest, ACorruptReplicaIsDeletedOnlyAfterAGoodCopyElsewhere) {
  blocks_.Want({1, kLength}, 2);
  UpAll({{1}, {1}});
  blocks_.Corrupt(0_n, 1);
  blocks_.NodeDown(1_n);
  EXPECT_EQ(blocks_.Health().missing, 1u);
  EXPECT_EQ(blocks_.Health().corrupt_replicas, 1u);
  ExpectIdle();
  Report(0_n, {{1, kLength}});
  ExpectIdle();
  EXPECT_EQ(blocks_.LiveReplicas(1), 0u) << "named again, and still corrupt";
  Up(1_n, {{1, kLength}});
  const BlockWork work = Work();
  EXPECT_THAT(work.replicate, IsEmpty()) << "no copy goes to where the corrupt one lies";
  ASSERT_THAT(work.remove, SizeIs(1));
  EXPECT_EQ(work.remove[0].node, 0_n);
  blocks_.Deleted(0_n, 1);
  EXPECT_EQ(blocks_.Health().corrupt_replicas, 0u);
  EXPECT_THAT(Work().replicate[0].to, ElementsAre(0_n));
  blocks_.Received(0_n, {1, kLength});
  EXPECT_THAT(blocks_.Replicas(1), ElementsAre(0_n, 1_n));
}

TEST_F(BlockManagerTest, AWriterIsNotBelievedOfAReplicaThatItsNodeFoundBadMeanwhile) {
  for (const NodeId node : {0_n, 1_n, 2_n, 3_n}) Up(node);
  blocks_.Expect(1);
  for (const NodeId node : {0_n, 1_n}) blocks_.Received(node, {1, kLength});
  blocks_.Corrupt(0_n, 1);
  blocks_.Received(1_n, {1, kLength / 2});  // it was synced, and grew
  Report(2_n, {{1, kDamagedLength}});       // it was found when the node started
  blocks_.Want({1, kLength}, 3);
  for (const NodeId node : {0_n, 1_n, 2_n}) blocks_.Written(node, {1, kLength});
  EXPECT_THAT(blocks_.Replicas(1), ElementsAre(1_n));
  const BlockWork work = Work();
  EXPECT_EQ(work.replicate.at(0).to, std::vector{3_n});
  EXPECT_THAT(work.remove, SizeIs(2));
  blocks_.Received(3_n, {1, kLength});
  blocks_.Received(2_n, {1, kLength});
  EXPECT_THAT(blocks_.Replicas(1), ElementsAre(1_n, 2_n, 3_n)) << "the node itself is believed";
}

TEST_F(BlockManagerTest, ADeletionThatWasLostIsOrderedAgainAfterTheNextReport) {
  blocks_.Want({1, kLength}, 1);
  UpAll({{1}, {1}});
  blocks_.Corrupt(0_n, 1);
  EXPECT_EQ(Deletions(), (Deleted{{0_n, {1}}}));
  ExpectIdle();
  Report(0_n, {{1, kLength}});
  EXPECT_EQ(Deletions(), (Deleted{{0_n, {1}}}));
  Report(0_n, {});
  EXPECT_EQ(blocks_.Health().corrupt_replicas, 0u);
}

TEST_F(BlockManagerTest, AWrongLengthIsCorruptUntilTheRightOneIsReported) {
  blocks_.Want({1, kLength}, 1);
  Up(0_n, {{1, kLength - 1}});
  EXPECT_EQ(blocks_.Health().missing, 1u);
  EXPECT_EQ(blocks_.Health().corrupt_replicas, 1u);
  ExpectIdle();
  Report(0_n, {{1, kLength}});
  EXPECT_EQ(blocks_.Health().missing, 0u);
  EXPECT_EQ(blocks_.Health().corrupt_replicas, 0u);
  ExpectIdle();
}

// A worker that was restarted within the grace, and found one of its blocks cut or without checksums.
TEST_F(BlockManagerTest, AReplicaThatWasGoodAndIsReportedWithAnotherLengthIsCorrupt) {
  blocks_.Want({1, kLength}, 1);
  Up(0_n, {{1, kLength}});
  Up(0_n, {{1, ~std::uint64_t{0}}});
  EXPECT_EQ(blocks_.Health().missing, 1u);
  EXPECT_EQ(blocks_.Health().corrupt_replicas, 1u);
  EXPECT_THAT(blocks_.AllReplicas(1), ElementsAre(0_n)) << "it can be read again";
  ExpectIdle();
  blocks_.Received(0_n, {1, kLength});
  EXPECT_EQ(blocks_.Health().missing, 0u);
  EXPECT_EQ(blocks_.Health().corrupt_replicas, 0u);
}

// A replica of another cluster's block of the same number, as long as ours.
TEST_F(BlockManagerTest, AWrongChecksumIsCorruptAsAWrongLengthIs) {
  blocks_.Want({1, kLength, 77}, 2);
  Up(0_n, {{1, kLength, 77}});
  Up(1_n, {{1, kLength, 78}});
  EXPECT_THAT(blocks_.Replicas(1), ElementsAre(0_n));
  EXPECT_EQ(blocks_.Health().corrupt_replicas, 1u);
  Up(2_n);
  const BlockWork work = Work();
  ASSERT_THAT(work.replicate, SizeIs(1));
  EXPECT_EQ(work.replicate[0].block, (Block{1, kLength, 77}));
  EXPECT_THAT(work.replicate[0].to, ElementsAre(2_n));
  blocks_.Expect(5);
  blocks_.Received(1_n, {5, kLength, 9});
  blocks_.Want({5, kLength, 8}, 1);
  EXPECT_THAT(blocks_.Replicas(5), IsEmpty()) << "what a writer says of a block is what its replicas must be";
  EXPECT_EQ(blocks_.Find(5), (Block{5, kLength, 8}));
  EXPECT_EQ(blocks_.Find(6), std::nullopt);
  blocks_.Received(0_n, {1, kLength, 5});
  EXPECT_THAT(blocks_.Replicas(1), IsEmpty()) << "read again, and found to be another";
}

TEST_F(BlockManagerTest, ACopyFromACorruptSourceIsTakenFromAnother) {
  blocks_.Want({1, kLength}, 3);
  UpAll({{1}, {1}, {}});
  const BlockWork first = Work();
  ASSERT_THAT(first.replicate, SizeIs(1));
  const NodeId source = first.replicate[0].from;
  blocks_.Corrupt(source, 1);
  const BlockWork second = Work();
  ASSERT_THAT(second.replicate, SizeIs(1));
  EXPECT_EQ(second.replicate[0].from, source == 0_n ? 1_n : 0_n);
}

// An order to delete that is carried out late must not meet another order for the other replica.
TEST_F(BlockManagerTest, LateOrdersCannotTakeTheLastCopy) {
  const NodeId ordered = OrderSurplusAway();
  const NodeId other = ordered == 0_n ? 1_n : 0_n;
  blocks_.NodeSpace(other, 1);              // would be the choice by space
  blocks_.Received(ordered, {1, kLength});  // it was read and found sound
  EXPECT_THAT(Deletions(), IsEmpty()) << "one order is on its way";
  EXPECT_THAT(blocks_.Replicas(1), ElementsAre(other));
  blocks_.NodeDown(ordered);
  blocks_.NodeUp(ordered, {"r", "d"});
  ExpectIdle();
  blocks_.Deleted(ordered, 1);
  EXPECT_THAT(blocks_.Replicas(1), ElementsAre(other));
  ExpectIdle();
}

TEST_F(BlockManagerTest, AMendedReplicaWhoseDeletionIsOnItsWayMakesNoOtherSurplus) {
  blocks_.Want({1, kLength}, 2);
  UpAll({{1}, {1}});
  blocks_.SetReplication(1, 1);
  blocks_.Corrupt(0_n, 1);
  EXPECT_EQ(Deletions(), (Deleted{{0_n, {1}}}));
  blocks_.NodeSpace(1_n, 1);            // would be the choice by space
  blocks_.Received(0_n, {1, kLength});  // written again before the order came
  EXPECT_THAT(Deletions(), IsEmpty());
  blocks_.Deleted(0_n, 1);
  EXPECT_THAT(blocks_.Replicas(1), ElementsAre(1_n));
  EXPECT_EQ(blocks_.LiveReplicas(1), 1u);
}

TEST_F(BlockManagerTest, WhatIsFoundCorruptWhileItsDeletionIsOnItsWayIsNoReplicaAfterTheNextReport) {
  const NodeId ordered = OrderSurplusAway();
  const NodeId other = ordered == 0_n ? 1_n : 0_n;
  blocks_.Corrupt(ordered, 1);
  Report(ordered, {{1, kLength}});  // the order never arrived
  EXPECT_THAT(blocks_.Replicas(1), ElementsAre(other));
  EXPECT_EQ(Deletions(), (Deleted{{ordered, {1}}}));
  Report(ordered, {});
  EXPECT_EQ(blocks_.Health().corrupt_replicas, 0u);
}

TEST_F(BlockManagerTest, ReplicasOrderedAwayCountAgainOnceTheirNodesHaveReported) {
  blocks_.Want({1, kLength}, 1);
  UpAll({{1}, {1}, {1}});
  const Deleted ordered = Deletions();
  ASSERT_THAT(ordered, SizeIs(2));
  const NodeId kept = blocks_.Replicas(1)[0];
  blocks_.NodeDown(kept);
  EXPECT_EQ(blocks_.Health().missing, 1u);
  for (const auto& [node, ids] : ordered) blocks_.Received(node, {1, kLength});
  EXPECT_EQ(blocks_.LiveReplicas(1), 2u);
  ExpectIdle();  // neither is sure to stay, so neither may go
  for (const auto& [node, ids] : ordered) Report(node, {{1, kLength}});
  std::size_t deleted = 0;
  for (const auto& [node, ids] : Deletions()) deleted += ids.size();
  EXPECT_EQ(deleted, 1u) << "the reports named them: the orders never arrived";
}

TEST_F(BlockManagerTest, DeletionsOfANodeComeInBoundedLots) {
  std::vector<Block> held;
  for (BlockId id = 1; id <= 2500; ++id) held.push_back({id, 1});
  for (const Block& block : held) blocks_.Want(block, 1);
  Up(0_n, held);
  for (const Block& block : held) blocks_.Unwant(block.id);
  std::vector<std::size_t> lots;
  for (int i = 0; i < 4; ++i) lots.push_back(Deletions()[0_n].size());
  EXPECT_THAT(lots, ElementsAre(1000, 1000, 500, 0));
}

}  // namespace
}  // namespace millrace::dfs
