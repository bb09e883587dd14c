// SPDX-License-Identifier: Apache-2.0
// Tests the backups of a store: which of them are kept, and that no damage of one goes unseen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>

#include "base/file.h"
#include "base/kv/rocks_store.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
namespace fs = std::filesystem;

class BackupTest : public testing::Test {
 protected:
  BackupTest() : store_(*OpenRocksStore(directory_->path() + "/db")), backups_(directory_->path() + "/backups") {}

  void Put(const std::string& key, const std::string& value) {
    WriteBatch batch;
    batch.Put(key, value);
    ASSERT_TRUE(store_->Write(batch, Durability::kSynced).ok());
  }
  BackupFacts BackUp(const BackupPlan& plan) {
    const auto made = store_->BackUp(backups_, plan);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return made.ok() ? *made : BackupFacts();
  }
  std::vector<std::string> Numbers(const char* kind) { return *ListDirectory(backups_ + kind); }

  // Returns what the files are, by their paths: bytes and times.
  std::map<std::string, std::pair<std::string, fs::file_time_type>> Tree() {
    std::map<std::string, std::pair<std::string, fs::file_time_type>> tree;
    for (const auto& entry : fs::recursive_directory_iterator(backups_)) {
      tree[entry.path()] = {entry.is_directory() ? "" : *ReadWholeFile(entry.path()), entry.last_write_time()};
    }
    return tree;
  }
  Result<BackupFacts> Verify() {
    seen_.clear();
    return VerifyBackup(backups_, [this](const KeyValueStore& store) {
      return store.Scan({}, {}, [this](std::string_view key, std::string_view value) {
        return seen_[std::string(key)] = value, true;
      });
    });
  }

  Result<TempDir> directory_ = TempDir::Make("backup");
  std::unique_ptr<RocksStore> store_;
  std::string backups_;
  std::map<std::string, std::string> seen_;
};

TEST_F(BackupTest, TheLastOnesAreKeptAndTheOldestRemoved) {
  for (int i = 1; i <= 5; ++i) {
    Put("key" + std::to_string(i), "value");
    const BackupFacts facts = BackUp({"here", 3});
    EXPECT_EQ(facts.removed, i <= 3 ? 0u : 1u) << i;
    EXPECT_EQ(facts.operations, static_cast<std::uint64_t>(i));
  }
  EXPECT_THAT(Numbers("/meta"), ElementsAre("3", "4", "5"));
  EXPECT_THAT(Numbers("/seal"), ElementsAre("3", "4", "5"));
  EXPECT_EQ(BackUp({"here", 1}).removed, 3u);
  const auto verified = Verify();
  ASSERT_TRUE(verified.ok()) << verified.status().message();
  EXPECT_EQ(seen_.size(), 5u);
}

TEST_F(BackupTest, WithoutALimitAllAreKept) {
  for (int i = 0; i < 4; ++i) EXPECT_EQ(BackUp({"here", 0}).removed, 0u);
  EXPECT_EQ(Numbers("/meta").size(), 4u);
}

TEST_F(BackupTest, FilesOfOthersAndUnsealedBackupsStay) {
  BackUp({"here", 0});
  fs::remove(backups_ + "/seal/1");  // as one of an earlier version, which made no seals
  ASSERT_TRUE(WriteFileDurably(backups_ + "/notes", "mine").ok());
  ASSERT_TRUE(MakeDirectories(backups_ + "/other").ok());
  ASSERT_TRUE(WriteFileDurably(backups_ + "/other/1", "mine").ok());
  for (int i = 0; i < 3; ++i) BackUp({"here", 1});
  EXPECT_EQ(*ReadWholeFile(backups_ + "/notes"), "mine");
  EXPECT_EQ(*ReadWholeFile(backups_ + "/other/1"), "mine");
  EXPECT_THAT(Numbers("/meta"), ElementsAre("1", "4"));
}

TEST_F(BackupTest, ADirectoryOfAnotherClusterIsRefused) {
  BackUp({"here", 0});
  const auto refused = store_->BackUp(backups_, {"there", 1});
  EXPECT_EQ(refused.status().code(), StatusCode::kInvalid);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("backups of cluster \"here\""));
  EXPECT_THAT(Numbers("/meta"), ElementsAre("1"));
}

TEST_F(BackupTest, NothingIsRemovedWhenTheNewOneIsDamaged) {
  Put("key", std::string(5000, 'v'));
  BackUp({"here", 0});
  // The next backup shares this file, and cannot be read without it.
  for (const auto& entry : fs::directory_iterator(backups_ + "/shared_checksum")) {
    std::string bytes = *ReadWholeFile(entry.path());
    bytes[bytes.size() / 2] ^= 1;
    ASSERT_TRUE(WriteFileDurably(entry.path(), bytes).ok());
  }
  Put("other", "v");
  const auto refused = store_->BackUp(backups_, {"here", 1});
  EXPECT_EQ(refused.status().code(), StatusCode::kCorrupt) << refused.status().message();
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("no older one is removed"));
  EXPECT_THAT(Numbers("/meta"), ElementsAre("1", "2"));
}

TEST_F(BackupTest, VerifyingReadsTheLatestAndTouchesNothing) {
  Put("first", "1");
  BackUp({"here", 0});
  Put("second", "2");
  BackUp({"here", 0});
  Put("third", "3");
  const auto before = Tree();
  const auto verified = Verify();
  ASSERT_TRUE(verified.ok()) << verified.status().message();
  EXPECT_EQ(verified->operations, 2u);
  EXPECT_EQ(verified->owner, "here");
  EXPECT_GT(verified->made, 0);
  EXPECT_THAT(seen_, ElementsAre(testing::Pair("first", "1"), testing::Pair("second", "2")));
  EXPECT_EQ(Tree(), before);
}

TEST_F(BackupTest, WhatTheReaderRefusesFailsTheVerification) {
  Put("first", "1");
  BackUp({"here", 0});
  const auto refused = VerifyBackup(backups_, [](const KeyValueStore&) { return Corrupt("a record is not whole"); });
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("a record is not whole"));
}

TEST_F(BackupTest, EveryDamageOfTheLatestIsFound) {
  Put("older", "1");
  BackUp({"here", 0});
  for (int i = 0; i < 20; ++i) Put("key" + std::to_string(i), std::string(200, static_cast<char>('a' + i)));
  BackUp({"here", 0});
  // The files of the latest: those of the first alone would not matter.
  std::vector<std::string> files{backups_ + "/meta/2", backups_ + "/seal/2"};
  for (const auto& entry : fs::directory_iterator(backups_ + "/private/2")) files.push_back(entry.path());
  for (const auto& entry : fs::directory_iterator(backups_ + "/shared_checksum")) files.push_back(entry.path());
  ASSERT_GE(files.size(), 6u);
  for (const std::string& file : files) {
    const std::string whole = *ReadWholeFile(file);
    const auto expect_found = [&](const std::string& what) {
      const auto verified = Verify();
      EXPECT_FALSE(verified.ok()) << file << ": " << what;
    };
    const std::size_t step = std::max<std::size_t>(1, whole.size() / 40);
    for (std::size_t at = 0; at < whole.size(); at += step) {
      std::string bytes = whole;
      bytes[at] ^= static_cast<char>(1 << (at % 8));
      ASSERT_TRUE(WriteFileDurably(file, bytes).ok());
      expect_found("byte " + std::to_string(at) + " is another");
    }
    ASSERT_TRUE(WriteFileDurably(file, whole.substr(0, whole.size() - 1)).ok());
    expect_found("it is cut");
    ASSERT_TRUE(WriteFileDurably(file, whole + "x").ok());
    expect_found("it is longer");
    fs::remove(file);
    expect_found("it is gone");
    ASSERT_TRUE(WriteFileDurably(file, whole).ok());
  }
  const auto verified = Verify();
  EXPECT_TRUE(verified.ok()) << verified.status().message();
}

TEST_F(BackupTest, ADirectoryWithoutABackupIsSaidToHaveNone) {
  EXPECT_FALSE(Verify().ok());
  EXPECT_FALSE(fs::exists(backups_)) << "nothing is made";
  ASSERT_TRUE(MakeDirectories(backups_).ok());
  EXPECT_FALSE(Verify().ok());
  EXPECT_TRUE(fs::is_empty(backups_)) << "nothing is made";
}

// A restoration takes the last good one, and says so.
TEST_F(BackupTest, ADamagedOneIsPassedOverByARestoration) {
  Put("first", "1");
  BackUp({"here", 0});
  Put("second", "2");
  BackUp({"here", 0});
  std::string meta = *ReadWholeFile(backups_ + "/meta/2");
  meta[0] ^= 1;
  ASSERT_TRUE(WriteFileDurably(backups_ + "/meta/2", meta).ok());
  const auto restored = RestoreRocksStore(backups_, directory_->path() + "/new");
  ASSERT_TRUE(restored.ok()) << restored.status().message();
  ASSERT_EQ(restored->damaged.size(), 1u);
  EXPECT_THAT(restored->damaged[0], HasSubstr("backup 2"));
  const auto store = OpenRocksStore(directory_->path() + "/new");
  ASSERT_TRUE(store.ok());
  EXPECT_EQ(*(*store)->Get("first"), "1");
  EXPECT_EQ(*(*store)->Get("second"), std::nullopt);
}

TEST_F(BackupTest, ARestorationKnowsWhenItsBackupWasMade) {
  Put("first", "1");
  const BackupFacts made = BackUp({"here", 0});
  Micros seen = 0;
  ASSERT_TRUE(RestoreRocksStore(backups_, directory_->path() + "/new", [&seen](const BackupFacts& facts) {
                seen = facts.made;
                return WriteBatch();
              }).ok());
  EXPECT_EQ(seen, made.made);
  EXPECT_EQ(seen % kSecond, 0);
}

}  // namespace
}  // namespace millrace
