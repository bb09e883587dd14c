// SPDX-License-Identifier: Apache-2.0
// The stores for which the contract of BlockStore is tested: the store on disk, its twin in memory, and a store over
// several of either kind.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dfs/data/block_store.h"
#include "dfs/data/spread_block_store.h"
#include "tests/dfs/data/block_bytes.h"
#include "tests/fakes/memory_block_store.h"

namespace millrace::dfs {

enum class Twin { kDisk, kMemory, kSpreadDisk, kSpreadMemory };

class BlockStoreTest : public testing::TestWithParam<Twin> {
 protected:
  BlockStoreTest() : directory_(std::move(*TempDir::Make("blocks"))) {
    const bool on_disk = GetParam() == Twin::kDisk || GetParam() == Twin::kSpreadDisk;
    const auto make = [&](const std::string& name) {
      const auto refuses = [this](WriteStep step) {
        const int error = refuse ? refuse(step) : 0;
        return error == 0 ? Status::Ok() : FromErrno(error, "the test's disk");
      };
      return on_disk ? std::move(*OpenDiskBlockStore(directory_.path() + name, 0))
                     : MakeMemoryBlockStore(1 << 30, refuses);
    };
    if (GetParam() == Twin::kDisk || GetParam() == Twin::kMemory) {
      store_ = make("");
      return;
    }
    std::vector<SpreadBlockStore::Disk> disks;
    for (const std::string name : {"/one", "/two"}) disks.push_back({name, make(name)});
    store_ = std::move(*SpreadBlockStore::Over(std::move(disks), 0, {[](std::size_t, const Status&) {}}));
  }

  // Appends all of `data` in packets.
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

  // Called before each step of writing a block, if the store is in memory. Returns the errno with which the step fails;
  // 0 if it succeeds.
  std::function<int(WriteStep)> refuse;
  TempDir directory_;
  std::unique_ptr<BlockStore> store_;
};

inline std::string NameOf(const testing::TestParamInfo<Twin>& twin) {
  constexpr const char* kNames[] = {"Disk", "Memory", "SpreadDisk", "SpreadMemory"};
  return kNames[static_cast<std::size_t>(twin.param)];
}
inline auto AllTwins() { return testing::Values(Twin::kDisk, Twin::kMemory, Twin::kSpreadDisk, Twin::kSpreadMemory); }

}  // namespace millrace::dfs
