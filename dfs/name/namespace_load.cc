// SPDX-License-Identifier: Apache-2.0
#include "dfs/name/namespace_load.h"

#include <boost/unordered/unordered_flat_map.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "dfs/name/namespace_codec.h"

namespace millrace::dfs {
namespace {

Status Misfit(std::string_view key, std::string_view why) {
  return Corrupt("namespace key " + DescribeKey(key) + ": " + std::string(why));
}

// Builds the tree from its entries. A directory that is first met as the parent of an entry is kept aside until its own
// entry comes.
class TreeLoader {
 public:
  TreeLoader(Tree* tree, std::uint64_t id_limit) : tree_(*tree), id_limit_(id_limit), current_(tree->root()) {
    known_.emplace(0, tree->root());
  }

  Status Add(std::string_view key, std::string_view value) {
    Result<EntryKey> at = DecodeEntryKey(key);
    if (!at.ok()) return Misfit(key, at.status().message());
    Result<StoredEntry> entry = DecodeEntry(value);
    if (!entry.ok()) return Misfit(key, entry.status().message());
    if (entry->node.id == 0 || entry->node.id >= id_limit_) return Misfit(key, "its id was never given out");
    if (at->parent != current_->id) current_ = Parent(at->parent);
    return entry->directory ? AddDirectory(key, at->name, *entry) : AddFile(key, at->name, std::move(*entry));
  }

  Status SetRoot(std::string_view value) {
    const Result<StoredEntry> entry = DecodeEntry(value);
    if (!entry.ok()) return Misfit(kRootKey, entry.status().message());
    if (!entry->directory || entry->node.id != 0) return Misfit(kRootKey, "not the root");
    Fill(entry->node, tree_.root());
    return Status::Ok();
  }

  // A program that does not know quotas may have removed the directory of one.
  Status SetQuota(std::string_view key, std::string_view value) {
    const Result<QuotaKey> of = DecodeQuotaKey(key);
    if (!of.ok()) return Misfit(key, of.status().message());
    const Result<Quota> quota = DecodeQuota(value);
    if (!quota.ok()) return Misfit(key, quota.status().message());
    if (!of->user.empty()) {
      tree_.SetUserQuota(of->user, *quota);
    } else if (const auto known = known_.find(of->directory); known != known_.end()) {
      tree_.SetQuota(known->second, *quota);
    }
    return Status::Ok();
  }

  Status Finish() const {
    if (loose_.empty()) return Status::Ok();
    const auto& [id, directory] = *loose_.begin();
    return Misfit(EncodeEntryKey(id, directory->entries.begin()->first), "its directory does not exist");
  }

 private:
  void Fill(const StoredNode& stored, TreeNode* node) {
    node->modified = stored.modified;
    node->owner = tree_.Intern(stored.owner);
    node->group = tree_.Intern(stored.group);
    node->mode = stored.mode;
  }

  Directory* Parent(FileId id) {
    const auto [known, fresh] = known_.emplace(id, nullptr);
    if (fresh) known->second = KeepAside(id);
    return known->second;
  }

  Directory* KeepAside(FileId id) {
    auto directory = std::make_unique<Directory>();
    directory->id = id;
    return loose_.emplace(id, std::move(directory)).first->second.get();
  }

  Status AddDirectory(std::string_view key, std::string_view name, const StoredEntry& entry) {
    std::unique_ptr<Directory> directory;
    if (const auto loose = loose_.find(entry.node.id); loose != loose_.end()) {
      for (const Directory* above = current_; above != nullptr; above = above->parent) {
        if (above->id == entry.node.id) return Misfit(key, "the directory lies within itself");
      }
      directory = std::move(loose->second);
      loose_.erase(loose);
    } else {
      directory = std::make_unique<Directory>();
      directory->id = entry.node.id;
      if (!known_.emplace(entry.node.id, directory.get()).second) return Misfit(key, "the directory is in two places");
    }
    Fill(entry.node, directory.get());
    ++tree_.total().directories;
    tree_.Attach(current_, name, std::move(directory));
    return Status::Ok();
  }

  Status AddFile(std::string_view key, std::string_view name, StoredEntry entry) {
    auto file = std::make_unique<File>();
    file->id = entry.node.id;
    Fill(entry.node, file.get());
    file->replication = entry.replication;
    file->block_size = entry.block_size;
    file->blocks = std::move(entry.blocks);
    for (const Block& block : file->blocks) {
      if (block.id == 0) return Misfit(key, "no block has the number 0");
    }
    if (!tree_.Register(file.get())) return Misfit(key, "a block is in two places");
    tree_.Attach(current_, name, std::move(file));
    return Status::Ok();
  }

  Tree& tree_;
  const std::uint64_t id_limit_;
  Directory* current_;
  boost::unordered_flat_map<FileId, Directory*> known_;
  std::map<FileId, std::unique_ptr<Directory>> loose_;  // those met only as parents so far
};

// The synced blocks of open files, ordered by their place in the file. The database has them in the order of their ids.
using SyncedBlocks = std::map<FileId, std::map<std::uint64_t, Block>>;

Status AddSynced(const OpenKey& id, std::string_view key, std::string_view value, SyncedBlocks* synced) {
  const Result<StoredSynced> stored = DecodeSynced(value);
  if (!stored.ok()) return Misfit(key, stored.status().message());
  const Block block{id.block, stored->length, stored->crc};
  if (!(*synced)[id.file].emplace(stored->position, block).second) return Misfit(key, "two blocks have its place");
  return Status::Ok();
}

Status AttachSynced(const SyncedBlocks& synced, OpenTable* open) {
  for (const auto& [file, blocks] : synced) {
    const OpenEntry& entry = *open->Find(file);
    for (const auto& [position, block] : blocks) {
      const std::string key = EncodeOpenBlockKey(file, block.id);
      if (position != entry.file.synced.size()) return Misfit(key, "a block before it is missing");
      if (block.length > entry.file.options.block_size) return Misfit(key, "longer than the block size");
      open->Sync(file, block);
    }
  }
  return Status::Ok();
}

Status AddOpen(const Tree& tree, std::uint64_t id_limit, std::string_view key, std::string_view value, OpenTable* open,
               SyncedBlocks* synced) {
  const Result<OpenKey> id = DecodeOpenKey(key);
  if (!id.ok()) return Misfit(key, id.status().message());
  if (id->file == 0 || id->file >= id_limit) return Misfit(key, "its id was never given out");
  if (id->block != 0) {
    if (open->Find(id->file) == nullptr) return Misfit(key, "its file is not open");
    if (tree.HolderOf(id->block) != nullptr || !open->AddBlock(id->file, id->block)) {
      return Misfit(key, "the block is in two places");
    }
    return value.empty() ? Status::Ok() : AddSynced(*id, key, value, synced);
  }
  const Result<StoredOpenFile> stored = DecodeOpenFile(value);
  if (!stored.ok()) return Misfit(key, stored.status().message());
  OpenEntry entry;
  entry.file.id = id->file;
  entry.file.path = stored->path;
  entry.file.options = {.replication = stored->replication,
                        .block_size = stored->block_size,
                        .overwrite = stored->overwrite,
                        .mode = stored->mode,
                        .owner = std::string(stored->owner),
                        .writer = std::string(stored->writer)};
  entry.created = stored->created;
  entry.orphaned = stored->orphaned;
  if (!open->Add(std::move(entry))) return Misfit(key, "another open file has its path");
  return Status::Ok();
}

Status ScanAll(const KeyValueStore& store, std::string_view prefix,
               const std::function<Status(std::string_view, std::string_view)>& add) {
  Status failure;
  MILLRACE_TRY(store.Scan(prefix, {}, [&](std::string_view key, std::string_view value) {
    failure = add(key, value);
    return failure.ok();
  }));
  return failure;
}

}  // namespace

Result<std::uint64_t> LoadIdLimit(const KeyValueStore& store) {
  MILLRACE_ASSIGN(const std::optional<std::string> limit, store.Get(kIdKey));
  if (!limit.has_value()) return 1;
  const Result<std::uint64_t> decoded = DecodeIdLimit(*limit);
  if (!decoded.ok()) return Misfit(kIdKey, decoded.status().message());
  if (*decoded == 0) return Misfit(kIdKey, "ids begin with 1");
  return *decoded;
}

Status LoadTree(const KeyValueStore& store, std::uint64_t id_limit, Tree* tree) {
  TreeLoader loader(tree, id_limit);
  MILLRACE_ASSIGN(const std::optional<std::string> root, store.Get(kRootKey));
  if (root) MILLRACE_TRY(loader.SetRoot(*root));
  MILLRACE_TRY(ScanAll(store, kEntryPrefix,
                       [&](std::string_view key, std::string_view value) { return loader.Add(key, value); }));
  MILLRACE_TRY(loader.Finish());
  tree->ExemptJobLogs();
  return ScanAll(store, kQuotaPrefix,
                 [&](std::string_view key, std::string_view value) { return loader.SetQuota(key, value); });
}

Status LoadOpenFiles(const KeyValueStore& store, std::uint64_t id_limit, const Tree& tree, OpenTable* open) {
  SyncedBlocks synced;
  MILLRACE_TRY(ScanAll(store, kOpenPrefix, [&](std::string_view key, std::string_view value) {
    return AddOpen(tree, id_limit, key, value, open, &synced);
  }));
  return AttachSynced(synced, open);
}

}  // namespace millrace::dfs
