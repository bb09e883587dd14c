// BlockDisks decides what becomes of a worker when one of the disks fails on which its blocks lie. The worker goes on
// with the others as long as enough are left, and the blocks on the failed disk are told as gone, so that they are
// copied from other replicas. Else, or when the disk is the one of the worker's own directory, it is over. Thread rule:
// the control thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "dfs/data/spread_block_store.h"

namespace millrace::worker {

// Returns why a worker without this directory stops.
[[nodiscard]] Status StorageGone(const std::string& directory, const Status& why);

class BlockDisks {
 public:
  struct Events {
    std::function<void(const std::vector<std::uint64_t>& blocks)> lost;
    std::function<void(const Status& why)> over;  // once; nothing is called after it
  };
  // `directories` are those of the disks of `blocks`, in their order; `own` is the worker's directory; `may_fail` is
  // how many of the disks may fail, -1 for all but one. Requires: `blocks` outlives this.
  BlockDisks(dfs::SpreadBlockStore& blocks, std::vector<std::string> directories, std::string own,
             std::int64_t may_fail, Events events, Log log);
  // Takes in that the disk failed. Does nothing the second time.
  void Failed(std::size_t disk, const Status& why);

 private:
  dfs::SpreadBlockStore& blocks_;
  const std::vector<std::string> directories_;
  const std::string own_;
  const std::size_t may_fail_;
  const Events events_;
  Log log_;
  std::vector<bool> failed_;
  bool over_ = false;
};

}  // namespace millrace::worker
