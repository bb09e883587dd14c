// BlockWriter: one block through a pipeline of nodes, from a blocking caller. No threads, no event loop: job
// executables link it. To a first node on this machine the data goes by the node's own file instead of a socket.
// Thread rule: one thread at a time. Times out after `stall` without progress of the pipeline.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "dfs/wire/chunks.h"
#include "dfs/wire/place.h"

namespace millrace::dfs {

class BlockWriter {
 public:
  // Connects the pipeline (the first place is the first node). On failure *failed_nodes names those to leave out next
  // time, as far as they are known, and nothing of the block is left on the others. `expected`, of a copy: no node
  // finishes the block as anything else.
  static Result<std::unique_ptr<BlockWriter>> Open(std::uint64_t block, const std::vector<Place>& pipeline,
                                                   Micros stall, std::vector<std::uint32_t>* failed_nodes,
                                                   const std::optional<BlockContent>& expected = {});
  // Unless Finish or Salvage ended it, the nodes that answer are told to discard the block.
  virtual ~BlockWriter() = default;

  // Sends bytes (buffered to whole packets; at most 16 packets are unacknowledged). One that fails has taken its bytes,
  // for Salvage; those after it fail alike and take nothing. A full disk is kNoSpace and names the node.
  virtual Status Write(std::string_view data) = 0;
  // Sends the rest and waits until every node has finished the block, with the checksum of what was sent: else
  // kCorrupt.
  virtual Result<WrittenBlock> Finish() = 0;

  // After a failed Write or Finish: closes the block at the last byte that all nodes had acknowledged, on the nodes
  // that still answer. (When all bytes had been sent and the nodes that answer have them all, they keep them all.) What
  // it gives is the short block (length 0 and no nodes: nothing could be saved); *unacknowledged takes the bytes that
  // were given to Write and are not in it, to be written to a new block; *failed_nodes those to leave out. kUnavailable
  // when acknowledged bytes are lost because no node of the pipeline answers any more.
  virtual Result<WrittenBlock> Salvage(std::string* unacknowledged, std::vector<std::uint32_t>* failed_nodes) = 0;
};

}  // namespace millrace::dfs
