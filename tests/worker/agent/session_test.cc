// Registration, heartbeats, reports and their repetition.
#include <gmock/gmock.h>

#include "tests/worker/agent/agent_fixture.h"
#include "worker/registration/settlement.h"

namespace millrace::worker {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

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
  log_ = MakeLog("worker", "warn", directory_.path() + "/log");
  StartAgent();
  Advance(3 * kj::MINUTES + 30 * kj::SECONDS);
  log_->flush();
  const std::string said = *ReadWholeFile(directory_.path() + "/log");
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 4);
  EXPECT_THAT(said, testing::HasSubstr(MasterRecord::kCluster));
  EXPECT_THAT(said, testing::HasSubstr(record_.cluster));
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
  Settle();
  EXPECT_THAT(record_.log, ElementsAre("received 1 2 3", "corrupt 9"));
}

TEST_F(SessionTest, EachReportNamesTheBlocksThatWereFoundCorrupt) {
  for (std::uint64_t id = 1; id <= 4; ++id) AddBlock(id);
  StartAgent();
  const auto reconnect = [this] {
    network_.Cut("master:1");
    Settle();
    network_.Mend("master:1");
    Advance(5 * kj::SECONDS);
  };
  EXPECT_THAT(record_.parts.back().damaged, IsEmpty());
  record_.answer_corrupt = false;  // the call is under way when the session breaks
  plane_.events().corrupt(2);
  plane_.events().corrupt(3);
  plane_.events().corrupt(4);
  Settle();
  record_.answer_corrupt = true;
  for (int life = 0; life < 2; ++life) {
    reconnect();
    ASSERT_EQ(record_.registrations.size(), static_cast<std::size_t>(life) + 2);
    EXPECT_THAT(record_.parts.back().damaged, ElementsAre(2, 3, 4));
  }
  plane_.events().received({3, 10});  // written anew
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
  Settle();
  EXPECT_EQ(record_.Count("received 7"), 1);
  auto first = agent_->VerifyBlock(7), joined = agent_->VerifyBlock(7);
  EXPECT_EQ(first.wait(scope_), dfs::wire::ReplicaState::SOUND);
  EXPECT_EQ(joined.wait(scope_), dfs::wire::ReplicaState::SOUND);
  Settle();
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

TEST_F(SessionTest, RegistersAgainWithWhatStillRunsWhenTheConnectionBroke) {
  StartAgent();
  SetUpJob();
  const AttemptId held = LaunchMap(0);
  runner_.Finish(held);
  Settle();
  const AttemptId running = LaunchMap(1);
  network_.Cut("master:1");
  Advance(20 * kj::SECONDS);
  EXPECT_EQ(record_.registrations.size(), 1U);
  network_.Mend("master:1");
  Advance(3 * kj::SECONDS);
  ASSERT_EQ(record_.registrations.size(), 2U);
  EXPECT_EQ(record_.registrations[0].incarnation, record_.registrations[1].incarnation);
  EXPECT_THAT(record_.registrations[1].running, ElementsAre(running));
  EXPECT_THAT(record_.registrations[1].map_outputs, ElementsAre(held));
  EXPECT_EQ(record_.Count("end of report"), 2);
  EXPECT_THAT(runner_.killed, IsEmpty());
}

TEST_F(SessionTest, AnUnansweredReportIsRepeatedOnTheNextConnectionAndItsAttemptIsToldApart) {
  StartAgent();
  SetUpJob();
  record_.answer_done = false;
  const AttemptId map = LaunchMap(0);
  runner_.Finish(map);
  Settle();
  EXPECT_EQ(record_.Count("done m-00000.0 read 1234 shuffled 0"), 1);
  network_.Cut("master:1");
  Settle();
  record_.answer_done = true;
  network_.Mend("master:1");
  Advance(3 * kj::SECONDS);
  ASSERT_EQ(record_.registrations.size(), 2U);
  EXPECT_THAT(record_.registrations[1].done, ElementsAre(map));
  EXPECT_THAT(record_.registrations[1].running, IsEmpty());
  EXPECT_THAT(record_.registrations[1].map_outputs, IsEmpty());
  EXPECT_EQ(record_.Count("done m-00000.0 read 1234 shuffled 0"), 2);
  network_.Cut("master:1");
  Settle();
  network_.Mend("master:1");
  Advance(3 * kj::SECONDS);
  ASSERT_EQ(record_.registrations.size(), 3U);
  EXPECT_THAT(record_.registrations[2].done, IsEmpty());
  EXPECT_THAT(record_.registrations[2].map_outputs, ElementsAre(map));
  EXPECT_EQ(record_.Count("done m-00000.0 read 1234 shuffled 0"), 2);
}

// Every state of a map attempt against everything that the master may want done with it.
class SettlementTest : public AgentTest, public testing::WithParamInterface<std::tuple<Claim, WorkerDoes>> {
 protected:
  AttemptId Bring(Claim claim) {
    const AttemptId map = LaunchMap(0);
    record_.answer_done = claim == Claim::kServed;
    record_.answer_failed = false;
    if (claim == Claim::kDone || claim == Claim::kServed) runner_.Finish(map);
    if (claim == Claim::kFailed) runner_.observer->TaskFailed(map, {"a test wants it", ""});
    Settle();
    return map;
  }
  std::ptrdiff_t Reports() const { return static_cast<std::ptrdiff_t>(record_.log.size()); }
  void RegisterAgain() {
    network_.Cut("master:1");
    Settle();
    record_.log.clear();
    network_.Mend("master:1");
    Advance(3 * kj::SECONDS);
    std::erase_if(record_.log, [](const std::string& line) { return line == "end of report"; });
  }
};

TEST_P(SettlementTest, TheWorkerDoesAsTheMasterAnswers) {
  const auto [claim, does] = GetParam();
  StartAgent();
  SetUpJob();
  const AttemptId map = Bring(claim);
  if (does == WorkerDoes::kSettle) record_.settled = {map};
  if (does == WorkerDoes::kDrop) record_.killed = {map};
  if (does == WorkerDoes::kForgetJob) record_.forgotten = {kJob};
  RegisterAgain();
  ASSERT_EQ(record_.registrations.size(), 2U);
  const auto& told = record_.registrations[1];
  EXPECT_EQ(told.running.size(), claim == Claim::kRunning ? 1U : 0U);
  EXPECT_EQ(told.done.size(), claim == Claim::kDone ? 1U : 0U);
  EXPECT_EQ(told.failed.size(), claim == Claim::kFailed ? 1U : 0U);
  EXPECT_EQ(told.map_outputs.size(), claim == Claim::kServed ? 1U : 0U);

  const bool goes_on = does == WorkerDoes::kNothing || does == WorkerDoes::kSettle;
  const bool tells = claim == Claim::kDone || claim == Claim::kFailed;
  EXPECT_EQ(Reports(), tells && does == WorkerDoes::kNothing ? 1 : 0) << "a settled report is not repeated";
  EXPECT_EQ(agent_->running(), claim == Claim::kRunning && goes_on ? 1U : 0U);
  const bool output = claim == Claim::kDone || claim == Claim::kServed;
  EXPECT_EQ(plane_.served().contains(map), output && goes_on);
  EXPECT_EQ(runner_.killed.size(), claim == Claim::kRunning && does == WorkerDoes::kDrop ? 1U : 0U);

  record_.settled.clear();
  RegisterAgain();
  ASSERT_EQ(record_.registrations.size(), 3U);
  const bool served = claim == Claim::kServed || (claim == Claim::kDone && does == WorkerDoes::kSettle);
  EXPECT_EQ(record_.registrations[2].map_outputs.size(), served && goes_on ? 1U : 0U)
      << "what was settled is served, and told as such";
}

INSTANTIATE_TEST_SUITE_P(All, SettlementTest,
                         testing::Combine(testing::Values(Claim::kRunning, Claim::kDone, Claim::kFailed,
                                                          Claim::kServed),
                                          testing::Values(WorkerDoes::kNothing, WorkerDoes::kSettle, WorkerDoes::kDrop,
                                                          WorkerDoes::kForgetJob)));

TEST_F(SessionTest, AReportMadeWhileThereIsNoConnectionComesLater) {
  StartAgent();
  SetUpJob();
  const AttemptId map = LaunchMap(0);
  network_.Cut("master:1");
  Settle();
  runner_.Finish(map);
  Settle();
  network_.Mend("master:1");
  Advance(3 * kj::SECONDS);
  EXPECT_EQ(record_.Count("done m-00000.0 read 1234 shuffled 0"), 1);
}

TEST_F(SessionTest, AReportThatTheMasterRefusesIsNotRepeated) {
  StartAgent();
  SetUpJob();
  record_.refuse_done = NotFound("no such job");
  const AttemptId map = LaunchMap(0);
  runner_.Finish(map);
  Advance(20 * kj::SECONDS);
  EXPECT_EQ(record_.Count("done m-00000.0 read 1234 shuffled 0"), 1);
  EXPECT_EQ(record_.registrations.size(), 1U);
}

TEST_F(SessionTest, AReportForWhichTheMasterIsTooBusyIsTriedAgain) {
  StartAgent();
  SetUpJob();
  record_.refuse_done = Busy("too many calls");
  const AttemptId map = LaunchMap(0);
  runner_.Finish(map);
  Settle();
  record_.refuse_done = Status::Ok();
  Advance(1 * kj::SECONDS);
  EXPECT_EQ(record_.Count("done m-00000.0 read 1234 shuffled 0"), 2);
  EXPECT_EQ(record_.registrations.size(), 1U);
}

TEST_F(SessionTest, AMasterThatAnswersNothingIsLeftAndCalledAgain) {
  StartAgent();
  record_.answer_heartbeats = false;
  Advance(15 * kj::SECONDS);
  EXPECT_GE(record_.registrations.size(), 2U);
}

TEST_F(SessionTest, WhatTheMasterDoesNotWantAnyMoreIsKilledAtRegistration) {
  StartAgent();
  SetUpJob();
  const AttemptId unwanted = LaunchMap(0);
  const AttemptId wanted = LaunchMap(1);
  record_.killed = {unwanted};
  network_.Cut("master:1");
  Settle();
  network_.Mend("master:1");
  Advance(3 * kj::SECONDS);
  EXPECT_THAT(runner_.killed, ElementsAre(unwanted));
  EXPECT_EQ(agent_->running(), 1U);
  runner_.Finish(wanted);
  Settle();
  EXPECT_EQ(record_.Count("done m-00001.0 read 1234 shuffled 0"), 1);
}

// A master died before its launch was on disk. The next one does not know the attempt, says so, and gives its number
// again; and the answer to the registration can come after that launch.
class LateAnswerTest : public AgentTest {
 protected:
  ~LateAnswerTest() noexcept override = default;
  // Of a map whose failure was told and not answered.
  AttemptId FailUnanswered() {
    StartAgent();
    SetUpJob();
    record_.answer_failed = false;
    const AttemptId map = LaunchMap(0);
    runner_.observer->TaskFailed(map, {"a test wants it", ""});
    Settle();
    return map;
  }
  void RegisterAgain() {
    auto pair = kj::newPromiseAndFulfiller<void>();
    record_.hold_registration = kj::mv(pair.promise);
    answer_ = kj::mv(pair.fulfiller);
    network_.Cut("master:1");
    Settle();
    network_.Mend("master:1");
    Advance(3 * kj::SECONDS);
    ASSERT_EQ(record_.registrations.size(), 2U);
  }
  void Answer() {
    answer_->fulfill();
    Settle();
  }
  kj::Own<kj::PromiseFulfiller<void>> answer_;
};

TEST_F(LateAnswerTest, DoesNotKillWhatWasLaunchedSinceUnderTheSameNumber) {
  const AttemptId old = FailUnanswered();
  record_.killed = {old};
  RegisterAgain();
  EXPECT_THAT(record_.registrations[1].failed, ElementsAre(old));
  LaunchMap(0);
  Answer();
  EXPECT_THAT(runner_.killed, IsEmpty());
  EXPECT_EQ(agent_->running(), 1U);
}

TEST_F(LateAnswerTest, DoesNotKillWhatStillRanWhenItWasLaunchedAgain) {
  StartAgent();
  SetUpJob();
  const AttemptId old = LaunchMap(0);
  record_.killed = {old};
  RegisterAgain();
  EXPECT_THAT(record_.registrations[1].running, ElementsAre(old));
  LaunchMap(0);
  Answer();
  EXPECT_THAT(runner_.killed, IsEmpty());
  runner_.Finish(old);
  Settle();
  EXPECT_EQ(record_.Count("done m-00000.0 read 1234 shuffled 0"), 1);
}

TEST_F(LateAnswerTest, DoesNotSettleTheReportOfWhatWasLaunchedSince) {
  const AttemptId old = FailUnanswered();
  record_.settled = {old};
  RegisterAgain();
  LaunchMap(0);
  runner_.Finish(old);
  Answer();
  EXPECT_EQ(record_.Count("done m-00000.0 read 1234 shuffled 0"), 1);
}

TEST_F(SessionTest, JobsThatTheMasterForgotAreForgottenAtRegistration) {
  StartAgent();
  SetUpJob();
  LaunchMap(0);
  record_.forgotten = {kJob};
  network_.Cut("master:1");
  Settle();
  network_.Mend("master:1");
  Advance(3 * kj::SECONDS);
  EXPECT_THAT(runner_.forgotten, ElementsAre(kJob));
  EXPECT_EQ(agent_->running(), 0U);
}

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
    Settle();
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
