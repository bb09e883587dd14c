// SPDX-License-Identifier: Apache-2.0
#include "dfs/name/namespace.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "dfs/name/namespace_codec.h"
#include "dfs/name/namespace_impl.h"
#include "dfs/name/namespace_load.h"
#include "dfs/name/tree_rights.h"
#include "dfs/wire/blocks.h"
#include "dfs/wire/path.h"
#include "dfs/wire/trash.h"

namespace millrace::dfs {

namespace {

bool WalkNode(const Tree& tree, const TreeNode& node, const std::string& path,
              const std::function<bool(const FileStatus&)>& visit) {
  if (!node.directory) return visit(tree.StatusOf(node, path));
  for (const auto& [name, child] : static_cast<const Directory&>(node).entries) {
    if (!WalkNode(tree, *child, ChildPath(path, name), visit)) return false;
  }
  return true;
}

void MeasureNode(const TreeNode& node, Namespace::Usage* usage) {
  if (!node.directory) return AddUsage(static_cast<const File&>(node), usage);
  ++usage->directories;
  for (const auto& [name, child] : static_cast<const Directory&>(node).entries) MeasureNode(*child, usage);
}

// Returns the length of the longest path below the node, counted from the end of the node's own path.
std::size_t LongestBelow(const TreeNode& node) {
  std::size_t longest = 0;
  if (!node.directory) return longest;
  for (const auto& [name, child] : static_cast<const Directory&>(node).entries) {
    longest = std::max(longest, 1 + name.size() + LongestBelow(*child));
  }
  return longest;
}

Status CheckLength(std::string_view from, std::string_view to, const TreeNode& node) {
  if (to.size() <= from.size() || to.size() + LongestBelow(node) <= kMaxPathBytes) return Status::Ok();
  return Invalid("rename " + Quote(from) + " to " + Quote(to) + ": a path would be longer than " +
                 std::to_string(kMaxPathBytes) + " bytes");
}

Status CheckMode(std::string_view path, Mode mode) {
  if (mode <= kAllModeBits) return Status::Ok();
  return Invalid(Quote(path) + ": a mode has no bits beyond " + OctalText(kAllModeBits));
}

Status FileInTheWay(std::string_view path, const File& blocker) {
  return Invalid(Quote(path) + ": " + Quote(Tree::PathOf(blocker)) + " is a file, not a directory");
}

Status CheckOptions(std::string_view path, const CreateOptions& options) {
  MILLRACE_TRY(CheckReplicas(options.replication).Within(Quote(path)));
  MILLRACE_TRY(CheckMode(path, options.mode));
  return CheckBlockSize(options.block_size).Within(Quote(path));
}

Status NotOpen(FileId file) {
  return NotFound("file " + std::to_string(file) + " is not open: completed or given up; create it again to write it");
}

// Returns, for each block that was given out, whether it is named. Returns kInvalid if a named block was not given out,
// is named twice, is too long, or is not the one that was synced in its place.
Result<std::vector<bool>> CheckBlocks(const OpenFile& file, const std::vector<Block>& blocks) {
  std::vector<bool> named(file.blocks.size(), false);
  for (const Block& block : blocks) {
    const std::string what = Quote(file.path) + ": " + BlockName(block.id);
    const auto it = std::lower_bound(file.blocks.begin(), file.blocks.end(), block.id);
    if (it == file.blocks.end() || *it != block.id) return Invalid(what + " was not given out to this file");
    const auto index = static_cast<std::size_t>(it - file.blocks.begin());
    if (named[index]) return Invalid(what + " is named twice");
    if (block.length > file.options.block_size) {
      return Invalid(what + " has " + std::to_string(block.length) + " bytes, more than the block size");
    }
    named[index] = true;
  }
  const std::size_t both = std::min(blocks.size(), file.synced.size());
  for (std::size_t i = 0; i < both; ++i) {
    if (blocks[i] != file.synced[i]) {
      return Invalid(Quote(file.path) + ": " + BlockName(blocks[i].id) + " stands where " +
                     BlockName(file.synced[i].id) + " was synced");
    }
  }
  return named;
}

}  // namespace

std::string Namespace::Impl::EncodeOpen(const OpenEntry& entry) {
  const CreateOptions& options = entry.file.options;
  return EncodeOpenFile({.path = entry.file.path,
                         .owner = options.owner,
                         .writer = options.writer,
                         .created = entry.created,
                         .replication = options.replication,
                         .block_size = options.block_size,
                         .overwrite = options.overwrite,
                         .orphaned = entry.orphaned,
                         .mode = options.mode});
}

Result<TreeNode*> Namespace::Impl::Existing(std::string_view path) const {
  TreeNode* node = tree.Find(path).node;
  if (node == nullptr) return NotFound(Quote(path) + ": no such file or directory");
  return node;
}

Result<const File*> Namespace::Impl::ExistingFile(std::string_view path) const {
  MILLRACE_ASSIGN(const TreeNode* node, Existing(path));
  if (node->directory) return Invalid(Quote(path) + ": is a directory; name a file");
  return static_cast<const File*>(node);
}

Namespace::Namespace(BlockNumbers numbers) : impl_(std::make_unique<Impl>(std::move(numbers))) {}
Namespace::~Namespace() = default;

Status Namespace::Load(const KeyValueStore& store) {
  MILLRACE_ASSIGN(const std::uint64_t id_limit, LoadIdLimit(store));
  impl_->ids.Restore(id_limit);
  MILLRACE_TRY(LoadTree(store, id_limit, &impl_->tree));
  TreeNode* trash = impl_->tree.Find(kTrashDirectory).node;  // counted once, since clients often ask for its use
  if (trash != nullptr && trash->directory) impl_->tree.OpenAccount(static_cast<Directory*>(trash));
  return LoadOpenFiles(store, id_limit, impl_->tree, &impl_->open);
}

std::uint64_t Namespace::reserved_ids() const { return impl_->ids.limit(); }

Result<FileStatus> Namespace::Stat(std::string_view path) const {
  MILLRACE_ASSIGN(const TreeNode* node, impl_->Existing(path));
  return impl_->tree.StatusOf(*node, std::string(path));
}

Result<std::vector<FileStatus>> Namespace::List(std::string_view path, std::string_view after,
                                                std::size_t limit) const {
  MILLRACE_ASSIGN(const TreeNode* node, impl_->Existing(path));
  std::vector<FileStatus> found;
  const std::string base(path);
  if (!node->directory) {
    if (limit > 0 && *node->name > after) found.push_back(impl_->tree.StatusOf(*node, base));
    return found;
  }
  const Directory::Entries& entries = static_cast<const Directory*>(node)->entries;
  for (auto it = entries.upper_bound(after); it != entries.end() && found.size() < limit; ++it) {
    found.push_back(impl_->tree.StatusOf(*it->second, ChildPath(base, it->first)));
  }
  return found;
}

Status Namespace::Walk(std::string_view path, const std::function<bool(const FileStatus&)>& visit) const {
  MILLRACE_ASSIGN(const TreeNode* node, impl_->Existing(path));
  WalkNode(impl_->tree, *node, std::string(path), visit);
  return Status::Ok();
}

Result<std::vector<Block>> Namespace::Blocks(std::string_view path) const {
  MILLRACE_ASSIGN(const File* file, impl_->ExistingFile(path));
  return file->blocks;
}

Result<Namespace::Usage> Namespace::Measure(std::string_view path) const {
  MILLRACE_ASSIGN(const TreeNode* node, impl_->Existing(path));
  Usage usage;
  MeasureNode(*node, &usage);
  return usage;
}

Namespace::Usage Namespace::Total() const { return impl_->tree.total(); }

std::optional<Namespace::BlockOwner> Namespace::OwnerOf(BlockId block) const {
  if (const File* file = impl_->tree.HolderOf(block)) return BlockOwner{Tree::PathOf(*file), file->replication, false};
  if (const OpenEntry* open = impl_->open.OfBlock(block)) {
    return BlockOwner{open->file.path, open->file.options.replication, true};
  }
  return std::nullopt;
}

std::optional<OpenFile> Namespace::FindOpen(FileId file) const {
  const OpenEntry* entry = impl_->open.Find(file);
  if (entry == nullptr) return std::nullopt;
  return entry->file;
}

std::vector<FileId> Namespace::OpenFiles() const {
  std::vector<FileId> ids;
  for (const auto& [id, entry] : impl_->open.files()) ids.push_back(id);
  return ids;
}

// ---- what changes write ----

WriteBatch Namespace::Removal(std::string_view path) const {
  WriteBatch batch;
  const TreeNode* node = impl_->tree.Find(path).node;
  if (node == nullptr || node->parent == nullptr) return batch;
  if (node->directory) {
    for (const OpenEntry* open : impl_->open.Below(path))
      batch.Put(EncodeOpenKey(open->file.id), Impl::EncodeOpen(*open));
  }
  impl_->RemoveKeys(*node, &batch);
  return batch;
}

WriteBatch Namespace::Stored(std::string_view path) const {
  WriteBatch batch;
  if (const TreeNode* node = impl_->tree.Find(path).node) impl_->StoreNode(*node, &batch);
  return batch;
}

// ---- changes of the tree ----

void Namespace::Impl::StoreNode(const TreeNode& node, WriteBatch* batch) const {
  std::string key = node.parent == nullptr ? std::string(kRootKey) : EncodeEntryKey(node.parent->id, *node.name);
  const StoredNode stored{node.id, node.modified, *node.owner, *node.group, node.mode};
  if (node.directory) {
    batch->Put(std::move(key), EncodeDirectory(stored));
    return;
  }
  const File& file = static_cast<const File&>(node);
  batch->Put(std::move(key), EncodeFile(stored, file.replication, file.block_size, file.blocks));
}

void Namespace::Impl::RemoveKeys(const TreeNode& node, WriteBatch* batch) const {
  batch->Remove(EncodeEntryKey(node.parent->id, *node.name));
  if (!node.directory) return;
  if (tree.quotas().contains(node.id)) batch->Remove(EncodeQuotaKey(node.id));
  for (const auto& [name, child] : static_cast<const Directory&>(node).entries) RemoveKeys(*child, batch);
}

Directory* Namespace::Impl::MakeDirectory(Directory* parent, std::string_view name, std::string_view owner, Mode mode,
                                          Micros now, WriteBatch* batch) {
  auto made = std::make_unique<Directory>();
  Directory* directory = made.get();
  directory->id = ids.Next(batch);
  directory->modified = now;
  directory->owner = tree.Intern(owner);
  directory->group = parent->group;
  directory->mode = mode;
  tree.Attach(parent, name, std::move(made));
  ++tree.total().directories;
  StoreNode(*directory, batch);
  return directory;
}

Directory* Namespace::Impl::MakeParents(Lookup* at, std::string_view owner, Micros now, WriteBatch* batch) {
  for (std::size_t slash = at->rest.find('/'); slash != std::string_view::npos; slash = at->rest.find('/')) {
    at->parent = MakeDirectory(at->parent, at->rest.substr(0, slash), owner, kDirectoryMode, now, batch);
    at->rest.remove_prefix(slash + 1);
  }
  return at->parent;
}

Status Namespace::MakeDirectory(std::string_view path, std::string_view owner, Micros now, WriteBatch* batch,
                                Mode mode) {
  MILLRACE_TRY(CheckMode(path, mode));
  Lookup at = impl_->tree.Find(path);
  if (at.blocker != nullptr) return FileInTheWay(path, *at.blocker);
  if (at.node != nullptr)
    return at.node->directory ? Status::Ok() : Exists(Quote(path) + ": a file of this name exists");
  Directory* parent = impl_->MakeParents(&at, owner, now, batch);
  impl_->MakeDirectory(parent, at.rest, owner, mode, now, batch);
  return Status::Ok();
}

Status Namespace::Impl::CheckEmpty(std::string_view path, const TreeNode& node, bool recursive) {
  if (recursive || !node.directory || static_cast<const Directory&>(node).entries.empty()) return Status::Ok();
  return Invalid(Quote(path) + ": directory is not empty; remove it recursively");
}

void Namespace::Impl::OrphanBelow(std::string_view path, const TreeNode& node, WriteBatch* batch) {
  if (!node.directory) return;
  for (const OpenEntry* orphan : open.Orphan(path)) batch->Put(EncodeOpenKey(orphan->file.id), EncodeOpen(*orphan));
}

Status Namespace::Remove(std::string_view path, bool recursive, WriteBatch* batch, std::vector<BlockId>* freed) {
  MILLRACE_ASSIGN(TreeNode * node, impl_->Existing(path));
  if (node->parent == nullptr) return Invalid("\"/\" cannot be removed; name what is in it");
  MILLRACE_TRY(Impl::CheckEmpty(path, *node, recursive));
  impl_->OrphanBelow(path, *node, batch);
  impl_->RemoveKeys(*node, batch);
  impl_->tree.Destroy(node, freed);
  return Status::Ok();
}

std::string Namespace::Impl::Target(std::string_view from, std::string_view to) const {
  std::string target(to);
  const TreeNode* there = tree.Find(to).node;
  if (there == nullptr || !there->directory) return target;
  if (target != "/") target += '/';
  return target += BaseName(from);
}

Status Namespace::Rename(std::string_view from, std::string_view to, Micros now, WriteBatch* batch,
                         std::string_view maker) {
  MILLRACE_ASSIGN(TreeNode * node, impl_->Existing(from));
  if (node->parent == nullptr) return Invalid("\"/\" cannot be renamed");
  const std::string target = impl_->Target(from, to);
  Lookup at = impl_->tree.Find(target);
  if (node->directory && IsWithin(target, from)) {
    return Invalid("rename " + Quote(from) + " to " + Quote(target) + ": into itself");
  }
  if (at.blocker != nullptr) return FileInTheWay(target, *at.blocker);
  if (at.node != nullptr) return Exists("rename " + Quote(from) + ": " + Quote(target) + " exists");
  MILLRACE_TRY(CheckLength(from, target, *node));
  Directory* parent = impl_->MakeParents(&at, maker.empty() ? *node->owner : maker, now, batch);
  batch->Remove(EncodeEntryKey(node->parent->id, *node->name));
  impl_->tree.Move(node, parent, at.rest);
  impl_->StoreNode(*node, batch);
  return Status::Ok();
}

Status Namespace::SetReplication(std::string_view path, std::uint32_t replication, WriteBatch* batch) {
  MILLRACE_ASSIGN(TreeNode * node, impl_->Existing(path));
  if (node->directory) return Invalid(Quote(path) + ": is a directory; replication is set on files");
  MILLRACE_TRY(CheckReplicas(replication).Within(Quote(path)));
  impl_->tree.SetReplication(static_cast<File*>(node), replication);
  impl_->StoreNode(*node, batch);
  return Status::Ok();
}

Status Namespace::SetMode(std::string_view path, Mode mode, WriteBatch* batch) {
  MILLRACE_ASSIGN(TreeNode * node, impl_->Existing(path));
  MILLRACE_TRY(CheckMode(path, mode));
  node->mode = mode;
  impl_->StoreNode(*node, batch);
  return Status::Ok();
}

Status Namespace::SetOwner(std::string_view path, std::optional<std::string_view> owner,
                           std::optional<std::string_view> group, WriteBatch* batch) {
  MILLRACE_ASSIGN(TreeNode * node, impl_->Existing(path));
  if (owner) impl_->tree.SetOwner(node, *owner);
  if (group) node->group = impl_->tree.Intern(*group);
  impl_->StoreNode(*node, batch);
  return Status::Ok();
}

// ---- rights ----

Status Namespace::Check(Wish wish, std::string_view path, const Principal& who) const {
  return TreeRights(impl_->tree, who).Check(wish, path);
}

Status Namespace::CheckRename(std::string_view from, std::string_view to, const Principal& who) const {
  return TreeRights(impl_->tree, who).CheckRename(from, to);
}

Status Namespace::CheckSetOwner(std::string_view path, std::optional<std::string_view> owner,
                                std::optional<std::string_view> group, const Principal& who) const {
  return TreeRights(impl_->tree, who).CheckSetOwner(path, owner, group);
}

// ---- files that are being written ----

Status Namespace::Impl::CheckPlace(std::string_view path, const Lookup& at, bool overwrite, FileId self,
                                   Micros now) const {
  if (at.blocker != nullptr) return FileInTheWay(path, *at.blocker);
  if (at.node != nullptr && at.node->directory) return Exists(Quote(path) + ": a directory of this name exists");
  if (at.node != nullptr && !overwrite) {
    return Exists(Quote(path) + ": file exists; remove it first, or replace it (-f of put and cp)");
  }
  const OpenEntry* other = open.AtPath(path);
  if (other == nullptr || other->file.id == self) return Status::Ok();
  const Micros seconds = std::max<Micros>(0, now - other->created) / kSecond;
  return Busy(Quote(path) + ": is being written by " + Quote(other->file.options.writer) + " since " +
              std::to_string(seconds) + " s; wait for it or choose another path");
}

void Namespace::Impl::CloseOpen(const OpenEntry& entry, const std::vector<bool>& kept, WriteBatch* batch,
                                std::vector<BlockId>* freed) {
  const FileId id = entry.file.id;
  batch->Remove(EncodeOpenKey(id));
  for (std::size_t i = 0; i < entry.file.blocks.size(); ++i) {
    batch->Remove(EncodeOpenBlockKey(id, entry.file.blocks[i]));
    if (!kept[i]) freed->push_back(entry.file.blocks[i]);
  }
  open.Erase(id);
}

Result<FileId> Namespace::Create(std::string_view path, const CreateOptions& options, Micros now, WriteBatch* batch) {
  MILLRACE_TRY(CheckOptions(path, options));
  MILLRACE_TRY(impl_->CheckPlace(path, impl_->tree.Find(path), options.overwrite, 0, now));
  OpenEntry entry;
  entry.file = {
      .id = impl_->ids.Next(batch), .path = std::string(path), .options = options, .blocks = {}, .synced = {}};
  entry.created = now;
  const FileId id = entry.file.id;
  batch->Put(EncodeOpenKey(id), Impl::EncodeOpen(entry));
  MILLRACE_CHECK(impl_->open.Add(std::move(entry)), "two open files at " + Quote(path));
  return id;
}

BlockId Namespace::Impl::NewBlock() const {
  while (true) {
    const BlockId block = numbers();
    if (block != 0 && tree.HolderOf(block) == nullptr && open.OfBlock(block) == nullptr) return block;
  }
}

Result<BlockId> Namespace::AddBlock(FileId file, WriteBatch* batch) {
  if (impl_->open.Find(file) == nullptr) return NotOpen(file);
  const BlockId block = impl_->NewBlock();
  MILLRACE_CHECK(impl_->open.AddBlock(file, block), BlockName(block) + " given out twice");
  batch->Put(EncodeOpenBlockKey(file, block), "");
  return block;
}

Status Namespace::DropBlock(FileId file, BlockId block, WriteBatch* batch) {
  if (impl_->open.Find(file) == nullptr) return NotOpen(file);
  const std::vector<Block>& synced = impl_->open.Find(file)->file.synced;
  if (std::any_of(synced.begin(), synced.end(), [block](const Block& one) { return one.id == block; })) {
    return Invalid(BlockName(block) + " of file " + std::to_string(file) + " is synced");
  }
  if (!impl_->open.DropBlock(file, block)) {
    return NotFound(BlockName(block) + " was not given out to file " + std::to_string(file));
  }
  batch->Remove(EncodeOpenBlockKey(file, block));
  return Status::Ok();
}

Status Namespace::Sync(FileId file, std::size_t first, const std::vector<Block>& blocks, WriteBatch* batch) {
  const OpenEntry* entry = impl_->open.Find(file);
  if (entry == nullptr) return NotOpen(file);
  const std::size_t before = entry->file.synced.size();
  if (first > before) {
    return Invalid(Quote(entry->file.path) + ": block " + std::to_string(first) + " cannot be synced before block " +
                   std::to_string(before));
  }
  std::vector<Block> all(entry->file.synced.begin(), entry->file.synced.begin() + static_cast<std::ptrdiff_t>(first));
  all.insert(all.end(), blocks.begin(), blocks.end());
  MILLRACE_TRY(CheckBlocks(entry->file, all).status());
  for (std::size_t i = before; i < all.size(); ++i) {
    impl_->open.Sync(file, all[i]);
    batch->Put(EncodeOpenBlockKey(file, all[i].id),
               EncodeSynced({.position = i, .length = all[i].length, .crc = all[i].crc}));
  }
  return Status::Ok();
}

Status Namespace::CheckWriter(FileId file, const Principal& who) const {
  const OpenEntry* entry = impl_->open.Find(file);
  if (entry == nullptr) return NotOpen(file);
  return Check(entry->file.options.overwrite ? Wish::kReplace : Wish::kCreate, entry->file.path, who);
}

Status Namespace::Complete(FileId file, const std::vector<Block>& blocks, Micros now, WriteBatch* batch,
                           std::vector<BlockId>* freed) {
  const OpenEntry* entry = impl_->open.Find(file);
  if (entry == nullptr) return NotOpen(file);
  return CompleteAs(file, std::string(entry->file.path), blocks, now, batch, freed);
}

Result<Namespace::Impl::Completing> Namespace::Impl::ReadyToComplete(FileId file, std::string_view path,
                                                                     const std::vector<Block>& blocks,
                                                                     Micros now) const {
  const OpenEntry* entry = open.Find(file);
  if (entry == nullptr) return NotOpen(file);
  if (entry->orphaned) {
    return NotFound(Quote(entry->file.path) + ": its directory was removed while it was written");
  }
  Lookup at = tree.Find(path);
  MILLRACE_TRY(CheckPlace(path, at, entry->file.options.overwrite, file, now));
  MILLRACE_ASSIGN(std::vector<bool> named, CheckBlocks(entry->file, blocks));
  if (blocks.size() < entry->file.synced.size()) {
    return Invalid(Quote(entry->file.path) + ": " + std::to_string(blocks.size()) + " blocks are less than the " +
                   std::to_string(entry->file.synced.size()) + " that are synced");
  }
  return Completing{entry, at, std::move(named)};
}

Status Namespace::CheckComplete(FileId file, std::string_view path, const std::vector<Block>& blocks,
                                Micros now) const {
  return impl_->ReadyToComplete(file, path, blocks, now).status();
}

Status Namespace::CompleteAs(FileId file, std::string_view path, const std::vector<Block>& blocks, Micros now,
                             WriteBatch* batch, std::vector<BlockId>* freed) {
  MILLRACE_ASSIGN(Impl::Completing ready, impl_->ReadyToComplete(file, path, blocks, now));
  Lookup& at = ready.at;
  const CreateOptions& options = ready.entry->file.options;
  if (at.node != nullptr) impl_->tree.Destroy(at.node, freed);
  Directory* parent = impl_->MakeParents(&at, options.owner, now, batch);
  auto made = std::make_unique<File>();
  made->id = file;
  made->replication = options.replication;
  made->block_size = options.block_size;
  made->modified = now;
  made->owner = impl_->tree.Intern(options.owner);
  made->group = parent->group;
  made->mode = options.mode;
  made->blocks = blocks;
  MILLRACE_CHECK(impl_->tree.Register(made.get()), "a block of " + Quote(path) + " is in another file");
  const TreeNode* node = made.get();
  impl_->tree.Attach(parent, at.rest, std::move(made));
  impl_->StoreNode(*node, batch);
  impl_->CloseOpen(*ready.entry, ready.named, batch, freed);
  return Status::Ok();
}

Result<Namespace::Abandoned> Namespace::Abandon(FileId file, Micros now, WriteBatch* batch, std::vector<BlockId>* freed,
                                                const Principal& writer) {
  const OpenEntry* entry = impl_->open.Find(file);
  if (entry == nullptr) return NotOpen(file);
  Abandoned abandoned{.path = entry->file.path};
  if (const std::vector<Block> synced = entry->file.synced; !synced.empty()) {
    Status kept = CheckWriter(file, writer);
    if (kept.ok()) kept = Complete(file, synced, now, batch, freed);
    abandoned.kept = kept.ok();
    if (kept.ok()) return abandoned;
    abandoned.not_kept = kept.message();
  }
  impl_->CloseOpen(*entry, std::vector<bool>(entry->file.blocks.size(), false), batch, freed);
  return abandoned;
}

}  // namespace millrace::dfs
