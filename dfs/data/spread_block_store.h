// SpreadBlockStore: one BlockStore over several, each on a disk of its own. A block is on one of them, which is found
// by asking each (all answer from memory). A new block goes to the disk that has most free for each writer
// (ChooseDisk). Counts of bytes are sums over the disks. The trash is kept disk by disk, and `least_free` of SweepTrash
// holds for each disk.
//
// A disk fails once and for good. Code outside that notices it calls Fail. The store itself counts what the disk
// refuses by I/O errors, tells the owner each time (`refused`), and after kMostStrikes in a row that the disk is
// failing
// (`failing`). Only a sync that succeeds ends the row, since an append gets no further than memory. A failed disk is
// not used any more: its blocks are not here, and what is being written on it fails. Thread rule: that of BlockStore;
// Fail from any thread, too.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dfs/data/block_store.h"
#include "dfs/data/sync_meter.h"

namespace millrace::dfs {

struct DiskLoad {
  std::uint64_t free = 0, trashed = 0;  // bytes
  std::uint64_t writers = 0;            // files that are being written
  std::uint64_t chosen = 0;             // the number of the last choice that fell on it; 0 if none did
};
// Returns the disk that has most free for each writer, the new writer included. So two equally free disks take turns,
// and one that is almost full gets a block only when the others have as many times more writers as they have more free.
// Ties go to the disk that was not chosen for longest. If nothing is free anywhere, the trash counts, since it makes
// room. Requires: there is at least one disk.
[[nodiscard]] std::size_t ChooseDisk(std::span<const DiskLoad> disks);

class SpreadBlockStore final : public BlockStore {
 public:
  struct Disk {
    std::string name;  // for messages
    std::unique_ptr<BlockStore> store;
    SyncMeter* meter = nullptr;  // of its syncs; null: they are not measured. Requires: it outlives the store.
  };
  // A disk counts as failing after this number of refusals in a row: appends, syncs and finishes that ended with kIo.
  // What is done to a block that is spoiled already does not count.
  static constexpr int kMostStrikes = 3;
  // Both are called from any thread.
  struct Events {
    std::function<void(std::size_t disk, const Status&)> failing;  // it is up to the callee to call Fail
    std::function<void(std::size_t disk, int strikes, const Status&)> refused = {};  // may be empty
  };

  // Makes a store over the disks. A block that is on two disks (one of them had failed, the block was copied anew, and
  // the disk is back) stays on the first, and the other copy goes to that disk's trash at `now`. Requires: there is at
  // least one disk.
  static Result<std::unique_ptr<SpreadBlockStore>> Over(std::vector<Disk> disks, Micros now, Events events);
  ~SpreadBlockStore() override;

  // Takes a failed disk out of use. Returns the blocks that were on it, damaged ones too, by rising id; none the second
  // time.
  std::vector<std::uint64_t> Fail(std::size_t disk);

  Result<std::unique_ptr<BlockFile>> Create(std::uint64_t id) override;
  Result<StoredBlock> FinishAt(std::uint64_t id, std::uint64_t length) override;
  void Discard(std::uint64_t id) override;
  Swept SweepUnfinished(Micros now, Micros retention) override;
  Result<OpenBlock> Open(std::uint64_t id) const override;
  Result<std::string> Read(std::uint64_t id, std::uint64_t offset, std::uint64_t size) const override;
  Status Verify(std::uint64_t id, std::uint64_t offset, std::uint64_t size) override;
  Status Relist(std::uint64_t id) override;
  Status Remove(std::uint64_t id) override;
  [[nodiscard]] bool Spoiled(std::uint64_t id) const override;
  [[nodiscard]] bool Has(std::uint64_t id) const override { return Home(id) != nullptr; }
  std::vector<StoredBlock> List() const override;
  std::vector<std::uint64_t> Damaged() const override;
  std::optional<std::uint64_t> Length(std::uint64_t id) const override;
  Status Trash(std::uint64_t id, Micros now) override;
  Result<StoredBlock> Restore(std::uint64_t id) override;
  void RemoveTrashed(std::uint64_t id) override;
  std::vector<StoredBlock> ListTrash() const override;
  Swept SweepTrash(Micros before, std::uint64_t least_free) override;
  Space space() const override;

 private:
  struct Spindle;  // a disk and what is known of it
  class File;
  class Claim;
  SpreadBlockStore(std::vector<Disk> disks, Events events);
  Status PartCopies(Micros now);
  [[nodiscard]] Spindle* Home(std::uint64_t id) const;  // null if no disk that works has it
  [[nodiscard]] std::vector<Spindle*> Working() const;
  Result<std::unique_ptr<BlockFile>> CreateOn(Spindle& disk, std::uint64_t id);
  [[nodiscard]] Spindle& Choose(std::span<Spindle* const> disks);
  void Refused(Spindle& disk, const Status& why);

  const std::vector<std::unique_ptr<Spindle>> disks_;
  const Events events_;
  std::mutex mutex_;
  std::set<std::uint64_t> claimed_;  // being created or restored
  std::uint64_t choices_ = 0;
};

}  // namespace millrace::dfs
