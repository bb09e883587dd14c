// SPDX-License-Identifier: Apache-2.0
// Tests the worker's directory (lock and identity, files of attempts, executables) and its options.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kj/async.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <limits>
#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/file.h"
#include "dfs/wire/log_archive.h"
#include "dfs/wire/path.h"
#include "tests/fakes/inline_background.h"
#include "worker/daemon/agent/executables.h"
#include "worker/daemon/agent/log_archiver.h"
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
  const auto files = DiskAttemptFiles::Open(directory_.path(), 0);
  ASSERT_TRUE(files.ok());
  EXPECT_NE(access((directory_.path() + "/jobs/1").c_str(), F_OK), 0) << "it has lost its name at once";
  (*files)->AwaitRemovals();
  EXPECT_THAT(*ListDirectory(directory_.path() + "/jobs"), IsEmpty());
  EXPECT_THAT(*ListDirectory(directory_.path() + "/logs/1"), ElementsAre("file"));
  EXPECT_THAT(*ListDirectory(directory_.path() + "/blocks/1"), ElementsAre("file"));
}

// Directories that others own and that nobody else may list, as a disk's own errors leave them. Only root can make
// them.
TEST_F(StorageTest, WhatCannotBeListedKeepsNoWorkerFromStarting) {
  if (geteuid() != 0) GTEST_SKIP() << "makes directories of another user";
  for (const std::string name : {"/jobs", "/logs"}) {
    ASSERT_TRUE(MakeDirectories(directory_.path() + name).ok());
    ASSERT_EQ(chmod((directory_.path() + name).c_str(), 0333), 0);
  }
  ASSERT_EQ(chmod(directory_.path().c_str(), 0755), 0);
  const pid_t child = fork();
  if (child == 0) {
    if (setresgid(65534, 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0) _exit(3);
    if (ListDirectory(directory_.path() + "/jobs").ok() || ListDirectory(directory_.path() + "/logs").ok()) _exit(4);
    const auto files = DiskAttemptFiles::Open(directory_.path(), 0);
    if (!files.ok()) _exit(5);
    _exit((*files)->Prepare(MapAttemptId(JobId{1}, 0, 0)).ok() ? 0 : 6);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// As nobody, if this is root: a worker of the package is not root.
TEST_F(StorageTest, WhatJobsLeftBehindKeepsNoWorkerFromStarting) {
  const std::string jobs = directory_.path() + "/jobs";
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0) {
      const bool nobody = chown(directory_.path().c_str(), 65534, 65534) == 0 && setresgid(65534, 65534, 65534) == 0 &&
                          setresuid(65534, 65534, 65534) == 0;
      if (!nobody) _exit(3);
    }
    bool made = MakeDirectories(jobs + "/1/scratch/go/pkg").ok() && MakeDirectories(jobs + "/2/none").ok() &&
                WriteFileDurably(jobs + "/1/scratch/go/pkg/file", "x").ok() &&
                mkfifo((jobs + "/pipe").c_str(), 0) == 0 && symlink("/etc", (jobs + "/3").c_str()) == 0;
    for (const char* closed : {"/1/scratch/go/pkg", "/1/scratch/go", "/1/scratch", "/1"})
      made = made && chmod((jobs + closed).c_str(), 0555) == 0;
    made = made && chmod((jobs + "/2").c_str(), 0) == 0 && chmod(jobs.c_str(), 0) == 0;
    if (!made) _exit(4);
    const auto files = DiskAttemptFiles::Open(directory_.path(), 0);
    if (!files.ok()) _exit(5);
    if (!(*files)->Prepare(MapAttemptId(JobId{1}, 0, 0)).ok()) _exit(6);  // the numbers are given again
    (*files)->AwaitRemovals();
    _exit(ListDirectory(jobs)->size() == 1 ? 0 : 7);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_THAT(*ListDirectory(jobs), ElementsAre("1"));
}

// As nobody, for the same reason.
TEST_F(StorageTest, WhatATaskForbidsToChangeIsMovedAsideAndRemovedAllTheSame) {
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0) {
      const bool nobody = chown(directory_.path().c_str(), 65534, 65534) == 0 && setresgid(65534, 65534, 65534) == 0 &&
                          setresuid(65534, 65534, 65534) == 0;
      if (!nobody) _exit(3);
    }
    const auto files = DiskAttemptFiles::Open(directory_.path(), 0);
    const AttemptId map = MapAttemptId(JobId{1}, 0, 0), running = MapAttemptId(JobId{1}, 1, 0);
    if (!files.ok() || !(*files)->Prepare(map).ok() || !(*files)->Prepare(running).ok()) _exit(4);
    const AttemptPaths paths = (*files)->Paths(map);
    if (!WriteFileDurably(paths.scratch + "/file", "x").ok() || !WriteFileDurably(paths.run_file, "x").ok()) _exit(5);
    for (const char* closed : {"/jobs/1/map", "/jobs/1/scratch"}) {
      if (chmod((directory_.path() + closed).c_str(), 0555) != 0) _exit(6);
    }
    (*files)->RemoveScratch(map);
    (*files)->RemoveRun(map);
    if (access(paths.scratch.c_str(), F_OK) == 0 || access(paths.run_file.c_str(), F_OK) == 0) _exit(7);
    (*files)->AwaitRemovals();
    _exit(ListDirectory(directory_.path() + "/jobs")->size() == 1 ? 0 : 8);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// Removes with turns of ten names. What is removed as a whole is told by the directory in which it lies.
TEST_F(StorageTest, ATreeThatTakesLongGivesWayToOthers) {
  const std::string top = directory_.path();
  ASSERT_TRUE(MakeDirectories(top + "/large").ok() && MakeDirectories(top + "/small").ok());
  for (int i = 0; i < 3000; ++i) Write(top + "/large/" + std::to_string(i), "");
  Write(top + "/small/file", "");
  const auto directories = *sandbox::TaskDirectories::Open({top});
  const Fd watch(inotify_init1(IN_CLOEXEC));
  ASSERT_GE(inotify_add_watch(watch.get(), top.c_str(), IN_DELETE), 0);
  Removals removals(directories, MakeSilentLog(), 10);
  removals.Add(top + "/large", top);
  removals.Add(top + "/small", top);
  removals.Await();
  alignas(inotify_event) char events[4096];
  ASSERT_GT(read(watch.get(), events, sizeof events), 0);
  EXPECT_STREQ(reinterpret_cast<const inotify_event*>(events)->name, ".removed-1") << "the small one is gone first";
  EXPECT_THAT(*ListDirectory(top), IsEmpty());
}

// A task that has the directory open fills it as fast as it is emptied.
TEST_F(StorageTest, ATreeThatIsFilledAllTheTimeHoldsNobody) {
  const std::string top = directory_.path();
  for (const char* name : {"/live/a/b/c", "/small"}) ASSERT_TRUE(MakeDirectories(top + name).ok());
  const auto directories = *sandbox::TaskDirectories::Open({top});
  const Fd live = *OpenFile(top + "/live", O_PATH | O_DIRECTORY);
  std::atomic<bool> over = false;
  std::thread task([&] {
    for (int i = 0; !over; ++i) {
      (void)mkdirat(live.get(), "a", 0700);
      (void)mkdirat(live.get(), ("a/" + std::to_string(i % 100)).c_str(), 0700);
    }
  });
  const Fd watch(inotify_init1(IN_CLOEXEC));
  ASSERT_GE(inotify_add_watch(watch.get(), top.c_str(), IN_DELETE), 0);
  Removals removals(directories, MakeSilentLog(), 10);
  removals.Add(top + "/live", top);
  removals.Add(top + "/small", top);
  alignas(inotify_event) char events[4096];
  EXPECT_GT(read(watch.get(), events, sizeof events), 0) << "waits until one of them is gone";
  over = true;
  task.join();
  removals.Await();
  EXPECT_FALSE(removals.IsBusy());
  EXPECT_THAT(*ListDirectory(top), IsEmpty());
}

TEST_F(StorageTest, WhatAnEarlierWorkerMovedAsideIsRemovedByTheNext) {
  for (const std::string name : {"jobs/.removed-0/a", "jobs/.removed-7/a", "logs/.removed-0/a", "jobs/1/a"})
    ASSERT_TRUE(MakeDirectories(directory_.path() + "/" + name).ok());
  const auto files = DiskAttemptFiles::Open(directory_.path(), 0);
  ASSERT_TRUE(files.ok());
  (*files)->AwaitRemovals();
  EXPECT_THAT(*ListDirectory(directory_.path() + "/jobs"), IsEmpty());
  EXPECT_THAT(*ListDirectory(directory_.path() + "/logs"), IsEmpty());
}

TEST_F(StorageTest, WhatATaskPutInTheWayOfTheNextAttemptGoes) {
  const auto files = DiskAttemptFiles::Open(directory_.path(), 0);
  const AttemptId first = MapAttemptId(JobId{1}, 0, 0), next = MapAttemptId(JobId{1}, 1, 0);
  ASSERT_TRUE((*files)->Prepare(first).ok());
  const AttemptPaths paths = (*files)->Paths(next);
  ASSERT_EQ(symlink("/etc", paths.scratch.c_str()), 0);
  ASSERT_TRUE((*files)->Prepare(next).ok());
  struct stat info = {};
  ASSERT_EQ(lstat(paths.scratch.c_str(), &info), 0);
  EXPECT_TRUE(S_ISDIR(info.st_mode));
  ASSERT_EQ(symlink("/etc", paths.run_file.c_str()), 0);
  (*files)->RemoveRun(next);
  (*files)->RemoveScratch(next);
  EXPECT_NE(lstat(paths.run_file.c_str(), &info), 0);
  EXPECT_NE(lstat(paths.scratch.c_str(), &info), 0);
}

TEST_F(StorageTest, LogsAreArchivedOnceAndAreCutInTheirMiddle) {
  const auto files = DiskAttemptFiles::Open(directory_.path(), 0);
  const AttemptId shorter = MapAttemptId(JobId{1}, 0, 0), longer = MapAttemptId(JobId{1}, 1, 0);
  ASSERT_TRUE((*files)->Prepare(shorter).ok());
  ASSERT_TRUE((*files)->Prepare(MapAttemptId(JobId{2}, 0, 0)).ok());
  Write((*files)->Paths(shorter).stderr_file, "short\n");
  Write((*files)->Paths(shorter).stdout_file, "");
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += "line " + std::to_string(i) + "\n";
  Write((*files)->Paths(longer).stdout_file, text);
  Write(directory_.path() + "/logs/1/process.err", "not of an attempt");
  ASSERT_EQ(symlink("/etc/passwd", (*files)->Paths(longer).stderr_file.c_str()), 0);
  EXPECT_THAT((*files)->ListUnarchived(), ElementsAre(JobId{1}, JobId{2}));
  std::string path, archive;
  const StoreFile store = [&](const std::string& at, const std::function<Status(const WriteBytes&)>& fill) {
    path = at;
    return fill([&](std::string_view bytes) {
      archive += bytes;
      return Status::Ok();
    });
  };
  constexpr std::uint64_t kMost = 10'006;
  ASSERT_TRUE(ArchiveLogs(**files, JobId{1}, NodeId{7}, kMost, store).ok());
  EXPECT_EQ(path, "/.millrace/logs/job1/node7");
  const auto reader = dfs::LogArchiveReader::Open(archive.size(), [&](std::uint64_t at, std::uint64_t size) {
    return Result<std::string>(archive.substr(at, size));
  });
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  ASSERT_EQ(reader->streams().size(), 2U);
  const auto read = [&](const AttemptId& id, bool standard_error) {
    std::string got;
    const dfs::ArchivedStream* stream = reader->Find(id, standard_error);
    EXPECT_NE(stream, nullptr);
    EXPECT_TRUE(stream != nullptr && reader->Read(*stream, [&](std::string_view piece) { got += piece; }).ok());
    return got;
  };
  EXPECT_EQ(read(shorter, true), "short\n");
  const std::string cut = read(longer, false);
  EXPECT_TRUE(cut.starts_with(text.substr(0, 5000)));
  EXPECT_TRUE(cut.ends_with(text.substr(text.size() - 5000)));
  EXPECT_THAT(cut, HasSubstr("\n==== " + std::to_string(text.size() - 10'000) + " of " + std::to_string(text.size()) +
                             " bytes of this log are left out here"));
  EXPECT_LT(cut.size(), kMost + 300);
  ASSERT_TRUE((*files)->NoteArchived(JobId{1}).ok());
  EXPECT_THAT((*files)->ListUnarchived(), ElementsAre(JobId{2}));
  // The note goes as the logs do, and not before.
  (*files)->SweepLogs(0, std::uint64_t{1} << 40);
  (*files)->AwaitRemovals();
  EXPECT_THAT((*files)->ListUnarchived(), ElementsAre(JobId{2}));
  (*files)->SweepLogs(std::numeric_limits<Micros>::max(), std::uint64_t{1} << 40);
  (*files)->AwaitRemovals();
  EXPECT_THAT(*ListDirectory(directory_.path() + "/logs"), IsEmpty());
}

TEST_F(StorageTest, ALogIsReadOnlyIfItIsOne) {
  const auto files = DiskAttemptFiles::Open(directory_.path(), 0);
  const AttemptId id = MapAttemptId(JobId{1}, 0, 0);
  ASSERT_TRUE((*files)->Prepare(id).ok());
  Write(directory_.path() + "/key", "a secret of the worker");
  const std::string log = (*files)->Paths(id).stderr_file;
  ASSERT_EQ(symlink((directory_.path() + "/key").c_str(), log.c_str()), 0);
  EXPECT_EQ((*files)->ReadLog(id, true, 0, 100).status().code(), StatusCode::kInvalid);
  EXPECT_EQ(TailOfFile((*files)->directories(), log, 100), "");
  ASSERT_EQ(unlink(log.c_str()), 0);
  ASSERT_EQ(link((directory_.path() + "/key").c_str(), log.c_str()), 0);
  EXPECT_THAT((*files)->ReadLog(id, true, 0, 100).status().message(), HasSubstr("another name"));
  ASSERT_EQ(unlink(log.c_str()), 0);
  ASSERT_EQ(mkfifo(log.c_str(), 0600), 0);
  EXPECT_EQ((*files)->ReadLog(id, true, 0, 100).status().code(), StatusCode::kInvalid) << "it does not wait either";
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
  std::vector<std::string> Left() {
    (*files_)->AwaitRemovals();
    return *ListDirectory((*files_)->logs_directory());
  }
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

TEST_F(LogSweepTest, WhoeverHasMostLogsLosesThem) {
  MakeLog(JobId{1}, 100, 100 * kSecond);
  MakeLog(JobId{2}, 900, 300 * kSecond);
  MakeLog(JobId{3}, 100, 200 * kSecond);
  (*files_)->SweepLogs(0, 500);
  EXPECT_THAT(Left(), ElementsAre("1", "3"));
}

TEST_F(LogSweepTest, WhatIsDatedInTheFutureIsAsOldAsTheDatingOfIt) {
  const Micros now = SystemClock().Now(), year = 365 * 24 * 3600 * kSecond;
  MakeLog(JobId{1}, 10, now + 10 * year);
  (*files_)->SweepLogs(now - kSecond, 1000);
  EXPECT_THAT(Left(), ElementsAre("1"));
  (*files_)->SweepLogs(now + year, 1000);
  EXPECT_THAT(Left(), IsEmpty());
}

// A process that is kept has their directory in its view of the files.
TEST_F(LogSweepTest, LogsOfJobsThatAreHereStay) {
  MakeLog(JobId{1}, 900, 100 * kSecond);
  MakeLog(JobId{2}, 400, 300 * kSecond);
  (*files_)->SweepLogs(200 * kSecond, 500, {JobId{1}});
  EXPECT_THAT(Left(), ElementsAre("1", "2")) << "and do not count for the others";
  (*files_)->SweepLogs(200 * kSecond, 500);
  EXPECT_THAT(Left(), ElementsAre("2"));
}

// A file that claims a length and takes nothing of the disk would otherwise have the logs of all others deleted.
TEST_F(LogSweepTest, AFileIsCountedByWhatItTakesOfTheDisk) {
  MakeLog(JobId{1}, 400, 100 * kSecond);
  MakeLog(JobId{2}, 400, 200 * kSecond);
  const std::string sparse = (*files_)->logs_directory() + "/2/job2.m.0.0.err";
  Write(sparse, "");
  ASSERT_EQ(truncate(sparse.c_str(), off_t{1} << 40), 0);
  (*files_)->SweepLogs(0, 1000);
  EXPECT_THAT(Left(), ElementsAre("1", "2"));
}

TEST_F(LogSweepTest, WhatIsNoLogGoes) {
  MakeLog(JobId{1}, 10, 300 * kSecond);
  const std::string logs = (*files_)->logs_directory() + "/1";
  ASSERT_TRUE(MakeDirectories(logs + "/hidden/deep").ok());
  Write(logs + "/hidden/deep/file", std::string(100'000, 'x'));
  ASSERT_EQ(mkfifo((logs + "/pipe").c_str(), 0600), 0);
  ASSERT_EQ(symlink("/etc", (logs + "/link").c_str()), 0);
  (*files_)->SweepLogs(0, 1000);
  EXPECT_THAT(*ListDirectory(logs), ElementsAre("job1.m.0.0.out"));
  (*files_)->AwaitRemovals();
  EXPECT_THAT(*ListDirectory((*files_)->logs_directory()), ElementsAre("1"));
}

TEST_F(StorageTest, TheTailOfALogIsWholeLines) {
  const auto directories = sandbox::TaskDirectories::Open({directory_.path()}).value();
  const std::string path = directory_.path() + "/log";
  Write(path, "first line\nsecond\nthird\n");
  EXPECT_EQ(TailOfFile(directories, path, 100), "first line\nsecond\nthird\n");
  EXPECT_EQ(TailOfFile(directories, path, 15), "second\nthird\n");
  EXPECT_EQ(TailOfFile(directories, directory_.path() + "/absent", 15), "");
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
    const auto free = [this](const std::string&) -> Result<std::uint64_t> { return free_ -= std::min(free_, taken_); };
    cache_ = std::move(*ExecutableCache::Open(directory_.path(), limit, fetch, background_, MakeSilentLog(),
                                              {.reserved_bytes = 1000, .free = free}));
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
  std::uint64_t free_ = 1'000'000, taken_ = 0;  // bytes of the disk, and how many go between two looks
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

// Length, crc32c and base name of a program are public, and whoever likes can make a file that has them.
TEST_F(ExecutablesTest, AnotherFileWithTheSameLengthCrcAndNameIsAnotherProgram) {
  Open(1000);
  content_ = "program";
  const auto forged = [](char digit) { return ExecutableId{"/bob/" + std::string(64, digit), 7, Crc32c("program")}; };
  const auto stored = [](char digit) {
    return ExecutableId{std::string(dfs::kExecutablesDirectory) + "/" + std::string(64, digit), 7, Crc32c("program")};
  };
  EXPECT_TRUE(Get(forged('a')).ok());
  EXPECT_EQ(Get(stored('a')).status().code(), StatusCode::kCorrupt);
  Result<std::string> bobs = Internal("not called"), anns = bobs;
  cache_->Get(forged('b'), [&](const Result<std::string>& path) { bobs = path; });
  cache_->Get(stored('b'), [&](const Result<std::string>& path) { anns = path; });
  scope_.poll();
  EXPECT_TRUE(bobs.ok()) << bobs.status().message();
  EXPECT_EQ(anns.status().code(), StatusCode::kCorrupt) << "at the same time";
  Open(1000);
  EXPECT_EQ(Get(stored('a')).status().code(), StatusCode::kCorrupt) << "after a restart";
}

TEST_F(ExecutablesTest, NoProgramIsTakenForAnUnfinishedCopyOfAnother) {
  Open(1000);
  content_ = "program";
  const auto id = [](const std::string& path) { return ExecutableId{path, 7, Crc32c("program")}; };
  const std::string path = *Get(id("/jobs/x.new"));
  EXPECT_TRUE(Get(id("/jobs/x")).ok());
  EXPECT_TRUE(ReadWholeFile(path).ok());
}

TEST_F(ExecutablesTest, AFetchLeavesTheReserveFree) {
  Open(1000);
  free_ = 1008;
  taken_ = 3;
  const auto refused = Get(IdOf("/a"));
  EXPECT_EQ(refused.status().code(), StatusCode::kNoSpace);
  EXPECT_THAT(refused.status().message(), HasSubstr("worker.reserved_bytes"));
  EXPECT_THAT(Files(), IsEmpty());
  free_ = 1'000'000;
  EXPECT_TRUE(Get(IdOf("/a")).ok());
}

TEST_F(ExecutablesTest, AFetchThatFailsLeavesNothing) {
  Open(1000);
  ExecutableId wrong = IdOf("/a");
  wrong.crc ^= 1;
  EXPECT_FALSE(Get(wrong).ok());
  EXPECT_THAT(Files(), IsEmpty());
  fetch_failure_ = Unavailable("no replica answers");
  EXPECT_FALSE(Get(IdOf("/b")).ok());
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(ExecutablesTest, WhatIsTooLargeForAProgramIsNotFetched) {
  Open(1000);
  ExecutableId large = IdOf("/a");
  large.bytes = kMostExecutableBytes + 1;
  const auto refused = Get(large);
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalid);
  EXPECT_THAT(refused.status().message(), HasSubstr("more than 1"));
  EXPECT_EQ(fetches_, 0);
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

TEST(CheckExecutableTest, AFileAmongTheExecutablesIsWhatItsNameSays) {
  const std::string digest(64, 'a'), other(64, 'b'), directory(dfs::kExecutablesDirectory);
  EXPECT_TRUE(dfs::CheckExecutable(directory + "/" + digest, digest).ok());
  for (const std::string& path :
       {"/" + other, "/x/" + other, std::string("/ann/prog"), "/.millrace/" + other, directory + "2/x"})
    EXPECT_TRUE(dfs::CheckExecutable(path, digest).ok()) << path;
  for (const std::string& name : {other, std::string("prog"), digest + ".new", digest + "/" + other, digest.substr(1)})
    EXPECT_EQ(dfs::CheckExecutable(directory + "/" + name, digest).code(), StatusCode::kCorrupt) << name;
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
