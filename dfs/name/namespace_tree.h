// SPDX-License-Identifier: Apache-2.0
// Tree: the tree of dfs/name/namespace.h in memory: directories and files, the file of each block, the totals, and the
// use of each user and of each directory with an account. It knows nothing of storage or of open files. It is built for
// millions of files: a node keeps no path, only its name.
// Thread rule: one thread.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "dfs/name/namespace.h"
#include "dfs/name/types.h"
#include "dfs/wire/quota.h"

namespace millrace::dfs {

struct Directory;

struct TreeNode {
  explicit TreeNode(bool is_directory) : directory(is_directory) {}
  virtual ~TreeNode() = default;
  TreeNode(const TreeNode&) = delete;
  TreeNode& operator=(const TreeNode&) = delete;

  const bool directory;
  bool exempt = false;  // it counts as the system's, whoever owns it (dfs/wire/job_logs.h)
  Mode mode = 0;
  std::uint32_t replication = 0;  // of a file
  FileId id = 0;                  // 0 is the root
  Micros modified = 0;
  const std::string* owner = nullptr;  // both point into the tree's set of user and group names
  const std::string* group = nullptr;
  const std::string* name = nullptr;  // the key in the parent's entries; null for the root and for a detached node
  Directory* parent = nullptr;
};

struct File final : TreeNode {
  File() : TreeNode(false) {}
  std::uint64_t block_size = 0;
  std::uint64_t length = 0;
  std::vector<Block> blocks;
};

// What lies below a directory, kept up to date for the directories that have a quota and for the trash.
struct Account {
  Quota quota;
  Use use;
};

struct Directory final : TreeNode {
  Directory() : TreeNode(true) {}
  using Entries = std::map<std::string, std::unique_ptr<TreeNode>, std::less<>>;
  Entries entries;
  std::unique_ptr<Account> account;  // null for most
};

// The result of looking up a path.
struct Lookup {
  TreeNode* node = nullptr;       // the node at the path, if any
  Directory* parent = nullptr;    // the deepest existing directory above it
  std::string_view rest;          // the path below that directory: the base name if no more than that is missing
  const File* blocker = nullptr;  // the file in place of a directory that `rest` needs
};

class Tree {
 public:
  Tree();

  [[nodiscard]] Lookup Find(std::string_view path);
  [[nodiscard]] static std::string PathOf(const TreeNode& node);
  [[nodiscard]] FileStatus StatusOf(const TreeNode& node, std::string path) const;
  [[nodiscard]] const std::string* Intern(std::string_view user_or_group);  // returns the only copy of this text

  // Puts a node into `parent`. Requires: the node is in no directory, and the name is free in `parent`.
  void Attach(Directory* parent, std::string_view name, std::unique_ptr<TreeNode> node);
  // Moves a node in the tree, with all below it, to `parent` under `name`.
  void Move(TreeNode* node, Directory* parent, std::string_view name);
  // Removes a node and all below it from the tree and destroys them. Appends their blocks to *freed.
  void Destroy(TreeNode* node, std::vector<BlockId>* freed);
  // Records the file as the holder of its blocks. Returns false if another file has one of them.
  [[nodiscard]] bool Register(File* file);
  void SetReplication(File* file, std::uint32_t replication);
  void SetOwner(TreeNode* node, std::string_view owner);
  // Counts the archived logs of jobs as the system's. Requires: all nodes are attached. For the end of a load, which
  // attaches directories before it knows where they lie; later the tree does it by itself.
  void ExemptJobLogs();

  // Returns the use of the node itself with all below it, by a walk.
  [[nodiscard]] static Use UseOf(const TreeNode& node);
  // Returns the use of everything that the user owns, but for the root and the archived logs of jobs.
  [[nodiscard]] Use UseOfUser(std::string_view user) const;
  // Gives the directory an account, unless it has one: the use of all below it, by a walk.
  Account& OpenAccount(Directory* directory);
  // Sets or clears the quota of a directory or a user. Requires: the directory is in the tree.
  void SetQuota(Directory* directory, const Quota& quota);
  void SetUserQuota(std::string_view user, const Quota& quota);
  [[nodiscard]] const std::map<FileId, Directory*>& quotas() const { return quotas_; }
  [[nodiscard]] const std::map<std::string, Quota, std::less<>>& user_quotas() const { return user_quotas_; }

  [[nodiscard]] Directory* root() { return &root_; }
  [[nodiscard]] const Directory* root() const { return &root_; }
  [[nodiscard]] File* HolderOf(BlockId block) const;
  [[nodiscard]] Namespace::Usage& total() { return total_; }

 private:
  // Returns the use of the node with all below it.
  Use Unregister(const TreeNode& node, std::vector<BlockId>* freed);
  [[nodiscard]] Use& UseOfPayer(const TreeNode& node) { return by_user_[node.exempt ? nobody_ : node.owner]; }
  // Makes the node with all below it count as its place says.
  void Recharge(TreeNode* node);

  Directory root_;
  std::set<std::string, std::less<>> names_;  // of users and groups; few, and kept for good
  boost::unordered_flat_map<BlockId, File*> holders_;
  const std::string* nobody_ = Intern("");
  Namespace::Usage total_;
  boost::unordered_flat_map<const std::string*, Use> by_user_;
  std::map<FileId, Directory*> quotas_;                    // the directories that have a quota
  std::map<std::string, Quota, std::less<>> user_quotas_;  // by user
};

void AddUsage(const File& file, Namespace::Usage* usage);

}  // namespace millrace::dfs
