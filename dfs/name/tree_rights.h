// SPDX-License-Identifier: Apache-2.0
// TreeRights: the rights of one principal in a tree (dfs/name/permissions.h), for the Check calls of Namespace. A
// superuser may do everything, at no cost. Pure. Thread rule: one thread, while the tree does not change.
#pragma once

#include <optional>
#include <string_view>

#include "base/status.h"
#include "dfs/name/namespace_tree.h"
#include "dfs/name/permissions.h"

namespace millrace::dfs {

class TreeRights {
 public:
  TreeRights(const Tree& tree, const Principal& who) : tree_(tree), who_(who) {}

  // These do the same as the calls of these names in Namespace.
  [[nodiscard]] Status Check(Wish wish, std::string_view path) const;
  [[nodiscard]] Status CheckRename(std::string_view from, std::string_view to) const;
  [[nodiscard]] Status CheckSetOwner(std::string_view path, std::optional<std::string_view> owner,
                                     std::optional<std::string_view> group) const;

 private:
  // The end of the existing part of a path.
  struct Reached {
    const TreeNode* node = nullptr;        // the node at the path, if any
    const Directory* directory = nullptr;  // the deepest existing directory above the path; null for the root
  };
  // Follows the path as far as it exists. Returns kDenied at a directory that may not be traversed.
  [[nodiscard]] Result<Reached> Reach(std::string_view path) const;
  [[nodiscard]] Status CheckCreate(const Reached& at, bool replace) const;
  // Checks the right to take an entry out of its directory.
  [[nodiscard]] Status CheckTake(const TreeNode& node) const;
  [[nodiscard]] Status CheckSticky(const TreeNode& node) const;
  // Checks the rights to a directory and each one below it; with `removes`, their entries are to be removed.
  [[nodiscard]] Status CheckBelow(const TreeNode& node, bool removes) const;
  [[nodiscard]] Status Ask(const TreeNode& node, unsigned asked, std::string_view what) const;
  [[nodiscard]] bool Owns(const TreeNode& node) const { return !who_.user.empty() && *node.owner == who_.user; }
  [[nodiscard]] Status Refuse(const TreeNode& node, std::string_view what) const;

  const Tree& tree_;
  const Principal& who_;
};

}  // namespace millrace::dfs
