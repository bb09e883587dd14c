// SPDX-License-Identifier: Apache-2.0
// Tests attempts without progress.
#include <gmock/gmock.h>

#include "tests/worker/daemon/agent/agent_fixture.h"

namespace millrace::worker {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class AttemptWatchTest : public AgentTest {
 protected:
  void Begin(Micros timeout) {
    config_.task_timeout = timeout;
    StartAgent();
    SetUpJob();
  }
  void SetUpJobWith(const char* timeout) {
    auto request = Control().setUpJobRequest();
    request.initSetup().setJob(kJob.value);
    request.getSetup().setReduces(2);
    auto parameters = request.getSetup().initParameters(1);
    parameters[0].setName("task.timeout");
    parameters[0].setValue(timeout);
    Send(std::move(request));
  }
};

TEST_F(AttemptWatchTest, AProcessThatSaysNothingForTheTimeHasFailedAndIsKilled) {
  Begin(600 * kSecond);
  const AttemptId map = LaunchMap(0);
  Advance(595 * kj::SECONDS);
  EXPECT_EQ(agent_->running(), 1U);
  Advance(7 * kj::SECONDS);
  EXPECT_EQ(agent_->running(), 0U);
  EXPECT_THAT(runner_.killed, ElementsAre(map));
  EXPECT_THAT(record_.log, Contains(HasSubstr("failed job3.m.0.0: no progress for 10 min")));
}

TEST_F(AttemptWatchTest, TheRecordAtWhichItStandsIsReported) {
  Begin(600 * kSecond);
  const AttemptId map = LaunchMap(0);
  Result<task::RecordNote> note = task::RecordNote::Create(files_->Paths(map).record_note);
  ASSERT_TRUE(note.ok()) << note.status().message();
  note->Set({0, 70, 0});
  Advance(610 * kj::SECONDS);
  EXPECT_THAT(record_.records, ElementsAre(task::RecordPlace{0, 70, 0}));
}

TEST_F(AttemptWatchTest, OneThatSaysTheSameAgainAndAgainToo) {
  Begin(60 * kSecond);
  const AttemptId map = LaunchMap(0);
  for (int i = 0; i < 70; ++i) {
    runner_.Progress(map, 0.5F, "loops");
    Advance(1 * kj::SECONDS);
  }
  EXPECT_THAT(runner_.killed, ElementsAre(map));
}

TEST_F(AttemptWatchTest, AnyChangeIsProgress) {
  Begin(60 * kSecond);
  const AttemptId map = LaunchMap(0);
  Advance(50 * kj::SECONDS);
  runner_.Progress(map, 0.5F);
  Advance(50 * kj::SECONDS);
  runner_.Progress(map, 0.5F, "another status");
  Advance(50 * kj::SECONDS);
  OwnedMessage<task::wire::Progress> counted;
  ToWire(map, counted.builder().initAttempt());
  counted.builder().setFraction(0.5F);
  counted.builder().setStatus("another status");
  ManualRunner::Set(counted.builder().initCounters(1)[0], "user", "records", 1);
  runner_.observer->TaskProgress(map, std::move(counted));
  Advance(50 * kj::SECONDS);
  EXPECT_THAT(runner_.killed, IsEmpty());
  Advance(12 * kj::SECONDS);
  EXPECT_THAT(runner_.killed, ElementsAre(map));
}

TEST_F(AttemptWatchTest, RecordsThatAreEmittedAreProgress) {
  Begin(60 * kSecond);
  const AttemptId map = LaunchMap(0);
  const auto report = [&](std::uint64_t emitted) {
    OwnedMessage<task::wire::Progress> progress;
    ToWire(map, progress.builder().initAttempt());
    progress.builder().setEmitted(emitted);
    runner_.observer->TaskProgress(map, std::move(progress));
  };
  for (std::uint64_t emitted = 1; emitted <= 4; ++emitted) {
    report(emitted);
    Advance(50 * kj::SECONDS);
  }
  EXPECT_THAT(runner_.killed, IsEmpty());
  report(4);
  Advance(12 * kj::SECONDS);
  EXPECT_THAT(runner_.killed, ElementsAre(map)) << "the same number again is none";
}

TEST_F(AttemptWatchTest, AReduceMayWaitForMapsAsLongAsTheyTake) {
  Begin(60 * kSecond);
  LaunchReduce(0, 2);
  Announce({0});  // which the synthetic plane has copied at once
  Advance(1000 * kj::SECONDS);
  EXPECT_EQ(agent_->running(), 1U);
  Announce({1});
  Advance(50 * kj::SECONDS);
  EXPECT_EQ(agent_->running(), 1U) << "its time begins again when it computes";
  Advance(12 * kj::SECONDS);
  EXPECT_EQ(agent_->running(), 0U);
}

TEST_F(AttemptWatchTest, TheJobsOwnTimeHolds) {
  config_.task_timeout = 600 * kSecond;
  StartAgent();
  SetUpJobWith("5s");
  LaunchMap(0);
  Advance(7 * kj::SECONDS);
  EXPECT_EQ(agent_->running(), 0U);
}

TEST_F(AttemptWatchTest, ZeroIsNever) {
  config_.task_timeout = 5 * kSecond;
  StartAgent();
  SetUpJobWith("0");
  LaunchMap(0);
  Advance(1000 * kj::SECONDS);
  EXPECT_EQ(agent_->running(), 1U);
}

}  // namespace
}  // namespace millrace::worker
