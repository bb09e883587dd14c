// Tests the worker's directory (lock and identity, files of attempts, executables) and its options.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kj/async.h>
#include <sys/stat.h>

#include <fstream>
#include <optional>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "dfs/wire/path.h"
#include "worker/daemon/agent/executables.h"
#include "worker/daemon/agent/worker_config.h"
#include "worker/daemon/process/attempt_files.h"
#include "worker/daemon/storage/storage_lock.h"

namespace millrace::worker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

class StorageTest : public testing::Test {
 protected:
  TempDir directory_ = std::move(*TempDir::Make("worker_storage"));
  Random random_{42};
};

TEST_F(StorageTest, TheIdentityIsMadeOnceAndIsAUuid) {
  const std::string directory = directory_.path() + "/new";
  std::string first;
  {
    auto lock = StorageLock::Acquire(directory, random_);
    ASSERT_TRUE(lock.ok()) << lock.status().message();
    first = lock->id();
  }
  EXPECT_THAT(first, testing::MatchesRegex("[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"));
  EXPECT_EQ(StorageLock::Acquire(directory, random_)->id(), first);
}

TEST_F(StorageTest, TwoWorkersCannotShareADirectory) {
  const auto held = StorageLock::Acquire(directory_.path(), random_);
  ASSERT_TRUE(held.ok());
  const auto second = StorageLock::Acquire(directory_.path(), random_);
  EXPECT_EQ(second.status().code(), StatusCode::kBusy);
  EXPECT_THAT(second.status().message(), HasSubstr(directory_.path()));
}

TEST_F(StorageTest, ABrokenIdentityIsNotReplaced) {
  Write(directory_.path() + "/storage_id", "something else\n");
  EXPECT_EQ(StorageLock::Acquire(directory_.path(), random_).status().code(), StatusCode::kCorrupt);
  EXPECT_EQ(*ReadWholeFile(directory_.path() + "/storage_id"), "something else\n");
}

TEST_F(StorageTest, TheClusterOfADirectoryIsKept) {
  const std::string cluster = "0123456789abcdef0123456789abcdef";
  EXPECT_EQ(StorageLock::Acquire(directory_.path(), random_)->cluster(), "");
  ASSERT_TRUE(StoreClusterOf(directory_.path(), cluster).ok());
  EXPECT_EQ(StorageLock::Acquire(directory_.path(), random_)->cluster(), cluster);
}

TEST_F(StorageTest, WhatAMasterToldIsKeptAndWhatMakesNoSenseIsNothing) {
  EXPECT_EQ(StorageLock::Acquire(directory_.path(), random_)->told(), Moment());
  ASSERT_TRUE(StoreTold(directory_.path(), {5, 6}).ok());
  EXPECT_EQ(StorageLock::Acquire(directory_.path(), random_)->told(), (Moment{5, 6}));
  Write(directory_.path() + "/told", "something else\n");
  const auto lock = StorageLock::Acquire(directory_.path(), random_);
  ASSERT_TRUE(lock.ok()) << "it is no reason not to start";
  EXPECT_EQ(lock->told(), Moment());
}

TEST_F(StorageTest, ABrokenClusterIsNotTakenForNone) {
  for (const std::string text : {"", "something else\n", "0123456789ABCDEF0123456789ABCDEF\n"}) {
    Write(directory_.path() + "/cluster_id", text);
    const auto lock = StorageLock::Acquire(directory_.path(), random_);
    EXPECT_EQ(lock.status().code(), StatusCode::kCorrupt);
    EXPECT_THAT(lock.status().message(), HasSubstr("cluster_id"));
  }
}

TEST_F(StorageTest, JobsOfAnEarlierIncarnationAreDeletedAndBlocksAndLogsStay) {
  for (const std::string name : {"jobs", "logs", "blocks"}) {
    ASSERT_TRUE(MakeDirectories(directory_.path() + "/" + name + "/1").ok());
    Write(directory_.path() + "/" + name + "/1/file", "x");
  }
  ASSERT_TRUE(DiskAttemptFiles::Open(directory_.path(), 0).ok());
  EXPECT_THAT(*ListDirectory(directory_.path() + "/jobs"), IsEmpty());
  EXPECT_THAT(*ListDirectory(directory_.path() + "/logs/1"), ElementsAre("file"));
  EXPECT_THAT(*ListDirectory(directory_.path() + "/blocks/1"), ElementsAre("file"));
}

TEST_F(StorageTest, AFullDiskRefusesAttempts) {
  const auto files = DiskAttemptFiles::Open(directory_.path(), std::uint64_t{1} << 60);
  const Status status = (*files)->Prepare(MapAttemptId(JobId{1}, 2, 0));
  EXPECT_EQ(status.code(), StatusCode::kNoSpace);
  EXPECT_THAT(status.message(), HasSubstr("worker.reserved_bytes"));
  EXPECT_FALSE((*files)->HasRoom());
  EXPECT_TRUE((*DiskAttemptFiles::Open(directory_.path(), 0))->HasRoom());
}

class LogSweepTest : public StorageTest {
 protected:
  void MakeLog(JobId job, std::size_t bytes, Micros written) {
    const std::string path = (*files_)->logs_directory() + "/" + std::to_string(job.value);
    ASSERT_TRUE(MakeDirectories(path).ok());
    Write(path + "/job1.m.0.0.out", std::string(bytes, 'x'));
    const timespec time = {written / kSecond, (written % kSecond) * 1000};
    const timespec both[2] = {time, time};
    ASSERT_EQ(utimensat(AT_FDCWD, (path + "/job1.m.0.0.out").c_str(), both, 0), 0);
    ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), both, 0), 0);
  }
  std::vector<std::string> Left() { return *ListDirectory((*files_)->logs_directory()); }
  Result<std::unique_ptr<DiskAttemptFiles>> files_ = DiskAttemptFiles::Open(directory_.path(), 0);
};

TEST_F(LogSweepTest, LogsLongUnwrittenGo) {
  MakeLog(JobId{1}, 10, 100 * kSecond);
  MakeLog(JobId{2}, 10, 200 * kSecond);
  MakeLog(JobId{3}, 10, 300 * kSecond);
  (*files_)->SweepLogs(200 * kSecond, 1000);
  EXPECT_THAT(Left(), ElementsAre("2", "3"));
}

TEST_F(LogSweepTest, TheOldestGoUntilTheRestFits) {
  MakeLog(JobId{1}, 400, 300 * kSecond);
  MakeLog(JobId{2}, 400, 100 * kSecond);
  MakeLog(JobId{3}, 400, 200 * kSecond);
  (*files_)->SweepLogs(0, 500);
  EXPECT_THAT(Left(), ElementsAre("1"));
}

TEST_F(StorageTest, TheTailOfALogIsWholeLines) {
  const std::string path = directory_.path() + "/log";
  Write(path, "first line\nsecond\nthird\n");
  EXPECT_EQ(TailOfFile(path, 100), "first line\nsecond\nthird\n");
  EXPECT_EQ(TailOfFile(path, 15), "second\nthird\n");
  EXPECT_EQ(TailOfFile(directory_.path() + "/absent", 15), "");
}

class ExecutablesTest : public StorageTest {
 protected:
  ~ExecutablesTest() noexcept override = default;
  void Open(std::uint64_t limit) {
    const FetchFile fetch = [this](const std::string& path, const std::function<bool(std::string_view)>& sink) {
      ++fetches_;
      if (!fetch_failure_.ok()) return fetch_failure_;
      const std::string bytes = content_.value_or(ContentOf(path));
      for (std::size_t at = 0; at < bytes.size(); at += 3) {
        if (!sink(std::string_view(bytes).substr(at, 3))) return Cancelled("the sink stopped");
      }
      return Status::Ok();
    };
    cache_ = std::move(*ExecutableCache::Open(directory_.path(), limit, fetch, background_, MakeSilentLog()));
  }
  static std::string ContentOf(const std::string& path) { return "program " + path; }
  static ExecutableId IdOf(const std::string& path) { return {path, ContentOf(path).size(), Crc32c(ContentOf(path))}; }
  Result<std::string> Get(const ExecutableId& id) {
    Result<std::string> got = Internal("not called");
    cache_->Get(id, [&](const Result<std::string>& path) { got = path; });
    scope_.poll();
    return got;
  }
  std::vector<std::string> Files() { return *ListDirectory(directory_.path() + "/executables"); }

  kj::EventLoop loop_;
  kj::WaitScope scope_{loop_};
  rpc::InlineBackground background_;
  int fetches_ = 0;
  Status fetch_failure_;
  std::optional<std::string> content_;  // of every file, instead of ContentOf
  std::unique_ptr<ExecutableCache> cache_;
};

TEST_F(ExecutablesTest, AreFetchedOnceAndCanBeExecuted) {
  Open(1000);
  const auto path = Get(IdOf("/jobs/wordcount"));
  ASSERT_TRUE(path.ok()) << path.status().message();
  EXPECT_EQ(*ReadWholeFile(*path), "program /jobs/wordcount");
  struct stat info = {};
  ASSERT_EQ(stat(path->c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0755U);
  EXPECT_EQ(*Get(IdOf("/jobs/wordcount")), *path);
  EXPECT_EQ(fetches_, 1);
}

TEST_F(ExecutablesTest, AreUsedAgainByTheNextIncarnationIfTheirBytesAreRight) {
  Open(1000);
  const std::string path = *Get(IdOf("/a"));
  Open(1000);
  EXPECT_TRUE(Get(IdOf("/a")).ok());
  EXPECT_EQ(fetches_, 1);
  Write(path, "program /b");  // as long, but another
  Open(1000);
  EXPECT_EQ(*ReadWholeFile(*Get(IdOf("/a"))), "program /a");
  EXPECT_EQ(fetches_, 2);
}

TEST_F(ExecutablesTest, WrongBytesAreRefused) {
  Open(1000);
  ExecutableId id = IdOf("/a");
  id.crc ^= 1;
  EXPECT_EQ(Get(id).status().code(), StatusCode::kCorrupt);
  id = IdOf("/a");
  id.bytes -= 1;
  EXPECT_EQ(Get(id).status().code(), StatusCode::kCorrupt);
}

TEST_F(ExecutablesTest, WhatAUserStoresUnderTheDigestOfAnotherProgramIsRefused) {
  Open(1000);
  const std::string directory(dfs::kExecutablesDirectory);
  const std::string wrong = directory + "/" + std::string(64, 'a');
  const auto refused = Get(IdOf(wrong));
  EXPECT_EQ(refused.status().code(), StatusCode::kCorrupt);
  EXPECT_THAT(refused.status().message(), HasSubstr("is not what its name says"));
  EXPECT_THAT(Files(), testing::Not(testing::Contains(HasSubstr("aaaa-")))) << "it is not kept";
  content_ = "program";  // sha256sum of this
  const std::string right = directory + "/1310ca2c8932dbd118668bd97442558a3e1f546b5e15c69699dfbd6024f548d8";
  EXPECT_TRUE(Get({right, 7, Crc32c("program")}).ok());
}

TEST_F(ExecutablesTest, AFailedFetchIsToldAndTriedAgainNextTime) {
  Open(1000);
  fetch_failure_ = Unavailable("no replica answers");
  const auto failed = Get(IdOf("/a"));
  EXPECT_EQ(failed.status().code(), StatusCode::kUnavailable);
  EXPECT_THAT(failed.status().message(), HasSubstr("\"/a\""));
  fetch_failure_ = Status::Ok();
  EXPECT_TRUE(Get(IdOf("/a")).ok());
}

TEST_F(ExecutablesTest, TheLongestUnusedGoWhenTheCacheIsFullButNoneInUse) {
  Open(ContentOf("/a").size() * 2);
  const std::string used = *Get(IdOf("/a"));
  const std::string old = *Get(IdOf("/b"));
  cache_->Release(IdOf("/b"));
  const std::string fresh = *Get(IdOf("/c"));
  scope_.poll();
  EXPECT_EQ(Files().size(), 2U);
  EXPECT_TRUE(ReadWholeFile(used).ok());
  EXPECT_TRUE(ReadWholeFile(fresh).ok());
  EXPECT_EQ(ReadWholeFile(old).status().code(), StatusCode::kNotFound);
}

TEST(WorkerConfigTest, WhatMustBeGivenIsAskedFor) {
  WorkerConfig config;
  OptionSet options = DeclareWorkerOptions(&config);
  EXPECT_THAT(CheckWorkerConfig(config).message(), HasSubstr("worker.directory"));
  ASSERT_TRUE(options.SetPair("worker.directory=/data").ok());
  EXPECT_TRUE(CheckWorkerConfig(config).ok());
  ASSERT_TRUE(options.SetPair("worker.master=nowhere").ok());
  EXPECT_THAT(CheckWorkerConfig(config).message(), HasSubstr("worker.master"));
}

}  // namespace
}  // namespace millrace::worker
