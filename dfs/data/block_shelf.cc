// SPDX-License-Identifier: Apache-2.0
#include "dfs/data/block_shelf.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <optional>

namespace millrace::dfs {
namespace {

constexpr int kDirectories = 256;

}  // namespace

Status BlockShelf::Load() {
  MILLRACE_TRY(RemoveTree(directory_ + "/writing"));
  MILLRACE_TRY(MakeDirectories(directory_ + "/writing"));
  for (int i = 0; i < kDirectories; ++i) MILLRACE_TRY(MakeDirectories(Directory(static_cast<std::uint64_t>(i))));
  MILLRACE_TRY(trash.Load());  // first, since it moves files that a crash left among the blocks
  for (int i = 0; i < kDirectories; ++i) {
    const std::string path = Directory(static_cast<std::uint64_t>(i));
    MILLRACE_TRY(LoadDirectory(path));
  }
  MILLRACE_TRY(SyncDirectory(directory_ + "/blocks"));
  return SyncDirectory(directory_);
}

Status BlockShelf::LoadDirectory(const std::string& path) {
  MILLRACE_ASSIGN(const std::vector<std::string> names, ListDirectory(path));
  for (const std::string& name : names) {
    const std::optional<std::uint64_t> id = ParseBlockText(std::string_view(name).substr(0, name.find('.')));
    if (!id.has_value()) continue;
    if (name == BlockText(*id)) {
      MILLRACE_TRY(LoadBlock(*id));
    } else if (path + "/" + name == CrcPath(*id) && ::access(DataPath(*id).c_str(), F_OK) != 0 && errno == ENOENT) {
      ::unlink(CrcPath(*id).c_str());  // a crash came before its data was renamed
    }
  }
  return Status::Ok();
}

Status BlockShelf::LoadBlock(std::uint64_t id) {
  damaged.insert(id);
  const Result<std::optional<BlockContent>> found = FinishedContent(id, DataPath(id), CrcPath(id));
  if (found.status().code() == StatusCode::kIo) return Status::Ok();  // the disk cannot read it
  MILLRACE_ASSIGN(const std::optional<BlockContent> content, found);
  if (!content.has_value()) return Status::Ok();
  damaged.erase(id);
  finished[id] = *content;
  used += content->length;
  return Status::Ok();
}

BlockStore::Space BlockShelf::Space() const {
  BlockStore::Space space;
  struct statvfs disk;
  if (::statvfs(directory_.c_str(), &disk) != 0) return space;
  const std::uint64_t available = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  space.capacity = std::uint64_t{disk.f_blocks} * disk.f_frsize;
  space.free = available > reserved_ ? available - reserved_ : 0;
  return space;
}

Result<bool> BlockShelf::HasRoom(std::uint64_t size) const {
  struct statvfs disk;
  if (::statvfs(directory_.c_str(), &disk) != 0) return FromErrno(errno, "look how full " + directory_ + " is");
  const std::uint64_t available = std::uint64_t{disk.f_bavail} * disk.f_frsize;
  return available >= reserved_ && available - reserved_ >= size;
}

Status BlockShelf::CheckRoom(std::uint64_t id, std::uint64_t size) {
  BlockStore::Swept swept;
  Result<bool> room = HasRoom(size);
  while (room.ok() && !*room && trash.RemoveOldest(std::numeric_limits<Micros>::max(), &swept)) room = HasRoom(size);
  if (swept.blocks > 0) yielded_(swept);
  if (!room.ok()) return room.status().Within("write " + BlockName(id));
  if (*room) return Status::Ok();
  return NoSpace("write " + BlockName(id) + " in " + directory_ + ": less than " + std::to_string(reserved_) +
                 " reserved bytes would stay free; remove files or give the node more disk");
}

Status BlockShelf::Publish(std::uint64_t id, Unfinished& block) {
  MILLRACE_TRY(block.fate.Usable());
  Status published = WriteDown(id, block);
  if (published.ok()) published = MoveToBlocks(id, block);
  if (!published.ok()) {
    ::unlink((WritingPath(id) + ".crc").c_str());
    return published;
  }
  const std::lock_guard lock(mutex);
  broken.erase(id);
  damaged.erase(id);
  finished[id] = {block.length, BlockCrc(block.chunk_crcs)};
  used += block.length;
  return Status::Ok();
}

// A failed append may have left some of its bytes, and another process may have written more than was adopted.
Status BlockShelf::WriteDown(std::uint64_t id, Unfinished& block) {
  const std::string data = WritingPath(id), crcs = data + ".crc";
  WriteFate& fate = block.fate;
  const bool cut = ::ftruncate(block.fd.get(), static_cast<off_t>(block.length)) == 0;
  MILLRACE_TRY(fate.Take(WriteStep::kWrite, cut ? Status::Ok() : FromErrno(errno, "truncate " + data)));
  MILLRACE_TRY(fate.Take(WriteStep::kSync, SyncData(block.fd.get(), data)));
  ::unlink(crcs.c_str());  // what an earlier try left is not written over, in case its sync failed
  MILLRACE_ASSIGN(Fd fd, OpenFile(crcs, O_WRONLY | O_CREAT | O_EXCL));
  MILLRACE_TRY(fate.Take(WriteStep::kWrite, WriteAll(fd.get(), EncodeChecksums(block.length, block.chunk_crcs), crcs)));
  MILLRACE_TRY(fate.Take(WriteStep::kSync, SyncData(fd.get(), crcs)));
  return fate.Take(WriteStep::kSync, CloseFile(std::move(fd), crcs));
}

// The checksums are moved first: after a crash, data without checksums would be a damaged block, while checksums
// without data are ignored. If a step fails, nobody knows what a crash would leave, so the block is taken back.
Status BlockShelf::MoveToBlocks(std::uint64_t id, Unfinished& block) {
  const std::string data = WritingPath(id);
  MILLRACE_TRY(block.fate.Take(WriteStep::kRename, RenameFile(data + ".crc", CrcPath(id))));
  Status moved = block.fate.Take(WriteStep::kRename, RenameFile(data, DataPath(id)));
  if (moved.ok()) moved = block.fate.Take(WriteStep::kSync, SyncDirectory(Directory(id)));
  if (moved.ok()) return moved;
  ::unlink(DataPath(id).c_str());
  ::unlink(CrcPath(id).c_str());
  const std::lock_guard lock(mutex);
  damaged.erase(id);  // what stood there is gone, too
  return moved;
}

}  // namespace millrace::dfs
