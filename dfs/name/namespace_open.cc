// SPDX-License-Identifier: Apache-2.0
#include "dfs/name/namespace_open.h"

#include <algorithm>
#include <utility>

#include "dfs/wire/job_logs.h"
#include "dfs/wire/path.h"

namespace millrace::dfs {
namespace {

std::uint64_t WholeBlock(const OpenEntry& entry) {
  return entry.file.options.block_size * entry.file.options.replication;
}

// Returns the user whose quota the file counts against; the system's has none.
std::string PayerOf(const OpenEntry& entry) {
  return IsWithin(entry.file.path, kJobLogsDirectory) ? std::string() : entry.file.options.owner;
}

}  // namespace

// Less is added as the complement of what goes, so that the sums come out right.
void OpenTable::Reserve(OpenEntry& entry, const Use& more) {
  entry.reserved += more;
  reserved_[PayerOf(entry)] += more;
}

bool OpenTable::Add(OpenEntry entry) {
  const FileId id = entry.file.id;
  if (files_.contains(id)) return false;
  if (!entry.orphaned && !by_path_.emplace(entry.file.path, id).second) return false;
  entry.reserved = {};
  Reserve(files_.emplace(id, std::move(entry)).first->second, {.bytes = 0, .entries = 1});
  return true;
}

void OpenTable::Erase(FileId file) {
  const auto it = files_.find(file);
  for (const BlockId block : it->second.file.blocks) by_block_.erase(block);
  if (!it->second.orphaned) by_path_.erase(it->second.file.path);
  const auto of_user = reserved_.find(PayerOf(it->second));
  of_user->second -= it->second.reserved;
  if (of_user->second == Use()) reserved_.erase(of_user);
  files_.erase(it);
}

bool OpenTable::AddBlock(FileId file, BlockId block) {
  if (!by_block_.emplace(block, file).second) return false;
  OpenEntry& entry = files_.at(file);
  std::vector<BlockId>& blocks = entry.file.blocks;
  blocks.insert(std::lower_bound(blocks.begin(), blocks.end(), block), block);
  Reserve(entry, {.bytes = WholeBlock(entry)});
  return true;
}

bool OpenTable::DropBlock(FileId file, BlockId block) {
  const auto known = by_block_.find(block);
  if (known == by_block_.end() || known->second != file) return false;
  by_block_.erase(known);
  OpenEntry& entry = files_.at(file);
  Reserve(entry, {.bytes = 0 - WholeBlock(entry)});
  std::vector<BlockId>& blocks = entry.file.blocks;
  blocks.erase(std::lower_bound(blocks.begin(), blocks.end(), block));
  return true;
}

void OpenTable::Sync(FileId file, const Block& block) {
  OpenEntry& entry = files_.at(file);
  entry.file.synced.push_back(block);
  Reserve(entry, {.bytes = block.length * entry.file.options.replication - WholeBlock(entry)});
}

Use OpenTable::ReservedBelow(std::string_view path) const {
  Use use;
  const std::string below = path == "/" ? "/" : std::string(path) + "/";
  for (auto it = by_path_.lower_bound(below); it != by_path_.end() && it->first.starts_with(below); ++it)
    use += files_.at(it->second).reserved;
  return use;
}

Use OpenTable::ReservedBy(std::string_view user) const {
  const auto known = reserved_.find(std::string(user));
  return known == reserved_.end() ? Use() : known->second;
}

std::vector<const OpenEntry*> OpenTable::Below(std::string_view path) const {
  std::vector<const OpenEntry*> found;
  const std::string below = std::string(path) + "/";
  for (auto it = by_path_.lower_bound(below); it != by_path_.end() && it->first.starts_with(below); ++it)
    found.push_back(&files_.at(it->second));
  return found;
}

std::vector<const OpenEntry*> OpenTable::Orphan(std::string_view path) {
  std::vector<const OpenEntry*> orphans;
  const std::string below = std::string(path) + "/";
  auto it = by_path_.lower_bound(below);
  while (it != by_path_.end() && it->first.starts_with(below)) {
    OpenEntry& entry = files_.at(it->second);
    entry.orphaned = true;
    orphans.push_back(&entry);
    it = by_path_.erase(it);
  }
  return orphans;
}

const OpenEntry* OpenTable::Find(FileId file) const {
  const auto it = files_.find(file);
  return it == files_.end() ? nullptr : &it->second;
}

const OpenEntry* OpenTable::AtPath(std::string_view path) const {
  const auto it = by_path_.find(path);
  return it == by_path_.end() ? nullptr : &files_.at(it->second);
}

const OpenEntry* OpenTable::OfBlock(BlockId block) const {
  const auto it = by_block_.find(block);
  return it == by_block_.end() ? nullptr : &files_.at(it->second);
}

}  // namespace millrace::dfs
