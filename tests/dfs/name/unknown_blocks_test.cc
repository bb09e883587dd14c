// SPDX-License-Identifier: Apache-2.0
// Tests replicas that belong to no file: which are put aside, and which are held until somebody confirms.
#include <algorithm>

#include "tests/dfs/name/block_manager_fixture.h"

namespace millrace::dfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

class UnknownBlocksTest : public BlockManagerTest {
 protected:
  // Sets up node 0 with `known` wanted blocks from 1 and `unknown` other blocks from 1001.
  void UpWithUnknown(BlockId known, BlockId unknown) {
    std::vector<Block> held;
    for (BlockId id = 1; id <= known; ++id) {
      blocks_.Want({id, kLength}, 1);
      held.push_back({id, kLength});
    }
    for (BlockId id = 1001; id <= 1000 + unknown; ++id) held.push_back({id, kLength});
    Up(0_n, held);
  }
  std::size_t PutAside() {
    std::size_t blocks = 0;
    for (const DeleteWork& work : Work().aside) blocks += work.blocks.size();
    return blocks;
  }
};

TEST_F(UnknownBlocksTest, UnknownReplicasArePutAsideAndNotDeleted) {
  UpWithUnknown(100, 2);
  EXPECT_EQ(blocks_.UnknownOn(0_n).count, 2u);
  EXPECT_FALSE(blocks_.UnknownOn(0_n).held);
  const BlockWork work = Work();
  EXPECT_THAT(work.remove, IsEmpty());
  ASSERT_THAT(work.aside, SizeIs(1));
  EXPECT_EQ(work.aside[0].node, 0_n);
  EXPECT_THAT(work.aside[0].blocks, ElementsAre(1001, 1002));
  blocks_.Deleted(0_n, 1001);
  EXPECT_EQ(blocks_.UnknownOn(0_n).count, 1u);
  ExpectIdle();
  blocks_.Received(0_n, {2000, kLength});  // that nobody asked for
  EXPECT_EQ(PutAside(), 1u);
}

TEST_F(UnknownBlocksTest, TooManyUnknownReplicasStayUntilSomebodyConfirms) {
  UpWithUnknown(9, 24);
  EXPECT_TRUE(blocks_.UnknownOn(0_n).held);
  ExpectIdle();
  EXPECT_EQ(blocks_.Health().unknown, 24u);
  EXPECT_EQ(blocks_.Health().nodes_held, 1u);
  blocks_.Received(0_n, {2000, kLength});
  ExpectIdle();
  std::vector<BlockId> listed;
  blocks_.ForEachUnknown(0_n, 1020, [&](const Block& block) {
    listed.push_back(block.id);
    return true;
  });
  EXPECT_THAT(listed, ElementsAre(1021, 1022, 1023, 1024, 2000));
  EXPECT_EQ(blocks_.DiscardUnknown(0_n).value(), 25u);
  EXPECT_EQ(PutAside(), 25u);
  EXPECT_EQ(blocks_.Health().nodes_held, 0u);
}

// Nobody knows how many unknown blocks the missing parts of the report had, and those that raised the question are
// gone.
TEST_F(UnknownBlocksTest, HalfAReportIsNotActedOn) {
  UpWithUnknown(9, 24);
  blocks_.ReportBegin(0_n);
  blocks_.ReportPart(0_n, {{1001, kLength}, {1002, kLength}});
  const Status refused = blocks_.DiscardUnknown(0_n).status();
  EXPECT_EQ(refused.code(), StatusCode::kBusy);
  EXPECT_THAT(refused.message(), HasSubstr("node 0"));
  std::vector<Block> rest;
  for (BlockId id = 1003; id <= 1024; ++id) rest.push_back({id, kLength});
  blocks_.ReportPart(0_n, rest);
  blocks_.ReportEnd(0_n);
  EXPECT_TRUE(blocks_.UnknownOn(0_n).held) << "asked again";
  ExpectIdle();
  EXPECT_EQ(blocks_.DiscardUnknown(0_n).value(), 24u);
  EXPECT_EQ(PutAside(), 24u);
}

TEST_F(UnknownBlocksTest, ANodeThatHasNotReportedIsNotActedOn) {
  blocks_.NodeUp(0_n, {"/r", "d"});
  EXPECT_EQ(blocks_.DiscardUnknown(0_n).status().code(), StatusCode::kBusy);
}

// The guard says what its page says, for few blocks as for many: above a tenth.
TEST_F(UnknownBlocksTest, AboveATenthIsTooManyHoweverFewBlocksThereAre) {
  for (const std::uint64_t blocks :
       {1u, 2u, 3u, 9u, 10u, 11u, 12u, 19u, 20u, 21u, 99u, 100u, 101u, 1000u, 3'000'000u}) {
    for (std::uint64_t unknown = 0; unknown <= std::min<std::uint64_t>(blocks, 200); ++unknown)
      EXPECT_EQ(TooManyUnknown(unknown, blocks), 10 * unknown > blocks) << unknown << " of " << blocks;
  }
  EXPECT_FALSE(TooManyUnknown(300'000, 3'000'000));
  EXPECT_TRUE(TooManyUnknown(300'001, 3'000'000));
  constexpr std::uint64_t kMost = ~std::uint64_t{0};
  EXPECT_TRUE(TooManyUnknown(kMost, kMost)) << "no product overflows";
}

TEST_F(UnknownBlocksTest, OneUnknownBlockOfOneIsAskedAbout) {
  UpWithUnknown(0, 1);
  EXPECT_TRUE(blocks_.UnknownOn(0_n).held);
  EXPECT_EQ(PutAside(), 0u);
}

TEST_F(UnknownBlocksTest, OneUnknownBlockOfTenIsPutAside) {
  UpWithUnknown(9, 1);
  EXPECT_EQ(PutAside(), 1u);
}

// What a master that may be older than its promises gives up is not deleted, and is asked about as if it had been
// reported so.
TEST_F(UnknownBlocksTest, DisownedBlocksArePutAsideOrHeldIfTheyAreTooMany) {
  std::vector<Block> held;
  for (BlockId id = 1; id <= 30; ++id) {
    held.push_back({id, kLength});
    id <= 20 ? blocks_.Want(held.back(), 1) : blocks_.Expect(id);
  }
  Up(0_n, held);
  for (const BlockId id : {1, 2, 30}) blocks_.Disown(id);
  EXPECT_EQ(blocks_.UnknownOn(0_n).count, 3u);
  EXPECT_FALSE(blocks_.UnknownOn(0_n).held) << "a tenth";
  const BlockWork work = Work();
  EXPECT_THAT(work.remove, IsEmpty());
  ASSERT_THAT(work.aside, SizeIs(1));
  EXPECT_THAT(work.aside[0].blocks, ElementsAre(1, 2, 30));
  blocks_.Disown(3);
  EXPECT_TRUE(blocks_.UnknownOn(0_n).held);
  ExpectIdle();
  EXPECT_FALSE(blocks_.Find(3));
}

TEST_F(UnknownBlocksTest, DisowningTakesARemovalBackEvenIfTheNodeComesOnlyThen) {
  blocks_.Want({1, kLength}, 1);
  for (BlockId id = 101; id <= 120; ++id) blocks_.Want({id, kLength}, 1);
  blocks_.Unwant(1);
  blocks_.Disown(1);
  std::vector<Block> held = {{1, kLength}};
  for (BlockId id = 101; id <= 120; ++id) held.push_back({id, kLength});
  Up(0_n, held);
  const BlockWork work = Work();
  EXPECT_THAT(work.remove, IsEmpty());
  EXPECT_THAT(work.aside, SizeIs(1));
}

// The hint of an order that was waiting for a good copy is left behind.
TEST_F(UnknownBlocksTest, ABadReplicaOfADisownedBlockIsNotDeletedEither) {
  blocks_.Want({1, kLength}, 1);
  for (BlockId id = 101; id <= 120; ++id) blocks_.Want({id, kLength}, 1);
  std::vector<Block> held = {{1, kLength}};
  for (BlockId id = 101; id <= 120; ++id) held.push_back({id, kLength});
  Up(0_n, held);
  blocks_.Corrupt(0_n, 1);
  blocks_.Disown(1);
  const BlockWork work = Work();
  EXPECT_THAT(work.remove, IsEmpty());
  ASSERT_THAT(work.aside, SizeIs(1));
  EXPECT_THAT(work.aside[0].blocks, ElementsAre(1));
}

// They are no unknown ones: all may go at once, since the writer is gone as far as anybody knows.
TEST_F(UnknownBlocksTest, BlocksThatAreGivenUpArePutAsideHoweverManyWhereverTheyTurnUp) {
  blocks_.Want({1, kLength}, 2);
  for (const BlockId id : {2, 3, 4}) blocks_.Expect(id);
  Up(0_n, {{1, kLength}, {2, kLength}, {3, kLength}});
  for (const BlockId id : {2, 3, 4}) blocks_.GiveUp(id);
  BlockWork work = Work();
  EXPECT_THAT(work.remove, IsEmpty());
  ASSERT_THAT(work.aside, SizeIs(1));
  EXPECT_THAT(work.aside[0].blocks, ElementsAre(2, 3));
  Up(1_n, {{1, kLength}, {2, kLength}, {4, kLength}});
  EXPECT_FALSE(blocks_.UnknownOn(1_n).held);
  work = Work();
  EXPECT_THAT(work.remove, IsEmpty());
  ASSERT_THAT(work.aside, SizeIs(1));
  EXPECT_EQ(work.aside[0].node, 1_n);
  EXPECT_THAT(work.aside[0].blocks, ElementsAre(2, 4));
}

TEST_F(UnknownBlocksTest, ABlockThatIsGivenUpAndThenDisownedIsUnknown) {
  blocks_.Expect(2);
  blocks_.GiveUp(2);
  blocks_.Disown(2);
  Up(0_n, {{2, kLength}});
  EXPECT_EQ(blocks_.UnknownOn(0_n).count, 1u);
  EXPECT_TRUE(blocks_.UnknownOn(0_n).held);
  ExpectIdle();
}

// Surplus replicas, which includes the sources of moves, and those of another length may be wanted by what was
// promised.
TEST_F(UnknownBlocksTest, InDoubtSurplusAndStaleReplicasArePutAsideAndBadBytesDeleted) {
  for (const BlockId id : {1, 2, 3}) blocks_.Want({id, kLength}, 1);
  Up(0_n, {{1, kLength}, {2, kLength}, {3, kLength}});
  blocks_.SetDoubt(true);
  Up(1_n, {{1, kLength}, {2, kLength - 1}, {3, kLength}});
  blocks_.Corrupt(1_n, 3);
  const BlockWork work = Work();
  std::size_t aside = 0;
  for (const DeleteWork& of_node : work.aside) aside += of_node.blocks.size();
  EXPECT_EQ(aside, 2u);
  ASSERT_THAT(work.remove, SizeIs(1));
  EXPECT_EQ(work.remove[0].node, 1_n);
  EXPECT_THAT(work.remove[0].blocks, ElementsAre(3));
}

// The order may be carried out late: until then the node tells of the replica as before.
TEST_F(UnknownBlocksTest, InDoubtAReplicaThatWasOrderedAsideDoesNotLetTheLastOneGo) {
  blocks_.SetDoubt(true);
  blocks_.Want({1, kLength}, 1);
  UpAll({{1}, {1}});
  const BlockWork work = Work();
  ASSERT_THAT(work.aside, SizeIs(1));
  const NodeId away = work.aside[0].node;
  const NodeId keeps = away == 0_n ? 1_n : 0_n;
  blocks_.NodeSpace(away, 1'000'000'000);  // the surplus goes where there is less room
  blocks_.Received(away, {1, kLength});
  ExpectIdle();
  EXPECT_THAT(blocks_.Replicas(1), ElementsAre(keeps));
  blocks_.Received(away, {1, kLength});
  blocks_.Corrupt(keeps, 1);
  ExpectIdle();
  blocks_.Deleted(away, 1);
  ExpectIdle();
}

TEST_F(UnknownBlocksTest, WhatANodeIsHeldForIsJudgedAnewByEachReport) {
  UpWithUnknown(9, 24);
  EXPECT_TRUE(blocks_.UnknownOn(0_n).held);
  blocks_.NodeDown(0_n);
  EXPECT_EQ(blocks_.UnknownOn(0_n).count, 0u);
  EXPECT_EQ(blocks_.Health().nodes_held, 0u);
  std::vector<Block> held = {{1001, kLength}};
  for (BlockId id = 1; id <= 9; ++id) held.push_back({id, kLength});
  Up(0_n, held);
  EXPECT_FALSE(blocks_.UnknownOn(0_n).held);
  EXPECT_EQ(PutAside(), 1u);
}

TEST_F(UnknownBlocksTest, ManyThatWereRemovedOnPurposeAreDeletedThoughTheirNodeWasAway) {
  std::vector<Block> held;
  for (BlockId id = 1; id <= 24; ++id) held.push_back({id, kLength});
  for (const Block& block : held) blocks_.Want(block, 1);
  Up(0_n, held);
  blocks_.NodeDown(0_n);
  for (const Block& block : held) blocks_.Unwant(block.id);
  Up(0_n, held);
  EXPECT_EQ(Deletions()[0_n].size(), 24u);
  EXPECT_EQ(blocks_.UnknownOn(0_n).count, 0u);
}

TEST_F(UnknownBlocksTest, ABlockOfAFileIsWantedBackFromTheTrash) {
  blocks_.Want({1, kLength}, 1);
  blocks_.Want({2, kLength}, 1);
  Up(0_n, {{2, kLength}});
  EXPECT_TRUE(blocks_.Recall(0_n, {1, kLength}));
  EXPECT_FALSE(blocks_.Recall(0_n, {1, kLength - 1})) << "of another length";
  EXPECT_FALSE(blocks_.Recall(0_n, {2, kLength})) << "the node has it";
  EXPECT_FALSE(blocks_.Recall(0_n, {3, kLength})) << "no file has it";
  EXPECT_FALSE(blocks_.Recall(7_n, {1, kLength})) << "no such node";
}

}  // namespace
}  // namespace millrace::dfs
