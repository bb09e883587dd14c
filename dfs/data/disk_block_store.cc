// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>

#include "dfs/data/block_checksums.h"
#include "dfs/data/block_shelf.h"
#include "dfs/data/block_store.h"

namespace millrace::dfs {
namespace {

constexpr std::uint64_t kFlushBytes = std::uint64_t{4}
                                      << 20;  // writeback starts after this many, so that a sync is short

class DiskBlockFile final : public BlockFile {
 public:
  DiskBlockFile(BlockShelf& shelf, std::uint64_t id, Fd fd)
      : shelf_(shelf), id_(id), block_(std::make_unique<Unfinished>()) {
    block_->fd = std::move(fd);
  }
  ~DiskBlockFile() override {
    if (finished_) return;
    const std::lock_guard lock(shelf_.mutex);
    shelf_.broken[id_] = std::move(block_);
  }

  Status Append(std::string_view data, const std::vector<std::uint32_t>& chunk_crcs) override {
    MILLRACE_CHECK(!finished_ && length() % kChunkBytes == 0, BlockName(id_) + " is finished or ends within a chunk");
    MILLRACE_TRY(block_->fate.Usable());
    MILLRACE_TRY(CheckChunks(data, chunk_crcs, id_, length() / kChunkBytes));
    MILLRACE_TRY(shelf_.CheckRoom(id_, data.size()));
    MILLRACE_TRY(block_->fate.Take(WriteStep::kWrite,
                                   WriteAllAt(block_->fd.get(), data, block_->length, shelf_.WritingPath(id_))));
    return Grow(data.size(), chunk_crcs);
  }

  // The other process gets a file description of its own, which it cannot read from and whose flags are not ours.
  Result<Fd> Share() override { return OpenFile(shelf_.WritingPath(id_), O_WRONLY); }

  // This uses pread: with a mapping, the other process could kill us by truncating the file.
  Status ReadShared(std::uint64_t offset, std::size_t size, const std::vector<std::uint32_t>& chunk_crcs,
                    char* out) const override {
    MILLRACE_TRY(ReadExactlyAt(block_->fd.get(), out, size, offset, shelf_.WritingPath(id_)));
    return CheckChunks({out, size}, chunk_crcs, id_, offset / kChunkBytes);
  }

  Status Adopt(std::string_view data, const std::vector<std::uint32_t>& chunk_crcs) override {
    MILLRACE_CHECK(!finished_ && length() % kChunkBytes == 0, BlockName(id_) + " is finished or ends within a chunk");
    MILLRACE_TRY(block_->fate.Usable());
    MILLRACE_TRY(shelf_.CheckRoom(id_, 0));
    return Grow(data.size(), chunk_crcs);
  }

  Status Sync() override {
    MILLRACE_TRY(block_->fate.Usable());
    return block_->fate.Take(WriteStep::kSync, SyncData(block_->fd.get(), shelf_.WritingPath(id_)));
  }

  Status Finish() override {
    MILLRACE_CHECK(!finished_, BlockName(id_) + " is finished");
    MILLRACE_TRY(shelf_.Publish(id_, *block_));
    finished_ = true;
    return Status::Ok();
  }

  [[nodiscard]] std::uint64_t length() const override { return block_->length; }
  [[nodiscard]] std::uint32_t crc() const override { return BlockCrc(block_->chunk_crcs); }

 private:
  Status Grow(std::uint64_t size, const std::vector<std::uint32_t>& chunk_crcs) {
    block_->length += size;
    block_->chunk_crcs.insert(block_->chunk_crcs.end(), chunk_crcs.begin(), chunk_crcs.end());
    if (block_->length - flushed_ < kFlushBytes) return Status::Ok();
    const auto from = static_cast<off_t>(flushed_), size_of_it = static_cast<off_t>(block_->length - flushed_);
    flushed_ = block_->length;
    // This only starts the writeback early, and not every file system can. But what it did not write is lost.
    if (::sync_file_range(block_->fd.get(), from, size_of_it, SYNC_FILE_RANGE_WRITE) == 0) return Status::Ok();
    if (errno != EIO && errno != ENOSPC && errno != EDQUOT) return Status::Ok();
    return block_->fate.Take(WriteStep::kSync, FromErrno(errno, "write back " + shelf_.WritingPath(id_)));
  }

  BlockShelf& shelf_;
  const std::uint64_t id_;
  std::unique_ptr<Unfinished> block_;
  std::uint64_t flushed_ = 0;
  bool finished_ = false;
};

class DiskBlockStore final : public BlockStore {
 public:
  DiskBlockStore(std::string directory, std::uint64_t reserved, std::function<void(const Swept&)> yielded)
      : shelf_(std::move(directory), reserved, std::move(yielded)) {}
  Status Load() { return shelf_.Load(); }

  Result<std::unique_ptr<BlockFile>> Create(std::uint64_t id) override;
  Result<StoredBlock> FinishAt(std::uint64_t id, std::uint64_t length) override;
  void Discard(std::uint64_t id) override;
  Swept SweepUnfinished(Micros now, Micros retention) override;
  Result<OpenBlock> Open(std::uint64_t id) const override;
  Result<std::string> Read(std::uint64_t id, std::uint64_t offset, std::uint64_t size) const override;
  Status Verify(std::uint64_t id, std::uint64_t offset, std::uint64_t size) override;
  Status Relist(std::uint64_t id) override;
  Status Remove(std::uint64_t id) override;
  bool Spoiled(std::uint64_t id) const override;
  bool Has(std::uint64_t id) const override;
  std::vector<StoredBlock> List() const override;
  std::vector<std::uint64_t> Damaged() const override;
  std::optional<std::uint64_t> Length(std::uint64_t id) const override;
  Status Trash(std::uint64_t id, Micros now) override;
  Result<StoredBlock> Restore(std::uint64_t id) override;
  void RemoveTrashed(std::uint64_t id) override { shelf_.trash.Remove(id); }
  std::vector<StoredBlock> ListTrash() const override { return shelf_.trash.List(); }
  Swept SweepTrash(Micros before, std::uint64_t least_free) override;
  Space space() const override;

 private:
  // Until Release nobody else writes the block or touches its files. Returns false if somebody else has the claim.
  [[nodiscard]] bool Claim(std::uint64_t id);
  [[nodiscard]] bool Finished(std::uint64_t id) const;
  void Release(std::uint64_t id);
  void Forget(std::uint64_t id);  // if its data file is gone
  // Returns all chunks that the range touches, checked. Requires: `size` is not 0.
  Result<std::string> ReadChunks(const OpenBlock& block, std::uint64_t id, std::uint64_t offset,
                                 std::uint64_t size) const;

  mutable BlockShelf shelf_;
};

// A disk that cannot read a block has lost it, whatever else it can read.
Status Unreadable(std::uint64_t id, const Status& why) {
  return why.code() == StatusCode::kIo ? Corrupt(BlockName(id) + " cannot be read: " + why.message()) : why;
}

bool DiskBlockStore::Claim(std::uint64_t id) {
  const std::lock_guard lock(shelf_.mutex);
  return shelf_.broken.try_emplace(id).second;
}

bool DiskBlockStore::Finished(std::uint64_t id) const {
  const std::lock_guard lock(shelf_.mutex);
  return shelf_.finished.contains(id);
}

void DiskBlockStore::Release(std::uint64_t id) {
  const std::lock_guard lock(shelf_.mutex);
  shelf_.broken.erase(id);
}

Result<std::unique_ptr<BlockFile>> DiskBlockStore::Create(std::uint64_t id) {
  {
    const std::lock_guard lock(shelf_.mutex);
    if (shelf_.finished.contains(id) || !shelf_.broken.try_emplace(id).second) {
      return Exists("create " + BlockName(id) + ": it is here already");
    }
  }
  ::unlink(shelf_.WritingPath(id).c_str());  // a spoiled file that could not be removed is not written over
  Result<Fd> fd = OpenFile(shelf_.WritingPath(id), O_RDWR | O_CREAT | O_EXCL);
  if (!fd.ok()) {
    Release(id);
    return fd.status();
  }
  return std::unique_ptr<BlockFile>(std::make_unique<DiskBlockFile>(shelf_, id, std::move(*fd)));
}

Result<StoredBlock> DiskBlockStore::FinishAt(std::uint64_t id, std::uint64_t length) {
  std::unique_ptr<Unfinished> block;
  {
    const std::lock_guard lock(shelf_.mutex);
    if (const auto found = shelf_.finished.find(id); found != shelf_.finished.end()) {
      if (found->second.length == length) return StoredBlock{id, length, found->second.crc};
      return Invalid("finish " + BlockName(id) + " at byte " + std::to_string(length) + ": it was finished at " +
                     std::to_string(found->second.length));
    }
    const auto found = shelf_.broken.find(id);
    if (found == shelf_.broken.end()) return NotFound("finish " + BlockName(id) + ": it is not here");
    if (found->second == nullptr) return Busy("finish " + BlockName(id) + ": it is being written");
    if (!found->second->fate.spoiled()) MILLRACE_TRY(CheckCut(id, found->second->length, length));
    block = std::move(found->second);  // as after Claim
  }
  if (!block->fate.spoiled()) {
    block->length = length;
    block->chunk_crcs.resize(ChunkCount(length));
  }
  Status status = shelf_.Publish(id, *block);
  if (status.ok()) return StoredBlock{id, length, BlockCrc(block->chunk_crcs)};
  const bool spoiled = block->fate.spoiled();
  if (spoiled) {
    status = block->fate.Usable().Within("finish " + BlockName(id));
    ::unlink(shelf_.WritingPath(id).c_str());
  }
  const std::lock_guard lock(shelf_.mutex);
  if (spoiled) {
    shelf_.broken.erase(id);
  } else {
    shelf_.broken[id] = std::move(block);
  }
  return status;
}

void DiskBlockStore::Discard(std::uint64_t id) {
  {
    const std::lock_guard lock(shelf_.mutex);
    const auto found = shelf_.broken.find(id);
    if (found == shelf_.broken.end() || found->second == nullptr) return;
    found->second.reset();  // as after Claim, until the file is gone
  }
  ::unlink(shelf_.WritingPath(id).c_str());
  const std::lock_guard lock(shelf_.mutex);
  shelf_.broken.erase(id);
}

BlockStore::Swept DiskBlockStore::SweepUnfinished(Micros now, Micros retention) {
  Swept swept;
  std::vector<std::uint64_t> taken;  // as after Claim, until their files are gone
  {
    const std::lock_guard lock(shelf_.mutex);
    for (auto& [id, block] : shelf_.broken) {
      if (block == nullptr) continue;
      if (!block->left.has_value()) block->left = now;
      if (now - *block->left < retention) continue;
      ++swept.blocks;
      swept.bytes += block->length;
      block.reset();
      taken.push_back(id);
    }
  }
  for (const std::uint64_t id : taken) {
    ::unlink(shelf_.WritingPath(id).c_str());
    Release(id);
  }
  return swept;
}

// Where tasks run as this process's own user, a task to which the block was passed may have made it unreadable.
Result<Fd> OpenToRead(const std::string& path) {
  Result<Fd> file = OpenFile(path, O_RDONLY);
  const bool denied = !file.ok() && ::access(path.c_str(), R_OK) != 0 && errno == EACCES;
  return denied && ::chmod(path.c_str(), 0644) == 0 ? OpenFile(path, O_RDONLY) : std::move(file);
}

Result<OpenBlock> DiskBlockStore::Open(std::uint64_t id) const {
  OpenBlock open;
  Result<Fd> data = OpenToRead(shelf_.DataPath(id));
  if (!data.ok() && data.status().code() == StatusCode::kNotFound) return NotFound(BlockName(id) + " is not here");
  if (!data.ok()) return Unreadable(id, data.status());
  open.data = std::move(*data);
  MILLRACE_ASSIGN(open.length, FileSize(open.data.get(), shelf_.DataPath(id)));
  Result<std::string> crcs = ReadWholeFile(shelf_.CrcPath(id));
  if (!crcs.ok() && crcs.status().code() == StatusCode::kNotFound) return Corrupt(BlockName(id) + " has no checksums");
  if (!crcs.ok()) return Unreadable(id, crcs.status());
  MILLRACE_ASSIGN(open.chunk_crcs, DecodeChecksums(*crcs, open.length, id));
  return open;
}

Result<std::string> DiskBlockStore::Read(std::uint64_t id, std::uint64_t offset, std::uint64_t size) const {
  MILLRACE_ASSIGN(const OpenBlock block, Open(id));
  MILLRACE_TRY(CheckRange(id, block.length, offset, size));
  if (size == 0) return std::string();
  MILLRACE_ASSIGN(const std::string bytes, ReadChunks(block, id, offset, size));
  return bytes.substr(offset % kChunkBytes, size);
}

Result<std::string> DiskBlockStore::ReadChunks(const OpenBlock& block, std::uint64_t id, std::uint64_t offset,
                                               std::uint64_t size) const {
  const std::uint64_t first = offset / kChunkBytes;
  const std::uint64_t from = first * kChunkBytes;
  const std::uint64_t to = std::min(block.length, ChunkCount(offset + size) * kChunkBytes);
  std::string bytes(to - from, '\0');
  const Status read = ReadExactlyAt(block.data.get(), bytes.data(), bytes.size(), from, shelf_.DataPath(id));
  MILLRACE_TRY(Unreadable(id, read));
  const std::span crcs(block.chunk_crcs);
  MILLRACE_TRY(CheckChunks(bytes, crcs.subspan(first, ChunkCount(bytes.size())), id, first));
  return bytes;
}

// The file's pages are dropped from the page cache before, so that the disk is read, and after, so that they do not
// push out pages that readers need.
Status DiskBlockStore::Verify(std::uint64_t id, std::uint64_t offset, std::uint64_t size) {
  const Result<OpenBlock> block = Open(id);
  if (block.status().code() == StatusCode::kNotFound) Forget(id);
  if (!block.ok()) return block.status();
  MILLRACE_TRY(CheckRange(id, block->length, offset, size));
  if (size == 0) return Status::Ok();
  const auto drop = [&] {
    ::posix_fadvise(block->data.get(), static_cast<off_t>(offset), static_cast<off_t>(size), POSIX_FADV_DONTNEED);
  };
  drop();
  const Status read = ReadChunks(*block, id, offset, size).status();
  drop();
  return read;
}

// The file may have been published since it was found missing, so this looks again under the mutex.
void DiskBlockStore::Forget(std::uint64_t id) {
  const std::lock_guard lock(shelf_.mutex);
  if (::access(shelf_.DataPath(id).c_str(), F_OK) == 0 || errno != ENOENT) return;
  shelf_.damaged.erase(id);
  const auto found = shelf_.finished.find(id);
  if (found == shelf_.finished.end()) return;
  shelf_.used -= found->second.length;
  shelf_.finished.erase(found);
}

Status DiskBlockStore::Relist(std::uint64_t id) {
  MILLRACE_ASSIGN(const OpenBlock block, Open(id));
  const std::lock_guard lock(shelf_.mutex);
  if (shelf_.damaged.erase(id) == 0) return Status::Ok();
  shelf_.finished[id] = block.content();
  shelf_.used += block.length;
  return Status::Ok();
}

// The data is removed first, so that a crash leaves no data without checksums. Nothing is synced: a block that comes
// back after a crash is reported and removed again.
Status DiskBlockStore::Remove(std::uint64_t id) {
  Discard(id);
  {
    const std::lock_guard lock(shelf_.mutex);
    if (!shelf_.broken.try_emplace(id).second) return Status::Ok();  // it is being written, so none is finished
    shelf_.damaged.erase(id);
    if (const auto found = shelf_.finished.find(id); found != shelf_.finished.end()) {
      shelf_.used -= found->second.length;
      shelf_.finished.erase(found);
    }
  }
  Status status;
  for (const std::string& path : {shelf_.DataPath(id), shelf_.CrcPath(id)}) {
    if (::unlink(path.c_str()) != 0 && errno != ENOENT && status.ok()) status = FromErrno(errno, "remove " + path);
  }
  Release(id);
  return status;
}

Status DiskBlockStore::Trash(std::uint64_t id, Micros now) {
  Discard(id);
  std::optional<BlockContent> content;
  {
    const std::lock_guard lock(shelf_.mutex);
    if (!shelf_.broken.try_emplace(id).second) return Status::Ok();  // it is being written, so none is finished
    if (const auto found = shelf_.finished.find(id); found != shelf_.finished.end()) {
      content = found->second;
      shelf_.used -= found->second.length;
      shelf_.finished.erase(found);
    }
  }
  const Status status = content.has_value() ? shelf_.trash.Put(id, *content, now) : Status::Ok();
  Release(id);
  return content.has_value() ? status : Remove(id);  // a damaged block is of no use in the trash
}

Result<StoredBlock> DiskBlockStore::Restore(std::uint64_t id) {
  if (!Claim(id)) return Exists("restore " + BlockName(id) + ": it is being written here");
  Result<BlockContent> content = Exists("restore " + BlockName(id) + ": it is here already");
  if (!Finished(id)) content = shelf_.trash.Take(id);
  const std::lock_guard lock(shelf_.mutex);
  shelf_.broken.erase(id);
  if (!content.ok()) return content.status();
  shelf_.damaged.erase(id);
  shelf_.finished[id] = *content;
  shelf_.used += content->length;
  return StoredBlock{id, content->length, content->crc};
}

BlockStore::Swept DiskBlockStore::SweepTrash(Micros before, std::uint64_t least_free) {
  Swept swept;
  while (shelf_.trash.RemoveOldest(before, &swept)) {
  }
  const auto short_of_room = [&] {
    const BlockStore::Space disk = shelf_.Space();
    return disk.capacity > 0 && disk.free < least_free;  // a capacity of 0 means that it is not known
  };
  while (short_of_room() && shelf_.trash.RemoveOldest(std::numeric_limits<Micros>::max(), &swept)) {
  }
  return swept;
}

bool DiskBlockStore::Spoiled(std::uint64_t id) const {
  const std::lock_guard lock(shelf_.mutex);
  const auto found = shelf_.broken.find(id);
  return found != shelf_.broken.end() && found->second != nullptr && found->second->fate.spoiled();
}

bool DiskBlockStore::Has(std::uint64_t id) const {
  const std::lock_guard lock(shelf_.mutex);
  return shelf_.finished.contains(id) || shelf_.broken.contains(id) || shelf_.damaged.contains(id);
}

std::vector<StoredBlock> DiskBlockStore::List() const {
  const std::lock_guard lock(shelf_.mutex);
  std::vector<StoredBlock> blocks;
  blocks.reserve(shelf_.finished.size());
  for (const auto& [id, content] : shelf_.finished) blocks.push_back({id, content.length, content.crc});
  return blocks;
}

std::vector<std::uint64_t> DiskBlockStore::Damaged() const {
  const std::lock_guard lock(shelf_.mutex);
  return {shelf_.damaged.begin(), shelf_.damaged.end()};
}

std::optional<std::uint64_t> DiskBlockStore::Length(std::uint64_t id) const {
  const std::lock_guard lock(shelf_.mutex);
  const auto found = shelf_.finished.find(id);
  if (found == shelf_.finished.end()) return std::nullopt;
  return found->second.length;
}

BlockStore::Space DiskBlockStore::space() const {
  Space space = shelf_.Space();
  const std::lock_guard lock(shelf_.mutex);
  space.trashed = shelf_.trash.bytes();
  space.used = shelf_.used + space.trashed;
  for (const auto& [id, block] : shelf_.broken) space.used += block != nullptr ? block->length : 0;
  space.blocks = shelf_.finished.size();
  return space;
}

}  // namespace

Status WriteFate::Take(WriteStep step, Status ended) {
  const bool spoils = !ended.ok() && (step != WriteStep::kWrite || ended.code() == StatusCode::kIo);
  if (spoils && !spoiled()) why_ = Status(StatusCode::kIo, ended.message() + "; what was written there is spoiled");
  return ended;
}

Result<std::unique_ptr<BlockStore>> OpenDiskBlockStore(const std::string& directory, std::uint64_t reserved_bytes,
                                                       std::function<void(const BlockStore::Swept&)> yielded) {
  auto store = std::make_unique<DiskBlockStore>(directory, reserved_bytes, std::move(yielded));
  MILLRACE_TRY(store->Load());
  return std::unique_ptr<BlockStore>(std::move(store));
}

}  // namespace millrace::dfs
