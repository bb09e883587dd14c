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
// notices damage when it replicates or when a checksums' file does not fit. Thread rule: it is made and destroyed on
// one thread. Observers are called on the server's threads and must not wait.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/net/bulk_server.h"
#include "base/status.h"
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

  // Copies one of this node's blocks to `targets` as a pipeline, on threads of its own, two blocks at a time. It calls
  // `done` there, once: with kExists if a target has the block already; with kNotFound if this node has no replica, and
  // with kCorrupt if that is damaged or is not what `block` says (`corrupt` was called), or with kCorrupt if a target
  // received something else, and dropped it.
  void Replicate(const StoredBlock& block, std::vector<ReplicaHost> targets, std::function<void(const Status&)> done);
  // Checks the tokens of readers by this key from now on. With TLS nothing is read before the first call. Requires: it
  // has tls::TokenKey::kBytes.
  void UseTokenKey(std::string key);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::dfs
