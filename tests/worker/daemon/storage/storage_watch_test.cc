// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/storage/storage_watch.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kj/timer.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>

#include "dfs/data/block_store.h"
#include "tests/fakes/inline_background.h"
#include "worker/daemon/process/attempt_files.h"
#include "worker/daemon/storage/storage_lock.h"

namespace millrace::worker {
namespace {

using testing::HasSubstr;

class DiskStorageProbeTest : public testing::Test {
 protected:
  DiskStorageProbeTest() {
    Random random(1);
    lock_.emplace(std::move(*StorageLock::Acquire(path_, random)));
    files_ = std::move(*DiskAttemptFiles::Open(path_, 0));
    blocks_ = std::move(*dfs::OpenDiskBlockStore(path_, 0));
    std::vector<std::string> parts = WorkerParts();
    for (const auto& more : {TaskParts(), BlockParts()}) parts.insert(parts.end(), more.begin(), more.end());
    auto probe = DiskStorageProbe::Make(path_, parts);
    EXPECT_TRUE(probe.ok()) << probe.status().message();
    probe_ = std::move(*probe);
  }

  TempDir directory_ = std::move(*TempDir::Make("storage"));
  std::string path_ = directory_.path() + "/worker";
  std::optional<StorageLock> lock_;
  std::unique_ptr<DiskAttemptFiles> files_;
  std::unique_ptr<dfs::BlockStore> blocks_;
  std::unique_ptr<DiskStorageProbe> probe_;
};

TEST_F(DiskStorageProbeTest, FindsNothingWrongWithStorageInUse) {
  EXPECT_TRUE(probe_->Check().ok());
  EXPECT_TRUE(probe_->Check().ok());
}

TEST_F(DiskStorageProbeTest, NoticesADirectoryThatWasDeletedWhollyOrInPart) {
  for (const char* part : {"/blocks/7f", "/writing", "/storage_id", ""}) {
    std::filesystem::remove_all(path_ + part);
    EXPECT_FALSE(probe_->Check().ok()) << part;
    EXPECT_FALSE(std::filesystem::exists(path_ + part)) << "a look must not make a new directory";
  }
}

TEST_F(DiskStorageProbeTest, NoticesAnotherDirectoryInItsPlace) {
  std::filesystem::rename(path_, path_ + ".old");
  std::filesystem::copy(path_ + ".old", path_, std::filesystem::copy_options::recursive);
  EXPECT_THAT(probe_->Check().message(), HasSubstr("is not the one"));
}

TEST_F(DiskStorageProbeTest, NoticesThatItCannotWrite) {
  rlimit usual = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &usual), 0);
  const auto was = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit none{0, usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  EXPECT_FALSE(probe_->Check().ok());
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &usual), 0);
  ::signal(SIGXFSZ, was);
  EXPECT_TRUE(probe_->Check().ok());
}

// A worker with thousands of connections has run out of descriptors, and has not lost its disk.
TEST_F(DiskStorageProbeTest, ALackOfDescriptorsSaysNothingOfTheDisk) {
  rlimit usual = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  const rlimit none{0, usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const bool exhausted = OpenFile(path_ + "/lock", O_RDONLY).status().code() != StatusCode::kOk;
  const Status healthy = probe_->Check();
  const bool removed = std::filesystem::remove(path_ + "/storage_id");
  const Status gone = probe_->Check();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &usual), 0);
  EXPECT_TRUE(exhausted);
  EXPECT_TRUE(healthy.ok()) << healthy.message();
  EXPECT_TRUE(removed);
  EXPECT_THAT(gone.message(), HasSubstr("storage_id"));
}

struct FakeProbe final : StorageProbe {
  Status Check() override { return ++looks, answer; }
  int looks = 0;
  Status answer;
};

TEST(StorageWatchTest, LooksEveryPeriodAndTellsOnce) {
  kj::EventLoop loop;
  kj::WaitScope scope(loop);
  kj::TimerImpl timer(kj::origin<kj::TimePoint>());
  rpc::InlineBackground background;
  FakeProbe probe;
  std::vector<std::string> told;
  StorageWatch watch(timer, background, probe, 3 * kSecond, [&](const Status& why) { told.push_back(why.message()); });
  watch.Start();
  const auto advance = [&](int seconds) {
    for (int i = 0; i < seconds; ++i) {
      timer.advanceTo(timer.now() + 1 * kj::SECONDS);
      scope.poll();
    }
  };
  advance(10);
  EXPECT_EQ(probe.looks, 3);
  EXPECT_TRUE(told.empty());
  probe.answer = Corrupt("no disk");
  advance(30);
  EXPECT_EQ(probe.looks, 4);
  EXPECT_THAT(told, testing::ElementsAre("no disk"));
}

}  // namespace
}  // namespace millrace::worker
