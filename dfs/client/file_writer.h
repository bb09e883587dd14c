// SPDX-License-Identifier: Apache-2.0
// The FileWriter of a DfsClient: it writes blocks through pipelines, one after the other. If a pipeline breaks, its
// block is closed short and the file continues in a new block (docs/inside/decisions/0003-short-blocks.md). Thread
// rule: one thread at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dfs/client/block_writer.h"
#include "dfs/client/dfs_client.h"
#include "dfs/client/lease.h"

namespace millrace::dfs {

class BlockFileWriter final : public FileWriter {
 public:
  BlockFileWriter(std::unique_ptr<Lease> lease, std::string path, Micros stall,
                  std::shared_ptr<tls::Credentials> credentials)
      : lease_(std::move(lease)), path_(std::move(path)), stall_(stall), credentials_(std::move(credentials)) {}
  ~BlockFileWriter() override;

  Status Write(std::string_view data) override;
  Status Sync() override;
  Status Close() override;
  void Abandon() override;
  Result<HandedOver> HandOver(const std::string& attempt) override;
  [[nodiscard]] std::uint64_t bytes() const override { return bytes_; }

 private:
  Status WriteOnce(std::string_view data);
  Status OpenBlock();
  Result<Lease::NewBlock> AddBlock();
  Status FinishBlock();
  // Keeps the acknowledged bytes and writes the rest again. Requires: the pipeline has failed.
  Status Recover(const Status& why);
  Status FinishAll(const char* what);

  std::unique_ptr<Lease> lease_;
  std::string path_;
  Micros stall_;
  std::shared_ptr<tls::Credentials> credentials_;
  std::unique_ptr<BlockWriter> block_;  // the block being written, if any
  std::uint64_t block_id_ = 0;
  std::uint64_t block_bytes_ = 0;  // the bytes given to block_
  std::vector<WrittenBlock> written_;
  std::size_t synced_ = 0;        // the number of blocks in written_ that are synced
  std::vector<NodeId> excluded_;  // nodes that failed this writer
  int failures_ = 0;              // failures in a row
  std::uint64_t bytes_ = 0;
  Status failed_;  // the first failure, which stays
};

}  // namespace millrace::dfs
