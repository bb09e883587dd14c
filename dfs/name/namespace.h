// SPDX-License-Identifier: Apache-2.0
// Namespace: the tree of directories and files, and the blocks of each file. It is pure: it takes calls and times,
// changes memory, and adds the changes to store to a WriteBatch. The caller commits the batch before it reports
// success.
//
// A file that is being written is not part of the tree: it is an open file, which has an id and reserves its path, and
// Complete makes it visible as a whole. So a failed write leaves only the blocks that its writer had synced, and a
// second writer to the same path gets an error that names the first one. All paths in calls are canonical
// (dfs/wire/path.h).
//
// Every file and directory has an owner, a group and a mode (dfs/name/permissions.h). A new entry belongs to its maker
// and has the group of its directory. The Namespace itself checks no rights: the caller calls Check first.
//
// A directory or a user may have a quota (dfs/wire/quota.h). As with rights, the Namespace itself refuses nothing for a
// quota: who acts for a user calls CheckRoom... first. What cleans up, gives up files or completes what was begun needs
// no such check, so that it always can. A file that is being written counts with one entry and the full size of each of
// its blocks that is not synced, until it is completed or given up.
//
// The trash (dfs/wire/trash.h) is a part of the tree, to which Trash moves what a user removes. Nothing else puts
// anything there: the CheckRoom... calls refuse it.
//
// The namespace is stored under these keys (formats in dfs/name/namespace_codec.h):
// - "f/": entries of the tree, by the number of their directory and their name, so that renaming a directory moves one
//   entry, however much is below it;
// - "o/": open files and the blocks allocated to them;
// - "q/": quotas, by the number of the directory or the name of the user. Use is not stored, but computed by Load;
// - "i": the id high-water mark. Ids are reserved in runs of 4096, so a crash wastes some but repeats none.
// Directories and files share one sequence of ids. Block numbers cannot be guessed: no other cluster's block has the
// same one, and one number does not lead to another (docs/inside/decisions/0012-believing-a-replica.md).
//
// A call that fails changes nothing and adds nothing to the batch.
// Thread rule: one thread. No I/O but through the WriteBatch and Load.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/kv/key_value_store.h"
#include "base/status.h"
#include "dfs/name/permissions.h"
#include "dfs/name/types.h"
#include "dfs/wire/quota.h"
#include "dfs/wire/trash.h"

namespace millrace::dfs {

struct CreateOptions {
  std::uint32_t replication = kDefaultReplication;  // 1 to kMaxReplication
  std::uint64_t block_size = kDefaultBlockSize;     // kMinBlockSize to kMaxBlockSize
  bool overwrite = false;                           // an existing file is replaced at Complete, atomically
  Mode mode = kFileMode;
  std::string owner = {};
  std::string writer = {};  // "host:pid" of the writer, for the message to a second writer
};

struct OpenFile {
  FileId id = 0;
  std::string path;
  CreateOptions options;
  std::vector<BlockId> blocks;  // allocated so far, finished or not; ascending
  std::vector<Block> synced;    // the first blocks of the file, in order; kept whatever becomes of its writer
};

// The source of block numbers. In production it is the kernel, whose numbers cannot be predicted (with a Random, one
// number is enough to compute all that follow). In tests it is a Random.
using BlockNumbers = std::function<std::uint64_t()>;

class Namespace {
 public:
  explicit Namespace(BlockNumbers numbers);
  ~Namespace();

  // Loads the stored namespace. Returns kCorrupt, naming the key, if a key does not decode or does not fit the others;
  // the Namespace may then only be destroyed. Requires: the Namespace is empty.
  [[nodiscard]] Status Load(const KeyValueStore& store);

  // Returns the limit of the reserved ids: a Namespace loaded from the store issues no id below it again.
  [[nodiscard]] std::uint64_t reserved_ids() const;

  // ---- queries ----
  [[nodiscard]] Result<FileStatus> Stat(std::string_view path) const;  // kNotFound
  // Returns at most `limit` entries of a directory in order of name, beginning after the name `after` (exclusive, empty
  // for the start); for a file, returns the file itself. The owner of each entry is the caller of Create or
  // MakeDirectory. Returns kNotFound if nothing is at the path.
  [[nodiscard]] Result<std::vector<FileStatus>> List(std::string_view path, std::string_view after,
                                                     std::size_t limit) const;
  // Calls `visit` for every file (no directory) at or below `path`, in order of path, component by component ("/a/z"
  // before "/a-b"), until it returns false. Returns kNotFound if nothing is at the path. Requires: `visit` does not
  // change the Namespace.
  [[nodiscard]] Status Walk(std::string_view path, const std::function<bool(const FileStatus&)>& visit) const;
  [[nodiscard]] Result<std::vector<Block>> Blocks(
      std::string_view path) const;  // the blocks of a file, in order; kInvalid for a directory
  // The totals of a path and everything below it ("/" counts as a directory). The cost of Measure grows with the
  // subtree.
  struct Usage {
    std::uint64_t files = 0, directories = 0, bytes = 0, bytes_with_replicas = 0, blocks = 0;
  };
  [[nodiscard]] Result<Usage> Measure(std::string_view path) const;
  [[nodiscard]] Usage Total() const;  // Measure("/") at no cost

  // The file that a block belongs to: its path and its replication. OwnerOf returns nothing if no file (visible or
  // open) has the block.
  struct BlockOwner {
    std::string path;
    std::uint32_t replication = 0;
    bool open = false;
  };
  [[nodiscard]] std::optional<BlockOwner> OwnerOf(BlockId block) const;

  // ---- rights ----

  // These check that `who` has the right to a call. The call must follow before anything changes. Each returns kDenied,
  // naming the principal, the right and the entry in the way: "ann may not write in "/data" (bob, analysts,
  // rwxr-xr-x)". Everything below a directory that `who` may not traverse is denied, whether it exists or not. Other
  // errors are left to the call itself. Each check costs as much as its call.
  [[nodiscard]] Status Check(Wish wish, std::string_view path, const Principal& who) const;
  // A rename needs the right to write in both directories; in a sticky directory, only the owner of the entry or of the
  // directory may rename it.
  [[nodiscard]] Status CheckRename(std::string_view from, std::string_view to, const Principal& who) const;
  // Completing an open file needs the same rights as Create, since rights may have changed while it was written.
  // Returns kNotFound if the file is not open.
  [[nodiscard]] Status CheckWriter(FileId file, const Principal& who) const;
  // Only superusers may change owners; an owner may change the group to one of their own groups.
  [[nodiscard]] Status CheckSetOwner(std::string_view path, std::optional<std::string_view> owner,
                                     std::optional<std::string_view> group, const Principal& who) const;

  // ---- quotas ----

  // Each of these returns OK if a call would break no quota, or if it will fail for another reason. Otherwise it
  // returns kNoSpace with the directory or user, its quota, its use, what the call would add, and what to do. Each
  // returns kInvalid for a change that would put something into the trash.
  [[nodiscard]] Status CheckRoomForDirectory(std::string_view path, std::string_view owner) const;
  // With `now_only` false, the reservations of other open files do not count: kNoSpace then means that the call will
  // fail even when they have all ended.
  [[nodiscard]] Status CheckRoomForFile(std::string_view path, const CreateOptions& options,
                                        bool now_only = true) const;
  [[nodiscard]] Status CheckRoomForBlock(FileId file, bool now_only = true) const;
  // `maker` is as for Rename.
  [[nodiscard]] Status CheckRoomForRename(std::string_view from, std::string_view to, std::string_view maker) const;
  [[nodiscard]] Status CheckRoomForReplicas(std::string_view path, std::uint32_t replication) const;
  [[nodiscard]] Status CheckRoomForOwner(std::string_view path, std::string_view owner) const;

  // Sets the quota of a directory; Quota() clears it. What is there stays, even if it is more. Returns kNotFound if
  // nothing is at the path, kInvalid for a file or in the trash. The quota goes with the directory when it is renamed.
  Status SetQuota(std::string_view path, const Quota& quota, WriteBatch* batch);
  // Does the same for a user. Returns kInvalid if `user` is empty.
  Status SetUserQuota(std::string_view user, const Quota& quota, WriteBatch* batch);
  [[nodiscard]] std::vector<QuotaState> Quotas() const;  // of directories by path, then of users by name
  // Returns the quotas of the directory at `path` and of those above it, from the root down.
  [[nodiscard]] std::vector<QuotaState> QuotasOn(std::string_view path) const;
  [[nodiscard]] QuotaState QuotaOfUser(std::string_view user) const;

  // ---- the trash: queries ----
  [[nodiscard]] Use TrashUse() const;  // of all that is in the trash
  // Returns at most `limit` deletions of a user that were made after the time `after`, in order of time.
  [[nodiscard]] std::vector<Deletion> Deletions(std::string_view user, Micros after, std::size_t limit) const;
  [[nodiscard]] std::vector<std::string> TrashUsers() const;  // those who may have deletions
  // Returns the place of what was at `path` when the user deleted it, or a directory above it: that of the newest
  // deletion, or of the one at the time `deleted`, if that is not 0. Returns kNotFound if there is none.
  [[nodiscard]] Result<std::string> FindDeleted(std::string_view user, std::string_view path, Micros deleted = 0) const;
  // Returns the directories of deletions made at `before` or earlier, at most `limit` of them. Remove ends each.
  [[nodiscard]] std::vector<std::string> ExpiredTrash(Micros before, std::size_t limit) const;

  // ---- changes as batches ----
  // Returns the changes that Remove, with `recursive`, would append to its batch; nothing if it would fail. They differ
  // only in a flag of the open files below, which has the same size.
  [[nodiscard]] WriteBatch Removal(std::string_view path) const;
  // Returns the stored form of the file or directory; nothing if there is none. A change by SetReplication has the same
  // size.
  [[nodiscard]] WriteBatch Stored(std::string_view path) const;

  // ---- changes of the tree ----

  // Makes a directory and its missing parents, which get kDirectoryMode. An existing directory is not a failure.
  // Returns kExists if there is a file at the path, and kInvalid if a file is among the parents. The modified time of a
  // directory is the time of its creation.
  Status MakeDirectory(std::string_view path, std::string_view owner, Micros now, WriteBatch* batch,
                       Mode mode = kDirectoryMode);
  // Removes a file or directory, and appends the blocks that no longer belong to a file to *freed. Returns kInvalid for
  // "/", and for a directory with entries unless `recursive`. Open files below a removed directory stay open and fail
  // at Complete (kNotFound), even if the directory is made again; their paths are free for other writers at once.
  Status Remove(std::string_view path, bool recursive, WriteBatch* batch, std::vector<BlockId>* freed);
  // Renames to a path that does not exist, or into an existing directory (as mv does). Missing parents are made, and
  // belong to `maker` or, if `maker` is empty, to the owner of the renamed entry. The entry keeps its owner, group and
  // mode. Returns kNotFound if `from` does not exist; kExists if there is a file at `to`, or an entry of this name in
  // the directory `to`; kInvalid for "/", for a rename into itself, if a file is among the parents, or if a path at or
  // below `to` would be longer than kMaxPathBytes. Open files keep the path under which they were created.
  Status Rename(std::string_view from, std::string_view to, Micros now, WriteBatch* batch, std::string_view maker = {});
  // Moves a file or directory into the trash of `user`, where only that user can look. Open files below it fare as
  // with Remove. Returns its place. Fails as Remove does, and returns kInvalid for what is in the trash, if a path
  // would be longer than kMaxPathBytes, if `user` cannot be a name in a path, or if a file stands where the trash
  // should be.
  Result<std::string> Trash(std::string_view path, bool recursive, std::string_view user, Micros now,
                            WriteBatch* batch);
  // Moves what lies in the trash at `place` to `path`. Fails as Rename does, and returns kExists if anything is at
  // `path`. Requires: FindDeleted has returned `place`.
  Status Undelete(std::string_view place, std::string_view path, std::string_view maker, Micros now, WriteBatch* batch);
  // Sets the replication of a file. Returns kNotFound if nothing is at the path, and kInvalid for a directory or a
  // number out of range.
  Status SetReplication(std::string_view path, std::uint32_t replication, WriteBatch* batch);
  // Sets the mode, of "/" too. Returns kNotFound if nothing is at the path, and kInvalid if bits outside kAllModeBits
  // are set.
  Status SetMode(std::string_view path, Mode mode, WriteBatch* batch);
  // Sets owner and group, where given; an empty text means none. Returns kNotFound if nothing is at the path.
  Status SetOwner(std::string_view path, std::optional<std::string_view> owner, std::optional<std::string_view> group,
                  WriteBatch* batch);

  // ---- files being written ----

  // Opens a new file. Returns kExists if there is a directory at the path, or a file without `overwrite`; kBusy, naming
  // the other writer, if one writes to the path; kInvalid if options are out of range or a component of the path is a
  // file. Missing parents are made at Complete.
  Result<FileId> Create(std::string_view path, const CreateOptions& options, Micros now, WriteBatch* batch);
  // Allocates a new block. Returns its number, which no block of a file has and which is never 0. Returns kNotFound if
  // the file is not open.
  Result<BlockId> AddBlock(FileId file, WriteBatch* batch);
  // Forgets a block that was allocated to this file and will not be used. Returns kNotFound if the file is not open or
  // the block was not allocated to it, and kInvalid if the block is synced.
  Status DropBlock(FileId file, BlockId block, WriteBatch* batch);
  // Makes the file keep its blocks up to the last of `blocks`, whatever becomes of its writer. `blocks` are those from
  // number `first` on, each allocated to the file. Blocks synced earlier may be named again, as after a lost answer.
  // Returns kNotFound if the file is not open; kInvalid if a block was not allocated to it, is named twice, is longer
  // than the block size, or differs from the one synced in its place, or if `first` lies beyond the synced blocks.
  Status Sync(FileId file, std::size_t first, const std::vector<Block>& blocks, WriteBatch* batch);
  // Makes the file visible with exactly these blocks (each allocated to it, in the order of the file's bytes). Blocks
  // allocated but not named, and those of an overwritten file, go to *freed. Checks the path again as Create does.
  // Returns kInvalid if a block was not allocated to the file, is named twice or is longer than the block size, or if
  // the blocks do not begin with those that are synced. A second Complete of the same id with the same blocks returns
  // kNotFound (the caller uses Stat to see which id is at the path).
  Status Complete(FileId file, const std::vector<Block>& blocks, Micros now, WriteBatch* batch,
                  std::vector<BlockId>* freed);
  // Does the same as Complete, but under another path: this gives the output of the one attempt that may commit its
  // final name.
  Status CompleteAs(FileId file, std::string_view path, const std::vector<Block>& blocks, Micros now, WriteBatch* batch,
                    std::vector<BlockId>* freed);
  // Returns the result that CompleteAs would have, and changes nothing. It checks each of several files before they
  // appear together.
  [[nodiscard]] Status CheckComplete(FileId file, std::string_view path, const std::vector<Block>& blocks,
                                     Micros now) const;
  // Gives the file up. The file becomes visible with its synced blocks, as by Complete, if its `writer` still has the
  // right to write at its path. Its other blocks go to *freed; so do all its blocks if the right is gone or Complete
  // would fail. Returns kNotFound if the file is not open.
  struct Abandoned {
    std::string path = {};      // the path under which it was open
    bool kept = false;          // the synced blocks are visible as a file
    std::string not_kept = {};  // why the synced blocks are not visible; empty if none were synced, or if they are
  };
  Result<Abandoned> Abandon(FileId file, Micros now, WriteBatch* batch, std::vector<BlockId>* freed,
                            const Principal& writer = Everybody());
  [[nodiscard]] std::optional<OpenFile> FindOpen(FileId file) const;
  [[nodiscard]] std::vector<FileId> OpenFiles() const;  // ascending

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::dfs
