// SPDX-License-Identifier: Apache-2.0
// Tests registration, heartbeats, reports and their repetition.
#include <gmock/gmock.h>

#include "tests/worker/daemon/agent/agent_fixture.h"

namespace millrace::worker {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using SessionTest = AgentTest;

TEST_F(SessionTest, RegistersWithWhatItIs) {
  StartAgent();
  ASSERT_EQ(record_.registrations.size(), 1U);
  const auto& registration = record_.registrations[0];
  EXPECT_EQ(registration.storage, "0b");
  EXPECT_EQ(registration.host, "worker-a");
  EXPECT_EQ(registration.map_slots, 2U);
  EXPECT_EQ(registration.reduce_slots, 1U);
  EXPECT_THAT(registration.running, IsEmpty());
}

TEST_F(SessionTest, AFreshWorkerBelongsToTheClusterThatTakesItInBeforeItRegisters) {
  cluster_.clear();
  StartAgent();
  EXPECT_THAT(joined_, ElementsAre(MasterRecord::kCluster));
  ASSERT_EQ(record_.registrations.size(), 1U);
  EXPECT_EQ(record_.registrations[0].cluster, MasterRecord::kCluster);
}

TEST_F(SessionTest, AFreshWorkerThatCannotStoreTheClusterDoesNotRegister) {
  cluster_.clear();
  join_failure_ = NoSpace("the disk is full");
  StartAgent();
  EXPECT_THAT(record_.registrations, IsEmpty());
  join_failure_ = Status::Ok();
  Advance(5 * kj::SECONDS);
  EXPECT_EQ(record_.registrations.size(), 1U);
}

TEST_F(SessionTest, TheMasterOfAnotherClusterIsHandedNothing) {
  record_.cluster = std::string(32, 'b');
  AddBlock(7);
  StartAgent();
  Advance(10 * kj::MINUTES);
  EXPECT_THAT(record_.registrations, IsEmpty());
  EXPECT_TRUE(record_.control == nullptr);
  EXPECT_THAT(joined_, IsEmpty());
  EXPECT_EQ(blocks_->List().size(), 1U);
}

TEST_F(SessionTest, AMasterThatDoesNotNameItsClusterIsHandedNothing) {
  record_.cluster.clear();
  StartAgent();
  Advance(1 * kj::MINUTES);
  EXPECT_THAT(record_.registrations, IsEmpty());
}

TEST_F(SessionTest, AMasterTwoProtocolLevelsAheadIsHandedNothingUntilItIsNearEnough) {
  record_.protocol = kProtocolLevel + 2;
  StartAgent();
  Advance(1 * kj::MINUTES);
  EXPECT_THAT(record_.registrations, IsEmpty());
  EXPECT_THAT(joined_, IsEmpty());
  record_.protocol = kProtocolLevel + 1;
  Advance(10 * kj::SECONDS);
  EXPECT_EQ(record_.registrations.size(), 1U);
}

TEST_F(SessionTest, AWorkerIsBackByItselfWhenItsOwnMasterIs) {
  record_.cluster = std::string(32, 'b');
  StartAgent();
  Advance(1 * kj::MINUTES);
  record_.cluster = MasterRecord::kCluster;
  Advance(10 * kj::SECONDS);
  EXPECT_EQ(record_.registrations.size(), 1U);
}

TEST_F(SessionTest, AMasterThatIsNotOursIsComplainedOfOnceAMinute) {
  record_.cluster = std::string(32, 'b');
  log_ = MakeLog("worker", "", {.level = "warn", .file = directory_.path() + "/log"});
  StartAgent();
  Advance(3 * kj::MINUTES + 30 * kj::SECONDS);
  log_->flush();
  const std::string said = *ReadWholeFile(directory_.path() + "/log");
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 4);
  EXPECT_THAT(said, testing::HasSubstr(MasterRecord::kCluster));
  EXPECT_THAT(said, testing::HasSubstr(record_.cluster));
}

TEST_F(SessionTest, TheMasterIsToldAtOnceThatTheMachineWillBeTakenAwayAndAgainByEachRegistration) {
  StartAgent();
  EXPECT_EQ(record_.registrations.back().leaving, "");
  agent_->Foretell(Departure{timer_.now() + 90 * kj::SECONDS, "spot notice"});
  RunReady();
  EXPECT_EQ(record_.Count("foretells: in 90000 ms: spot notice"), 1);
  Advance(30 * kj::SECONDS);
  EXPECT_EQ(record_.Count("foretells: in 90000 ms: spot notice"), 1) << "once";
  network_.Cut("master:1");
  Advance(1 * kj::SECONDS);
  network_.Mend("master:1");
  Advance(10 * kj::SECONDS);
  ASSERT_EQ(record_.registrations.size(), 2U);
  EXPECT_THAT(record_.registrations.back().leaving, testing::MatchesRegex("in [45][0-9]+ ms: spot notice"));
}

TEST_F(SessionTest, TheMasterIsToldThatTheMachineStaysAfterAll) {
  StartAgent();
  agent_->Foretell(Departure{timer_.now() + 90 * kj::SECONDS, "spot notice"});
  RunReady();
  agent_->Foretell(std::nullopt);
  RunReady();
  EXPECT_EQ(record_.Count("foretells: stays"), 1);
}

TEST_F(SessionTest, WhatBecomesKnownWhileTheWorkerRegistersIsToldAfterwards) {
  auto held = kj::newPromiseAndFulfiller<void>();
  record_.hold_registration = kj::mv(held.promise);
  StartAgent();
  ASSERT_EQ(record_.registrations.size(), 1U);
  agent_->Foretell(Departure{timer_.now() + 90 * kj::SECONDS, "spot notice"});
  RunReady();
  EXPECT_EQ(record_.Count("foretells: in 90000 ms: spot notice"), 0);
  held.fulfiller->fulfill();
  RunReady();
  EXPECT_EQ(record_.Count("foretells: in 90000 ms: spot notice"), 1);
}

TEST_F(SessionTest, HeartbeatsComeAtThePeriodThatTheMasterSet) {
  StartAgent();
  EXPECT_EQ(record_.heartbeats.size(), 1U);
  Advance(10 * kj::SECONDS);
  EXPECT_EQ(record_.heartbeats.size(), 11U);
}

TEST_F(SessionTest, AHeartbeatCarriesSpaceAndEachProgressOnce) {
  AddBlock(7);
  StartAgent();
  SetUpJob();
  const AttemptId map = LaunchMap(4);
  runner_.Progress(map, 0.25F);
  Advance(1 * kj::SECONDS);
  const auto& beat = record_.heartbeats.back();
  EXPECT_EQ(beat.capacity, std::uint64_t{1} << 30);
  EXPECT_EQ(beat.blocks, 1U);
  EXPECT_EQ(beat.python, "/usr/bin/python3.11");
  EXPECT_THAT(beat.progress, ElementsAre(testing::Pair(map, 0.25F)));
  Advance(1 * kj::SECONDS);
  EXPECT_THAT(record_.heartbeats.back().progress, IsEmpty());
}

TEST_F(SessionTest, AnOverlongStatusDoesNotBreakTheConnection) {
  StartAgent();
  SetUpJob();
  const AttemptId map = LaunchMap(0);
  runner_.Progress(map, 0.5F, std::string(3 << 20, 'x'));
  Advance(1 * kj::SECONDS);
  EXPECT_THAT(record_.heartbeats.back().progress, ElementsAre(testing::Pair(map, 0.5F)));
  EXPECT_EQ(record_.registrations.size(), 1U);
}

TEST_F(SessionTest, AllBlocksAreReportedInPartsOfBoundedSize) {
  for (std::uint64_t id = 1; id <= 45'000; ++id) AddBlock(id);
  StartAgent();
  ASSERT_EQ(record_.parts.size(), 3U);
  EXPECT_EQ(record_.parts[0].blocks, 20'000U);
  EXPECT_TRUE(record_.parts[0].first && !record_.parts[0].last);
  EXPECT_TRUE(!record_.parts[1].first && !record_.parts[1].last);
  EXPECT_EQ(record_.parts[2].blocks, 5'000U);
  EXPECT_TRUE(!record_.parts[2].first && record_.parts[2].last);
  EXPECT_THAT(record_.log, ElementsAre("end of report"));
}

TEST_F(SessionTest, AnEmptyStoreIsReportedAsSuch) {
  StartAgent();
  ASSERT_EQ(record_.parts.size(), 1U);
  EXPECT_TRUE(record_.parts[0].first && record_.parts[0].last);
  EXPECT_EQ(record_.parts[0].blocks, 0U);
}

TEST_F(SessionTest, BlocksOfOneTurnAreOneCall) {
  StartAgent();
  record_.log.clear();
  plane_.events().received({1, 10});
  plane_.events().received({2, 20});
  plane_.events().received({3, 30});
  plane_.events().corrupt(9);
  RunReady();
  EXPECT_THAT(record_.log, ElementsAre("received 1 2 3", "corrupt 9"));
}

TEST_F(SessionTest, EachReportNamesTheBlocksThatWereFoundCorrupt) {
  for (std::uint64_t id = 1; id <= 4; ++id) AddBlock(id);
  StartAgent();
  const auto reconnect = [this] {
    network_.Cut("master:1");
    RunReady();
    network_.Mend("master:1");
    Advance(5 * kj::SECONDS);
  };
  EXPECT_THAT(record_.parts.back().damaged, IsEmpty());
  record_.answer_corrupt = false;  // the call is under way when the session breaks
  plane_.events().corrupt(2);
  plane_.events().corrupt(3);
  plane_.events().corrupt(4);
  RunReady();
  record_.answer_corrupt = true;
  for (int life = 0; life < 2; ++life) {
    reconnect();
    ASSERT_EQ(record_.registrations.size(), static_cast<std::size_t>(life) + 2);
    EXPECT_THAT(record_.parts.back().damaged, ElementsAre(2, 3, 4));
  }
  plane_.events().received({3, 10});  // written again
  auto request = Control().deleteBlocksRequest();
  request.initBlocks(1).set(0, 4);
  Send(std::move(request));
  reconnect();
  EXPECT_THAT(record_.parts.back().damaged, ElementsAre(2));
}

TEST_F(SessionTest, BlocksThatComeDuringTheReportAreToldAfterIt) {
  for (std::uint64_t id = 1; id <= 45'000; ++id) AddBlock(id);
  record_.on_part = [this] {
    if (record_.parts.size() == 2) plane_.events().received({50'000, 1});
  };
  StartAgent();
  EXPECT_THAT(record_.log, ElementsAre("end of report", "received 50000"));
}

TEST_F(SessionTest, DeletedBlocksAreGoneAndTold) {
  AddBlock(7);
  StartAgent();
  auto request = Control().deleteBlocksRequest();
  auto ids = request.initBlocks(2);
  ids.set(0, 7);
  ids.set(1, 8);
  Send(std::move(request));
  EXPECT_THAT(blocks_->List(), IsEmpty());
  EXPECT_THAT(record_.log, Contains("deleted 7 8"));
}

// Otherwise a master takes a block for one that stays, and has another replica deleted for it.
TEST_F(SessionTest, BlocksAreListedAfterWhatEarlierSessionsOrderedAwayIsGone) {
  for (std::uint64_t id = 1; id <= 3; ++id) AddBlock(id);
  StartAgent();
  background_.Hold();
  for (const bool unknown : {false, true}) {
    auto request = Control().deleteBlocksRequest();
    request.initBlocks(1).set(0, unknown ? 2 : 1);
    request.setUnknown(unknown);
    Send(std::move(request));
  }
  for (int life = 2; life <= 3; ++life) {
    network_.Cut("master:1");
    RunReady();
    network_.Mend("master:1");
    Advance(5 * kj::SECONDS);
    ASSERT_EQ(record_.registrations.size(), static_cast<std::size_t>(life));
    EXPECT_THAT(record_.parts, SizeIs(1)) << "the removals have not been made";
    EXPECT_THAT(record_.heartbeats, testing::Not(IsEmpty())) << "which keeps no session from standing";
    record_.heartbeats.clear();
  }
  background_.Release();
  RunReady();
  ASSERT_THAT(record_.parts, SizeIs(2)) << "one list, for the session that stands";
  EXPECT_EQ(record_.parts.back().blocks, 1u);
}

TEST_F(SessionTest, ABlockThatAReaderDoubtsIsReadAgain) {
  AddBlock(7);
  StartAgent();
  for (const std::uint64_t id : {7, 8}) {
    auto request = Control().verifyBlockRequest();
    request.setBlock(id);
    Send(std::move(request));
  }
  EXPECT_THAT(record_.log, Contains("deleted 8")) << "the master must not go on believing in it";
  EXPECT_THAT(record_.log, ::testing::Not(Contains("deleted 7")));
  EXPECT_THAT(record_.log, Contains("received 7")) << "it may have been found bad, and have been mended";
}

TEST_F(SessionTest, TheAnswerToAVerificationIsWhatWasFound) {
  AddBlock(7);
  StartAgent();
  for (const std::uint64_t id : {7, 8}) {
    auto request = Control().verifyBlockRequest();
    request.setBlock(id);
    const auto state = request.send().wait(scope_).getState();
    EXPECT_EQ(state, id == 7 ? dfs::wire::ReplicaState::SOUND : dfs::wire::ReplicaState::ABSENT);
  }
  RunReady();
  EXPECT_EQ(record_.Count("received 7"), 1);
  auto first = agent_->VerifyBlock(7), joined = agent_->VerifyBlock(7);
  EXPECT_EQ(first.wait(scope_), dfs::wire::ReplicaState::SOUND);
  EXPECT_EQ(joined.wait(scope_), dfs::wire::ReplicaState::SOUND);
  RunReady();
  EXPECT_EQ(record_.Count("received 7"), 2) << "it was read once for both";
}

TEST_F(SessionTest, AWorkerThatLeavesSaysWhyAndIsNotHeardAgain) {
  StartAgent();
  agent_->Leave("the disk is gone").wait(scope_);
  EXPECT_THAT(record_.log, Contains("leaves: the disk is gone"));
  const std::size_t beats = record_.heartbeats.size();
  Advance(30 * kj::SECONDS);
  EXPECT_EQ(record_.heartbeats.size(), beats);
  EXPECT_EQ(record_.registrations.size(), 1U);
}

TEST_F(SessionTest, AWorkerCanLeaveWithoutAMaster) {
  network_.Cut("master:1");
  StartAgent();
  agent_->Leave("the disk is gone").wait(scope_);
  EXPECT_THAT(record_.log, IsEmpty());
}

TEST_F(SessionTest, AnUnfinishedBlockThatNobodyContinuesIsDiscardedInTime) {
  config_.unfinished_retention = 3600 * kSecond;
  StartAgent();
  Advance(10 * kj::MINUTES);
  ASSERT_TRUE(blocks_->Create(5).ok());  // and its writer is gone again
  Advance(59 * kj::MINUTES);
  EXPECT_EQ(blocks_->Create(5).status().code(), StatusCode::kExists);
  Advance(3 * kj::MINUTES);
  EXPECT_TRUE(blocks_->Create(5).ok());
}

TEST_F(SessionTest, AWorkerThatIsStoppedSaysSo) {
  StartAgent();
  agent_->Leave().wait(scope_);
  EXPECT_EQ(record_.Count("leaves: it was stopped"), 1);
}

TEST_F(SessionTest, TheControlCapabilityOutlivesTheAgentHarmlessly) {
  StartAgent();
  auto control = Control();
  agent_ = nullptr;
  EXPECT_ANY_THROW(control.forgetJobRequest().send().ignoreResult().wait(scope_));
}

}  // namespace
}  // namespace millrace::worker
