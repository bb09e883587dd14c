// What RocksDB owes beyond the common contract: reopening, death of the process, damage, its footprint.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

#include "base/file.h"
#include "base/kv/key_value_store.h"

namespace millrace {
namespace {

class RocksStoreTest : public testing::Test {
 protected:
  RocksStoreTest() : path_(directory_->path() + "/sub/db") {}

  std::unique_ptr<KeyValueStore> Open() {
    auto opened = OpenRocksStore(path_);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return opened.ok() ? std::move(*opened) : nullptr;
  }

  static void Put(KeyValueStore& store, std::string key, std::string value, Durability durability) {
    WriteBatch batch;
    batch.Put(std::move(key), std::move(value));
    ASSERT_TRUE(store.Write(batch, durability).ok());
  }

  // The log that holds what was written since the store was opened.
  std::string NewestLog() {
    std::string newest;
    const auto names = ListDirectory(path_);
    for (const std::string& name : *names) {
      if (name.ends_with(".log")) newest = std::max(newest, name);
    }
    return path_ + "/" + newest;
  }

  Result<TempDir> directory_ = TempDir::Make("rocks");
  std::string path_;
};

TEST_F(RocksStoreTest, ReopeningFindsEverything) {
  for (int round = 0; round < 3; ++round) {
    const auto store = Open();
    ASSERT_NE(store, nullptr);
    for (int i = 0; i < round; ++i) {
      EXPECT_EQ(*store->Get("synced" + std::to_string(i)), std::string(100, 's'));
      EXPECT_EQ(*store->Get("buffered" + std::to_string(i)), "b");
    }
    Put(*store, "synced" + std::to_string(round), std::string(100, 's'), Durability::kSynced);
    Put(*store, "buffered" + std::to_string(round), "b", Durability::kBuffered);
  }
}

TEST_F(RocksStoreTest, TwoOpenersOneIsTurnedAway) {
  auto store = Open();
  const auto second = OpenRocksStore(path_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.status().code(), StatusCode::kBusy);
  EXPECT_NE(second.status().message().find(path_), std::string::npos);
  store.reset();
  EXPECT_NE(Open(), nullptr);
}

TEST_F(RocksStoreTest, ADirectoryThatCannotBeMade) { EXPECT_FALSE(OpenRocksStore("/dev/null/db").ok()); }

TEST_F(RocksStoreTest, AKilledProcessLosesNothingItAcknowledged) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd acknowledged(ends[0]);
  Fd writer_end(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, writer_end.get(), STDOUT_FILENO);
  std::string program = MILLRACE_KV_WRITER;
  char* arguments[] = {program.data(), path_.data(), nullptr};
  pid_t writer = 0;
  ASSERT_EQ(::posix_spawn(&writer, program.c_str(), &actions, nullptr, arguments, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  writer_end.Close();
  std::uint64_t last = 0;
  for (int i = 0; i < 100; ++i) ASSERT_EQ(::read(acknowledged.get(), &last, sizeof last), ssize_t{sizeof last});
  ASSERT_EQ(::kill(writer, SIGKILL), 0);
  int status = 0;
  ASSERT_EQ(::waitpid(writer, &status, 0), writer);
  EXPECT_TRUE(WIFSIGNALED(status));
  std::uint64_t later = 0;
  while (::read(acknowledged.get(), &later, sizeof later) == ssize_t{sizeof later}) last = later;

  const auto store = Open();
  ASSERT_NE(store, nullptr);
  std::uint64_t found = 0;
  ASSERT_TRUE(store
                  ->Scan("", "",
                         [&](std::string_view key, std::string_view value) {
                           EXPECT_EQ(ParseKeyNumber(key), found);
                           EXPECT_EQ(value, "value " + std::to_string(found));
                           ++found;
                           return true;
                         })
                  .ok());
  EXPECT_GE(last, 99u);
  EXPECT_GT(found, last);
}

TEST_F(RocksStoreTest, ATornEndOfTheLogIsCutOff) {
  auto store = Open();
  Put(*store, "first", "1", Durability::kSynced);
  Put(*store, "second", std::string(1000, '2'), Durability::kSynced);
  store.reset();
  const std::string log = NewestLog();
  const std::uint64_t size = ReadWholeFile(log)->size();
  ASSERT_EQ(::truncate(log.c_str(), static_cast<off_t>(size - 500)), 0);
  store = Open();
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(*store->Get("first"), "1");
  EXPECT_EQ(*store->Get("second"), std::nullopt);
}

TEST_F(RocksStoreTest, DamageBeforeTheEndIsCorruptionNotAShorterHistory) {
  auto store = Open();
  for (int i = 0; i < 10; ++i) Put(*store, "key" + std::to_string(i), std::string(1000, 'v'), Durability::kSynced);
  store.reset();
  const std::string log = NewestLog();
  std::string bytes = *ReadWholeFile(log);
  bytes[3500] ^= 1;
  ASSERT_TRUE(WriteFileDurably(log, bytes).ok());
  const auto opened = OpenRocksStore(path_);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().code(), StatusCode::kCorrupt) << opened.status().message();
  EXPECT_EQ(opened.status().message().find('\n'), std::string::npos);
}

TEST_F(RocksStoreTest, DamagedManifestIsCorruption) {
  Open().reset();
  ASSERT_TRUE(WriteFileDurably(path_ + "/CURRENT", "MANIFEST-999999\n").ok());
  const auto opened = OpenRocksStore(path_);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.status().code(), StatusCode::kCorrupt) << opened.status().message();
}

TEST_F(RocksStoreTest, ItsOwnLogFilesAreFew) {
  for (int i = 0; i < 8; ++i) ASSERT_NE(Open(), nullptr);
  const auto names = ListDirectory(path_);
  EXPECT_LE(std::count_if(names->begin(), names->end(), [](const auto& name) { return name.starts_with("LOG"); }), 3);
}

}  // namespace
}  // namespace millrace
