// SPDX-License-Identifier: Apache-2.0
// DfsClient: the file system for tools, tasks and the job client. Its calls block, and any thread may make them. Its
// own control thread talks to the master and reconnects during a call if need be.
#pragma once

#include <capnp/capability.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "base/ids/ids.h"
#include "base/rpc/control_thread.h"
#include "base/status.h"
#include "base/tls/credentials.h"
#include "dfs/client/block_reader.h"
#include "dfs/wire/blocks.h"
#include "dfs/wire/file_status.h"
#include "dfs/wire/mode.h"
#include "dfs/wire/quota.h"
#include "dfs/wire/trash.h"

namespace millrace::dfs {

struct ClientOptions {
  std::string master;                    // host:port
  Micros connect_timeout = 3 * kSecond;  // for the first connection; then kUnavailable, unless `patience` is set
  Micros patience = 0;                   // how long Connect keeps trying, if the master's name resolves
  std::function<void()> waiting = {};    // called on the caller's thread when Connect begins to try again
  // Called with the master's reason, on the thread of the first call that the master defers because it is still
  // starting or its disk is full. The call waits.
  std::function<void(const std::string& why)> delayed = {};
  Micros call_timeout = 30 * kSecond;   // for a call, reconnections included
  Micros stall_timeout = 30 * kSecond;  // how long a replica or pipeline may be silent
  std::optional<NodeId> node;           // the worker on the machine of this process, if known
  std::string owner;                    // user name
  std::string cluster = {};  // the cluster of the master (base/cluster_id.h); empty: that of the first to answer
  std::shared_ptr<tls::Credentials> credentials = nullptr;  // null: no TLS
  // The end of the message that refuses another cluster: the source of `cluster` and what to do.
  std::string cluster_advice = {};
};

struct FileUsage {
  std::uint64_t files = 0, directories = 0, bytes = 0, bytes_with_replicas = 0, blocks = 0;
};

struct WriteOptions {
  std::uint32_t replication = 0;  // 0: the default (3)
  std::uint64_t block_size = 0;   // 0: the default (64 MiB)
  bool overwrite = false;
  Mode mode = kFileMode;
};

// A file for reading. Its blocks are looked up as they are needed. Thread rule: one thread at a time.
class FileReader {
 public:
  virtual ~FileReader() = default;
  [[nodiscard]] virtual const FileStatus& info() const = 0;
  // Appends `size` bytes from `offset` on to *out; fewer only at the end of the file.
  virtual Status ReadAt(std::uint64_t offset, std::uint64_t size, std::string* out) = 0;
  // Calls `sink` with `size` bytes from `offset` on (fewer if the file ends), in order, in pieces of the size in which
  // they arrive. Returns kCancelled if `sink` returns false.
  virtual Status Stream(std::uint64_t offset, std::uint64_t size,
                        const std::function<bool(std::string_view)>& sink) = 0;
  [[nodiscard]] virtual Result<std::vector<LocatedBlock>> Blocks() = 0;
  [[nodiscard]] virtual std::uint64_t bytes_local() const = 0;  // read by descriptor from this machine
  [[nodiscard]] virtual std::uint64_t bytes_remote() const = 0;
};

// A file that is being written. It is invisible until Close. The destructor abandons it unless Close, Abandon or
// HandOver came first. It survives the loss of pipeline nodes and of the connection to the master. Thread rule: one
// thread at a time.
class FileWriter {
 public:
  virtual ~FileWriter() = default;
  virtual Status Write(std::string_view data) = 0;
  // Syncs all bytes written so far to the disks of the replicas; they are there when this returns OK. If the writer
  // then ends without Close (by a crash or Abandon), the file appears with the bytes of the last Sync, as by Close.
  // Each Sync ends the present block, so it is meant for logs and streams, not for each record. A Sync without new
  // bytes costs nothing. The caller may try again after kUnavailable.
  virtual Status Sync() = 0;
  virtual Status Close() = 0;  // the file is visible and durable when this returns OK
  virtual void Abandon() = 0;
  // Finishes the blocks and lets the job tracker complete the file when `attempt` may commit. Returns kInvalid if a
  // part of the file is synced.
  struct HandedOver {
    std::uint64_t file = 0;
    std::vector<WrittenBlock> blocks;
    std::uint64_t bytes = 0;
  };
  virtual Result<HandedOver> HandOver(const std::string& attempt) = 0;
  [[nodiscard]] virtual std::uint64_t bytes() const = 0;
};

struct Health {
  std::uint64_t blocks = 0, missing = 0, under_replicated = 0, over_replicated = 0, corrupt_replicas = 0;
  std::uint64_t capacity = 0, used = 0, free = 0;
  std::uint32_t live_workers = 0;
  std::uint64_t unknown_blocks = 0;   // replicas on live workers that belong to no file
  std::uint32_t holding_workers = 0;  // live workers with too many unknown blocks (dfs/name/block_manager.h)
  // The workers that the master still awaits after its start; empty if none. Until then no block counts as missing.
  std::string awaiting = {};
  std::string read_only = {};  // the reason why the master takes no changes; empty if it takes them
  // Blocks that have a replica on each worker in use and would have more if there were more workers; they do not count
  // as under-replicated.
  std::uint64_t short_of_nodes = 0;
  std::uint64_t single_replica = 0;  // blocks with one replica whose files want more
  Use trash = {};                    // of what is in the trash of all users
};
struct UnhealthyBlock {
  std::string path;
  std::uint64_t block = 0, length = 0;
  std::uint32_t live = 0, wanted = 0;
};

enum class BalancePhase { kNever, kMoving, kBalanced, kStuck, kStopped };  // BalanceState in dfs/name/block_manager.h
struct BalanceStatus {
  BalancePhase phase = BalancePhase::kNever;
  double threshold = 0, mean = 0, smallest = 0, largest = 0;  // shares of 1
  std::uint64_t bytes_left = 0, moved_blocks = 0, moved_bytes = 0, moving_blocks = 0;
};

enum class ReplicaFinding { kAsked, kSound, kCorrupt, kAbsent, kUnreachable };  // as on the wire; kAsked: no result yet
struct CheckedReplica {
  std::uint64_t block = 0;
  NodeId node;  // value 0: no worker has the block
  std::string host;
  std::uint16_t port = 0;
  ReplicaFinding finding = ReplicaFinding::kAsked;
};

class DfsClient {
 public:
  // Connects to the master. Returns kUnavailable "cannot reach the master at HOST:PORT: why; is it running?" if there
  // is no connection in time, and kInvalid, naming both clusters, if the master belongs to another cluster. Every call
  // makes the same check after a reconnection.
  static Result<std::unique_ptr<DfsClient>> Connect(ClientOptions options);
  virtual ~DfsClient() = default;
  [[nodiscard]] virtual std::string Cluster() = 0;  // the id of the cluster that this client is connected to

  virtual Result<FileStatus> Stat(std::string_view path) = 0;
  // Calls `visit` for all entries, fetched page by page, until `visit` returns false.
  virtual Status List(std::string_view path, const std::function<bool(const FileStatus&)>& visit) = 0;
  // Makes a directory with this mode, and its parents.
  virtual Status MakeDirectory(std::string_view path, Mode mode) = 0;
  Status MakeDirectory(std::string_view path) { return MakeDirectory(path, kDirectoryMode); }
  virtual Status Remove(std::string_view path, bool recursive) = 0;
  virtual Status Rename(std::string_view from, std::string_view to) = 0;
  // Removes as Remove does, but into the trash of this user. Returns where it lies now and until when; an empty place
  // if it was removed at once, since it lay in the trash or the master keeps none. This and the calls below return
  // kUnsupported if the master is of a release that does not know them.
  struct Trashed {
    std::string place;
    Micros until = 0;
  };
  virtual Result<Trashed> Trash(std::string_view path, bool recursive) = 0;
  // Moves what was removed from `path` back, from the trash of `user`, or of this user if that is empty: the newest
  // deletion, or the one at `deleted`, if that is not 0. Returns its place in the trash.
  virtual Result<std::string> Undelete(std::string_view path, Micros deleted, const std::string& user) = 0;
  // Calls `visit` for each deletion in the trash of `user` (of this user, if empty), by time, until it returns false.
  // Returns the time for which the master keeps them; 0 if it keeps no trash.
  virtual Result<Micros> ListTrash(const std::string& user, const std::function<bool(const Deletion&)>& visit) = 0;
  // Returns the master's time, by which files are modified and removed.
  virtual Result<Micros> Time() = 0;
  // Sets the parts that are given of the quota of the directory `path` or, if that is empty, of `user`.
  virtual Status SetQuota(std::string_view path, const std::string& user, std::optional<std::uint64_t> bytes,
                          std::optional<std::uint64_t> entries) = 0;
  // Returns the quotas on the directory `path` from the root down, or that of `user`; all of them if both are empty.
  virtual Result<std::vector<QuotaState>> GetQuotas(std::string_view path, const std::string& user) = 0;
  virtual Status SetReplication(std::string_view path, std::uint32_t replication) = 0;
  virtual Status SetMode(std::string_view path, Mode mode) = 0;
  // Sets owner and group; an empty text changes nothing.
  virtual Status SetOwner(std::string_view path, const std::string& owner, const std::string& group) = 0;
  virtual Result<FileUsage> Measure(std::string_view path) = 0;
  virtual Result<Health> GetHealth() = 0;
  // Waits until every known worker has reported to a master that has just started, or the master's grace is over.
  virtual Status AwaitReports() = 0;
  virtual Status ListUnhealthy(const std::function<bool(const UnhealthyBlock&)>& visit) = 0;
  // Makes every holder of a replica of the file read it. With `wait` it returns only when all have been read, so that
  // none is kAsked.
  virtual Status Verify(std::string_view path, bool wait, const std::function<void(const CheckedReplica&)>& visit) = 0;
  // Makes the master move replicas until no worker's share of used space is further than `threshold` (of 1) from the
  // mean. Returns when balancing has begun.
  virtual Status StartBalance(double threshold) = 0;
  virtual Status StopBalance() = 0;
  // Returns the state as soon as balancing is not under way, or after `wait` (at most 10 s).
  virtual Result<BalanceStatus> GetBalance(Micros wait) = 0;

  virtual Result<std::unique_ptr<FileReader>> Open(std::string_view path) = 0;
  // Opens a file of which the caller already knows some blocks (a split). Other blocks are looked up when they are
  // read.
  virtual std::unique_ptr<FileReader> OpenKnown(FileStatus info, std::vector<LocatedBlock> blocks) = 0;
  virtual Result<std::unique_ptr<FileWriter>> Create(std::string_view path, const WriteOptions& options) = 0;
  virtual void ReportBadReplica(std::uint64_t block, NodeId node) = 0;

  // Runs `f` on the control thread with the master's bootstrap, as ControlThread::Run does, with call_timeout and one
  // reconnection. For the job client, which shares the connection.
  using WithMaster = std::function<kj::Promise<void>(capnp::Capability::Client bootstrap, kj::AsyncIoContext& io)>;
  virtual Status Call(const std::string& what, const WithMaster& f) = 0;
  // Does the same for a call that the master may defer with kBusy: it calls `f` again until the master no longer defers
  // it.
  virtual Status CallUntilReady(const std::string& what, const WithMaster& f) = 0;
};

}  // namespace millrace::dfs
