// SPDX-License-Identifier: Apache-2.0
// Makes, checks and restores backups with RocksDB's backup engine, which shares files between the backups of one
// directory and keeps their checksums.
//
// The engine's own list of a backup's files (`meta/<number>`) has no checksum. Hence the seal, `seal/<number>`, which
// is written when all else is on disk: it has that checksum, and names the cluster. A backup without a seal was cut
// short at its very end, or made by an earlier version; it can be restored, but VerifyBackup cannot vouch for it.
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/utilities/backup_engine.h>
#include <stdio.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>

#include "base/archive.h"
#include "base/crc32c.h"
#include "base/kv/committed_mark.h"
#include "base/kv/rocks_files.h"
#include "base/text.h"

namespace millrace {
namespace {

using rocks::FromRocks;
using rocksdb::BackupID;
using Engine = rocksdb::BackupEngineReadOnly;

struct Seal {
  std::string owner;
  Micros made = 0;
  std::uint64_t operations = 0;
  std::uint32_t meta = 0;  // crc32c of the engine's list of files
};

constexpr auto kSeal = [](auto& archive, auto& seal) {
  archive.Version(1, 1, [](int) { return Corrupt("its version is not understood"); });
  archive.Text(seal.owner);
  archive.Varint(seal.made);
  archive.Varint(seal.operations);
  archive.U32(seal.meta);
};

struct SealedBytes {
  std::string seal;
  std::uint32_t crc = 0;  // of `seal`
};

constexpr auto kSealedBytes = [](auto& archive, auto& sealed) {
  archive.Text(sealed.seal);
  archive.U32(sealed.crc);
};

std::string SealsIn(const std::string& directory) { return directory + "/seal"; }
std::string SealPath(const std::string& directory, BackupID id) {
  return SealsIn(directory) + "/" + std::to_string(id);
}
std::string MetaPath(const std::string& directory, BackupID id) { return directory + "/meta/" + std::to_string(id); }

Status WriteSeal(const std::string& directory, BackupID id, Seal seal) {
  MILLRACE_ASSIGN(const std::string meta, ReadWholeFile(MetaPath(directory, id)));
  seal.meta = Crc32c(meta);
  const std::string bytes = WriteFields(seal, kSeal);
  MILLRACE_TRY(MakeDirectories(SealsIn(directory)));
  MILLRACE_TRY(SyncDirectory(directory));
  return WriteFileDurably(SealPath(directory, id), WriteFields(SealedBytes{bytes, Crc32c(bytes)}, kSealedBytes));
}

// Returns nothing if there is no seal, and kCorrupt if the seal or the list of files is damaged.
Result<std::optional<Seal>> ReadSeal(const std::string& directory, BackupID id) {
  const std::string path = SealPath(directory, id);
  const Result<std::string> bytes = ReadWholeFile(path);
  if (bytes.status().code() == StatusCode::kNotFound) return std::optional<Seal>();
  if (!bytes.ok()) return bytes.status();
  MILLRACE_ASSIGN(const SealedBytes sealed, ReadFields<SealedBytes>(*bytes, path, kSealedBytes));
  if (Crc32c(sealed.seal) != sealed.crc) return Corrupt(path + ": it is damaged: its checksum is wrong");
  MILLRACE_ASSIGN(const Seal seal, ReadFields<Seal>(sealed.seal, path, kSeal));
  MILLRACE_ASSIGN(const std::string meta, ReadWholeFile(MetaPath(directory, id)));
  if (Crc32c(meta) != seal.meta) return Corrupt(MetaPath(directory, id) + ": it is damaged: its checksum is wrong");
  return std::optional(seal);
}

// Returns the numbers of the files with a number as name, in order; none if there is no such directory.
Result<std::vector<BackupID>> NumbersIn(const std::string& directory) {
  const Result<std::vector<std::string>> names = ListDirectory(directory);
  if (names.status().code() == StatusCode::kNotFound) return std::vector<BackupID>();
  if (!names.ok()) return names.status();
  std::vector<BackupID> numbers;
  for (const std::string& name : *names) {
    BackupID id = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
    if (error == std::errc() && end == name.data() + name.size() && id > 0) numbers.push_back(id);
  }
  std::ranges::sort(numbers);
  return numbers;
}

using DamagedBackups = std::map<BackupID, std::string>;  // with a line for each

// Returns the sealed backups whose seal or list of files is not as it was written.
Result<DamagedBackups> FindBrokenSeals(const std::string& backup) {
  DamagedBackups broken;
  MILLRACE_ASSIGN(const std::vector<BackupID> seals, NumbersIn(SealsIn(backup)));
  for (const BackupID id : seals) {
    const Status seal = ReadSeal(backup, id).status();
    if (seal.ok()) continue;
    if (seal.code() != StatusCode::kCorrupt && seal.code() != StatusCode::kNotFound) return seal;
    broken[id] = "backup " + std::to_string(id) + ": " + seal.message();
  }
  return broken;
}

// Hides some lists of files from the engine, which may abort the process over one that is damaged.
class WithoutBroken : public rocksdb::FileSystemWrapper {
 public:
  explicit WithoutBroken(DamagedBackups broken)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), broken_(std::move(broken)) {}
  [[nodiscard]] const char* Name() const override { return "without broken lists"; }
  rocksdb::IOStatus GetChildren(const std::string& directory, const rocksdb::IOOptions& options,
                                std::vector<std::string>* names, rocksdb::IODebugContext* debug) override {
    rocksdb::IOStatus status = FileSystemWrapper::GetChildren(directory, options, names, debug);
    const bool lists = directory.ends_with("/meta") || directory.ends_with("/meta/");
    for (const auto& [id, why] : broken_) {
      if (lists) std::erase(*names, std::to_string(id));
    }
    return status;
  }

 private:
  const DamagedBackups broken_;
};

struct OpenedEngine {
  std::unique_ptr<rocksdb::Env> env;
  std::unique_ptr<Engine> engine;
};

Result<OpenedEngine> OpenEngine(const std::string& backup, const DamagedBackups& broken, const std::string& what) {
  OpenedEngine opened;
  opened.env = rocksdb::NewCompositeEnv(std::make_shared<WithoutBroken>(broken));
  rocksdb::BackupEngineOptions options(backup);
  options.backup_env = opened.env.get();
  Engine* engine = nullptr;
  MILLRACE_TRY(FromRocks(Engine::Open(options, rocksdb::Env::Default(), &engine), what));
  opened.engine.reset(engine);
  return opened;
}

// A backup that can be read, and what is wrong with later ones.
struct Choice {
  BackupID id = 0;
  std::optional<Seal> seal;
  BackupFacts facts;
};

// Returns `broken`, and a line for each other backup that has a seal or a list of files but is not known to the engine;
// `known` gets the rest.
Result<DamagedBackups> FindDamaged(const Engine& engine, const std::string& backup, const DamagedBackups& broken,
                                   std::map<BackupID, Choice>* known) {
  std::vector<rocksdb::BackupInfo> infos;
  engine.GetBackupInfo(&infos);
  for (const rocksdb::BackupInfo& info : infos) {
    Choice& choice = (*known)[info.backup_id];
    choice.id = info.backup_id;
    choice.facts.bytes = info.size;
    choice.facts.made = info.timestamp * kSecond;
  }
  DamagedBackups damaged = broken;
  for (const char* kind : {"/meta", "/seal"}) {
    MILLRACE_ASSIGN(const std::vector<BackupID> numbers, NumbersIn(backup + kind));
    for (const BackupID id : numbers) {
      if (!known->contains(id) && !damaged.contains(id)) {
        damaged[id] = "backup " + std::to_string(id) + ": its list of files " + MetaPath(backup, id) +
                      " is missing or not understood, or a file that it names is missing";
      }
    }
  }
  for (auto& [id, choice] : *known) {
    MILLRACE_ASSIGN(choice.seal, ReadSeal(backup, id));
    if (!choice.seal) continue;
    choice.facts.owner = choice.seal->owner;
    choice.facts.operations = choice.seal->operations;
  }
  return damaged;
}

Status NoBackup(const std::string& what) { return NotFound(what + ": there is no whole backup in it"); }

// Restores the latest backup whose files are all whole.
Result<BackupFacts> RestoreFiles(const std::string& backup, const std::string& directory) {
  const std::string what = "restore from " + backup;
  MILLRACE_ASSIGN(const DamagedBackups broken, FindBrokenSeals(backup));
  MILLRACE_ASSIGN(const OpenedEngine opened, OpenEngine(backup, broken, what));
  const Engine* const engine = opened.engine.get();
  std::map<BackupID, Choice> known;
  MILLRACE_ASSIGN(DamagedBackups damaged, FindDamaged(*engine, backup, broken, &known));
  while (!known.empty()) {
    Choice choice = std::prev(known.end())->second;
    const rocksdb::Status status = engine->RestoreDBFromBackup(choice.id, directory, directory);
    if (status.ok()) {
      for (auto it = damaged.upper_bound(choice.id); it != damaged.end(); ++it)
        choice.facts.damaged.push_back(it->second);
      return choice.facts;
    }
    // A full disk or a refused write is no damage of the backup.
    if (!status.IsCorruption() && !status.IsNotFound() && !status.IsPathNotFound()) return FromRocks(status, what);
    damaged[choice.id] = "backup " + std::to_string(choice.id) + ": " + FromRocks(status, what).message();
    known.erase(choice.id);
    MILLRACE_TRY(RemoveTree(directory));
    MILLRACE_TRY(MakeDirectories(directory));
  }
  if (damaged.empty()) return NoBackup(what);
  return Corrupt(what + ": " + std::prev(damaged.end())->second);
}

Status CheckOwners(const std::string& directory, const std::string& owner, const std::string& what) {
  MILLRACE_ASSIGN(const std::vector<BackupID> seals, NumbersIn(SealsIn(directory)));
  for (const BackupID id : seals) {
    const Result<std::optional<Seal>> seal = ReadSeal(directory, id);
    if (seal.ok() && *seal && !(*seal)->owner.empty() && !owner.empty() && (*seal)->owner != owner) {
      return Invalid(what + ": there are backups of cluster " + Quote((*seal)->owner) + " in it, and this is " + owner +
                     "; name another directory");
    }
  }
  return Status::Ok();
}

// Removes the oldest sealed backups of the owner, but for the last `keep`, once the new one is known to be whole.
Status Prune(rocksdb::BackupEngine& engine, const std::string& directory, BackupID newest, const BackupPlan& plan,
             BackupFacts* facts, const std::string& what) {
  if (const rocksdb::Status whole = engine.VerifyBackup(newest, true); !whole.ok()) {
    return Corrupt(what + ": the new backup is damaged, and no older one is removed: " +
                   FromRocks(whole, "backup " + std::to_string(newest)).message() +
                   "; name another directory, and look at this disk");
  }
  std::vector<rocksdb::BackupInfo> infos;
  engine.GetBackupInfo(&infos);
  std::vector<BackupID> own;
  for (const rocksdb::BackupInfo& info : infos) {
    const Result<std::optional<Seal>> seal = ReadSeal(directory, info.backup_id);
    if (seal.ok() && *seal && (*seal)->owner == plan.owner) own.push_back(info.backup_id);
  }
  std::ranges::sort(own);
  MILLRACE_ASSIGN(const std::vector<BackupID> seals, NumbersIn(SealsIn(directory)));
  for (const BackupID id : seals) {  // of removals that were cut short
    if (id < newest && !std::filesystem::exists(MetaPath(directory, id))) {
      MILLRACE_TRY(RemoveTree(SealPath(directory, id)).Within(what));
    }
  }
  for (std::size_t i = 0; i + plan.keep < own.size(); ++i) {
    MILLRACE_TRY(FromRocks(engine.DeleteBackup(own[i]), what + ": remove backup " + std::to_string(own[i])));
    MILLRACE_TRY(RemoveTree(SealPath(directory, own[i])).Within(what));
    ++facts->removed;
  }
  return Status::Ok();
}

}  // namespace

namespace rocks {

// The database is flushed first, so that a backup consists of files that never change and needs no log.
Result<BackupFacts> BackUp(rocksdb::DB& db, const std::string& directory, const BackupPlan& plan) {
  const std::string what = "back up the database to " + directory;
  MILLRACE_TRY(MakeDirectories(directory).Within(what));
  MILLRACE_TRY(CheckOwners(directory, plan.owner, what));
  // The engine could abort the master over a damaged list of files.
  MILLRACE_ASSIGN(const DamagedBackups broken, FindBrokenSeals(directory));
  for (const auto& [number, why] : broken) {
    if (!std::filesystem::exists(MetaPath(directory, number)))
      continue;  // it is gone, as in a removal that was cut short
    return Corrupt(what + ": a backup in it is damaged: " + why +
                   "; name another directory, and keep this one as long as its other backups are needed");
  }
  rocksdb::BackupEngine* opened = nullptr;
  const rocksdb::BackupEngineOptions options(directory);
  MILLRACE_TRY(FromRocks(rocksdb::BackupEngine::Open(options, rocksdb::Env::Default(), &opened), what));
  const std::unique_ptr<rocksdb::BackupEngine> engine(opened);
  BackupFacts facts;
  facts.operations = db.GetLatestSequenceNumber();
  facts.owner = plan.owner;
  rocksdb::CreateBackupOptions how;
  how.flush_before_backup = true;
  BackupID id = 0;
  MILLRACE_TRY(FromRocks(engine->CreateNewBackup(how, &db, &id), what));
  rocksdb::BackupInfo info;
  MILLRACE_TRY(FromRocks(engine->GetBackupInfo(id, &info), what));
  facts.bytes = info.size;
  facts.made = info.timestamp * kSecond;
  MILLRACE_TRY(WriteSeal(directory, id, {plan.owner, facts.made, facts.operations}).Within(what));
  MILLRACE_TRY(SyncDirectory(Parent(directory)).Within(what));
  if (plan.keep > 0) MILLRACE_TRY(Prune(*engine, directory, id, plan, &facts, what));
  return facts;
}

}  // namespace rocks

Result<BackupFacts> RestoreRocksStore(const std::string& backup, const std::string& directory,
                                      const NoteOfBackup& note) {
  MILLRACE_ASSIGN(const bool held, rocks::HoldsDatabase(directory));
  if (held) {
    return Exists("restore to " + directory + ": there is a database already; move it aside first");
  }
  const std::string aside = directory + ".restoring";
  MILLRACE_TRY(RemoveTree(aside));
  MILLRACE_TRY(MakeDirectories(aside));
  Result<BackupFacts> restored = RestoreFiles(backup, aside);
  if (!restored.ok()) {
    (void)RemoveTree(aside);  // the failure to tell of is that of the backup
    return restored.status();
  }
  BackupFacts facts = *std::move(restored);
  std::uint64_t noted = 0;
  {
    MILLRACE_ASSIGN(const std::unique_ptr<rocksdb::DB> db, rocks::OpenDatabase(rocks::MakeOptions(), aside));
    facts.operations = db->GetLatestSequenceNumber();
    const WriteBatch notes = note ? note(facts) : WriteBatch();
    if (!notes.empty()) MILLRACE_TRY(rocks::WriteTo(*db, notes, true, "restore to " + directory));
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
  return facts;
}

Result<BackupFacts> VerifyBackup(const std::string& backup, const std::function<Status(const KeyValueStore&)>& look) {
  const std::string what = "verify the backup in " + backup;
  if (const Result<std::vector<std::string>> there = ListDirectory(backup); !there.ok()) {
    return there.status().Within(what);
  }
  MILLRACE_ASSIGN(const DamagedBackups broken, FindBrokenSeals(backup));
  MILLRACE_ASSIGN(const OpenedEngine checked, OpenEngine(backup, broken, what));
  const Engine* const engine = checked.engine.get();
  std::map<BackupID, Choice> known;
  MILLRACE_ASSIGN(const DamagedBackups damaged, FindDamaged(*engine, backup, broken, &known));
  if (known.empty() && damaged.empty()) return NoBackup(what);
  if (!damaged.empty() && (known.empty() || damaged.rbegin()->first > known.rbegin()->first)) {
    return Corrupt(what + ": " + damaged.rbegin()->second);
  }
  Choice& latest = known.rbegin()->second;
  const std::string named = what + ": backup " + std::to_string(latest.id);
  if (const rocksdb::Status whole = engine->VerifyBackup(latest.id, true); !whole.ok()) {
    return Corrupt(FromRocks(whole, named).message());
  }
  if (!latest.seal) {
    return Corrupt(named +
                   " has no seal: it was cut short at its end, its seal was lost, or it was made by an earlier " +
                   "version; make another backup");
  }
  rocksdb::BackupInfo info;
  MILLRACE_TRY(FromRocks(engine->GetBackupInfo(latest.id, &info, true), named));
  rocksdb::Options options = rocks::MakeOptions();
  options.env = info.env_for_open.get();
  rocksdb::DB* opened = nullptr;
  MILLRACE_TRY(FromRocks(rocksdb::DB::OpenForReadOnly(options, info.name_for_open, &opened), named));
  const auto store = rocks::WrapDatabase(backup, std::unique_ptr<rocksdb::DB>(opened));
  MILLRACE_TRY(rocks::DigestOf(*store).status().Within(named));
  MILLRACE_TRY(look(*store).Within(named));
  return latest.facts;
}

}  // namespace millrace
