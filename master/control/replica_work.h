// SPDX-License-Identifier: Apache-2.0
// ReplicaWork gives out the work that the replicas of blocks need: copies of blocks that have too few, removals, and
// the moves of balancing (dfs/name/block_manager.h says which). Thread rule: the control thread.
#pragma once

#include <kj/async.h>

#include <list>

#include "base/log.h"
#include "master/cluster/file_system.h"
#include "master/control/dispatcher.h"
#include "master/control/master_clock.h"
#include "master/control/master_config.h"
#include "master/control/steps.h"
#include "master/control/workers.h"

namespace millrace::master {

class ReplicaWork {
 public:
  // Requires: all arguments and this outlive `tasks`.
  ReplicaWork(const MasterConfig& config, const MasterClock& clock, FileSystem& files, const Workers& workers,
              Steps& steps, Dispatcher& dispatcher, kj::TaskSet& tasks, Log log)
      : config_(config),
        clock_(clock),
        files_(files),
        workers_(workers),
        steps_(steps),
        dispatcher_(dispatcher),
        tasks_(tasks),
        log_(std::move(log)) {}

  // Sends the workers what is to be done now. Replicas are removed only once the removal of their file is on disk.
  // Requires: GiveOut is called now and then.
  void GiveOut();

  // These do what the calls of dfs::BlockManager do. Whether balancing is under way is not stored, so a master that has
  // restarted does not balance.
  void StartBalance(double threshold);
  void StopBalance();
  // Resolves when balancing ends; at once if it is not under way.
  [[nodiscard]] kj::Promise<void> BalanceEnd();

 private:
  void NoticeBalanceEnd();

  const MasterConfig& config_;
  const MasterClock& clock_;
  FileSystem& files_;
  const Workers& workers_;
  Steps& steps_;
  Dispatcher& dispatcher_;
  kj::TaskSet& tasks_;
  const Log log_;
  bool balancing_ = false;
  std::list<kj::Own<kj::PromiseFulfiller<void>>> balance_waiters_;
};

}  // namespace millrace::master
