// For the contract of BlockStore: the store on disk (parameter: true) and its twin in memory.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string_view>
#include <utility>

#include "dfs/data/block_store.h"
#include "tests/dfs/data/block_bytes.h"

namespace millrace::dfs {

class BlockStoreTest : public testing::TestWithParam<bool> {
 protected:
  BlockStoreTest() : directory_(std::move(*TempDir::Make("blocks"))) {
    store_ = GetParam() ? std::move(*OpenDiskBlockStore(directory_.path(), 0)) : MakeMemoryBlockStore(1 << 30);
  }

  // Appends all of `data` by packets.
  std::unique_ptr<BlockFile> Write(std::uint64_t id, std::string_view data) {
    std::unique_ptr<BlockFile> file = std::move(*store_->Create(id));
    for (std::size_t at = 0; at < data.size(); at += kPacketBytes) {
      const std::string_view piece = data.substr(at, kPacketBytes);
      const Status appended = file->Append(piece, ChunkCrcs(piece));
      EXPECT_TRUE(appended.ok()) << appended.message();
    }
    return file;
  }
  void Store(std::uint64_t id, std::string_view data) { ASSERT_TRUE(Write(id, data)->Finish().ok()); }

  TempDir directory_;
  std::unique_ptr<BlockStore> store_;
};

}  // namespace millrace::dfs
