// SPDX-License-Identifier: Apache-2.0
#include "dfs/data/spread_block_store.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "dfs/wire/blocks.h"

namespace millrace::dfs {

std::size_t ChooseDisk(std::span<const DiskLoad> disks) {
  MILLRACE_CHECK(!disks.empty(), "there is no disk to choose");
  const bool full = std::all_of(disks.begin(), disks.end(), [](const DiskLoad& disk) { return disk.free == 0; });
  const auto share = [full](const DiskLoad& disk) {
    return static_cast<double>(full ? disk.trashed : disk.free) / static_cast<double>(disk.writers + 1);
  };
  const auto worse = [&](const DiskLoad& a, const DiskLoad& b) {
    return share(a) != share(b) ? share(a) < share(b) : a.chosen > b.chosen;
  };
  return static_cast<std::size_t>(std::max_element(disks.begin(), disks.end(), worse) - disks.begin());
}

struct SpreadBlockStore::Spindle {
  Spindle(std::size_t its_number, Disk disk)
      : number(its_number), name(std::move(disk.name)), store(std::move(disk.store)), meter(disk.meter) {}
  // Returns kIo if the disk has failed.
  [[nodiscard]] Status Usable() const {
    if (!failed) return Status::Ok();
    return Status(StatusCode::kIo,
                  "the disk of " + name + " has failed; what was written there is to be written again");
  }

  const std::size_t number;
  const std::string name;
  // Runs `sync`, which syncs up to `bytes` bytes on this disk, and takes its time.
  template <class Sync>
  auto Timed(std::uint64_t bytes, const Sync& sync) {
    return meter == nullptr ? sync() : meter->Time(bytes, sync);
  }

  const std::unique_ptr<BlockStore> store;  // kept after a failure, since its files may still be open
  SyncMeter* const meter;
  std::atomic<bool> failed = false;
  std::atomic<int> strikes = 0;
  std::atomic<std::uint64_t> writers = 0;
  std::uint64_t chosen = 0;  // guarded by SpreadBlockStore::mutex_
};

class SpreadBlockStore::File final : public BlockFile {
 public:
  File(SpreadBlockStore& store, Spindle& disk, std::unique_ptr<BlockFile> file)
      : store_(store), disk_(disk), file_(std::move(file)) {
    ++disk_.writers;
  }
  ~File() override { --disk_.writers; }

  Status Append(std::string_view data, const std::vector<std::uint32_t>& chunk_crcs) override {
    return Judged(Reaches::kMemory, [&] { return file_->Append(data, chunk_crcs); });
  }
  Result<Fd> Share() override {
    MILLRACE_TRY(disk_.Usable());
    return file_->Share();
  }
  Status ReadShared(std::uint64_t offset, std::size_t size, const std::vector<std::uint32_t>& chunk_crcs,
                    char* out) const override {
    MILLRACE_TRY(disk_.Usable());
    return file_->ReadShared(offset, size, chunk_crcs, out);
  }
  Status Adopt(std::string_view data, const std::vector<std::uint32_t>& chunk_crcs) override {
    return Judged(Reaches::kMemory, [&] { return file_->Adopt(data, chunk_crcs); });
  }
  Status Sync() override {
    return Judged(Reaches::kDisk, [&] { return disk_.Timed(file_->length(), [&] { return file_->Sync(); }); });
  }
  Status Finish() override {
    MILLRACE_TRY(Judged(Reaches::kDisk, [&] { return disk_.Timed(0, [&] { return file_->Finish(); }); }));
    return disk_.Usable();  // if the disk has failed meanwhile, the block does not count as stored
  }
  [[nodiscard]] std::uint64_t length() const override { return file_->length(); }
  [[nodiscard]] std::uint32_t crc() const override { return file_->crc(); }

 private:
  enum class Reaches { kMemory, kDisk };
  template <class Write>
  Status Judged(Reaches reaches, const Write& write) {
    MILLRACE_TRY(disk_.Usable());
    const Status written = write();
    if (written.ok() && reaches == Reaches::kDisk) disk_.strikes = 0;
    if (written.code() == StatusCode::kIo && !std::exchange(refused_, true)) store_.Refused(disk_, written);
    return written;
  }

  SpreadBlockStore& store_;
  Spindle& disk_;
  const std::unique_ptr<BlockFile> file_;
  bool refused_ = false;  // the block is spoiled, and that was counted
};

// While a Claim is taken, nobody else creates or restores this block on any disk.
class SpreadBlockStore::Claim {
 public:
  Claim(SpreadBlockStore& store, std::uint64_t id) : store_(store), id_(id) {
    const std::lock_guard lock(store_.mutex_);
    taken_ = store_.claimed_.insert(id).second;
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;
  ~Claim() {
    if (!taken_) return;
    const std::lock_guard lock(store_.mutex_);
    store_.claimed_.erase(id_);
  }
  [[nodiscard]] bool taken() const { return taken_; }

 private:
  SpreadBlockStore& store_;
  const std::uint64_t id_;
  bool taken_ = false;
};

SpreadBlockStore::SpreadBlockStore(std::vector<Disk> disks, Events events)
    : disks_([&disks] {
        std::vector<std::unique_ptr<Spindle>> spindles;
        for (Disk& disk : disks) spindles.push_back(std::make_unique<Spindle>(spindles.size(), std::move(disk)));
        return spindles;
      }()),
      events_(std::move(events)) {}

SpreadBlockStore::~SpreadBlockStore() = default;

Result<std::unique_ptr<SpreadBlockStore>> SpreadBlockStore::Over(std::vector<Disk> disks, Micros now, Events events) {
  MILLRACE_CHECK(!disks.empty(), "a store needs a disk");
  std::unique_ptr<SpreadBlockStore> store(new SpreadBlockStore(std::move(disks), std::move(events)));
  MILLRACE_TRY(store->PartCopies(now));
  return store;
}

// Requires: nobody uses the store yet.
Status SpreadBlockStore::PartCopies(Micros now) {
  std::set<std::uint64_t> finished, trashed;
  for (const auto& disk : disks_) {
    for (const StoredBlock& block : disk->store->ListTrash()) {
      if (!trashed.insert(block.id).second) disk->store->RemoveTrashed(block.id);
    }
  }
  for (const auto& disk : disks_) {
    for (const StoredBlock& block : disk->store->List()) {
      if (finished.insert(block.id).second) continue;
      RemoveTrashed(block.id);
      MILLRACE_TRY(disk->store->Trash(block.id, now));
    }
  }
  for (const auto& disk : disks_) {
    for (const std::uint64_t id : disk->store->Damaged()) {
      if (!finished.insert(id).second) MILLRACE_TRY(disk->store->Remove(id));
    }
  }
  return Status::Ok();
}

std::vector<SpreadBlockStore::Spindle*> SpreadBlockStore::Working() const {
  std::vector<Spindle*> working;
  for (const auto& disk : disks_) {
    if (!disk->failed) working.push_back(disk.get());
  }
  return working;
}

SpreadBlockStore::Spindle* SpreadBlockStore::Home(std::uint64_t id) const {
  for (const auto& disk : disks_) {
    if (!disk->failed && disk->store->Has(id)) return disk.get();
  }
  return nullptr;
}

std::vector<std::uint64_t> SpreadBlockStore::Fail(std::size_t number) {
  Spindle& disk = *disks_.at(number);
  if (disk.failed.exchange(true)) return {};
  std::vector<std::uint64_t> lost = disk.store->Damaged();
  for (const StoredBlock& block : disk.store->List()) lost.push_back(block.id);
  std::sort(lost.begin(), lost.end());
  return lost;
}

void SpreadBlockStore::Refused(Spindle& disk, const Status& why) {
  const int strikes = ++disk.strikes;
  if (events_.refused) events_.refused(disk.number, strikes, why);
  if (strikes == kMostStrikes) events_.failing(disk.number, why);
}

SpreadBlockStore::Spindle& SpreadBlockStore::Choose(std::span<Spindle* const> disks) {
  std::vector<DiskLoad> loads;
  for (const Spindle* disk : disks) {
    const Space space = disk->store->space();
    loads.push_back({space.free, space.trashed, disk->writers, 0});
  }
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < disks.size(); ++i) loads[i].chosen = disks[i]->chosen;
  Spindle& chosen = *disks[ChooseDisk(loads)];
  chosen.chosen = ++choices_;
  return chosen;
}

Result<std::unique_ptr<BlockFile>> SpreadBlockStore::CreateOn(Spindle& disk, std::uint64_t id) {
  MILLRACE_ASSIGN(std::unique_ptr<BlockFile> file, disk.store->Create(id));
  return std::unique_ptr<BlockFile>(std::make_unique<File>(*this, disk, std::move(file)));
}

Result<std::unique_ptr<BlockFile>> SpreadBlockStore::Create(std::uint64_t id) {
  const Claim claim(*this, id);
  if (!claim.taken()) return Exists("create " + BlockName(id) + ": it is here already");
  if (Spindle* const home = Home(id); home != nullptr) return CreateOn(*home, id);  // it replaces a damaged one
  std::vector<Spindle*> disks = Working();
  Status why(StatusCode::kIo, "create " + BlockName(id) + ": no disk is left");
  while (!disks.empty()) {  // a disk that fails, and is not known to have failed, is passed over
    Spindle& disk = Choose(disks);
    Result<std::unique_ptr<BlockFile>> file = CreateOn(disk, id);
    if (file.ok()) return file;
    why = file.status();
    std::erase(disks, &disk);
  }
  return why;
}

Result<StoredBlock> SpreadBlockStore::FinishAt(std::uint64_t id, std::uint64_t length) {
  Spindle* const home = Home(id);
  if (home == nullptr) return NotFound("finish " + BlockName(id) + ": it is not here");
  const bool counted = home->store->Spoiled(id);
  Result<StoredBlock> block = home->Timed(length, [&] { return home->store->FinishAt(id, length); });
  if (block.status().code() == StatusCode::kIo && !counted) Refused(*home, block.status());
  MILLRACE_TRY(home->Usable());
  return block;
}

bool SpreadBlockStore::Spoiled(std::uint64_t id) const {
  const Spindle* const home = Home(id);
  return home != nullptr && home->store->Spoiled(id);
}

void SpreadBlockStore::Discard(std::uint64_t id) {
  if (Spindle* const home = Home(id); home != nullptr) home->store->Discard(id);
}

BlockStore::Swept SpreadBlockStore::SweepUnfinished(Micros now, Micros retention) {
  Swept all;
  for (Spindle* const disk : Working()) {
    const Swept swept = disk->store->SweepUnfinished(now, retention);
    all.blocks += swept.blocks;
    all.bytes += swept.bytes;
  }
  return all;
}

Result<OpenBlock> SpreadBlockStore::Open(std::uint64_t id) const {
  const Spindle* const home = Home(id);
  if (home == nullptr) return NotFound(BlockName(id) + " is not here");
  return home->store->Open(id);
}

Result<std::string> SpreadBlockStore::Read(std::uint64_t id, std::uint64_t offset, std::uint64_t size) const {
  const Spindle* const home = Home(id);
  if (home == nullptr) return NotFound(BlockName(id) + " is not here");
  return home->store->Read(id, offset, size);
}

Status SpreadBlockStore::Verify(std::uint64_t id, std::uint64_t offset, std::uint64_t size) {
  Spindle* const home = Home(id);
  if (home == nullptr) return NotFound(BlockName(id) + " is not here");
  return home->store->Verify(id, offset, size);
}

Status SpreadBlockStore::Relist(std::uint64_t id) {
  Spindle* const home = Home(id);
  if (home == nullptr) return NotFound(BlockName(id) + " is not here");
  return home->store->Relist(id);
}

Status SpreadBlockStore::Remove(std::uint64_t id) {
  Spindle* const home = Home(id);
  return home == nullptr ? Status::Ok() : home->store->Remove(id);
}

std::vector<StoredBlock> SpreadBlockStore::List() const {
  std::vector<StoredBlock> all;
  for (const Spindle* const disk : Working()) {
    const std::vector<StoredBlock> blocks = disk->store->List();
    all.insert(all.end(), blocks.begin(), blocks.end());
  }
  std::sort(all.begin(), all.end(), [](const StoredBlock& a, const StoredBlock& b) { return a.id < b.id; });
  return all;
}

std::vector<std::uint64_t> SpreadBlockStore::Damaged() const {
  std::vector<std::uint64_t> all;
  for (const Spindle* const disk : Working()) {
    const std::vector<std::uint64_t> damaged = disk->store->Damaged();
    all.insert(all.end(), damaged.begin(), damaged.end());
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::optional<std::uint64_t> SpreadBlockStore::Length(std::uint64_t id) const {
  const Spindle* const home = Home(id);
  return home == nullptr ? std::nullopt : home->store->Length(id);
}

// At most one block of this id is in the trash, on whichever disk.
Status SpreadBlockStore::Trash(std::uint64_t id, Micros now) {
  Spindle* const home = Home(id);
  if (home == nullptr) return Status::Ok();
  if (home->store->Length(id).has_value()) {
    for (Spindle* const disk : Working()) {
      if (disk != home) disk->store->RemoveTrashed(id);
    }
  }
  return home->store->Trash(id, now);
}

Result<StoredBlock> SpreadBlockStore::Restore(std::uint64_t id) {
  const Claim claim(*this, id);
  Spindle* const home = Home(id);
  const auto damaged = [&] {
    const std::vector<std::uint64_t> ids = home->store->Damaged();
    return std::binary_search(ids.begin(), ids.end(), id);
  };
  if (!claim.taken() || (home != nullptr && !damaged())) {
    return Exists("restore " + BlockName(id) + ": it is here already");
  }
  for (Spindle* const disk : Working()) {
    Result<StoredBlock> restored = disk->store->Restore(id);
    if (!restored.ok() && restored.status().code() == StatusCode::kNotFound) continue;
    // The restored block replaces a damaged one on another disk.
    if (restored.ok() && home != nullptr && disk != home) MILLRACE_TRY(home->store->Remove(id));
    return restored;
  }
  return NotFound(BlockName(id) + " is not in the trash");
}

void SpreadBlockStore::RemoveTrashed(std::uint64_t id) {
  for (Spindle* const disk : Working()) disk->store->RemoveTrashed(id);
}

std::vector<StoredBlock> SpreadBlockStore::ListTrash() const {
  std::vector<StoredBlock> all;
  for (const Spindle* const disk : Working()) {
    const std::vector<StoredBlock> trashed = disk->store->ListTrash();
    all.insert(all.end(), trashed.begin(), trashed.end());
  }
  std::sort(all.begin(), all.end(), [](const StoredBlock& a, const StoredBlock& b) { return a.id < b.id; });
  return all;
}

BlockStore::Swept SpreadBlockStore::SweepTrash(Micros before, std::uint64_t least_free) {
  Swept all;
  for (Spindle* const disk : Working()) {
    const Swept swept = disk->store->SweepTrash(before, least_free);
    all.blocks += swept.blocks;
    all.bytes += swept.bytes;
  }
  return all;
}

BlockStore::Space SpreadBlockStore::space() const {
  Space all;
  for (const Spindle* const disk : Working()) {
    const Space space = disk->store->space();
    all.capacity += space.capacity;
    all.free += space.free;
    all.used += space.used;
    all.blocks += space.blocks;
    all.trashed += space.trashed;
  }
  return all;
}

}  // namespace millrace::dfs
