// SPDX-License-Identifier: Apache-2.0
#include "dfs/data/block_trash.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/file.h"
#include "dfs/data/block_checksums.h"

namespace millrace::dfs {
namespace {

constexpr std::size_t kDigits = 16;  // in a file name, of a block's id and of a time

bool Present(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

void RemoveBoth(const std::string& data) {
  ::unlink(data.c_str());
  ::unlink((data + ".crc").c_str());
}

}  // namespace

Result<std::optional<BlockContent>> FinishedContent(std::uint64_t id, const std::string& data,
                                                    const std::string& crcs) {
  using Content = std::optional<BlockContent>;
  struct stat data_info, crcs_info;
  for (const auto& [path, info] : {std::pair(&data, &data_info), std::pair(&crcs, &crcs_info)}) {
    if (::stat(path->c_str(), info) == 0) continue;
    return errno == ENOENT ? Result<Content>(Content()) : FromErrno(errno, "look at " + *path);
  }
  const auto length = static_cast<std::uint64_t>(data_info.st_size);
  if (static_cast<std::uint64_t>(crcs_info.st_size) != ChecksumsFileBytes(length)) return Content();
  MILLRACE_ASSIGN(const std::string checksums, ReadWholeFile(crcs));
  const Result<std::vector<std::uint32_t>> chunk_crcs = DecodeChecksums(checksums, length, id);
  return chunk_crcs.ok() ? Content({length, BlockCrc(*chunk_crcs)}) : Content();
}

std::string BlockTrash::PathOf(std::uint64_t id, Micros when) const {
  return directory_ + "/" + BlockText(id) + "-" + BlockText(static_cast<std::uint64_t>(when));
}

Status BlockTrash::Load() {
  MILLRACE_TRY(MakeDirectories(directory_));
  MILLRACE_ASSIGN(const std::vector<std::string> names, ListDirectory(directory_));
  std::set<std::pair<std::uint64_t, Micros>> found;
  for (const std::string& name : names) {
    const std::string_view stem = std::string_view(name).substr(0, name.find('.'));
    if (stem.size() != 2 * kDigits + 1) continue;
    const std::optional<std::uint64_t> id = ParseBlockText(stem.substr(0, kDigits));
    const std::optional<std::uint64_t> when = ParseBlockText(stem.substr(kDigits + 1));
    if (id.has_value() && when.has_value()) found.emplace(*id, static_cast<Micros>(*when));
  }
  for (const auto& [id, when] : found) MILLRACE_TRY(LoadEntry(id, when));
  return Status::Ok();
}

Status BlockTrash::LoadEntry(std::uint64_t id, Micros when) {
  MILLRACE_TRY(CompleteEntry(id, when));
  const std::string data = PathOf(id, when);
  const Result<std::optional<BlockContent>> found = FinishedContent(id, data, data + ".crc");
  if (found.status().code() == StatusCode::kIo) return Status::Ok();  // perhaps the disk can read it at the next start
  MILLRACE_ASSIGN(const std::optional<BlockContent> content, found);
  if (content.has_value()) {
    Add(id, {*content, when});
  } else {
    RemoveBoth(data);
  }
  return Status::Ok();
}

// A crash may have left the data in one place and the checksums in the other. If one of them is in the trash already,
// the other one is moved there too.
Status BlockTrash::CompleteEntry(std::uint64_t id, Micros when) {
  const std::string trashed = PathOf(id, when), block = data_path_(id);
  for (const auto& [half, other] : {std::pair("", ".crc"), std::pair(".crc", "")}) {
    const bool split =
        Present(trashed + other) && !Present(trashed + half) && Present(block + half) && !Present(block + other);
    if (split) MILLRACE_TRY(RenameFile(block + half, trashed + half));
  }
  return Status::Ok();
}

// Nothing is synced. If a crash undoes the move, the block is reported and put into the trash again.
Status BlockTrash::Put(std::uint64_t id, const BlockContent& content, Micros when) {
  const std::string data = PathOf(id, when);
  MILLRACE_TRY(RenameFile(data_path_(id), data));
  MILLRACE_TRY(RenameFile(data_path_(id) + ".crc", data + ".crc"));
  Add(id, {content, when});
  return Status::Ok();
}

BlockTrash::TrashedBlock BlockTrash::Drop(std::map<std::uint64_t, TrashedBlock>::iterator entry) {
  const auto [id, dropped] = *entry;
  bytes_ -= dropped.content.length;
  by_time_.erase({dropped.when, id});
  entries_.erase(entry);
  return dropped;
}

void BlockTrash::Add(std::uint64_t id, const TrashedBlock& entry) {
  std::optional<TrashedBlock> replaced;
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = entries_.find(id); known != entries_.end()) replaced = Drop(known);
    entries_[id] = entry;
    by_time_.emplace(entry.when, id);
    bytes_ += entry.content.length;
  }
  if (replaced.has_value() && replaced->when != entry.when) RemoveBoth(PathOf(id, replaced->when));
}

Result<BlockContent> BlockTrash::Take(std::uint64_t id) {
  TrashedBlock entry;
  {
    const std::lock_guard lock(mutex_);
    const auto it = entries_.find(id);
    if (it == entries_.end()) return NotFound(BlockName(id) + " is not in the trash");
    entry = Drop(it);
  }
  const std::string trashed = PathOf(id, entry.when), data = data_path_(id);
  Status moved = RenameFile(trashed + ".crc", data + ".crc");
  if (moved.ok()) moved = RenameFile(trashed, data);
  if (moved.ok()) moved = SyncDirectory(data.substr(0, data.rfind('/')));
  if (moved.ok()) return entry.content;
  // It goes back where it was, as far as the disk does anything. The next start finds out what it did.
  if (!Present(trashed)) (void)RenameFile(data, trashed);
  (void)RenameFile(data + ".crc", trashed + ".crc");
  if (Present(trashed)) Add(id, entry);
  return moved;
}

bool BlockTrash::RemoveOldest(Micros before, BlockStore::Swept* swept) {
  std::string data;
  {
    const std::lock_guard lock(mutex_);
    if (by_time_.empty() || by_time_.begin()->first >= before) return false;
    const std::uint64_t id = by_time_.begin()->second;
    const TrashedBlock oldest = Drop(entries_.find(id));
    data = PathOf(id, oldest.when);
    ++swept->blocks;
    swept->bytes += oldest.content.length;
  }
  RemoveBoth(data);
  return true;
}

void BlockTrash::Remove(std::uint64_t id) {
  std::string data;
  {
    const std::lock_guard lock(mutex_);
    const auto entry = entries_.find(id);
    if (entry == entries_.end()) return;
    data = PathOf(id, Drop(entry).when);
  }
  RemoveBoth(data);
}

std::vector<StoredBlock> BlockTrash::List() const {
  const std::lock_guard lock(mutex_);
  std::vector<StoredBlock> blocks;
  blocks.reserve(entries_.size());
  for (const auto& [id, entry] : entries_) blocks.push_back({id, entry.content.length, entry.content.crc});
  return blocks;
}

std::uint64_t BlockTrash::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace millrace::dfs
