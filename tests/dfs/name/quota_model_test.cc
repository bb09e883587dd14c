// SPDX-License-Identifier: Apache-2.0
// Runs random histories on a Namespace and compares what it keeps up to date with walks: the use of every quota and of
// the trash, and what open files reserve. A check for room must say no just if the change then takes some quota over
// its limit. What was removed into the trash keeps its blocks, and comes back with them, until it is purged. From time
// to time a new life begins, in which the Namespace is what the store says.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/random.h"
#include "dfs/name/namespace.h"
#include "dfs/wire/path.h"
#include "tests/dfs/name/block_numbers.h"
#include "tests/fakes/memory_store.h"

namespace millrace::dfs {
namespace {

constexpr Micros kRetention = 300;

// A quota as a walk sees it.
struct Walked {
  std::string whose;
  std::string path;  // of a directory
  Quota quota;
  Use use, reserved;
};

bool Over(std::uint64_t limit, std::uint64_t before, std::uint64_t after) { return after > before && after > limit; }

// Returns true if a quota is exceeded that the change has brought closer to its limit. A directory that was moved
// itself is left out: what open files reserve goes by their paths, so others may count there now.
bool Breaks(const std::vector<Walked>& before, const std::vector<Walked>& after) {
  for (const Walked& now : after) {
    const auto was = std::ranges::find(before, now.whose, &Walked::whose);
    if (was == before.end() || was->path != now.path) continue;
    Use old = was->use, fresh = now.use;
    old += was->reserved;
    fresh += now.reserved;
    if (Over(now.quota.bytes, old.bytes, fresh.bytes) || Over(now.quota.entries, old.entries, fresh.entries))
      return true;
  }
  return false;
}

class Driver {
 public:
  explicit Driver(std::uint64_t seed)
      : random_(seed), numbers_(SeededNumbers(seed)), names_(NewNames()), store_(MakeMemoryStore()) {}

  void Step() {
    ++now_;
    freed_.clear();
    batch_ = {};
    const std::vector<Walked> before = Walk();
    const std::string what = Act();
    ASSERT_TRUE(store_->Write(batch_, Durability::kSynced).ok());
    const std::vector<Walked> after = Walk();
    // A check that does not know the parents of a new file yet may say no although the file alone would fit.
    if (done_ && room_.ok()) {
      EXPECT_FALSE(Breaks(before, after)) << what;
    } else if (done_ && !parents_come_later_) {
      EXPECT_TRUE(Breaks(before, after)) << what << ": " << room_.message();
    }
    CompareUse(after, what);
    for (const BlockId block : freed_) EXPECT_FALSE(kept_.contains(block)) << what << " has freed what is in the trash";
  }

  void Reload() {
    names_ = NewNames();
    const Status loaded = names_->Load(*store_);
    ASSERT_TRUE(loaded.ok()) << loaded.message();
    CompareUse(Walk(), "a new life");
  }
  [[nodiscard]] std::uint64_t refusals() const { return refusals_; }
  [[nodiscard]] std::uint64_t returned() const { return returned_; }
  [[nodiscard]] std::uint64_t purged() const { return purged_; }

 private:
  std::unique_ptr<Namespace> NewNames() {
    return std::make_unique<Namespace>([this] { return numbers_(); });
  }

  // ---- what a walk sees ----

  void WalkBelow(const std::string& directory, const std::function<void(const FileStatus&)>& visit) const {
    const std::vector<FileStatus> entries = *names_->List(directory, {}, 1000);
    for (const FileStatus& entry : entries) {
      visit(entry);
      if (entry.directory) WalkBelow(entry.path, visit);
    }
  }
  static Use UseOf(const FileStatus& entry) { return {entry.length * entry.replication, 1}; }
  Use Below(const std::string& directory) const {
    Use use;
    WalkBelow(directory, [&](const FileStatus& entry) { use += UseOf(entry); });
    return use;
  }
  Use Owned(const std::string& user) const {
    Use use;
    WalkBelow("/", [&](const FileStatus& entry) {
      if (entry.owner == user) use += UseOf(entry);
    });
    return use;
  }
  Use Reserved(const OpenFile& file) const {
    std::uint64_t blocks = file.blocks.size() - file.synced.size(), length = 0;
    for (const Block& block : file.synced) length += block.length;
    return {(blocks * file.options.block_size + length) * file.options.replication, 1};
  }
  std::vector<Walked> Walk() const {
    std::vector<Walked> walked;
    for (const auto& [path, quota] : quotas_) {
      const std::string below = path == "/" ? path : path + "/";
      Walked one{"directory " + std::to_string(quota.number), path, quota.quota, Below(path), {}};
      for (const FileId file : names_->OpenFiles()) {
        if (!orphans_.contains(file) && names_->FindOpen(file)->path.starts_with(below))
          one.reserved += Reserved(*names_->FindOpen(file));
      }
      walked.push_back(one);
    }
    for (const auto& [user, quota] : user_quotas_) {
      Walked one{"user " + user, {}, quota, Owned(user), {}};
      for (const FileId file : names_->OpenFiles()) {
        if (names_->FindOpen(file)->options.owner == user) one.reserved += Reserved(*names_->FindOpen(file));
      }
      walked.push_back(one);
    }
    return walked;
  }
  // The quotas go with their directories.
  void Moved(const std::string& from, const std::string& to) {
    std::map<std::string, Numbered> rest;
    for (const auto& [path, quota] : quotas_) rest[IsWithin(path, from) ? to + path.substr(from.size()) : path] = quota;
    quotas_ = std::move(rest);
  }
  void Gone(const std::string& path) {
    std::erase_if(quotas_, [&](const auto& quota) { return IsWithin(quota.first, path); });
  }

  void CompareUse(const std::vector<Walked>& walked, const std::string& what) const {
    std::multiset<std::string> kept, seen;
    const auto text = [](const Quota& quota, const Use& use, const Use& reserved) {
      return std::to_string(quota.bytes) + " " + std::to_string(quota.entries) + " " + std::to_string(use.bytes) + " " +
             std::to_string(use.entries) + " " + std::to_string(reserved.bytes) + " " +
             std::to_string(reserved.entries);
    };
    for (const QuotaState& state : names_->Quotas()) kept.insert(text(state.quota, state.use, state.reserved));
    for (const Walked& one : walked) seen.insert(text(one.quota, one.use, one.reserved));
    EXPECT_EQ(kept, seen) << what;
    EXPECT_EQ(names_->TrashUse(), names_->Stat("/.trash").ok() ? Below("/.trash") : Use()) << what;
    for (const char* user : {"ann", "bob", ""}) EXPECT_EQ(names_->QuotaOfUser(user).use, Owned(user)) << what;
  }

  // ---- random changes ----

  std::string Path() {
    std::string path;
    for (std::uint64_t depth = 1 + random_.Below(3); depth > 0; --depth)
      path += "/" + std::string(1, static_cast<char>('a' + random_.Below(3)));
    return path;
  }
  std::string User() { return random_.Below(2) == 0 ? "ann" : "bob"; }
  FileId AnyOpen() {
    const std::vector<FileId> open = names_->OpenFiles();
    return open.empty() ? 0 : open[random_.Below(open.size())];
  }
  Quota AnyQuota() {
    Quota quota;
    if (random_.Below(3) != 0) quota.bytes = random_.Below(40) << 20;
    if (random_.Below(3) != 0) quota.entries = random_.Below(12);
    return quota;
  }

  // Makes a change. Sets done_ if it was made, and room_ to what the check before it said.
  std::string Act() {
    done_ = false;
    room_ = Status::Ok();
    parents_come_later_ = false;
    const std::string path = Path(), other = Path(), user = User();
    switch (random_.Below(16)) {
      case 0:
        room_ = names_->CheckRoomForDirectory(path, user);
        return Did("mkdir " + path, names_->MakeDirectory(path, user, now_, &batch_));
      case 1:
        Orphan(path);
        Did("rm", names_->Remove(path, true, &batch_, &freed_));
        if (done_) Gone(path);
        return "rm " + path;
      case 2:
      case 3: {
        const std::string maker = random_.Below(2) == 0 ? "" : user;
        room_ = names_->CheckRoomForRename(path, other, maker);
        const Result<FileStatus> there = names_->Stat(other);
        const bool into = there.ok() && there->directory;
        Did("mv", names_->Rename(path, other, now_, &batch_, maker));
        if (done_) Moved(path, into ? other + "/" + std::string(BaseName(path)) : other);
        return "mv " + path + " " + other;
      }
      case 4: {
        const auto replication = static_cast<std::uint32_t>(1 + random_.Below(4));
        room_ = names_->CheckRoomForReplicas(path, replication);
        return Did("setrep " + path, names_->SetReplication(path, replication, &batch_));
      }
      case 5:
        room_ = names_->CheckRoomForOwner(path, user);
        return Did("chown " + path, names_->SetOwner(path, user, std::nullopt, &batch_));
      case 6:
      case 7:
        return Create(path, user);
      case 8:
      case 9: {
        const FileId file = AnyOpen();
        room_ = names_->CheckRoomForBlock(file);
        return Did("block", names_->AddBlock(file, &batch_).status());
      }
      case 10:
        return Close();
      case 11:
        return SetQuota(path, user);
      case 12:
      case 13:
        return Trash(path, user);
      case 14:
        return Undelete(path, user);
      default:
        return Purge();
    }
  }

  std::string Did(const std::string& what, const Status& status) {
    done_ = status.ok();
    if (!status.ok()) {
      EXPECT_TRUE(batch_.empty()) << what;
    }
    if (!room_.ok()) ++refusals_;
    return what;
  }

  void Orphan(const std::string& path) {
    const Result<FileStatus> there = names_->Stat(path);
    if (!there.ok() || !there->directory) return;
    for (const FileId file : names_->OpenFiles()) {
      if (names_->FindOpen(file)->path.starts_with(path + "/")) orphans_.insert(file);
    }
  }

  std::string Create(const std::string& path, const std::string& user) {
    const CreateOptions options{.replication = static_cast<std::uint32_t>(1 + random_.Below(3)),
                                .block_size = std::uint64_t{1} << (20 + random_.Below(3)),
                                .overwrite = random_.Below(4) == 0,
                                .owner = user};
    room_ = names_->CheckRoomForFile(path, options);
    parents_come_later_ = !names_->Stat(ParentPath(path)).ok();
    return Did("create " + path, names_->Create(path, options, now_, &batch_).status());
  }

  // Completes, syncs or gives up an open file. None of them asks for room.
  std::string Close() {
    const std::optional<OpenFile> file = names_->FindOpen(AnyOpen());
    if (!file) return "nothing";
    std::vector<Block> blocks = file->synced;
    for (const BlockId block : file->blocks) {
      const bool synced = std::ranges::find(file->synced, block, &Block::id) != file->synced.end();
      if (!synced && random_.Below(3) != 0) blocks.push_back({block, random_.Below(1 << 20), 7});
    }
    const std::uint64_t how = random_.Below(4);
    Status status;
    if (how == 0) {
      status = names_->Abandon(file->id, now_, &batch_, &freed_).status();
    } else if (how == 1) {
      status = names_->Sync(file->id, 0, blocks, &batch_);
    } else if (how == 2) {
      status = names_->CompleteAs(file->id, Path(), blocks, now_, &batch_, &freed_);
    } else {
      status = names_->Complete(file->id, blocks, now_, &batch_, &freed_);
    }
    parents_come_later_ = true;
    Did("close " + file->path, status);
    done_ = false;
    return "close " + file->path;
  }

  std::string SetQuota(const std::string& path, const std::string& user) {
    const Quota quota = random_.Below(4) == 0 ? Quota() : AnyQuota();
    if (random_.Below(3) == 0) {
      EXPECT_TRUE(names_->SetUserQuota(user, quota, &batch_).ok());
      user_quotas_.erase(user);
      if (!quota.none()) user_quotas_[user] = quota;
      return "quota of " + user;
    }
    const std::string of = random_.Below(8) == 0 ? "/" : path;
    const Status status = names_->SetQuota(of, quota, &batch_);
    if (!status.ok()) return "no quota";
    quotas_.erase(of);
    if (!quota.none()) quotas_[of] = {++numbers_given_, quota};
    return "quota of " + of;
  }

  // ---- the trash ----

  struct Removed {
    std::string user, path, place;
    Micros at = 0;
    std::map<std::string, std::vector<Block>> files;  // by their path below `path`
  };
  std::map<std::string, std::vector<Block>> FilesAt(const std::string& path) const {
    std::map<std::string, std::vector<Block>> files;
    (void)names_->Walk(path, [&](const FileStatus& file) {
      files[file.path.substr(path.size())] = *names_->Blocks(file.path);
      return true;
    });
    return files;
  }
  void KeepBlocks() {
    kept_.clear();
    for (const Removed& removed : removed_) {
      for (const auto& [path, blocks] : removed.files) {
        for (const Block& block : blocks) kept_.insert(block.id);
      }
    }
  }

  std::string Trash(const std::string& path, const std::string& user) {
    Removed removed{user, path, {}, now_, FilesAt(path)};
    Orphan(path);
    const Result<std::string> place = names_->Trash(path, true, user, now_, &batch_);
    if (!place.ok()) return Did("trash " + path, place.status());
    removed.place = *place;
    EXPECT_EQ(FilesAt(*place), removed.files);
    removed_.push_back(removed);
    Moved(path, *place);
    KeepBlocks();
    return "trash " + path;  // it asks for no room
  }

  std::string Undelete(const std::string& path, const std::string& user) {
    const Result<std::string> place = names_->FindDeleted(user, path);
    const auto newest = std::find_if(removed_.rbegin(), removed_.rend(), [&](const Removed& removed) {
      return removed.user == user && removed.path == path;
    });
    if (newest == removed_.rend()) return "nothing to undelete";  // perhaps a part of what was removed
    EXPECT_TRUE(place.ok()) << path << " was removed by " << user << " and is not in the trash";
    if (!place.ok() || *place != newest->place) return "a part that is newer";
    const Removed removed = *newest;
    room_ = names_->CheckRoomForRename(*place, path, user);
    const Status status = names_->Undelete(*place, path, user, now_, &batch_);
    if (status.ok()) {
      EXPECT_EQ(FilesAt(path), removed.files);
      EXPECT_FALSE(names_->Stat(*place).ok());
      Moved(removed.place, path);
      removed_.erase(std::next(newest).base());
      KeepBlocks();
      ++returned_;
    }
    parents_come_later_ = true;  // and directories of the trash go, which the check does not reckon with
    return Did("undelete " + path, status);
  }

  std::string Purge() {
    const std::vector<std::string> expired = names_->ExpiredTrash(now_ - kRetention, 3);
    for (const std::string& place : expired) {
      const auto gone = std::ranges::find_if(removed_, [&](const Removed& one) { return IsWithin(one.place, place); });
      if (gone != removed_.end()) {
        EXPECT_LE(gone->at, now_ - kRetention);
        removed_.erase(gone);
      }
      KeepBlocks();
      EXPECT_TRUE(names_->Remove(place, true, &batch_, &freed_).ok());
      Gone(place);
      ++purged_;
    }
    if (expired.empty()) {
      for (const Removed& removed : removed_) EXPECT_GT(removed.at, now_ - kRetention) << removed.place;
    }
    return "purge";
  }

  Random random_;
  BlockNumbers numbers_;
  std::unique_ptr<Namespace> names_;
  std::unique_ptr<KeyValueStore> store_;
  WriteBatch batch_;
  Micros now_ = 1'000'000;
  bool done_ = false, parents_come_later_ = false;
  Status room_;
  struct Numbered {
    int number = 0;
    Quota quota;
  };
  std::map<std::string, Numbered> quotas_;  // by the path of the directory
  int numbers_given_ = 0;
  std::map<std::string, Quota> user_quotas_;
  std::set<FileId> orphans_;
  std::vector<Removed> removed_;
  std::set<BlockId> kept_;  // the blocks of what is in the trash
  std::vector<BlockId> freed_;
  std::uint64_t refusals_ = 0, returned_ = 0, purged_ = 0;
};

TEST(QuotaModel, UseIsWhatAWalkSeesAndTheTrashKeepsWhatItWasGiven) {
  const std::uint64_t base = SeedFromSystem();
  std::uint64_t refusals = 0, returned = 0, purged = 0;
  for (std::uint64_t round = 0; round < 20; ++round) {
    SCOPED_TRACE("seed " + std::to_string(base + round));
    Driver driver(base + round);
    for (int step = 0; step < 1000; ++step) {
      driver.Step();
      if (step % 50 == 49) driver.Reload();
      if (testing::Test::HasFailure()) return;
    }
    refusals += driver.refusals();
    returned += driver.returned();
    purged += driver.purged();
  }
  EXPECT_GT(refusals, 100U);
  EXPECT_GT(returned, 20U);
  EXPECT_GT(purged, 50U);
}

}  // namespace
}  // namespace millrace::dfs
