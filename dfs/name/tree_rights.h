// TreeRights: what one principal may do in a tree (dfs/name/permissions.h), as Namespace's Check calls tell it. A
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

  // These do what Namespace's do.
  [[nodiscard]] Status Check(Wish wish, std::string_view path) const;
  [[nodiscard]] Status CheckRename(std::string_view from, std::string_view to) const;
  [[nodiscard]] Status CheckSetOwner(std::string_view path, std::optional<std::string_view> owner,
                                     std::optional<std::string_view> group) const;

 private:
  // How far a path goes.
  struct Reached {
    const TreeNode* node = nullptr;        // what is there, if anything
    const Directory* directory = nullptr;  // the deepest directory above it, or where it would be; null for the root
  };
  // Follows the path as far as it goes. kDenied if that is through a directory that may not be traversed.
  [[nodiscard]] Result<Reached> Reach(std::string_view path) const;
  [[nodiscard]] Status CheckCreate(const Reached& at, bool replace) const;
  // To take an entry out of its directory.
  [[nodiscard]] Status CheckTake(const TreeNode& node) const;
  [[nodiscard]] Status CheckSticky(const TreeNode& node) const;
  // What is asked of the directory and each one below it. `removes`: they are about to lose their entries.
  [[nodiscard]] Status CheckBelow(const TreeNode& node, bool removes) const;
  [[nodiscard]] Status Ask(const TreeNode& node, unsigned asked, std::string_view what) const;
  [[nodiscard]] bool Owns(const TreeNode& node) const { return !who_.user.empty() && *node.owner == who_.user; }
  [[nodiscard]] Status Refuse(const TreeNode& node, std::string_view what) const;

  const Tree& tree_;
  const Principal& who_;
};

}  // namespace millrace::dfs
