// BlockStore: the blocks on one node. A block is written once, then finished, then only read. Its checksums (a crc32c
// for each chunk of kChunkBytes) lie beside the data and are part of it: what a reader gets has been checked, or is
// checked by the reader.
//
// The real one keeps `<directory>/blocks/<xx>/<id>` with `<id>.crc` (id: 16 hexadecimal digits, xx: the last two of
// them). A block is written under `<directory>/writing`. Finishing it syncs the data, then the checksums, renames both,
// and syncs the directory. What was being written when the process died is removed at the next start. A block whose
// checksums' file is damaged or does not fit its length is damaged and not listed; it stays on the disk until it is
// removed, written anew, or mended and taken back. block_trash.h describes the trash. The checksums' file is u64 magic,
// u64 length of the data, a u32 crc32c for each chunk, u32 crc32c of all that.
//
// A block is spoiled when the disk refuses a step of writing it (write_fate.h): it is never finished, listed or
// believed after a second try. What is left of it goes with FinishAt, Discard, Remove or the next sweep.
//
// A writer of this machine may be given the unfinished data file itself (BlockFile::Share). One that keeps its
// descriptor could change the block later; readers notice by the checksums, as they do when a disk goes bad.
//
// The in-memory store serves the simulated cluster. Both pass one contract suite. Thread rule: any thread; one writer
// object from one thread at a time, except for ReadShared.
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
#include "dfs/data/write_fate.h"
#include "dfs/wire/chunks.h"

namespace millrace::dfs {

struct StoredBlock {
  std::uint64_t id = 0;
  std::uint64_t length = 0;
  std::uint32_t crc = 0;  // BlockCrc
  [[nodiscard]] BlockContent content() const { return {length, crc}; }
  bool operator==(const StoredBlock&) const = default;
};

// The right to fill one block. If it is destroyed unfinished (its pipeline broke), the bytes are kept for FinishAt
// until Discard, SweepUnfinished or the next start of the process.
class BlockFile {
 public:
  virtual ~BlockFile() = default;
  // Appends `data`. `chunk_crcs` are the checksums of `data` cut at kChunkBytes. Returns kCorrupt if they do not match
  // (every hop checks), kNoSpace if the disk is full, and kIo, here and below, if the disk refuses or the block is
  // spoiled. Requires: every append but the last is a whole number of
  // chunks.
  virtual Status Append(std::string_view data, const std::vector<std::uint32_t>& chunk_crcs) = 0;

  // Returns a descriptor of the unfinished file. Instead of Append, another process may then write the bytes that come
  // next into that file, at their offsets in the block. They do not count before they are adopted.
  [[nodiscard]] virtual Result<Fd> Share() = 0;
  // Reads `size` bytes from `offset` (a whole number of chunks), as the other process wrote them, into `out` and checks
  // them. Returns kCorrupt if they do not match or the file ends before. It may run while another thread appends or
  // adopts.
  virtual Status ReadShared(std::uint64_t offset, std::size_t size, const std::vector<std::uint32_t>& chunk_crcs,
                            char* out) const = 0;
  // Does what Append does for `data` that is in the file already, after what was appended before. It is not checked
  // again. Returns kNoSpace if the other process used what must stay free. Requires: ReadShared gave `data` there, with
  // these `chunk_crcs`.
  virtual Status Adopt(std::string_view data, const std::vector<std::uint32_t>& chunk_crcs) = 0;

  // Brings what was appended to the disk, so that Finish takes little time.
  virtual Status Sync() = 0;
  // Finishes the block: it is on disk and visible when this returns OK.
  virtual Status Finish() = 0;
  [[nodiscard]] virtual std::uint64_t length() const = 0;
  [[nodiscard]] virtual std::uint32_t crc() const = 0;  // BlockCrc of what was appended or adopted
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
  // Closes a block whose writer lost its pipeline: cuts it back to `length` and finishes it. `length` must be at most
  // what was appended, and a whole number of chunks or exactly all of it; else kInvalid. A block that is finished
  // already is OK at this length and kInvalid at another. Returns kBusy while its BlockFile exists, kNotFound if there
  // is no such block, and kIo, after it has removed what is left, if the block is spoiled or this spoils it.
  virtual Result<StoredBlock> FinishAt(std::uint64_t id, std::uint64_t length) = 0;
  // Forgets an unfinished block. It is no failure if there is none.
  virtual void Discard(std::uint64_t id) = 0;
  struct Swept {
    std::uint64_t blocks = 0, bytes = 0;
  };
  // Discards the unfinished blocks that nobody is writing and that an earlier sweep, at least `retention` before `now`,
  // found abandoned already. Requires: `now` never goes back.
  virtual Swept SweepUnfinished(Micros now, Micros retention) = 0;
  // Opens a block for reading. Returns kNotFound if it is not here, and kCorrupt if the checksums' file does not fit
  // the data's length, or the disk cannot read it.
  [[nodiscard]] virtual Result<OpenBlock> Open(std::uint64_t id) const = 0;
  // Returns bytes [offset, offset+size), checked against the checksums (of all chunks that they touch), or kCorrupt,
  // naming the block and the chunk, or that the disk cannot read them.
  [[nodiscard]] virtual Result<std::string> Read(std::uint64_t id, std::uint64_t offset, std::uint64_t size) const = 0;
  // Checks bytes as Read does, for scans that look for rot: it reads what the disk holds, not what memory has cached of
  // it. Returns kCorrupt also if the disk cannot read the bytes, and kNotFound if the data are gone: the block is then
  // not listed any more.
  virtual Status Verify(std::uint64_t id, std::uint64_t offset, std::uint64_t size) = 0;
  // Lists a damaged block again. It is no failure if the block is listed. Requires: all of the block was verified.
  virtual Status Relist(std::uint64_t id) = 0;
  // Removes the block, also what is left of an unfinished one that nobody is writing. It is no failure if there is
  // none.
  virtual Status Remove(std::uint64_t id) = 0;
  // Returns true if the block is spoiled, is still here, and nobody is writing it.
  [[nodiscard]] virtual bool Spoiled(std::uint64_t id) const = 0;
  // Returns true if the block is finished, damaged, unfinished, or being written here.
  [[nodiscard]] virtual bool Has(std::uint64_t id) const = 0;
  [[nodiscard]] virtual std::vector<StoredBlock> List() const = 0;       // finished ones, by rising id
  [[nodiscard]] virtual std::vector<std::uint64_t> Damaged() const = 0;  // not listed, see above; by rising id
  [[nodiscard]] virtual std::optional<std::uint64_t> Length(std::uint64_t id) const = 0;  // of one that is listed

  // ---- the trash: blocks that the master does not know, kept for a while in case that is its mistake ----

  // Puts a finished block into the trash at time `now`: it is not here any more, but its bytes still count as used. It
  // replaces a block of the same number there. An unfinished block is removed. It is no failure if there is no such
  // block.
  virtual Status Trash(std::uint64_t id, Micros now) = 0;
  // Brings a block back: it is finished and listed when this returns OK. Returns kNotFound if the trash does not have
  // it, and kExists if one of its number is finished or being written here.
  [[nodiscard]] virtual Result<StoredBlock> Restore(std::uint64_t id) = 0;
  virtual void RemoveTrashed(std::uint64_t id) = 0;                      // for good; no failure if the trash has none
  [[nodiscard]] virtual std::vector<StoredBlock> ListTrash() const = 0;  // by rising id
  // Removes for good what came into the trash before `before`, and then the oldest while less than `least_free` bytes
  // are free. An append that finds no room removes the oldest, too (the real store tells that by `yielded`, below).
  virtual Swept SweepTrash(Micros before, std::uint64_t least_free) = 0;

  // `used` counts finished blocks, unfinished ones that nobody is writing, and the trash; `blocks` the finished ones.
  struct Space {
    std::uint64_t capacity = 0, free = 0, used = 0, blocks = 0, trashed = 0;
  };
  [[nodiscard]] virtual Space space() const = 0;
};

// Opens the store in `directory`, which is made if need be. `reserved_bytes` stay free on the disk: an append that
// would leave less is kNoSpace. `yielded` is called, from any thread, with what an append that found no room removed
// from the trash. Requires: nothing else has the directory open.
[[nodiscard]] Result<std::unique_ptr<BlockStore>> OpenDiskBlockStore(
    const std::string& directory, std::uint64_t reserved_bytes,
    std::function<void(const BlockStore::Swept&)> yielded = [](const BlockStore::Swept&) {});
// Returns a store in memory with a capacity of `capacity` bytes. Its Open() gives a memory file (memfd). `refuses` is
// asked before each step of writing a block, and returns OK or how the step fails. What was not synced when a sync
// failed reads as zeros from then on, as a kernel may have it.
[[nodiscard]] std::unique_ptr<BlockStore> MakeMemoryBlockStore(
    std::uint64_t capacity, std::function<Status(WriteStep)> refuses = [](WriteStep) { return Status::Ok(); });

}  // namespace millrace::dfs
