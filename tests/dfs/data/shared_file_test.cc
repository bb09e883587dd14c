// SPDX-License-Identifier: Apache-2.0
// Tests the contract of BlockFile when another process writes into the unfinished file, on both stores.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/dfs/data/block_store_fixture.h"
#include "tests/fakes/memory_block_store.h"

namespace millrace::dfs {
namespace {

using testing::HasSubstr;

class SharedFileTest : public BlockStoreTest {
 protected:
  // Adopts what another process has written after the end of `file`, as a node does.
  static Status Adopt(BlockFile& file, std::size_t size, const std::vector<std::uint32_t>& crcs) {
    std::string bytes(size, '\0');
    MILLRACE_TRY(file.ReadShared(file.length(), size, crcs, bytes.data()));
    return file.Adopt(bytes, crcs);
  }
};

TEST_P(SharedFileTest, AdoptsWhatAnotherProcessWrote) {
  const std::string data = RandomBytes(20 * kPacketBytes + 17, 1);  // more than is flushed at once
  const auto file = Write(1, data.substr(0, kPacketBytes));         // we write some of it ourselves
  const Fd shared = std::move(*file->Share());
  for (std::size_t at = kPacketBytes; at < data.size(); at += kPacketBytes) {
    const std::string piece = data.substr(at, kPacketBytes);
    ASSERT_TRUE(WriteAllAt(shared.get(), piece, at, "file").ok());
    std::string read(piece.size(), '\0');
    ASSERT_TRUE(file->ReadShared(at, read.size(), ChunkCrcs(piece), read.data()).ok());
    EXPECT_TRUE(read == piece);
    EXPECT_EQ(file->length(), at);
    const Status adopted = file->Adopt(read, ChunkCrcs(piece));
    ASSERT_TRUE(adopted.ok()) << adopted.message();
  }
  EXPECT_EQ(file->length(), data.size());
  ASSERT_TRUE(file->Sync().ok());
  ASSERT_TRUE(file->Finish().ok());
  EXPECT_TRUE(*store_->Read(1, 0, data.size()) == data);
  EXPECT_EQ(store_->Open(1)->chunk_crcs, ChunkCrcs(data));
}

TEST_P(SharedFileTest, BelievesNothingOfWhatAnotherProcessWrote) {
  const std::string data = RandomBytes(2 * kPacketBytes, 1);
  const std::string second = data.substr(kPacketBytes);
  const auto file = Write(5, data.substr(0, kPacketBytes));
  const Fd shared = std::move(*file->Share());
  EXPECT_EQ(Adopt(*file, kPacketBytes, ChunkCrcs(second)).code(), StatusCode::kCorrupt);  // nothing is there
  ASSERT_TRUE(WriteAllAt(shared.get(), second, kPacketBytes, "file").ok());
  ASSERT_TRUE(WriteAllAt(shared.get(), "other", kPacketBytes + kChunkBytes, "file").ok());
  const Status bad = Adopt(*file, kPacketBytes, ChunkCrcs(second));
  EXPECT_EQ(bad.code(), StatusCode::kCorrupt);
  EXPECT_THAT(bad.message(), HasSubstr("block 0000000000000005"));
  EXPECT_THAT(bad.message(), HasSubstr("chunk 5"));
  EXPECT_EQ(Adopt(*file, kPacketBytes, {1}).code(), StatusCode::kCorrupt);
  ASSERT_EQ(::ftruncate(shared.get(), static_cast<off_t>(kPacketBytes + 3 * kChunkBytes)), 0);
  EXPECT_EQ(Adopt(*file, kPacketBytes, ChunkCrcs(second)).code(), StatusCode::kCorrupt);
  EXPECT_EQ(file->length(), kPacketBytes);
  ASSERT_TRUE(WriteAllAt(shared.get(), second, kPacketBytes, "file").ok());
  ASSERT_TRUE(Adopt(*file, kPacketBytes, ChunkCrcs(second)).ok());
  ASSERT_TRUE(file->Finish().ok());
  EXPECT_TRUE(*store_->Read(5, 0, data.size()) == data);
}

TEST_P(SharedFileTest, WhatWasNotAdoptedIsNotOfTheBlock) {
  const std::string data = RandomBytes(3 * kPacketBytes, 1);
  const std::string first = data.substr(0, kPacketBytes);
  for (const bool broken : {false, true}) {
    const std::uint64_t id = broken ? 2 : 1;
    auto file = std::move(*store_->Create(id));
    const Fd shared = std::move(*file->Share());
    ASSERT_TRUE(WriteAllAt(shared.get(), data, 0, "file").ok());
    ASSERT_TRUE(Adopt(*file, kPacketBytes, ChunkCrcs(first)).ok());
    if (!broken) {
      ASSERT_TRUE(file->Finish().ok());
    } else {
      file.reset();
      EXPECT_EQ(store_->FinishAt(id, 2 * kPacketBytes).status().code(), StatusCode::kInvalid);
      ASSERT_TRUE(store_->FinishAt(id, kPacketBytes).ok());
    }
    const auto open = store_->Open(id);
    ASSERT_TRUE(open.ok()) << open.status().message();
    EXPECT_EQ(open->length, kPacketBytes);
    EXPECT_TRUE(*store_->Read(id, 0, kPacketBytes) == first);
  }
}

INSTANTIATE_TEST_SUITE_P(Twins, SharedFileTest, AllTwins(), NameOf);

TEST(MemoryBlockStoreTest, AdoptsNoMoreThanItHolds) {
  const auto store = MakeMemoryBlockStore(1000);
  const auto file = std::move(*store->Create(1));
  const std::string data = RandomBytes(1001, 1);
  EXPECT_EQ(file->Adopt(data, ChunkCrcs(data)).code(), StatusCode::kNoSpace);
  EXPECT_EQ(file->length(), 0u);
}

}  // namespace
}  // namespace millrace::dfs
