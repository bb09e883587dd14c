// SPDX-License-Identifier: Apache-2.0
// Watchers notifies clients when a job changes. Changes are gathered for kPause so that a busy job costs each watcher
// one message per pause; the end of a job is reported at once. Everything reported is on disk. Thread rule: the control
// thread.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <map>
#include <set>
#include <utility>

#include "base/protocol/master.capnp.h"
#include "master/control/commit_gate.h"
#include "master/jobs/job_tracker.h"

namespace millrace::master {

class Watchers {
 public:
  static constexpr kj::Duration kPause = 100 * kj::MILLISECONDS;

  // `commits` keeps the changes of `jobs`. Requires: all arguments and this outlive `tasks`.
  Watchers(kj::Timer& timer, const JobTracker& jobs, CommitGate& commits, kj::TaskSet& tasks)
      : timer_(timer), jobs_(jobs), commits_(commits), tasks_(tasks) {}

  // Notifies the watcher of changes until the subscription is dropped. Requires: this outlives every subscription's
  // connection.
  [[nodiscard]] wire::Subscription::Client Add(JobId job, wire::JobWatcher::Client watcher);
  void Changed(JobId job);
  // Notes that the job has ended. Watchers are notified by Ended, not before.
  void Ending(JobId job) { changed_.erase(job); }
  void Ended(JobId job);

 private:
  class SubscriptionImpl;
  struct Watcher {
    wire::JobWatcher::Client client;
    bool busy = false;  // a message is under way: a slow client gets fewer of them, not a queue
    bool again = false;
  };
  void Tell(JobId job);
  void TellOne(JobId job, std::uint64_t id);

  kj::Timer& timer_;
  const JobTracker& jobs_;
  CommitGate& commits_;
  kj::TaskSet& tasks_;
  std::map<JobId, std::map<std::uint64_t, Watcher>> watchers_;
  std::set<JobId> changed_;
  bool armed_ = false;
  std::uint64_t next_ = 1;
};

}  // namespace millrace::master
