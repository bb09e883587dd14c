// The calls of Namespace that change the tree.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "dfs/name/namespace_codec.h"
#include "dfs/name/namespace_impl.h"
#include "dfs/name/path.h"

namespace millrace::dfs {
namespace {

// Bytes of the longest path below a node, counted from the end of its own.
std::size_t LongestBelow(const Node& node) {
  std::size_t longest = 0;
  if (!node.directory) return longest;
  for (const auto& [name, child] : static_cast<const Directory&>(node).entries) {
    longest = std::max(longest, 1 + name.size() + LongestBelow(*child));
  }
  return longest;
}

Status CheckLength(std::string_view from, std::string_view to, const Node& node) {
  if (to.size() <= from.size() || to.size() + LongestBelow(node) <= kMaxPathBytes) return Status::Ok();
  return Invalid("rename " + Quote(from) + " to " + Quote(to) + ": a path would be longer than " +
                 std::to_string(kMaxPathBytes) + " bytes");
}

}  // namespace

Status CheckReplication(std::string_view path, std::uint32_t replication) {
  if (replication >= 1 && replication <= kMaxReplication) return Status::Ok();
  return Invalid(Quote(path) + ": replication " + std::to_string(replication) + " is not between 1 and " +
                 std::to_string(kMaxReplication));
}

Status FileInTheWay(std::string_view path, const File& blocker) {
  return Invalid(Quote(path) + ": " + Quote(Tree::PathOf(blocker)) + " is a file, not a directory");
}

void Namespace::Impl::StoreNode(const Node& node, WriteBatch* batch) const {
  std::string key = EncodeEntryKey(node.parent->id, *node.name);
  if (node.directory) {
    batch->Put(std::move(key), EncodeDirectory(node.id, node.modified, *node.owner));
    return;
  }
  const File& file = static_cast<const File&>(node);
  batch->Put(std::move(key),
             EncodeFile(file.id, file.modified, *file.owner, file.replication, file.block_size, file.blocks));
}

void Namespace::Impl::RemoveKeys(const Node& node, WriteBatch* batch) const {
  batch->Remove(EncodeEntryKey(node.parent->id, *node.name));
  if (!node.directory) return;
  for (const auto& [name, child] : static_cast<const Directory&>(node).entries) RemoveKeys(*child, batch);
}

Directory* Namespace::Impl::MakeDirectory(Directory* parent, std::string_view name, std::string_view owner, Micros now,
                                          WriteBatch* batch) {
  auto made = std::make_unique<Directory>();
  Directory* directory = made.get();
  directory->id = ids.Take(batch);
  directory->modified = now;
  directory->owner = tree.Owner(owner);
  tree.Attach(parent, name, std::move(made));
  ++tree.total().directories;
  StoreNode(*directory, batch);
  return directory;
}

Directory* Namespace::Impl::MakeParents(Lookup* at, std::string_view owner, Micros now, WriteBatch* batch) {
  for (std::size_t slash = at->rest.find('/'); slash != std::string_view::npos; slash = at->rest.find('/')) {
    at->parent = MakeDirectory(at->parent, at->rest.substr(0, slash), owner, now, batch);
    at->rest.remove_prefix(slash + 1);
  }
  return at->parent;
}

Status Namespace::MakeDirectory(std::string_view path, std::string_view owner, Micros now, WriteBatch* batch) {
  Lookup at = impl_->tree.Find(path);
  if (at.blocker != nullptr) return FileInTheWay(path, *at.blocker);
  if (at.node != nullptr)
    return at.node->directory ? Status::Ok() : Exists(Quote(path) + ": a file of this name exists");
  Directory* parent = impl_->MakeParents(&at, owner, now, batch);
  impl_->MakeDirectory(parent, at.rest, owner, now, batch);
  return Status::Ok();
}

Status Namespace::Remove(std::string_view path, bool recursive, WriteBatch* batch, std::vector<BlockId>* freed) {
  MILLRACE_ASSIGN(Node * node, impl_->Existing(path));
  if (node->parent == nullptr) return Invalid("\"/\" cannot be removed; name what is in it");
  if (node->directory) {
    if (!recursive && !static_cast<const Directory*>(node)->entries.empty()) {
      return Invalid(Quote(path) + ": directory is not empty; remove it recursively");
    }
    for (const OpenEntry* orphan : impl_->open.Orphan(path))
      batch->Put(EncodeOpenKey(orphan->file.id), EncodeOpen(*orphan));
  }
  impl_->RemoveKeys(*node, batch);
  impl_->tree.Destroy(node, freed);
  return Status::Ok();
}

Status Namespace::Rename(std::string_view from, std::string_view to, Micros now, WriteBatch* batch) {
  MILLRACE_ASSIGN(Node * node, impl_->Existing(from));
  if (node->parent == nullptr) return Invalid("\"/\" cannot be renamed");
  std::string target(to);
  Lookup at = impl_->tree.Find(target);
  if (at.node != nullptr && at.node->directory) {
    if (target != "/") target += '/';
    target += BaseName(from);
    at = impl_->tree.Find(target);
  }
  if (node->directory && IsWithin(target, from)) {
    return Invalid("rename " + Quote(from) + " to " + Quote(target) + ": into itself");
  }
  if (at.blocker != nullptr) return FileInTheWay(target, *at.blocker);
  if (at.node != nullptr) return Exists("rename " + Quote(from) + ": " + Quote(target) + " exists");
  MILLRACE_TRY(CheckLength(from, target, *node));
  Directory* parent = impl_->MakeParents(&at, *node->owner, now, batch);
  batch->Remove(EncodeEntryKey(node->parent->id, *node->name));
  impl_->tree.Move(node, parent, at.rest);
  impl_->StoreNode(*node, batch);
  return Status::Ok();
}

Status Namespace::SetReplication(std::string_view path, std::uint32_t replication, WriteBatch* batch) {
  MILLRACE_ASSIGN(Node * node, impl_->Existing(path));
  if (node->directory) return Invalid(Quote(path) + ": is a directory; replication is set on files");
  MILLRACE_TRY(CheckReplication(path, replication));
  const File& file = static_cast<const File&>(*node);
  impl_->tree.total().bytes_with_replicas += file.length * replication - file.length * file.replication;
  node->replication = replication;
  impl_->StoreNode(*node, batch);
  return Status::Ok();
}

}  // namespace millrace::dfs
