// SPDX-License-Identifier: Apache-2.0
#include "tests/simulated/chaos/disk.h"

#include <algorithm>
#include <utility>

#include "dfs/data/block_checksums.h"
#include "dfs/wire/chunks.h"

namespace millrace::simulated {

// ---- the master's database ----

Status LosingStore::Write(const WriteBatch& batch, Durability durability) {
  if (failed_) return Status(StatusCode::kIo, "the database has failed");
  Undo undo;
  for (const WriteBatch::Change& change : batch.changes()) {
    const auto old = map_.find(change.key);
    undo.push_back({change.key, old == map_.end() ? std::nullopt : std::optional(old->second)});
    if (change.value) {
      map_.insert_or_assign(change.key, *change.value);
    } else if (old != map_.end()) {
      map_.erase(old);
    }
  }
  unsynced_.push_back(std::move(undo));
  if (refusing_) {
    failed_ = true;
    LosePower(*refusing_);
    return Status(StatusCode::kIo, "write to the database: Input/output error");
  }
  if (durability == Durability::kSynced) unsynced_.clear();
  return Status::Ok();
}

// Writes the readable part of the log to the disk again.
void LosingStore::Reopen() {
  if (failed_) unsynced_.clear();
  failed_ = false;
  refusing_.reset();
}

Result<std::optional<std::string>> LosingStore::Get(std::string_view key) const {
  const auto it = map_.find(key);
  if (it == map_.end()) return std::optional<std::string>();
  return std::optional(it->second);
}

Status LosingStore::Scan(std::string_view prefix, std::string_view from,
                         const std::function<bool(std::string_view, std::string_view)>& visit) const {
  std::vector<std::pair<std::string, std::string>> found;
  for (auto it = map_.lower_bound(from.empty() ? prefix : from); it != map_.end() && it->first.starts_with(prefix);
       ++it)
    found.push_back(*it);
  for (const auto& [key, value] : found) {
    if (!visit(key, value)) break;
  }
  return Status::Ok();
}

void LosingStore::LosePower(Random& random) {
  for (std::uint64_t lost = random.Below(unsynced_.size() + 1); lost > 0; --lost) {
    const Undo& undo = unsynced_.back();
    for (auto change = undo.rbegin(); change != undo.rend(); ++change) {
      if (change->value) {
        map_.insert_or_assign(change->key, *change->value);
      } else {
        map_.erase(change->key);
      }
    }
    unsynced_.pop_back();
  }
  unsynced_.clear();
}

std::unique_ptr<LosingStore> LosingStore::Copy() const {
  auto copy = std::make_unique<LosingStore>();
  copy->map_ = map_;
  return copy;
}

// ---- group commit ----

DrivenCommitLog::DrivenCommitLog(World& world, kj::Timer& timer, KeyValueStore& store, Times times,
                                 std::function<void(const Status&)> on_failure)
    : world_(world),
      timer_(timer),
      store_(store),
      times_(times),
      random_(world.Fork()),
      waiters_(std::move(on_failure)) {}

DrivenCommitLog::~DrivenCommitLog() noexcept = default;

kj::Promise<void> DrivenCommitLog::Commit(WriteBatch batch) {
  return waiters_.Add(Hand(std::move(batch), Durability::kSynced));
}

void DrivenCommitLog::Abandon() {
  abandoned_ = true;
  writer_ = nullptr;
}

std::uint64_t DrivenCommitLog::Hand(WriteBatch batch, Durability durability) {
  if (abandoned_) return handed_;
  if (observer_) observer_(batch);
  batch_.Append(std::move(batch));
  if (durability == Durability::kSynced) durability_ = Durability::kSynced;
  ++handed_;
  if (!std::exchange(writing_, true))
    writer_ = kj::evalLater([this] { return WriteGroups(); }).eagerlyEvaluate(nullptr);
  return handed_;
}

kj::Promise<void> DrivenCommitLog::WriteGroups() {
  if (handed_ == taken_) {
    writing_ = false;
    return kj::READY_NOW;
  }
  group_ = std::exchange(batch_, {});
  const Durability durability = std::exchange(durability_, Durability::kBuffered);
  const std::uint64_t number = taken_ = handed_;
  double time = times_.least + (times_.most - times_.least) * random_.Unit();
  if (random_.Unit() < times_.stalls) time = times_.stall;
  time += delay_;
  std::function<void()> then;
  if (moment_ && moment_->suits(group_)) {
    const Moment moment = *std::exchange(moment_, std::nullopt);
    time += moment.stall;
    if (moment.before) {
      world_.Do(time / 4 * (1 + random_.Unit()), moment.action);
    } else {
      then = moment.action;
    }
  }
  const auto half = static_cast<std::int64_t>(time * 5e5) * kj::MICROSECONDS;
  auto written = std::make_shared<Status>();
  return timer_.afterDelay(half)
      .then([this, durability, half, written, then = std::move(then)] {
        *written = store_.Write(std::exchange(group_, {}), durability);
        if (then) world_.Do(0, then);
        return timer_.afterDelay(half);
      })
      .then([this, number, written]() -> kj::Promise<void> {
        waiters_.Ended(number, *written);
        if (waiters_.failed()) return kj::NEVER_DONE;
        return WriteGroups();
      });
}

WriteBatch DrivenCommitLog::Pending() const {
  WriteBatch pending = group_;
  WriteBatch next = batch_;
  pending.Append(std::move(next));
  return pending;
}

// ---- blocks ----

Status BlockDisk::Do(dfs::WriteStep step) {
  const auto found = refusals_.find(step);
  if (found == refusals_.end()) return Status::Ok();
  const Status how = found->second.how;
  if (--found->second.times == 0) refusals_.erase(found);
  return how;
}

bool BlockDisk::File::good() const { return whole() && dfs::CheckChunks(data, crcs, 0, 0).ok(); }

class DiskBlocks::Writing final : public dfs::BlockFile {
 public:
  Writing(DiskBlocks& blocks, std::uint64_t id) : owner_(blocks.self_), blocks_(blocks), id_(id) {}
  ~Writing() override {
    if (!owner_.expired()) blocks_.open_.erase(id_);
  }

  Status Append(std::string_view data, const std::vector<std::uint32_t>& chunk_crcs) override {
    MILLRACE_TRY(dfs::CheckChunks(data, chunk_crcs, id_, 0));
    return Adopt(data, chunk_crcs);
  }
  Result<Fd> Share() override { return Invalid("a simulated block has no file"); }
  Status ReadShared(std::uint64_t, std::size_t, const std::vector<std::uint32_t>&, char*) const override {
    return Invalid("a simulated block has no file");
  }
  Status Adopt(std::string_view data, const std::vector<std::uint32_t>& chunk_crcs) override {
    MILLRACE_TRY(fate().Usable());
    MILLRACE_TRY(fate().Take(dfs::WriteStep::kWrite, blocks_.disk_.Do(dfs::WriteStep::kWrite)));
    BlockDisk::File& file = blocks_.disk_.unfinished[id_];
    file.data.append(data);
    file.crcs.insert(file.crcs.end(), chunk_crcs.begin(), chunk_crcs.end());
    file.length = file.data.size();
    return Status::Ok();
  }
  Status Sync() override { return blocks_.Sync(id_); }
  Status Finish() override {
    content_ = blocks_.disk_.unfinished[id_].content();
    return blocks_.Publish(id_);
  }
  [[nodiscard]] std::uint64_t length() const override { return content_.length; }
  [[nodiscard]] std::uint32_t crc() const override { return content_.crc; }

 private:
  dfs::WriteFate& fate() { return blocks_.fates_[id_]; }

  std::weak_ptr<DiskBlocks*> owner_;
  DiskBlocks& blocks_;
  std::uint64_t id_;
  dfs::BlockContent content_;  // once it is finished
};

DiskBlocks::DiskBlocks(BlockDisk& disk, std::function<void(std::uint64_t, bool)> removing)
    : disk_(disk), removing_(std::move(removing)), self_(std::make_shared<DiskBlocks*>(this)) {
  disk_.unfinished.clear();
  for (const auto& [id, file] : disk_.finished) {
    if (file.whole()) known_[id] = file.content();
  }
}

Result<std::unique_ptr<dfs::BlockFile>> DiskBlocks::Create(std::uint64_t id) {
  if (known_.contains(id) || open_.contains(id) || disk_.unfinished.contains(id))
    return Exists("create " + dfs::BlockName(id) + ": it is here already");
  open_.insert(id);
  disk_.unfinished[id];
  return std::unique_ptr<dfs::BlockFile>(std::make_unique<Writing>(*this, id));
}

// What was not synced is gone after a failed sync, and counts as synced.
Status DiskBlocks::Sync(std::uint64_t id) {
  dfs::WriteFate& fate = fates_[id];
  MILLRACE_TRY(fate.Usable());
  const Status synced = fate.Take(dfs::WriteStep::kSync, disk_.Do(dfs::WriteStep::kSync));
  BlockDisk::File& file = disk_.unfinished[id];
  if (!synced.ok()) std::fill(file.data.begin() + static_cast<std::ptrdiff_t>(file.synced), file.data.end(), '\0');
  file.synced = file.data.size();
  return synced;
}

Status DiskBlocks::Publish(std::uint64_t id) {
  using enum dfs::WriteStep;
  MILLRACE_TRY(Sync(id));
  dfs::WriteFate& fate = fates_[id];
  for (const dfs::WriteStep step : {kWrite, kSync, kRename, kRename, kSync})
    MILLRACE_TRY(fate.Take(step, disk_.Do(step)));
  known_[id] = disk_.unfinished[id].content();
  disk_.finished[id] = std::move(disk_.unfinished[id]);
  DropUnfinished(id);
  return Status::Ok();
}

void DiskBlocks::DropUnfinished(std::uint64_t id) {
  disk_.unfinished.erase(id);
  fates_.erase(id);
}

Result<dfs::StoredBlock> DiskBlocks::FinishAt(std::uint64_t id, std::uint64_t length) {
  if (const auto known = known_.find(id); known != known_.end()) {
    if (known->second.length == length) return dfs::StoredBlock{id, length, known->second.crc};
    return Invalid("finish " + dfs::BlockName(id) + ": it was finished at another length");
  }
  if (open_.contains(id)) return Busy("finish " + dfs::BlockName(id) + ": it is being written");
  const auto found = disk_.unfinished.find(id);
  if (found == disk_.unfinished.end()) return NotFound("finish " + dfs::BlockName(id) + ": it is not here");
  if (!fates_[id].spoiled()) MILLRACE_TRY(dfs::CheckCut(id, found->second.length, length));
  const dfs::BlockContent content = found->second.content();
  const Status published = Publish(id);
  if (published.ok()) return dfs::StoredBlock{id, length, content.crc};
  if (!fates_[id].spoiled()) return published;
  const Status spoiled = fates_[id].Usable();
  DropUnfinished(id);
  return spoiled;
}

void DiskBlocks::Discard(std::uint64_t id) {
  if (!open_.contains(id)) DropUnfinished(id);
}

Result<dfs::OpenBlock> DiskBlocks::Open(std::uint64_t id) const {
  const auto known = known_.find(id);
  if (known == known_.end()) return NotFound("open " + dfs::BlockName(id) + ": it is not here");
  const auto file = disk_.finished.find(id);
  if (file == disk_.finished.end()) return NotFound("open " + dfs::BlockName(id) + ": its file is gone");
  if (!file->second.whole()) return Corrupt("open " + dfs::BlockName(id) + ": its file is too short or cannot be read");
  dfs::OpenBlock open;
  open.length = file->second.length;
  open.chunk_crcs = file->second.crcs;
  return open;
}

Result<std::string> DiskBlocks::Read(std::uint64_t id, std::uint64_t offset, std::uint64_t size) const {
  MILLRACE_ASSIGN(const dfs::OpenBlock open, Open(id));
  MILLRACE_TRY(dfs::CheckRange(id, open.length, offset, size));
  const BlockDisk::File& file = disk_.finished.at(id);
  MILLRACE_TRY(dfs::CheckChunks(file.data, file.crcs, id, 0));
  return file.data.substr(offset, size);
}

Status DiskBlocks::Verify(std::uint64_t id, std::uint64_t offset, std::uint64_t size) {
  if (!disk_.finished.contains(id)) {
    known_.erase(id);
    return NotFound("read " + dfs::BlockName(id) + ": its file is gone");
  }
  return Read(id, offset, size).ok() ? Status::Ok() : Corrupt("read " + dfs::BlockName(id) + ": it is damaged");
}

Status DiskBlocks::Relist(std::uint64_t id) {
  const auto file = disk_.finished.find(id);
  if (file == disk_.finished.end()) return NotFound("take back " + dfs::BlockName(id) + ": its file is gone");
  known_[id] = file->second.content();
  return Status::Ok();
}

std::vector<std::uint64_t> DiskBlocks::Damaged() const {
  std::vector<std::uint64_t> damaged;
  for (const auto& [id, file] : disk_.finished) {
    if (!known_.contains(id)) damaged.push_back(id);
  }
  return damaged;
}

bool DiskBlocks::Spoiled(std::uint64_t id) const {
  const auto found = fates_.find(id);
  return found != fates_.end() && found->second.spoiled() && !open_.contains(id);
}

// A file that has vanished is believed to be there until somebody looks.
bool DiskBlocks::Has(std::uint64_t id) const {
  return known_.contains(id) || disk_.finished.contains(id) || open_.contains(id) || disk_.unfinished.contains(id);
}

std::optional<std::uint64_t> DiskBlocks::Length(std::uint64_t id) const {
  const auto known = known_.find(id);
  return known == known_.end() ? std::nullopt : std::optional(known->second.length);
}

Status DiskBlocks::Remove(std::uint64_t id) {
  Discard(id);
  if (disk_.finished.contains(id)) removing_(id, false);
  disk_.finished.erase(id);
  known_.erase(id);
  return Status::Ok();
}

std::vector<dfs::StoredBlock> DiskBlocks::List() const {
  std::vector<dfs::StoredBlock> list;
  for (const auto& [id, content] : known_) list.push_back({id, content.length, content.crc});
  return list;
}

Status DiskBlocks::Trash(std::uint64_t id, Micros now) {
  Discard(id);
  const auto found = disk_.finished.find(id);
  if (found == disk_.finished.end()) return Status::Ok();
  removing_(id, true);  // nobody can read it there
  disk_.trash[id] = {std::move(found->second), now};
  disk_.finished.erase(found);
  known_.erase(id);
  return Status::Ok();
}

Result<dfs::StoredBlock> DiskBlocks::Restore(std::uint64_t id) {
  const auto found = disk_.trash.find(id);
  if (found == disk_.trash.end()) return NotFound(dfs::BlockName(id) + " is not in the trash");
  if (disk_.finished.contains(id) || disk_.unfinished.contains(id)) {
    return Exists("restore " + dfs::BlockName(id) + ": it is here already");
  }
  const dfs::BlockContent content = known_[id] = found->second.file.content();
  disk_.finished[id] = std::move(found->second.file);
  disk_.trash.erase(found);
  return dfs::StoredBlock{id, content.length, content.crc};
}

std::vector<dfs::StoredBlock> DiskBlocks::ListTrash() const {
  std::vector<dfs::StoredBlock> list;
  for (const auto& [id, trashed] : disk_.trash) {
    const dfs::BlockContent content = trashed.file.content();
    list.push_back({id, content.length, content.crc});
  }
  return list;
}

// This disk always has room.
dfs::BlockStore::Swept DiskBlocks::SweepTrash(Micros before, std::uint64_t) {
  Swept swept;
  for (auto at = disk_.trash.begin(); at != disk_.trash.end();) {
    if (at->second.when >= before) {
      ++at;
      continue;
    }
    ++swept.blocks;
    swept.bytes += at->second.file.length;
    at = disk_.trash.erase(at);
  }
  return swept;
}

dfs::BlockStore::Space DiskBlocks::space() const {
  Space space;
  space.capacity = std::uint64_t{1} << 40;
  for (const auto& [id, file] : disk_.finished) space.used += file.data.size();
  for (const auto& [id, trashed] : disk_.trash) space.trashed += trashed.file.data.size();
  space.used += space.trashed;
  space.free = space.capacity - space.used;
  space.blocks = known_.size();
  return space;
}

}  // namespace millrace::simulated
