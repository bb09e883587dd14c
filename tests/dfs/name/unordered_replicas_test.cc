// SPDX-License-Identifier: Apache-2.0
// Tests of replicas that turn up without anybody having asked for them: whose bytes they have nobody knows, whatever
// their checksum says.
#include "tests/dfs/name/block_manager_fixture.h"

namespace millrace::dfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class UnorderedReplicasTest : public BlockManagerTest {};

TEST_F(UnorderedReplicasTest, NeverCountAndAreDeletedOnceAnotherIsSureToStay) {
  blocks_.Want({1, kLength, 5}, 2);
  for (std::uint32_t node = 0; node < 3; ++node) Up(NodeId{node});
  blocks_.Written(0_n, {1, kLength, 5});
  blocks_.Received(1_n, {1, kLength, 5});
  EXPECT_THAT(blocks_.Replicas(1), ElementsAre(0_n));
  EXPECT_THAT(blocks_.AllReplicas(1), ElementsAre(0_n)) << "nobody reads it, nor says that it is sound";
  EXPECT_FALSE(blocks_.Holds(1_n, 1));
  EXPECT_EQ(blocks_.Health().corrupt_replicas, 0u);
  EXPECT_EQ(blocks_.Health().unknown, 1u);
  EXPECT_EQ(blocks_.Health().under_replicated, 1u);
  const BlockWork work = Work();
  ASSERT_THAT(work.replicate, SizeIs(1));
  EXPECT_EQ(work.replicate[0].from, 0_n);
  EXPECT_THAT(work.replicate[0].to, ElementsAre(2_n));
  ASSERT_THAT(work.remove, SizeIs(1));
  EXPECT_EQ(work.remove[0].node, 1_n);
  blocks_.Deleted(1_n, 1);
  EXPECT_EQ(blocks_.Health().unknown, 0u);
}

TEST_F(UnorderedReplicasTest, DoNotOutliveTheTrueOneWhateverIsSaidOfThem) {
  blocks_.Want({1, kLength, 5}, 1);
  Up(0_n);
  Up(1_n);
  blocks_.NodeSpace(1_n, 1'000'000'000);  // the surplus goes where there is less room
  blocks_.Written(0_n, {1, kLength, 5});
  for (int i = 0; i < 3; ++i) {
    blocks_.Received(1_n, {1, kLength, 5});
    blocks_.Received(1_n, {1, kLength - 1, 4});
    blocks_.Corrupt(1_n, 1);
    blocks_.Written(1_n, {1, kLength, 5});
    Report(1_n, {{1, kLength, 5}});
    EXPECT_THAT(blocks_.Replicas(1), ElementsAre(0_n));
    for (const auto& [node, ids] : Deletions()) EXPECT_EQ(node, 1_n);
  }
}

TEST_F(UnorderedReplicasTest, StayWhileNoOtherIsThere) {
  blocks_.Want({1, kLength}, 1);
  UpAll({{1}, {}});
  blocks_.NodeDown(0_n);
  blocks_.Received(1_n, {1, kLength});
  EXPECT_EQ(blocks_.Health().missing, 1u);
  ExpectIdle();
  Up(0_n, {{1, kLength}});
  EXPECT_EQ(Deletions(), (Deleted{{1_n, {1}}}));
}

TEST_F(UnorderedReplicasTest, OfABlockThatIsBeingWrittenNeither) {
  Up(0_n);
  Up(1_n);
  blocks_.Expect(1, {0_n});
  blocks_.Received(0_n, {1, kLength});
  blocks_.Received(1_n, {1, kLength});
  EXPECT_TRUE(blocks_.Holds(0_n, 1));
  EXPECT_FALSE(blocks_.Holds(1_n, 1)) << "a writer cannot name it";
  blocks_.Want({1, kLength}, 2);
  EXPECT_THAT(blocks_.Replicas(1), ElementsAre(0_n));
  EXPECT_EQ(Deletions(), (Deleted{{1_n, {1}}}));
  blocks_.Expect(2, {0_n});
  blocks_.Received(1_n, {2, kLength});
  blocks_.NodeDown(1_n);
  blocks_.ForgetNode(1_n);
  blocks_.Want({2, kLength}, 1);
  EXPECT_EQ(blocks_.Health().missing, 1u);
  blocks_.Expect(3, {0_n});
  Up(2_n);
  blocks_.Received(2_n, {3, kLength});
  blocks_.Unwant(3);
  EXPECT_EQ(Deletions(), (Deleted{{2_n, {3}}}));
}

TEST_F(UnorderedReplicasTest, ACopyCountsAsOftenAsItWasOrderedHoweverLateItComes) {
  blocks_.Want({1, kLength}, 2);
  UpAll({{1}, {}});
  ASSERT_THAT(Work().replicate, SizeIs(1));
  now_ += 100 * kTimeout;
  ASSERT_THAT(Work().replicate, SizeIs(1)) << "it is given up, and ordered again";
  blocks_.NodeUp(1_n, {"r", "d"});  // its connection broke
  Report(1_n, {});
  for (int copy = 0; copy < 2; ++copy) {
    blocks_.Received(1_n, {1, kLength});
    EXPECT_THAT(blocks_.Replicas(1), ElementsAre(0_n, 1_n)) << copy;
    blocks_.Received(1_n, {1, kLength});  // it was read there, and is sound
    blocks_.Deleted(1_n, 1);
  }
  blocks_.Received(1_n, {1, kLength});
  EXPECT_THAT(blocks_.Replicas(1), ElementsAre(0_n)) << "nobody ordered a third";
}

TEST_F(UnorderedReplicasTest, AWriterIsNotBelievedOfWhatItsNodeHasNoMore) {
  Up(0_n);
  Up(1_n);
  blocks_.Expect(1, {0_n, 1_n});
  blocks_.Received(0_n, {1, kLength});
  blocks_.Received(1_n, {1, kLength});
  Report(0_n, {});  // its file has vanished
  Report(0_n, {});
  blocks_.Want({1, kLength}, 2);
  blocks_.Written(0_n, {1, kLength});
  blocks_.Written(1_n, {1, kLength});
  EXPECT_THAT(blocks_.Replicas(1), ElementsAre(1_n));
  ASSERT_THAT(Work().replicate, SizeIs(1));
  blocks_.Received(0_n, {1, kLength});
  EXPECT_THAT(blocks_.Replicas(1), ElementsAre(0_n, 1_n));
}

// A master that has just started knows which blocks are being written, and not where. A node may have lost its file
// before it listed its blocks, or may be writing it still.
TEST_F(UnorderedReplicasTest, AWriterIsNotBelievedOfWhatItsNodeDoesNotListBeforeTheNodeSaysSo) {
  for (const BlockId block : {1, 2}) blocks_.Expect(block);
  Up(0_n);
  Up(1_n, {{1, kLength}});
  blocks_.Want({1, kLength}, 2);
  for (const NodeId node : {0_n, 1_n}) blocks_.Written(node, {1, kLength});
  EXPECT_THAT(blocks_.Replicas(1), ElementsAre(1_n));
  EXPECT_EQ(blocks_.Health().under_replicated, 1u);
  blocks_.Received(0_n, {1, kLength});
  EXPECT_THAT(blocks_.Replicas(1), ElementsAre(0_n, 1_n)) << "it was being written";
  blocks_.Received(0_n, {2, kLength});
  blocks_.Want({2, kLength}, 1);
  blocks_.Written(0_n, {2, kLength});
  EXPECT_THAT(blocks_.Replicas(2), ElementsAre(0_n)) << "it had said so before";
  blocks_.Expect(3, {0_n});
  blocks_.Want({3, kLength}, 1);
  blocks_.Written(0_n, {3, kLength});
  EXPECT_THAT(blocks_.Replicas(3), ElementsAre(0_n)) << "it was given out after the report";
}

TEST_F(UnorderedReplicasTest, WhatWasAskedBackFromTheTrashCounts) {
  blocks_.Want({1, kLength}, 1);
  Up(0_n);
  EXPECT_TRUE(blocks_.Recall(0_n, {1, kLength}));
  blocks_.Received(0_n, {1, kLength});
  EXPECT_THAT(blocks_.Replicas(1), ElementsAre(0_n));
}

// It could come back from there as one that was asked for.
TEST_F(UnorderedReplicasTest, AreNotPutIntoTheTrashInDoubt) {
  blocks_.SetDoubt(true);
  blocks_.Want({1, kLength}, 1);
  UpAll({{1}, {}});
  blocks_.Received(1_n, {1, kLength});
  const BlockWork work = Work();
  EXPECT_THAT(work.aside, IsEmpty());
  ASSERT_THAT(work.remove, SizeIs(1));
  EXPECT_EQ(work.remove[0].node, 1_n);
}

TEST_F(UnorderedReplicasTest, ARecallDoesNotMakeThemCount) {
  blocks_.Want({1, kLength}, 1);
  Up(0_n);
  blocks_.Received(0_n, {1, kLength});
  EXPECT_FALSE(blocks_.Recall(0_n, {1, kLength}));
  blocks_.Received(0_n, {1, kLength});
  EXPECT_THAT(blocks_.Replicas(1), IsEmpty());
}

TEST_F(UnorderedReplicasTest, WhatANodeSaysWhileItListsItsBlocksBelongsToTheList) {
  blocks_.Want({1, kLength}, 1);
  blocks_.NodeUp(0_n, {"r", "d"});
  blocks_.ReportBegin(0_n);
  blocks_.Received(0_n, {1, kLength});
  blocks_.ReportEnd(0_n);
  EXPECT_THAT(blocks_.Replicas(1), ElementsAre(0_n));
}

// Each of the ways in which an expected block can end, after a node that named it unasked was forgotten.
TEST_F(UnorderedReplicasTest, AreForgottenWithTheirNode) {
  for (BlockId id = 1; id <= 4; ++id) blocks_.Expect(id, {0_n});
  Up(0_n);
  Up(1_n);
  for (BlockId id = 1; id <= 4; ++id) blocks_.Received(1_n, {id, kLength});
  blocks_.NodeDown(1_n);
  blocks_.ForgetNode(1_n);
  blocks_.Disown(1);
  blocks_.Unwant(2);
  blocks_.GiveUp(3);
  blocks_.Want({4, kLength}, 1);
  EXPECT_THAT(blocks_.AllReplicas(4), IsEmpty());
  ExpectIdle();
  EXPECT_EQ(blocks_.Health().unknown, 0u);
}

}  // namespace
}  // namespace millrace::dfs
