// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/fleet/timed_runner.h"

#include <utility>

namespace millrace::bench {

TimedRunner::TimedRunner(kj::Timer& timer, kj::Duration work, Tally& tally)
    : tally_(tally),
      attempts_(timer, Random(1), {.map_least = work, .map_most = work, .reduce_least = work, .reduce_most = work}) {
  attempts_.Observe(this);
}

void TimedRunner::SetUpJob(JobId job, std::string executable, worker::OwnedMessage<task::wire::SetUp> set_up) {
  attempts_.SetUpJob(job, std::move(executable), std::move(set_up));
}

void TimedRunner::RunMap(worker::OwnedMessage<task::wire::RunMap> launch) {
  NoteLaunch(FromWire(launch.reader().getAttempt()));
  attempts_.RunMap(std::move(launch));
}

void TimedRunner::RunReduce(worker::OwnedMessage<task::wire::RunReduce> launch) {
  NoteLaunch(FromWire(launch.reader().getAttempt()));
  attempts_.RunReduce(std::move(launch));
}

void TimedRunner::NoteLaunch(const AttemptId& attempt) {
  tally_.launched.push_back(attempt);
  auto& freed = freed_[attempt.task.reduce()];
  if (freed.empty()) return;
  tally_.idle.push_back(clock_.now() - freed.front());
  freed.pop_front();
}

void TimedRunner::TaskProgress(const AttemptId& attempt, worker::OwnedMessage<task::wire::Progress> progress) {
  if (observer_ != nullptr) observer_->TaskProgress(attempt, std::move(progress));
}

void TimedRunner::TaskDone(const AttemptId& attempt, worker::OwnedMessage<task::wire::Done> done) {
  tally_.succeeded.push_back(attempt);
  freed_[attempt.task.reduce()].push_back(clock_.now());
  if (observer_ != nullptr) observer_->TaskDone(attempt, std::move(done));
}

void TimedRunner::TaskFailed(const AttemptId& attempt, worker::TaskFailure failure) {
  if (observer_ != nullptr) observer_->TaskFailed(attempt, std::move(failure));
}

}  // namespace millrace::bench
