// The calls of Namespace that write files.
#include <algorithm>
#include <utility>

#include "base/text.h"
#include "dfs/name/namespace_codec.h"
#include "dfs/name/namespace_impl.h"
#include "dfs/wire/block_name.h"

namespace millrace::dfs {
namespace {

Status CheckOptions(std::string_view path, const CreateOptions& options) {
  MILLRACE_TRY(CheckReplication(path, options.replication));
  if (options.block_size >= kMinBlockSize && options.block_size <= kMaxBlockSize) return Status::Ok();
  return Invalid(Quote(path) + ": block size " + std::to_string(options.block_size) + " is not between " +
                 std::to_string(kMinBlockSize) + " and " + std::to_string(kMaxBlockSize));
}

Status NotOpen(FileId file) {
  return NotFound("file " + std::to_string(file) + " is not open: completed or given up; create it again to write it");
}

// Which of the blocks given out are named; kInvalid for one that was not given out or is named twice or too long, or
// another than is synced in its place.
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

std::string EncodeOpen(const OpenEntry& entry) {
  const CreateOptions& options = entry.file.options;
  return EncodeOpenFile({.path = entry.file.path,
                         .owner = options.owner,
                         .writer = options.writer,
                         .created = entry.created,
                         .replication = options.replication,
                         .block_size = options.block_size,
                         .overwrite = options.overwrite,
                         .orphaned = entry.orphaned});
}

Status Namespace::Impl::CheckPlace(std::string_view path, const Lookup& at, bool overwrite, FileId self,
                                   Micros now) const {
  if (at.blocker != nullptr) return FileInTheWay(path, *at.blocker);
  if (at.node != nullptr && at.node->directory) return Exists(Quote(path) + ": a directory of this name exists");
  if (at.node != nullptr && !overwrite) {
    return Exists(Quote(path) + ": file exists; remove it first or allow overwriting");
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
      .id = impl_->ids.Take(batch), .path = std::string(path), .options = options, .blocks = {}, .synced = {}};
  entry.created = now;
  const FileId id = entry.file.id;
  batch->Put(EncodeOpenKey(id), EncodeOpen(entry));
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

Status Namespace::Complete(FileId file, const std::vector<Block>& blocks, Micros now, WriteBatch* batch,
                           std::vector<BlockId>* freed) {
  const OpenEntry* entry = impl_->open.Find(file);
  if (entry == nullptr) return NotOpen(file);
  return CompleteAs(file, std::string(entry->file.path), blocks, now, batch, freed);
}

Status Namespace::CompleteAs(FileId file, std::string_view path, const std::vector<Block>& blocks, Micros now,
                             WriteBatch* batch, std::vector<BlockId>* freed) {
  const OpenEntry* entry = impl_->open.Find(file);
  if (entry == nullptr) return NotOpen(file);
  if (entry->orphaned) {
    return NotFound(Quote(entry->file.path) + ": its directory was removed while it was written");
  }
  const CreateOptions& options = entry->file.options;
  Lookup at = impl_->tree.Find(path);
  MILLRACE_TRY(impl_->CheckPlace(path, at, options.overwrite, file, now));
  MILLRACE_ASSIGN(const std::vector<bool> named, CheckBlocks(entry->file, blocks));
  if (blocks.size() < entry->file.synced.size()) {
    return Invalid(Quote(entry->file.path) + ": " + std::to_string(blocks.size()) + " blocks are less than the " +
                   std::to_string(entry->file.synced.size()) + " that are synced");
  }

  if (at.node != nullptr) impl_->tree.Destroy(at.node, freed);
  Directory* parent = impl_->MakeParents(&at, options.owner, now, batch);
  auto made = std::make_unique<File>();
  made->id = file;
  made->replication = options.replication;
  made->block_size = options.block_size;
  made->modified = now;
  made->owner = impl_->tree.Owner(options.owner);
  made->blocks = blocks;
  MILLRACE_CHECK(impl_->tree.Register(made.get()), "a block of " + Quote(path) + " is in another file");
  const Node* node = made.get();
  impl_->tree.Attach(parent, at.rest, std::move(made));
  impl_->StoreNode(*node, batch);
  impl_->CloseOpen(*entry, named, batch, freed);
  return Status::Ok();
}

Result<Namespace::Abandoned> Namespace::Abandon(FileId file, Micros now, WriteBatch* batch,
                                                std::vector<BlockId>* freed) {
  const OpenEntry* entry = impl_->open.Find(file);
  if (entry == nullptr) return NotOpen(file);
  Abandoned abandoned{.path = entry->file.path};
  if (const std::vector<Block> synced = entry->file.synced; !synced.empty()) {
    const Status kept = Complete(file, synced, now, batch, freed);
    abandoned.kept = kept.ok();
    if (kept.ok()) return abandoned;
    abandoned.not_kept = kept.message();
  }
  impl_->CloseOpen(*entry, std::vector<bool>(entry->file.blocks.size(), false), batch, freed);
  return abandoned;
}

}  // namespace millrace::dfs
