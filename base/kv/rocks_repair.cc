// Recovers the last good state of a damaged database: it cuts the log at the damage, or, if that is not enough, uses
// whatever tables and logs can be read.
#include <stdio.h>

#include <cerrno>
#include <filesystem>

#include "base/kv/committed_mark.h"
#include "base/kv/rocks_files.h"

namespace millrace {
namespace {

Status Copy(const std::string& from, const std::string& to) {
  MILLRACE_TRY(RemoveTree(to));
  std::error_code error;
  std::filesystem::copy(from, to, std::filesystem::copy_options::recursive, error);
  if (error) return FromErrno(error.value(), "copy " + from + " to " + to);
  return Status::Ok();
}

// Copies the database `from` to `copy`, repairs the copy and opens it. *method then says how, for people.
Result<std::unique_ptr<rocksdb::DB>> Salvage(const std::string& from, const std::string& copy, std::string* method) {
  rocksdb::Options options = rocks::MakeOptions();
  options.create_if_missing = false;
  options.track_and_verify_wals_in_manifest = false;
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  MILLRACE_TRY(Copy(from, copy));
  Result<std::unique_ptr<rocksdb::DB>> db = rocks::OpenDatabase(options, copy);
  *method = "all operations in order, up to the first that is lost or damaged";
  if (db.ok()) return db;
  MILLRACE_TRY(Copy(from, copy));
  const std::string what = "repair database " + copy;
  MILLRACE_TRY(rocks::FromRocks(rocksdb::RepairDB(copy, options), what));
  *method = "whatever tables and logs can be read; operations in between may be missing";
  return rocks::OpenDatabase(options, copy);
}

}  // namespace

namespace rocks {

Result<std::string> MoveAside(const std::string& directory) {
  for (int n = 1;; ++n) {
    const std::string aside = directory + ".damaged-" + std::to_string(n);
    if (std::filesystem::exists(aside)) continue;
    if (::rename(directory.c_str(), aside.c_str()) != 0) return FromErrno(errno, "rename " + directory);
    return aside;
  }
}

}  // namespace rocks

Result<RepairFacts> RepairRocksStore(const std::string& directory, bool apply,
                                     const std::function<Status(const KeyValueStore&)>& look) {
  if (!std::filesystem::is_directory(directory))
    return NotFound("repair database " + directory + ": it does not exist");
  MILLRACE_ASSIGN(const Fd lock, rocks::LockDirectory(directory));
  RepairFacts facts;
  if (const auto mark = CommittedMark::Open(rocks::MarkPath(directory)); mark.ok()) facts.acknowledged = mark->number();
  facts.problem = rocks::CheckEnd(directory).message();
  const std::string copy = directory + ".repairing";
  Result<std::unique_ptr<rocksdb::DB>> db = Salvage(directory, copy, &facts.method);
  if (!db.ok()) {
    (void)RemoveTree(copy);
    return db.status();
  }
  facts.operations = (*db)->GetLatestSequenceNumber();
  const Status seen = look(*rocks::WrapDatabase(copy, std::move(*db)));
  if (!apply || facts.problem.empty() || !seen.ok()) {
    MILLRACE_TRY(RemoveTree(copy));
    if (!seen.ok()) return seen;
    return facts;
  }
  MILLRACE_TRY(SyncTree(copy));  // what opening it did not write anew is a plain copy
  MILLRACE_TRY(CommittedMark::Make(rocks::MarkPath(directory), facts.operations));
  MILLRACE_ASSIGN(facts.aside, rocks::MoveAside(directory));
  if (::rename(copy.c_str(), directory.c_str()) != 0) return FromErrno(errno, "rename " + copy);
  MILLRACE_TRY(SyncDirectory(rocks::Parent(directory)));
  return facts;
}

}  // namespace millrace
