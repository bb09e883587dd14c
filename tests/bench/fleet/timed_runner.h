// SPDX-License-Identifier: Apache-2.0
// TimedRunner runs attempts that take a set time and do no work, and records when each began and ended. It stands in
// for a worker's task processes (worker/daemon/process/task_runner.h). Thread rule: one thread, that of the event loop.
#pragma once

#include <kj/time.h>
#include <kj/timer.h>

#include <array>
#include <deque>
#include <vector>

#include "base/ids/ids.h"
#include "base/random.h"
#include "tests/fakes/synthetic_worker.h"
#include "worker/daemon/process/task_runner.h"

namespace millrace::bench {

// The events that all runners of a fleet have seen, in order.
struct Tally {
  std::vector<AttemptId> launched, succeeded;
  // For each launch into a slot that had run a task before, the time for which the slot was free.
  std::vector<kj::Duration> idle;
};

class TimedRunner final : public worker::TaskRunner, private worker::TaskObserver {
 public:
  // Requires: `timer` and `tally` outlive this.
  TimedRunner(kj::Timer& timer, kj::Duration work, Tally& tally);
  ~TimedRunner() noexcept override = default;

  void Observe(worker::TaskObserver* observer) override { observer_ = observer; }
  void SetUpJob(JobId job, std::string executable, worker::OwnedMessage<task::wire::SetUp> set_up) override;
  void RunMap(worker::OwnedMessage<task::wire::RunMap> launch) override;
  void RunReduce(worker::OwnedMessage<task::wire::RunReduce> launch) override;
  [[nodiscard]] kj::Promise<void> Kill(const AttemptId& attempt) override { return attempts_.Kill(attempt); }
  [[nodiscard]] kj::Promise<void> EndJob(JobId job) override { return attempts_.EndJob(job); }
  [[nodiscard]] kj::Promise<void> ForgetJob(JobId job) override { return attempts_.ForgetJob(job); }

 private:
  void NoteLaunch(const AttemptId& attempt);
  void TaskProgress(const AttemptId& attempt, worker::OwnedMessage<task::wire::Progress> progress) override;
  void TaskDone(const AttemptId& attempt, worker::OwnedMessage<task::wire::Done> done) override;
  void TaskFailed(const AttemptId& attempt, worker::TaskFailure failure) override;

  const kj::MonotonicClock& clock_ = kj::systemPreciseMonotonicClock();
  Tally& tally_;
  worker::TaskObserver* observer_ = nullptr;
  std::array<std::deque<kj::TimePoint>, 2> freed_;  // by kind: the times at which slots became free, the earliest first
  worker::SyntheticRunner attempts_;
};

}  // namespace millrace::bench
