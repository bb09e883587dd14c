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
  MILLRACE_ASSIGN(const std::optional<BlockContent> content, FinishedContent(id, DataPath(id), CrcPath(id)));
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

bool BlockShelf::HasRoom(std::uint64_t size) const {
  struct statvfs disk;
  const bool known = ::statvfs(directory_.c_str(), &disk) == 0;
  const std::uint64_t available = known ? std::uint64_t{disk.f_bavail} * disk.f_frsize : 0;
  return available >= reserved_ && available - reserved_ >= size;
}

Status BlockShelf::CheckRoom(std::uint64_t id, std::uint64_t size) {
  BlockStore::Swept swept;
  bool room = HasRoom(size);
  while (!room && trash.RemoveOldest(std::numeric_limits<Micros>::max(), &swept)) room = HasRoom(size);
  if (swept.blocks > 0) yielded_(swept);
  if (room) return Status::Ok();
  return NoSpace("write " + BlockName(id) + " in " + directory_ + ": less than " + std::to_string(reserved_) +
                 " reserved bytes would stay free; remove files or give the node more disk");
}

Status BlockShelf::Publish(std::uint64_t id, Unfinished& block) {
  const Status published = MoveToBlocks(id, block);
  if (!published.ok()) ::unlink((WritingPath(id) + ".crc").c_str());  // the data stays, to be tried again or discarded
  return published;
}

// The checksums are moved first: after a crash, data without checksums would be a damaged block, while checksums
// without data are ignored.
Status BlockShelf::MoveToBlocks(std::uint64_t id, Unfinished& block) {
  const std::string data = WritingPath(id);
  if (::fdatasync(block.fd.get()) != 0) return FromErrno(errno, "sync " + data);
  const std::string crcs = data + ".crc";
  {
    MILLRACE_ASSIGN(const Fd fd, OpenFile(crcs, O_WRONLY | O_CREAT | O_TRUNC));
    MILLRACE_TRY(WriteAll(fd.get(), EncodeChecksums(block.length, block.chunk_crcs), crcs));
    if (::fdatasync(fd.get()) != 0) return FromErrno(errno, "sync " + crcs);
  }
  if (::rename(crcs.c_str(), CrcPath(id).c_str()) != 0) return FromErrno(errno, "rename " + crcs);
  if (::rename(data.c_str(), DataPath(id).c_str()) != 0) return FromErrno(errno, "rename " + data);
  MILLRACE_TRY(SyncDirectory(Directory(id)));
  const std::lock_guard lock(mutex);
  broken.erase(id);
  damaged.erase(id);
  finished[id] = {block.length, BlockCrc(block.chunk_crcs)};
  used += block.length;
  return Status::Ok();
}

}  // namespace millrace::dfs
