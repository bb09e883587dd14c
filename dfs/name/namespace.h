// Namespace: the tree of directories and files and what each file consists of. It is pure: it takes calls and times,
// changes memory, and says in a WriteBatch what must be stored. The caller commits the batch before it tells anyone.
//
// A file that is being written is no part of the tree: it is an open file, known by its id and holding its path, and
// becomes visible whole by Complete. So a write that fails leaves nothing but what its writer had synced, and a second
// writer to the same path is told which writer holds it. All paths in calls are canonical (dfs/wire/path.h).
//
// Every file and directory has an owner, a group and a mode (dfs/name/permissions.h). What is made belongs to its maker
// and has the group of its directory. The Namespace itself refuses nobody: the caller asks Check first.
//
// Stored under keys that begin with "f/" (entries of the tree, by the number of their directory and their name, so that
// a renamed directory is one entry moved, however much is below it), "o/" (open files and the blocks given out to them)
// and "i" (the id high-water mark: ids are reserved in runs of 4096, so a crash wastes some but repeats none); the
// formats are in dfs/name/namespace_codec.h. Directories and files are numbered from one row of ids. Blocks have
// numbers that nobody can guess: no other cluster's block has the same one, and knowing one block's leads to no other's
// (docs/decisions/0012-believing-a-replica.md).
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
  std::vector<BlockId> blocks;  // given out so far, finished or not; ascending
  std::vector<Block> synced;    // the file begins with these, whatever becomes of its writer; in order
};

// The source of the numbers of blocks. In production it is the kernel, whose numbers do not show which comes next (with
// a Random, one number is enough to compute all that follow). In tests it is a Random.
using BlockNumbers = std::function<std::uint64_t()>;

class Namespace {
 public:
  explicit Namespace(BlockNumbers numbers);
  ~Namespace();

  // Reads everything back. Returns kCorrupt, naming the key, if a key does not decode or does not fit the others; the
  // Namespace may then only be destroyed. Requires: it is empty.
  [[nodiscard]] Status Load(const KeyValueStore& store);

  // Returns the reserved limit: a Namespace that loads what was written gives out no id below it again.
  [[nodiscard]] std::uint64_t reserved_ids() const;

  // ---- looking ----
  [[nodiscard]] Result<FileStatus> Stat(std::string_view path) const;  // kNotFound
  // Returns at most `limit` entries of a directory in order of name, those after the name `after` (exclusive, empty for
  // the start), or of a file, itself. The owner of each is the caller of Create or MakeDirectory. Returns kNotFound if
  // nothing is there.
  [[nodiscard]] Result<std::vector<FileStatus>> List(std::string_view path, std::string_view after,
                                                     std::size_t limit) const;
  // Calls `visit` for every file (no directory) at or below `path`, in order of path, component by component ("/a/z"
  // before "/a-b"), until it returns false. Returns kNotFound if nothing is there. Requires: `visit` does not change
  // the Namespace.
  [[nodiscard]] Status Walk(std::string_view path, const std::function<bool(const FileStatus&)>& visit) const;
  [[nodiscard]] Result<std::vector<Block>> Blocks(
      std::string_view path) const;  // of a file, in order; kInvalid: a directory
  // Bytes and counts at or below a path, itself included ("/" counts as a directory). The cost of Measure grows with
  // the subtree.
  struct Usage {
    std::uint64_t files = 0, directories = 0, bytes = 0, bytes_with_replicas = 0, blocks = 0;
  };
  [[nodiscard]] Result<Usage> Measure(std::string_view path) const;
  [[nodiscard]] Usage Total() const;  // Measure("/") at no cost

  // The file that a block belongs to: its path, and the replication that is wanted. OwnerOf returns nothing if no file
  // (visible or open) has the block.
  struct BlockOwner {
    std::string path;
    std::uint32_t replication = 0;
    bool open = false;
  };
  [[nodiscard]] std::optional<BlockOwner> OwnerOf(BlockId block) const;

  // ---- rights ----

  // These say whether `who` has the right to a call, which must follow before anything changes. Each returns kDenied,
  // with who, what and the entry in the way: "ann may not write in "/data" (bob, analysts, rwxr-xr-x)". Behind a
  // directory that one may not traverse everything is denied, whether it exists or not. What else may be wrong with the
  // call is left to the call. They cost as much as the call.
  [[nodiscard]] Status Check(Wish wish, std::string_view path, const Principal& who) const;
  // To rename: to write in both directories; an entry of a sticky directory is renamed by its owner or the directory's.
  [[nodiscard]] Status CheckRename(std::string_view from, std::string_view to, const Principal& who) const;
  // To complete an open file: what Create of it takes, since rights may have changed while it was written. Returns
  // kNotFound if the file is not open.
  [[nodiscard]] Status CheckWriter(FileId file, const Principal& who) const;
  // To give away: superusers alone give owners; an owner gives groups of which the owner is.
  [[nodiscard]] Status CheckSetOwner(std::string_view path, std::optional<std::string_view> owner,
                                     std::optional<std::string_view> group, const Principal& who) const;

  // ---- what changes write ----
  // Returns what Remove, with `recursive`, would append to its batch, but for a flag of the same size in the open files
  // below; nothing if it would fail.
  [[nodiscard]] WriteBatch Removal(std::string_view path) const;
  // Returns what is stored of the file or directory, which SetReplication would write as long; nothing if none is
  // there.
  [[nodiscard]] WriteBatch Stored(std::string_view path) const;

  // ---- changing the tree ----

  // Makes a directory and its parents, which have kDirectoryMode. An existing directory is no failure. Returns kExists
  // if a file is there, and kInvalid if a file is among the parents. The modified time of a directory is when it was
  // made.
  Status MakeDirectory(std::string_view path, std::string_view owner, Micros now, WriteBatch* batch,
                       Mode mode = kDirectoryMode);
  // Removes a file or directory, and appends the blocks that no file has any more to *freed. Returns kInvalid for "/",
  // and for a directory with entries unless `recursive`. Open files below a removed directory stay open and fail at
  // Complete (kNotFound), even if the directory is made again; their paths are free for other writers at once.
  Status Remove(std::string_view path, bool recursive, WriteBatch* batch, std::vector<BlockId>* freed);
  // Renames to a path that does not exist (its parents are made, and belong to `maker`, or if that is empty to the
  // owner of what is renamed), or into a directory that does (as mv does). What is renamed keeps its owner, group and
  // mode. Returns kNotFound if `from` does not exist; kExists if a file or entry of this name is there; kInvalid for
  // "/", for a rename into itself, if a file is among the parents, or if a path at or below `to` would be longer than
  // kMaxPathBytes. Open files keep the path that they were created under.
  Status Rename(std::string_view from, std::string_view to, Micros now, WriteBatch* batch, std::string_view maker = {});
  // Sets the replication of a file. Returns kNotFound if nothing is there, and kInvalid for a directory or a number out
  // of range.
  Status SetReplication(std::string_view path, std::uint32_t replication, WriteBatch* batch);
  // Sets the mode, of "/" too. Returns kNotFound if nothing is there, and kInvalid if bits outside kAllModeBits are
  // set.
  Status SetMode(std::string_view path, Mode mode, WriteBatch* batch);
  // Sets owner and group, where given; empty stands for nobody. Returns kNotFound if nothing is there.
  Status SetOwner(std::string_view path, std::optional<std::string_view> owner, std::optional<std::string_view> group,
                  WriteBatch* batch);

  // ---- writing files ----

  // Opens a new file. Returns kExists if a directory is there, or a file without `overwrite`; kBusy, naming the writer,
  // if another writes to the path; kInvalid if options are out of range or a component of the path is a file. Missing
  // parents are made at Complete.
  Result<FileId> Create(std::string_view path, const CreateOptions& options, Micros now, WriteBatch* batch);
  // Returns a number that no block of a file has, and never 0. Returns kNotFound if the file is not open.
  Result<BlockId> AddBlock(FileId file, WriteBatch* batch);
  // Forgets the id of a block that was given out to this file and will not be used. Returns kNotFound if the file is
  // not open or the block was not given out to it, and kInvalid if the block is synced.
  Status DropBlock(FileId file, BlockId block, WriteBatch* batch);
  // Makes the file keep its blocks up to these, whatever becomes of its writer. `blocks` are those from number `first`
  // on, each given out to the file. Blocks that were synced before may be named again, as when an answer was lost.
  // Returns kNotFound if the file is not open; kInvalid if a block was not given out to it, is named twice, is longer
  // than the block size, or is not the one that was synced in its place, or if `first` lies beyond what is synced.
  Status Sync(FileId file, std::size_t first, const std::vector<Block>& blocks, WriteBatch* batch);
  // Makes the file visible with exactly these blocks (each given out to it, in the order of the file's bytes). Blocks
  // given out and not named, and those of an overwritten file, go to *freed. Checks the path again as Create does.
  // Returns kInvalid if a block was not given out to the file, is named twice or is longer than the block size, or if
  // the blocks do not begin with those that are synced. A second Complete of the same id with the same blocks is
  // kNotFound (the caller asks Stat whose id is at the path).
  Status Complete(FileId file, const std::vector<Block>& blocks, Micros now, WriteBatch* batch,
                  std::vector<BlockId>* freed);
  // Does what Complete does, but under another path: this gives the output of the one attempt that may commit its final
  // name.
  Status CompleteAs(FileId file, std::string_view path, const std::vector<Block>& blocks, Micros now, WriteBatch* batch,
                    std::vector<BlockId>* freed);
  // Says whether CompleteAs would succeed, and changes nothing: files that are to appear together are all asked first.
  [[nodiscard]] Status CheckComplete(FileId file, std::string_view path, const std::vector<Block>& blocks,
                                     Micros now) const;
  // Gives the file up. It becomes visible with what was synced, as by Complete, if its `writer` still has the right to
  // write at its path; its other blocks, or all of them if that or Complete would fail, go to *freed. Returns kNotFound
  // if the file is not open.
  struct Abandoned {
    std::string path = {};      // the path that it was open under
    bool kept = false;          // what was synced is visible
    std::string not_kept = {};  // why what was synced is not visible; empty if nothing was synced, or if it is
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
