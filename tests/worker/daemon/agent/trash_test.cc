// SPDX-License-Identifier: Apache-2.0
// Tests the trash of a worker, for blocks that no file has.
#include <gmock/gmock.h>

#include "tests/worker/daemon/agent/agent_fixture.h"

namespace millrace::worker {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

class TrashTest : public AgentTest {
 protected:
  void Remove(std::vector<std::uint64_t> ids, bool unknown) {
    auto request = Control().deleteBlocksRequest();
    request.setUnknown(unknown);
    auto blocks = request.initBlocks(static_cast<unsigned>(ids.size()));
    for (unsigned i = 0; i < blocks.size(); ++i) blocks.set(i, ids[i]);
    Send(std::move(request));
  }
  void Reconnect() {
    record_.log.clear();
    network_.Cut("master:1");
    RunReady();
    network_.Mend("master:1");
    Advance(3 * kj::SECONDS);
  }
};

TEST_F(TrashTest, UnknownBlocksGoToTheTrashAndRemovedOnesDoNot) {
  for (std::uint64_t id = 1; id <= 3; ++id) AddBlock(id);
  StartAgent();
  Remove({1}, true);
  Remove({2}, false);
  EXPECT_THAT(blocks_->List(), ElementsAre(dfs::StoredBlock{3, 0}));
  EXPECT_THAT(blocks_->ListTrash(), ElementsAre(dfs::StoredBlock{1, 0}));
  EXPECT_EQ(record_.Count("deleted 1"), 1);
  EXPECT_EQ(record_.Count("deleted 2"), 1);
}

TEST_F(TrashTest, IsOfferedWhenASessionBeginsAndWhatIsWantedComesBackBeforeTheReportEnds) {
  for (std::uint64_t id = 1; id <= 3; ++id) AddBlock(id);
  StartAgent();
  EXPECT_THAT(record_.log, ElementsAre("end of report")) << "an empty trash is not offered";
  Remove({1, 2}, true);
  record_.wanted = {2};
  Reconnect();
  EXPECT_THAT(record_.log, ElementsAre("offered 1 2", "received 2", "end of report"));
  EXPECT_THAT(blocks_->List(), ElementsAre(dfs::StoredBlock{2, 0}, dfs::StoredBlock{3, 0}));
  EXPECT_THAT(blocks_->ListTrash(), ElementsAre(dfs::StoredBlock{1, 0}));
}

TEST_F(TrashTest, AWantedBlockThatCannotComeBackDoesNotEndTheReport) {
  AddBlock(1);
  StartAgent();
  Remove({1}, true);
  record_.wanted = {1, 7};
  Reconnect();
  EXPECT_THAT(record_.log, ElementsAre("offered 1", "received 1", "end of report"));
}

TEST_F(TrashTest, ABlockThatCameBackByAnotherWayIsNoTroubleWhenItIsWanted) {
  AddBlock(1);
  StartAgent();
  Remove({1}, true);
  AddBlock(1);  // copied here again
  record_.wanted = {1};
  Reconnect();
  EXPECT_THAT(record_.log, ElementsAre("offered 1", "received 1", "end of report"));
  Reconnect();
  EXPECT_THAT(record_.log, testing::Contains("end of report"));
  EXPECT_THAT(blocks_->List(), ElementsAre(dfs::StoredBlock{1, 0}));
}

TEST_F(TrashTest, IsNotSweptBeforeTheMasterWasAskedWhatItWants) {
  config_.trash_retention = 2 * 3600 * kSecond;
  AddBlock(1);
  ASSERT_TRUE(blocks_->Trash(1, clock_.Now()).ok());
  network_.Cut("master:1");
  StartAgent();
  Advance(5 * 60 * kj::MINUTES);
  EXPECT_THAT(blocks_->ListTrash(), testing::SizeIs(1));
  record_.wanted = {1};
  network_.Mend("master:1");
  Advance(1 * kj::MINUTES);
  EXPECT_THAT(blocks_->List(), ElementsAre(dfs::StoredBlock{1, 0}));
}

TEST_F(TrashTest, IsSweptAfterItsRetention) {
  config_.trash_retention = 2 * 3600 * kSecond;
  AddBlock(1);
  StartAgent();
  Remove({1}, true);
  Advance(119 * kj::MINUTES);
  EXPECT_THAT(blocks_->ListTrash(), testing::SizeIs(1));
  Advance(2 * kj::MINUTES);
  EXPECT_THAT(blocks_->ListTrash(), IsEmpty());
}

}  // namespace
}  // namespace millrace::worker
