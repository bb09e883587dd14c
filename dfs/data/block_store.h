// SPDX-License-Identifier: Apache-2.0
// BlockStore: the blocks on one node. A block is written once, then finished, then only read. Its checksums (a crc32c
// for each chunk of kChunkBytes) lie beside the data and are part of the block: the store or the reader checks all data
// that is read.
//
// The real store keeps `<directory>/blocks/<xx>/<id>` with `<id>.crc` (id: 16 hexadecimal digits, xx: the last two of
// them). A block is written under `<directory>/writing`. Finishing it syncs the data, then the checksums, renames both,
// and syncs the directory. Blocks that were being written when the process died are removed at the next start. A block
// whose checksums file is damaged or does not fit its length is damaged and not listed; it stays on the disk until it
// is removed, written again, or mended and relisted. block_trash.h describes the trash. A checksums file is u64 magic,
// u64 length of the data, a u32 crc32c for each chunk, u32 crc32c of all that precedes.
//
// A block is spoiled when the disk refuses a step of writing it (WriteFate): it is never finished or listed, even if
// a second try succeeds. FinishAt, Discard, Remove or the next sweep removes its remains.
//
// A writer on this machine may be given the unfinished data file itself (BlockFile::Share). If the writer keeps the
// descriptor, it could change the block later; readers notice that from the checksums, as they do when a disk goes bad.
//
// Tests and simulated clusters have a store in memory (tests/fakes/memory_block_store.h). Both stores pass one contract
// suite. Thread rule: any thread; one writer object from one thread at a time, except for ReadShared.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "base/status.h"
#include "dfs/wire/chunks.h"

namespace millrace::dfs {

// A step of writing the files of a block. kSync is a sync of a file or of a directory.
enum class WriteStep : std::uint8_t { kWrite, kSync, kRename };

// WriteFate records whether the files of a block that is being written can still be trusted.
//
// A kernel that cannot write pages back reports it once, at the next sync of the file, but then treats the pages as
// clean: the sync after that succeeds although the bytes are lost. So the first call that the disk refuses spoils the
// block for good. A spoiled block is never finished; its remains are removed, and the block is written again. Every
// store uses this class. Thread rule: one thread at a time.
class WriteFate {
 public:
  // Takes the result of a step, and returns it. A failed sync or rename spoils the block, whatever the reason. A failed
  // write spoils it if the disk refused it (kIo); after any other failure, such as a full disk, earlier bytes are still
  // good.
  Status Take(WriteStep step, Status ended);
  [[nodiscard]] bool spoiled() const { return !why_.ok(); }
  // Returns OK, or kIo with the reason if the block is spoiled; its files may then only be removed.
  [[nodiscard]] Status Usable() const { return why_; }

 private:
  Status why_;
};

struct StoredBlock {
  std::uint64_t id = 0;
  std::uint64_t length = 0;
  std::uint32_t crc = 0;  // BlockCrc
  [[nodiscard]] BlockContent content() const { return {length, crc}; }
  bool operator==(const StoredBlock&) const = default;
};

// The right to fill one block. If the object is destroyed before Finish (its pipeline broke), the bytes are kept for
// FinishAt until Discard, SweepUnfinished or the next start of the process.
class BlockFile {
 public:
  virtual ~BlockFile() = default;
  // Appends `data`. `chunk_crcs` are the checksums of `data` cut at kChunkBytes. Returns kCorrupt if they do not match
  // (every hop checks), kNoSpace if the disk is full, and kIo, here and below, if the disk refuses or the block is
  // spoiled. Requires: every append but the last is a whole number of chunks.
  virtual Status Append(std::string_view data, const std::vector<std::uint32_t>& chunk_crcs) = 0;

  // Returns a descriptor of the unfinished file. Instead of Append, another process may then write the bytes that come
  // next into that file, at their offsets in the block. They count only after Adopt.
  [[nodiscard]] virtual Result<Fd> Share() = 0;
  // Reads `size` bytes that the other process has written, from `offset` (a whole number of chunks) on, into `out` and
  // checks them. Returns kCorrupt if they do not match or the file ends earlier. It may run while another thread
  // appends or adopts.
  virtual Status ReadShared(std::uint64_t offset, std::size_t size, const std::vector<std::uint32_t>& chunk_crcs,
                            char* out) const = 0;
  // Does the same as Append for `data` that is in the file already, after all earlier bytes. `data` is not checked
  // again. Returns kNoSpace if the other process used space that must stay free. Requires: ReadShared returned `data`
  // from that place in the file, with these `chunk_crcs`.
  virtual Status Adopt(std::string_view data, const std::vector<std::uint32_t>& chunk_crcs) = 0;

  // Syncs the bytes appended so far, so that Finish takes little time.
  virtual Status Sync() = 0;
  // Finishes the block, which is on disk and visible when this returns OK.
  virtual Status Finish() = 0;
  [[nodiscard]] virtual std::uint64_t length() const = 0;
  [[nodiscard]] virtual std::uint32_t crc() const = 0;  // BlockCrc of all appended and adopted bytes
};

// A block for reading: a descriptor of its data, its length and its checksums.
struct OpenBlock {
  Fd data;
  std::uint64_t length = 0;
  std::vector<std::uint32_t> chunk_crcs;
  [[nodiscard]] BlockContent content() const { return {length, BlockCrc(chunk_crcs)}; }
};

class BlockStore {
 public:
  virtual ~BlockStore() = default;
  // Begins a block. Returns kExists if the block is finished or being written here.
  [[nodiscard]] virtual Result<std::unique_ptr<BlockFile>> Create(std::uint64_t id) = 0;
  // Closes a block whose writer lost its pipeline: cuts it back to `length` and finishes it. Returns kInvalid unless
  // `length` is exactly the appended length, or less and a whole number of chunks. If the block is finished already,
  // returns OK if it has this length and kInvalid otherwise. Returns kBusy while its BlockFile exists, kNotFound if
  // there is no such block, and kIo, after removing the remains, if the block is spoiled or this call spoils it.
  virtual Result<StoredBlock> FinishAt(std::uint64_t id, std::uint64_t length) = 0;
  // Forgets an unfinished block. A missing block is not a failure.
  virtual void Discard(std::uint64_t id) = 0;
  struct Swept {
    std::uint64_t blocks = 0, bytes = 0;
  };
  // Discards the unfinished blocks that nobody is writing and that a sweep at least `retention` before `now` found
  // abandoned already. Requires: `now` never goes back.
  virtual Swept SweepUnfinished(Micros now, Micros retention) = 0;
  // Opens a block for reading. Returns kNotFound if it is not here, and kCorrupt if the checksums file does not fit the
  // data's length or cannot be read from the disk.
  [[nodiscard]] virtual Result<OpenBlock> Open(std::uint64_t id) const = 0;
  // Returns bytes [offset, offset+size), checked against the checksums of all chunks that they touch. Returns kCorrupt,
  // naming the block and the chunk, if they do not match or the disk cannot read them.
  [[nodiscard]] virtual Result<std::string> Read(std::uint64_t id, std::uint64_t offset, std::uint64_t size) const = 0;
  // Checks bytes as Read does, for scans that look for rot: it reads from the disk and not from the page cache. Returns
  // kCorrupt also if the disk cannot read the bytes, and kNotFound if the data are gone; the block is then no longer
  // listed.
  virtual Status Verify(std::uint64_t id, std::uint64_t offset, std::uint64_t size) = 0;
  // Lists a damaged block again. A block that is listed already is not a failure. Requires: all of the block was
  // verified.
  virtual Status Relist(std::uint64_t id) = 0;
  // Removes the block, or the remains of an unfinished one that nobody is writing. A missing block is not a failure.
  virtual Status Remove(std::uint64_t id) = 0;
  // Returns true if the block is spoiled, is still here, and nobody is writing it.
  [[nodiscard]] virtual bool Spoiled(std::uint64_t id) const = 0;
  // Returns true if the block is finished, damaged, unfinished, or being written here.
  [[nodiscard]] virtual bool Has(std::uint64_t id) const = 0;
  [[nodiscard]] virtual std::vector<StoredBlock> List() const = 0;       // finished blocks, by rising id
  [[nodiscard]] virtual std::vector<std::uint64_t> Damaged() const = 0;  // blocks not listed, see above; by rising id
  [[nodiscard]] virtual std::optional<std::uint64_t> Length(std::uint64_t id) const = 0;  // of a listed block

  // ---- the trash: blocks unknown to the master, kept for a while in case the master is mistaken ----

  // Puts a finished block into the trash at time `now`: it is no longer here, but its bytes still count as used. It
  // replaces a block of the same number in the trash. An unfinished block is removed. A missing block is not a failure.
  virtual Status Trash(std::uint64_t id, Micros now) = 0;
  // Brings a block back from the trash: it is finished and listed when this returns OK. Returns kNotFound if the trash
  // lacks it, and kExists if a block of its number is finished or being written here.
  [[nodiscard]] virtual Result<StoredBlock> Restore(std::uint64_t id) = 0;
  virtual void RemoveTrashed(std::uint64_t id) = 0;                      // for good; a missing block is not a failure
  [[nodiscard]] virtual std::vector<StoredBlock> ListTrash() const = 0;  // by rising id
  // Removes for good the blocks trashed before `before`, and then the oldest while less than `least_free` bytes are
  // free. An append that finds no room also removes the oldest (the real store reports that by `yielded`, below).
  virtual Swept SweepTrash(Micros before, std::uint64_t least_free) = 0;

  // `used` counts finished blocks, unfinished ones that nobody is writing, and the trash; `blocks` counts the finished
  // ones.
  struct Space {
    std::uint64_t capacity = 0, free = 0, used = 0, blocks = 0, trashed = 0;
  };
  [[nodiscard]] virtual Space space() const = 0;
};

// Opens the store in `directory`, which is made if need be. `reserved_bytes` stay free on the disk: an append that
// would leave less returns kNoSpace. When an append finds no room and removes blocks from the trash, `yielded` is
// called with them, from any thread. Requires: nothing else has the directory open.
[[nodiscard]] Result<std::unique_ptr<BlockStore>> OpenDiskBlockStore(
    const std::string& directory, std::uint64_t reserved_bytes,
    std::function<void(const BlockStore::Swept&)> yielded = [](const BlockStore::Swept&) {});

}  // namespace millrace::dfs
