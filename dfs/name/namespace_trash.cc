// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <string>

#include "base/text.h"
#include "dfs/name/namespace_impl.h"
#include "dfs/wire/path.h"
#include "dfs/wire/trash.h"

// A deletion is a directory named by its stamp. In it stand the directories that were above what was removed. They are
// as old as the deletion itself, which tells them from what was removed: that is older.
namespace millrace::dfs {
namespace {

constexpr Mode kTrashMode = 0755;    // of the trash: everybody may pass
constexpr Mode kPrivateMode = 0700;  // of a user's part of it

bool IsShell(const TreeNode& node, Micros deleted) { return node.directory && node.modified == deleted; }

// Returns what the deletion removed; null if it is there no more.
const TreeNode* Removed(const Directory& deletion, Micros deleted) {
  const TreeNode* node = &deletion;
  while (node == &deletion || IsShell(*node, deleted)) {
    const Directory::Entries& entries = static_cast<const Directory*>(node)->entries;
    if (entries.empty()) return nullptr;
    node = entries.begin()->second.get();
  }
  return node;
}

// Returns the node at `path` below the directory; null if there is none.
const TreeNode* Below(const Directory& directory, std::string_view path) {
  const TreeNode* node = &directory;
  for (const std::string_view name : SplitPath(path)) {
    if (!node->directory) return nullptr;
    const Directory::Entries& entries = static_cast<const Directory*>(node)->entries;
    const auto entry = entries.find(name);
    if (entry == entries.end()) return nullptr;
    node = entry->second.get();
  }
  return node;
}

// Returns nothing for what is no deletion. The name of one is its stamp.
std::optional<Micros> TimeOf(const std::string& name, const TreeNode& node) {
  return node.directory ? ParseTrashStamp(name) : std::nullopt;
}

}  // namespace

Directory* Namespace::Impl::TrashOf(std::string_view user) const {
  TreeNode* node = tree.Find(ChildPath(std::string(kTrashDirectory), user)).node;
  return node == nullptr || !node->directory ? nullptr : static_cast<Directory*>(node);
}

void Namespace::Impl::Keep(TreeNode* node, std::string_view owner, Mode mode, WriteBatch* batch) {
  if (*node->owner == owner && node->mode == mode) return;
  tree.SetOwner(node, owner);
  node->mode = mode;
  StoreNode(*node, batch);
}

Use Namespace::TrashUse() const {
  const TreeNode* trash = impl_->tree.Find(kTrashDirectory).node;
  if (trash == nullptr || !trash->directory) return {};
  const Directory& directory = static_cast<const Directory&>(*trash);
  return directory.account ? directory.account->use : Use();
}

Result<std::string> Namespace::Trash(std::string_view path, bool recursive, std::string_view user, Micros now,
                                     WriteBatch* batch) {
  MILLRACE_ASSIGN(TreeNode * node, impl_->Existing(path));
  if (node->parent == nullptr) return Invalid("\"/\" cannot be removed; name what is in it");
  if (IsTrash(path)) return Invalid(Quote(path) + ": is in the trash already");
  MILLRACE_TRY(Impl::CheckEmpty(path, *node, recursive));
  const std::string advice = "; remove it at once (--skip-trash)";
  const std::string own = ChildPath(std::string(kTrashDirectory), user);
  if (const Result<std::string> canonical = CanonicalPath(own);
      !canonical.ok() || *canonical != own || ParentPath(own) != kTrashDirectory) {
    return Invalid("remove " + Quote(path) + ": the user name " + Quote(user) +
                   " cannot name a directory of the trash" + advice);
  }
  Micros deleted = now;
  while (impl_->tree.Find(ChildPath(own, TrashStamp(deleted))).node != nullptr) ++deleted;
  const std::string deletion = ChildPath(own, TrashStamp(deleted));
  const std::string place = deletion + std::string(path);
  const Status moved = Rename(path, place, deleted, batch, user);
  if (!moved.ok()) return Status(moved.code(), moved.message() + advice);
  impl_->OrphanBelow(path, *node, batch);
  TreeNode* above = node->parent;
  for (; above->parent->parent != nullptr; above = above->parent) impl_->Keep(above, user, kPrivateMode, batch);
  impl_->Keep(above, "", kTrashMode, batch);
  impl_->tree.OpenAccount(static_cast<Directory*>(above));
  return place;
}

std::vector<Deletion> Namespace::Deletions(std::string_view user, Micros after, std::size_t limit) const {
  std::vector<Deletion> found;
  const Directory* own = impl_->TrashOf(user);
  if (own == nullptr) return found;
  constexpr Micros kLast = 253'402'300'799 * kSecond;  // in the year 9999
  const std::string from = TrashStamp(std::clamp<Micros>(after, 0, kLast));
  for (auto entry = own->entries.upper_bound(from); entry != own->entries.end(); ++entry) {
    if (found.size() == limit) break;
    const std::optional<Micros> deleted = TimeOf(entry->first, *entry->second);
    if (!deleted) continue;
    const Directory& deletion = static_cast<const Directory&>(*entry->second);
    const TreeNode* removed = Removed(deletion, *deleted);
    if (removed == nullptr) continue;
    std::string place = Tree::PathOf(*removed);
    std::string path = place.substr(Tree::PathOf(deletion).size());
    found.push_back({std::move(path), std::move(place), *deleted, removed->directory, Tree::UseOf(*removed)});
  }
  return found;
}

std::vector<std::string> Namespace::TrashUsers() const {
  std::vector<std::string> users;
  const TreeNode* trash = impl_->tree.Find(kTrashDirectory).node;
  if (trash == nullptr || !trash->directory) return users;
  for (const auto& [name, node] : static_cast<const Directory&>(*trash).entries) {
    if (node->directory) users.push_back(name);
  }
  return users;
}

Result<std::string> Namespace::FindDeleted(std::string_view user, std::string_view path, Micros deleted) const {
  const Directory* own = impl_->TrashOf(user);
  if (own != nullptr && path != "/") {
    for (auto entry = own->entries.rbegin(); entry != own->entries.rend(); ++entry) {
      const std::optional<Micros> time = TimeOf(entry->first, *entry->second);
      if (!time || (deleted != 0 && *time != deleted)) continue;
      const TreeNode* node = Below(static_cast<const Directory&>(*entry->second), path);
      if (node != nullptr && !IsShell(*node, *time)) return Tree::PathOf(*node);
    }
  }
  return NotFound(Quote(path) + ": is not in the trash of " + Quote(user) +
                  (deleted == 0 ? "" : " with this time of deletion") + "; `millrace fs trash` lists what is");
}

Status Namespace::Undelete(std::string_view place, std::string_view path, std::string_view maker, Micros now,
                           WriteBatch* batch) {
  if (impl_->tree.Find(path).node != nullptr) {
    return Exists(Quote(path) + ": exists; rename it, so that what was removed can come back to this path");
  }
  MILLRACE_ASSIGN(const TreeNode* node, impl_->Existing(place));
  TreeNode* parent = node->parent;
  MILLRACE_TRY(Rename(place, path, now, batch, maker));
  // The deletion ends with the last of what it removed. A directory that was removed itself stays, though it be empty.
  const std::vector<std::string_view> names = SplitPath(place);
  const Micros deleted = ParseTrashStamp(names.at(2)).value_or(0);
  const Directory* own = impl_->TrashOf(names.at(1));
  while (parent != own && IsShell(*parent, deleted) && static_cast<const Directory*>(parent)->entries.empty()) {
    TreeNode* empty = std::exchange(parent, parent->parent);
    std::vector<BlockId> none;
    impl_->RemoveKeys(*empty, batch);
    impl_->tree.Destroy(empty, &none);
  }
  return Status::Ok();
}

std::vector<std::string> Namespace::ExpiredTrash(Micros before, std::size_t limit) const {
  std::vector<std::string> expired;
  for (const std::string& user : TrashUsers()) {
    const Directory* own = impl_->TrashOf(user);
    for (const auto& [name, node] : own->entries) {
      const std::optional<Micros> deleted = TimeOf(name, *node);
      if (!deleted) continue;
      if (*deleted > before || expired.size() == limit) break;
      expired.push_back(Tree::PathOf(*node));
    }
  }
  return expired;
}

}  // namespace millrace::dfs
