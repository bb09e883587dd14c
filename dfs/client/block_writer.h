// SPDX-License-Identifier: Apache-2.0
// BlockWriter: writes one block through a pipeline of nodes, for a blocking caller. It has no threads and no event
// loop, since job executables link it. If the first node is on this machine, the data goes into the node's own file
// instead of a socket. A call times out if the pipeline makes no progress for `stall`. Thread rule: one thread at a
// time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/ids/ids.h"
#include "base/status.h"
#include "base/tls/credentials.h"
#include "dfs/wire/blocks.h"
#include "dfs/wire/chunks.h"

namespace millrace::dfs {

class BlockWriter {
 public:
  // Connects the pipeline, `pipeline[0]` first. After a failure *failed_nodes holds the nodes to leave out next time,
  // as far as they are known, and nothing of the block is left on the others. `expected` is for a copy: no node
  // finishes the block with any other content. With `credentials`, it uses TLS to the first node. `token` is the
  // master's permission to write the block through this pipeline (dfs/wire/write_order.h).
  static Result<std::unique_ptr<BlockWriter>> Open(std::uint64_t block, const std::vector<ReplicaHost>& pipeline,
                                                   Micros stall, std::vector<NodeId>* failed_nodes,
                                                   const std::optional<BlockContent>& expected = {},
                                                   const std::shared_ptr<tls::Credentials>& credentials = nullptr,
                                                   const std::string& token = {});
  // Makes the nodes that answer discard the block, unless Finish or Salvage has closed it.
  virtual ~BlockWriter() = default;

  // Sends bytes (buffered to whole packets; at most 16 packets are unacknowledged). A Write that fails has taken its
  // bytes, for Salvage; later ones fail in the same way and take nothing. Returns kNoSpace, naming the node, if a disk
  // is full.
  virtual Status Write(std::string_view data) = 0;
  // Sends the rest and waits until every node has finished the block. Returns kCorrupt if a node's checksum differs
  // from that of the bytes sent.
  virtual Result<WrittenBlock> Finish() = 0;

  // Closes the block at the last byte that all nodes had acknowledged, on the nodes that still answer. (If all bytes
  // had been sent and the nodes that answer have all of them, these nodes keep all of them.) Returns the short block,
  // with length 0 and no nodes if nothing could be saved. *unacknowledged receives the bytes that Write took and the
  // block lacks, to be written to a new block. *failed_nodes receives the nodes to leave out, including those whose
  // disk refused the block. Returns kUnavailable if acknowledged bytes are lost because every node of the pipeline has
  // stopped answering or has lost them. Requires: a Write or Finish has failed.
  virtual Result<WrittenBlock> Salvage(std::string* unacknowledged, std::vector<NodeId>* failed_nodes) = 0;
};

}  // namespace millrace::dfs
