// SPDX-License-Identifier: Apache-2.0
// The FileReader of a DfsClient. Thread rule: one thread at a time.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dfs/client/dfs_client.h"

namespace millrace::dfs {

// One page of a file's blocks. LocateBlocks returns the page that begins with block number `first`, from 0.
struct BlockPage {
  FileStatus info;
  std::vector<LocatedBlock> blocks;
  bool more = false;
};
using LocateBlocks = std::function<Result<BlockPage>(const std::string& path, std::uint32_t first)>;

class BlockFileReader final : public FileReader {
 public:
  // `known` holds blocks that the caller knows; with `complete`, these are all blocks of the file.
  BlockFileReader(FileStatus info, std::vector<LocatedBlock> known, bool complete, LocateBlocks locate,
                  BadReplica bad_replica, Micros stall, std::shared_ptr<tls::Credentials> credentials);

  [[nodiscard]] const FileStatus& info() const override { return info_; }
  Status ReadAt(std::uint64_t offset, std::uint64_t size, std::string* out) override;
  Status Stream(std::uint64_t offset, std::uint64_t size, const std::function<bool(std::string_view)>& sink) override;
  [[nodiscard]] Result<std::vector<LocatedBlock>> Blocks() override;
  [[nodiscard]] std::uint64_t bytes_local() const override { return bytes_local_; }
  [[nodiscard]] std::uint64_t bytes_remote() const override { return bytes_remote_; }

 private:
  // Looks up all blocks of the file again.
  Status LocateAll();
  Result<const LocatedBlock*> Find(std::uint64_t offset);
  Status StreamBlock(const LocatedBlock& block, std::uint64_t offset, std::uint64_t size,
                     const std::function<bool(std::string_view)>& sink);

  FileStatus info_;
  std::vector<LocatedBlock> blocks_;
  bool complete_;
  LocateBlocks locate_;
  BadReplica bad_replica_;
  Micros stall_;
  std::shared_ptr<tls::Credentials> credentials_;
  std::optional<std::uint64_t> mapped_block_;  // the block in mapped_
  MappedFile mapped_;
  std::uint64_t bytes_local_ = 0;
  std::uint64_t bytes_remote_ = 0;
};

}  // namespace millrace::dfs
