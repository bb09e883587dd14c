// SPDX-License-Identifier: Apache-2.0
// Disks that lose data. Written data survive the death of the process; data that were not synced may be lost when the
// machine loses power. A disk may refuse a call; the data of a failed sync are lost, and the next sync succeeds. Thread
// rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/kv/key_value_store.h"
#include "base/random.h"
#include "base/rpc/commit_log.h"
#include "dfs/data/block_store.h"
#include "tests/simulated/chaos/world.h"

namespace millrace::simulated {

// LosingStore is the twin of a database that keeps a log. Batches apply in order and as a whole. A loss of power takes
// back a random number of the newest batches since the last synced one. So does a write that the disk refuses; after
// that, nothing is written until the database is opened again.
class LosingStore final : public KeyValueStore {
 public:
  Status Write(const WriteBatch& batch, Durability durability) override;
  [[nodiscard]] Result<std::optional<std::string>> Get(std::string_view key) const override;
  [[nodiscard]] Status Scan(std::string_view prefix, std::string_view from,
                            const std::function<bool(std::string_view, std::string_view)>& visit) const override;

  void LosePower(Random& random);
  // Makes the next write fail.
  void Refuse(Random random) { refusing_ = std::move(random); }
  void Obey() { refusing_.reset(); }
  void Reopen();
  [[nodiscard]] bool failed() const { return failed_; }
  // Returns a copy of the present contents.
  [[nodiscard]] std::unique_ptr<LosingStore> Copy() const;
  [[nodiscard]] bool empty() const { return map_.empty(); }

 private:
  using Undo = std::vector<WriteBatch::Change>;  // the earlier values, newest change last
  std::map<std::string, std::string, std::less<>> map_;
  std::vector<Undo> unsynced_;
  std::optional<Random> refusing_;
  bool failed_ = false;
};

// DrivenCommitLog is group commit in driven time: batches that gather while a group is being written form the next
// group. Some time passes after a group is on the disk before its promises resolve.
class DrivenCommitLog final : public rpc::CommitLog {
 public:
  struct Times {
    double least = 0.0005, most = 0.004;  // seconds for a group, drawn at random
    double stalls = 0, stall = 1;         // the share of groups that take `stall` seconds
  };
  ~DrivenCommitLog() noexcept override;
  // `on_failure` is called as the real log calls it, since both use CommitWaiters.
  DrivenCommitLog(World& world, kj::Timer& timer, KeyValueStore& store, Times times,
                  std::function<void(const Status&)> on_failure);
  [[nodiscard]] kj::Promise<void> Commit(WriteBatch batch) override;
  void CommitLazily(WriteBatch batch) override { Hand(std::move(batch), Durability::kBuffered); }

  // Makes the process dead: nothing further is written, and no promise resolves.
  void Abandon();
  // An action to run once, when a group of this kind is written.
  struct Moment {
    bool (*suits)(const WriteBatch& group) = nullptr;
    bool before = false;  // true: before the group is on the disk; false: after that, but before its promises resolve
    double stall = 0;     // seconds by which the group takes longer
    std::function<void()> action;
  };
  void AtWrite(Moment moment) { moment_ = std::move(moment); }
  // Makes each group take this many seconds longer from now on.
  void SetDelay(double seconds) { delay_ = seconds; }
  // Calls `observer` with every batch that is handed over.
  void Observe(std::function<void(const WriteBatch& batch)> observer) { observer_ = std::move(observer); }
  // Returns the changes that were handed over and are not on the disk yet.
  [[nodiscard]] WriteBatch Pending() const;
  [[nodiscard]] bool idle() const { return !writing_; }

 private:
  std::uint64_t Hand(WriteBatch batch, Durability durability);
  kj::Promise<void> WriteGroups();

  World& world_;
  kj::Timer& timer_;
  KeyValueStore& store_;
  Times times_;
  Random random_;
  double delay_ = 0;
  WriteBatch batch_, group_;
  Durability durability_ = Durability::kBuffered;
  std::uint64_t handed_ = 0, taken_ = 0;
  bool writing_ = false, abandoned_ = false;
  rpc::CommitWaiters waiters_;
  std::optional<Moment> moment_;
  std::function<void(const WriteBatch&)> observer_;
  kj::Promise<void> writer_ = nullptr;  // last: it uses the members above
};

// The files of blocks on one machine. It outlives the worker's process.
class BlockDisk {
 public:
  struct File {
    std::string data;
    std::vector<std::uint32_t> crcs;  // of the written data
    std::uint64_t length = 0;         // of the written data
    std::uint64_t synced = 0;         // bytes
    bool readable = true;
    bool doubted = false;  // a read has failed, so its worker may be removing it although it can be read again
    [[nodiscard]] bool whole() const { return data.size() == length && readable; }
    [[nodiscard]] bool good() const;
    [[nodiscard]] dfs::BlockContent content() const { return {length, dfs::BlockCrc(crcs)}; }
  };
  struct Trashed {
    File file;
    Micros when = 0;
  };
  // Returns the outcome that such a step has now.
  Status Do(dfs::WriteStep step);
  // Refuses the next `times` steps of this kind, but only until Obey.
  void Refuse(dfs::WriteStep step, std::uint32_t times, Status how) { refusals_[step] = {times, std::move(how)}; }
  void Obey() { refusals_.clear(); }
  [[nodiscard]] bool refuses() const { return !refusals_.empty(); }

  std::map<std::uint64_t, File> finished, unfinished;
  std::map<std::uint64_t, Trashed> trash;

 private:
  struct Refusal {
    std::uint32_t times = 0;
    Status how;
  };
  std::map<dfs::WriteStep, Refusal> refusals_;
};

// DiskBlocks is the view that a worker's process has of its disk: it reads the list of blocks at its start and keeps it
// in memory. The code of the real store (WriteFate in dfs/data/block_store.h) decides whether written data can be
// believed.
class DiskBlocks final : public dfs::BlockStore {
 public:
  // `removing` is called with a finished block before it goes to the trash (`trash` is true) or is removed for good
  // (false).
  DiskBlocks(BlockDisk& disk, std::function<void(std::uint64_t id, bool trash)> removing);

  [[nodiscard]] Result<std::unique_ptr<dfs::BlockFile>> Create(std::uint64_t id) override;
  [[nodiscard]] Result<dfs::StoredBlock> FinishAt(std::uint64_t id, std::uint64_t length) override;
  void Discard(std::uint64_t id) override;
  [[nodiscard]] Result<dfs::OpenBlock> Open(std::uint64_t id) const override;
  [[nodiscard]] Result<std::string> Read(std::uint64_t id, std::uint64_t offset, std::uint64_t size) const override;
  Status Verify(std::uint64_t id, std::uint64_t offset, std::uint64_t size) override;
  Status Relist(std::uint64_t id) override;
  [[nodiscard]] std::vector<std::uint64_t> Damaged() const override;
  [[nodiscard]] std::optional<std::uint64_t> Length(std::uint64_t id) const override;
  Status Remove(std::uint64_t id) override;
  [[nodiscard]] bool Spoiled(std::uint64_t id) const override;
  [[nodiscard]] bool Has(std::uint64_t id) const override;
  void RemoveTrashed(std::uint64_t id) override { disk_.trash.erase(id); }
  [[nodiscard]] std::vector<dfs::StoredBlock> List() const override;
  Status Trash(std::uint64_t id, Micros now) override;
  [[nodiscard]] Result<dfs::StoredBlock> Restore(std::uint64_t id) override;
  [[nodiscard]] std::vector<dfs::StoredBlock> ListTrash() const override;
  Swept SweepTrash(Micros before, std::uint64_t least_free) override;
  Swept SweepUnfinished(Micros, Micros) override { return {}; }  // a writer writes a block at once or not at all
  [[nodiscard]] Space space() const override;

 private:
  class Writing;
  Status Sync(std::uint64_t id);
  Status Publish(std::uint64_t id);
  void DropUnfinished(std::uint64_t id);

  BlockDisk& disk_;
  std::function<void(std::uint64_t, bool)> removing_;
  std::map<std::uint64_t, dfs::BlockContent> known_;  // finished
  std::set<std::uint64_t> open_;                      // being written
  std::map<std::uint64_t, dfs::WriteFate> fates_;     // of unfinished blocks
  std::shared_ptr<DiskBlocks*> self_;                 // files that outlive the process find null
};

}  // namespace millrace::simulated
