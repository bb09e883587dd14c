// SPDX-License-Identifier: Apache-2.0
// BlockDisks decides whether a worker continues when one of the disks with its blocks fails. As long as enough disks
// are left, the worker continues with them and reports the blocks on the failed disk as gone, so that they are copied
// from other replicas. Otherwise, or if the failed disk contains the worker's own directory, the worker stops. Thread
// rule: the control thread.
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

// Returns the error with which a worker stops when this directory is gone.
[[nodiscard]] Status StorageGone(const std::string& directory, const Status& why);

class BlockDisks {
 public:
  struct Events {
    std::function<void(const std::vector<std::uint64_t>& blocks)> lost;
    std::function<void(const Status& why)> over;  // called once, as the last event
  };
  // `directories` are the directories of the disks of `blocks`, in their order; `own` is the worker's directory;
  // `may_fail` is the number of disks that may fail; -1 means all but one. Requires: `blocks` outlives this.
  BlockDisks(dfs::SpreadBlockStore& blocks, std::vector<std::string> directories, std::string own,
             std::int64_t may_fail, Events events, Log log);
  // Takes in the failure of the disk. Does nothing if the disk had failed before.
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
