// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/storage/block_disks.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace millrace::worker {

Status StorageGone(const std::string& directory, const Status& why) {
  return why.Within("the storage in " + directory + " is gone");
}

BlockDisks::BlockDisks(dfs::SpreadBlockStore& blocks, std::vector<std::string> directories, std::string own,
                       std::int64_t may_fail, Events events, Log log)
    : blocks_(blocks),
      directories_(std::move(directories)),
      own_(std::move(own)),
      may_fail_(
          std::min(may_fail < 0 ? directories_.size() : static_cast<std::size_t>(may_fail), directories_.size() - 1)),
      events_(std::move(events)),
      log_(std::move(log)),
      failed_(directories_.size()) {}

void BlockDisks::Failed(std::size_t disk, const Status& why) {
  if (over_ || failed_.at(disk)) return;
  failed_[disk] = true;
  const std::string& directory = directories_[disk];
  const auto failed = static_cast<std::size_t>(std::count(failed_.begin(), failed_.end(), true));
  if (directory == own_ || failed > may_fail_) {
    over_ = true;
    return events_.over(StorageGone(directory, why));
  }
  const std::vector<std::uint64_t> lost = blocks_.Fail(disk);
  log_->error(
      "the disk of {} has failed: {}; its {} blocks are to be copied from other workers, and this one goes on with {} "
      "of {} disks; replace the disk or take it out of worker.block_directories, then restart the worker",
      directory, why.message(), lost.size(), directories_.size() - failed, directories_.size());
  events_.lost(lost);
}

}  // namespace millrace::worker
