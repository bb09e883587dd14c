// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/memory_block_store.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "dfs/data/block_checksums.h"

namespace millrace::dfs {
namespace {

constexpr Micros kForEver = std::numeric_limits<Micros>::max();

struct BlockBytes;
struct TrashedBlock {
  std::shared_ptr<const BlockBytes> bytes;
  Micros when = 0;
};

struct BlockBytes {
  std::string data;
  std::vector<std::uint32_t> chunk_crcs;
  WriteFate fate;
  std::uint64_t synced = 0;    // bytes
  std::optional<Micros> left;  // when a sweep first found that its writer had left it unfinished
  [[nodiscard]] StoredBlock Stored(std::uint64_t id) const { return {id, data.size(), BlockCrc(chunk_crcs)}; }
};

// The state that the store shares with its files. A file must not outlive the store.
struct BlocksInMemory {
  // Removes the block that has been in the trash longest. Returns false if there is none that came before `before`.
  // Requires: the caller holds the mutex.
  bool RemoveOldest(Micros before, BlockStore::Swept* swept) {
    const auto oldest = std::min_element(trash.begin(), trash.end(),
                                         [](const auto& a, const auto& b) { return a.second.when < b.second.when; });
    if (oldest == trash.end() || oldest->second.when >= before) return false;
    ++swept->blocks;
    swept->bytes += oldest->second.bytes->data.size();
    used -= oldest->second.bytes->data.size();
    trash.erase(oldest);
    return true;
  }

  // Does what brings a block to the disk. Requires: the caller holds the mutex.
  Status Sync(BlockBytes& bytes) {
    MILLRACE_TRY(bytes.fate.Usable());
    const Status synced = bytes.fate.Take(WriteStep::kSync, refuses(WriteStep::kSync));
    if (!synced.ok()) std::fill(bytes.data.begin() + static_cast<std::ptrdiff_t>(bytes.synced), bytes.data.end(), '\0');
    bytes.synced = bytes.data.size();
    return synced;
  }
  // Does so, and finishes the block. Requires: the caller holds the mutex.
  Status Publish(std::uint64_t id, std::unique_ptr<BlockBytes>& bytes) {
    using enum WriteStep;
    MILLRACE_TRY(bytes->fate.Usable());
    MILLRACE_TRY(bytes->fate.Take(kWrite, refuses(kWrite)));  // it is cut
    MILLRACE_TRY(Sync(*bytes));
    for (const WriteStep step : {kWrite, kSync, kRename, kRename, kSync}) {  // the checksums; the directory
      MILLRACE_TRY(bytes->fate.Take(step, refuses(step)));
    }
    finished[id] = std::move(bytes);
    broken.erase(id);
    return Status::Ok();
  }

  std::function<Status(WriteStep)> refuses;
  std::mutex mutex;
  std::uint64_t capacity = 0, used = 0;  // `used` counts unfinished blocks too
  std::map<std::uint64_t, std::shared_ptr<const BlockBytes>> finished;
  std::map<std::uint64_t, TrashedBlock> trash;
  std::unordered_map<std::uint64_t, std::unique_ptr<BlockBytes>> broken;  // null while their file exists
};

class MemoryBlockFile final : public BlockFile {
 public:
  MemoryBlockFile(BlocksInMemory& state, std::uint64_t id)
      : state_(state), id_(id), bytes_(std::make_unique<BlockBytes>()) {}
  ~MemoryBlockFile() override {
    if (bytes_ == nullptr) return;
    const std::lock_guard lock(state_.mutex);
    state_.broken[id_] = std::move(bytes_);
  }

  Status Append(std::string_view data, const std::vector<std::uint32_t>& chunk_crcs) override {
    MILLRACE_TRY(CheckChunks(data, chunk_crcs, id_, length() / kChunkBytes));
    return Adopt(data, chunk_crcs);
  }

  Result<Fd> Share() override {
    if (!shared_.valid()) shared_ = Fd(::memfd_create("unfinished block", MFD_CLOEXEC));
    Fd copy(shared_.valid() ? ::fcntl(shared_.get(), F_DUPFD_CLOEXEC, 0) : -1);
    if (!copy.valid()) return FromErrno(errno, "make a memory file for " + BlockName(id_));
    return copy;
  }

  Status ReadShared(std::uint64_t offset, std::size_t size, const std::vector<std::uint32_t>& chunk_crcs,
                    char* out) const override {
    MILLRACE_TRY(ReadExactlyAt(shared_.get(), out, size, offset, BlockName(id_)));
    return CheckChunks({out, size}, chunk_crcs, id_, offset / kChunkBytes);
  }

  Status Adopt(std::string_view data, const std::vector<std::uint32_t>& chunk_crcs) override {
    MILLRACE_CHECK(bytes_ != nullptr && length() % kChunkBytes == 0,
                   BlockName(id_) + " is finished or ends in a chunk");
    const std::lock_guard lock(state_.mutex);
    MILLRACE_TRY(bytes_->fate.Usable());
    MILLRACE_TRY(bytes_->fate.Take(WriteStep::kWrite, state_.refuses(WriteStep::kWrite)));
    BlockStore::Swept swept;
    while (data.size() > state_.capacity - state_.used && state_.RemoveOldest(kForEver, &swept)) {
    }
    if (data.size() > state_.capacity - state_.used) {
      return NoSpace("write " + BlockName(id_) + ": the memory store of " + std::to_string(state_.capacity) +
                     " bytes is full");
    }
    state_.used += data.size();
    bytes_->data.append(data);
    bytes_->chunk_crcs.insert(bytes_->chunk_crcs.end(), chunk_crcs.begin(), chunk_crcs.end());
    return Status::Ok();
  }

  Status Sync() override {
    MILLRACE_CHECK(bytes_ != nullptr, BlockName(id_) + " is finished");
    const std::lock_guard lock(state_.mutex);
    return state_.Sync(*bytes_);
  }

  Status Finish() override {
    MILLRACE_CHECK(bytes_ != nullptr, BlockName(id_) + " is finished");
    const std::lock_guard lock(state_.mutex);
    finished_ = bytes_->Stored(id_);
    return state_.Publish(id_, bytes_);
  }

  [[nodiscard]] std::uint64_t length() const override {
    return bytes_ != nullptr ? bytes_->data.size() : finished_.length;
  }
  [[nodiscard]] std::uint32_t crc() const override {
    return bytes_ != nullptr ? BlockCrc(bytes_->chunk_crcs) : finished_.crc;
  }

 private:
  BlocksInMemory& state_;
  const std::uint64_t id_;
  std::unique_ptr<BlockBytes> bytes_;
  Fd shared_;  // another process writes here what is adopted afterwards
  StoredBlock finished_;
};

class MemoryBlockStore final : public BlockStore {
 public:
  MemoryBlockStore(std::uint64_t capacity, std::function<Status(WriteStep)> refuses) {
    state_.capacity = capacity;
    state_.refuses = std::move(refuses);
  }

  Result<std::unique_ptr<BlockFile>> Create(std::uint64_t id) override {
    const std::lock_guard lock(state_.mutex);
    if (state_.finished.contains(id) || !state_.broken.try_emplace(id).second) {
      return Exists("create " + BlockName(id) + ": it is here already");
    }
    return std::unique_ptr<BlockFile>(std::make_unique<MemoryBlockFile>(state_, id));
  }

  Result<StoredBlock> FinishAt(std::uint64_t id, std::uint64_t length) override {
    const std::lock_guard lock(state_.mutex);
    if (const auto found = state_.finished.find(id); found != state_.finished.end()) {
      if (found->second->data.size() == length) return found->second->Stored(id);
      return Invalid("finish " + BlockName(id) + " at byte " + std::to_string(length) + ": it was finished at " +
                     std::to_string(found->second->data.size()));
    }
    const auto found = state_.broken.find(id);
    if (found == state_.broken.end()) return NotFound("finish " + BlockName(id) + ": it is not here");
    if (found->second == nullptr) return Busy("finish " + BlockName(id) + ": it is being written");
    BlockBytes& bytes = *found->second;
    if (!bytes.fate.spoiled()) {
      MILLRACE_TRY(CheckCut(id, bytes.data.size(), length));
      state_.used -= bytes.data.size() - length;
      bytes.data.resize(length);
      bytes.chunk_crcs.resize(ChunkCount(length));
    }
    const StoredBlock stored = bytes.Stored(id);
    const Status published = state_.Publish(id, found->second);
    if (published.ok()) return stored;
    if (!bytes.fate.spoiled()) return published;
    const Status spoiled = bytes.fate.Usable().Within("finish " + BlockName(id));
    state_.used -= bytes.data.size();
    state_.broken.erase(found);
    return spoiled;
  }

  void Discard(std::uint64_t id) override {
    const std::lock_guard lock(state_.mutex);
    const auto found = state_.broken.find(id);
    if (found == state_.broken.end() || found->second == nullptr) return;
    state_.used -= found->second->data.size();
    state_.broken.erase(found);
  }

  Swept SweepUnfinished(Micros now, Micros retention) override {
    const std::lock_guard lock(state_.mutex);
    Swept swept;
    std::erase_if(state_.broken, [&](auto& entry) {
      BlockBytes* bytes = entry.second.get();
      if (bytes == nullptr) return false;
      if (!bytes->left.has_value()) bytes->left = now;
      if (now - *bytes->left < retention) return false;
      ++swept.blocks;
      swept.bytes += bytes->data.size();
      return true;
    });
    state_.used -= swept.bytes;
    return swept;
  }

  Result<OpenBlock> Open(std::uint64_t id) const override {
    MILLRACE_ASSIGN(const std::shared_ptr<const BlockBytes> bytes, Find(id));
    OpenBlock open;
    open.data = Fd(::memfd_create("block", MFD_CLOEXEC));
    if (!open.data.valid()) return FromErrno(errno, "make a memory file for " + BlockName(id));
    MILLRACE_TRY(WriteAllAt(open.data.get(), bytes->data, 0, BlockName(id)));
    open.length = bytes->data.size();
    open.chunk_crcs = bytes->chunk_crcs;
    return open;
  }

  Result<std::string> Read(std::uint64_t id, std::uint64_t offset, std::uint64_t size) const override {
    MILLRACE_ASSIGN(const std::shared_ptr<const BlockBytes> bytes, Find(id));
    MILLRACE_TRY(CheckRange(id, bytes->data.size(), offset, size));
    return bytes->data.substr(offset, size);
  }

  Status Verify(std::uint64_t id, std::uint64_t offset, std::uint64_t size) override {
    MILLRACE_ASSIGN(const std::shared_ptr<const BlockBytes> bytes, Find(id));
    MILLRACE_TRY(CheckRange(id, bytes->data.size(), offset, size));
    if (size == 0) return Status::Ok();
    const std::uint64_t first = offset / kChunkBytes;
    const std::string_view chunks =
        std::string_view(bytes->data).substr(first * kChunkBytes, (ChunkCount(offset + size) - first) * kChunkBytes);
    return CheckChunks(chunks, std::span(bytes->chunk_crcs).subspan(first, ChunkCount(chunks.size())), id, first);
  }

  Status Relist(std::uint64_t id) override { return Find(id).status(); }

  Status Remove(std::uint64_t id) override {
    Discard(id);
    const std::lock_guard lock(state_.mutex);
    const auto found = state_.finished.find(id);
    if (found == state_.finished.end()) return Status::Ok();
    state_.used -= found->second->data.size();
    state_.finished.erase(found);
    return Status::Ok();
  }

  bool Spoiled(std::uint64_t id) const override {
    const std::lock_guard lock(state_.mutex);
    const auto found = state_.broken.find(id);
    return found != state_.broken.end() && found->second != nullptr && found->second->fate.spoiled();
  }

  bool Has(std::uint64_t id) const override {
    const std::lock_guard lock(state_.mutex);
    return state_.finished.contains(id) || state_.broken.contains(id);
  }

  std::vector<StoredBlock> List() const override {
    const std::lock_guard lock(state_.mutex);
    std::vector<StoredBlock> blocks;
    for (const auto& [id, bytes] : state_.finished) blocks.push_back(bytes->Stored(id));
    return blocks;
  }

  std::vector<std::uint64_t> Damaged() const override { return {}; }

  std::optional<std::uint64_t> Length(std::uint64_t id) const override {
    const Result<std::shared_ptr<const BlockBytes>> bytes = Find(id);
    if (!bytes.ok()) return std::nullopt;
    return (*bytes)->data.size();
  }

  Status Trash(std::uint64_t id, Micros now) override {
    Discard(id);
    const std::lock_guard lock(state_.mutex);
    const auto found = state_.finished.find(id);
    if (found == state_.finished.end()) return Status::Ok();
    const TrashedBlock replaced = std::exchange(state_.trash[id], TrashedBlock{found->second, now});
    if (replaced.bytes != nullptr) state_.used -= replaced.bytes->data.size();
    state_.finished.erase(found);
    return Status::Ok();
  }

  Result<StoredBlock> Restore(std::uint64_t id) override {
    const std::lock_guard lock(state_.mutex);
    if (state_.finished.contains(id) || state_.broken.contains(id)) {
      return Exists("restore " + BlockName(id) + ": it is here already");
    }
    const auto found = state_.trash.find(id);
    if (found == state_.trash.end()) return NotFound(BlockName(id) + " is not in the trash");
    const StoredBlock block = found->second.bytes->Stored(id);
    state_.finished[id] = std::move(found->second.bytes);
    state_.trash.erase(found);
    return block;
  }

  void RemoveTrashed(std::uint64_t id) override {
    const std::lock_guard lock(state_.mutex);
    const auto found = state_.trash.find(id);
    if (found == state_.trash.end()) return;
    state_.used -= found->second.bytes->data.size();
    state_.trash.erase(found);
  }

  std::vector<StoredBlock> ListTrash() const override {
    const std::lock_guard lock(state_.mutex);
    std::vector<StoredBlock> blocks;
    for (const auto& [id, trashed] : state_.trash) blocks.push_back(trashed.bytes->Stored(id));
    return blocks;
  }

  Swept SweepTrash(Micros before, std::uint64_t least_free) override {
    const std::lock_guard lock(state_.mutex);
    Swept swept;
    while (state_.RemoveOldest(before, &swept)) {
    }
    while (state_.capacity - state_.used < least_free && state_.RemoveOldest(kForEver, &swept)) {
    }
    return swept;
  }

  Space space() const override {
    const std::lock_guard lock(state_.mutex);
    Space space{state_.capacity, state_.capacity - state_.used, 0, state_.finished.size(), 0};
    for (const auto& [id, bytes] : state_.finished) space.used += bytes->data.size();
    for (const auto& [id, bytes] : state_.broken) space.used += bytes != nullptr ? bytes->data.size() : 0;
    for (const auto& [id, trashed] : state_.trash) space.trashed += trashed.bytes->data.size();
    space.used += space.trashed;
    return space;
  }

 private:
  Result<std::shared_ptr<const BlockBytes>> Find(std::uint64_t id) const {
    const std::lock_guard lock(state_.mutex);
    const auto found = state_.finished.find(id);
    if (found == state_.finished.end()) return NotFound(BlockName(id) + " is not here");
    return found->second;
  }

  mutable BlocksInMemory state_;
};

}  // namespace

std::unique_ptr<BlockStore> MakeMemoryBlockStore(std::uint64_t capacity, std::function<Status(WriteStep)> refuses) {
  return std::make_unique<MemoryBlockStore>(capacity, std::move(refuses));
}

}  // namespace millrace::dfs
