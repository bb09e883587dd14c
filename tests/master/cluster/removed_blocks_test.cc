// SPDX-License-Identifier: Apache-2.0
#include "master/cluster/removed_blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "base/kv/spare_log.h"
#include "tests/fakes/memory_store.h"

namespace millrace::master {
namespace {

using testing::ElementsAre;

class RemovedBlocksTest : public testing::Test {
 protected:
  void Add(RemovedBlocks* removed, const std::vector<dfs::BlockId>& blocks) {
    WriteBatch batch;
    removed->Add(blocks, &batch);
    ASSERT_TRUE(store_->Write(batch, Durability::kSynced).ok());
  }
  std::vector<dfs::BlockId> Stored() {
    std::vector<dfs::BlockId> stored;
    RemovedBlocks removed(5);
    EXPECT_TRUE(removed.Load(*store_, [&](dfs::BlockId block) { stored.push_back(block); }).ok());
    return stored;
  }

  const std::unique_ptr<KeyValueStore> store_ = MakeMemoryStore();
};

TEST_F(RemovedBlocksTest, WhatTheyTakeOfASpareLogIsKnownBefore) {
  RemovedBlocks removed(50);
  EXPECT_EQ(removed.BytesToAdd(0), 0u);
  for (std::uint64_t i = 0; i < 300; ++i) {
    const std::vector<dfs::BlockId> blocks(1 + i * 7 % 13 * (i % 20 == 0 ? 10 : 1), i);
    const std::uint64_t known = removed.BytesToAdd(blocks.size());
    WriteBatch batch;
    removed.Add(blocks, &batch);
    EXPECT_GE(known, SpareLog::BytesOf(batch) - SpareLog::BytesOf({}));
    EXPECT_LE(known, SpareLog::BytesOf(batch));
  }
}

TEST_F(RemovedBlocksTest, AreReadBackInTheirOrder) {
  RemovedBlocks removed(5);
  Add(&removed, {~std::uint64_t{0}, 7});
  Add(&removed, {});
  Add(&removed, {3});
  EXPECT_THAT(Stored(), ElementsAre(~std::uint64_t{0}, 7, 3));
}

TEST_F(RemovedBlocksTest, TheOldestAreDroppedWhenEnoughLaterOnesAreKept) {
  RemovedBlocks removed(5);
  Add(&removed, {1, 2});
  Add(&removed, {3, 4});
  Add(&removed, {5, 6});
  EXPECT_THAT(Stored(), ElementsAre(1, 2, 3, 4, 5, 6));
  Add(&removed, {7});
  EXPECT_THAT(Stored(), ElementsAre(3, 4, 5, 6, 7));
  Add(&removed, {11, 12, 13, 14, 15, 16, 17});
  EXPECT_THAT(Stored(), ElementsAre(13, 14, 15, 16, 17));
}

TEST_F(RemovedBlocksTest, GoOnWhereAnEarlierLifeEnded) {
  RemovedBlocks first(3);
  Add(&first, {1, 2});
  RemovedBlocks second(3);
  ASSERT_TRUE(second.Load(*store_, [](dfs::BlockId) {}).ok());
  Add(&second, {3});
  Add(&second, {4, 5});
  EXPECT_THAT(Stored(), ElementsAre(3, 4, 5));
}

TEST_F(RemovedBlocksTest, WhatIsNotUnderstoodIsRefused) {
  WriteBatch batch;
  batch.Put("x/" + KeyNumber(1), "seven b");
  ASSERT_TRUE(store_->Write(batch, Durability::kSynced).ok());
  RemovedBlocks removed(3);
  EXPECT_EQ(removed.Load(*store_, [](dfs::BlockId) {}).code(), StatusCode::kCorrupt);
}

}  // namespace
}  // namespace millrace::master
