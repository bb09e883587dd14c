// SPDX-License-Identifier: Apache-2.0
// Runs random operations on a Namespace and on a model that is just a map from path to entry. After every few
// operations, what was stored is loaded into a fresh Namespace and compared as well; so is every prefix of the batches.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/random.h"
#include "dfs/name/namespace.h"
#include "dfs/wire/path.h"
#include "tests/dfs/name/block_numbers.h"
#include "tests/fakes/memory_store.h"

namespace millrace::dfs {
namespace {

struct ModelEntry {
  bool directory = false;
  FileId id = 0;
  Micros modified = 0;
  std::string owner = {};
  std::uint32_t replication = 0;
  std::vector<Block> blocks = {};
  std::string group = {};
  Mode mode = kDirectoryMode;
  bool operator==(const ModelEntry&) const = default;
};

struct ModelOpen {
  std::string path;
  bool overwrite = false;
  bool orphaned = false;
  std::uint32_t replication = 0;
  std::vector<BlockId> blocks;
  std::vector<Block> synced = {};
  bool operator==(const ModelOpen&) const = default;

  [[nodiscard]] bool IsSynced(BlockId block) const {
    return std::any_of(synced.begin(), synced.end(), [block](const Block& one) { return one.id == block; });
  }
};

struct Model {
  std::map<std::string, ModelEntry> tree = {{"/", {.directory = true, .owner = "", .mode = 01777}}};
  std::map<FileId, ModelOpen> open;
  bool operator==(const Model&) const = default;

  [[nodiscard]] const ModelEntry* At(const std::string& path) const {
    const auto it = tree.find(path);
    return it == tree.end() ? nullptr : &it->second;
  }
  [[nodiscard]] bool FileAbove(const std::string& path) const {
    for (std::string up(ParentPath(path)); up != "/"; up = ParentPath(up)) {
      if (At(up) != nullptr && !At(up)->directory) return true;
    }
    return false;
  }
  // Returns the group of the deepest existing directory above the path.
  [[nodiscard]] std::string GroupAbove(const std::string& path) const {
    std::string up(ParentPath(path));
    while (At(up) == nullptr) up = ParentPath(up);
    return At(up)->group;
  }
  void MakeParents(const std::string& path, const std::string& owner, Micros now) {
    const std::string group = GroupAbove(path);
    for (std::string up(ParentPath(path)); up != "/"; up = ParentPath(up)) {
      tree.try_emplace(up, ModelEntry{.directory = true, .modified = now, .owner = owner, .group = group});
    }
  }
  [[nodiscard]] StatusCode Place(const std::string& path, bool overwrite, FileId self) const {
    if (FileAbove(path)) return StatusCode::kInvalid;
    if (const ModelEntry* there = At(path); there != nullptr && (there->directory || !overwrite))
      return StatusCode::kExists;
    for (const auto& [id, file] : open) {
      if (id != self && !file.orphaned && file.path == path) return StatusCode::kBusy;
    }
    return StatusCode::kOk;
  }
};

// Returns everything that can be seen from outside, in the model's terms.
Model Seen(const Namespace& names) {
  Model seen;
  seen.tree.clear();
  std::vector<std::string> directories = {"/"};
  const FileStatus root = *names.Stat("/");
  seen.tree["/"] = {.directory = root.directory, .owner = root.owner, .group = root.group, .mode = root.mode};
  while (!directories.empty()) {
    const std::string directory = directories.back();
    directories.pop_back();
    std::string after;
    while (true) {  // in pages of three
      const auto page = *names.List(directory, after, 3);
      if (page.empty()) break;
      for (const FileStatus& s : page) {
        ModelEntry& entry = seen.tree[s.path];
        entry = {s.directory, s.id, s.modified, s.owner, s.replication, {}, s.group, s.mode};
        if (s.directory) {
          directories.push_back(s.path);
        } else {
          entry.blocks = *names.Blocks(s.path);
          for (const Block& b : entry.blocks) EXPECT_EQ(names.OwnerOf(b.id)->path, s.path);
        }
      }
      after = BaseName(page.back().path);
    }
  }
  for (const FileId id : names.OpenFiles()) {
    const OpenFile file = *names.FindOpen(id);
    seen.open[id] = {file.path, file.options.overwrite, false, file.options.replication, file.blocks, file.synced};
    for (const BlockId b : file.blocks) EXPECT_TRUE(names.OwnerOf(b)->open);
  }
  return seen;
}

void ExpectTotals(const Namespace& names) {
  const Namespace::Usage total = names.Total();
  const Namespace::Usage measured = *names.Measure("/");
  EXPECT_EQ(total.files, measured.files);
  EXPECT_EQ(total.directories, measured.directories);
  EXPECT_EQ(total.bytes, measured.bytes);
  EXPECT_EQ(total.bytes_with_replicas, measured.bytes_with_replicas);
  EXPECT_EQ(total.blocks, measured.blocks);
}

class Driver {
 public:
  explicit Driver(std::uint64_t seed)
      : random_(seed), numbers_(SeededNumbers(seed)), names_(NewNames()), store_(MakeMemoryStore()) {}

  void Step() {
    ++now_;
    WriteBatch batch;
    freed_.clear();
    expected_freed_.clear();
    const StatusCode got = Act(&batch);
    EXPECT_EQ(static_cast<int>(got), static_cast<int>(expected_)) << "operation " << action_ << " at time " << now_;
    EXPECT_TRUE(got == StatusCode::kOk || batch.empty());
    EXPECT_EQ(std::multiset<BlockId>(freed_.begin(), freed_.end()),
              std::multiset<BlockId>(expected_freed_.begin(), expected_freed_.end()));
    for (const BlockId b : freed_) EXPECT_FALSE(names_->OwnerOf(b).has_value());
    ASSERT_TRUE(store_->Write(batch, Durability::kSynced).ok());
  }

  void Compare() {
    EXPECT_EQ(Seen(*names_), Visible());
    ExpectTotals(*names_);
  }

  // Begins a new life, in which the Namespace is what the store says.
  void Reload() {
    names_ = NewNames();
    const Status loaded = names_->Load(*store_);
    ASSERT_TRUE(loaded.ok()) << loaded.message();
    Compare();
  }

 private:
  // All lives draw numbers from one source.
  std::unique_ptr<Namespace> NewNames() {
    return std::make_unique<Namespace>([this] { return numbers_(); });
  }
  Block AnyBlock(BlockId id) { return {id, random_.Below(100), static_cast<std::uint32_t>(random_.Next())}; }

  Model Visible() const {
    Model visible = model_;
    for (auto& [id, file] : visible.open) file.orphaned = false;  // shows only at Complete
    return visible;
  }

  std::string RandomPath() {
    std::string path;
    for (std::uint64_t depth = 1 + random_.Below(4); depth > 0; --depth) {
      path += "/" + std::string(1, static_cast<char>('a' + random_.Below(3)));
      if (random_.Below(6) == 0) path += "-x";
    }
    return path;
  }
  FileId RandomOpen() {
    if (model_.open.empty() || random_.Below(20) == 0) return 1'000'000'000;
    return std::next(model_.open.begin(), static_cast<std::ptrdiff_t>(random_.Below(model_.open.size())))->first;
  }

  StatusCode Act(WriteBatch* batch) {
    action_ = random_.Below(21);
    switch (action_) {
      case 0:
        return MakeDirectory(batch);
      case 1:
        return Remove(batch);
      case 2:
      case 3:
        return Rename(batch);
      case 4:
        return SetReplication(batch);
      case 5:
      case 6:
      case 7:
        return Create(batch);
      case 8:
      case 9:
      case 10:
        return AddBlock(batch);
      case 11:
        return DropBlock(batch);
      case 12:
        return Abandon(batch);
      case 19:
        return SetMode(batch);
      case 20:
        return SetOwner(batch);
      case 13:
      case 14:
      case 15:
        return Sync(batch);
      default:
        return Complete(batch, action_ == 18);
    }
  }

  StatusCode MakeDirectory(WriteBatch* batch) {
    const std::string path = RandomPath();
    const ModelEntry* there = model_.At(path);
    expected_ = model_.FileAbove(path)                  ? StatusCode::kInvalid
                : there != nullptr && !there->directory ? StatusCode::kExists
                                                        : StatusCode::kOk;
    const Mode mode = AnyMode();
    if (expected_ == StatusCode::kOk && there == nullptr) {
      const std::string group = model_.GroupAbove(path);
      model_.MakeParents(path, "ann", now_);
      model_.tree[path] = {.directory = true, .modified = now_, .owner = "ann", .group = group, .mode = mode};
    }
    return names_->MakeDirectory(path, "ann", now_, batch, mode).code();
  }

  Mode AnyMode() { return static_cast<Mode>(random_.Below(01000) | (random_.Below(4) == 0 ? 01000 : 0)); }

  StatusCode SetMode(WriteBatch* batch) {
    const std::string path = random_.Below(10) == 0 ? "/" : RandomPath();
    const Mode mode = random_.Below(10) == 0 ? 04000 : AnyMode();
    expected_ = model_.At(path) == nullptr ? StatusCode::kNotFound
                : mode == 04000            ? StatusCode::kInvalid
                                           : StatusCode::kOk;
    if (expected_ == StatusCode::kOk) model_.tree[path].mode = mode;
    return names_->SetMode(path, mode, batch).code();
  }

  StatusCode SetOwner(WriteBatch* batch) {
    const std::string path = random_.Below(10) == 0 ? "/" : RandomPath();
    const std::uint64_t which = random_.Below(3);
    expected_ = model_.At(path) == nullptr ? StatusCode::kNotFound : StatusCode::kOk;
    if (expected_ == StatusCode::kOk && which != 0) model_.tree[path].owner = "carl";
    if (expected_ == StatusCode::kOk && which != 1) model_.tree[path].group = "g" + std::to_string(now_ % 3);
    const std::string group = "g" + std::to_string(now_ % 3);
    const auto owner_given = which != 0 ? std::optional<std::string_view>("carl") : std::nullopt;
    const auto group_given = which != 1 ? std::optional<std::string_view>(group) : std::nullopt;
    return names_->SetOwner(path, owner_given, group_given, batch).code();
  }

  StatusCode Remove(WriteBatch* batch) {
    const std::string path = RandomPath();
    const bool recursive = random_.Below(2) == 0;
    std::vector<std::string> inside;
    for (const auto& [p, entry] : model_.tree) {
      if (IsWithin(p, path)) inside.push_back(p);
    }
    expected_ = inside.empty()                    ? StatusCode::kNotFound
                : inside.size() > 1 && !recursive ? StatusCode::kInvalid
                                                  : StatusCode::kOk;
    if (expected_ == StatusCode::kOk) {
      const bool directory = model_.At(path)->directory;
      for (const std::string& p : inside) {
        for (const Block& b : model_.tree[p].blocks) expected_freed_.push_back(b.id);
        model_.tree.erase(p);
      }
      for (auto& [id, file] : model_.open) {
        if (directory && file.path != path && IsWithin(file.path, path)) file.orphaned = true;
      }
    }
    return names_->Remove(path, recursive, batch, &freed_).code();
  }

  StatusCode Rename(WriteBatch* batch) {
    const std::string from = RandomPath();
    const std::string to = random_.Below(10) == 0 ? "/" : RandomPath();
    std::string target = to;
    if (const ModelEntry* there = model_.At(to); there != nullptr && there->directory) {
      target = (to == "/" ? "" : to) + "/" + std::string(BaseName(from));
    }
    const ModelEntry* moved = model_.At(from);
    const std::string maker = random_.Below(2) == 0 ? "" : "dora";
    expected_ = moved == nullptr                             ? StatusCode::kNotFound
                : moved->directory && IsWithin(target, from) ? StatusCode::kInvalid
                : model_.FileAbove(target)                   ? StatusCode::kInvalid
                : model_.At(target) != nullptr               ? StatusCode::kExists
                                                             : StatusCode::kOk;
    if (expected_ == StatusCode::kOk) {
      model_.MakeParents(target, maker.empty() ? moved->owner : maker, now_);
      std::map<std::string, ModelEntry> rest;
      for (auto& [p, entry] : model_.tree) {
        rest[IsWithin(p, from) ? target + p.substr(from.size()) : p] = std::move(entry);
      }
      model_.tree = std::move(rest);
    }
    return names_->Rename(from, to, now_, batch, maker).code();
  }

  StatusCode SetReplication(WriteBatch* batch) {
    const std::string path = RandomPath();
    const auto replication = static_cast<std::uint32_t>(random_.Below(5));
    const ModelEntry* there = model_.At(path);
    expected_ = there == nullptr                       ? StatusCode::kNotFound
                : there->directory || replication == 0 ? StatusCode::kInvalid
                                                       : StatusCode::kOk;
    if (expected_ == StatusCode::kOk) model_.tree[path].replication = replication;
    return names_->SetReplication(path, replication, batch).code();
  }

  StatusCode Create(WriteBatch* batch) {
    const std::string path = RandomPath();
    const CreateOptions options{.replication = static_cast<std::uint32_t>(1 + random_.Below(4)),
                                .overwrite = random_.Below(2) == 0,
                                .mode = AnyMode(),
                                .owner = random_.Below(2) == 0 ? "ann" : "bob"};
    expected_ = model_.Place(path, options.overwrite, 0);
    const Result<FileId> id = names_->Create(path, options, now_, batch);
    if (!id.ok()) return id.status().code();
    EXPECT_TRUE(ids_.insert(*id).second) << "id " << *id << " came again";
    model_.open[*id] = {path, options.overwrite, false, options.replication, {}};
    owners_[*id] = options.owner;
    modes_[*id] = options.mode;
    return StatusCode::kOk;
  }

  StatusCode AddBlock(WriteBatch* batch) {
    const FileId file = RandomOpen();
    expected_ = model_.open.contains(file) ? StatusCode::kOk : StatusCode::kNotFound;
    const Result<BlockId> block = names_->AddBlock(file, batch);
    if (!block.ok()) return block.status().code();
    EXPECT_TRUE(ids_.insert(*block).second) << "id " << *block << " came again";
    std::vector<BlockId>& blocks = model_.open[file].blocks;
    blocks.insert(std::lower_bound(blocks.begin(), blocks.end(), *block), *block);
    return StatusCode::kOk;
  }

  StatusCode DropBlock(WriteBatch* batch) {
    const FileId file = RandomOpen();
    const auto open = model_.open.find(file);
    BlockId block = 1;
    expected_ = StatusCode::kNotFound;
    if (open != model_.open.end() && !open->second.blocks.empty()) {
      std::vector<BlockId>& blocks = open->second.blocks;
      const auto at = blocks.begin() + static_cast<std::ptrdiff_t>(random_.Below(blocks.size()));
      block = *at;
      expected_ = open->second.IsSynced(block) ? StatusCode::kInvalid : StatusCode::kOk;
      if (expected_ == StatusCode::kOk) blocks.erase(at);
    }
    return names_->DropBlock(file, block, batch).code();
  }

  StatusCode Abandon(WriteBatch* batch) {
    const FileId file = RandomOpen();
    expected_ = StatusCode::kNotFound;
    bool kept = false, lost = false;
    if (const auto open = model_.open.find(file); open != model_.open.end()) {
      const ModelOpen was = open->second;
      kept = !was.synced.empty() && !was.orphaned && model_.Place(was.path, was.overwrite, file) == StatusCode::kOk;
      lost = !was.synced.empty() && !kept;
      if (kept) {
        Appear(file, was, was.path, was.synced);
      } else {
        expected_freed_ = was.blocks;
        model_.open.erase(open);
      }
      expected_ = StatusCode::kOk;
    }
    const Result<Namespace::Abandoned> abandoned = names_->Abandon(file, now_, batch, &freed_);
    if (abandoned.ok()) {
      EXPECT_EQ(abandoned->kept, kept);
      EXPECT_EQ(!abandoned->not_kept.empty(), lost);
    }
    return abandoned.ok() ? StatusCode::kOk : abandoned.status().code();
  }

  StatusCode Sync(WriteBatch* batch) {
    const FileId file = RandomOpen();
    const auto open = model_.open.find(file);
    std::size_t first = 0;
    std::vector<Block> blocks;
    expected_ = StatusCode::kNotFound;
    if (open != model_.open.end()) {
      ModelOpen& was = open->second;
      expected_ = StatusCode::kOk;
      first = random_.Below(was.synced.size() + 1);
      blocks.assign(was.synced.begin() + static_cast<std::ptrdiff_t>(first), was.synced.end());
      for (const BlockId b : was.blocks) {
        if (!was.IsSynced(b) && random_.Below(2) == 0) blocks.push_back(AnyBlock(b));
      }
      if (!blocks.empty() && random_.Below(8) == 0) {  // a block that is not its own
        blocks.back().id = 1;
        expected_ = StatusCode::kInvalid;
      } else if (first < was.synced.size() && random_.Below(8) == 0) {  // another than before
        ++blocks.front().crc;
        expected_ = StatusCode::kInvalid;
      } else if (random_.Below(8) == 0) {  // a gap
        first = was.synced.size() + 1;
        expected_ = StatusCode::kInvalid;
      }
      if (expected_ == StatusCode::kOk) {
        was.synced.resize(first);
        was.synced.insert(was.synced.end(), blocks.begin(), blocks.end());
      }
    }
    return names_->Sync(file, first, blocks, batch).code();
  }

  // Makes an open file visible with these blocks.
  void Appear(FileId file, const ModelOpen& was, const std::string& path, const std::vector<Block>& blocks) {
    for (const BlockId b : was.blocks) {
      if (std::none_of(blocks.begin(), blocks.end(), [b](const Block& n) { return n.id == b; })) {
        expected_freed_.push_back(b);
      }
    }
    for (const Block& b : model_.tree[path].blocks) expected_freed_.push_back(b.id);
    const std::string group = model_.GroupAbove(path);
    model_.MakeParents(path, owners_[file], now_);
    model_.tree[path] = {false, file, now_, owners_[file], was.replication, blocks, group, modes_[file]};
    model_.open.erase(file);
  }

  StatusCode Complete(WriteBatch* batch, bool as) {
    const FileId file = RandomOpen();
    const auto open = model_.open.find(file);
    const std::string other = RandomPath();
    std::vector<Block> blocks;
    expected_ = StatusCode::kNotFound;
    if (open != model_.open.end()) {
      const ModelOpen was = open->second;
      const std::string path = as ? other : was.path;
      for (const BlockId b : was.blocks) {
        if (!was.IsSynced(b) && random_.Below(4) != 0) blocks.insert(blocks.begin(), AnyBlock(b));
      }
      const bool whole = random_.Below(4) != 0;
      if (whole) blocks.insert(blocks.begin(), was.synced.begin(), was.synced.end());
      if (!was.orphaned) expected_ = model_.Place(path, was.overwrite, file);
      if (expected_ == StatusCode::kOk && !whole && !was.synced.empty()) expected_ = StatusCode::kInvalid;
      if (expected_ == StatusCode::kOk) Appear(file, was, path, blocks);
    }
    if (as) {
      EXPECT_EQ(names_->CheckComplete(file, other, blocks, now_).code(), expected_);
    }
    return (as ? names_->CompleteAs(file, other, blocks, now_, batch, &freed_)
               : names_->Complete(file, blocks, now_, batch, &freed_))
        .code();
  }

  Random random_;
  BlockNumbers numbers_;
  std::unique_ptr<Namespace> names_;
  std::unique_ptr<KeyValueStore> store_;
  Model model_;
  Micros now_ = 0;
  std::uint64_t action_ = 0;
  StatusCode expected_ = StatusCode::kOk;
  std::vector<BlockId> freed_, expected_freed_;
  std::set<std::uint64_t> ids_;
  std::map<FileId, std::string> owners_;
  std::map<FileId, Mode> modes_;
};

TEST(NamespaceModel, BehavesAsAMapOfPaths) {
  const std::uint64_t base = SeedFromSystem();
  for (std::uint64_t round = 0; round < 20; ++round) {
    SCOPED_TRACE("seed " + std::to_string(base + round));
    Driver driver(base + round);
    for (int step = 0; step < 1000; ++step) {
      driver.Step();
      if (step % 25 == 0) driver.Compare();
      if (step % 100 == 99) driver.Reload();
      if (testing::Test::HasFailure()) return;
    }
  }
}

// A crash leaves a prefix of the committed batches. Each step is followed by a new life, so every prefix is loaded,
// compared with the model at that point, and continued from.
TEST(NamespaceModel, EveryPrefixOfTheBatchesIsConsistent) {
  const std::uint64_t base = SeedFromSystem();
  for (std::uint64_t round = 0; round < 5; ++round) {
    SCOPED_TRACE("seed " + std::to_string(base + round));
    Driver driver(base + round);
    for (int step = 0; step < 300; ++step) {
      driver.Step();
      driver.Reload();
      if (testing::Test::HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace millrace::dfs
