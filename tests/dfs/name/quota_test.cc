// SPDX-License-Identifier: Apache-2.0
// Tests the rules of quotas (dfs/name/namespace.h), one at a time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dfs/name/namespace.h"
#include "dfs/name/namespace_codec.h"
#include "tests/dfs/name/block_numbers.h"
#include "tests/fakes/memory_store.h"

namespace millrace::dfs {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::uint64_t kQuotaMiB = std::uint64_t{1} << 20;

class QuotaTest : public testing::Test {
 protected:
  static CreateOptions Options(const std::string& owner = "ann") {
    return {.replication = 3, .block_size = 4 * kQuotaMiB, .owner = owner};
  }
  // Writes a file of one block of this length.
  void Write(std::string_view path, std::uint64_t length, const std::string& owner = "ann") {
    const FileId file = *names_->Create(path, Options(owner), 5, &batch_);
    const std::vector<Block> blocks = {{*names_->AddBlock(file, &batch_), length, 1}};
    ASSERT_TRUE(names_->Complete(file, blocks, 7, &batch_, &freed_).ok());
  }
  void Set(std::string_view path, const Quota& quota) { ASSERT_TRUE(names_->SetQuota(path, quota, &batch_).ok()); }
  Use UseOn(std::string_view path) { return names_->QuotasOn(path).back().use; }
  void Reload() {
    ASSERT_TRUE(store_->Write(batch_, Durability::kSynced).ok());
    batch_ = {};
    names_ = std::make_unique<Namespace>(SeededNumbers(8));
    ASSERT_TRUE(names_->Load(*store_).ok());
  }

  std::unique_ptr<KeyValueStore> store_ = MakeMemoryStore();
  std::unique_ptr<Namespace> names_ = std::make_unique<Namespace>(SeededNumbers(7));
  WriteBatch batch_;
  std::vector<BlockId> freed_;
};

TEST_F(QuotaTest, CountsReplicasAndWhatIsBelowButNotTheDirectoryItself) {
  Write("/d/a/f", 100);
  Set("/d", {.bytes = 1000, .entries = 10});
  EXPECT_EQ(UseOn("/d"), (Use{.bytes = 300, .entries = 2}));
  Write("/d/g", 50);
  EXPECT_EQ(UseOn("/d/a/f"), (Use{.bytes = 450, .entries = 3})) << "the quota binds what is below";
  Reload();
  EXPECT_EQ(UseOn("/d"), (Use{.bytes = 450, .entries = 3}));
  EXPECT_EQ(names_->QuotasOn("/d")[0].quota, (Quota{.bytes = 1000, .entries = 10}));
}

TEST_F(QuotaTest, ABlockCountsInFullUntilTheFileIsClosed) {
  ASSERT_TRUE(names_->MakeDirectory("/d", "ann", 1, &batch_).ok());
  Set("/d", {.bytes = 30 * kQuotaMiB});
  const FileId file = *names_->Create("/d/f", Options(), 5, &batch_);
  EXPECT_TRUE(names_->CheckRoomForBlock(file).ok());
  const BlockId first = *names_->AddBlock(file, &batch_);
  EXPECT_EQ(names_->QuotasOn("/d")[0].reserved, (Use{.bytes = 12 * kQuotaMiB, .entries = 1}));
  ASSERT_TRUE(names_->CheckRoomForBlock(file).ok());
  const BlockId second = *names_->AddBlock(file, &batch_);
  const Status full = names_->CheckRoomForBlock(file);
  EXPECT_EQ(full.code(), StatusCode::kNoSpace);
  EXPECT_EQ(full.message(),
            "write \"/d/f\": the quota of directory \"/d\" is 30 MiB with all replicas, of which 0 B are in use and "
            "24 MiB reserved for files being written, and this takes 12 MiB more (a block counts with its full "
            "size, 4 MiB times 3, until the file is closed); remove what is not needed there, or ask an "
            "administrator for more (fs quota set)");
  // A sync gives back what the block does not need; so do DropBlock and Complete.
  ASSERT_TRUE(names_->Sync(file, 0, {{first, kQuotaMiB, 1}}, &batch_).ok());
  EXPECT_EQ(names_->QuotasOn("/d")[0].reserved.bytes, 3 * kQuotaMiB + 12 * kQuotaMiB);
  Reload();
  EXPECT_EQ(names_->QuotasOn("/d")[0].reserved.bytes, 3 * kQuotaMiB + 12 * kQuotaMiB);
  ASSERT_TRUE(names_->DropBlock(file, second, &batch_).ok());
  EXPECT_EQ(names_->QuotasOn("/d")[0].reserved.bytes, 3 * kQuotaMiB);
  ASSERT_TRUE(names_->Complete(file, {{first, kQuotaMiB, 1}}, 6, &batch_, &freed_).ok());
  EXPECT_EQ(names_->QuotasOn("/d")[0].reserved, Use());
  EXPECT_EQ(UseOn("/d"), (Use{.bytes = 3 * kQuotaMiB, .entries = 1}));
}

// The attempts of a job get their space back when others end. That is not so once the space is taken for good.
TEST_F(QuotaTest, TellsWhatIsInTheWayForGoodFromWhatOthersReserve) {
  ASSERT_TRUE(names_->MakeDirectory("/d", "ann", 1, &batch_).ok());
  Set("/d", {.bytes = 20 * kQuotaMiB, .entries = 2});
  const FileId one = *names_->Create("/d/one", Options(), 5, &batch_);
  const FileId two = *names_->Create("/d/two", Options(), 5, &batch_);
  const BlockId block = *names_->AddBlock(one, &batch_);
  EXPECT_FALSE(names_->CheckRoomForBlock(two).ok());
  EXPECT_TRUE(names_->CheckRoomForBlock(two, false).ok());
  EXPECT_FALSE(names_->CheckRoomForBlock(one, false).ok()) << "its own blocks count";
  EXPECT_FALSE(names_->CheckRoomForFile("/d/three", Options()).ok());
  EXPECT_TRUE(names_->CheckRoomForFile("/d/three", Options(), false).ok());
  ASSERT_TRUE(names_->Complete(one, {{block, 4 * kQuotaMiB, 1}}, 6, &batch_, &freed_).ok());
  EXPECT_FALSE(names_->CheckRoomForBlock(two, false).ok());
}

TEST_F(QuotaTest, EntriesCountWithTheParentsThatAreMissing) {
  ASSERT_TRUE(names_->MakeDirectory("/d", "ann", 1, &batch_).ok());
  Set("/d", {.entries = 2});
  EXPECT_TRUE(names_->CheckRoomForFile("/d/a/f", Options()).ok());
  EXPECT_FALSE(names_->CheckRoomForFile("/d/a/b/f", Options()).ok());
  EXPECT_TRUE(names_->CheckRoomForDirectory("/d/a/b", "ann").ok());
  const Status full = names_->CheckRoomForDirectory("/d/a/b/c", "ann");
  EXPECT_EQ(full.message(),
            "make directory \"/d/a/b/c\": the quota of directory \"/d\" is 2 files and directories, of which 0 are in "
            "use, and this takes 3 more; remove what is not needed there, or ask an administrator for more (fs quota "
            "set)");
  Set("/d", {.entries = 0});
  EXPECT_FALSE(names_->CheckRoomForFile("/d/f", Options()).ok());
  EXPECT_TRUE(names_->CheckRoomForDirectory("/d", "ann").ok()) << "it exists";
}

TEST_F(QuotaTest, AUsersQuotaCountsWhatTheUserOwnsWhereverItIs) {
  Write("/x/f", 100);
  Write("/y/g", 100, "bob");
  ASSERT_TRUE(names_->SetUserQuota("ann", {.bytes = 13 * kQuotaMiB, .entries = 3}, &batch_).ok());
  EXPECT_EQ(names_->QuotaOfUser("ann").use, (Use{.bytes = 300, .entries = 2}));
  ASSERT_TRUE(names_->Trash("/x/f", false, "ann", 9, &batch_).ok());
  const Use in_trash = names_->QuotaOfUser("ann").use;
  EXPECT_EQ(in_trash.bytes, 300U) << "the trash counts";
  const Status full = names_->CheckRoomForFile("/z", Options());
  EXPECT_THAT(full.message(),
              AllOf(HasSubstr("the quota of user \"ann\" is 3 files and directories"), HasSubstr("fs trash --empty")));
  EXPECT_TRUE(names_->CheckRoomForFile("/z", Options("bob")).ok());
  EXPECT_FALSE(names_->CheckRoomForOwner("/y/g", "ann").ok());
  ASSERT_TRUE(names_->SetUserQuota("ann", {.bytes = 600, .entries = 100}, &batch_).ok());
  EXPECT_TRUE(names_->CheckRoomForOwner("/y/g", "ann").ok());
  ASSERT_TRUE(names_->SetOwner("/y/g", "ann", std::nullopt, &batch_).ok());
  Reload();
  EXPECT_EQ(names_->QuotaOfUser("ann").use.bytes, 600U);
  EXPECT_EQ(names_->QuotaOfUser("bob").use, (Use{.bytes = 0, .entries = 1}));
  EXPECT_EQ(names_->QuotaOfUser("nobody").use, Use());
  EXPECT_FALSE(names_->CheckRoomForReplicas("/y/g", 4).ok());
  EXPECT_TRUE(names_->CheckRoomForReplicas("/y/g", 2).ok()) << "less is always possible";
}

TEST_F(QuotaTest, ARenameAsksTheDirectoriesThatItComesTo) {
  Write("/a/in/f", 100);
  Write("/a/g", 100);
  ASSERT_TRUE(names_->MakeDirectory("/b", "ann", 1, &batch_).ok());
  Set("/a", {.bytes = 0, .entries = 0});
  Set("/b", {.bytes = 299});
  EXPECT_TRUE(names_->CheckRoomForRename("/a/g", "/a/in/h", "ann").ok()) << "within a directory that is over its quota";
  const Status full = names_->CheckRoomForRename("/a/in", "/b", "ann");
  EXPECT_EQ(full.code(), StatusCode::kNoSpace);
  EXPECT_THAT(full.message(), AllOf(HasSubstr("move \"/a/in\" to \"/b/in\""), HasSubstr("directory \"/b\" is 299 B"),
                                    HasSubstr("takes 300 B more")));
  Set("/b", {.bytes = 300, .entries = 2});
  EXPECT_TRUE(names_->CheckRoomForRename("/a/in", "/b", "ann").ok());
  EXPECT_FALSE(names_->CheckRoomForRename("/a/in", "/b/new/in", "ann").ok()) << "the parent that is made counts";
  ASSERT_TRUE(names_->Rename("/a/in", "/b", 9, &batch_).ok());
  EXPECT_EQ(UseOn("/b"), (Use{.bytes = 300, .entries = 2}));
  EXPECT_EQ(UseOn("/a"), (Use{.bytes = 300, .entries = 1}));
}

TEST_F(QuotaTest, TheQuotaGoesWithItsDirectoryAndEndsWithIt) {
  Write("/a/f", 100);
  Set("/a", {.bytes = 500});
  ASSERT_TRUE(names_->Rename("/a", "/b", 9, &batch_).ok());
  Reload();
  ASSERT_EQ(names_->Quotas().size(), 1U);
  EXPECT_EQ(names_->Quotas()[0].directory, "/b");
  EXPECT_EQ(names_->Quotas()[0].use.bytes, 300U);
  const WriteBatch removal = names_->Removal("/b");
  ASSERT_TRUE(names_->Remove("/b", true, &batch_, &freed_).ok());
  EXPECT_EQ(removal.changes().size(), batch_.changes().size());
  Reload();
  EXPECT_TRUE(names_->Quotas().empty());
  std::size_t keys = 0;
  ASSERT_TRUE(store_->Scan(kQuotaPrefix, {}, [&](std::string_view, std::string_view) { return ++keys, true; }).ok());
  EXPECT_EQ(keys, 0U);
}

TEST_F(QuotaTest, WhatIsInTheTrashCountsAgainstTheRootOnly) {
  Write("/d/f", 100);
  Set("/d", {.bytes = 300});
  Set("/", {.bytes = 300});
  ASSERT_TRUE(names_->Trash("/d/f", false, "ann", 9, &batch_).ok()) << "there is always room in the trash";
  EXPECT_EQ(UseOn("/d"), Use());
  EXPECT_EQ(UseOn("/"), (Use{.bytes = 300, .entries = 6}));
  EXPECT_EQ(names_->TrashUse(), (Use{.bytes = 300, .entries = 4}));
  Reload();
  EXPECT_EQ(names_->TrashUse(), (Use{.bytes = 300, .entries = 4}));
}

TEST_F(QuotaTest, ClearingEndsIt) {
  Write("/d/f", 100);
  Set("/d", {.bytes = 1});
  ASSERT_TRUE(names_->SetUserQuota("ann", {.entries = 1}, &batch_).ok());
  EXPECT_FALSE(names_->CheckRoomForFile("/d/g", Options()).ok());
  Set("/d", {});
  ASSERT_TRUE(names_->SetUserQuota("ann", {}, &batch_).ok());
  EXPECT_TRUE(names_->CheckRoomForFile("/d/g", Options()).ok());
  Reload();
  EXPECT_TRUE(names_->Quotas().empty());
}

TEST_F(QuotaTest, WhatCanHaveNoneIsRefused) {
  Write("/f", 100);
  ASSERT_TRUE(names_->Trash("/f", false, "ann", 9, &batch_).ok());
  Write("/f", 100);
  batch_ = {};
  EXPECT_EQ(names_->SetQuota("/f", {.bytes = 1}, &batch_).code(), StatusCode::kInvalid);
  EXPECT_EQ(names_->SetQuota("/x", {.bytes = 1}, &batch_).code(), StatusCode::kNotFound);
  EXPECT_EQ(names_->SetQuota("/.trash/ann", {.bytes = 1}, &batch_).code(), StatusCode::kInvalid);
  EXPECT_EQ(names_->SetUserQuota("", {.bytes = 1}, &batch_).code(), StatusCode::kInvalid);
  EXPECT_TRUE(batch_.empty());
}

// A program that does not know quotas leaves that of a directory which it removes.
TEST_F(QuotaTest, AStoredQuotaOfNoDirectoryIsSkippedAndADamagedOneIsTold) {
  batch_.Put(EncodeQuotaKey(FileId{77}), EncodeQuota({.bytes = 1}));
  Reload();
  EXPECT_TRUE(names_->Quotas().empty());
  batch_.Put(EncodeQuotaKey("ann"), "nonsense");
  ASSERT_TRUE(store_->Write(batch_, Durability::kSynced).ok());
  Namespace other(SeededNumbers(9));
  const Status corrupt = other.Load(*store_);
  EXPECT_EQ(corrupt.code(), StatusCode::kCorrupt);
  EXPECT_THAT(corrupt.message(), HasSubstr("q/uann"));
}

// Wherever they are moved, and after a load, which may come to a file before its directory.
TEST_F(QuotaTest, ArchivedLogsOfJobsCountAgainstNoUser) {
  ASSERT_TRUE(names_->SetUserQuota("ann", {.bytes = 1000, .entries = 10}, &batch_).ok());
  ASSERT_TRUE(names_->MakeDirectory("/.millrace/logs/job1", "", 1, &batch_).ok());
  Write("/.millrace/logs/job1/node1", 5000);
  Write("/home/.millrace/logs/x", 20);
  EXPECT_TRUE(names_->CheckRoomForFile("/.millrace/logs/job1/node2", Options()).ok());
  const FileId open = *names_->Create("/.millrace/logs/job1/node2", Options(), 5, &batch_);
  EXPECT_TRUE(names_->CheckRoomForBlock(open).ok());
  ASSERT_TRUE(names_->AddBlock(open, &batch_).ok());
  const Use elsewhere = names_->QuotaOfUser("ann").use;
  EXPECT_EQ(elsewhere.bytes, 60U);
  EXPECT_EQ(names_->QuotaOfUser("ann").reserved, Use());
  Reload();
  EXPECT_EQ(names_->QuotaOfUser("ann").use, elsewhere);
  EXPECT_EQ(names_->QuotaOfUser("ann").reserved, Use());
  ASSERT_TRUE(names_->SetReplication("/.millrace/logs/job1/node1", 2, &batch_).ok());
  EXPECT_EQ(names_->QuotaOfUser("ann").use, elsewhere);
  ASSERT_TRUE(names_->Rename("/.millrace/logs/job1/node1", "/taken", 9, &batch_).ok());
  EXPECT_EQ(names_->QuotaOfUser("ann").use.bytes, 10'060U) << "it is hers, outside";
  ASSERT_TRUE(names_->Rename("/taken", "/.millrace/logs/job1/node1", 9, &batch_).ok());
  ASSERT_TRUE(names_->Rename("/.millrace", "/aside", 9, &batch_).ok());
  EXPECT_EQ(names_->QuotaOfUser("ann").use.bytes, 10'060U);
  ASSERT_TRUE(names_->Rename("/aside", "/.millrace", 9, &batch_).ok());
  EXPECT_EQ(names_->QuotaOfUser("ann").use, elsewhere);
  ASSERT_TRUE(names_->Remove("/.millrace", true, &batch_, &freed_).ok());
  EXPECT_EQ(names_->QuotaOfUser("ann").use, elsewhere);
}

}  // namespace
}  // namespace millrace::dfs
