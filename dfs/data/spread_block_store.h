// SPDX-License-Identifier: Apache-2.0
// SpreadBlockStore: one BlockStore over several, each on a disk of its own. A block is on one disk, which is found by
// asking each (all answer from memory). A new block goes to the disk with the most free space per writer (ChooseDisk).
// Byte counts are sums over the disks. Each disk has its own trash, and `least_free` of SweepTrash applies to each
// disk.
//
// A disk that has failed stays failed. Code outside the store that notices the failure calls Fail. The store itself
// counts the I/O errors of each disk. It reports each one to the owner (`refused`), and after kMostStrikes in a row it
// reports that the disk is failing (`failing`). Only a successful sync ends the row, since an append gets no further
// than memory. A failed disk is no longer used: its blocks are not here, and writes on it fail. Thread rule: that of
// BlockStore; Fail from any thread, too.
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
  std::uint64_t chosen = 0;             // the number of the last choice of this disk; 0 if it was never chosen
};
// Returns the disk with the most free space per writer, the new writer included. So two equally free disks take turns,
// and a disk with a tenth of the free space of another gets about a tenth of its writers. Ties go to the disk chosen
// longest ago. If nothing is free anywhere, the trash counts as free, since it makes room. Requires: there is at least
// one disk.
[[nodiscard]] std::size_t ChooseDisk(std::span<const DiskLoad> disks);

class SpreadBlockStore final : public BlockStore {
 public:
  struct Disk {
    std::string name;  // for messages
    std::unique_ptr<BlockStore> store;
    SyncMeter* meter =
        nullptr;  // measures its syncs; null: they are not measured. Requires: the meter outlives the store.
  };
  // A disk counts as failing after this number of refusals in a row: appends, syncs and finishes that ended with kIo.
  // Refusals for a block that is spoiled already do not count.
  static constexpr int kMostStrikes = 3;
  // Both are called from any thread.
  struct Events {
    std::function<void(std::size_t disk, const Status&)> failing;  // the callee decides whether to call Fail
    std::function<void(std::size_t disk, int strikes, const Status&)> refused = {};  // may be empty
  };

  // Makes a store over the disks. A block on two disks (one disk had failed, the block was copied again, and the disk
  // is back) stays on the first, and the other copy goes to the trash of its disk at `now`. Requires: there is at least
  // one disk.
  static Result<std::unique_ptr<SpreadBlockStore>> Over(std::vector<Disk> disks, Micros now, Events events);
  ~SpreadBlockStore() override;

  // Takes a failed disk out of use. Returns the blocks on it, including damaged ones, by rising id; none on a second
  // call.
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
