// SPDX-License-Identifier: Apache-2.0
// BlockShelf: the files of one DiskBlockStore and their state in memory (layout in block_store.h). Thread rule: any
// thread. The public maps are used under `mutex`; no file call is made while it is held, except to check that a file
// exists.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/status.h"
#include "dfs/data/block_checksums.h"
#include "dfs/data/block_store.h"
#include "dfs/data/block_trash.h"

namespace millrace::dfs {

// A block under writing/, with the checksums of its data.
struct Unfinished {
  Fd fd;
  std::uint64_t length = 0;
  std::vector<std::uint32_t> chunk_crcs;
  WriteFate fate;              // the fate of its data and of its checksums
  std::optional<Micros> left;  // the time when a sweep found it abandoned by its writer
};

class BlockShelf {
 public:
  BlockShelf(std::string directory, std::uint64_t reserved, std::function<void(const BlockStore::Swept&)> yielded)
      : trash(directory, [this](std::uint64_t id) { return DataPath(id); }),
        directory_(std::move(directory)),
        reserved_(reserved),
        yielded_(std::move(yielded)) {}

  // Makes the directories, removes blocks that a dead process was writing, and lists the rest.
  Status Load();
  [[nodiscard]] std::string WritingPath(std::uint64_t id) const { return directory_ + "/writing/" + BlockText(id); }
  [[nodiscard]] std::string Directory(std::uint64_t id) const {
    return directory_ + "/blocks/" + BlockText(id & 0xff).substr(14);
  }
  [[nodiscard]] std::string DataPath(std::uint64_t id) const { return Directory(id) + "/" + BlockText(id); }
  [[nodiscard]] std::string CrcPath(std::uint64_t id) const { return DataPath(id) + ".crc"; }

  // Returns OK if `size` more bytes leave the reserved ones free, and kNoSpace otherwise. Before it refuses, it removes
  // blocks from the trash, the oldest first, until they fit, and reports the removed blocks (`yielded`).
  [[nodiscard]] Status CheckRoom(std::uint64_t id, std::uint64_t size);
  [[nodiscard]] BlockStore::Space Space() const;
  // Cuts the data at the block's length, syncs and renames. The block is listed when this returns OK. After a failure
  // only its data under writing/ exists, which may be published again unless the block is spoiled.
  Status Publish(std::uint64_t id, Unfinished& block);

  std::mutex mutex;
  std::map<std::uint64_t, BlockContent> finished;
  std::set<std::uint64_t> damaged;  // blocks with data, but without checksums that fit
  // The blocks under writing/; null while a call works on the id.
  std::unordered_map<std::uint64_t, std::unique_ptr<Unfinished>> broken;
  std::uint64_t used = 0;  // the bytes of finished blocks
  BlockTrash trash;

 private:
  Status LoadDirectory(const std::string& path);
  Status LoadBlock(std::uint64_t id);
  [[nodiscard]] Result<bool> HasRoom(std::uint64_t size) const;
  Status WriteDown(std::uint64_t id, Unfinished& block);
  Status MoveToBlocks(std::uint64_t id, Unfinished& block);

  const std::string directory_;
  const std::uint64_t reserved_;
  const std::function<void(const BlockStore::Swept&)> yielded_;
};

}  // namespace millrace::dfs
