// SPDX-License-Identifier: Apache-2.0
// Tests that what attempts write leaves the reserved bytes of the disk free.
#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <set>

#include "tests/worker/daemon/agent/agent_fixture.h"

namespace millrace::worker {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

// The files of a worker, whose removal takes as long as a test says.
class SlowlyRemoved final : public AttemptFiles {
 public:
  SlowlyRemoved(std::unique_ptr<AttemptFiles> files, const bool& removing)
      : files_(std::move(files)), removing_(removing) {}
  [[nodiscard]] AttemptPaths Paths(const AttemptId& attempt) const override { return files_->Paths(attempt); }
  [[nodiscard]] std::string SharedDirectory(JobId job) const override { return files_->SharedDirectory(job); }
  Status Prepare(const AttemptId& attempt) override { return files_->Prepare(attempt); }
  [[nodiscard]] bool HasRoom() override { return files_->HasRoom(); }
  [[nodiscard]] std::optional<Shortage> FindShortage() const override { return files_->FindShortage(); }
  [[nodiscard]] std::uint64_t BytesOf(const AttemptId& attempt) const override { return files_->BytesOf(attempt); }
  [[nodiscard]] Taken TakenBy(JobId job) const override { return files_->TakenBy(job); }
  [[nodiscard]] Limited Measure(const AttemptId& attempt) const override { return files_->Measure(attempt); }
  void RemoveAllBut(JobId job, const std::set<AttemptId>& outputs) override { files_->RemoveAllBut(job, outputs); }
  [[nodiscard]] bool IsRemoving() const override { return removing_; }
  void RemoveScratch(const AttemptId& attempt) override { files_->RemoveScratch(attempt); }
  void RemoveRun(const AttemptId& attempt) override { files_->RemoveRun(attempt); }
  void RemoveJob(JobId job) override { files_->RemoveJob(job); }
  [[nodiscard]] Result<LogPiece> ReadLog(const AttemptId& attempt, bool standard_error, std::uint64_t offset,
                                         std::uint32_t limit) const override {
    return files_->ReadLog(attempt, standard_error, offset, limit);
  }

 private:
  const std::unique_ptr<AttemptFiles> files_;
  const bool& removing_;
};

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

class RoomTest : public AgentTest {
 protected:
  RoomTest() {
    put_before_files_ = [this](std::unique_ptr<AttemptFiles> files) -> std::unique_ptr<AttemptFiles> {
      return std::make_unique<SlowlyRemoved>(std::move(files), removing_);
    };
    reserved_ = 100 * kMiB;
    free_ = [this](const std::string&) -> Result<std::uint64_t> { return room_; };
    StartAgent();
    SetUpJob();
  }
  // The attempt's map writes this much into its scratch directory.
  void WriteScratch(const AttemptId& map, std::uint64_t bytes) {
    ASSERT_TRUE(WriteFileDurably(files_->Paths(map).scratch + "/data", std::string(bytes, 'x')).ok());
  }
  void WriteRun(const AttemptId& map, std::uint64_t bytes) {
    ASSERT_TRUE(WriteFileDurably(files_->Paths(map).run_file, std::string(bytes, 'x')).ok());
  }
  // A task of the job writes this much where no attempt has its files. Returns the file.
  std::string WriteBeside(JobId job, const std::string& name, std::uint64_t bytes) {
    const std::string path = fmt::format("{}/jobs/{}/{}", directory_.path(), job.value, name);
    EXPECT_TRUE(WriteFileDurably(path, std::string(bytes, 'x')).ok());
    return path;
  }
  AttemptId LaunchMapOf(JobId job, std::uint32_t task) {
    SetUpJob(2, job);
    return LaunchMap(task, 0, {}, job);
  }
  [[nodiscard]] std::vector<std::string> Said(const std::string& what) const {
    std::vector<std::string> said;
    for (const std::string& line : record_.log) {
      if (line.starts_with(what)) said.push_back(line);
    }
    return said;
  }

  std::uint64_t room_ = 1000 * kMiB;
  bool removing_ = false;
};

TEST_F(RoomTest, TheAttemptThatWroteMostIsStoppedBeforeTheReserveIsGone) {
  const AttemptId small = LaunchMap(0), large = LaunchMap(1), idle = LaunchMap(2);
  WriteScratch(small, 2 * kMiB);
  WriteRun(large, 5 * kMiB);
  Advance(1 * kj::SECONDS);
  EXPECT_THAT(runner_.killed, IsEmpty());
  room_ = 99 * kMiB;
  Advance(100 * kj::MILLISECONDS);
  EXPECT_THAT(runner_.killed, ElementsAre(large));
  EXPECT_THAT(record_.log,
              Contains(AllOf(HasSubstr("failed job3.m.1.0: stopped, so that the disk of its worker does not fill up"),
                             HasSubstr("worker.reserved_bytes = 100"), HasSubstr("had written 5"))));
  EXPECT_EQ(files_->BytesOf(large), 0u) << "which makes room";
  room_ = 104 * kMiB;
  Advance(5 * kj::SECONDS);
  EXPECT_THAT(runner_.killed, ElementsAre(large)) << "the others go on";
  (void)idle;
}

TEST_F(RoomTest, AnAttemptBeyondALimitFailsAndTheOthersGoOn) {
  config_.task_scratch_bytes = 4 * kMiB;
  config_.task_stream_bytes = 3 * kMiB;
  agent_ = nullptr;
  StartAgent();
  SetUpJob();
  const AttemptId keeps = LaunchMap(0), prints = LaunchMap(1), within = LaunchMap(2);
  WriteScratch(keeps, 5 * kMiB);
  WriteScratch(within, 3 * kMiB);
  WriteRun(within, 50 * kMiB);  // an output for reduces is not limited
  ASSERT_TRUE(WriteFileDurably(files_->Paths(prints).stderr_file, std::string(4 * kMiB, 'x')).ok());
  ASSERT_TRUE(WriteFileDurably(files_->Paths(within).stdout_file, std::string(2 * kMiB, 'x')).ok());
  Advance(3 * kj::SECONDS);
  EXPECT_THAT(runner_.killed, UnorderedElementsAre(keeps, prints));
  EXPECT_THAT(record_.log, Contains(AllOf(HasSubstr("failed job3.m.0.0: stopped: the attempt had 5"),
                                          HasSubstr("more than task.scratch_bytes = 4"))));
  EXPECT_THAT(record_.log, Contains(AllOf(HasSubstr("failed job3.m.1.0: stopped: the attempt had printed 4"),
                                          HasSubstr("standard error, more than task.stream_bytes = 3"))));
  EXPECT_FALSE(Exists(files_->Paths(keeps).scratch));
}

// docs/operate/operations.md says how often an attempt is looked at.
TEST_F(RoomTest, LimitsAreLookedAtOnceASecond) {
  config_.task_scratch_bytes = 4 * kMiB;
  agent_ = nullptr;
  StartAgent();
  SetUpJob();
  const AttemptId map = LaunchMap(0);
  Advance(2 * kj::SECONDS);
  WriteScratch(map, 1);
  std::size_t steps = 0;  // of a tenth of a second
  WriteScratch(map, 5 * kMiB);
  for (; steps < 30 && runner_.killed.empty(); ++steps) Advance(100 * kj::MILLISECONDS);
  EXPECT_THAT(runner_.killed, ElementsAre(map));
  EXPECT_LE(steps, 12u) << "a second, and the time until the next look at the room";
  const AttemptId next = LaunchMap(1);
  WriteScratch(next, 5 * kMiB);
  Advance(300 * kj::MILLISECONDS);
  EXPECT_THAT(runner_.killed, ElementsAre(map)) << "the last look was just before";
  Advance(1 * kj::SECONDS);
  EXPECT_THAT(runner_.killed, ElementsAre(map, next));
}

TEST_F(RoomTest, WhoWroteNothingIsNotToBlame) {
  (void)LaunchMap(0);
  room_ = 0;
  Advance(10 * kj::SECONDS);
  EXPECT_THAT(runner_.killed, IsEmpty());
}

TEST_F(RoomTest, WhenHardlyAnyIsLeftAllAreStoppedWhoseRoomIsNeeded) {
  const AttemptId first = LaunchMap(0), second = LaunchMap(1), idle = LaunchMap(2);
  WriteRun(first, 3 * kMiB);
  WriteScratch(second, 2 * kMiB);
  room_ = 10 * kMiB;
  Advance(200 * kj::MILLISECONDS);
  EXPECT_THAT(runner_.killed, UnorderedElementsAre(first, second));
  EXPECT_THAT(runner_.killed, Each(Not(idle)));
}

TEST_F(RoomTest, WhatAttemptsWroteIsFoundOutInTheBackgroundOnceAtATime) {
  const AttemptId map = LaunchMap(0);
  WriteRun(map, 3 * kMiB);
  background_.Hold();
  room_ = 90 * kMiB;
  Advance(3 * kj::SECONDS);
  EXPECT_THAT(runner_.killed, IsEmpty()) << "the control thread waits for no disk";
  room_ = 10 * kMiB;
  Advance(3 * kj::SECONDS);
  background_.Release();
  RunReady();
  EXPECT_THAT(runner_.killed, ElementsAre(map));
}

TEST_F(RoomTest, TheNextOneIsStoppedOnceTheFirstHasGivenItsRoomAndThatIsNotEnough) {
  const AttemptId first = LaunchMap(0), second = LaunchMap(1);
  WriteRun(first, 3 * kMiB);
  WriteRun(second, 2 * kMiB);
  room_ = 90 * kMiB;
  removing_ = true;  // what is removed before is not what this attempt gives, but it is room as well
  Advance(1 * kj::SECONDS);
  EXPECT_THAT(runner_.killed, IsEmpty());
  removing_ = false;
  Advance(100 * kj::MILLISECONDS);
  EXPECT_THAT(runner_.killed, ElementsAre(first));
  removing_ = true;  // it has no name any more, and still takes its room
  Advance(5 * kj::SECONDS);
  EXPECT_THAT(runner_.killed, ElementsAre(first));
  removing_ = false;
  Advance(1 * kj::SECONDS);
  EXPECT_THAT(runner_.killed, ElementsAre(first, second));
}

// ---- what a job writes beside the files of its attempts ----

constexpr JobId kOther{4};

TEST_F(RoomTest, AJobThatWritesBesideItsAttemptsGivesWayBeforeOthers) {
  const AttemptId innocent = LaunchMap(0), filling = LaunchMapOf(kOther, 0);
  WriteRun(innocent, 2 * kMiB);
  const std::string shared = WriteBeside(kOther, "shared/x", 60 * kMiB);
  const std::string other = WriteBeside(kOther, "map/x", 40 * kMiB);
  room_ = 0;
  Advance(100 * kj::MILLISECONDS);
  EXPECT_THAT(runner_.killed, ElementsAre(filling));
  EXPECT_THAT(Said("failed job4.m.0.0: stopped"), testing::SizeIs(1));
  EXPECT_THAT(runner_.ended, ElementsAre(kOther)) << "its idle processes may write as well";
  for (const std::string& path : {shared, other})
    EXPECT_FALSE(Exists(path)) << path << " would stay until its job ends";
  EXPECT_TRUE(Exists(files_->Paths(innocent).run_file));
}

TEST_F(RoomTest, AJobWithoutAttemptsGivesWayToo) {
  const AttemptId filling = LaunchMapOf(kOther, 0);
  runner_.Finish(filling);
  RunReady();
  const std::string shared = WriteBeside(kOther, "shared/x", 60 * kMiB);
  Advance(1 * kj::SECONDS);
  room_ = 90 * kMiB;
  Advance(100 * kj::MILLISECONDS);
  EXPECT_THAT(runner_.ended, ElementsAre(kOther));
  EXPECT_FALSE(Exists(shared));
}

TEST_F(RoomTest, WhoGivesWayForAnotherJobHasNotFailed) {
  const AttemptId small = LaunchMap(0), large = LaunchMapOf(kOther, 0);
  WriteRun(small, 2 * kMiB);
  WriteRun(large, 3 * kMiB);
  room_ = 0;
  Advance(100 * kj::MILLISECONDS);
  EXPECT_THAT(runner_.killed, ElementsAre(large, small));
  EXPECT_THAT(Said("failed job4.m.0.0: stopped"), testing::SizeIs(1));
  EXPECT_THAT(Said("lost job3.m.0.0: stopped"), testing::SizeIs(1));
  EXPECT_THAT(Said("no room"), Not(IsEmpty())) << "or they would come again at once";
}

TEST_F(RoomTest, NoMoreAreStoppedThanAreNeededAndNoneWhileThoseGiveTheirRoom) {
  const AttemptId small = LaunchMap(0), large = LaunchMapOf(kOther, 0);
  WriteRun(small, 2 * kMiB);
  WriteRun(large, 70 * kMiB);
  room_ = 40 * kMiB;
  removing_ = true;
  Advance(5 * kj::SECONDS);
  EXPECT_THAT(runner_.killed, ElementsAre(large));
  room_ = 15 * kMiB;  // meanwhile something else writes
  Advance(100 * kj::MILLISECONDS);
  EXPECT_THAT(runner_.killed, ElementsAre(large, small));
}

TEST_F(RoomTest, OutputsThatAreServedAreNobodysFaultAndStay) {
  const AttemptId done = LaunchMapOf(kOther, 0), writing = LaunchMap(0);
  WriteRun(done, 20 * kMiB);
  runner_.Finish(done);
  RunReady();
  plane_.SetServedBytes(kOther, 20 * kMiB);
  WriteRun(writing, 2 * kMiB);
  room_ = 99 * kMiB;
  Advance(100 * kj::MILLISECONDS);
  EXPECT_THAT(runner_.killed, ElementsAre(writing));
  room_ = 1000 * kMiB;
  const AttemptId filling = LaunchMapOf(kOther, 1);
  const std::string shared = WriteBeside(kOther, "shared/x", 5 * kMiB);
  room_ = 99 * kMiB;
  Advance(100 * kj::MILLISECONDS);
  EXPECT_THAT(runner_.killed, ElementsAre(writing, filling));
  EXPECT_FALSE(Exists(shared));
  EXPECT_TRUE(Exists(files_->Paths(done).run_file));
}

TEST_F(RoomTest, WhatAJobHidesSpeaksAgainstIt) {
  const AttemptId innocent = LaunchMap(0), hiding = LaunchMapOf(kOther, 0);
  WriteRun(innocent, 5 * kMiB);
  std::string deep = files_->Paths(hiding).scratch;
  const Fd here = *OpenFile(deep, O_PATH | O_DIRECTORY);
  int at = dup(here.get());
  const std::string name(250, 'd');
  for (int i = 0; i < 20; ++i) {  // deeper than a path may be long
    ASSERT_EQ(mkdirat(at, name.c_str(), 0700), 0);
    const int next = openat(at, name.c_str(), O_PATH | O_DIRECTORY);
    close(at);
    at = next;
  }
  close(at);
  room_ = 99 * kMiB;
  Advance(100 * kj::MILLISECONDS);
  EXPECT_THAT(runner_.killed, ElementsAre(hiding));
}

}  // namespace
}  // namespace millrace::worker
