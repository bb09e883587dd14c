// SPDX-License-Identifier: Apache-2.0
// The inside of Namespace (dfs/name/namespace.h), for the files that hold its calls. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dfs/name/namespace.h"
#include "dfs/name/namespace_codec.h"
#include "dfs/name/namespace_open.h"
#include "dfs/name/namespace_tree.h"
#include "dfs/wire/quota.h"

namespace millrace::dfs {

// Returns the path of an entry of the directory.
[[nodiscard]] inline std::string ChildPath(const std::string& directory, std::string_view name) {
  return std::string(directory == "/" ? "" : directory).append("/").append(name);
}

// Gives out ids that are not given out again after a restart, since all of them lie below the stored limit.
class IdSource {
 public:
  std::uint64_t Next(WriteBatch* batch) {
    constexpr std::uint64_t kRun = 4096;
    if (next_ == limit_) {
      limit_ += kRun;
      batch->Put(std::string(kIdKey), EncodeIdLimit(limit_));
    }
    return next_++;
  }
  void Restore(std::uint64_t limit) { next_ = limit_ = limit; }
  [[nodiscard]] std::uint64_t limit() const { return limit_; }

 private:
  std::uint64_t next_ = 1;
  std::uint64_t limit_ = 1;
};

struct Namespace::Impl {
  explicit Impl(BlockNumbers source) : numbers(std::move(source)) {}

  mutable Tree tree;  // const calls use Find too, which returns nodes that can be changed
  OpenTable open;
  IdSource ids;
  BlockNumbers numbers;

  [[nodiscard]] BlockId NewBlock() const;
  [[nodiscard]] Result<TreeNode*> Existing(std::string_view path) const;  // kNotFound
  [[nodiscard]] Result<const File*> ExistingFile(std::string_view path) const;
  // Makes the missing directories on the way. Returns the one in which the last component of at.rest belongs.
  Directory* MakeParents(Lookup* at, std::string_view owner, Micros now, WriteBatch* batch);
  Directory* MakeDirectory(Directory* parent, std::string_view name, std::string_view owner, Mode mode, Micros now,
                           WriteBatch* batch);
  // Checks that a file may become visible at `path`. `self` is the open file that wants to, or 0 if it is not open yet.
  [[nodiscard]] Status CheckPlace(std::string_view path, const Lookup& at, bool overwrite, FileId self,
                                  Micros now) const;
  // The facts needed to complete a file, once it is known that it can be completed.
  struct Completing {
    const OpenEntry* entry;
    Lookup at;
    std::vector<bool> named;  // of the blocks that were given out
  };
  [[nodiscard]] Result<Completing> ReadyToComplete(FileId file, std::string_view path, const std::vector<Block>& blocks,
                                                   Micros now) const;
  static std::string EncodeOpen(const OpenEntry& entry);
  // Checks that a directory that is to be removed is empty, or that `recursive` is set.
  [[nodiscard]] static Status CheckEmpty(std::string_view path, const TreeNode& node, bool recursive);
  // Marks the open files below the node at `path`, which goes, as orphaned.
  void OrphanBelow(std::string_view path, const TreeNode& node, WriteBatch* batch);
  // Returns the path to which Rename(from, to) moves the entry: `to`, or the entry's name in the directory `to`.
  [[nodiscard]] std::string Target(std::string_view from, std::string_view to) const;
  void StoreNode(const TreeNode& node, WriteBatch* batch) const;
  void RemoveKeys(const TreeNode& node, WriteBatch* batch) const;  // those of the node and of all below it
  // Removes an open file from the table. Its blocks go to *freed, except those that `kept` has by their index.
  void CloseOpen(const OpenEntry& entry, const std::vector<bool>& kept, WriteBatch* batch, std::vector<BlockId>* freed);

  // ---- quotas (namespace_quota.cc) ----

  // What a change adds, and to whom it belongs.
  struct Growth {
    std::string_view what;       // "write "/data/x"", for messages
    const Directory* directory;  // the deepest existing directory above what is added
    std::string_view user;
    std::string_view note = {};       // ends what is said of the bytes, for messages
    Use added = {};                   // to the directories
    Use owned = {};                   // to the user
    const Directory* from = nullptr;  // the directory that what is moved leaves; null for what is new
    Use moved = {};                   // what is moved from there, for the directories that are not above both
    const OpenEntry* only = nullptr;  // the one open file whose reservation counts; null: all count
    bool ignore_open = false;         // no reservation counts but that of `only`
  };
  [[nodiscard]] Status CheckGrowth(const Growth& growth) const;
  [[nodiscard]] bool HasQuotas() const { return !tree.quotas().empty() || !tree.user_quotas().empty(); }
  [[nodiscard]] QuotaState StateOf(const Directory& directory) const;
  [[nodiscard]] QuotaState StateOf(const std::string& user, const Quota& quota) const;

  // ---- the trash (namespace_trash.cc) ----

  // Returns the directory of a user's deletions; null if there is none.
  [[nodiscard]] Directory* TrashOf(std::string_view user) const;
  // Gives the node this owner and mode, unless it has them.
  void Keep(TreeNode* node, std::string_view owner, Mode mode, WriteBatch* batch);
};

}  // namespace millrace::dfs
