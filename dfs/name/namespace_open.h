// SPDX-License-Identifier: Apache-2.0
// OpenTable: the open files of dfs/name/namespace.h, their writers, and the blocks allocated to them. It is kept in
// memory only. Thread rule: one thread.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "dfs/name/namespace.h"
#include "dfs/name/types.h"
#include "dfs/wire/quota.h"

namespace millrace::dfs {

struct OpenEntry {
  OpenFile file;
  Micros created = 0;
  bool orphaned = false;  // a directory above it was removed: it cannot complete and reserves no path
  // What counts against quotas while the file is written: an entry, and its blocks, with the full size of each that is
  // not synced.
  Use reserved = {};
};

class OpenTable {
 public:
  // Adds an open file. Returns false if another one has this path (unless one of the two is orphaned) or this id.
  [[nodiscard]] bool Add(OpenEntry entry);
  void Erase(FileId file);  // removes the file and the blocks allocated to it
  // Records that the block was allocated to the file. Returns false if another open file has this block.
  [[nodiscard]] bool AddBlock(FileId file, BlockId block);
  [[nodiscard]] bool DropBlock(FileId file, BlockId block);  // false if the block was not allocated to this file
  void Sync(FileId file, const Block& block);                // records the next synced block
  // Returns the open files below the directory `path`, without orphaned ones.
  [[nodiscard]] std::vector<const OpenEntry*> Below(std::string_view path) const;
  // Marks the open files below the directory `path` as orphaned, and returns them.
  [[nodiscard]] std::vector<const OpenEntry*> Orphan(std::string_view path);

  // Returns what the open files below the directory `path` reserve, without orphaned ones. O(files)
  [[nodiscard]] Use ReservedBelow(std::string_view path) const;
  [[nodiscard]] Use ReservedBy(std::string_view user) const;  // by all open files of this user

  [[nodiscard]] const OpenEntry* Find(FileId file) const;
  [[nodiscard]] const OpenEntry* AtPath(std::string_view path) const;
  [[nodiscard]] const OpenEntry* OfBlock(BlockId block) const;
  [[nodiscard]] const std::map<FileId, OpenEntry>& files() const { return files_; }

 private:
  void Reserve(OpenEntry& entry, const Use& more);

  std::map<FileId, OpenEntry> files_;
  std::map<std::string, FileId, std::less<>> by_path_;
  boost::unordered_flat_map<BlockId, FileId> by_block_;
  boost::unordered_flat_map<std::string, Use> reserved_;  // by user
};

}  // namespace millrace::dfs
