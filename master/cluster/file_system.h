// SPDX-License-Identifier: Apache-2.0
// FileSystem keeps the namespace, the block manager and the rights to write open files in step. It is pure, as its
// parts are: calls change memory and put what must be stored into a WriteBatch. Every change that gives a block to a
// file or takes one from it goes through this class, so that the namespace and the block manager cannot disagree.
// Thread rule: control thread.
#pragma once

#include <boost/unordered/unordered_flat_set.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/kv/key_value_store.h"
#include "base/random.h"
#include "base/status.h"
#include "dfs/name/block_manager.h"
#include "dfs/name/namespace.h"
#include "dfs/wire/blocks.h"
#include "master/cluster/removed_blocks.h"

namespace millrace::master {

class FileSystem {
 public:
  FileSystem(Random random, dfs::BlockNumbers numbers) : names_(std::move(numbers)), blocks_(random) {}

  [[nodiscard]] Status Load(const KeyValueStore& store);

  [[nodiscard]] const dfs::Namespace& names() const { return names_; }
  [[nodiscard]] dfs::BlockManager& blocks() { return blocks_; }
  [[nodiscard]] const dfs::BlockManager& blocks() const { return blocks_; }

  // Sets whether the database may be older than the answers that clients have had (Doubt). If so, a block that loses
  // its file counts as unknown and not as removed, unless it was allocated after the doubt began.
  void SetDoubt(bool doubt);

  // These do what the calls of dfs::Namespace do; paths may have any form. They check no rights and no quotas: callers
  // call names().Check and names().CheckRoom... first.
  Status MakeDirectory(std::string_view path, std::string_view owner, Micros now, WriteBatch* batch,
                       dfs::Mode mode = dfs::kDirectoryMode);
  Status Remove(std::string_view path, bool recursive, WriteBatch* batch);
  Status Rename(std::string_view from, std::string_view to, Micros now, WriteBatch* batch, std::string_view maker = {});
  Result<std::string> Trash(std::string_view path, bool recursive, std::string_view user, Micros now,
                            WriteBatch* batch);
  Status Undelete(std::string_view place, std::string_view path, std::string_view maker, Micros now, WriteBatch* batch);
  Status SetQuota(std::string_view path, const dfs::Quota& quota, WriteBatch* batch);
  Status SetUserQuota(std::string_view user, const dfs::Quota& quota, WriteBatch* batch);
  Status SetReplication(std::string_view path, std::uint32_t replication, WriteBatch* batch);
  Status SetMode(std::string_view path, dfs::Mode mode, WriteBatch* batch);
  Status SetOwner(std::string_view path, std::optional<std::string_view> owner, std::optional<std::string_view> group,
                  WriteBatch* batch);
  // These return the most bytes of a spare log that Remove (with `recursive`), SetReplication and Abandon would take
  // now. Requires: `path` is canonical.
  [[nodiscard]] std::uint64_t BytesToRemove(std::string_view path) const;
  [[nodiscard]] std::uint64_t BytesToSetReplication(std::string_view path) const;
  [[nodiscard]] std::uint64_t BytesToAbandon(dfs::FileId file) const;
  // Makes the directory if it does not exist, removes its owner and sets its mode. Adds nothing to the batch if the
  // directory exists without an owner and with this mode. Fails as MakeDirectory does. Requires: `path` is canonical.
  Status KeepDirectory(std::string_view path, dfs::Mode mode, Micros now, WriteBatch* batch);

  Result<dfs::FileId> Create(std::string_view path, const dfs::CreateOptions& options, Micros now, WriteBatch* batch);
  struct NewBlock {
    dfs::BlockId id = 0;
    std::vector<NodeId> targets;
  };
  // Adds a block to the file. Returns kUnavailable if no live worker has room.
  Result<NewBlock> AddBlock(dfs::FileId file, std::optional<NodeId> writer, std::vector<NodeId> excluded,
                            WriteBatch* batch);
  Status DropBlock(dfs::FileId file, dfs::BlockId block, WriteBatch* batch);
  // Completes the file. An empty `path` stands for the one under which it was created. The nodes named in `written`
  // count as holders from now on. Returns kInvalid if a block names no node, or a node that was not assigned to the
  // block and does not report it. (For a block allocated before this master started, any existing node will do.)
  Status Complete(dfs::FileId file, std::string_view path, const std::vector<dfs::WrittenBlock>& written, Micros now,
                  WriteBatch* batch);
  struct Completion {
    dfs::FileId file = 0;
    std::string path;
    std::vector<dfs::WrittenBlock> written;
  };
  // Completes all of these files, each as Complete does, or none of them. Returns kInvalid if a file or a path is named
  // twice. Requires: no path lies below another.
  Status CompleteAll(const std::vector<Completion>& files, Micros now, WriteBatch* batch);
  // Does what dfs::Namespace::Sync does; `written` is as in Complete.
  Status Sync(dfs::FileId file, std::size_t first, const std::vector<dfs::WrittenBlock>& written, WriteBatch* batch);
  // Returns kInvalid if the open file has synced data, since such data stays whichever attempt wins.
  [[nodiscard]] Status CheckNotSynced(dfs::FileId file) const;
  Result<dfs::Namespace::Abandoned> Abandon(dfs::FileId file, Micros now, WriteBatch* batch,
                                            const dfs::Principal& writer = dfs::Everybody());
  // Returns the nodes to which the file's last block was assigned; none if its writing has ended.
  [[nodiscard]] std::vector<NodeId> LastTargets(dfs::FileId file) const;
  // Returns, once, the blocks that writers may have left unfinished on their nodes when their files were given up. No
  // block report names them.
  [[nodiscard]] std::vector<dfs::DeleteWork> TakeLeftovers() { return std::exchange(leftovers_, {}); }
  // Counts the blocks of open files that no staying node has and that this node may be receiving, or may have without
  // having reported them. These are the blocks whose pipeline goes through the node, and the blocks allocated before
  // this master started, since nobody knows to which nodes they went. O(blocks of open files that are not synced)
  [[nodiscard]] std::uint64_t WritesTo(NodeId node) const;
  // Makes an empty file, visible at once.
  Status Touch(std::string_view path, std::string_view owner, Micros now, WriteBatch* batch);

  // A block of a file, with its holders.
  struct Located {
    dfs::Block block;
    std::uint64_t offset = 0;
    std::vector<NodeId> holders;
  };
  [[nodiscard]] std::vector<NodeId> Holders(dfs::BlockId block) const { return blocks_.Replicas(block); }
  // Returns the file's blocks from index `first` on, at most `limit` of them.
  [[nodiscard]] Result<std::vector<Located>> Locate(std::string_view path, std::size_t first, std::size_t limit) const;

 private:
  void Free(const std::vector<dfs::BlockId>& freed, WriteBatch* batch);
  // Frees the blocks of a file that is given up and was open when this was loaded. The blocks are not stored as
  // removed: a worker that reports them after the next start knows more than the master.
  void GiveUp(const std::vector<dfs::BlockId>& freed);
  [[nodiscard]] bool Doubts(dfs::BlockId block) const { return doubt_ && !young_.contains(block); }
  void EndWrites(dfs::FileId file);
  // Makes the blocks of `written`, from index `from` on, blocks of a file, with the replicas that `written` names.
  void AdoptBlocks(const std::vector<dfs::WrittenBlock>& written, std::size_t from, std::uint32_t replication);
  // The file that an open file becomes, once its blocks are known to be on nodes that may hold them.
  struct Completing {
    dfs::OpenFile open;
    std::string path;
    std::vector<dfs::Block> blocks;
  };
  [[nodiscard]] Result<Completing> ReadyToComplete(dfs::FileId file, std::string_view path,
                                                   const std::vector<dfs::WrittenBlock>& written) const;
  [[nodiscard]] Status CheckNodes(const dfs::OpenFile& file, const dfs::WrittenBlock& written) const;

  dfs::Namespace names_;
  dfs::BlockManager blocks_;
  RemovedBlocks removed_{dfs::BlockManager::kRemembered};
  std::map<dfs::FileId, NewBlock>
      pipelines_;  // for each open file, the block being written and the nodes through which it goes
  std::map<dfs::FileId, std::map<dfs::BlockId, std::vector<NodeId>>> given_out_;  // since this master started
  std::vector<dfs::DeleteWork> leftovers_;
  bool doubt_ = false;
  boost::unordered_flat_set<dfs::BlockId> young_;  // allocated since the doubt began
  std::set<dfs::FileId> loaded_open_;              // files that were open when this was loaded, and still are
};

}  // namespace millrace::master
