// What the parts of Namespace share: namespace.cc looks, namespace_change.cc changes the tree, namespace_write.cc keeps
// open files, namespace_load.cc reads everything back.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "dfs/name/namespace.h"
#include "dfs/name/namespace_open.h"
#include "dfs/name/namespace_tree.h"

namespace millrace::dfs {

// Ids that repeat in no later life: what is given out lies below the stored limit.
class IdSource {
 public:
  std::uint64_t Take(WriteBatch* batch);
  void Restore(std::uint64_t limit) { next_ = limit_ = limit; }
  [[nodiscard]] std::uint64_t limit() const { return limit_; }

 private:
  std::uint64_t next_ = 1;
  std::uint64_t limit_ = 1;
};

struct Namespace::Impl {
  explicit Impl(BlockNumbers source) : numbers(std::move(source)) {}

  mutable Tree tree;  // Find serves both the calls that look and those that change
  OpenTable open;
  IdSource ids;
  BlockNumbers numbers;

  [[nodiscard]] BlockId NewBlock() const;
  [[nodiscard]] Result<Node*> Existing(std::string_view path) const;  // kNotFound
  [[nodiscard]] Result<const File*> ExistingFile(std::string_view path) const;
  // The directory in which the last component of at.rest belongs, made with all that is missing above it.
  Directory* MakeParents(Lookup* at, std::string_view owner, Micros now, WriteBatch* batch);
  Directory* MakeDirectory(Directory* parent, std::string_view name, std::string_view owner, Micros now,
                           WriteBatch* batch);
  // Whether a file may become visible at `path`; `self`: the open file that wants it, 0 for none yet.
  [[nodiscard]] Status CheckPlace(std::string_view path, const Lookup& at, bool overwrite, FileId self,
                                  Micros now) const;
  void StoreNode(const Node& node, WriteBatch* batch) const;
  void RemoveKeys(const Node& node, WriteBatch* batch) const;  // of the node and all below it
  // An open file leaves the table; its blocks, apart from those `kept` (by index), go to *freed.
  void CloseOpen(const OpenEntry& entry, const std::vector<bool>& kept, WriteBatch* batch, std::vector<BlockId>* freed);
};

[[nodiscard]] Status CheckReplication(std::string_view path, std::uint32_t replication);
[[nodiscard]] Status FileInTheWay(std::string_view path, const File& blocker);
[[nodiscard]] std::string EncodeOpen(const OpenEntry& entry);

}  // namespace millrace::dfs
