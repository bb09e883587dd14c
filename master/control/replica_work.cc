// SPDX-License-Identifier: Apache-2.0
#include "master/control/replica_work.h"

#include <cstdint>
#include <utility>
#include <vector>

#include "dfs/name/block_manager.h"

namespace millrace::master {

void ReplicaWork::GiveOut() {
  dfs::BlockWork work;
  if (!workers_.InStartupGrace()) {
    work = files_.blocks().NextWork(clock_.Awake(), static_cast<std::uint32_t>(config_.copies_per_node),
                                    config_.copy_timeout);
  }
  NoticeBalanceEnd();
  dispatcher_.Send(dfs::BlockWork{std::exchange(work.replicate, {}), {}, {}});
  std::vector<dfs::DeleteWork> leftovers = files_.TakeLeftovers();
  if (work.remove.empty() && work.aside.empty() && leftovers.empty()) return;
  // Until the removal of a file is on disk, a restart would bring the file back. Its blocks stay until then. Reports
  // may have begun meanwhile; none names leftovers.
  tasks_.add(steps_.Kept().then([this, work = std::move(work), leftovers = std::move(leftovers)]() mutable {
    const auto is_old = [this](const dfs::DeleteWork& order) {
      return order.report != files_.blocks().ReportsBegun(order.node);
    };
    std::erase_if(work.remove, is_old);
    std::erase_if(work.aside, is_old);
    work.remove.insert(work.remove.end(), leftovers.begin(), leftovers.end());
    dispatcher_.Send(work);
  }));
}

void ReplicaWork::StartBalance(double threshold) {
  files_.blocks().StartBalance(threshold);
  balancing_ = true;
  log_->info("balancing: replicas move until all workers are within {:g}% of the mean", 100 * threshold);
}

void ReplicaWork::StopBalance() {
  files_.blocks().StopBalance();
  NoticeBalanceEnd();
}

kj::Promise<void> ReplicaWork::BalanceEnd() {
  if (!balancing_) return kj::READY_NOW;
  auto paf = kj::newPromiseAndFulfiller<void>();
  balance_waiters_.push_back(std::move(paf.fulfiller));
  return kj::mv(paf.promise);
}

void ReplicaWork::NoticeBalanceEnd() {
  if (!balancing_) return;
  const dfs::BalanceView view = files_.blocks().Balance();
  if (view.state == dfs::BalanceState::kMoving) {
    std::erase_if(balance_waiters_, [](auto& waiter) { return !waiter->isWaiting(); });
    return;
  }
  balancing_ = false;
  log_->info("balancing has ended: {}; {} blocks of {} bytes were moved, the shares are {:.1f}% to {:.1f}%",
             view.state == dfs::BalanceState::kBalanced ? "all workers are within the threshold"
             : view.state == dfs::BalanceState::kStuck  ? "nothing else can be moved"
                                                        : "it was stopped",
             view.moved_blocks, view.moved_bytes, 100 * view.smallest, 100 * view.largest);
  for (auto& waiter : std::exchange(balance_waiters_, {})) waiter->fulfill();
}

}  // namespace millrace::master
