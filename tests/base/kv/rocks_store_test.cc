// SPDX-License-Identifier: Apache-2.0
// Tests what the store on RocksDB must do beyond the common contract: reopening, death of the process, damage, its
// size.
#include "base/kv/rocks_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/file.h"
#include "base/kv/committed_mark.h"
#include "base/kv/rocks_files.h"

namespace millrace {
namespace {

class RocksStoreTest : public testing::Test {
 protected:
  RocksStoreTest() : path_(directory_->path() + "/sub/db") {}

  std::unique_ptr<RocksStore> Open() {
    auto opened = OpenRocksStore(path_);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return opened.ok() ? std::move(*opened) : nullptr;
  }

  static void Put(KeyValueStore& store, std::string key, std::string value, Durability durability) {
    WriteBatch batch;
    batch.Put(std::move(key), std::move(value));
    ASSERT_TRUE(store.Write(batch, durability).ok());
  }

  // Returns the name of the log that has what was written since the store was opened.
  std::string NewestLog() {
    std::string newest;
    const auto names = ListDirectory(path_);
    for (const std::string& name : *names) {
      if (name.ends_with(".log")) newest = std::max(newest, name);
    }
    return path_ + "/" + newest;
  }

  static void Cut(const std::string& path, std::uint64_t bytes) {
    std::filesystem::resize_file(path, std::filesystem::file_size(path) - bytes);
  }
  std::string Refusal() {
    const auto opened = OpenRocksStore(path_);
    EXPECT_EQ(opened.status().code(), StatusCode::kCorrupt);
    return std::string(opened.status().message());
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

TEST_F(RocksStoreTest, ATornEndOfTheLogThatNobodyWasToldOfIsCutOff) {
  auto store = Open();
  Put(*store, "first", "1", Durability::kSynced);
  Put(*store, "second", std::string(1000, '2'), Durability::kBuffered);
  store.reset();
  Cut(NewestLog(), 500);
  store = Open();
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(*store->Get("first"), "1");
  EXPECT_EQ(*store->Get("second"), std::nullopt);
}

TEST_F(RocksStoreTest, AnAcknowledgedEndThatWasCutIsRefusedAndCanBePutBack) {
  auto store = Open();
  Put(*store, "first", "1", Durability::kSynced);
  Put(*store, "second", std::string(1000, '2'), Durability::kSynced);
  store.reset();
  const std::string log = NewestLog();
  const std::string bytes = *ReadWholeFile(log);
  Cut(log, 500);
  const std::string why = Refusal();
  EXPECT_NE(why.find("ends at operation 1 but 2 was acknowledged"), std::string::npos) << why;
  ASSERT_TRUE(WriteFileDurably(log, bytes).ok());
  store = Open();
  ASSERT_NE(store, nullptr) << "the refusal changed nothing";
  EXPECT_EQ(*store->Get("second"), std::string(1000, '2'));
}

TEST_F(RocksStoreTest, ADeletedLogIsRefused) {
  auto store = Open();
  for (int i = 0; i < 5; ++i) Put(*store, "key" + std::to_string(i), "v", Durability::kSynced);
  store.reset();
  ASSERT_EQ(::unlink(NewestLog().c_str()), 0);
  const std::string why = Refusal();
  EXPECT_NE(why.find("but 5 was acknowledged"), std::string::npos) << why;
}

TEST_F(RocksStoreTest, AnOlderCopyAndAnEmptyDirectoryAreRefused) {
  auto store = Open();
  Put(*store, "first", "1", Durability::kSynced);
  store.reset();
  std::filesystem::copy(path_, path_ + ".old");
  store = Open();
  Put(*store, "second", "2", Durability::kSynced);
  store.reset();
  std::filesystem::remove_all(path_);
  EXPECT_NE(Refusal().find("ends at operation 0 but 2"), std::string::npos) << Refusal();
  std::filesystem::remove_all(path_);
  std::filesystem::rename(path_ + ".old", path_);
  EXPECT_NE(Refusal().find("ends at operation 1 but 2"), std::string::npos) << Refusal();
}

TEST_F(RocksStoreTest, OpeningNeedsRoomForTheLogs) {
  auto store = Open();
  Put(*store, "first", std::string(100'000, '1'), Durability::kSynced);
  store.reset();
  const auto needed = rocks::RoomToOpen(path_);
  ASSERT_TRUE(needed.ok());
  EXPECT_GT(*needed, (std::uint64_t{16} << 20) + 100'000);
  EXPECT_LT(*needed, (std::uint64_t{16} << 20) + 200'000);
}

TEST_F(RocksStoreTest, OnAFullDiskItIsOpenedToBeReadAndWrittenWhenThereIsRoom) {
  Put(*Open(), "first", "1", Durability::kSynced);
  std::uint64_t free = 1'000'000;
  const auto opened = OpenRocksStore(path_, [&free](const std::string&) -> Result<std::uint64_t> { return free; });
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  RocksStore& store = **opened;
  const auto before = ListDirectory(path_);
  EXPECT_GT(store.room_needed(), free);
  EXPECT_EQ(*store.Get("first"), "1");
  WriteBatch second;
  second.Put("second", "2");
  const Status refused = store.Write(second, Durability::kSynced);
  EXPECT_EQ(refused.code(), StatusCode::kNoSpace);
  EXPECT_NE(refused.message().find("make room"), std::string::npos);
  EXPECT_EQ(store.BackUp(path_ + ".backup").status().code(), StatusCode::kNoSpace);
  EXPECT_EQ(*store.Get("second"), std::nullopt);
  EXPECT_EQ(*ListDirectory(path_), *before) << "nothing was written";
  free = store.room_needed();
  ASSERT_TRUE(store.Write(second, Durability::kSynced).ok());
  EXPECT_EQ(store.room_needed(), 0u);
  EXPECT_EQ(*store.Get("first"), "1");
  EXPECT_EQ(*store.Get("second"), "2");
  free = 0;
  Put(store, "third", "3", Durability::kBuffered);
  int keys = 0;
  EXPECT_TRUE(store.Scan({}, {}, [&keys](std::string_view, std::string_view) { return ++keys > 0; }).ok());
  EXPECT_EQ(keys, 3);
}

TEST_F(RocksStoreTest, OnAFullDiskNoDatabaseIsMade) {
  const auto opened = OpenRocksStore(path_, [](const std::string&) -> Result<std::uint64_t> { return 1000; });
  EXPECT_EQ(opened.status().code(), StatusCode::kNoSpace);
  EXPECT_FALSE(*rocks::HoldsDatabase(path_));
}

// ---- the spare log ----

constexpr std::uint64_t kSpare = std::uint64_t{1} << 20;

class SpareLogTest : public RocksStoreTest {
 protected:
  std::unique_ptr<RocksStore> OpenWithSpare() {
    auto opened = OpenRocksStore(
        path_, [this](const std::string&) -> Result<std::uint64_t> { return free_; }, kSpare);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return opened.ok() ? std::move(*opened) : nullptr;
  }
  std::uint64_t free_ = std::uint64_t{1} << 30;
};

TEST_F(SpareLogTest, TakesWritesOnAFullDiskWithoutTakingSpaceAlsoOverAStart) {
  auto store = OpenWithSpare();
  EXPECT_EQ(store->spare_left(), kSpare);
  Put(*store, "first", "1", Durability::kSynced);
  Put(*store, "gone", "1", Durability::kSynced);
  store->UseSpare(true);
  free_ = 0;
  const auto before = ListDirectory(path_);
  const auto size = std::filesystem::file_size(NewestLog());
  WriteBatch batch;
  batch.Remove("gone");
  batch.Put("second", "2");
  ASSERT_TRUE(store->Write(batch, Durability::kSynced).ok());
  EXPECT_EQ(*ListDirectory(path_), *before);
  EXPECT_EQ(std::filesystem::file_size(NewestLog()), size);
  EXPECT_EQ(std::filesystem::file_size(path_ + ".spare"), kSpare);
  EXPECT_LT(store->spare_left(), kSpare);
  EXPECT_EQ(store->BackUp(path_ + ".backup").status().code(), StatusCode::kNoSpace);

  store.reset();
  store = OpenWithSpare();  // to be read
  EXPECT_GT(store->room_needed(), 0u);
  EXPECT_EQ(*store->Get("first"), "1");
  EXPECT_EQ(*store->Get("gone"), std::nullopt);
  EXPECT_EQ(*store->Get("second"), "2");
  store->UseSpare(true);
  Put(*store, "third", "3", Durability::kSynced);

  store.reset();
  free_ = std::uint64_t{1} << 30;
  store = OpenWithSpare();
  EXPECT_EQ(store->spare_left(), kSpare) << "all of it is in the database";
  EXPECT_EQ(*store->Get("second"), "2");
  EXPECT_EQ(*store->Get("third"), "3");
  store.reset();
  std::filesystem::remove(path_ + ".spare");
  EXPECT_EQ(*Open()->Get("third"), "3");
}

TEST_F(SpareLogTest, GoesIntoTheDatabaseWhenThereIsRoom) {
  auto store = OpenWithSpare();
  store->UseSpare(true);
  Put(*store, "first", "1", Durability::kSynced);
  store->UseSpare(false);
  Put(*store, "first", "2", Durability::kSynced);
  EXPECT_EQ(store->spare_left(), kSpare);
  EXPECT_EQ(*store->Get("first"), "2");
  store.reset();
  EXPECT_EQ(*OpenWithSpare()->Get("first"), "2") << "nothing old is taken in again";
}

TEST_F(SpareLogTest, WhatDoesNotFitGoesIntoTheDatabase) {
  auto store = OpenWithSpare();
  store->UseSpare(true);
  Put(*store, "first", "1", Durability::kSynced);
  Put(*store, "large", std::string(kSpare, 'x'), Durability::kSynced);
  EXPECT_EQ(store->spare_left(), kSpare) << "after what came before";
  EXPECT_EQ(*store->Get("first"), "1");
}

TEST_F(SpareLogTest, ThatIsLostOrDamagedIsMissed) {
  auto store = OpenWithSpare();
  store->UseSpare(true);
  for (int i = 0; i < 5; ++i) Put(*store, "key" + std::to_string(i), "1", Durability::kSynced);
  store.reset();
  const auto whole = ReadWholeFile(path_ + ".spare");
  std::filesystem::remove(path_ + ".spare");
  EXPECT_NE(Refusal().find("was acknowledged"), std::string::npos) << Refusal();
  std::string damaged = *whole;
  damaged[100] ^= 1;
  ASSERT_TRUE(WriteFileDurably(path_ + ".spare", damaged).ok());
  EXPECT_NE(Refusal().find("was acknowledged"), std::string::npos) << Refusal();
  ASSERT_TRUE(WriteFileDurably(path_ + ".spare", *whole).ok());
  EXPECT_EQ(*Open()->Get("key4"), "1");
}

// It may have been written in part when the power was lost, over what an earlier full disk left.
TEST_F(SpareLogTest, RemainsOfEarlierTimesAreNotTakenIn) {
  auto store = OpenWithSpare();
  store->UseSpare(true);
  for (int i = 0; i < 3; ++i) Put(*store, "old" + std::to_string(i), "1", Durability::kSynced);
  store->UseSpare(false);
  WriteBatch gone;
  for (int i = 0; i < 3; ++i) gone.Remove("old" + std::to_string(i));
  ASSERT_TRUE(store->Write(gone, Durability::kSynced).ok());
  store->UseSpare(true);
  Put(*store, "new0", "1", Durability::kSynced);  // as long as the first of the old ones
  store.reset();
  store = OpenWithSpare();
  EXPECT_EQ(*store->Get("new0"), "1");
  for (int i = 0; i < 3; ++i) EXPECT_EQ(*store->Get("old" + std::to_string(i)), std::nullopt) << i;
}

TEST_F(SpareLogTest, IsNotTakenForThatOfAnOlderDatabase) {
  auto store = OpenWithSpare();
  Put(*store, "first", "1", Durability::kSynced);
  ASSERT_TRUE(store->BackUp(path_ + ".backup").ok());
  Put(*store, "second", "1", Durability::kSynced);
  store->UseSpare(true);
  Put(*store, "third", "1", Durability::kSynced);
  store.reset();
  std::filesystem::rename(path_, path_ + ".lost");
  ASSERT_TRUE(RestoreRocksStore(path_ + ".backup", path_).ok());
  EXPECT_TRUE(std::filesystem::exists(path_ + ".spare.damaged-1"));
  store = OpenWithSpare();
  EXPECT_EQ(*store->Get("first"), "1");
  EXPECT_EQ(*store->Get("third"), std::nullopt);
}

TEST_F(RocksStoreTest, ADatabaseWithoutItsMarkIsRefused) {
  auto store = Open();
  Put(*store, "first", "1", Durability::kSynced);
  store.reset();
  std::filesystem::remove(path_ + ".committed");
  EXPECT_NE(Refusal().find("is missing; put that file back"), std::string::npos) << Refusal();
}

TEST_F(RocksStoreTest, BackupsAreTakenWhileItIsOpenAndTheLatestIsRestored) {
  const std::string backups = directory_->path() + "/backups", copy = directory_->path() + "/copy/db";
  auto store = Open();
  Put(*store, "first", "1", Durability::kSynced);
  const auto first = store->BackUp(backups);
  ASSERT_TRUE(first.ok()) << first.status().message();
  Put(*store, "second", "2", Durability::kSynced);
  const auto second = store->BackUp(backups);
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_EQ(second->operations, 2u);
  EXPECT_GT(second->bytes, 0u);
  Put(*store, "third", "3", Durability::kSynced);

  EXPECT_EQ(RestoreRocksStore(backups, path_).status().code(), StatusCode::kExists);
  ASSERT_TRUE(MakeDirectories(directory_->path() + "/copy").ok());
  const auto restored = RestoreRocksStore(backups, copy);
  ASSERT_TRUE(restored.ok()) << restored.status().message();
  EXPECT_EQ(restored->operations, 2u);
  const auto again = OpenRocksStore(copy);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(*(*again)->Get("second"), "2");
  EXPECT_EQ(*(*again)->Get("third"), std::nullopt);
  EXPECT_FALSE(RestoreRocksStore(directory_->path() + "/none", path_ + "2").ok());
}

TEST_F(RocksStoreTest, ABackupTakesThePlaceOfADatabaseThatWasLost) {
  const std::string backups = directory_->path() + "/backups";
  auto store = Open();
  Put(*store, "first", "1", Durability::kSynced);
  ASSERT_TRUE(store->BackUp(backups).ok());
  Put(*store, "second", "2", Durability::kSynced);
  store.reset();
  std::filesystem::remove_all(path_);
  EXPECT_FALSE(OpenRocksStore(path_).ok());
  ASSERT_TRUE(RestoreRocksStore(backups, path_).ok());
  store = Open();
  ASSERT_NE(store, nullptr) << "the older end was accepted on purpose";
  EXPECT_EQ(*store->Get("first"), "1");
}

// Whoever opens it must learn that it may lack something, so the note is there before anybody can.
TEST_F(RocksStoreTest, ARestoredDatabaseHasItsNote) {
  const std::string backups = directory_->path() + "/backups";
  auto store = Open();
  Put(*store, "first", "1", Durability::kSynced);
  ASSERT_TRUE(store->BackUp(backups).ok());
  store.reset();
  std::filesystem::remove_all(path_);
  WriteBatch note;
  note.Put("note", "restored");
  const auto restored = RestoreRocksStore(backups, path_, [&note](const BackupFacts&) { return note; });
  ASSERT_TRUE(restored.ok()) << restored.status().message();
  EXPECT_EQ(restored->operations, 1u) << "the note is none of the operations that the backup had";
  store = Open();
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(*store->Get("first"), "1");
  EXPECT_EQ(*store->Get("note"), "restored");
}

// The remains are no longer a database, but a repair could still read them.
TEST_F(RocksStoreTest, WhatIsLeftOfADatabaseIsMovedAsideByARestoration) {
  const std::string backups = directory_->path() + "/backups";
  auto store = Open();
  Put(*store, "first", "1", Durability::kSynced);
  ASSERT_TRUE(store->BackUp(backups).ok());
  Put(*store, "second", "2", Durability::kSynced);
  store.reset();
  const std::string log = NewestLog();
  const std::string newer = *ReadWholeFile(log);
  std::filesystem::remove(path_ + "/CURRENT");
  ASSERT_TRUE(RestoreRocksStore(backups, path_).ok());
  const std::string aside = path_ + ".damaged-1" + log.substr(path_.size());
  const auto kept = ReadWholeFile(aside);
  ASSERT_TRUE(kept.ok()) << kept.status().message();
  EXPECT_EQ(*kept, newer);
  store = Open();
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(*store->Get("first"), "1");
}

class RepairTest : public RocksStoreTest {
 protected:
  RepairTest() {
    const auto store = Open();
    for (int i = 0; i < 10; ++i) Put(*store, "key" + std::to_string(i), std::string(1000, 'v'), Durability::kSynced);
  }
  RepairFacts Repair(bool apply) {
    keys_ = 0;
    const auto facts = RepairRocksStore(path_, apply, [this](const KeyValueStore& store, const RepairFacts&) {
      return store.Scan("", "", [this](std::string_view, std::string_view) { return ++keys_, true; });
    });
    EXPECT_TRUE(facts.ok()) << facts.status().message();
    return facts.ok() ? *facts : RepairFacts();
  }
  std::uint64_t keys_ = 0;
};

TEST_F(RepairTest, AHealthyDatabaseIsLeftAlone) {
  const RepairFacts facts = Repair(true);
  EXPECT_EQ(facts.problem, "");
  EXPECT_EQ(facts.aside, "");
  EXPECT_EQ(facts.operations, 10u);
  EXPECT_NE(Open(), nullptr);
}

TEST_F(RepairTest, ACutLogIsTriedDryThenForGood) {
  Cut(NewestLog(), 2500);
  const RepairFacts dry = Repair(false);
  EXPECT_NE(dry.problem.find("but 10 was acknowledged"), std::string::npos) << dry.problem;
  EXPECT_EQ(dry.operations, 7u);
  EXPECT_EQ(dry.acknowledged, 10u);
  EXPECT_EQ(keys_, 7u);
  EXPECT_FALSE(OpenRocksStore(path_).ok()) << "a dry run changes nothing";
  const RepairFacts done = Repair(true);
  EXPECT_EQ(done.operations, 7u);
  EXPECT_TRUE(std::filesystem::exists(done.aside));
  const auto store = Open();
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(*store->Get("key6"), std::string(1000, 'v'));
  EXPECT_EQ(*store->Get("key7"), std::nullopt);
}

TEST_F(RepairTest, ADamagedByteInTheLogEndsTheGoodState) {
  const std::string log = NewestLog();
  std::string bytes = *ReadWholeFile(log);
  bytes[3500] ^= 1;
  ASSERT_TRUE(WriteFileDurably(log, bytes).ok());
  EXPECT_EQ(Repair(true).operations, 3u);
  EXPECT_EQ(keys_, 3u);
  EXPECT_NE(Open(), nullptr);
}

// ---- leaving out what is damaged ----

TEST_F(RepairTest, LeavesOutADamagedRecordAndKeepsWhatIsBehindIt) {
  const std::string log = NewestLog();
  std::string bytes = *ReadWholeFile(log);
  bytes[3500] ^= 1;
  ASSERT_TRUE(WriteFileDurably(log, bytes).ok());
  bool mended = false;
  const auto repair = [&](bool apply) {
    keys_ = 0;
    const auto facts = RepairRocksStore(
        path_, apply,
        [this](const KeyValueStore& store, const RepairFacts&) {
          return store.Scan("", "", [this](std::string_view, std::string_view) { return ++keys_, true; });
        },
        [&mended](KeyValueStore& store,
                  const std::function<bool(std::string_view)>& is_newer) -> Result<std::vector<std::string>> {
          mended = true;
          EXPECT_FALSE(is_newer("key2"));
          EXPECT_TRUE(is_newer("key4"));
          WriteBatch batch;
          batch.Remove("key0");
          MILLRACE_TRY(store.Write(batch, Durability::kSynced));
          return std::vector<std::string>{"key0 went"};
        });
    EXPECT_TRUE(facts.ok()) << facts.status().message();
    return facts.ok() ? *facts : RepairFacts();
  };
  const RepairFacts dry = repair(false);
  ASSERT_EQ(dry.left_out.size(), 1u);
  EXPECT_EQ(dry.left_out[0].operations, 1u);
  EXPECT_EQ(dry.left_out[0].keys, std::vector<std::string>{"key3"});
  EXPECT_EQ(dry.kept_behind, 6u);
  EXPECT_EQ(dry.mended, std::vector<std::string>{"key0 went"});
  EXPECT_TRUE(mended);
  EXPECT_EQ(keys_, 8u);
  EXPECT_FALSE(OpenRocksStore(path_).ok()) << "a dry run changes nothing";
  EXPECT_NE(repair(true).aside, "");
  const auto store = Open();
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(*store->Get("key2"), std::string(1000, 'v'));
  EXPECT_EQ(*store->Get("key3"), std::nullopt);
  EXPECT_EQ(*store->Get("key9"), std::string(1000, 'v'));
}

TEST_F(RepairTest, TakesTheSpareLogAlong) {
  {
    auto store = OpenRocksStore(path_, FreeBytes, kSpare);
    ASSERT_TRUE(store.ok());
    Put(**store, "key10", "v", Durability::kSynced);
    (*store)->UseSpare(true);
    Put(**store, "key11", "v", Durability::kSynced);
  }
  const std::string log = NewestLog();
  std::string bytes = *ReadWholeFile(log);
  bytes[bytes.size() - 1] ^= 1;
  ASSERT_TRUE(WriteFileDurably(log, bytes).ok());
  const auto facts = RepairRocksStore(
      path_, true, [](const KeyValueStore&, const RepairFacts&) { return Status::Ok(); },
      [](KeyValueStore&, const auto&) -> Result<std::vector<std::string>> { return std::vector<std::string>(); });
  ASSERT_TRUE(facts.ok()) << facts.status().message();
  ASSERT_EQ(facts->left_out.size(), 1u);
  EXPECT_EQ(facts->left_out[0].operations, 1u);
  EXPECT_EQ(*Open()->Get("key10"), std::nullopt);
  EXPECT_EQ(*Open()->Get("key11"), "v");
}

// Every start fails on it.
TEST_F(RepairTest, ASpareLogThatDoesNotGoWithTheDatabaseIsNotSound) {
  const std::string old = path_ + ".old";
  std::filesystem::copy(path_, old);
  const std::string mark = *ReadWholeFile(path_ + ".committed");
  {
    auto store = OpenRocksStore(path_, FreeBytes, kSpare);
    ASSERT_TRUE(store.ok());
    Put(**store, "key10", "v", Durability::kSynced);
    (*store)->UseSpare(true);
    Put(**store, "key11", "v", Durability::kSynced);
  }
  std::filesystem::remove_all(path_);
  std::filesystem::rename(old, path_);
  ASSERT_TRUE(WriteFileDurably(path_ + ".committed", mark).ok());
  EXPECT_NE(Refusal().find("one of them is an older copy"), std::string::npos);
  EXPECT_NE(Repair(false).problem.find("one of them is an older copy"), std::string::npos);
  Repair(true);
  EXPECT_EQ(*Open()->Get("key9"), std::string(1000, 'v'));
  EXPECT_TRUE(std::filesystem::exists(path_ + ".spare.damaged-1"));
}

TEST_F(RepairTest, WithoutAManifestTheTablesAndLogsAreGathered) {
  const auto names = ListDirectory(path_);
  for (const std::string& name : *names) {
    if (name.starts_with("MANIFEST") || name == "CURRENT") std::filesystem::remove(path_ + "/" + name);
  }
  EXPECT_FALSE(OpenRocksStore(path_).ok());
  const RepairFacts facts = Repair(true);
  EXPECT_NE(facts.method.find("whatever"), std::string::npos) << facts.method;
  EXPECT_EQ(keys_, 10u);
  EXPECT_NE(Open(), nullptr);
}

TEST(CommittedMarkTest, RisesAndOutlivesATornSlot) {
  const auto directory = TempDir::Make("mark");
  const std::string path = directory->path() + "/mark";
  EXPECT_EQ(CommittedMark::Open(path).status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(CommittedMark::Make(path, 5).ok());
  {
    auto mark = CommittedMark::Open(path);
    ASSERT_TRUE(mark.ok());
    for (const std::uint64_t n : {7, 6, 9, 12}) EXPECT_TRUE(mark->Raise(n).ok());
    EXPECT_EQ(mark->number(), 12u);
  }
  EXPECT_EQ(CommittedMark::Open(path)->number(), 12u);
  const std::string bytes = *ReadWholeFile(path);
  for (const std::size_t slot : {0, 512}) {
    std::string torn = bytes;
    torn[slot + 9] ^= 1;
    ASSERT_TRUE(WriteFileDurably(path, torn).ok());
    const auto mark = CommittedMark::Open(path);
    ASSERT_TRUE(mark.ok());
    EXPECT_TRUE(mark->number() == 12u || mark->number() == 9u) << mark->number();
  }
  ASSERT_TRUE(WriteFileDurably(path, std::string(1024, 'x')).ok());
  EXPECT_EQ(CommittedMark::Open(path).status().code(), StatusCode::kCorrupt);
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
