// BlockServer: serves a node's blocks over the bulk plane: write pipelines, reads, the closing of broken writes, and
// node-local reads and writes by descriptor over an abstract unix socket (SCM_RIGHTS; peers of another user are
// refused).
//
// Pipeline: the first node receives packets (kPacketBytes with their chunk checksums), checks them, forwards them to
// the next node and hands them to a disk thread at once. The acknowledgement of a packet goes back when the packet is
// written here and acknowledged by the rest; the last one goes back when the block is finished (synced) on every node
// of the pipeline. The last node finishes first and the first node last. A node that fails is named in the
// acknowledgement, so that the writer knows which to leave out. A writer may pause between packets (for sixty idle
// timeouts); a write that ends without a byte leaves nothing. A writer on the first node's machine puts the data into
// the unfinished file itself and sends the packets' headers; the node reads what it finds there and treats it from then
// on as if it had come with the headers. Checksums are checked on every hop of a write and by every reader; this side
// notices damage when it replicates or when a checksums' file does not fit.
//
// What is read is allowed by a token of the master where there is TLS, and what is written by one in any case
// (dfs/wire/write_order.h): the node takes no block that the master did not order for it, and connects to nobody but
// the node after it in the pipeline that the master gave out. Thread rule: it is made and destroyed on one thread.
// Observers are called on the server's threads and must not wait.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/log.h"
#include "base/net/bulk_server.h"
#include "base/status.h"
#include "dfs/data/block_keys.h"
#include "dfs/data/block_store.h"
#include "dfs/wire/replica_host.h"

namespace millrace::dfs {

struct BlockObserver {
  std::function<void(const StoredBlock&)> received;  // finished here
  // A read failed its checksum here, it is not the block that was meant, or a block to copy is not here.
  std::function<void(std::uint64_t id)> corrupt;
};

class BlockServer {
 public:
  // Registers its operations with `server`. Requires: `server` has not been started, and all arguments outlive this
  // object.
  BlockServer(net::BulkServer& server, BlockStore& store, BlockObserver observer, Log log);
  // Waits for copies, which give up at the next packet. No observer is called any more when it returns.
  ~BlockServer();

  // Copies one of this node's blocks to `targets` as a pipeline, by the token of the order (empty if the targets know
  // it by AllowWrite), on threads of its own, two blocks at a time. It calls `done` there, once: with kExists if a
  // target has the block already; with kNotFound if this node has no replica, and with kCorrupt if that is damaged or
  // is not what `block` says (`corrupt` was called), or with kCorrupt if a target received something else, and dropped
  // it.
  void Replicate(const StoredBlock& block, std::vector<ReplicaHost> targets, std::string token,
                 std::function<void(const Status&)> done);
  // Checks tokens by these keys from now on. Nothing is written before the first call, nor, with TLS, read.
  void UseKeys(BlockKeys keys);
  // Local readers get, from now on, what `reopen` makes of the descriptor of a block, in its place; where it fails they
  // are refused, and read by TCP. It is called on any thread, and may block on the disk.
  void PassBy(std::function<Result<Fd>(const Fd& block)> reopen);
  // Lets the block be written by somebody who shows no token, as if this one had been shown: programs of protocol level
  // 1 know no tokens for writing. It is so by TCP alone, where certificates say who somebody is. The last 10,000 of
  // them are kept.
  void AllowWrite(std::uint64_t block, std::string token);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::dfs
