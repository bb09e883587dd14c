// SPDX-License-Identifier: Apache-2.0
// Tests what happens to attempts and to unanswered reports when a worker registers again.
#include "base/protocol/settlement.h"

#include <gmock/gmock.h>

#include "tests/worker/daemon/agent/agent_fixture.h"

namespace millrace::worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using RegisterAgainTest = AgentTest;

TEST_F(RegisterAgainTest, RegistersAgainWithWhatStillRunsWhenTheConnectionBroke) {
  StartAgent();
  SetUpJob();
  const AttemptId held = LaunchMap(0);
  runner_.Finish(held);
  RunReady();
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

TEST_F(RegisterAgainTest, AnUnansweredReportIsRepeatedOnTheNextConnectionAndItsAttemptIsToldApart) {
  StartAgent();
  SetUpJob();
  record_.answer_done = false;
  const AttemptId map = LaunchMap(0);
  runner_.Finish(map);
  RunReady();
  EXPECT_EQ(record_.Count("done job3.m.0.0 read 1234 shuffled 0"), 1);
  network_.Cut("master:1");
  RunReady();
  record_.answer_done = true;
  network_.Mend("master:1");
  Advance(3 * kj::SECONDS);
  ASSERT_EQ(record_.registrations.size(), 2U);
  EXPECT_THAT(record_.registrations[1].done, ElementsAre(map));
  EXPECT_THAT(record_.registrations[1].running, IsEmpty());
  EXPECT_THAT(record_.registrations[1].map_outputs, IsEmpty());
  EXPECT_EQ(record_.Count("done job3.m.0.0 read 1234 shuffled 0"), 2);
  network_.Cut("master:1");
  RunReady();
  network_.Mend("master:1");
  Advance(3 * kj::SECONDS);
  ASSERT_EQ(record_.registrations.size(), 3U);
  EXPECT_THAT(record_.registrations[2].done, IsEmpty());
  EXPECT_THAT(record_.registrations[2].map_outputs, ElementsAre(map));
  EXPECT_EQ(record_.Count("done job3.m.0.0 read 1234 shuffled 0"), 2);
}

// Plays every state of a map attempt against everything that the master may want done with it.
class SettlementTest : public AgentTest, public testing::WithParamInterface<std::tuple<Claim, WorkerDoes>> {
 protected:
  AttemptId Bring(Claim claim) {
    const AttemptId map = LaunchMap(0);
    record_.answer_done = claim == Claim::kServed;
    record_.answer_failed = false;
    if (claim == Claim::kDone || claim == Claim::kServed) runner_.Finish(map);
    if (claim == Claim::kFailed) runner_.observer->TaskFailed(map, {"a test wants it", ""});
    RunReady();
    return map;
  }
  std::ptrdiff_t Reports() const { return static_cast<std::ptrdiff_t>(record_.log.size()); }
  void RegisterAgain() {
    network_.Cut("master:1");
    RunReady();
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

TEST_F(RegisterAgainTest, AReportMadeWhileThereIsNoConnectionComesLater) {
  StartAgent();
  SetUpJob();
  const AttemptId map = LaunchMap(0);
  network_.Cut("master:1");
  RunReady();
  runner_.Finish(map);
  RunReady();
  network_.Mend("master:1");
  Advance(3 * kj::SECONDS);
  EXPECT_EQ(record_.Count("done job3.m.0.0 read 1234 shuffled 0"), 1);
}

TEST_F(RegisterAgainTest, AReportThatTheMasterRefusesIsNotRepeated) {
  StartAgent();
  SetUpJob();
  record_.refuse_done = NotFound("no such job");
  const AttemptId map = LaunchMap(0);
  runner_.Finish(map);
  Advance(20 * kj::SECONDS);
  EXPECT_EQ(record_.Count("done job3.m.0.0 read 1234 shuffled 0"), 1);
  EXPECT_EQ(record_.registrations.size(), 1U);
}

TEST_F(RegisterAgainTest, AReportForWhichTheMasterIsTooBusyIsTriedAgain) {
  StartAgent();
  SetUpJob();
  record_.refuse_done = Busy("too many calls");
  const AttemptId map = LaunchMap(0);
  runner_.Finish(map);
  RunReady();
  record_.refuse_done = Status::Ok();
  Advance(1 * kj::SECONDS);
  EXPECT_EQ(record_.Count("done job3.m.0.0 read 1234 shuffled 0"), 2);
  EXPECT_EQ(record_.registrations.size(), 1U);
}

TEST_F(RegisterAgainTest, AMasterThatAnswersNothingIsLeftAndCalledAgain) {
  StartAgent();
  record_.answer_heartbeats = false;
  Advance(15 * kj::SECONDS);
  EXPECT_GE(record_.registrations.size(), 2U);
}

TEST_F(RegisterAgainTest, WhatTheMasterDoesNotWantAnyMoreIsKilledAtRegistration) {
  StartAgent();
  SetUpJob();
  const AttemptId unwanted = LaunchMap(0);
  const AttemptId wanted = LaunchMap(1);
  record_.killed = {unwanted};
  network_.Cut("master:1");
  RunReady();
  network_.Mend("master:1");
  Advance(3 * kj::SECONDS);
  EXPECT_THAT(runner_.killed, ElementsAre(unwanted));
  EXPECT_EQ(agent_->running(), 1U);
  runner_.Finish(wanted);
  RunReady();
  EXPECT_EQ(record_.Count("done job3.m.1.0 read 1234 shuffled 0"), 1);
}

// A master died before its launch was on disk. The next one does not know the attempt, says so, and hands out its
// number again; and the answer to the registration can come after that launch.
class LateAnswerTest : public AgentTest {
 protected:
  ~LateAnswerTest() noexcept override = default;
  // Returns an attempt of a map whose failure was reported and not answered.
  AttemptId FailUnanswered() {
    StartAgent();
    SetUpJob();
    record_.answer_failed = false;
    const AttemptId map = LaunchMap(0);
    runner_.observer->TaskFailed(map, {"a test wants it", ""});
    RunReady();
    return map;
  }
  void RegisterAgain() {
    auto pair = kj::newPromiseAndFulfiller<void>();
    record_.hold_registration = kj::mv(pair.promise);
    answer_ = kj::mv(pair.fulfiller);
    network_.Cut("master:1");
    RunReady();
    network_.Mend("master:1");
    Advance(3 * kj::SECONDS);
    ASSERT_EQ(record_.registrations.size(), 2U);
  }
  void Answer() {
    answer_->fulfill();
    RunReady();
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

TEST_F(LateAnswerTest, DoesNotDropAnOutputThatWasAskedForSince) {
  StartAgent();
  SetUpJob();
  const AttemptId map = MapAttemptId(kJob, 4, 1);
  CopyOutput(map).wait(scope_);
  record_.killed = {map};  // a master that was started again knows of the output elsewhere alone
  RegisterAgain();
  EXPECT_THAT(record_.registrations[1].map_outputs, ElementsAre(map));
  CopyOutput(map).wait(scope_);  // it is told of here, too
  Answer();
  EXPECT_TRUE(plane_.served().contains(map));
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
  RunReady();
  EXPECT_EQ(record_.Count("done job3.m.0.0 read 1234 shuffled 0"), 1);
}

TEST_F(LateAnswerTest, DoesNotSettleTheReportOfWhatWasLaunchedSince) {
  const AttemptId old = FailUnanswered();
  record_.settled = {old};
  RegisterAgain();
  LaunchMap(0);
  runner_.Finish(old);
  Answer();
  EXPECT_EQ(record_.Count("done job3.m.0.0 read 1234 shuffled 0"), 1);
}

TEST_F(RegisterAgainTest, JobsThatTheMasterForgotAreForgottenAtRegistration) {
  StartAgent();
  SetUpJob();
  LaunchMap(0);
  record_.forgotten = {kJob};
  network_.Cut("master:1");
  RunReady();
  network_.Mend("master:1");
  Advance(3 * kj::SECONDS);
  EXPECT_THAT(runner_.forgotten, ElementsAre(kJob));
  EXPECT_EQ(agent_->running(), 0U);
}

}  // namespace
}  // namespace millrace::worker
