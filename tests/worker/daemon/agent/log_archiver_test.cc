// SPDX-License-Identifier: Apache-2.0
// Tests when a worker archives the logs of jobs, and that it tries again.
#include <gmock/gmock.h>

#include "tests/worker/daemon/agent/agent_fixture.h"

namespace millrace::worker {
namespace {

using master::wire::LogFate;
using testing::ElementsAre;
using testing::IsEmpty;

class LogArchiverTest : public AgentTest {
 protected:
  LogArchiverTest() {
    store_file_ = [this](const std::string& path, const std::function<Status(const WriteBytes&)>& fill) -> Status {
      tried_.push_back(path);
      MILLRACE_TRY(fill([](std::string_view) { return Status::Ok(); }));
      return outcome_;
    };
  }
  // Leaves a log of the job on the disk, as an attempt does.
  void LeaveLog(JobId job) {
    const AttemptId id = MapAttemptId(job, 0, 0);
    ASSERT_TRUE(files_->Prepare(id).ok());
    ASSERT_TRUE(WriteFileDurably(files_->Paths(id).stderr_file, "a line\n").ok());
  }
  void EndJob(JobId job) {
    auto request = Control().forgetJobRequest();
    request.setJob(job.value);
    Send(std::move(request));
  }
  void Reconnect() {
    network_.Cut("master:1");
    RunReady();
    network_.Mend("master:1");
    Advance(3 * kj::SECONDS);
  }
  [[nodiscard]] std::ptrdiff_t Asked() const { return record_.Count("asks about the logs of job3"); }

  std::vector<std::string> tried_;
  Status outcome_;
};

TEST_F(LogArchiverTest, AJobThatHasEndedIsArchivedOnce) {
  StartAgent();
  SetUpJob();
  LeaveLog(kJob);
  record_.fates[kJob] = LogFate::ARCHIVE;
  Reconnect();
  EXPECT_EQ(Asked(), 0) << "the job goes on here";
  EndJob(kJob);
  Advance(1 * kj::SECONDS);
  EXPECT_THAT(tried_, ElementsAre("/.millrace/logs/job3/node5"));
  Reconnect();
  Advance(1 * kj::HOURS);
  EXPECT_EQ(tried_.size(), 1U);
  EXPECT_EQ(Asked(), 1);
}

TEST_F(LogArchiverTest, AfterAStartTheMasterIsAskedAboutWhatIsThere) {
  files_ = std::move(*DiskAttemptFiles::Open(directory_.path(), 0));
  for (const std::uint32_t job : {3U, 4U, 5U}) LeaveLog(JobId{job});
  record_.fates = {{JobId{3}, LogFate::ARCHIVE}, {JobId{4}, LogFate::LATER}};
  StartAgent();
  Advance(1 * kj::SECONDS);
  EXPECT_THAT(tried_, ElementsAre("/.millrace/logs/job3/node5"));
  EXPECT_THAT(files_->ListUnarchived(), ElementsAre(JobId{4})) << "what is not to be archived is not asked about again";
  record_.fates[JobId{4}] = LogFate::ARCHIVE;
  Reconnect();
  EXPECT_THAT(tried_, ElementsAre("/.millrace/logs/job3/node5", "/.millrace/logs/job4/node5"));
}

TEST_F(LogArchiverTest, WhatFailsIsTriedAgainLessAndLessOftenAndGivenUp) {
  outcome_ = NoSpace("full");
  StartAgent();
  SetUpJob();
  LeaveLog(kJob);
  record_.fates[kJob] = LogFate::ARCHIVE;
  EndJob(kJob);
  Advance(60 * kj::SECONDS);
  EXPECT_GE(tried_.size(), 3U);
  EXPECT_LE(tried_.size(), 5U);
  for (int i = 0; i < 400; ++i) Advance(1 * kj::MINUTES);
  const std::size_t tries = tried_.size();
  EXPECT_LE(tries, 90U);
  outcome_ = Status::Ok();
  for (int i = 0; i < 100; ++i) Advance(1 * kj::MINUTES);
  EXPECT_EQ(tried_.size(), tries) << "it was given up";
}

TEST_F(LogArchiverTest, AFailureIsMendedByALaterTry) {
  outcome_ = Unavailable("no master");
  StartAgent();
  SetUpJob();
  LeaveLog(kJob);
  record_.fates[kJob] = LogFate::ARCHIVE;
  EndJob(kJob);
  Advance(1 * kj::SECONDS);
  outcome_ = Status::Ok();
  Advance(10 * kj::SECONDS);
  EXPECT_EQ(tried_.size(), 2U);
  EXPECT_THAT(files_->ListUnarchived(), IsEmpty());
}

TEST_F(LogArchiverTest, AMasterThatKeepsNoArchiveIsAskedOnceInASession) {
  record_.knows_archive = false;
  StartAgent();
  SetUpJob();
  LeaveLog(kJob);
  EndJob(kJob);
  Advance(1 * kj::HOURS);
  EXPECT_THAT(tried_, IsEmpty());
  EXPECT_THAT(files_->ListUnarchived(), ElementsAre(kJob));
  record_.knows_archive = true;  // it was upgraded
  record_.fates[kJob] = LogFate::ARCHIVE;
  Reconnect();
  EXPECT_EQ(tried_.size(), 1U);
}

}  // namespace
}  // namespace millrace::worker
