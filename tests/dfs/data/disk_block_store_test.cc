// SPDX-License-Identifier: Apache-2.0
// Tests what can only happen to the store on disk: damage, crashes, a full disk.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "dfs/data/block_store.h"
#include "tests/dfs/data/block_bytes.h"

namespace millrace::dfs {
namespace {

using testing::HasSubstr;

class DiskBlockStoreTest : public testing::Test {
 protected:
  DiskBlockStoreTest() : directory_(std::move(*TempDir::Make("blocks"))) { Reopen(); }

  void Reopen(std::uint64_t reserved = 0) {
    store_.reset();
    auto store = OpenDiskBlockStore(directory_.path(), reserved, [this](const BlockStore::Swept& swept) {
      ++times_yielded_;
      yielded_.blocks += swept.blocks;
      yielded_.bytes += swept.bytes;
    });
    ASSERT_TRUE(store.ok()) << store.status().message();
    store_ = std::move(*store);
  }
  void Store(std::uint64_t id, std::string_view data) {
    const auto file = std::move(*store_->Create(id));
    ASSERT_TRUE(file->Append(data, ChunkCrcs(data)).ok());
    ASSERT_TRUE(file->Finish().ok());
  }
  // Returns the path of block 0xab1, by the layout that the header promises.
  [[nodiscard]] std::string DataPath() const { return directory_.path() + "/blocks/b1/0000000000000ab1"; }
  static void Flip(const std::string& path, std::streamoff at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const char byte = static_cast<char>(file.get() ^ 0x10);
    file.seekp(at);
    file.put(byte);
    ASSERT_TRUE(file.good());
  }

  TempDir directory_;
  BlockStore::Swept yielded_;  // what the trash gave up for appends
  int times_yielded_ = 0;
  std::unique_ptr<BlockStore> store_;
  static constexpr std::uint64_t kId = 0xab1;
};

TEST_F(DiskBlockStoreTest, KeepsBlocksAcrossARestart) {
  const std::string data = RandomBytes(kPacketBytes + 1, 1);
  Store(kId, data);
  Reopen();
  ASSERT_EQ(store_->List().size(), 1u);
  EXPECT_EQ(store_->List()[0], StoredAs(kId, data));
  EXPECT_EQ(store_->space().used, data.size());
  EXPECT_EQ(*store_->Read(kId, 0, data.size()), data);
}

TEST_F(DiskBlockStoreTest, ADamagedByteFailsTheChunkThatHoldsIt) {
  const std::string data = RandomBytes(3 * kChunkBytes, 2);
  Store(kId, data);
  Flip(DataPath(), kChunkBytes + 7);
  const auto bad = store_->Read(kId, 0, data.size());
  EXPECT_EQ(bad.status().code(), StatusCode::kCorrupt);
  EXPECT_THAT(bad.status().message(), HasSubstr("block 0000000000000ab1"));
  EXPECT_THAT(bad.status().message(), HasSubstr("chunk 1"));
  EXPECT_EQ(*store_->Read(kId, 0, kChunkBytes), data.substr(0, kChunkBytes));
  EXPECT_EQ(*store_->Read(kId, 2 * kChunkBytes, 9), data.substr(2 * kChunkBytes, 9));
}

// As nobody, if this is root: root may read everything.
TEST_F(DiskBlockStoreTest, ABlockThatMayNotBeReadAnyMoreIsMended) {
  store_.reset();
  for (const char* below : {"/blocks", "/writing", "/trash"}) std::filesystem::remove_all(directory_.path() + below);
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && (chown(directory_.path().c_str(), 65534, 65534) != 0 || setresgid(65534, 65534, 65534) != 0 ||
                           setresuid(65534, 65534, 65534) != 0))
      _exit(1);
    Reopen();
    Store(kId, "data");
    if (chmod(DataPath().c_str(), 0) != 0 || store_->Open(kId).status().message() != "") _exit(2);
    _exit(store_->Read(kId, 0, 4).value() == "data" ? 0 : 3);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << WEXITSTATUS(status);
}

TEST_F(DiskBlockStoreTest, ADamagedChecksumIsNoticed) {
  Store(kId, RandomBytes(3 * kChunkBytes, 2));
  Flip(DataPath() + ".crc", 21);
  EXPECT_EQ(store_->Open(kId).status().code(), StatusCode::kCorrupt);
}

TEST_F(DiskBlockStoreTest, ABlockOfAnotherLengthThanItsChecksumsIsNotListed) {
  for (const std::uint64_t length :
       {std::uint64_t{99}, kChunkBytes + 1}) {  // the same count of chunks, and another one
    Store(kId, RandomBytes(100, 2));
    std::filesystem::resize_file(DataPath(), length);
    Reopen();
    EXPECT_TRUE(store_->List().empty());
    EXPECT_EQ(store_->Damaged(), std::vector{kId});
    EXPECT_EQ(store_->Open(kId).status().code(), StatusCode::kCorrupt);
    ASSERT_TRUE(store_->Remove(kId).ok());
    EXPECT_TRUE(store_->Damaged().empty());
    EXPECT_EQ(store_->Open(kId).status().code(), StatusCode::kNotFound);
  }
}

TEST_F(DiskBlockStoreTest, ADamagedBlockCanBeWrittenAnew) {
  Store(kId, RandomBytes(100, 2));
  std::filesystem::remove(DataPath() + ".crc");
  Reopen();
  EXPECT_EQ(store_->Open(kId).status().code(), StatusCode::kCorrupt);
  Store(kId, "healthy");
  EXPECT_EQ(*store_->Read(kId, 0, 7), "healthy");
}

TEST_F(DiskBlockStoreTest, WhatWasBeingWrittenIsGoneAfterARestart) {
  auto file = std::move(*store_->Create(kId));
  const std::string data = RandomBytes(kPacketBytes, 3);
  ASSERT_TRUE(file->Append(data, ChunkCrcs(data)).ok());
  file.reset();
  EXPECT_FALSE(std::filesystem::is_empty(directory_.path() + "/writing"));
  Reopen();
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path() + "/writing"));
  EXPECT_EQ(store_->FinishAt(kId, kPacketBytes).status().code(), StatusCode::kNotFound);
  Store(kId, "new");
}

TEST_F(DiskBlockStoreTest, ChecksumsWithoutDataAreRemovedAtStart) {
  Store(kId, "abc");
  std::filesystem::remove(DataPath());  // a crash between the two renames
  Reopen();
  EXPECT_TRUE(store_->List().empty());
  EXPECT_FALSE(std::filesystem::exists(DataPath() + ".crc"));
}

TEST_F(DiskBlockStoreTest, RotIsFoundByVerify) {
  const std::string data = RandomBytes(3 * kChunkBytes, 2);
  Store(kId, data);
  EXPECT_TRUE(store_->Verify(kId, 0, data.size()).ok());
  Flip(DataPath(), kChunkBytes + 7);
  EXPECT_EQ(store_->Verify(kId, 0, data.size()).code(), StatusCode::kCorrupt);
  EXPECT_TRUE(store_->Verify(kId, 2 * kChunkBytes, kChunkBytes).ok());
  Flip(DataPath(), kChunkBytes + 7);
  EXPECT_TRUE(store_->Verify(kId, 0, data.size()).ok());
  std::filesystem::resize_file(DataPath(), data.size() - 1);
  EXPECT_EQ(store_->Verify(kId, 0, 1).code(), StatusCode::kCorrupt);
  EXPECT_EQ(store_->Length(kId), data.size()) << "it is listed until somebody removes it";
}

TEST_F(DiskBlockStoreTest, ABlockWhoseDataVanishedIsNotListedOnceItWasVerified) {
  Store(kId, "abc");
  std::filesystem::remove(DataPath());
  EXPECT_EQ(store_->Verify(kId, 0, 3).code(), StatusCode::kNotFound);
  EXPECT_TRUE(store_->List().empty());
  EXPECT_EQ(store_->space().used, 0u);
  Store(kId, "new");
  EXPECT_TRUE(store_->Verify(kId, 0, 3).ok());
}

TEST_F(DiskBlockStoreTest, ADamagedBlockThatWasMendedIsTakenBack) {
  Store(kId, "abc");
  const std::string crcs = *ReadWholeFile(DataPath() + ".crc");
  std::filesystem::remove(DataPath() + ".crc");
  Reopen();
  EXPECT_EQ(store_->Damaged(), std::vector{kId});
  EXPECT_EQ(store_->Relist(kId).code(), StatusCode::kCorrupt);
  ASSERT_TRUE(WriteFileDurably(DataPath() + ".crc", crcs).ok());
  EXPECT_TRUE(store_->Verify(kId, 0, 3).ok());
  EXPECT_EQ(store_->Length(kId), std::nullopt);
  EXPECT_TRUE(store_->Relist(kId).ok());
  EXPECT_EQ(store_->Length(kId), 3u);
  EXPECT_EQ(store_->space().used, 3u);
  EXPECT_TRUE(store_->Damaged().empty());
}

TEST_F(DiskBlockStoreTest, KeepsTheReservedBytesFree) {
  Reopen(std::uint64_t{1} << 62);
  EXPECT_EQ(store_->space().free, 0u);
  const auto file = std::move(*store_->Create(kId));
  const Status full = file->Append("x", ChunkCrcs("x"));
  EXPECT_EQ(full.code(), StatusCode::kNoSpace);
  EXPECT_THAT(full.message(), HasSubstr("block 0000000000000ab1"));
  const Fd shared = std::move(*file->Share());
  ASSERT_TRUE(WriteAllAt(shared.get(), "x", 0, "file").ok());
  EXPECT_EQ(file->Adopt("x", ChunkCrcs("x")).code(), StatusCode::kNoSpace);
  EXPECT_EQ(file->length(), 0u);
}

// A full disk has the same effect.
TEST_F(DiskBlockStoreTest, ABlockThatCouldNotBeFinishedLeavesNothing) {
  auto file = std::move(*store_->Create(kId));
  ASSERT_TRUE(file->Append("abc", ChunkCrcs("abc")).ok());
  std::filesystem::remove(std::filesystem::path(DataPath()).parent_path());
  EXPECT_FALSE(file->Finish().ok());
  file.reset();
  store_->Discard(kId);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path() + "/writing"));
}

class DiskTrashTest : public DiskBlockStoreTest {
 protected:
  DiskTrashTest() {
    Store(kId, data_);
    EXPECT_TRUE(store_->Trash(kId, 0x1234).ok());
  }
  void ExpectInTheTrashAndRestorable() {
    Reopen();
    EXPECT_TRUE(store_->List().empty());
    ASSERT_EQ(store_->ListTrash().size(), 1u);
    ASSERT_TRUE(store_->Restore(kId).ok());
    EXPECT_EQ(*store_->Read(kId, 0, data_.size()), data_);
    Reopen();
    EXPECT_EQ(store_->List().size(), 1u);
    EXPECT_EQ(*store_->Read(kId, 0, data_.size()), data_);
  }
  [[nodiscard]] std::string TrashPath() const { return directory_.path() + "/trash/0000000000000ab1-0000000000001234"; }

  const std::string data_ = RandomBytes(kPacketBytes + 1, 31);
};

TEST_F(DiskTrashTest, OutlivesARestart) {
  EXPECT_TRUE(std::filesystem::exists(TrashPath()));
  EXPECT_FALSE(std::filesystem::exists(DataPath()));
  ExpectInTheTrashAndRestorable();
}

TEST_F(DiskTrashTest, AMoveThatACrashCutInTwoIsCompleted) {
  std::filesystem::rename(TrashPath(), DataPath());
  ExpectInTheTrashAndRestorable();
  ASSERT_TRUE(store_->Trash(kId, 0x1234).ok());
  std::filesystem::rename(TrashPath() + ".crc", DataPath() + ".crc");
  ExpectInTheTrashAndRestorable();
}

TEST_F(DiskTrashTest, SweepingRemovesTheFiles) {
  EXPECT_EQ(store_->SweepTrash(0x1234, 0).blocks, 0u);
  EXPECT_EQ(store_->SweepTrash(0x1235, 0).blocks, 1u);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path() + "/trash"));
}

TEST_F(DiskTrashTest, AnAppendThatFindsNoRoomEmptiesItAndSaysSo) {
  Store(8, "another");
  ASSERT_TRUE(store_->Trash(8, 0x1235).ok());
  Reopen(std::uint64_t{1} << 60);
  const auto file = std::move(*store_->Create(7));
  EXPECT_EQ(yielded_.blocks, 0u);
  EXPECT_EQ(file->Append("x", ChunkCrcs("x")).code(), StatusCode::kNoSpace);
  EXPECT_TRUE(store_->ListTrash().empty());
  EXPECT_EQ(yielded_.blocks, 2u);
  EXPECT_EQ(yielded_.bytes, data_.size() + 7);
  EXPECT_EQ(file->Append("x", ChunkCrcs("x")).code(), StatusCode::kNoSpace);
  EXPECT_EQ(times_yielded_, 1) << "once for an append, and never for nothing";
}

TEST_F(DiskTrashTest, ADamagedBlockDoesNotGoThereAndIsRemoved) {
  Store(8, "another");
  std::filesystem::remove(directory_.path() + "/blocks/08/0000000000000008.crc");
  Reopen();
  ASSERT_EQ(store_->Damaged(), std::vector<std::uint64_t>{8});
  ASSERT_TRUE(store_->Trash(8, 0x1235).ok());
  EXPECT_TRUE(store_->Damaged().empty());
  EXPECT_EQ(store_->ListTrash().size(), 1u) << "the one that was there";
  EXPECT_FALSE(std::filesystem::exists(directory_.path() + "/blocks/08/0000000000000008"));
}

// A good replica in the trash takes the place of a damaged one.
TEST_F(DiskTrashTest, ARestoredBlockIsNotDamagedAnyMore) {
  Store(kId, "of another time");
  std::filesystem::remove(DataPath() + ".crc");
  Reopen();
  ASSERT_EQ(store_->Damaged(), std::vector{kId});
  const auto restored = store_->Restore(kId);
  ASSERT_TRUE(restored.ok()) << restored.status().message();
  EXPECT_TRUE(store_->Damaged().empty());
  EXPECT_EQ(store_->space().used, data_.size());
  EXPECT_EQ(*store_->Read(kId, 0, data_.size()), data_);
}

}  // namespace
}  // namespace millrace::dfs
