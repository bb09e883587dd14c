// SPDX-License-Identifier: Apache-2.0
// Makes and restores backups with RocksDB's backup engine, which shares files between the backups of one directory and
// keeps their checksums.
#include <rocksdb/utilities/backup_engine.h>
#include <stdio.h>

#include <cerrno>
#include <filesystem>

#include "base/kv/committed_mark.h"
#include "base/kv/rocks_files.h"

namespace millrace {
namespace {

Status RestoreFiles(const std::string& backup, const std::string& directory) {
  const std::string what = "restore from " + backup;
  rocksdb::BackupEngineReadOnly* opened = nullptr;
  const rocksdb::BackupEngineOptions options(backup);
  MILLRACE_TRY(rocks::FromRocks(rocksdb::BackupEngineReadOnly::Open(options, rocksdb::Env::Default(), &opened), what));
  const std::unique_ptr<rocksdb::BackupEngineReadOnly> engine(opened);
  const rocksdb::Status status = engine->RestoreDBFromLatestBackup(directory, directory);
  if (status.IsNotFound()) return NotFound(what + ": there is no whole backup in it");
  return rocks::FromRocks(status, what);
}

}  // namespace

namespace rocks {

// The database is flushed first, so that a backup consists of files that never change and needs no log.
Result<BackupFacts> BackUp(rocksdb::DB& db, const std::string& directory) {
  const std::string what = "back up the database to " + directory;
  MILLRACE_TRY(MakeDirectories(directory).Within(what));
  rocksdb::BackupEngine* opened = nullptr;
  const rocksdb::BackupEngineOptions options(directory);
  MILLRACE_TRY(FromRocks(rocksdb::BackupEngine::Open(options, rocksdb::Env::Default(), &opened), what));
  const std::unique_ptr<rocksdb::BackupEngine> engine(opened);
  BackupFacts facts;
  facts.operations = db.GetLatestSequenceNumber();
  rocksdb::CreateBackupOptions how;
  how.flush_before_backup = true;
  MILLRACE_TRY(FromRocks(engine->CreateNewBackup(how, &db), what));
  rocksdb::BackupInfo info;
  MILLRACE_TRY(FromRocks(engine->GetLatestBackupInfo(&info), what));
  facts.bytes = info.size;
  MILLRACE_TRY(SyncDirectory(Parent(directory)).Within(what));
  return facts;
}

}  // namespace rocks

Result<std::uint64_t> RestoreRocksStore(const std::string& backup, const std::string& directory,
                                        const WriteBatch& note) {
  MILLRACE_ASSIGN(const bool held, rocks::HoldsDatabase(directory));
  if (held) {
    return Exists("restore to " + directory + ": there is a database already; move it aside first");
  }
  const std::string aside = directory + ".restoring";
  MILLRACE_TRY(RemoveTree(aside));
  MILLRACE_TRY(MakeDirectories(aside));
  MILLRACE_TRY(RestoreFiles(backup, aside));
  std::uint64_t end = 0, noted = 0;
  {
    MILLRACE_ASSIGN(const std::unique_ptr<rocksdb::DB> db, rocks::OpenDatabase(rocks::MakeOptions(), aside));
    end = db->GetLatestSequenceNumber();
    if (!note.empty()) MILLRACE_TRY(rocks::WriteTo(*db, note, true, "restore to " + directory));
    noted = db->GetLatestSequenceNumber();
  }
  // The mark is made first: if the restoration is broken off here, it says that the database is missing.
  MILLRACE_TRY(CommittedMark::Make(rocks::MarkPath(directory), noted));
  // The directory may hold files of a damaged database. They may be the only data that is newer than the backup, and a
  // repair could still read them, so they are moved aside.
  if (std::filesystem::exists(directory)) MILLRACE_TRY(rocks::MoveAside(directory).status());
  if (std::filesystem::exists(rocks::SparePath(directory)))
    MILLRACE_TRY(rocks::MoveAside(rocks::SparePath(directory)).status());
  if (::rename(aside.c_str(), directory.c_str()) != 0) return FromErrno(errno, "rename " + aside);
  MILLRACE_TRY(SyncDirectory(rocks::Parent(directory)));
  return end;
}

}  // namespace millrace
