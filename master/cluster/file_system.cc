// SPDX-License-Identifier: Apache-2.0
#include "master/cluster/file_system.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/kv/spare_log.h"
#include "base/text.h"
#include "dfs/wire/blocks.h"
#include "dfs/wire/path.h"

namespace millrace::master {

using dfs::CanonicalPath;

Status FileSystem::Load(const KeyValueStore& store) {
  MILLRACE_TRY(names_.Load(store));
  MILLRACE_TRY(removed_.Load(store, [this](dfs::BlockId block) { blocks_.Unwant(block); }));
  Status bad;
  MILLRACE_TRY(names_.Walk("/", [&](const dfs::FileStatus& file) {
    Result<std::vector<dfs::Block>> blocks = names_.Blocks(file.path);
    if (!blocks.ok()) {
      bad = blocks.status();
      return false;
    }
    for (const dfs::Block& block : *blocks) blocks_.Want(block, file.replication);
    return true;
  }));
  for (const dfs::FileId file : names_.OpenFiles()) {
    const std::optional<dfs::OpenFile> open = names_.FindOpen(file);
    loaded_open_.insert(file);
    std::set<dfs::BlockId> unfinished(open->blocks.begin(), open->blocks.end());
    for (const dfs::Block& block : open->synced) {
      blocks_.Want(block, open->options.replication);
      unfinished.erase(block.id);
    }
    for (const dfs::BlockId block : unfinished) blocks_.Expect(block);
  }
  return bad;
}

Status FileSystem::MakeDirectory(std::string_view path, std::string_view owner, Micros now, WriteBatch* batch,
                                 dfs::Mode mode) {
  MILLRACE_ASSIGN(const std::string canonical, CanonicalPath(path));
  return names_.MakeDirectory(canonical, owner, now, batch, mode);
}

Status FileSystem::KeepDirectory(std::string_view path, dfs::Mode mode, Micros now, WriteBatch* batch) {
  MILLRACE_TRY(MakeDirectory(path, {}, now, batch, mode));
  MILLRACE_ASSIGN(const dfs::FileStatus there, names_.Stat(path));
  if (!there.owner.empty()) MILLRACE_TRY(names_.SetOwner(path, "", std::nullopt, batch));
  return there.mode == mode ? Status::Ok() : names_.SetMode(path, mode, batch);
}

Status FileSystem::Remove(std::string_view path, bool recursive, WriteBatch* batch) {
  MILLRACE_ASSIGN(const std::string canonical, CanonicalPath(path));
  std::vector<dfs::BlockId> freed;
  MILLRACE_TRY(names_.Remove(canonical, recursive, batch, &freed));
  Free(freed, batch);
  return Status::Ok();
}

Status FileSystem::Rename(std::string_view from, std::string_view to, Micros now, WriteBatch* batch,
                          std::string_view maker) {
  MILLRACE_ASSIGN(const std::string canonical_from, CanonicalPath(from));
  MILLRACE_ASSIGN(const std::string canonical_to, CanonicalPath(to));
  return names_.Rename(canonical_from, canonical_to, now, batch, maker);
}

Result<std::string> FileSystem::Trash(std::string_view path, bool recursive, std::string_view user, Micros now,
                                      WriteBatch* batch) {
  MILLRACE_ASSIGN(const std::string canonical, CanonicalPath(path));
  return names_.Trash(canonical, recursive, user, now, batch);
}

Status FileSystem::Undelete(std::string_view place, std::string_view path, std::string_view maker, Micros now,
                            WriteBatch* batch) {
  MILLRACE_ASSIGN(const std::string canonical, CanonicalPath(path));
  return names_.Undelete(place, canonical, maker, now, batch);
}

Status FileSystem::SetQuota(std::string_view path, const dfs::Quota& quota, WriteBatch* batch) {
  MILLRACE_ASSIGN(const std::string canonical, CanonicalPath(path));
  return names_.SetQuota(canonical, quota, batch);
}

Status FileSystem::SetUserQuota(std::string_view user, const dfs::Quota& quota, WriteBatch* batch) {
  return names_.SetUserQuota(user, quota, batch);
}

Status FileSystem::SetReplication(std::string_view path, std::uint32_t replication, WriteBatch* batch) {
  MILLRACE_ASSIGN(const std::string canonical, CanonicalPath(path));
  MILLRACE_TRY(names_.SetReplication(canonical, replication, batch));
  MILLRACE_ASSIGN(const std::vector<dfs::Block> blocks, names_.Blocks(canonical));
  for (const dfs::Block& block : blocks) blocks_.SetReplication(block.id, replication);
  return Status::Ok();
}

std::uint64_t FileSystem::BytesToRemove(std::string_view path) const {
  const Result<dfs::Namespace::Usage> usage = names_.Measure(path);
  if (!usage.ok()) return 0;
  return SpareLog::BytesOf(names_.Removal(path)) + removed_.BytesToAdd(usage->blocks);
}

std::uint64_t FileSystem::BytesToSetReplication(std::string_view path) const {
  return SpareLog::BytesOf(names_.Stored(path));
}

// The synced data of the file may become visible, in directories that have to be made.
std::uint64_t FileSystem::BytesToAbandon(dfs::FileId file) const {
  constexpr std::uint64_t kBytesOfAFile = 1024, kBytesOfABlock = 64;
  const std::optional<dfs::OpenFile> open = names_.FindOpen(file);
  if (!open) return 0;
  const std::size_t blocks = open->blocks.size();
  return kBytesOfAFile + 2 * open->path.size() + kBytesOfABlock * blocks + removed_.BytesToAdd(blocks);
}

Status FileSystem::SetMode(std::string_view path, dfs::Mode mode, WriteBatch* batch) {
  MILLRACE_ASSIGN(const std::string canonical, CanonicalPath(path));
  return names_.SetMode(canonical, mode, batch);
}

Status FileSystem::SetOwner(std::string_view path, std::optional<std::string_view> owner,
                            std::optional<std::string_view> group, WriteBatch* batch) {
  MILLRACE_ASSIGN(const std::string canonical, CanonicalPath(path));
  return names_.SetOwner(canonical, owner, group, batch);
}

Result<dfs::FileId> FileSystem::Create(std::string_view path, const dfs::CreateOptions& options, Micros now,
                                       WriteBatch* batch) {
  MILLRACE_ASSIGN(const std::string canonical, CanonicalPath(path));
  return names_.Create(canonical, options, now, batch);
}

Result<FileSystem::NewBlock> FileSystem::AddBlock(dfs::FileId file, std::optional<NodeId> writer,
                                                  std::vector<NodeId> excluded, WriteBatch* batch) {
  const std::optional<dfs::OpenFile> open = names_.FindOpen(file);
  if (!open) return NotFound("file " + std::to_string(file) + " is not being written; it was completed or given up");
  dfs::PlacementRequest request;
  request.replicas = open->options.replication;
  request.block_size = open->options.block_size;
  request.writer = writer;
  request.excluded = std::move(excluded);
  std::vector<NodeId> targets = blocks_.ChooseTargets(request);
  if (targets.empty()) {
    return Unavailable("write " + open->path + ": no live worker has room for a block of " +
                       std::to_string(open->options.block_size) + " bytes");
  }
  MILLRACE_ASSIGN(const dfs::BlockId id, names_.AddBlock(file, batch));
  blocks_.Expect(id, targets);
  if (doubt_) young_.insert(id);
  EndWrites(file);
  for (const NodeId node : targets) blocks_.WritesUnderWay(node, 1);
  given_out_[file][id] = targets;
  return pipelines_[file] = NewBlock{id, std::move(targets)};
}

std::vector<NodeId> FileSystem::LastTargets(dfs::FileId file) const {
  const auto it = pipelines_.find(file);
  return it == pipelines_.end() ? std::vector<NodeId>() : it->second.targets;
}

Status FileSystem::DropBlock(dfs::FileId file, dfs::BlockId block, WriteBatch* batch) {
  MILLRACE_TRY(names_.DropBlock(file, block, batch));
  if (const auto it = given_out_.find(file); it != given_out_.end()) it->second.erase(block);
  Free({block}, batch);
  return Status::Ok();
}

Status FileSystem::CheckNodes(const dfs::OpenFile& file, const dfs::WrittenBlock& written) const {
  const std::string what = "complete " + Quote(file.path) + ": " + dfs::BlockName(written.id);
  if (written.nodes.empty()) return Invalid(what + " was acknowledged by no worker");
  const std::vector<NodeId>* targets = nullptr;
  if (const auto of_file = given_out_.find(file.id); of_file != given_out_.end()) {
    if (const auto of_block = of_file->second.find(written.id); of_block != of_file->second.end())
      targets = &of_block->second;
  }
  for (const NodeId node : written.nodes) {
    const bool asked =
        targets == nullptr ? blocks_.Knows(node) : std::find(targets->begin(), targets->end(), node) != targets->end();
    if (!asked && !blocks_.Holds(node, written.id)) {
      return Invalid(what + ": worker " + std::to_string(node.value) +
                     " was not asked to hold it; name those that it was given out with");
    }
  }
  return Status::Ok();
}

Result<FileSystem::Completing> FileSystem::ReadyToComplete(dfs::FileId file, std::string_view path,
                                                           const std::vector<dfs::WrittenBlock>& written) const {
  std::optional<dfs::OpenFile> open = names_.FindOpen(file);
  if (!open) return NotFound("file " + std::to_string(file) + " is not being written; it was completed or given up");
  std::vector<dfs::Block> blocks;
  for (const dfs::WrittenBlock& w : written) {
    MILLRACE_TRY(CheckNodes(*open, w));
    blocks.push_back({w.id, w.length, w.crc});
  }
  MILLRACE_ASSIGN(std::string canonical, CanonicalPath(path.empty() ? std::string_view(open->path) : path));
  return Completing{std::move(*open), std::move(canonical), std::move(blocks)};
}

Status FileSystem::Complete(dfs::FileId file, std::string_view path, const std::vector<dfs::WrittenBlock>& written,
                            Micros now, WriteBatch* batch) {
  MILLRACE_ASSIGN(const Completing ready, ReadyToComplete(file, path, written));
  std::vector<dfs::BlockId> freed;
  MILLRACE_TRY(names_.CompleteAs(file, ready.path, ready.blocks, now, batch, &freed));
  EndWrites(file);
  given_out_.erase(file);
  loaded_open_.erase(file);
  AdoptBlocks(written, ready.open.synced.size(), ready.open.options.replication);
  Free(freed, batch);
  return Status::Ok();
}

Status FileSystem::CompleteAll(const std::vector<Completion>& files, Micros now, WriteBatch* batch) {
  std::set<dfs::FileId> ids;
  std::set<std::string> paths;
  for (const Completion& file : files) {
    MILLRACE_ASSIGN(const Completing ready, ReadyToComplete(file.file, file.path, file.written));
    MILLRACE_TRY(names_.CheckComplete(file.file, ready.path, ready.blocks, now));
    if (!ids.insert(file.file).second || !paths.insert(ready.path).second)
      return Invalid("complete several files: " + Quote(ready.path) + " is named twice, or its file is");
  }
  for (const Completion& file : files) {
    const Status completed = Complete(file.file, file.path, file.written, now, batch);
    MILLRACE_CHECK(completed.ok(), completed.message());
  }
  return Status::Ok();
}

void FileSystem::AdoptBlocks(const std::vector<dfs::WrittenBlock>& written, std::size_t from,
                             std::uint32_t replication) {
  for (std::size_t i = from; i < written.size(); ++i) {
    const dfs::Block block{written[i].id, written[i].length, written[i].crc};
    blocks_.Want(block, replication);
    for (const NodeId node : written[i].nodes) blocks_.Written(node, block);
  }
}

Status FileSystem::Sync(dfs::FileId file, std::size_t first, const std::vector<dfs::WrittenBlock>& written,
                        WriteBatch* batch) {
  const std::optional<dfs::OpenFile> open = names_.FindOpen(file);
  if (!open) return NotFound("file " + std::to_string(file) + " is not being written; it was completed or given up");
  std::vector<dfs::Block> blocks;
  for (const dfs::WrittenBlock& w : written) {
    MILLRACE_TRY(CheckNodes(*open, w));
    blocks.push_back({w.id, w.length, w.crc});
  }
  MILLRACE_TRY(names_.Sync(file, first, blocks, batch));
  const auto writing = pipelines_.find(file);
  const auto ended = [&](const dfs::WrittenBlock& w) { return w.id == writing->second.id; };
  if (writing != pipelines_.end() && std::any_of(written.begin(), written.end(), ended)) EndWrites(file);
  AdoptBlocks(written, open->synced.size() - first, open->options.replication);
  return Status::Ok();
}

Status FileSystem::CheckNotSynced(dfs::FileId file) const {
  const std::optional<dfs::OpenFile> open = names_.FindOpen(file);
  if (!open || open->synced.empty()) return Status::Ok();
  return Invalid("hand over " + Quote(open->path) + ": part of it is synced, and stays whichever attempt wins");
}

Result<dfs::Namespace::Abandoned> FileSystem::Abandon(dfs::FileId file, Micros now, WriteBatch* batch,
                                                      const dfs::Principal& writer) {
  std::vector<dfs::BlockId> freed;
  MILLRACE_ASSIGN(dfs::Namespace::Abandoned abandoned, names_.Abandon(file, now, batch, &freed, writer));
  const auto pipeline = pipelines_.find(file);
  if (pipeline != pipelines_.end() && !Doubts(pipeline->second.id)) {
    for (const NodeId node : pipeline->second.targets) leftovers_.push_back({node, {pipeline->second.id}});
  }
  EndWrites(file);
  given_out_.erase(file);
  if (loaded_open_.erase(file) > 0) {
    GiveUp(freed);
  } else {
    Free(freed, batch);
  }
  return abandoned;
}

void FileSystem::SetDoubt(bool doubt) {
  doubt_ = doubt;
  blocks_.SetDoubt(doubt);
  if (!doubt) young_.clear();
}

std::uint64_t FileSystem::WritesTo(NodeId node) const {
  std::uint64_t writes = 0;
  for (const dfs::FileId file : names_.OpenFiles()) {
    const std::optional<dfs::OpenFile> open = names_.FindOpen(file);
    const auto given_out = given_out_.find(file);
    const auto pipeline = pipelines_.find(file);
    for (const dfs::BlockId block : open->blocks) {
      if (std::ranges::find(open->synced, block, &dfs::Block::id) != open->synced.end()) continue;
      const std::vector<NodeId>* targets = nullptr;
      if (given_out != given_out_.end()) {
        const auto of_block = given_out->second.find(block);
        if (of_block != given_out->second.end()) targets = &of_block->second;
      }
      if (targets != nullptr && std::ranges::find(*targets, node) == targets->end()) continue;
      const bool under_way = targets != nullptr && pipeline != pipelines_.end() && pipeline->second.id == block;
      // Blocks that the node has reported are among BlockManager::LeftToDrain.
      if (!blocks_.Holds(node, block) && (under_way || !blocks_.ExpectedElsewhere(node, block))) ++writes;
    }
  }
  return writes;
}

Status FileSystem::Touch(std::string_view path, std::string_view owner, Micros now, WriteBatch* batch) {
  dfs::CreateOptions options;
  options.owner = owner;
  MILLRACE_ASSIGN(const dfs::FileId file, Create(path, options, now, batch));
  return Complete(file, {}, {}, now, batch);
}

Result<std::vector<FileSystem::Located>> FileSystem::Locate(std::string_view path, std::size_t first,
                                                            std::size_t limit) const {
  MILLRACE_ASSIGN(const std::string canonical, CanonicalPath(path));
  MILLRACE_ASSIGN(const std::vector<dfs::Block> blocks, names_.Blocks(canonical));
  std::vector<Located> located;
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < blocks.size() && located.size() < limit; ++i) {
    if (i >= first) located.push_back({blocks[i], offset, blocks_.Replicas(blocks[i].id)});
    offset += blocks[i].length;
  }
  return located;
}

void FileSystem::Free(const std::vector<dfs::BlockId>& freed, WriteBatch* batch) {
  std::vector<dfs::BlockId> removed;
  for (const dfs::BlockId block : freed) {
    if (Doubts(block)) {
      blocks_.Disown(block);
    } else {
      removed.push_back(block);
      blocks_.Unwant(block);
      young_.erase(block);
    }
  }
  removed_.Add(removed, batch);
}

void FileSystem::GiveUp(const std::vector<dfs::BlockId>& freed) {
  for (const dfs::BlockId block : freed) {
    if (Doubts(block)) {
      blocks_.Disown(block);
    } else {
      blocks_.GiveUp(block);
      young_.erase(block);
    }
  }
}

void FileSystem::EndWrites(dfs::FileId file) {
  const auto it = pipelines_.find(file);
  if (it == pipelines_.end()) return;
  for (const NodeId node : it->second.targets) blocks_.WritesUnderWay(node, -1);
  pipelines_.erase(it);
}

}  // namespace millrace::master
