// SPDX-License-Identifier: Apache-2.0
// RemovedBlocks stores the blocks that files gave up. A worker that reports one of them, even years later, gets the
// order to delete it, and does not count as one that knows more than the master. Nobody can say whether an absent node
// still has a block. So the most recent blocks are kept, as many as BlockManager remembers, whether or not they are
// still reported.
//
// The blocks of one change are stored in the batch of that change, under "x/<number>" with rising numbers, 8 bytes
// each. Thread rule: control thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "base/kv/key_value_store.h"
#include "base/status.h"
#include "dfs/name/types.h"

namespace millrace::master {

class RemovedBlocks {
 public:
  // `keep` is the number of blocks to remember. A change is dropped once the later changes contain that many blocks.
  explicit RemovedBlocks(std::size_t keep) : keep_(keep) {}

  // Calls visit for each stored block, in the order of removal. Requires: this object is empty.
  [[nodiscard]] Status Load(const KeyValueStore& store, const std::function<void(dfs::BlockId)>& visit);
  void Add(const std::vector<dfs::BlockId>& blocks, WriteBatch* batch);
  // Returns the most bytes of a spare log that adding this many blocks takes.
  [[nodiscard]] std::uint64_t BytesToAdd(std::size_t blocks) const;

 private:
  struct Change {
    std::uint64_t number = 0;
    std::size_t blocks = 0;
  };
  const std::size_t keep_;
  std::deque<Change> changes_;
  std::size_t blocks_ = 0;  // of all changes
};

}  // namespace millrace::master
