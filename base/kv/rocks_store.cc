// SPDX-License-Identifier: Apache-2.0
#include "base/kv/rocks_store.h"

#include <fcntl.h>
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/write_batch.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>

#include "base/bytes.h"
#include "base/check.h"
#include "base/crc32c.h"
#include "base/kv/committed_mark.h"
#include "base/kv/rocks_files.h"
#include "base/units.h"

namespace millrace {

using rocks::FromRocks;

namespace {

// The data() of empty text may be null, and memcmp must not be called with null.
rocksdb::Slice ToSlice(std::string_view text) {
  return text.empty() ? rocksdb::Slice() : rocksdb::Slice(text.data(), text.size());
}
std::string_view ToView(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

Status NoRoom(const std::string& directory, std::uint64_t available, std::uint64_t needed) {
  return NoSpace("open database " + directory + " for writing: its disk has " + FormatBytes(available) + " free and " +
                 FormatBytes(needed) + " are needed; make room there, nothing is lost");
}

class StoreOnDisk final : public RocksStore {
 public:
  StoreOnDisk(std::string directory, Fd lock, std::optional<CommittedMark> mark, std::unique_ptr<rocksdb::DB> db)
      : directory_(std::move(directory)), lock_(std::move(lock)), mark_(std::move(mark)), db_(std::move(db)) {}
  ~StoreOnDisk() override {
    if (mark_) (void)mark_->Sync();  // a mark that is too low weakens the next check, and breaks nothing
  }

  // Says that the database was opened for reading only. The first write that finds `needed` bytes free opens it for
  // writing.
  void AwaitRoom(std::uint64_t needed) { room_needed_ = needed; }
  std::uint64_t room_needed() const override { return room_needed_; }

  // Takes over the spare log, or the number of bytes of the one that is to be made. What is in it goes into the
  // database at once
  // if that is open for writing.
  Status TakeSpare(std::optional<SpareLog> spare, std::uint64_t bytes, RoomProbe free) {
    spare_ = std::move(spare);
    spare_bytes_ = bytes;
    free_ = std::move(free);
    if (spare_) {
      for (const WriteBatch& batch : spare_->batches()) LayOver(batch);
    }
    if (room_needed_ == 0) MILLRACE_TRY(TakeIn());
    MakeSpare();
    return Status::Ok();
  }
  void UseSpare(bool use) override { use_spare_ = use; }
  std::uint64_t spare_left() const override { return spare_left_; }

  // Writes one batch at a time, so that the last operation after a sync is one that was synced. The commit log has only
  // one writer anyway.
  Status Write(const WriteBatch& batch, Durability durability) override {
    const std::lock_guard lock(write_mutex_);
    if (use_spare_ && spare_ && SpareLog::BytesOf(batch) <= spare_->left()) return WriteToSpare(batch, durability);
    if (room_needed_ > 0) MILLRACE_TRY(OpenForWriting());
    MILLRACE_TRY(TakeIn());
    if (!use_spare_) MakeSpare();
    MILLRACE_TRY(WriteDown(batch, durability));
    if (durability != Durability::kSynced || !mark_) return Status::Ok();
    return mark_->Raise(db_->GetLatestSequenceNumber());
  }

  Result<BackupFacts> BackUp(const std::string& directory, const BackupPlan& plan) override {
    const std::shared_lock lock(db_mutex_), over_lock(over_mutex_);
    if (room_needed_ == 0 && laid_over_.empty()) return rocks::BackUp(*db_, directory, plan);
    return NoSpace("back up database " + directory_ + ": its disk is full, and it is open for reading only; make room");
  }

  std::uint64_t last_operation() const override {
    const std::shared_lock lock(db_mutex_);
    const std::uint64_t end = db_->GetLatestSequenceNumber();
    return spare_ && !spare_->empty() ? std::max(end, spare_->after() + spare_->operations()) : end;
  }

  Status CopyTo(const std::string& directory) override {
    const std::shared_lock lock(db_mutex_), over_lock(over_mutex_);
    const std::string what = "copy database " + directory_ + " to " + directory;
    if (room_needed_ > 0 || !laid_over_.empty()) return NoSpace(what + ": its disk is full; make room");
    rocksdb::Checkpoint* made = nullptr;
    MILLRACE_TRY(FromRocks(rocksdb::Checkpoint::Create(db_.get(), &made), what));
    const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
    return FromRocks(checkpoint->CreateCheckpoint(directory), what);
  }

  Result<std::optional<std::string>> Get(std::string_view key) const override {
    const std::shared_lock lock(db_mutex_);
    const std::shared_lock over_lock(over_mutex_);
    if (const auto over = laid_over_.find(key); over != laid_over_.end()) return over->second;
    std::string value;
    const rocksdb::Status status = db_->Get(rocksdb::ReadOptions(), ToSlice(key), &value);
    if (status.IsNotFound()) return std::optional<std::string>();
    MILLRACE_TRY(FromRocks(status, "read from database " + directory_));
    return std::optional(std::move(value));
  }

  Status Scan(std::string_view prefix, std::string_view from,
              const std::function<bool(std::string_view, std::string_view)>& visit) const override {
    MILLRACE_CHECK(from.empty() || from.starts_with(prefix), "Scan from outside of the prefix");
    const std::shared_lock lock(db_mutex_);
    LaidOver over;
    const std::unique_ptr<rocksdb::Iterator> it = Iterate(prefix, from, &over);
    auto above = over.begin();
    for (it->Seek(ToSlice(from.empty() ? prefix : from));;) {
      const bool is_below = it->Valid() && it->key().starts_with(ToSlice(prefix));
      if (!is_below && above == over.end()) break;
      if (is_below && (above == over.end() || ToView(it->key()) < above->first)) {
        if (!visit(ToView(it->key()), ToView(it->value()))) break;
        it->Next();
        continue;
      }
      if (is_below && ToView(it->key()) == above->first) it->Next();
      if (above->second && !visit(above->first, *above->second)) break;
      ++above;
    }
    return FromRocks(it->status(), "read from database " + directory_);
  }

 private:
  // Opening for writing replays the same logs that were read before, since nobody else writes here. So readers see no
  // difference.
  Status OpenForWriting() {
    MILLRACE_ASSIGN(const std::uint64_t available, free_(directory_));
    if (available < room_needed_) return NoRoom(directory_, available, room_needed_);
    MILLRACE_ASSIGN(std::unique_ptr<rocksdb::DB> db, rocks::OpenDatabase(rocks::MakeOptions(), directory_));
    const std::unique_lock lock(db_mutex_);
    db_.swap(db);
    room_needed_ = 0;
    return Status::Ok();
  }

  using LaidOver = std::map<std::string, std::optional<std::string>, std::less<>>;

  // Returns what the database has now, and in *over what lies over that, from `from` on.
  std::unique_ptr<rocksdb::Iterator> Iterate(std::string_view prefix, std::string_view from, LaidOver* over) const {
    const std::shared_lock lock(over_mutex_);
    for (auto it = laid_over_.lower_bound(from.empty() ? prefix : from);
         it != laid_over_.end() && std::string_view(it->first).starts_with(prefix); ++it) {
      over->insert(over->end(), *it);
    }
    return std::unique_ptr<rocksdb::Iterator>(db_->NewIterator(rocksdb::ReadOptions()));
  }

  // The spare log continues what is on disk: all that is in the database is synced before the first batch. One that is
  // open to be read was synced when it was opened.
  Status WriteToSpare(const WriteBatch& batch, Durability durability) {
    if (spare_->empty() && room_needed_ == 0) MILLRACE_TRY(WriteDown({}, Durability::kSynced));
    if (!batch.empty()) {
      MILLRACE_TRY(spare_->Append(batch, db_->GetLatestSequenceNumber()));
      LayOver(batch);
    }
    if (durability != Durability::kSynced || !mark_) return Status::Ok();
    return mark_->Raise(spare_->empty() ? db_->GetLatestSequenceNumber() : spare_->after() + spare_->operations());
  }

  void LayOver(const WriteBatch& batch) {
    const std::unique_lock lock(over_mutex_);
    for (const WriteBatch::Change& change : batch.changes()) laid_over_.insert_or_assign(change.key, change.value);
    spare_left_ = spare_->left();
  }

  // Puts what is in the spare log into the database. If that is broken off, it is done again at the next start, with
  // the same outcome, as nothing is written in between.
  Status TakeIn() {
    if (!spare_ || spare_->empty()) return Status::Ok();
    WriteBatch all;
    for (WriteBatch batch : spare_->batches()) all.Append(std::move(batch));
    const std::unique_lock lock(over_mutex_);
    MILLRACE_TRY(WriteDown(all, Durability::kSynced));
    MILLRACE_TRY(spare_->Clear());
    laid_over_.clear();
    spare_left_ = spare_->left();
    return Status::Ok();
  }

  // A spare log that cannot be made counts as missing, as spare_left() shows.
  void MakeSpare() {
    if (spare_ || spare_bytes_ == 0) return;
    const std::string path = rocks::SparePath(directory_);
    const Result<std::uint64_t> available = free_(directory_), needed = rocks::RoomToOpen(directory_);
    constexpr std::uint64_t kPlenty = 4;
    if (!available.ok() || !needed.ok() || *available < *needed + kPlenty * spare_bytes_) return;
    if (!SpareLog::Make(path, spare_bytes_).ok()) return;
    if (Result<SpareLog> made = SpareLog::Open(path); made.ok()) spare_ = *std::move(made);
    if (spare_) spare_left_ = spare_->left();
  }

  Status WriteDown(const WriteBatch& batch, Durability durability) {
    const std::string what = "write to database " + directory_;
    if (batch.empty()) {
      return durability == Durability::kSynced ? FromRocks(db_->SyncWAL(), what) : Status::Ok();
    }
    return rocks::WriteTo(*db_, batch, durability == Durability::kSynced, what);
  }

  std::string directory_;
  Fd lock_;  // declared before db_, so that it is released after the database is closed
  std::mutex write_mutex_;
  std::optional<CommittedMark> mark_;
  RoomProbe free_;
  std::optional<SpareLog> spare_;
  std::uint64_t spare_bytes_ = 0;  // of the one that is to be made
  std::atomic<bool> use_spare_ = false;
  std::atomic<std::uint64_t> spare_left_ = 0;
  std::atomic<std::uint64_t> room_needed_ = 0;
  mutable std::shared_mutex over_mutex_;  // guards laid_over_, and that the database has none or all of it
  LaidOver laid_over_;                    // what the spare log has
  mutable std::shared_mutex db_mutex_;    // shared by readers; exclusive while db_ is exchanged
  std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace

namespace rocks {

// RocksDB quotes whole keys and paths in its messages. Line ends in them must not split our message.
std::string OneLine(std::string text) {
  for (char& c : text) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return text;
}

Status FromRocks(const rocksdb::Status& status, const std::string& what) {
  if (status.ok()) return Status::Ok();
  std::string message = what + ": " + OneLine(status.ToString());
  if (status.IsNoSpace()) return NoSpace(std::move(message));
  if (status.IsCorruption()) return Corrupt(std::move(message));
  if (status.IsBusy() || status.IsTryAgain()) return Busy(std::move(message));
  if (status.IsIOError()) return Status(StatusCode::kIo, std::move(message));
  return Internal(std::move(message));
}

Status WriteTo(rocksdb::DB& db, const WriteBatch& batch, bool synced, const std::string& what) {
  rocksdb::WriteBatch changes;
  for (const WriteBatch::Change& change : batch.changes()) {
    const rocksdb::Status added = change.value ? changes.Put(change.key, *change.value) : changes.Delete(change.key);
    MILLRACE_TRY(FromRocks(added, what));
  }
  rocksdb::WriteOptions options;
  options.sync = synced;
  return FromRocks(db.Write(options, &changes), what);
}

Result<Fd> LockDirectory(const std::string& directory) {
  const std::string path = directory + "/OWNER";
  MILLRACE_ASSIGN(Fd fd, OpenFile(path, O_RDWR | O_CREAT));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  if (errno != EWOULDBLOCK) return FromErrno(errno, "lock " + path);
  return Busy("open database " + directory + ": another process has it open; stop that one or give another directory");
}

// These options suit a few hundred megabytes of metadata beside a process that keeps its own copy in memory.
rocksdb::Options MakeOptions() {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = std::size_t{16} << 20;
  options.max_write_buffer_number = 2;
  options.max_total_wal_size = std::uint64_t{64} << 20;
  options.max_open_files = 256;
  options.max_background_jobs = 2;
  options.compression = rocksdb::kLZ4Compression;
  options.level_compaction_dynamic_level_bytes = true;
  // The log is taken to end at its first damage, because after a loss of power any of the sectors that were never
  // synced may be missing. CheckEnd compares this end with the mark, and so with what was acknowledged.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  // The manifest knows the length of every log that was closed; the mark beside the database covers the last one.
  options.track_and_verify_wals_in_manifest = true;
  options.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  options.max_log_file_size = std::size_t{1} << 20;
  options.keep_log_file_num = 3;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(std::size_t{16} << 20);
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

namespace {

Status FromOpening(const rocksdb::Status& status, const std::string& what) {
  if (status.IsPathNotFound()) return Corrupt(what + ": a file of it is missing: " + OneLine(status.ToString()));
  return FromRocks(status, what);
}

}  // namespace

std::string Parent(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
}

namespace {

Result<bool> IsThere(const std::string& path) {
  if (::access(path.c_str(), F_OK) == 0) return true;
  if (errno == ENOENT || errno == ENOTDIR) return false;
  return FromErrno(errno, "look for " + path);
}

}  // namespace

Result<bool> HoldsDatabase(const std::string& directory) { return IsThere(directory + "/CURRENT"); }

Result<std::unique_ptr<rocksdb::DB>> OpenDatabase(const rocksdb::Options& options, const std::string& directory) {
  const std::string what = "open database " + directory;
  rocksdb::DB* db = nullptr;
  MILLRACE_TRY(FromOpening(rocksdb::DB::Open(options, directory, &db), what));
  return std::unique_ptr<rocksdb::DB>(db);
}

Result<std::unique_ptr<rocksdb::DB>> OpenDatabaseToRead(const std::string& directory) {
  rocksdb::DB* db = nullptr;
  MILLRACE_TRY(FromOpening(rocksdb::DB::OpenForReadOnly(MakeOptions(), directory, &db), "open database " + directory));
  return std::unique_ptr<rocksdb::DB>(db);
}

Result<std::uint64_t> RoomToOpen(const std::string& directory) {
  constexpr std::uint64_t kLeast = std::uint64_t{16} << 20;
  std::uint64_t needed = kLeast;
  MILLRACE_ASSIGN(const std::vector<std::string> names, ListDirectory(directory));
  for (const std::string& name : names) {
    struct stat info = {};
    if (name.ends_with(".log") && ::stat((directory + "/" + name).c_str(), &info) == 0) {
      needed += static_cast<std::uint64_t>(info.st_size);
    }
  }
  return needed;
}

Result<std::optional<SpareLog>> OpenSpare(const std::string& directory, std::uint64_t end) {
  Result<SpareLog> spare = SpareLog::Open(SparePath(directory));
  if (spare.status().code() == StatusCode::kNotFound) return std::optional<SpareLog>();
  if (!spare.ok()) return spare.status();
  if (!spare->empty() && spare->after() > end) {
    return Corrupt(SparePath(directory) + " continues the database from operation " + std::to_string(spare->after()) +
                   " on, and the database ends at " + std::to_string(end) + ": one of them is an older copy");
  }
  return std::optional<SpareLog>(*std::move(spare));
}

// Opens the database for reading only, so that missing files can still be put back: opening it for writing would make
// its present end final.
Status CheckEnd(const std::string& directory) {
  const std::string what = "open database " + directory;
  const Result<CommittedMark> mark = CommittedMark::Open(MarkPath(directory));
  MILLRACE_ASSIGN(const bool here, HoldsDatabase(directory));
  if (!mark.ok() && mark.status().code() != StatusCode::kNotFound) return mark.status();
  if (!mark.ok()) {
    return Corrupt(what + ": " + MarkPath(directory) +
                   ", which says up to which operation it was acknowledged, is missing; put that file back");
  }
  if (mark->number() == 0) return Status::Ok();
  std::uint64_t end = 0;
  if (here) {
    MILLRACE_ASSIGN(const std::unique_ptr<rocksdb::DB> db, OpenDatabaseToRead(directory));
    end = db->GetLatestSequenceNumber();
    MILLRACE_ASSIGN(const std::optional<SpareLog> spare, OpenSpare(directory, end));
    if (spare && !spare->empty()) end = std::max(end, spare->after() + spare->operations());
  }
  if (end >= mark->number()) return Status::Ok();
  return Corrupt(what + ": the database ends at operation " + std::to_string(end) + " but " +
                 std::to_string(mark->number()) +
                 " was acknowledged: files of it were lost or cut, or it is an older copy; put the right files back");
}

Result<Digest> DigestOf(const KeyValueStore& store) {
  Digest digest;
  MILLRACE_TRY(store.Scan({}, {}, [&](std::string_view key, std::string_view value) {
    Encoder pair;
    pair.Text(key);
    pair.Text(value);
    digest.crc = Crc32c(pair.bytes(), digest.crc);
    return ++digest.pairs, true;
  }));
  return digest;
}

std::unique_ptr<KeyValueStore> WrapDatabase(std::string directory, std::unique_ptr<rocksdb::DB> db) {
  return std::make_unique<StoreOnDisk>(std::move(directory), Fd(), std::nullopt, std::move(db));
}

namespace {

Result<std::unique_ptr<RocksStore>> OpenStore(const std::string& directory, RoomProbe free, std::uint64_t spare_bytes,
                                              bool raises_mark) {
  MILLRACE_TRY(MakeDirectories(directory).Within("open database " + directory));
  MILLRACE_ASSIGN(Fd lock, LockDirectory(directory));
  const std::string mark_path = MarkPath(directory);
  MILLRACE_ASSIGN(const bool held, HoldsDatabase(directory));
  MILLRACE_ASSIGN(const bool marked, IsThere(mark_path));
  if (!held && !marked) MILLRACE_TRY(CommittedMark::Make(mark_path, 0));
  // The mark that is there may be of a try whose sync was refused: what can be seen is not all on the disk then.
  MILLRACE_TRY(SyncDirectory(Parent(directory)).Within("open database " + directory));
  MILLRACE_TRY(CheckEnd(directory));
  MILLRACE_ASSIGN(CommittedMark mark, CommittedMark::Open(mark_path));
  MILLRACE_ASSIGN(const std::uint64_t needed, RoomToOpen(directory));
  MILLRACE_ASSIGN(const std::uint64_t available, free(directory));
  std::unique_ptr<rocksdb::DB> db;
  if (available >= needed) {
    MILLRACE_ASSIGN(db, OpenDatabase(MakeOptions(), directory));
  } else if (held) {
    MILLRACE_TRY(SyncTree(directory));  // for the spare log, which goes on from here
    MILLRACE_ASSIGN(db, OpenDatabaseToRead(directory));
  } else {
    return NoRoom(directory, available, needed);
  }
  MILLRACE_ASSIGN(std::optional<SpareLog> spare, OpenSpare(directory, db->GetLatestSequenceNumber()));
  auto store = std::make_unique<StoreOnDisk>(
      directory, std::move(lock), raises_mark ? std::optional(std::move(mark)) : std::nullopt, std::move(db));
  if (available < needed) store->AwaitRoom(needed);
  MILLRACE_TRY(store->TakeSpare(std::move(spare), spare_bytes, std::move(free)));
  return std::unique_ptr<RocksStore>(std::move(store));
}

}  // namespace

Result<std::unique_ptr<RocksStore>> OpenUnmarked(const std::string& directory, const RoomProbe& free) {
  return OpenStore(directory, free, 0, false);
}

}  // namespace rocks

Result<std::unique_ptr<RocksStore>> OpenRocksStore(const std::string& directory, RoomProbe free,
                                                   std::uint64_t spare_bytes) {
  return rocks::OpenStore(directory, std::move(free), spare_bytes, true);
}

Result<std::optional<std::string>> ReadFromRocksStore(const std::string& directory, std::string_view key) {
  MILLRACE_ASSIGN(const bool held, rocks::HoldsDatabase(directory));
  if (!held) return std::optional<std::string>();
  const auto db = rocks::OpenDatabaseToRead(directory);
  std::string value;
  if (!db.ok() || !(*db)->Get(rocksdb::ReadOptions(), ToSlice(key), &value).ok()) return std::optional<std::string>();
  return std::optional(std::move(value));
}

}  // namespace millrace
