// SPDX-License-Identifier: Apache-2.0
#include "base/kv/mirrored_store.h"

#include <stdio.h>

#include <cerrno>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

#include "base/kv/committed_mark.h"
#include "base/kv/rocks_files.h"
#include "base/thread.h"

namespace millrace {
namespace {

// The copy, its mark, and the thread that writes to it. Thread rule: one thread at a time.
class Copy {
 public:
  static Result<std::unique_ptr<Copy>> Open(const std::string& directory, const RoomProbe& free) {
    MILLRACE_ASSIGN(std::unique_ptr<RocksStore> store, rocks::OpenUnmarked(directory, free));
    MILLRACE_ASSIGN(CommittedMark mark, CommittedMark::Open(rocks::MarkPath(directory)));
    return std::make_unique<Copy>(std::move(store), std::move(mark));
  }
  Copy(std::unique_ptr<RocksStore> store, CommittedMark mark) : store_(std::move(store)), mark_(std::move(mark)) {}
  ~Copy() { (void)mark_.Sync(); }

  [[nodiscard]] const RocksStore& store() const { return *store_; }
  // Starts the thread. The system may refuse it.
  Status Start() {
    MILLRACE_ASSIGN(writer_, StartThread([this](const std::stop_token& stop) { WriteWhatComes(stop); }));
    return Status::Ok();
  }
  // Begins to write a batch, which lives until End has returned how that went.
  void Begin(const WriteBatch& batch, Durability durability) {
    const std::lock_guard lock(mutex_);
    batch_ = &batch;
    durability_ = durability;
    changed_.notify_all();
  }
  Status End() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return batch_ == nullptr; });
    return written_;
  }
  // Counts what was written as acknowledged.
  Status RaiseMark() { return mark_.Raise(store_->last_operation()); }

 private:
  void WriteWhatComes(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return batch_ != nullptr; })) {
      written_ = store_->Write(*batch_, durability_);
      batch_ = nullptr;
      changed_.notify_all();
    }
  }

  const std::unique_ptr<RocksStore> store_;
  CommittedMark mark_;
  std::mutex mutex_;  // guards what follows, and is held while a batch is written
  std::condition_variable_any changed_;
  const WriteBatch* batch_ = nullptr;  // that is to be written
  Durability durability_ = Durability::kSynced;
  Status written_;
  std::jthread writer_;  // last, because it uses the members above
};

class Mirror final : public MirroredStore {
 public:
  Mirror(std::unique_ptr<RocksStore> first, std::string directory, std::function<void(const std::string&)> told)
      : first_(std::move(first)), directory_(std::move(directory)), told_(std::move(told)) {}

  void Take(std::unique_ptr<Copy> copy) {
    copy_ = std::move(copy);
    if (const Status started = copy_->Start(); !started.ok()) GiveUp(started);
  }
  void GiveUp(const Status& why) {
    copy_.reset();
    const std::string line =
        "the second copy of the database in " + directory_ +
        " (master.journal_copy) is not kept: " + std::string(why.message()) +
        "; acknowledged changes are on one disk only. Mend that and restart the master, which then makes a new copy";
    {
      const std::lock_guard lock(mutex_);
      problem_ = line;
    }
    told_(line);
  }

  Status Write(const WriteBatch& batch, Durability durability) override {
    const std::lock_guard lock(write_mutex_);
    MILLRACE_TRY(failed_);
    if (copy_ == nullptr) return first_->Write(batch, durability);
    // While it awaits room the first may refuse the batch, and the copy must not have what was refused.
    const bool in_turn = first_->room_needed() > 0;
    if (in_turn) MILLRACE_TRY(first_->Write(batch, durability));
    copy_->Begin(batch, durability);
    if (!in_turn) failed_ = first_->Write(batch, durability);
    Status copied = copy_->End();
    MILLRACE_TRY(failed_);
    // The mark of the copy counts what both have: a change that the first lacks was acknowledged to nobody.
    if (copied.ok() && durability == Durability::kSynced) copied = copy_->RaiseMark();
    if (!copied.ok()) GiveUp(copied);
    return Status::Ok();
  }
  Result<std::optional<std::string>> Get(std::string_view key) const override { return first_->Get(key); }
  Status Scan(std::string_view prefix, std::string_view from,
              const std::function<bool(std::string_view, std::string_view)>& visit) const override {
    return first_->Scan(prefix, from, visit);
  }
  Result<BackupFacts> BackUp(const std::string& directory, const BackupPlan& plan) override {
    return first_->BackUp(directory, plan);
  }
  std::uint64_t room_needed() const override { return first_->room_needed(); }
  std::uint64_t last_operation() const override { return first_->last_operation(); }
  Status CopyTo(const std::string& directory) override { return first_->CopyTo(directory); }
  void UseSpare(bool use) override { first_->UseSpare(use); }
  std::uint64_t spare_left() const override { return first_->spare_left(); }

  std::string copy_problem() const override {
    const std::lock_guard lock(mutex_);
    return problem_;
  }

 private:
  const std::unique_ptr<RocksStore> first_;
  const std::string directory_;
  const std::function<void(const std::string&)> told_;
  std::mutex write_mutex_;
  std::unique_ptr<Copy> copy_;
  Status failed_;  // the first's: the copy may have what the first lacks since
  mutable std::mutex mutex_;
  std::string problem_;
};

// Puts what is in the directory of the copy aside, with its mark.
Status PutAside(const std::string& directory, const std::function<void(const std::string& line)>& told) {
  MILLRACE_ASSIGN(const std::string aside, rocks::MoveAside(directory));
  told("what was in " + directory + " (master.journal_copy) lies in " + aside + "; remove it if nobody needs it");
  const std::string mark = rocks::MarkPath(directory);
  return std::filesystem::exists(mark) ? rocks::MoveAside(mark).status() : Status::Ok();
}

// Makes the copy from `first`. An older copy stays until the new one is whole; then it goes, or is put aside. The mark
// comes before the database, so that a copy that is broken off is behind.
Status MakeCopy(RocksStore& first, const std::string& directory, bool puts_aside,
                const std::function<void(const std::string& line)>& told) {
  const std::string making = directory + ".making";
  MILLRACE_TRY(RemoveTree(making));
  MILLRACE_TRY(MakeDirectories(rocks::Parent(directory)));
  const std::uint64_t end = first.last_operation();
  MILLRACE_TRY(first.CopyTo(making));
  if (puts_aside) MILLRACE_TRY(PutAside(directory, told));
  MILLRACE_TRY(CommittedMark::Make(rocks::MarkPath(directory), end));
  MILLRACE_TRY(RemoveTree(directory));
  if (::rename(making.c_str(), directory.c_str()) != 0) return FromErrno(errno, "rename " + making);
  return SyncDirectory(rocks::Parent(directory));
}

// The state of a copy.
struct Found {
  std::unique_ptr<Copy> copy = nullptr;  // null if it is to be made again
  std::string why = {};                  // it is made again; empty if there is nothing
  bool unknown = false;                  // what is there could not be read
  bool ahead = false;                    // it has unacknowledged changes, which `first` will not have
};

Found Unknown(const Status& why) { return {nullptr, std::string(why.message()), true}; }

// Returns the names in a directory that holds no database.
Found LookAtRemains(const std::string& directory) {
  Result<std::vector<std::string>> names = ListDirectory(directory);
  if (names.status().code() == StatusCode::kNotFound) return {};
  if (!names.ok()) return Unknown(names.status());
  std::erase(*names, "OWNER");  // left by an attempt that got no further
  return names->empty() ? Found() : Unknown(Corrupt("there are files, but no database"));
}

// Opens the copy if it holds what the first does. An error keeps both from being used.
Result<Found> OpenCopyOf(const RocksStore& first, const rocks::Digest& of_first, const std::string& directory,
                         const RoomProbe& free) {
  const Result<bool> held = rocks::HoldsDatabase(directory);
  if (!held.ok()) return Unknown(held.status());
  if (!*held) return LookAtRemains(directory);
  Result<std::unique_ptr<Copy>> copy = Copy::Open(directory, free);
  if (copy.status().code() == StatusCode::kBusy) return copy.status();
  if (!copy.ok()) return Unknown(copy.status());
  const std::uint64_t end = first.last_operation(), of_copy = (*copy)->store().last_operation();
  if (of_copy < end) return Found{nullptr, "it is not up to date"};
  if (of_copy > end) return Found{nullptr, "it has later changes, which were not acknowledged", false, true};
  const Result<rocks::Digest> digest = rocks::DigestOf((*copy)->store());
  if (!digest.ok()) return Found{nullptr, std::string(digest.status().message())};
  if (*digest == of_first) return Found{*std::move(copy)};
  return Corrupt("the database and its second copy in " + directory + " (master.journal_copy) both end at operation " +
                 std::to_string(end) +
                 " but differ: the first was damaged, or one was repaired without the other; `millrace "
                 "master repair` takes the copy, and if the first is right, move the copy away");
}

// Returns kCorrupt if the copy shows that a database that ends at operation `end` is an older state, or may show it.
Status CheckNotNewer(const std::string& directory, std::uint64_t end) {
  const auto mark = CommittedMark::Open(rocks::MarkPath(directory));
  const std::string what = "the database ends at operation " + std::to_string(end) + ", and its second copy in " +
                           directory + " (master.journal_copy) ";
  if (mark.ok() && mark->number() > end) {
    return Corrupt(what + "has " + std::to_string(mark->number()) +
                   " that were acknowledged: the database is an older state; `millrace master repair` takes the copy");
  }
  if (const Result<bool> held = rocks::HoldsDatabase(directory); mark.ok() || !held.ok() || !*held) return Status::Ok();
  const auto db = rocks::OpenDatabaseToRead(directory);
  if (!db.ok() || (*db)->GetLatestSequenceNumber() <= end) return Status::Ok();
  return Corrupt(what + "goes on to operation " + std::to_string((*db)->GetLatestSequenceNumber()) +
                 ", and it is not known whether that was acknowledged (" + std::string(mark.status().message()) +
                 "); put the right file back, or move the copy away if the database is not an older state");
}

}  // namespace

Result<std::unique_ptr<MirroredStore>> OpenMirror(std::unique_ptr<RocksStore> first, const std::string& directory,
                                                  RoomProbe free, std::function<void(const std::string& line)> told) {
  MILLRACE_TRY(CheckNotNewer(directory, first->last_operation()));
  // A database that cannot be read is not copied, and does not replace an older copy.
  const Result<rocks::Digest> of_first = rocks::DigestOf(*first);
  if (!of_first.ok()) {
    return Status(of_first.status().code(), std::string(of_first.status().message()) + "; if its second copy in " +
                                                directory +
                                                " (master.journal_copy) is whole, `millrace master repair` takes it");
  }
  auto mirror = std::make_unique<Mirror>(std::move(first), directory, told);
  MILLRACE_ASSIGN(Found found, OpenCopyOf(*mirror, *of_first, directory, free));
  if (found.copy != nullptr) {
    mirror->Take(std::move(found.copy));
    return std::unique_ptr<MirroredStore>(std::move(mirror));
  }
  if (!found.why.empty()) told("the second copy of the database in " + directory + " is made again: " + found.why);
  const Status made = MakeCopy(*mirror, directory, found.unknown, told);
  Result<std::unique_ptr<Copy>> copy = made.ok() ? Copy::Open(directory, free) : made;
  if (copy.ok()) {
    mirror->Take(*std::move(copy));
  } else {
    mirror->GiveUp(copy.status());
    // Nobody may take it for a copy once the first goes on with something else.
    const Status aside = found.ahead ? PutAside(directory, told) : Status::Ok();
    if (!aside.ok()) told("move " + directory + " away: " + std::string(aside.message()));
  }
  return std::unique_ptr<MirroredStore>(std::move(mirror));
}

}  // namespace millrace
