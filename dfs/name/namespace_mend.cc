// SPDX-License-Identifier: Apache-2.0
#include "dfs/name/namespace_mend.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "dfs/name/namespace_codec.h"
#include "dfs/name/namespace_load.h"
#include "dfs/name/permissions.h"

namespace millrace::dfs {
namespace {

struct Entry {
  std::string key;
  FileId parent = 0;
  std::string name;
  bool directory = false;
  FileId id = 0;
  std::vector<Block> blocks;
  std::string value;
  bool removed = false;
};

class Mender {
 public:
  Mender(const KeyValueStore& store, const std::function<bool(std::string_view)>& is_newer, WriteBatch* batch)
      : store_(store), is_newer_(is_newer), batch_(*batch) {}

  Result<std::vector<std::string>> Mend() {
    MILLRACE_TRY(ReadEntries());
    for (Entry& entry : entries_) Place(entry);
    for (Entry& entry : entries_) FindParent(entry);
    MILLRACE_TRY(MendOpenFiles());
    MILLRACE_TRY(MendIds());
    return std::move(told_);
  }

 private:
  Status ReadEntries() {
    Status failure;
    MILLRACE_TRY(store_.Scan(kEntryPrefix, {}, [&](std::string_view key, std::string_view value) {
      const Result<EntryKey> at = DecodeEntryKey(key);
      Result<StoredEntry> stored = DecodeEntry(value);
      if (!at.ok() || !stored.ok()) {
        failure = (at.ok() ? stored.status() : at.status()).Within("namespace key " + DescribeKey(key));
        return false;
      }
      highest_ = std::max({highest_, stored->node.id, at->parent});
      entries_.push_back({std::string(key), at->parent, std::string(at->name), stored->directory, stored->node.id,
                          std::move(stored->blocks), std::string(value)});
      return true;
    }));
    return failure;
  }

  // If two entries name the same thing, one of them is its place before a move.
  void Place(Entry& entry) {
    std::set<Entry*> others;
    if (entry.directory) {
      if (const auto there = directories_.find(entry.id); there != directories_.end()) others.insert(there->second);
    }
    for (const Block& block : entry.blocks) {
      if (const auto there = holders_.find(block.id); there != holders_.end()) others.insert(there->second);
    }
    const bool gives_way = !others.empty() && !is_newer_(entry.key);
    for (Entry* other : others) {
      if (!gives_way) Remove(*other, PathOf(entry));
    }
    if (gives_way) return Remove(entry, PathOf(**others.begin()));
    if (entry.directory) directories_[entry.id] = &entry;
    for (const Block& block : entry.blocks) holders_[block.id] = &entry;
  }

  void Remove(Entry& entry, const std::string& for_path) {
    entry.removed = true;
    const auto placed = directories_.find(entry.id);
    if (placed != directories_.end() && placed->second == &entry) directories_.erase(placed);
    for (const Block& block : entry.blocks) {
      const auto held = holders_.find(block.id);
      if (held != holders_.end() && held->second == &entry) holders_.erase(held);
    }
    batch_.Remove(entry.key);
    told_.push_back(Quote(PathOf(entry)) + " is gone: it is " + Quote(for_path) + " as well");
  }

  // Makes the contents of a directory that is lost, or that lies within itself, reachable again.
  void FindParent(Entry& entry) {
    if (entry.removed) return;
    if (entry.parent != 0 && !directories_.contains(entry.parent) && !found_.contains(entry.parent)) {
      found_.insert(entry.parent);
      const std::string name = "directory-" + std::to_string(entry.parent);
      batch_.Put(EncodeEntryKey(FoundId(), name), DirectoryValue(entry.parent));
      told_.push_back("a directory whose name is lost is " + Quote(std::string(kFoundDirectory) + "/" + name));
    }
    if (!entry.directory || !IsWithinItself(entry)) return;
    const std::string name = "directory-" + std::to_string(entry.id);
    batch_.Remove(entry.key);
    batch_.Put(EncodeEntryKey(FoundId(), name), entry.value);
    told_.push_back(Quote(entry.name) + " lay within itself, and is " +
                    Quote(std::string(kFoundDirectory) + "/" + name));
    entry.parent = FoundId();
  }

  [[nodiscard]] bool IsWithinItself(const Entry& entry) const {
    std::set<FileId> above;
    for (FileId at = entry.parent; at != 0 && above.insert(at).second;) {
      if (at == entry.id) return true;
      const auto there = directories_.find(at);
      at = there == directories_.end() ? 0 : there->second->parent;
    }
    return false;
  }

  // Returns the id of kFoundDirectory, which is made if need be.
  FileId FoundId() {
    const std::string name(kFoundDirectory.substr(1));
    if (found_id_ != 0) return found_id_;
    for (const Entry& entry : entries_) {
      if (entry.parent == 0 && entry.name == name && entry.directory && !entry.removed) return found_id_ = entry.id;
    }
    found_id_ = ++highest_;
    batch_.Put(EncodeEntryKey(0, name), DirectoryValue(found_id_));
    return found_id_;
  }
  [[nodiscard]] static std::string DirectoryValue(FileId id) {
    return EncodeDirectory({.id = id, .modified = 0, .owner = {}, .group = {}, .mode = kDirectoryMode});
  }

  [[nodiscard]] std::string PathOf(const Entry& entry) const {
    std::string path = "/" + entry.name;
    std::set<FileId> seen;
    for (FileId at = entry.parent; at != 0 && seen.insert(at).second;) {
      const auto there = std::ranges::find_if(entries_, [at](const Entry& e) { return e.directory && e.id == at; });
      path.insert(0, there == entries_.end() ? "/?" : "/" + there->name);
      at = there == entries_.end() ? 0 : there->parent;
    }
    return path;
  }

  // ---- open files: one that does not fit is given up ----

  struct Open {
    std::vector<std::string> keys;
    std::optional<std::string> path;
    std::vector<BlockId> blocks;
    std::map<std::uint64_t, BlockId> synced;  // by position
    bool fits = true;
  };

  Status MendOpenFiles() {
    std::map<FileId, Open> open;
    MILLRACE_TRY(store_.Scan(kOpenPrefix, {}, [&](std::string_view key, std::string_view value) {
      const Result<OpenKey> id = DecodeOpenKey(key);
      Open& file = open[id.ok() ? id->file : 0];
      file.keys.emplace_back(key);
      file.fits = file.fits && id.ok() && Read(*id, value, &file);
      if (id.ok()) highest_ = std::max(highest_, id->file);
      return true;
    }));
    std::set<std::string> paths;
    std::set<BlockId> blocks;
    for (auto& [id, file] : open) {
      file.fits = file.fits && file.path && paths.insert(*file.path).second;
      for (const BlockId block : file.blocks)
        file.fits = file.fits && !holders_.contains(block) && blocks.insert(block).second;
      if (!file.synced.empty()) file.fits = file.fits && file.synced.rbegin()->first + 1 == file.synced.size();
      if (file.fits) continue;
      for (const std::string& key : file.keys) batch_.Remove(key);
      told_.push_back("the file that was being written at " + (file.path ? Quote(*file.path) : "a path that is lost") +
                      " is given up");
    }
    return Status::Ok();
  }

  static bool Read(const OpenKey& id, std::string_view value, Open* file) {
    if (id.block == 0) {
      const Result<StoredOpenFile> stored = DecodeOpenFile(value);
      if (stored.ok()) file->path = stored->path;
      return stored.ok();
    }
    file->blocks.push_back(id.block);
    if (value.empty()) return true;
    const Result<StoredSynced> synced = DecodeSynced(value);
    return synced.ok() && file->synced.emplace(synced->position, id.block).second;
  }

  Status MendIds() {
    const Result<std::uint64_t> limit = LoadIdLimit(store_);
    if (limit.ok() && *limit > highest_) return Status::Ok();
    batch_.Put(std::string(kIdKey), EncodeIdLimit(highest_ + 1));
    return Status::Ok();
  }

  const KeyValueStore& store_;
  const std::function<bool(std::string_view)>& is_newer_;
  WriteBatch& batch_;
  std::vector<Entry> entries_;  // does not grow once it is read
  std::map<FileId, Entry*> directories_;
  std::map<BlockId, Entry*> holders_;
  std::set<FileId> found_;  // directories that were made in kFoundDirectory
  FileId found_id_ = 0;
  FileId highest_ = 0;
  std::vector<std::string> told_;
};

// Returns the path of the directory with this id.
Result<std::string> PathOfDirectory(const KeyValueStore& store, FileId id) {
  std::map<FileId, std::pair<FileId, std::string>> directories;  // parent and name
  MILLRACE_TRY(store.Scan(kEntryPrefix, {}, [&](std::string_view key, std::string_view value) {
    const Result<EntryKey> at = DecodeEntryKey(key);
    const Result<StoredEntry> entry = DecodeEntry(value);
    if (at.ok() && entry.ok() && entry->directory) directories[entry->node.id] = {at->parent, std::string(at->name)};
    return true;
  }));
  std::string path;
  std::set<FileId> seen;
  for (; id != 0 && seen.insert(id).second;) {
    const auto there = directories.find(id);
    path.insert(0, there == directories.end() ? "/?" : "/" + there->second.second);
    id = there == directories.end() ? 0 : there->second.first;
  }
  return path;
}

}  // namespace

Result<std::string> DescribeStoredKey(const KeyValueStore& store, std::string_view key) {
  if (key.starts_with(kEntryPrefix)) {
    const Result<EntryKey> at = DecodeEntryKey(key);
    if (!at.ok()) return Quote(key);
    MILLRACE_ASSIGN(const std::string above, PathOfDirectory(store, at->parent));
    return Quote(above + "/" + std::string(at->name));
  }
  if (!key.starts_with(kOpenPrefix)) return std::string();
  const Result<OpenKey> open = DecodeOpenKey(key);
  if (!open.ok()) return Quote(key);
  MILLRACE_ASSIGN(const std::optional<std::string> stored, store.Get(EncodeOpenKey(open->file)));
  const Result<StoredOpenFile> file = DecodeOpenFile(stored ? std::string_view(*stored) : std::string_view());
  if (!file.ok()) return "file " + std::to_string(open->file) + ", which was being written";
  return Quote(file->path) + ", which was being written";
}

Result<std::vector<std::string>> MendNamespace(const KeyValueStore& store,
                                               const std::function<bool(std::string_view key)>& is_newer,
                                               WriteBatch* batch) {
  return Mender(store, is_newer, batch).Mend();
}

}  // namespace millrace::dfs
