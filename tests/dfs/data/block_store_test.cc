// SPDX-License-Identifier: Apache-2.0
// Tests the contract of BlockStore on the store on disk and on its twin in memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/dfs/data/block_store_fixture.h"
#include "tests/fakes/memory_block_store.h"

namespace millrace::dfs {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST_P(BlockStoreTest, GivesBackWhatWasWritten) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kChunkBytes, kPacketBytes, 3 * kPacketBytes + 17}) {
    const std::string data = RandomBytes(size, size);
    Store(size, data);
    const auto all = store_->Read(size, 0, size);
    ASSERT_TRUE(all.ok()) << all.status().message();
    EXPECT_EQ(*all, data);
  }
}

TEST_P(BlockStoreTest, ReadsAnyRange) {
  const std::string data = RandomBytes(2 * kPacketBytes + 12345, 1);
  Store(1, data);
  Random random(7);
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t offset = random.Below(data.size() + 1);
    const std::uint64_t size = random.Below(data.size() - offset + 1);
    ASSERT_EQ(*store_->Read(1, offset, size), data.substr(offset, size)) << offset << " " << size;
  }
  EXPECT_EQ(store_->Read(1, 0, data.size() + 1).status().code(), StatusCode::kInvalid);
  EXPECT_EQ(store_->Read(1, data.size() + 1, 0).status().code(), StatusCode::kInvalid);
  EXPECT_EQ(store_->Read(1, ~std::uint64_t{0}, 2).status().code(), StatusCode::kInvalid);
}

TEST_P(BlockStoreTest, OpenGivesTheFileAndItsChecksums) {
  const std::string data = RandomBytes(kPacketBytes + 99, 2);
  Store(9, data);
  const auto open = store_->Open(9);
  ASSERT_TRUE(open.ok());
  EXPECT_EQ(open->length, data.size());
  EXPECT_EQ(open->chunk_crcs, ChunkCrcs(data));
  std::string bytes(data.size(), '\0');
  ASSERT_TRUE(ReadExactlyAt(open->data.get(), bytes.data(), bytes.size(), 0, "block").ok());
  EXPECT_EQ(bytes, data);
}

TEST_P(BlockStoreTest, ABlockIsNotSeenBeforeItIsFinished) {
  const std::string data = RandomBytes(1000, 3);
  const auto file = Write(3, data);
  EXPECT_TRUE(store_->List().empty());
  EXPECT_EQ(store_->Open(3).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(store_->Read(3, 0, 1).status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(file->Finish().ok());
  EXPECT_THAT(store_->List(), ElementsAre(StoredAs(3, data)));
}

TEST_P(BlockStoreTest, RefusesTheSameBlockTwice) {
  auto file = Write(4, "abc");
  EXPECT_EQ(store_->Create(4).status().code(), StatusCode::kExists);
  ASSERT_TRUE(file->Finish().ok());
  EXPECT_EQ(store_->Create(4).status().code(), StatusCode::kExists);
}

TEST_P(BlockStoreTest, RefusesBytesThatDoNotFitTheirChecksums) {
  const auto file = Write(5, RandomBytes(kPacketBytes, 5));
  std::string data = RandomBytes(2 * kChunkBytes, 6);
  const auto crcs = ChunkCrcs(data);
  data[kChunkBytes + 3] ^= 1;
  const Status bad = file->Append(data, crcs);
  EXPECT_EQ(bad.code(), StatusCode::kCorrupt);
  EXPECT_THAT(bad.message(), HasSubstr("block 0000000000000005"));
  EXPECT_THAT(bad.message(), HasSubstr("chunk 5"));  // 4 are in the first packet
  EXPECT_EQ(file->Append(data, {crcs[0]}).code(), StatusCode::kCorrupt);
  EXPECT_EQ(file->length(), kPacketBytes);
}

TEST_P(BlockStoreTest, FinishAtCutsABrokenBlock) {
  const std::string data = RandomBytes(2 * kPacketBytes + 5, 8);
  auto file = Write(6, data);
  EXPECT_EQ(store_->FinishAt(6, kPacketBytes).status().code(), StatusCode::kBusy);
  file.reset();
  EXPECT_EQ(store_->Create(6).status().code(), StatusCode::kExists);
  EXPECT_EQ(store_->FinishAt(6, 100).status().code(), StatusCode::kInvalid);
  EXPECT_EQ(store_->FinishAt(6, data.size() + 1).status().code(), StatusCode::kInvalid);
  EXPECT_EQ(store_->FinishAt(6, 3 * kPacketBytes).status().code(), StatusCode::kInvalid);
  const StoredBlock cut = StoredAs(6, data.substr(0, kPacketBytes));
  EXPECT_EQ(*store_->FinishAt(6, kPacketBytes), cut);
  EXPECT_THAT(store_->List(), ElementsAre(cut));
  EXPECT_EQ(*store_->Read(6, 0, kPacketBytes), data.substr(0, kPacketBytes));
  EXPECT_EQ(*store_->FinishAt(6, kPacketBytes), cut);
  EXPECT_EQ(store_->FinishAt(6, 2 * kPacketBytes).status().code(), StatusCode::kInvalid);
  EXPECT_EQ(store_->FinishAt(777, 0).status().code(), StatusCode::kNotFound);
}

TEST_P(BlockStoreTest, FinishAtTakesAllOfAnUnevenBlock) {
  const std::string data = RandomBytes(kPacketBytes + 5, 9);
  Write(7, data).reset();
  ASSERT_TRUE(store_->FinishAt(7, data.size()).ok());
  EXPECT_EQ(*store_->Read(7, 0, data.size()), data);
}

TEST_P(BlockStoreTest, DiscardForgetsAnUnfinishedBlockOnly) {
  Write(8, RandomBytes(kPacketBytes, 1)).reset();
  store_->Discard(8);
  store_->Discard(8);
  EXPECT_EQ(store_->FinishAt(8, 0).status().code(), StatusCode::kNotFound);
  Store(8, "new");
  store_->Discard(8);
  EXPECT_EQ(*store_->Read(8, 0, 3), "new");
}

TEST_P(BlockStoreTest, RemoveTakesWhatIsLeftOfABrokenWrite) {
  Write(8, RandomBytes(kPacketBytes, 1)).reset();
  ASSERT_TRUE(store_->Remove(8).ok());
  EXPECT_EQ(store_->FinishAt(8, kPacketBytes).status().code(), StatusCode::kNotFound);
  const auto file = Write(8, "new");
  ASSERT_TRUE(store_->Remove(8).ok());  // it is being written, so it is left alone
  ASSERT_TRUE(file->Finish().ok());
  EXPECT_EQ(*store_->Read(8, 0, 3), "new");
}

TEST_P(BlockStoreTest, AnUnfinishedBlockThatNobodyContinuesIsSwept) {
  const std::string data = RandomBytes(kPacketBytes, 1);
  Write(8, data).reset();
  EXPECT_EQ(store_->space().used, data.size());
  EXPECT_EQ(store_->SweepUnfinished(1000, 50).blocks, 0u) << "found for the first time";
  Write(9, data).reset();
  EXPECT_EQ(store_->SweepUnfinished(1049, 50).blocks, 0u);
  const BlockStore::Swept swept = store_->SweepUnfinished(1050, 50);
  EXPECT_EQ(swept.blocks, 1u);
  EXPECT_EQ(swept.bytes, data.size());
  EXPECT_EQ(store_->FinishAt(8, data.size()).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(store_->space().used, data.size());
  ASSERT_TRUE(store_->FinishAt(9, data.size()).ok()) << "left later";
  Store(8, "new");
  EXPECT_EQ(*store_->Read(8, 0, 3), "new");
}

TEST_P(BlockStoreTest, ABlockThatIsBeingWrittenIsNotSwept) {
  const auto file = Write(8, "abc");
  Store(9, "abc");
  EXPECT_EQ(store_->SweepUnfinished(1000, 0).blocks, 0u);
  EXPECT_EQ(store_->SweepUnfinished(2000, 0).blocks, 0u);
  ASSERT_TRUE(file->Finish().ok());
  EXPECT_THAT(store_->List(), ElementsAre(StoredAs(8, "abc"), StoredAs(9, "abc")));
}

TEST_P(BlockStoreTest, RemovesAndCounts) {
  Store(30, RandomBytes(1000, 1));
  Store(10, RandomBytes(500, 1));
  Store(20, "");
  EXPECT_THAT(store_->List(),
              ElementsAre(StoredAs(10, RandomBytes(500, 1)), StoredAs(20, ""), StoredAs(30, RandomBytes(1000, 1))));
  EXPECT_EQ(store_->space().used, 1500u);
  EXPECT_EQ(store_->space().blocks, 3u);
  EXPECT_GE(store_->space().capacity, store_->space().used + store_->space().free);
  ASSERT_TRUE(store_->Remove(30).ok());
  ASSERT_TRUE(store_->Remove(30).ok());
  EXPECT_THAT(store_->List(), ElementsAre(StoredAs(10, RandomBytes(500, 1)), StoredAs(20, "")));
  EXPECT_EQ(store_->space().used, 500u);
  EXPECT_EQ(store_->Open(30).status().code(), StatusCode::kNotFound);
  Store(30, "again");
  EXPECT_EQ(*store_->Read(30, 0, 5), "again");
}

TEST_P(BlockStoreTest, ABlockInTheTrashIsNotHereButUsesItsBytes) {
  const std::string data = RandomBytes(kPacketBytes + 9, 21);
  Store(5, data);
  Store(6, data);
  ASSERT_TRUE(store_->Trash(5, 100).ok());
  EXPECT_THAT(store_->List(), ElementsAre(StoredAs(6, data)));
  EXPECT_THAT(store_->ListTrash(), ElementsAre(StoredAs(5, data)));
  EXPECT_EQ(store_->Open(5).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(store_->space().used, 2 * data.size());
  EXPECT_EQ(store_->space().trashed, data.size());
  EXPECT_EQ(store_->space().blocks, 1u);
  EXPECT_TRUE(store_->Trash(5, 200).ok()) << "there is none any more";
  EXPECT_THAT(store_->ListTrash(), SizeIs(1));
}

TEST_P(BlockStoreTest, ABlockComesBackFromTheTrashWhole) {
  const std::string data = RandomBytes(kPacketBytes + 9, 22);
  Store(5, data);
  ASSERT_TRUE(store_->Trash(5, 100).ok());
  const Result<StoredBlock> restored = store_->Restore(5);
  ASSERT_TRUE(restored.ok()) << restored.status().message();
  EXPECT_EQ(*restored, StoredAs(5, data));
  EXPECT_EQ(*store_->Read(5, 0, data.size()), data);
  EXPECT_THAT(store_->ListTrash(), IsEmpty());
  EXPECT_EQ(store_->space().used, data.size());
  EXPECT_EQ(store_->space().trashed, 0u);
  EXPECT_EQ(store_->Restore(5).status().code(), StatusCode::kExists);
  EXPECT_EQ(store_->Restore(6).status().code(), StatusCode::kNotFound);
}

TEST_P(BlockStoreTest, ABlockOfTheSameNumberIsNotTouchedByWhatIsInTheTrash) {
  Store(5, "first");
  ASSERT_TRUE(store_->Trash(5, 100).ok());
  Store(5, "second one");
  EXPECT_EQ(store_->Restore(5).status().code(), StatusCode::kExists);
  EXPECT_EQ(*store_->Read(5, 0, 10), "second one");
  ASSERT_TRUE(store_->Trash(5, 200).ok());
  EXPECT_THAT(store_->ListTrash(), ElementsAre(StoredAs(5, "second one")));
  EXPECT_EQ(store_->space().used, 10u);
  ASSERT_TRUE(store_->Restore(5).ok());
  EXPECT_EQ(*store_->Read(5, 0, 10), "second one");
  const auto writing = Write(7, "x");
  EXPECT_EQ(store_->Restore(7).status().code(), StatusCode::kExists);
}

TEST_P(BlockStoreTest, WhatLayLongEnoughInTheTrashIsSwept) {
  for (std::uint64_t id = 1; id <= 3; ++id) {
    Store(id, "12345");
    ASSERT_TRUE(store_->Trash(id, static_cast<Micros>(100 * id)).ok());
  }
  const BlockStore::Swept swept = store_->SweepTrash(300, 0);
  EXPECT_EQ(swept.blocks, 2u);
  EXPECT_EQ(swept.bytes, 10u);
  EXPECT_THAT(store_->ListTrash(), ElementsAre(StoredAs(3, "12345")));
  EXPECT_EQ(store_->space().used, 5u);
  EXPECT_EQ(store_->Restore(1).status().code(), StatusCode::kNotFound);
}

TEST_P(BlockStoreTest, TheTrashMakesRoomWhenLittleIsFree) {
  for (std::uint64_t id = 1; id <= 2; ++id) {
    Store(id, "12345");
    ASSERT_TRUE(store_->Trash(id, 100).ok());
  }
  Store(3, "12345");
  EXPECT_EQ(store_->SweepTrash(0, std::uint64_t{1} << 62).blocks, 2u);
  EXPECT_THAT(store_->ListTrash(), IsEmpty());
  EXPECT_THAT(store_->List(), ElementsAre(StoredAs(3, "12345")));
}

TEST_P(BlockStoreTest, AnOpenBlockOutlivesItsRemoval) {
  const std::string data = RandomBytes(1000, 4);
  Store(1, data);
  const auto open = store_->Open(1);
  ASSERT_TRUE(store_->Remove(1).ok());
  std::string bytes(data.size(), '\0');
  ASSERT_TRUE(ReadExactlyAt(open->data.get(), bytes.data(), bytes.size(), 0, "block").ok());
  EXPECT_EQ(bytes, data);
}

TEST_P(BlockStoreTest, HasWhatIsFinishedOrUnfinished) {
  EXPECT_FALSE(store_->Has(5));
  auto file = Write(5, "abc");
  EXPECT_TRUE(store_->Has(5));
  file.reset();
  EXPECT_TRUE(store_->Has(5));
  ASSERT_TRUE(store_->FinishAt(5, 3).ok());
  EXPECT_TRUE(store_->Has(5));
  ASSERT_TRUE(store_->Trash(5, 100).ok());
  EXPECT_FALSE(store_->Has(5));
}

TEST_P(BlockStoreTest, ABlockIsTakenOutOfTheTrashForGood) {
  Store(5, "first");
  ASSERT_TRUE(store_->Trash(5, 100).ok());
  Store(5, "second");
  store_->RemoveTrashed(5);
  store_->RemoveTrashed(5);
  EXPECT_THAT(store_->ListTrash(), IsEmpty());
  EXPECT_EQ(store_->space().used, 6u);
  EXPECT_EQ(*store_->Read(5, 0, 6), "second") << "the one that is not in the trash is not touched";
}

INSTANTIATE_TEST_SUITE_P(Twins, BlockStoreTest, AllTwins(), NameOf);

TEST(MemoryBlockStoreTest, IsFullAtItsCapacity) {
  const auto store = MakeMemoryBlockStore(1000);
  const auto file = std::move(*store->Create(1));
  const std::string data = RandomBytes(1001, 1);
  EXPECT_EQ(file->Append(data, ChunkCrcs(data)).code(), StatusCode::kNoSpace);
  ASSERT_TRUE(file->Append(data.substr(0, 1000), ChunkCrcs(data.substr(0, 1000))).ok());
  EXPECT_EQ(store->space().free, 0u);
}

}  // namespace
}  // namespace millrace::dfs
