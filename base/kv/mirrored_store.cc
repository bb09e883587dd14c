#include "base/kv/mirrored_store.h"

#include <stdio.h>

#include <cerrno>
#include <filesystem>
#include <future>
#include <mutex>
#include <utility>

#include "base/kv/committed_mark.h"
#include "base/kv/rocks_files.h"

namespace millrace {
namespace {

class Mirror final : public MirroredStore {
 public:
  Mirror(std::unique_ptr<RocksStore> first, std::string directory, std::function<void(const std::string&)> told)
      : first_(std::move(first)), directory_(std::move(directory)), told_(std::move(told)) {}

  void Take(std::unique_ptr<RocksStore> copy) { copy_ = std::move(copy); }
  void GiveUp(const Status& why) {
    copy_.reset();
    const std::string line =
        "the second copy of the database in " + directory_ +
        " (master.journal_copy) is not kept: " + std::string(why.message()) +
        "; what is acknowledged is on one disk. Mend that, and start the master again, which makes "
        "the copy anew";
    {
      const std::lock_guard lock(mutex_);
      problem_ = line;
    }
    told_(line);
  }

  Status Write(const WriteBatch& batch, Durability durability) override {
    const std::lock_guard lock(write_mutex_);
    if (copy_ == nullptr) return first_->Write(batch, durability);
    // While it awaits room the first may refuse the batch, and the copy must not have what was refused.
    if (first_->room_needed() > 0) {
      MILLRACE_TRY(first_->Write(batch, durability));
      if (const Status status = copy_->Write(batch, durability); !status.ok()) GiveUp(status);
      return Status::Ok();
    }
    std::future<Status> copied = std::async(std::launch::async, [&] { return copy_->Write(batch, durability); });
    Status written = first_->Write(batch, durability);
    if (const Status status = copied.get(); !status.ok()) GiveUp(status);
    return written;
  }
  Result<std::optional<std::string>> Get(std::string_view key) const override { return first_->Get(key); }
  Status Scan(std::string_view prefix, std::string_view from,
              const std::function<bool(std::string_view, std::string_view)>& visit) const override {
    return first_->Scan(prefix, from, visit);
  }
  Result<BackupFacts> BackUp(const std::string& directory) override { return first_->BackUp(directory); }
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
  std::unique_ptr<RocksStore> copy_;
  mutable std::mutex mutex_;
  std::string problem_;
};

// Makes the copy from `first`. An older copy stays until the new one is whole. The mark comes before the database, so
// that a copy that is broken off is behind.
Result<std::unique_ptr<RocksStore>> MakeCopy(RocksStore& first, const std::string& directory, const RoomProbe& free) {
  const std::string making = directory + ".making";
  MILLRACE_TRY(RemoveTree(making));
  MILLRACE_TRY(MakeDirectories(rocks::Parent(directory)));
  const std::uint64_t end = first.last_operation();
  MILLRACE_TRY(first.CopyTo(making));
  MILLRACE_TRY(CommittedMark::Make(rocks::MarkPath(directory), end));
  MILLRACE_TRY(RemoveTree(directory));
  if (::rename(making.c_str(), directory.c_str()) != 0) return FromErrno(errno, "rename " + making);
  MILLRACE_TRY(SyncDirectory(rocks::Parent(directory)));
  return OpenRocksStore(directory, free);
}

// Opens the copy if it holds what the first does; nothing, and it is said why, if it is to be made anew. An error keeps
// both from being used.
Result<std::unique_ptr<RocksStore>> OpenCopyOf(const RocksStore& first, const rocks::Digest& of_first,
                                               const std::string& directory, const RoomProbe& free, std::string* why) {
  // A copy of which nothing can be learnt fails where it is made anew.
  if (const Result<bool> held = rocks::HoldsDatabase(directory); held.ok() && !*held)
    return std::unique_ptr<RocksStore>();
  Result<std::unique_ptr<RocksStore>> copy = OpenRocksStore(directory, free);
  if (copy.status().code() == StatusCode::kBusy) return copy.status();
  *why = "it is not up to date";
  if (!copy.ok()) {
    *why = copy.status().message();
    return std::unique_ptr<RocksStore>();
  }
  if ((*copy)->last_operation() != first.last_operation()) return std::unique_ptr<RocksStore>();
  const Result<rocks::Digest> of_copy = rocks::DigestOf(**copy);
  if (of_copy.ok() && *of_copy != of_first) {
    return Corrupt(
        "the database and its second copy in " + directory + " (master.journal_copy) both end at operation " +
        std::to_string(first.last_operation()) +
        " and hold different things: the first was damaged, or one was repaired without the other; `millrace "
        "master repair` takes the copy, and if the first is right, move the copy away");
  }
  if (of_copy.ok()) return copy;
  *why = of_copy.status().message();
  return std::unique_ptr<RocksStore>();
}

}  // namespace

Result<std::unique_ptr<MirroredStore>> OpenMirror(std::unique_ptr<RocksStore> first, const std::string& directory,
                                                  RoomProbe free, std::function<void(const std::string& line)> told) {
  const std::uint64_t end = first->last_operation();
  if (const auto mark = CommittedMark::Open(rocks::MarkPath(directory)); mark.ok() && mark->number() > end) {
    return Corrupt("the database ends at operation " + std::to_string(end) + ", and its second copy in " + directory +
                   " (master.journal_copy) has " + std::to_string(mark->number()) +
                   " that were acknowledged: the database is an older state; `millrace master repair` takes the copy");
  }
  // No copy is made, nor an older one replaced, of what cannot be read.
  const Result<rocks::Digest> of_first = rocks::DigestOf(*first);
  if (!of_first.ok()) {
    return Status(of_first.status().code(), std::string(of_first.status().message()) + "; if its second copy in " +
                                                directory +
                                                " (master.journal_copy) is whole, `millrace master repair` takes it");
  }
  auto mirror = std::make_unique<Mirror>(std::move(first), directory, told);
  std::string why;
  MILLRACE_ASSIGN(std::unique_ptr<RocksStore> copy, OpenCopyOf(*mirror, *of_first, directory, free, &why));
  if (copy != nullptr) {
    mirror->Take(std::move(copy));
    return std::unique_ptr<MirroredStore>(std::move(mirror));
  }
  if (!why.empty()) told("the second copy of the database in " + directory + " is made anew: " + why);
  Result<std::unique_ptr<RocksStore>> made = MakeCopy(*mirror, directory, free);
  if (made.ok()) {
    mirror->Take(*std::move(made));
  } else {
    mirror->GiveUp(made.status());
  }
  return std::unique_ptr<MirroredStore>(std::move(mirror));
}

}  // namespace millrace
