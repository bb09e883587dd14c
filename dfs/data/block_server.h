// SPDX-License-Identifier: Apache-2.0
// BlockServer serves a node's blocks over the bulk plane: write pipelines, reads, the closing of broken writes, and
// node-local reads and writes by descriptor over an abstract unix socket (SCM_RIGHTS; peers of another user are
// refused).
//
// Pipeline: the first node receives packets (kPacketBytes with their chunk checksums), checks them, forwards them to
// the next node and hands them to a disk thread at once. The acknowledgement of a packet goes back when the packet is
// written here and acknowledged by the next node; the last one goes back when the block is finished (synced) on every
// node of the pipeline. The last node finishes first and the first node last. An acknowledgement names a node that
// fails, so that the writer knows which to leave out. A writer may pause between packets (for sixty idle timeouts); a
// write that ends without a byte leaves nothing. A writer on the first node's machine puts the data into the unfinished
// file itself and sends only the packet headers; the node reads the data from the file and then treats it as if it had
// come with the headers. Checksums are checked on every hop of a write and by every reader. The server itself notices
// damage when it replicates a block or when a checksums file does not fit.
//
// With TLS a read needs a token of the master; a write needs one in any case (dfs/wire/write_order.h). The node takes
// no block that the master did not order for it, and connects only to the node after it in the pipeline that the master
// ordered. Thread rule: made and destroyed on one thread. Observers are called on the server's threads and must not
// wait.
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
#include "dfs/data/block_store.h"
#include "dfs/wire/blocks.h"
#include "dfs/wire/write_order.h"

namespace millrace::dfs {

struct BlockObserver {
  std::function<void(const StoredBlock&)> received;  // the block was finished here
  // Called for a block on this node that failed its checksum when read or is a different block, or for a block to copy
  // that this node lacks.
  std::function<void(std::uint64_t id)> corrupt;
};

class BlockServer {
 public:
  // Registers its operations with `server`. Requires: `server` has not been started, and all arguments outlive this
  // object.
  BlockServer(net::BulkServer& server, BlockStore& store, BlockObserver observer, Log log);
  // Waits for copies, which give up at the next packet. No observer is called after it returns.
  ~BlockServer();

  // Copies one of this node's blocks to `targets` as a pipeline, on threads of its own, two blocks at a time. `token`
  // is that of the order (empty if the targets know it by AllowWrite). Calls `done` once, on one of these threads:
  // - with kExists if a target has the block already;
  // - with kNotFound if this node has no replica, or kCorrupt if its replica is damaged or differs from `block` (after
  //   a call of `corrupt`);
  // - with kCorrupt if a target received different bytes, and dropped them.
  void Replicate(const StoredBlock& block, std::vector<ReplicaHost> targets, std::string token,
                 std::function<void(const Status&)> done);
  // Checks tokens with these keys from now on. Before the first call all writes are refused, and with TLS all reads.
  void UseKeys(BlockKeys keys);
  // From now on, local readers get the descriptor that `reopen` makes from that of the block. If `reopen` fails, local
  // readers are refused, and then read by TCP. `reopen` is called on any thread, and may block on the disk.
  void PassBy(std::function<Result<Fd>(const Fd& block)> reopen);
  // Lets a peer without a token write the block as if it had shown `token`, since programs of protocol level 1 have no
  // tokens for writing. This applies to TCP only, where certificates identify peers. The last 10,000 such tokens are
  // kept.
  void AllowWrite(std::uint64_t block, std::string token);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::dfs
