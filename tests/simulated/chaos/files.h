// SPDX-License-Identifier: Apache-2.0
// File operations of clients and tasks: the real calls to the name service, and a simple transfer of bytes to and from
// the workers' disks. The transfer suffers from broken links, deaths and rot. Every function blocks (World::Spawn).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids/ids.h"
#include "tests/simulated/chaos/caller.h"
#include "tests/simulated/chaos/cluster.h"

namespace millrace::simulated {

struct BlockPlaces {
  std::uint64_t id = 0, length = 0;
  std::uint32_t crc = 0;
  [[nodiscard]] dfs::BlockContent content() const { return {length, crc}; }
  struct Holder {
    NodeId node;
    std::string host;
  };
  std::vector<Holder> holders;
};

struct Written {
  std::uint64_t file = 0;
  struct Block {
    std::uint64_t id = 0;
    std::uint64_t length = 0;
    std::uint32_t crc = 0;
    std::vector<NodeId> nodes;
  };
  std::vector<Block> blocks;
};

inline constexpr double kStall = 20;   // seconds of silence after which a worker is given up
inline constexpr double kConnect = 4;  // seconds after which an unanswered connect is given up (base/net/frame.h)

// Sends a request to the bulk server of `host`. Returns the worker process that handles it, or null if the worker is
// down or does not answer. The pointer is valid until the caller waits for anything.
[[nodiscard]] WorkerProcess* Reach(Cluster& cluster, kj::WaitScope& scope, HostId from, const std::string& host);

// Reads a block from another machine's disk, and verifies its checksums as a reader does. Returns kUnavailable if the
// machine cannot be reached.
[[nodiscard]] Result<std::string> ReadReplica(Cluster& cluster, kj::WaitScope& scope, HostId reader,
                                              const std::string& host, const BlockPlaces& block);
// Writes a block to the disk of `host`, with the token that the master issued for it. OK means that the block is
// finished on that disk. For a copy, `ordered_by` is the incarnation of the master that ordered the copy.
[[nodiscard]] Status WriteReplica(Cluster& cluster, kj::WaitScope& scope, HostId writer, const std::string& host,
                                  std::uint64_t id, const std::string& data, const std::string& token,
                                  std::uint64_t ordered_by = UINT64_MAX);
// Reads a block from the first holder that has it, and reports bad replicas to the master.
[[nodiscard]] Result<std::string> ReadBlock(Cluster& cluster, kj::WaitScope& scope, HostId reader, MasterCaller& caller,
                                            const BlockPlaces& block);

// Returns the blocks of a file, as the master has them.
[[nodiscard]] Result<std::vector<BlockPlaces>> Locate(MasterCaller& caller, kj::WaitScope& scope,
                                                      const std::string& path, std::uint64_t* file);

// FileMaker writes the blocks of a file through a lease, until Complete or HandOver ends it. The lease is resumed after
// a broken connection. If a call fails before the end, the master gives the file up.
class FileMaker {
 public:
  FileMaker(Cluster& cluster, MasterCaller& caller, HostId writer);
  Status Create(kj::WaitScope& scope, const std::string& path, std::uint32_t replication, bool overwrite);
  Status AddBlock(kj::WaitScope& scope, const std::string& data);
  // Makes the data written so far permanent, whatever happens to the writer. Returns kCancelled if the outcome is
  // unknown.
  Status Sync(kj::WaitScope& scope);
  // Returns kCancelled if it is unknown whether the file exists.
  Status Complete(kj::WaitScope& scope);
  Status HandOver(kj::WaitScope& scope, const std::string& attempt);
  [[nodiscard]] const Written& written() const { return written_; }

 private:
  // Writes the blocks from number `first` on into the request.
  template <class Request>
  void Name(std::size_t first, Request& request) const;
  // Calls `start` with the lease until a master has answered.
  template <class Answer, class Start>
  Result<capnp::Response<Answer>> OnLease(kj::WaitScope& scope, const std::string& what, const Start& start);

  Cluster& cluster_;
  MasterCaller& caller_;
  HostId writer_;
  Written written_;
  std::size_t synced_ = 0;  // number of synced blocks
  kj::Maybe<dfs::wire::FileLease::Client> lease_;
};

}  // namespace millrace::simulated
