// RemovedBlocks: the blocks that files gave up, as stored. A worker that reports one of them, even years later, is told
// to delete it, and is not taken for one that knows more than the master. Nobody can say whether a node that is away
// holds a block; so the last blocks are kept, as many as BlockManager remembers, rather than those that are still
// reported.
//
// They are stored under "x/<number>" -> the blocks of one change, 8 bytes each, in rising numbers, in the batch of that
// change. Thread rule: control thread.
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
  // `keep`: the number of blocks that are remembered; an older change is dropped when the later ones make up that many.
  explicit RemovedBlocks(std::size_t keep) : keep_(keep) {}

  // Calls visit for each block that is stored, the first removed first. Requires: this is empty.
  [[nodiscard]] Status Load(const KeyValueStore& store, const std::function<void(dfs::BlockId)>& visit);
  void Add(const std::vector<dfs::BlockId>& blocks, WriteBatch* batch);
  // Returns how many bytes of a spare log it takes at most to add so many blocks.
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
