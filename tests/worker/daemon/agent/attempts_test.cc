// SPDX-License-Identifier: Apache-2.0
// Tests the way of map and reduce attempts through the agent.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <array>
#include <fstream>
#include <set>
#include <utility>

#include "tests/worker/daemon/agent/agent_fixture.h"

namespace millrace::worker {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

using AttemptsTest = AgentTest;

bool Exists(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0;
}

void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

TEST_F(AttemptsTest, TheJobIsSetUpBeforeItsFirstAttemptRuns) {
  StartAgent();
  SetUpJob();
  const AttemptId map = LaunchMap(0);
  EXPECT_THAT(runner_.set_ups, ElementsAre("job3 /system/wordcount node 5"));
  EXPECT_THAT(runner_.running, ElementsAre(map));
}

TEST_F(AttemptsTest, AMapThatIsDoneIsServedAndReported) {
  StartAgent();
  SetUpJob();
  const AttemptId map = LaunchMap(0);
  EXPECT_EQ(runner_.run_files.at(0), directory_.path() + "/jobs/3/map/job3.m.0.0.run");
  EXPECT_TRUE(Exists(files_->Paths(map).scratch));
  runner_.Finish(map);
  RunReady();
  EXPECT_THAT(plane_.served(), ElementsAre(map));
  EXPECT_THAT(record_.log, Contains("done job3.m.0.0 read 1234 shuffled 0"));
  EXPECT_FALSE(Exists(files_->Paths(map).scratch));
  EXPECT_EQ(agent_->running(), 0U);
}

TEST_F(AttemptsTest, AMapOfAJobWithoutReducesLeavesNothing) {
  StartAgent();
  SetUpJob(0);
  const AttemptId map = LaunchMap(0);
  EXPECT_EQ(runner_.run_files.at(0), "");
  runner_.Finish(map);
  RunReady();
  EXPECT_THAT(plane_.served(), IsEmpty());
  EXPECT_THAT(record_.log, Contains("done job3.m.0.0 read 1234 shuffled 0"));
}

TEST_F(AttemptsTest, AMapIsToldWhatMovingItsOutputCosts) {
  StartAgent();
  SetUpJob();
  plane_.SetFetchFigures({50e6, 0.25, 2});
  LaunchMap(0);
  LaunchMap(1, 0.5);
  plane_.SetFetchFigures({40e6, 0.75, 2});
  LaunchMap(2, 0.75);
  ASSERT_EQ(runner_.links.size(), 3U);
  EXPECT_EQ(runner_.links[0].bytes_per_second, 0) << "nothing crosses";
  EXPECT_EQ(runner_.links[1].bytes_per_second, 50e6);
  EXPECT_EQ(runner_.links[1].crossing, 0.5);
  EXPECT_EQ(runner_.links[1].waited, 0.5) << "twice as long if half the bytes were not compressed away";
  EXPECT_EQ(runner_.links[1].maps, 2U);
  EXPECT_EQ(runner_.links[2].bytes_per_second, 40e6);
  EXPECT_EQ(runner_.links[2].waited, 1);
  EXPECT_EQ(runner_.links[2].maps, 3U);
}

TEST_F(AttemptsTest, AFailureIsReportedWithItsReasonInOneLine) {
  StartAgent();
  SetUpJob();
  const AttemptId map = LaunchMap(0);
  runner_.observer->TaskFailed(map, {"exit status\n3", "last words"});
  RunReady();
  EXPECT_THAT(record_.log, Contains("failed job3.m.0.0: exit status 3"));
  EXPECT_FALSE(Exists(files_->Paths(map).scratch));
}

TEST_F(AttemptsTest, TheRecordAtWhichAMapFailedIsReported) {
  StartAgent();
  SetUpJob();
  runner_.observer->TaskFailed(LaunchMap(0), {"killed by signal 6", "", task::RecordPlace{1, 4096, 2}});
  runner_.observer->TaskFailed(LaunchMap(1), {"killed by signal 6", ""});
  RunReady();
  EXPECT_THAT(record_.records, ElementsAre(task::RecordPlace{1, 4096, 2})) << "of the first alone";
}

TEST_F(AttemptsTest, AMapIsToldWhatToLeaveOutAndWhereToNote) {
  StartAgent();
  SetUpJob();
  const AttemptId map = LaunchMap(0, 0, {{1, 4096, 2}});
  EXPECT_THAT(runner_.left_out, ElementsAre(task::RecordPlace{1, 4096, 2}));
  EXPECT_THAT(runner_.record_notes, ElementsAre(files_->Paths(map).scratch + "/.record"));
}

// The scheduler says how many attempts run, up to a limit.
TEST_F(AttemptsTest, AnAttemptFarBeyondTheSlotsIsLost) {
  config_.map_slots = 1;
  config_.reduce_slots = 1;
  StartAgent();
  SetUpJob();
  for (std::uint32_t task = 0; task < 32; ++task) LaunchMap(task);
  EXPECT_EQ(runner_.running.size(), 32U);
  LaunchMap(32);
  EXPECT_THAT(record_.log, Contains("lost job3.m.32.0: the worker has 32 attempts already, 16 times its slots"));
  EXPECT_EQ(runner_.running.size(), 32U);
}

// Copy-compute splitting: the master launches more reduces than may compute.
TEST_F(AttemptsTest, TheMasterSaysWhichReducesComputeWhereMoreRunThanMay) {
  config_.reduce_slots = 1;
  StartAgent();
  SetUpJob();
  const AttemptId first = LaunchReduce(0, 1, 1), second = LaunchReduce(1, 1, 1), third = LaunchReduce(2, 1, 1);
  Announce({0});
  EXPECT_THAT(runner_.running, IsEmpty()) << "they have copied and wait, without a process";
  for (const char* reduce : {"job3.r.0.0", "job3.r.1.0", "job3.r.2.0"})
    EXPECT_THAT(record_.log, Contains("copied " + std::string(reduce)));
  Grant(third);
  Grant(first);  // it crossed the report of one that computes, say
  EXPECT_THAT(runner_.running, ElementsAre(third)) << "no more than may";
  runner_.Finish(third);
  RunReady();
  EXPECT_THAT(runner_.running, ElementsAre(third, first)) << "all that were started";
  EXPECT_THAT(record_.log, Contains("computes job3.r.0.0"));
  runner_.Finish(first);
  RunReady();
  EXPECT_THAT(runner_.running, ElementsAre(third, first, second)) << "the only one here asks nobody";
}

TEST_F(AttemptsTest, AReduceThatHasToAskWaitsThoughThereIsRoom) {
  config_.reduce_slots = 2;
  StartAgent();
  SetUpJob();
  const AttemptId reduce = LaunchReduce(0, 1, 2, true);
  Announce({0});
  EXPECT_THAT(runner_.running, IsEmpty());
  EXPECT_THAT(record_.log, Contains("copied job3.r.0.0"));
  Grant(reduce);
  EXPECT_THAT(runner_.running, ElementsAre(reduce));
}

TEST_F(AttemptsTest, AnAttemptOfAnUnknownJobIsLost) {
  StartAgent();
  LaunchMap(0);
  EXPECT_THAT(record_.log, Contains("lost job3.m.0.0: the worker was not told of job3 before"));
}

TEST_F(AttemptsTest, TheMasterHearsThatTheDiskIsFullBeforeItHearsOfTheAttemptThatCannotStart) {
  reserved_ = std::uint64_t{1} << 60;
  StartAgent();
  SetUpJob();
  const std::size_t beats = record_.heartbeats.size();
  LaunchMap(0);
  EXPECT_EQ(record_.heartbeats.size(), beats + 1) << "at once";
  ASSERT_GE(record_.log.size(), 2U);
  EXPECT_EQ(record_.log[record_.log.size() - 2], "no room");
  EXPECT_THAT(record_.log.back(), testing::StartsWith("lost job3.m.0.0: job3.m.0.0 cannot start"));
}

TEST_F(AttemptsTest, ARepeatedLaunchIsHarmless) {
  StartAgent();
  SetUpJob();
  LaunchMap(0);
  LaunchMap(0);
  EXPECT_EQ(runner_.running.size(), 1U);
  EXPECT_EQ(agent_->running(), 1U);
}

TEST_F(AttemptsTest, AReduceCopiesFirstAndComputesThen) {
  StartAgent();
  SetUpJob();
  const AttemptId reduce = LaunchReduce(0, 3);
  Announce({0, 2});
  Advance(1 * kj::SECONDS);
  EXPECT_THAT(runner_.running, IsEmpty());
  EXPECT_THAT(record_.log, Not(Contains("computes job3.r.0.0")));
  ASSERT_EQ(record_.heartbeats.back().progress.size(), 1U);
  EXPECT_NEAR(record_.heartbeats.back().progress[0].second, 2.0 / 3 / 3, 1e-6);  // two of three, copying is a third
  Announce({1});
  EXPECT_THAT(runner_.running, ElementsAre(reduce));
  EXPECT_EQ(runner_.segments, 3U);
  EXPECT_THAT(record_.log, Contains("computes job3.r.0.0"));
  runner_.Progress(reduce, 0.5F);
  Advance(1 * kj::SECONDS);
  EXPECT_NEAR(record_.heartbeats.back().progress.at(0).second, 1.0 / 3 + 0.5 * 2 / 3, 1e-6);
  runner_.Finish(reduce);
  RunReady();
  EXPECT_EQ(record_.log.back(), "done job3.r.0.0 read 1234 shuffled 0");
}

TEST_F(AttemptsTest, AReduceHearsWhatWasAnnouncedBeforeItCame) {
  config_.reduce_slots = 2;
  StartAgent();
  SetUpJob();
  LaunchReduce(0, 2);
  Announce({0});
  const AttemptId second = LaunchReduce(1, 1);
  EXPECT_THAT(runner_.running, ElementsAre(second));
}

TEST_F(AttemptsTest, AReduceDoesNotWaitForMapsThatAreLeftOut) {
  config_.reduce_slots = 2;
  StartAgent();
  SetUpJob();
  const AttemptId first = LaunchReduce(0, 4);
  Announce({0, 2});
  LeaveOut({1});
  Advance(1 * kj::SECONDS);
  EXPECT_THAT(runner_.running, IsEmpty());
  EXPECT_NEAR(record_.heartbeats.back().progress.at(0).second, 2.0 / 3 / 3, 1e-6);  // two of three
  const AttemptId second = LaunchReduce(1, 4);  // it hears what was said before it came
  LeaveOut({3});
  EXPECT_THAT(runner_.running, UnorderedElementsAre(first, second));
  EXPECT_EQ(runner_.segments, 2U);
}

TEST_F(AttemptsTest, AKilledAttemptIsNotReportedAndItsSlotIsFree) {
  StartAgent();
  SetUpJob();
  const AttemptId map = LaunchMap(0);
  LaunchMap(1);
  Kill(map);
  EXPECT_THAT(runner_.killed, ElementsAre(map));
  EXPECT_FALSE(Exists(files_->Paths(map).scratch));
  LaunchMap(2);
  EXPECT_EQ(runner_.running.size(), 3U);
  EXPECT_THAT(record_.log, ElementsAre("end of report"));
}

// This keeps the end of the process from being taken for a death.
TEST_F(AttemptsTest, AWorkerThatLeavesSaysThatItsAttemptsAreLost) {
  StartAgent();
  SetUpJob();
  const AttemptId map = LaunchMap(0);
  kj::Promise<void> left = agent_->Leave();
  EXPECT_TRUE(left.poll(scope_)) << "everything is answered";
  EXPECT_THAT(record_.log, Contains("lost job3.m.0.0: its worker was stopped"));
  EXPECT_THAT(runner_.killed, ElementsAre(map));
  EXPECT_EQ(agent_->running(), 0U);
}

TEST_F(AttemptsTest, AWorkerWithoutAMasterLeavesAllTheSame) {
  StartAgent();
  SetUpJob();
  LaunchMap(0);
  network_.Cut("master:1");
  kj::Promise<void> left = agent_->Leave();
  EXPECT_FALSE(left.poll(scope_));
  Advance(kFarewell);
  EXPECT_TRUE(left.poll(scope_));
}

TEST_F(AttemptsTest, AReduceThatEndsMakesRoomForTheNext) {
  StartAgent();
  SetUpJob();
  const AttemptId first = LaunchReduce(0, 1);
  Announce({0});
  ASSERT_THAT(runner_.running, ElementsAre(first));
  Kill(first);
  const AttemptId second = LaunchReduce(1, 1);
  EXPECT_THAT(runner_.running, ElementsAre(first));  // what was announced was for the reduces of then
  Announce({0});
  EXPECT_THAT(runner_.running, ElementsAre(first, second));
}

TEST_F(AttemptsTest, KillOfAServedMapOutputDropsIt) {
  StartAgent();
  SetUpJob();
  const AttemptId map = LaunchMap(0);
  Write(files_->Paths(map).run_file, "records");
  runner_.Finish(map);
  RunReady();
  Kill(map);
  EXPECT_THAT(plane_.served(), IsEmpty());
  EXPECT_FALSE(Exists(files_->Paths(map).run_file));
}

TEST_F(AttemptsTest, ForgetJobDropsEverythingButTheLogs) {
  StartAgent();
  SetUpJob();
  const AttemptId map = LaunchMap(0);
  runner_.Finish(map);
  RunReady();
  LaunchMap(1);
  LaunchReduce(0, 2);
  Write(files_->Paths(map).stdout_file, "hello");
  auto request = Control().forgetJobRequest();
  request.setJob(kJob.value);
  Send(std::move(request));
  EXPECT_THAT(runner_.forgotten, ElementsAre(kJob));
  EXPECT_THAT(plane_.served(), IsEmpty());
  EXPECT_EQ(agent_->running(), 0U);
  EXPECT_FALSE(Exists(directory_.path() + "/jobs/3"));
  EXPECT_TRUE(Exists(files_->Paths(map).stdout_file));
}

TEST_F(AttemptsTest, LogsAreReadInPieces) {
  StartAgent();
  SetUpJob();
  const AttemptId map = LaunchMap(0);
  Write(files_->Paths(map).stderr_file, "0123456789");
  auto request = Control().readLogRequest();
  ToWire(map, request.initAttempt());
  request.setStream(wire::LogStream::STDERR);
  request.setOffset(4);
  request.setLimit(3);
  const auto piece = request.send().wait(scope_);
  EXPECT_EQ(std::string(piece.getData().asChars().begin(), piece.getData().size()), "456");
  EXPECT_EQ(piece.getSize(), 10U);
}

TEST_F(AttemptsTest, ALogPieceIsBounded) {
  StartAgent();
  SetUpJob();
  const AttemptId map = LaunchMap(0);
  Write(files_->Paths(map).stdout_file, std::string(1 << 20, 'x'));
  auto request = Control().readLogRequest();
  ToWire(map, request.initAttempt());
  request.setLimit(1 << 30);
  EXPECT_EQ(request.send().wait(scope_).getData().size(), std::size_t{256} << 10);
}

TEST_F(AttemptsTest, ALogThatIsNotThereIsSaidSo) {
  StartAgent();
  auto request = Control().readLogRequest();
  ToWire(MapAttemptId(JobId{9}, 1, 0), request.initAttempt());
  Status status;
  request.send().ignoreResult().catch_([&](kj::Exception&& e) { status = rpc::FromException(e); }).wait(scope_);
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(status.message(), HasSubstr("job9.m.1.0"));
}

TEST_F(AttemptsTest, ReplicationsAreHandedOn) {
  StartAgent();
  auto request = Control().replicateRequest();
  request.initBlock().setId(7);
  auto target = request.initTargets(1)[0];
  target.setNode(2);
  target.setHost("other");
  target.setPort(99);
  Send(std::move(request));
  ASSERT_EQ(plane_.replications().size(), 1U);
  EXPECT_EQ(plane_.replications()[0].block.id, 7U);
  EXPECT_EQ(plane_.replications()[0].targets.at(0).host, "other");
}

class ComputeGateTest : public testing::Test {
 protected:
  static AttemptId Reduce(std::uint32_t index) { return ReduceAttemptId(JobId{1}, index, 0); }
  // Returns true if the reduce has to ask.
  bool EndCopying(std::uint32_t index) {
    return gate_.EndCopying(Reduce(index), [this, index] { entered_.push_back(index); });
  }

  ComputeGate gate_{2};
  std::vector<std::uint32_t> entered_;
};

TEST_F(ComputeGateTest, WhileThereIsRoomForAllNobodyAsks) {
  gate_.Arrive(Reduce(0), false);
  gate_.Arrive(Reduce(1), false);
  EXPECT_FALSE(EndCopying(1));
  EXPECT_FALSE(EndCopying(0));
  EXPECT_THAT(entered_, ElementsAre(1, 0));
  EXPECT_EQ(gate_.inside(), 2U);
}

TEST_F(ComputeGateTest, OtherwiseThoseComputeThatAreGranted) {
  for (std::uint32_t i = 0; i < 4; ++i) gate_.Arrive(Reduce(i), false);
  EXPECT_TRUE(EndCopying(0));
  EXPECT_TRUE(EndCopying(1));
  gate_.Grant(Reduce(1));
  gate_.Grant(Reduce(2));  // it still copies
  gate_.Grant(Reduce(9));  // it is not here
  EXPECT_THAT(entered_, ElementsAre(1));
  EXPECT_FALSE(EndCopying(2));
  EXPECT_THAT(entered_, ElementsAre(1, 2));
  gate_.Grant(Reduce(0));
  EXPECT_THAT(entered_, ElementsAre(1, 2)) << "no more than two";
  gate_.Leave(Reduce(1));
  EXPECT_THAT(entered_, ElementsAre(1, 2, 0));
}

TEST_F(ComputeGateTest, WhoeverWaitsComputesOnceThereIsRoomForAll) {
  for (std::uint32_t i = 0; i < 3; ++i) gate_.Arrive(Reduce(i), i == 1);
  EXPECT_TRUE(EndCopying(0));
  EXPECT_TRUE(EndCopying(1));
  gate_.Leave(Reduce(2));
  EXPECT_THAT(entered_, ElementsAre(0)) << "the other has to ask";
  gate_.SetMost(1);
  gate_.Grant(Reduce(1));
  EXPECT_THAT(entered_, ElementsAre(0));
  gate_.SetMost(2);
  EXPECT_THAT(entered_, ElementsAre(0, 1));
}

class CopyOutputTest : public AgentTest {
 protected:
  void BreakTheSession() {
    network_.Cut("master:1");
    Advance(1 * kj::SECONDS);
    network_.Mend("master:1");
    Advance(10 * kj::SECONDS);
    ASSERT_EQ(record_.registrations.size(), 2U);
  }

  // Orders a copy, which goes on while the session that it was ordered in ends and another one begins.
  void CopyOverASession(const AttemptId& map) {
    plane_.HoldOutputCopies();
    const auto copy = CopyOutput(map).eagerlyEvaluate([](kj::Exception&&) {});  // its connection breaks
    RunReady();
    BreakTheSession();
  }
};

TEST_F(CopyOutputTest, WhatWasCopiedIsServedAndToldAsIfTheMapHadRunHere) {
  StartAgent();
  SetUpJob();
  const AttemptId map = MapAttemptId(kJob, 4, 1);
  CopyOutput(map).wait(scope_);
  EXPECT_TRUE(plane_.served().contains(map));
  CopyOutput(map).wait(scope_);  // asked again
  ASSERT_NO_FATAL_FAILURE(BreakTheSession());
  EXPECT_EQ(record_.registrations.back().map_outputs, std::vector{map});
  auto forget = Control().forgetJobRequest();
  forget.setJob(kJob.value);
  Send(std::move(forget));
  EXPECT_FALSE(plane_.served().contains(map));
}

TEST_F(CopyOutputTest, WhatEndsAfterAMasterWasToldWhatIsHereIsDropped) {
  StartAgent();
  SetUpJob();
  const AttemptId map = MapAttemptId(kJob, 4, 1);
  ASSERT_NO_FATAL_FAILURE(CopyOverASession(map));
  EXPECT_TRUE(record_.registrations.back().map_outputs.empty());
  plane_.EndOutputCopies();
  RunReady();
  EXPECT_FALSE(plane_.served().contains(map)) << "that master does not know of it";
}

TEST_F(CopyOutputTest, WhatTheNextMasterAsksForAgainIsCopiedOnceAndStays) {
  StartAgent();
  SetUpJob();
  const AttemptId map = MapAttemptId(kJob, 4, 1);
  ASSERT_NO_FATAL_FAILURE(CopyOverASession(map));
  auto again = CopyOutput(map).eagerlyEvaluate(nullptr);
  RunReady();
  plane_.EndOutputCopies();
  again.wait(scope_);
  EXPECT_TRUE(plane_.served().contains(map)) << "that master counts on it";
}

TEST_F(CopyOutputTest, OfAJobThatIsNotKnownNothingIsCopied) {
  StartAgent();
  try {
    CopyOutput(MapAttemptId(kJob, 4, 1)).wait(scope_);
    ADD_FAILURE() << "it was copied";
  } catch (const kj::Exception& refused) {
    EXPECT_EQ(rpc::FromException(refused).code(), StatusCode::kNotFound);
  }
  EXPECT_TRUE(plane_.served().empty());
}

// The table of stages in attempt_table.h, pair by pair.
TEST(AttemptStageTest, OnlyReducesCopyAndNoStageIsLeftOutOrEnteredTwice) {
  using enum AttemptStage;
  constexpr std::array kStages = {kPreparing, kCopying, kReady, kStarted};
  const std::set<std::pair<AttemptStage, AttemptStage>> of_maps = {{kPreparing, kReady}, {kReady, kStarted}};
  const std::set<std::pair<AttemptStage, AttemptStage>> of_reduces = {
      {kPreparing, kCopying}, {kCopying, kReady}, {kReady, kStarted}};
  for (const AttemptStage from : kStages) {
    for (const AttemptStage to : kStages) {
      EXPECT_EQ(MayFollow(from, to, false), of_maps.contains({from, to}));
      EXPECT_EQ(MayFollow(from, to, true), of_reduces.contains({from, to}));
    }
  }
}

}  // namespace
}  // namespace millrace::worker
