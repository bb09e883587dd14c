// BlockStore: the blocks on one node. A block is written once, then finished, then only read. Its checksums (crc32c a
// chunk of kChunkBytes) lie beside the data and are part of it: what a reader gets has been checked, or is checked by
// the reader.
//
// The real one keeps `<directory>/blocks/<xx>/<id>` with `<id>.crc` (id: 16 hexadecimal digits, xx: the last two of
// them), written aside under `<directory>/writing` and renamed when finished: data synced, then checksums synced, then
// renamed, directory synced. What was being written when the process died is removed at the next start. A block whose
// checksums' file is damaged or does not fit its length is damaged and not listed; it stays on the disk until it is
// removed, written anew, or mended and taken back. The trash: block_trash.h.
// Checksums' file: u64 magic, u64 length of the data, u32 crc32c a chunk, u32 crc32c of all that.
// A writer of this machine may be given the unfinished data file itself (BlockFile::Share). One that keeps its
// descriptor could change the block later; readers notice by the checksums, as they do when a disk goes bad. The
// in-memory twin serves the simulated cluster. Both pass one contract suite. Thread rule: any thread; one writer object
// from one thread at a time, except for ReadShared.
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

struct StoredBlock {
  std::uint64_t id = 0;
  std::uint64_t length = 0;
  std::uint32_t crc = 0;  // BlockCrc
  [[nodiscard]] BlockContent content() const { return {length, crc}; }
  bool operator==(const StoredBlock&) const = default;
};

// The right to fill one block. Destroying it unfinished keeps the bytes for FinishAt (a pipeline that broke) until
// Discard, SweepUnfinished or the next start of the process.
class BlockFile {
 public:
  virtual ~BlockFile() = default;
  // Appends; `chunk_crcs` are those of `data` cut at kChunkBytes. Every append but the last is a whole number of
  // chunks. kCorrupt when they do not match (every hop checks), kNoSpace when the disk is full.
  virtual Status Append(std::string_view data, const std::vector<std::uint32_t>& chunk_crcs) = 0;

  // Instead of Append, another process may write the bytes that come next: at their offsets in the block, into the file
  // that this descriptor is of. Nothing of it counts before it is adopted.
  [[nodiscard]] virtual Result<Fd> Share() = 0;
  // `size` bytes from `offset` (a whole number of chunks) as the other process wrote them, into `out`, checked:
  // kCorrupt when they do not match or the file ends before. Also while another thread appends or adopts.
  virtual Status ReadShared(std::uint64_t offset, std::size_t size, const std::vector<std::uint32_t>& chunk_crcs,
                            char* out) const = 0;
  // As Append, but `data` stands in the file already, behind what was appended before: it is what ReadShared gave there
  // with these `chunk_crcs`, and not checked again. kNoSpace when the other process used what must stay free.
  virtual Status Adopt(std::string_view data, const std::vector<std::uint32_t>& chunk_crcs) = 0;

  // Brings what was appended to the disk, so that Finish takes little time.
  virtual Status Sync() = 0;
  // On disk and visible when this returns.
  virtual Status Finish() = 0;
  [[nodiscard]] virtual std::uint64_t length() const = 0;
  [[nodiscard]] virtual std::uint32_t crc() const = 0;  // BlockCrc of what was appended or adopted
};

// A block for reading: a descriptor of the data file (of the real store), its length and checksums.
struct OpenBlock {
  Fd data;
  std::uint64_t length = 0;
  std::vector<std::uint32_t> chunk_crcs;
  [[nodiscard]] BlockContent content() const { return {length, BlockCrc(chunk_crcs)}; }
};

class BlockStore {
 public:
  virtual ~BlockStore() = default;
  // kExists when the block is finished or being written here.
  [[nodiscard]] virtual Result<std::unique_ptr<BlockFile>> Create(std::uint64_t id) = 0;
  // Closes a block whose writer lost its pipeline: cut back to `length` (at most what was appended; a whole number of
  // chunks or exactly all of it; else kInvalid), then as Finish. A block that is finished at this length already is
  // fine, at another one kInvalid. kBusy while its BlockFile exists; kNotFound.
  virtual Result<StoredBlock> FinishAt(std::uint64_t id, std::uint64_t length) = 0;
  // Forgets an unfinished block. Fine if there is none.
  virtual void Discard(std::uint64_t id) = 0;
  struct Swept {
    std::uint64_t blocks = 0, bytes = 0;
  };
  // Discards the unfinished blocks that nobody is writing and that an earlier sweep, at least `retention` before `now`,
  // found so already. Requires: `now` never goes back.
  virtual Swept SweepUnfinished(Micros now, Micros retention) = 0;
  // kNotFound; kCorrupt if the checksums' file does not fit the data's length.
  [[nodiscard]] virtual Result<OpenBlock> Open(std::uint64_t id) const = 0;
  // Bytes [offset, offset+size) checked against the checksums (of all chunks they touch). kCorrupt names the block and
  // chunk.
  [[nodiscard]] virtual Result<std::string> Read(std::uint64_t id, std::uint64_t offset, std::uint64_t size) const = 0;
  // As Read, for those who look for rot: what the disk holds is read and not what memory remembers of it, and nothing
  // is given. kCorrupt also when the disk cannot give the bytes; kNotFound when the data are gone: the block is not
  // listed any more.
  virtual Status Verify(std::uint64_t id, std::uint64_t offset, std::uint64_t size) = 0;
  // Lists a damaged block, all of which was verified. Fine for one that is listed.
  virtual Status TakeBack(std::uint64_t id) = 0;
  // Removes the block, also what is left of an unfinished one that nobody is writing. Fine if there is none.
  virtual Status Remove(std::uint64_t id) = 0;
  // Finished, damaged, unfinished, or being written here.
  [[nodiscard]] virtual bool Has(std::uint64_t id) const = 0;
  [[nodiscard]] virtual std::vector<StoredBlock> List() const = 0;       // finished ones, by rising id
  [[nodiscard]] virtual std::vector<std::uint64_t> Damaged() const = 0;  // not listed, see above; by rising id
  [[nodiscard]] virtual std::optional<std::uint64_t> Length(std::uint64_t id) const = 0;  // of one that is listed

  // ---- the trash: blocks of which the master knows nothing, kept for a while in case that is its mistake ----
  // Puts a finished block there at time `now`: it is not here any more, but its bytes are still used. It takes the
  // place of another of its number that lies there. Fine if there is none. What is unfinished is removed.
  virtual Status Trash(std::uint64_t id, Micros now) = 0;
  // Brings it back: finished and listed when this returns OK. kNotFound if the trash has none, kExists if one of its
  // number is finished or being written here.
  [[nodiscard]] virtual Result<StoredBlock> Restore(std::uint64_t id) = 0;
  virtual void RemoveTrashed(std::uint64_t id) = 0;                      // for good; fine if the trash has none
  [[nodiscard]] virtual std::vector<StoredBlock> ListTrash() const = 0;  // by rising id
  // Removes for good what came before `before`, and then the oldest as long as less than `least_free` bytes are free.
  // An append that finds no room removes the oldest, too (and of the real one is told by `yielded`, below).
  virtual Swept SweepTrash(Micros before, std::uint64_t least_free) = 0;

  // `used` counts finished blocks, unfinished ones that nobody is writing, and the trash; `blocks` the finished ones.
  struct Space {
    std::uint64_t capacity = 0, free = 0, used = 0, blocks = 0, trashed = 0;
  };
  [[nodiscard]] virtual Space space() const = 0;
};

// `reserved_bytes` must stay free on the disk: an append that would go below is kNoSpace. The directory is made if need
// be; who opens it holds it alone (the caller sees to that). `yielded`, from any thread: what an append that found no
// room removed from the trash.
[[nodiscard]] Result<std::unique_ptr<BlockStore>> OpenDiskBlockStore(
    const std::string& directory, std::uint64_t reserved_bytes,
    std::function<void(const BlockStore::Swept&)> yielded = [](const BlockStore::Swept&) {});
// `capacity` in bytes. Open() of the twin gives a memory file (memfd).
[[nodiscard]] std::unique_ptr<BlockStore> MakeMemoryBlockStore(std::uint64_t capacity);

}  // namespace millrace::dfs
