// SPDX-License-Identifier: Apache-2.0
// Tests what becomes of blocks while nodes are in maintenance.
#include "tests/dfs/name/block_manager_fixture.h"

namespace millrace::dfs {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class MaintenanceTest : public BlockManagerTest {
 protected:
  // Orders the copies of one round, and carries them out.
  std::size_t Copy() {
    const BlockWork work = Work();
    for (const ReplicateWork& copy : work.replicate) {
      for (const NodeId to : copy.to) blocks_.Received(to, copy.block);
    }
    return work.replicate.size();
  }
};

TEST_F(MaintenanceTest, NothingIsCopiedWhileItIsAwayAndEverythingAfterwards) {
  blocks_.Want({1, kLength}, 3);
  UpAll({{1}, {1}, {1}, {}});
  blocks_.SetMaintenance(NodeId{2}, true);
  ExpectIdle();
  blocks_.NodeDown(NodeId{2});
  ExpectIdle();
  EXPECT_EQ(blocks_.Health().under_replicated, 0U);
  EXPECT_EQ(blocks_.LiveReplicas(1), 2U) << "what is away does not justify a deletion";
  blocks_.SetMaintenance(NodeId{2}, false);
  EXPECT_EQ(blocks_.Health().under_replicated, 1U);
  const BlockWork work = Work();
  ASSERT_THAT(work.replicate, SizeIs(1));
  EXPECT_THAT(work.replicate[0].to, ElementsAre(NodeId{3}));
}

TEST_F(MaintenanceTest, NothingIsCopiedWhileItComesBack) {
  blocks_.Want({1, kLength}, 2);
  UpAll({{1}, {1}, {}});
  blocks_.SetMaintenance(NodeId{1}, true);
  blocks_.NodeDown(NodeId{1});
  blocks_.NodeUp(NodeId{1}, {"r", "d"});
  ExpectIdle();
  Report(NodeId{1}, {{1, kLength}});
  ExpectIdle();
  blocks_.SetMaintenance(NodeId{1}, false);
  ExpectIdle();
  EXPECT_EQ(blocks_.LiveReplicas(1), 2U);
}

TEST_F(MaintenanceTest, WhatItDoesNotBringBackIsCopied) {
  blocks_.Want({1, kLength}, 2);
  UpAll({{1}, {1}, {}});
  blocks_.SetMaintenance(NodeId{1}, true);
  blocks_.NodeDown(NodeId{1});
  blocks_.NodeUp(NodeId{1}, {"r", "d"});
  Report(NodeId{1}, {});
  EXPECT_EQ(Copy(), 1U);
  EXPECT_EQ(blocks_.LiveReplicas(1), 2U);
}

TEST_F(MaintenanceTest, ItGetsNoBlocksAndIsReadLast) {
  blocks_.Want({1, kLength}, 2);
  UpAll({{1}, {1}, {}});
  blocks_.SetMaintenance(NodeId{0}, true);
  EXPECT_THAT(blocks_.ChooseTargets({.replicas = 3, .block_size = 10, .writer = NodeId{0}}), Not(Contains(NodeId{0})));
  EXPECT_THAT(blocks_.Replicas(1), ElementsAre(NodeId{1}, NodeId{0}));
}

TEST_F(MaintenanceTest, WhatOnlyItHasIsCopiedFromThere) {
  blocks_.Want({1, kLength}, 1);
  UpAll({{1}, {}});
  EXPECT_EQ(blocks_.LackingWithout({NodeId{0}}), 1U);
  blocks_.SetMaintenance(NodeId{0}, true);
  EXPECT_EQ(blocks_.Health().only_in_maintenance, 1U);
  const BlockWork work = Work();
  ASSERT_THAT(work.replicate, SizeIs(1));
  EXPECT_EQ(work.replicate[0].from, NodeId{0});
  blocks_.Received(NodeId{1}, {1, kLength});
  EXPECT_EQ(blocks_.Health().only_in_maintenance, 0U);
  ExpectIdle();
  blocks_.SetMaintenance(NodeId{0}, false);
  EXPECT_THAT(Deletions(), SizeIs(1)) << "there is one replica too many now";
}

TEST_F(MaintenanceTest, AnotherNodeThatDiesIsCopiedAsUsual) {
  blocks_.Want({1, kLength}, 3);
  UpAll({{1}, {1}, {1}, {}, {}});
  blocks_.SetMaintenance(NodeId{0}, true);
  blocks_.NodeDown(NodeId{0});
  blocks_.NodeDown(NodeId{1});
  EXPECT_EQ(Copy(), 1U);
  EXPECT_EQ(blocks_.LiveReplicas(1), 2U) << "a third is away";
  ExpectIdle();
}

TEST_F(MaintenanceTest, WhatIsOnlyAwayIsToldAndMissing) {
  blocks_.Want({1, kLength}, 2);
  UpAll({{1}, {1}, {}});
  blocks_.SetMaintenance(NodeId{0}, true);
  blocks_.NodeDown(NodeId{0});
  EXPECT_EQ(blocks_.Health().only_in_maintenance, 0U);
  blocks_.NodeDown(NodeId{1});
  EXPECT_EQ(blocks_.Health().only_in_maintenance, 1U);
  EXPECT_EQ(blocks_.Health().missing, 1U);
  ExpectIdle();
  Up(NodeId{0}, {{1, kLength}});
  EXPECT_EQ(blocks_.Health().missing, 0U);
  EXPECT_EQ(Copy(), 1U) << "to have it on a node that stays";
  EXPECT_EQ(blocks_.Health().only_in_maintenance, 0U);
}

TEST_F(MaintenanceTest, ItsReplicaIsNoReasonToDeleteAnother) {
  blocks_.Want({1, kLength}, 2);
  UpAll({{1}, {1}, {}});
  blocks_.SetMaintenance(NodeId{0}, true);
  Up(NodeId{2}, {{1, kLength}});
  ExpectIdle();
  EXPECT_EQ(blocks_.Health().over_replicated, 0U);
  blocks_.SetMaintenance(NodeId{0}, false);
  EXPECT_THAT(Deletions(), SizeIs(1));
}

TEST_F(MaintenanceTest, MoreReplicasMayHaveToStay) {
  blocks_.SetLeastStaying(2);
  blocks_.Want({1, kLength}, 3);
  blocks_.Want({2, kLength}, 1);
  UpAll({{1, 2}, {1}, {1}, {}, {}});
  EXPECT_EQ(blocks_.LackingWithout({NodeId{1}}), 0U);
  EXPECT_EQ(blocks_.LackingWithout({NodeId{1}, NodeId{2}}), 1U);
  EXPECT_EQ(blocks_.LackingWithout({NodeId{0}}), 1U) << "block 2, which wants no more than one";
  blocks_.SetMaintenance(NodeId{1}, true);
  blocks_.SetMaintenance(NodeId{2}, true);
  EXPECT_EQ(Copy(), 1U);
  EXPECT_EQ(blocks_.LiveReplicas(1), 2U);
  ExpectIdle();
}

TEST_F(MaintenanceTest, WhatIsBeingWrittenThereAloneIsLackingWithoutIt) {
  UpAll({{}, {}});
  blocks_.Expect(1, {NodeId{0}});
  blocks_.Received(NodeId{0}, {1, kLength});
  blocks_.Expect(2, {NodeId{0}, NodeId{1}});
  for (const std::uint32_t node : {0, 1}) blocks_.Received(NodeId{node}, {2, kLength});
  EXPECT_EQ(blocks_.LackingWithout({NodeId{0}}), 1U);
}

TEST_F(MaintenanceTest, NothingIsKnownOfANodeThatHasNotListedItsBlocks) {
  UpAll({{}});
  blocks_.NodeUp(NodeId{1}, {"r", "d"});
  blocks_.ReportBegin(NodeId{1});
  EXPECT_EQ(blocks_.LackingWithout({NodeId{1}}), std::nullopt);
  EXPECT_EQ(blocks_.LackingWithout({NodeId{7}}), std::nullopt);
}

// A master that has started while the node was away does not know what it has.
TEST_F(MaintenanceTest, OneWithUnknownBlocksMayHaveEachOfThem) {
  blocks_.NodeExists(NodeId{9});
  blocks_.SetMaintenance(NodeId{9}, true);
  blocks_.Want({1, kLength}, 3);
  blocks_.Want({2, kLength}, 3);
  blocks_.Want({3, kLength}, 1);
  UpAll({{1, 2}, {1}, {}, {}});
  EXPECT_EQ(blocks_.Health().missing, 1U);
  EXPECT_EQ(blocks_.Health().only_in_maintenance, 1U);
  EXPECT_EQ(Copy(), 1U) << "block 2 lacks two replicas, and block 1 only one";
  EXPECT_EQ(blocks_.LiveReplicas(2), 2U);
  ExpectIdle();
  Up(NodeId{9}, {{1, kLength}, {3, kLength}});
  EXPECT_EQ(Copy(), 2U) << "block 2 is not there, and block 3 is there alone";
  ExpectIdle();
  blocks_.SetMaintenance(NodeId{9}, false);
  EXPECT_EQ(blocks_.Health().under_replicated, 0U);
}

TEST_F(MaintenanceTest, AnUnknownOneThatDoesNotComeBackIsLostInTheEnd) {
  blocks_.NodeExists(NodeId{9});
  blocks_.SetMaintenance(NodeId{9}, true);
  blocks_.Want({1, kLength}, 2);
  UpAll({{1}, {}});
  ExpectIdle();
  blocks_.SetMaintenance(NodeId{9}, false);
  EXPECT_EQ(Copy(), 1U);
  EXPECT_EQ(blocks_.LiveReplicas(1), 2U);
}

// What a decommissioned node has must be elsewhere even if the node in maintenance never comes back.
TEST_F(MaintenanceTest, ADrainingNodeIsEmptiedAsIfTheOtherWereLost) {
  blocks_.Want({1, kLength}, 2);
  UpAll({{1}, {1}, {}, {}});
  blocks_.SetMaintenance(NodeId{0}, true);
  blocks_.NodeDown(NodeId{0});
  blocks_.SetDraining(NodeId{1}, true);
  EXPECT_EQ(blocks_.LeftToDrain(NodeId{1}), 1U);
  while (Copy() > 0) {
  }
  EXPECT_EQ(blocks_.LeftToDrain(NodeId{1}), 0U);
  EXPECT_EQ(blocks_.LiveReplicas(1), 2U);
}

TEST_F(MaintenanceTest, ForgettingItEndsIt) {
  blocks_.Want({1, kLength}, 2);
  UpAll({{1}, {1}, {}});
  blocks_.SetMaintenance(NodeId{0}, true);
  blocks_.NodeDown(NodeId{0});
  blocks_.ForgetNode(NodeId{0});
  EXPECT_EQ(Copy(), 1U);
}

TEST_F(MaintenanceTest, ItIsNotBalanced) {
  for (BlockId id = 1; id <= 20; ++id) blocks_.Want({id, kLength}, 1);
  std::vector<BlockId> all;
  for (BlockId id = 1; id <= 20; ++id) all.push_back(id);
  UpAll({all, {}, {}});
  for (const std::uint32_t node : {0, 1, 2}) blocks_.NodeSpace(NodeId{node}, 1'000'000, 10'000);
  blocks_.SetMaintenance(NodeId{2}, true);
  blocks_.StartBalance(0.01);
  const BlockWork work = Work();
  EXPECT_THAT(work.replicate, Not(IsEmpty()));
  for (const ReplicateWork& copy : work.replicate) EXPECT_THAT(copy.to, ElementsAre(NodeId{1}));
}

}  // namespace
}  // namespace millrace::dfs
