// Namespace: the tree of directories and files and what each file consists of. Pure: it takes calls and times, changes
// memory, and says in a WriteBatch what must be stored; the caller commits the batch before it tells anyone.
//
// A file that is being written is no part of the tree: it is an open file, known by its id and holding its path, and
// becomes visible whole by Complete. So a write that fails leaves nothing behind but what its writer had synced, and a
// second writer to the same path is told who holds it. All paths in calls are canonical (dfs/name/path.h).
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
#include "dfs/name/types.h"

namespace millrace::dfs {

struct CreateOptions {
  std::uint32_t replication = kDefaultReplication;  // 1 to kMaxReplication
  std::uint64_t block_size = kDefaultBlockSize;     // kMinBlockSize to kMaxBlockSize
  bool overwrite = false;                           // an existing file is replaced at Complete, atomically
  std::string owner = {};
  std::string writer = {};  // who writes, for the message to a second writer: "host:pid"
};

struct OpenFile {
  FileId id = 0;
  std::string path;
  CreateOptions options;
  std::vector<BlockId> blocks;  // given out so far, finished or not; ascending
  std::vector<Block> synced;    // those with which the file begins, whatever becomes of its writer; in order
};

// Where the numbers of blocks come from: in production the kernel, which tells nobody what it gives next (a Random
// would: one of its numbers is enough to compute all that follow); in tests a Random.
using BlockNumbers = std::function<std::uint64_t()>;

class Namespace {
 public:
  explicit Namespace(BlockNumbers numbers);
  ~Namespace();

  // Reads everything back; kCorrupt names the key that does not decode or does not fit the others. Call on an empty
  // Namespace; after a failure it may only be destroyed.
  [[nodiscard]] Status Load(const KeyValueStore& store);

  // Ids below this will not be given out again by who reads back what was written.
  [[nodiscard]] std::uint64_t reserved_ids() const;

  // ---- looking ----
  [[nodiscard]] Result<FileStatus> Stat(std::string_view path) const;  // kNotFound
  // Entries of a directory in order of name, those after the name `after` (exclusive, empty for the start), at most
  // `limit`; of a file, itself. The owner of each is the caller of Create or MakeDirectory. kNotFound.
  [[nodiscard]] Result<std::vector<FileStatus>> List(std::string_view path, std::string_view after,
                                                     std::size_t limit) const;
  // Every file (no directory) at or below `path`, in order of path, component by component ("/a/z" before "/a-b");
  // false from visit stops. visit must not change the Namespace. kNotFound.
  [[nodiscard]] Status Walk(std::string_view path, const std::function<bool(const FileStatus&)>& visit) const;
  [[nodiscard]] Result<std::vector<Block>> Blocks(
      std::string_view path) const;  // of a file, in order; kInvalid: a directory
  // Bytes and counts at or below a path, itself included ("/" counts as a directory). Cost grows with the subtree.
  struct Usage {
    std::uint64_t files = 0, directories = 0, bytes = 0, bytes_with_replicas = 0, blocks = 0;
  };
  [[nodiscard]] Result<Usage> Measure(std::string_view path) const;
  [[nodiscard]] Usage Total() const;  // Measure("/") at no cost

  // Which file a block belongs to: its path and replication wanted; nothing when no file (visible or open) has it.
  struct BlockOwner {
    std::string path;
    std::uint32_t replication = 0;
    bool open = false;
  };
  [[nodiscard]] std::optional<BlockOwner> OwnerOf(BlockId block) const;

  // ---- changing the tree ----
  // Parents are made. An existing directory is fine, an existing file is kExists, a file among the parents kInvalid.
  // The modified time of a directory is when it was made.
  Status MakeDirectory(std::string_view path, std::string_view owner, Micros now, WriteBatch* batch);
  // Blocks that no file has any more are appended to *freed. A directory with entries needs `recursive`, else kInvalid,
  // as is "/". Open files below a removed directory stay open and fail at Complete (kNotFound), even if the directory
  // is made again; their paths are free for other writers at once.
  Status Remove(std::string_view path, bool recursive, WriteBatch* batch, std::vector<BlockId>* freed);
  // To a path that does not exist (its parents are made, and belong to the owner of what is renamed), or into a
  // directory that does (as mv does). kNotFound; kExists: a file or entry of this name is there; kInvalid: "/", into
  // itself, a file among the parents, or a path at or below `to` would be longer than kMaxPathBytes. Open files keep
  // the path they were created under.
  Status Rename(std::string_view from, std::string_view to, Micros now, WriteBatch* batch);
  // Of a file. kNotFound; kInvalid: a directory, or out of range.
  Status SetReplication(std::string_view path, std::uint32_t replication, WriteBatch* batch);

  // ---- writing files ----
  // kExists: a file is there and not overwrite, or a directory; kBusy: being written by another (named); kInvalid:
  // options out of range, or a component of the path is a file. Missing parents are made at Complete.
  Result<FileId> Create(std::string_view path, const CreateOptions& options, Micros now, WriteBatch* batch);
  // A number that no block of a file has, and never 0. kNotFound when the file is not open.
  Result<BlockId> AddBlock(FileId file, WriteBatch* batch);
  // A block given out to this file that will not be used: its id is forgotten. kNotFound; kInvalid: it is synced.
  Status DropBlock(FileId file, BlockId block, WriteBatch* batch);
  // From now on the file has at least its first blocks, up to these, whatever becomes of its writer: `blocks` are those
  // from number `first` on, each given out to it. What was synced before may be named again, as when an answer was
  // lost. kNotFound; kInvalid: a block that was not given out to it, twice the same, longer than the block size, or
  // another than was synced in its place; a `first` behind what is synced.
  Status Sync(FileId file, std::size_t first, const std::vector<Block>& blocks, WriteBatch* batch);
  // The file becomes visible with exactly these blocks (each given out to it, in the order of the file's bytes). Blocks
  // given out and not named, and those of an overwritten file, go to *freed. Checks the path again as Create does.
  // kInvalid: a block that was not given out to it, twice the same, or longer than the block size; blocks that do not
  // begin with those that are synced. A second Complete of
  // the same id with the same blocks is kNotFound (the caller asks Stat whose id it is).
  Status Complete(FileId file, const std::vector<Block>& blocks, Micros now, WriteBatch* batch,
                  std::vector<BlockId>* freed);
  // As Complete, but under another path: how the output of the one attempt that may commit gets its final name.
  Status CompleteAs(FileId file, std::string_view path, const std::vector<Block>& blocks, Micros now, WriteBatch* batch,
                    std::vector<BlockId>* freed);
  // Gives the file up. With what was synced it becomes visible, as by Complete; its other blocks, or all where Complete
  // would fail, go to *freed. kNotFound when it is not open.
  struct Abandoned {
    std::string path = {};      // under which it was open
    bool kept = false;          // what was synced is visible
    std::string not_kept = {};  // why what was synced is not; empty: nothing was, or it is
  };
  Result<Abandoned> Abandon(FileId file, Micros now, WriteBatch* batch, std::vector<BlockId>* freed);
  [[nodiscard]] std::optional<OpenFile> FindOpen(FileId file) const;
  [[nodiscard]] std::vector<FileId> OpenFiles() const;  // ascending

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::dfs
