// SPDX-License-Identifier: Apache-2.0
#include "dfs/name/tree_rights.h"

#include <string>

#include "base/text.h"

namespace millrace::dfs {
namespace {

// Returns how an entry is named in a refusal: "/data" (bob, analysts, rwxr-xr-x).
std::string Describe(const TreeNode& node) {
  const auto name = [](const std::string& text) { return text.empty() ? "-" : Printable(text); };
  return Quote(Tree::PathOf(node)) + " (" + name(*node.owner) + ", " + name(*node.group) + ", " + ModeText(node.mode) +
         ")";
}

std::string Name(const Principal& who) { return who.user.empty() ? "somebody without a name" : Printable(who.user); }

}  // namespace

Status TreeRights::Refuse(const TreeNode& node, std::string_view what) const {
  return Denied(Name(who_) + " may not " + std::string(what) + " " + Describe(node));
}

Status TreeRights::Ask(const TreeNode& node, unsigned asked, std::string_view what) const {
  if (Grants(*node.owner, *node.group, node.mode, who_, asked)) return Status::Ok();
  return Refuse(node, what);
}

Result<TreeRights::Reached> TreeRights::Reach(std::string_view path) const {
  std::string_view rest = path.substr(1);
  const Directory* directory = tree_.root();
  if (rest.empty()) return Reached{.node = directory, .directory = nullptr};
  while (true) {
    MILLRACE_TRY(Ask(*directory, kMayTraverse, "traverse"));
    const std::size_t slash = rest.find('/');
    const auto entry = directory->entries.find(rest.substr(0, slash));
    if (entry == directory->entries.end()) return Reached{.node = nullptr, .directory = directory};
    const TreeNode* node = entry->second.get();
    if (slash == std::string_view::npos) return Reached{.node = node, .directory = directory};
    if (!node->directory) return Reached{.node = nullptr, .directory = directory};
    directory = static_cast<const Directory*>(node);
    rest.remove_prefix(slash + 1);
  }
}

Status TreeRights::Check(Wish wish, std::string_view path) const {
  if (who_.superuser) return Status::Ok();
  MILLRACE_ASSIGN(const Reached at, Reach(path));
  if (wish == Wish::kCreate || wish == Wish::kReplace) return CheckCreate(at, wish == Wish::kReplace);
  if (at.node == nullptr) {
    return wish == Wish::kMakeDirectory ? Ask(*at.directory, kMayWrite, "write in") : Status::Ok();
  }
  switch (wish) {
    case Wish::kList:
      return at.node->directory ? Ask(*at.node, kMayRead | kMayTraverse, "list") : Status::Ok();
    case Wish::kRead:
      return at.node->directory ? Status::Ok() : Ask(*at.node, kMayRead, "read");
    case Wish::kChange:
      return at.node->directory ? Status::Ok() : Ask(*at.node, kMayWrite, "write");
    case Wish::kRemove:
      if (at.directory == nullptr) return Status::Ok();
      MILLRACE_TRY(CheckTake(*at.node));
      return CheckBelow(*at.node, true);
    case Wish::kMeasure:
      return CheckBelow(*at.node, false);
    case Wish::kSetMode:
      return Owns(*at.node) ? Status::Ok() : Refuse(*at.node, "change the mode of");
    default:
      return Status::Ok();
  }
}

Status TreeRights::CheckCreate(const Reached& at, bool replace) const {
  if (at.directory == nullptr || (at.node != nullptr && at.node->directory)) return Status::Ok();
  MILLRACE_TRY(Ask(*at.directory, kMayWrite, "write in"));
  if (at.node == nullptr || !replace) return Status::Ok();
  MILLRACE_TRY(Ask(*at.node, kMayWrite, "write"));
  return CheckSticky(*at.node);
}

Status TreeRights::CheckSticky(const TreeNode& node) const {
  if ((node.parent->mode & kSticky) == 0 || Owns(node) || Owns(*node.parent)) return Status::Ok();
  return Denied(Name(who_) + " may not remove, rename or replace " + Describe(node) + ": " +
                Quote(Tree::PathOf(*node.parent)) + " is sticky, and neither is " + Name(who_) + "'s");
}

Status TreeRights::CheckTake(const TreeNode& node) const {
  MILLRACE_TRY(Ask(*node.parent, kMayWrite, "write in"));
  return CheckSticky(node);
}

Status TreeRights::CheckBelow(const TreeNode& node, bool removes) const {
  if (!node.directory) return Status::Ok();
  const Directory::Entries& entries = static_cast<const Directory&>(node).entries;
  if (!removes) {
    MILLRACE_TRY(Ask(node, kMayRead | kMayTraverse, "list"));
  } else if (!entries.empty()) {
    MILLRACE_TRY(Ask(node, kMayRead | kMayWrite | kMayTraverse, "empty"));
  }
  for (const auto& [name, child] : entries) {
    if (removes) MILLRACE_TRY(CheckSticky(*child));
    MILLRACE_TRY(CheckBelow(*child, removes));
  }
  return Status::Ok();
}

Status TreeRights::CheckRename(std::string_view from, std::string_view to) const {
  if (who_.superuser) return Status::Ok();
  MILLRACE_ASSIGN(const Reached source, Reach(from));
  if (source.node != nullptr && source.directory != nullptr) MILLRACE_TRY(CheckTake(*source.node));
  MILLRACE_ASSIGN(const Reached target, Reach(to));
  if (target.node != nullptr && target.node->directory)  // it goes into that directory
    return Ask(*target.node, kMayWrite | kMayTraverse, "write in");
  return Ask(*target.directory, kMayWrite, "write in");
}

Status TreeRights::CheckSetOwner(std::string_view path, std::optional<std::string_view> owner,
                                 std::optional<std::string_view> group) const {
  if (who_.superuser) return Status::Ok();
  MILLRACE_ASSIGN(const Reached at, Reach(path));
  if (at.node == nullptr) return Status::Ok();
  if (owner && !(*owner == *at.node->owner && Owns(*at.node))) return Refuse(*at.node, "change the owner of");
  if (!group) return Status::Ok();
  if (!Owns(*at.node)) return Refuse(*at.node, "change the group of");
  if (who_.groups.find(*group) != who_.groups.end()) return Status::Ok();
  return Denied(Name(who_) + " is not of the group " + Quote(*group) + ", and may not give it " + Describe(*at.node));
}

}  // namespace millrace::dfs
