#include <fcntl.h>
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>
#include <sys/file.h>

#include <cerrno>

#include "base/check.h"
#include "base/file.h"
#include "base/kv/key_value_store.h"

namespace millrace {
namespace {

rocksdb::Slice ToSlice(std::string_view text) { return {text.data(), text.size()}; }
std::string_view ToView(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

// RocksDB quotes whole keys and paths in its messages; line ends in them must not split ours.
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

class RocksStore final : public KeyValueStore {
 public:
  RocksStore(std::string directory, Fd lock, std::unique_ptr<rocksdb::DB> db)
      : directory_(std::move(directory)), lock_(std::move(lock)), db_(std::move(db)) {}

  Status Write(const WriteBatch& batch, Durability durability) override {
    const std::string what = "write to database " + directory_;
    if (batch.empty()) {
      return durability == Durability::kSynced ? FromRocks(db_->SyncWAL(), what) : Status::Ok();
    }
    rocksdb::WriteBatch changes;
    for (const WriteBatch::Change& change : batch.changes()) {
      const rocksdb::Status added = change.value ? changes.Put(change.key, *change.value) : changes.Delete(change.key);
      MILLRACE_TRY(FromRocks(added, what));
    }
    rocksdb::WriteOptions options;
    options.sync = durability == Durability::kSynced;
    return FromRocks(db_->Write(options, &changes), what);
  }

  Result<std::optional<std::string>> Get(std::string_view key) const override {
    std::string value;
    const rocksdb::Status status = db_->Get(rocksdb::ReadOptions(), ToSlice(key), &value);
    if (status.IsNotFound()) return std::optional<std::string>();
    MILLRACE_TRY(FromRocks(status, "read from database " + directory_));
    return std::optional(std::move(value));
  }

  Status Scan(std::string_view prefix, std::string_view from,
              const std::function<bool(std::string_view, std::string_view)>& visit) const override {
    MILLRACE_CHECK(from.empty() || from.starts_with(prefix), "Scan from outside of the prefix");
    const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(rocksdb::ReadOptions()));
    for (it->Seek(ToSlice(from.empty() ? prefix : from)); it->Valid(); it->Next()) {
      const std::string_view key = ToView(it->key());
      if (!key.starts_with(prefix) || !visit(key, ToView(it->value()))) break;
    }
    return FromRocks(it->status(), "read from database " + directory_);
  }

 private:
  std::string directory_;
  Fd lock_;  // released after the database is closed
  std::unique_ptr<rocksdb::DB> db_;
};

// A lock of our own beside that of RocksDB, whose refusal is told from other I/O errors by its text only.
Result<Fd> LockDirectory(const std::string& directory) {
  const std::string path = directory + "/OWNER";
  MILLRACE_ASSIGN(Fd fd, OpenFile(path, O_RDWR | O_CREAT));
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  if (errno != EWOULDBLOCK) return FromErrno(errno, "lock " + path);
  return Busy("open database " + directory + ": another process has it open; stop that one or give another directory");
}

// For metadata of some hundred megabytes beside a process that keeps its own copy in memory.
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
  // A torn end of the log was never acknowledged; damage before it must not pass for an older, shorter history.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
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

}  // namespace

Result<std::unique_ptr<KeyValueStore>> OpenRocksStore(const std::string& directory) {
  const std::string what = "open database " + directory;
  MILLRACE_TRY(MakeDirectories(directory).Within(what));
  MILLRACE_ASSIGN(Fd lock, LockDirectory(directory));
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status = rocksdb::DB::Open(MakeOptions(), directory, &db);
  if (status.IsPathNotFound()) return Corrupt(what + ": a file of it is missing: " + OneLine(status.ToString()));
  MILLRACE_TRY(FromRocks(status, what));
  return std::unique_ptr<KeyValueStore>(
      std::make_unique<RocksStore>(directory, std::move(lock), std::unique_ptr<rocksdb::DB>(db)));
}

}  // namespace millrace
