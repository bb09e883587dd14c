// SPDX-License-Identifier: Apache-2.0
// BlockTrash: the trash of one DiskBlockStore (purpose in block_store.h). A block lies in
// `<directory>/trash/<id>-<when>`, with its checksums in `.crc` beside it; <id> and <when> (microseconds since the
// epoch) are 16 hexadecimal digits each. Blocks come and go by rename, so no byte is copied. Thread rule: any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "dfs/data/block_store.h"
#include "dfs/wire/chunks.h"

namespace millrace::dfs {

class BlockTrash {
 public:
  // `data_path` returns the path of a block outside the trash; its checksums are at the same path with ".crc".
  BlockTrash(const std::string& directory, std::function<std::string(std::uint64_t)> data_path)
      : directory_(directory + "/trash"), data_path_(std::move(data_path)) {}

  // Makes the directory and lists it. A block counts as trashed even if a dying process had moved only one of its two
  // files.
  Status Load();
  // Moves a block into the trash. Requires: nothing else touches its files meanwhile.
  Status Put(std::uint64_t id, const BlockContent& content, Micros when);
  // Moves a block back and syncs the move. Returns its content, or kNotFound if the trash lacks it. Requires: nothing
  // else touches its files meanwhile.
  Result<BlockContent> Take(std::uint64_t id);
  // Removes the oldest block, for good. Returns false if there is none, or if it came at `before` or later.
  bool RemoveOldest(Micros before, BlockStore::Swept* swept);

  void Remove(std::uint64_t id);  // for good; a missing block is not a failure

  [[nodiscard]] std::vector<StoredBlock> List() const;
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  struct TrashedBlock {
    BlockContent content;
    Micros when = 0;
  };
  [[nodiscard]] std::string PathOf(std::uint64_t id, Micros when) const;
  Status LoadEntry(std::uint64_t id, Micros when);
  Status CompleteEntry(std::uint64_t id, Micros when);
  void Add(std::uint64_t id, const TrashedBlock& entry);
  TrashedBlock Drop(std::map<std::uint64_t, TrashedBlock>::iterator entry);  // under mutex_

  const std::string directory_;
  const std::function<std::string(std::uint64_t)> data_path_;
  mutable std::mutex mutex_;  // no file call is made while it is held
  std::map<std::uint64_t, TrashedBlock> entries_;
  std::set<std::pair<Micros, std::uint64_t>> by_time_;
  std::uint64_t bytes_ = 0;
};

// Returns the content of a finished block from its two files, nothing if one is missing or they do not fit each other,
// and kIo if the disk cannot read them.
[[nodiscard]] Result<std::optional<BlockContent>> FinishedContent(std::uint64_t id, const std::string& data,
                                                                  const std::string& crcs);

}  // namespace millrace::dfs
