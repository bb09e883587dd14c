// SPDX-License-Identifier: Apache-2.0
// Recovers the last good state of a damaged database: it cuts the log at the damage, or, if that is not enough, uses
// whatever tables and logs can be read; and it takes what is whole behind the damage, if it is asked to.
#include <stdio.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>

#include "base/kv/committed_mark.h"
#include "base/kv/rocks_files.h"

namespace millrace {
namespace {

Status CopyDirectory(const std::string& from, const std::string& to) {
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
  MILLRACE_TRY(CopyDirectory(from, copy));
  Result<std::unique_ptr<rocksdb::DB>> db = rocks::OpenDatabase(options, copy);
  *method = "all operations in order, up to the first that is lost or damaged";
  if (db.ok()) return db;
  MILLRACE_TRY(CopyDirectory(from, copy));
  const std::string what = "repair database " + copy;
  MILLRACE_TRY(rocks::FromRocks(rocksdb::RepairDB(copy, options), what));
  *method = "whatever tables and logs can be read; operations in between may be missing";
  return rocks::OpenDatabase(options, copy);
}

Status Apply(const WriteBatch& batch, rocksdb::DB& db) { return rocks::WriteTo(db, batch, false, "repair"); }

// Reads the changes after the damage in the logs of a database.
class Rest {
 public:
  // `db` has the good changes before the damage.
  Rest(rocksdb::DB& db, RepairFacts* facts) : db_(db), facts_(*facts), next_(db.GetLatestSequenceNumber() + 1) {}

  // Applies what is whole, and notes what was left out, up to operation `until`.
  Status Take(const std::string& directory, std::uint64_t until) {
    MILLRACE_ASSIGN(std::vector<std::string> names, ListDirectory(directory));
    std::erase_if(names, [](const std::string& name) { return !name.ends_with(".log"); });
    std::ranges::sort(names);  // their numbers have leading zeros
    for (const std::string& name : names) {
      MILLRACE_ASSIGN(const std::string bytes, ReadWholeFile(directory + "/" + name));
      MILLRACE_TRY(TakeLog(ReadLog(bytes, name)));
    }
    if (until >= next_) Lose(until - next_ + 1);
    if (!since_.empty()) Keep();
    return Status::Ok();
  }
  Status TakeSpare(const SpareLog& spare) {
    if (spare.after() + spare.operations() < next_) return Status::Ok();  // it was taken in already
    next_ = spare.after() + 1;
    for (const WriteBatch& batch : spare.batches()) MILLRACE_TRY(TakeBatch({next_, batch}));
    return Status::Ok();
  }
  [[nodiscard]] bool IsNewer(std::string_view key) const { return newer_.contains(key); }

 private:
  Status TakeLog(const LogContent& log) {
    std::size_t damage = 0;
    for (std::size_t i = 0; i <= log.batches.size(); ++i) {
      for (; damage < log.damage.size() && log.before[damage] == i; ++damage) since_.push_back(log.damage[damage]);
      if (i < log.batches.size()) MILLRACE_TRY(TakeBatch(log.batches[i]));
    }
    return Status::Ok();
  }

  // Damaged changes before a batch that is known already are in the tables.
  Status TakeBatch(const LoggedBatch& logged) {
    const std::uint64_t after = logged.first + logged.batch.changes().size();
    if (logged.first < next_) {
      since_.clear();
      return Status::Ok();
    }
    if (logged.first > next_) Lose(logged.first - next_);
    since_.clear();
    MILLRACE_TRY(Apply(logged.batch, db_));
    for (const WriteBatch::Change& change : logged.batch.changes()) newer_.insert(change.key);
    if (!facts_.left_out.empty()) facts_.kept_behind += logged.batch.changes().size();
    next_ = after;
    return Status::Ok();
  }

  void Lose(std::uint64_t operations) {
    if (since_.empty()) since_.push_back({"a log that is missing", 0, 0, {}});
    since_.back().operations = operations;
    Keep();
  }
  void Keep() {
    facts_.left_out.insert(facts_.left_out.end(), since_.begin(), since_.end());
    since_.clear();
  }

  rocksdb::DB& db_;
  RepairFacts& facts_;
  std::uint64_t next_;              // the number of the operation that comes next
  std::vector<DamagedPart> since_;  // the damage since the last whole batch
  std::set<std::string, std::less<>> newer_;
};

Result<std::optional<SpareLog>> FindSpare(const std::string& directory) {
  Result<SpareLog> spare = SpareLog::Open(rocks::SparePath(directory));
  if (spare.status().code() == StatusCode::kNotFound) return std::optional<SpareLog>();
  if (!spare.ok()) return spare.status();
  return std::optional<SpareLog>(*std::move(spare));
}

// Makes the good state from the remains of the database in `copy`, and lets `look` see it.
Status SalvageAndLook(const std::string& directory, const std::string& copy, RepairFacts* facts,
                      const LookAtState& look, const MendStore& mend) {
  MILLRACE_ASSIGN(std::unique_ptr<rocksdb::DB> db, Salvage(directory, copy, &facts->method));
  MILLRACE_ASSIGN(const std::optional<SpareLog> spare, FindSpare(directory));
  const bool has_spare = spare && !spare->empty();
  Rest rest(*db, facts);
  if (mend) {
    MILLRACE_TRY(rest.Take(directory, has_spare ? spare->after() : facts->acknowledged));
    facts->method = "all operations that are whole, without those that are damaged";
    if (has_spare) MILLRACE_TRY(rest.TakeSpare(*spare));
  } else if (has_spare && spare->after() == db->GetLatestSequenceNumber()) {
    for (const WriteBatch& batch : spare->batches()) MILLRACE_TRY(Apply(batch, *db));
  }
  facts->operations = db->GetLatestSequenceNumber();
  const std::unique_ptr<KeyValueStore> store = rocks::WrapDatabase(copy, std::move(db));
  if (mend) {
    MILLRACE_ASSIGN(facts->mended, mend(*store, [&rest](std::string_view key) { return rest.IsNewer(key); }));
    MILLRACE_TRY(store->Write({}, Durability::kSynced));
  }
  return look(*store, *facts);
}

// Returns why the good state, which seems to be all that there was, is none: the second copy, which ends at the same
// operation, holds something else. Empty if it holds the same, or is not whole.
std::string DifferenceFrom(const std::string& mirror, const rocks::Digest& of_first, const std::string& directory) {
  Result<std::unique_ptr<rocksdb::DB>> db = rocks::OpenDatabaseToRead(mirror);
  if (!db.ok()) return {};
  const Result<rocks::Digest> digest = rocks::DigestOf(*rocks::WrapDatabase(mirror, *std::move(db)));
  if (!digest.ok() || *digest == of_first) return {};
  return "database " + directory + " and its second copy in " + mirror +
         " end at the same operation but differ: the first was damaged, or one was repaired without the other; if the "
         "first is right, move the copy away";
}

// Takes the second copy of the database.
Status TakeMirror(const std::string& mirror, const std::string& copy, RepairFacts* facts, const LookAtState& look) {
  MILLRACE_TRY(rocks::CheckEnd(mirror));
  MILLRACE_TRY(CopyDirectory(mirror, copy));
  MILLRACE_ASSIGN(std::unique_ptr<rocksdb::DB> db, rocks::OpenDatabase(rocks::MakeOptions(), copy));
  facts->method = "everything that its second copy in " + mirror + " has";
  facts->operations = db->GetLatestSequenceNumber();
  facts->whole = facts->acknowledged_known && facts->acknowledged <= facts->operations;
  return look(*rocks::WrapDatabase(copy, std::move(db)), *facts);
}

// Returns the last operation that the mark says was acknowledged; nothing if it cannot be read.
std::optional<std::uint64_t> MarkOf(const std::string& directory) {
  if (directory.empty()) return std::nullopt;
  const auto mark = CommittedMark::Open(rocks::MarkPath(directory));
  return mark.ok() ? std::optional(mark->number()) : std::nullopt;
}

// Returns where the second copy ends; nothing if it is not whole, or there is none.
std::optional<std::uint64_t> EndOf(const std::string& mirror) {
  if (mirror.empty() || !rocks::CheckEnd(mirror).ok()) return std::nullopt;
  if (const Result<bool> held = rocks::HoldsDatabase(mirror); !held.ok() || !*held) return std::nullopt;
  const auto db = rocks::OpenDatabaseToRead(mirror);
  if (!db.ok()) return std::nullopt;
  return (*db)->GetLatestSequenceNumber();
}

// Makes the good state in `copy`, of the database or of its second copy, and lets `look` see it.
Status MakeGoodState(const std::string& directory, const std::string& copy, RepairFacts* facts, const LookAtState& look,
                     const MendStore& mend, const std::string& mirror) {
  std::optional<rocks::Digest> digest;
  const auto digest_and_look = [&](const KeyValueStore& store, const RepairFacts& state) -> Status {
    if (!mirror.empty() && !mend) {
      MILLRACE_ASSIGN(digest, rocks::DigestOf(store));
    }
    return look(store, state);
  };
  const Status salvaged = SalvageAndLook(directory, copy, facts, digest_and_look, mend);
  const std::optional<std::uint64_t> end = EndOf(mirror);
  if (facts->problem.empty() && salvaged.ok() && digest && end == facts->operations) {
    facts->problem = DifferenceFrom(mirror, *digest, directory);
    if (!facts->problem.empty()) facts->acknowledged_known = false;  // the first may have gone on with something else
  }
  if (facts->problem.empty() && salvaged.ok() && facts->acknowledged > facts->operations) {
    facts->problem = "database " + directory + " ends at operation " + std::to_string(facts->operations) +
                     ", and its second copy has " + std::to_string(facts->acknowledged) +
                     " that were acknowledged: it is an older state";
  }
  const bool sound = salvaged.ok() && facts->problem.empty();
  if (!end || sound || (salvaged.ok() && *end < facts->operations)) return salvaged;
  RepairFacts of_mirror;
  of_mirror.problem = facts->problem.empty() ? std::string(salvaged.message()) : facts->problem;
  of_mirror.acknowledged = facts->acknowledged;
  of_mirror.acknowledged_known = facts->acknowledged_known;
  *facts = std::move(of_mirror);
  return TakeMirror(mirror, copy, facts, look);
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

Result<RepairFacts> RepairRocksStore(const std::string& directory, bool apply, const LookAtState& look,
                                     const MendStore& mend, const std::string& mirror, const WriteBatch& note) {
  const bool gone = !std::filesystem::is_directory(directory);
  if (gone && !EndOf(mirror)) {
    return NotFound("repair database " + directory +
                    ": it does not exist, and there is no second copy that can be read; restore a backup");
  }
  if (gone) MILLRACE_TRY(MakeDirectories(directory));
  MILLRACE_ASSIGN(const Fd lock, rocks::LockDirectory(directory));
  RepairFacts facts;
  const std::optional<std::uint64_t> mark = MarkOf(directory), of_mirror = MarkOf(mirror);
  facts.acknowledged = std::max(mark.value_or(0), of_mirror.value_or(0));
  // The mark of a copy that was given up stays behind; a mark that is behind the copy's is an older state.
  facts.acknowledged_known = mark && mark >= of_mirror;
  facts.problem = rocks::CheckEnd(directory).message();
  if (gone) facts.problem = "database " + directory + " does not exist";
  const std::string copy = directory + ".repairing";
  const Status made = MakeGoodState(directory, copy, &facts, look, mend, mirror);
  if (!apply || facts.problem.empty() || !made.ok()) {
    for (const std::string& left : {copy, gone ? directory : copy}) MILLRACE_TRY(RemoveTree(left));
    if (!made.ok()) return made;
    return facts;
  }
  std::uint64_t end = facts.operations;
  if (!facts.whole && !note.empty()) {
    MILLRACE_ASSIGN(const std::unique_ptr<rocksdb::DB> db, rocks::OpenDatabase(rocks::MakeOptions(), copy));
    MILLRACE_TRY(Apply(note, *db));
    end = db->GetLatestSequenceNumber();
  }
  MILLRACE_TRY(SyncTree(copy));  // what opening it did not write again is a plain copy
  MILLRACE_TRY(CommittedMark::Make(rocks::MarkPath(directory), end));
  MILLRACE_ASSIGN(facts.aside, rocks::MoveAside(directory));
  if (::rename(copy.c_str(), directory.c_str()) != 0) return FromErrno(errno, "rename " + copy);
  // Parts that no longer go with the good state.
  std::vector<std::string> others = {rocks::SparePath(directory)};
  if (!mirror.empty() && EndOf(mirror) != end) others.insert(others.end(), {mirror, rocks::MarkPath(mirror)});
  for (const std::string& other : others) {
    if (std::filesystem::exists(other)) MILLRACE_TRY(rocks::MoveAside(other).status());
  }
  MILLRACE_TRY(SyncDirectory(rocks::Parent(directory)));
  return facts;
}

}  // namespace millrace
