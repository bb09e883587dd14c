// BlockWriter: one block through a pipeline of nodes, from a blocking caller.
// Thread rule: one thread at a time. Times out after `stall` without progress of the pipeline.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "dfs/wire/place.h"

namespace millrace::dfs {

class BlockWriter {
 public:
  // Connects the pipeline. On failure *failed_node names the node to leave out next time, if it is known.
  static Result<std::unique_ptr<BlockWriter>> Open(std::uint64_t block, const std::vector<Place>& pipeline, Micros stall,
                                                   std::vector<std::uint32_t>* failed_nodes);
  virtual ~BlockWriter() = default;

  // Sends bytes (buffered to whole packets; at most 16 packets are unacknowledged).
  virtual Status Write(std::string_view data) = 0;
  // Sends the rest and waits until every node has finished the block.
  virtual Result<WrittenBlock> Finish() = 0;

  // After a failed Write or Finish: closes the block at the last byte that all nodes had acknowledged, on the nodes that
  // still answer. What it gives is the short block (length 0 and no nodes: nothing could be saved); *unacknowledged takes the
  // bytes that were given to Write and are not in it, to be written to a new block; *failed_nodes those to leave out.
  // kUnavailable when acknowledged bytes are lost because no node of the pipeline answers any more.
  virtual Result<WrittenBlock> Salvage(std::string* unacknowledged, std::vector<std::uint32_t>* failed_nodes) = 0;
};

}  // namespace millrace::dfs
