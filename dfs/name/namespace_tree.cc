// SPDX-License-Identifier: Apache-2.0
#include "dfs/name/namespace_tree.h"

#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "dfs/wire/job_logs.h"
#include "dfs/wire/path.h"

namespace millrace::dfs {

void AddUsage(const File& file, Namespace::Usage* usage) {
  ++usage->files;
  usage->bytes += file.length;
  usage->bytes_with_replicas += file.length * file.replication;
  usage->blocks += file.blocks.size();
}

namespace {

// Returns the use of the node alone.
Use OwnUse(const TreeNode& node) {
  if (node.directory) return {.bytes = 0, .entries = 1};
  return {.bytes = static_cast<const File&>(node).length * node.replication, .entries = 1};
}

// Returns true if the node is the directory of archived logs or lies below it.
bool IsOfJobLogs(const TreeNode& node, const Directory& root) {
  const TreeNode* top = nullptr;     // of the node's path: the directory in the root
  const TreeNode* second = nullptr;  // the one below it
  const TreeNode* at = &node;
  for (; at->parent != nullptr; at = at->parent) second = std::exchange(top, at);
  return at == &root && second != nullptr && *top->name == BaseName(kSystemDirectory) &&
         *second->name == BaseName(kJobLogsDirectory);
}

// Returns true if the directory is the one of archived logs or lies above it.
bool IsAboveJobLogs(const TreeNode& node) {
  return node.directory && node.parent != nullptr && IsWithin(kJobLogsDirectory, Tree::PathOf(node));
}

std::vector<Account*> AccountsFrom(Directory* directory) {
  std::vector<Account*> found;
  for (; directory != nullptr; directory = directory->parent) {
    if (directory->account) found.push_back(directory->account.get());
  }
  return found;
}

}  // namespace

Tree::Tree() {
  root_.owner = root_.group = Intern("");
  root_.mode = kRootMode;
  total_.directories = 1;
}

Lookup Tree::Find(std::string_view path) {
  Lookup at{.node = nullptr, .parent = &root_, .rest = path.substr(1), .blocker = nullptr};
  if (at.rest.empty()) {
    at.node = &root_;
    return at;
  }
  while (true) {
    const std::size_t slash = at.rest.find('/');
    const auto entry = at.parent->entries.find(at.rest.substr(0, slash));
    if (entry == at.parent->entries.end()) return at;
    TreeNode* node = entry->second.get();
    if (slash == std::string_view::npos) {
      at.node = node;
      return at;
    }
    if (!node->directory) {
      at.blocker = static_cast<const File*>(node);
      return at;
    }
    at.parent = static_cast<Directory*>(node);
    at.rest.remove_prefix(slash + 1);
  }
}

std::string Tree::PathOf(const TreeNode& node) {
  std::size_t size = 0;
  for (const TreeNode* n = &node; n->parent != nullptr; n = n->parent) size += 1 + n->name->size();
  if (size == 0) return "/";
  std::string path(size, '/');
  for (const TreeNode* n = &node; n->parent != nullptr; n = n->parent) {
    size -= n->name->size();
    path.replace(size, n->name->size(), *n->name);
    --size;
  }
  return path;
}

FileStatus Tree::StatusOf(const TreeNode& node, std::string path) const {
  FileStatus status;
  status.path = std::move(path);
  status.directory = node.directory;
  status.modified = node.modified;
  status.owner = *node.owner;
  status.group = *node.group;
  status.mode = node.mode;
  if (node.directory) return status;
  const File& file = static_cast<const File&>(node);
  status.length = file.length;
  status.replication = file.replication;
  status.block_size = file.block_size;
  status.id = file.id;
  return status;
}

const std::string* Tree::Intern(std::string_view user_or_group) {
  const auto known = names_.find(user_or_group);
  return known != names_.end() ? &*known : &*names_.emplace(user_or_group).first;
}

void Tree::Attach(Directory* parent, std::string_view name, std::unique_ptr<TreeNode> node) {
  TreeNode* raw = node.get();
  const std::size_t before = parent->entries.size();
  const auto entry = parent->entries.emplace_hint(parent->entries.end(), name, std::move(node));
  MILLRACE_CHECK(parent->entries.size() == before + 1, "the name is taken: " + Quote(name));
  raw->name = &entry->first;
  raw->parent = parent;
  raw->exempt = IsOfJobLogs(*raw, root_);
  const Use own = OwnUse(*raw);
  UseOfPayer(*raw) += own;
  for (const Directory* above = parent; above != nullptr; above = above->parent) {
    if (above->account) above->account->use += own;
  }
}

void Tree::Move(TreeNode* node, Directory* parent, std::string_view name) {
  const std::vector<Account*> before = AccountsFrom(node->parent), after = AccountsFrom(parent);
  if (before != after) {
    const Use moved = UseOf(*node);
    for (Account* account : before) account->use -= moved;
    for (Account* account : after) account->use += moved;
  }
  const bool was_above = IsAboveJobLogs(*node);
  Directory::Entries::node_type entry = node->parent->entries.extract(*node->name);
  entry.key() = std::string(name);
  const auto inserted = parent->entries.insert(std::move(entry));
  MILLRACE_CHECK(inserted.inserted, "the name is taken: " + Quote(name));
  node->parent = parent;
  node->name = &inserted.position->first;
  if (was_above || IsAboveJobLogs(*node) || node->exempt != IsOfJobLogs(*node, root_)) Recharge(node);
}

void Tree::ExemptJobLogs() {
  if (TreeNode* logs = Find(kJobLogsDirectory).node; logs != nullptr) Recharge(logs);
}

void Tree::Recharge(TreeNode* node) {
  if (const bool exempt = IsOfJobLogs(*node, root_); node->exempt != exempt) {
    UseOfPayer(*node) -= OwnUse(*node);
    node->exempt = exempt;
    UseOfPayer(*node) += OwnUse(*node);
  }
  if (!node->directory) return;
  for (const auto& [name, child] : static_cast<Directory*>(node)->entries) Recharge(child.get());
}

void Tree::Destroy(TreeNode* node, std::vector<BlockId>* freed) {
  const Use gone = Unregister(*node, freed);
  for (Account* account : AccountsFrom(node->parent)) account->use -= gone;
  Directory::Entries& entries = node->parent->entries;
  entries.erase(entries.find(*node->name));
}

bool Tree::Register(File* file) {
  file->length = 0;
  for (const Block& block : file->blocks) {
    if (!holders_.emplace(block.id, file).second) return false;
    file->length += block.length;
  }
  AddUsage(*file, &total_);
  return true;
}

Use Tree::Unregister(const TreeNode& node, std::vector<BlockId>* freed) {
  Use use = OwnUse(node);
  UseOfPayer(node) -= use;
  if (node.directory) {
    --total_.directories;
    if (!quotas_.empty()) quotas_.erase(node.id);
    for (const auto& [name, child] : static_cast<const Directory&>(node).entries) use += Unregister(*child, freed);
    return use;
  }
  const File& file = static_cast<const File&>(node);
  Namespace::Usage gone;
  AddUsage(file, &gone);
  total_.files -= gone.files;
  total_.bytes -= gone.bytes;
  total_.bytes_with_replicas -= gone.bytes_with_replicas;
  total_.blocks -= gone.blocks;
  for (const Block& block : file.blocks) {
    holders_.erase(block.id);
    freed->push_back(block.id);
  }
  return use;
}

void Tree::SetReplication(File* file, std::uint32_t replication) {
  const Use before = OwnUse(*file);
  file->replication = replication;
  const Use after = OwnUse(*file);
  total_.bytes_with_replicas += after.bytes - before.bytes;
  UseOfPayer(*file).bytes += after.bytes - before.bytes;
  for (Account* account : AccountsFrom(file->parent)) account->use.bytes += after.bytes - before.bytes;
}

void Tree::SetOwner(TreeNode* node, std::string_view owner) {
  const Use own = OwnUse(*node);
  if (node->parent != nullptr) UseOfPayer(*node) -= own;
  node->owner = Intern(owner);
  if (node->parent != nullptr) UseOfPayer(*node) += own;
}

Use Tree::UseOf(const TreeNode& node) {
  Use use = OwnUse(node);
  if (!node.directory) return use;
  for (const auto& [name, child] : static_cast<const Directory&>(node).entries) use += UseOf(*child);
  return use;
}

Use Tree::UseOfUser(std::string_view user) const {
  const auto name = names_.find(user);
  const auto known = name == names_.end() ? by_user_.end() : by_user_.find(&*name);
  return known == by_user_.end() ? Use() : known->second;
}

Account& Tree::OpenAccount(Directory* directory) {
  if (directory->account) return *directory->account;
  directory->account = std::make_unique<Account>();
  for (const auto& [name, child] : directory->entries) directory->account->use += UseOf(*child);
  return *directory->account;
}

void Tree::SetQuota(Directory* directory, const Quota& quota) {
  OpenAccount(directory).quota = quota;
  if (quota.none()) {
    quotas_.erase(directory->id);
  } else {
    quotas_[directory->id] = directory;
  }
}

void Tree::SetUserQuota(std::string_view user, const Quota& quota) {
  const auto known = user_quotas_.find(user);
  if (!quota.none()) {
    user_quotas_.insert_or_assign(std::string(user), quota);
  } else if (known != user_quotas_.end()) {
    user_quotas_.erase(known);
  }
}

File* Tree::HolderOf(BlockId block) const {
  const auto holder = holders_.find(block);
  return holder == holders_.end() ? nullptr : holder->second;
}

}  // namespace millrace::dfs
