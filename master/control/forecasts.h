// SPDX-License-Identifier: Apache-2.0
// Forecasts has statements made of when jobs start and end (schedulers/forecast), off the control thread.
//
// On the control thread a detached copy of the engine is taken; a thread in the background plays it forward and makes
// the statements; these come back to the control thread, where they are kept for whoever asks, and noted by the
// tracker, which judges them when jobs start and end. A play is made when jobs were submitted since the last one, and
// when somebody asks and the last one is older than kPause. Two plays begin at least kPause apart, and plays take at
// most a kShare-th of the time. A play ends after kLongestPlay at the latest; what it has not reached is then unknown.
//
// What was said is taken back when something is changed that no play foresees (JobTracker::turns): whoever asks then
// waits for the next play, as for a job of which nothing has been said.
//
// No play is made, and problem() says why, while the scheduler cannot be copied, while live jobs have more than
// kMostTasks tasks (a copy of them would take the control thread too long), and without a thread for it. Thread rule:
// the control thread.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "base/log.h"
#include "base/rpc/background.h"
#include "master/control/master_clock.h"
#include "master/control/scheduler_choice.h"
#include "master/jobs/job_tracker.h"
#include "schedulers/forecast/forecaster.h"

namespace millrace::master {

class Forecasts {
 public:
  static constexpr Micros kPause = kSecond, kLongestPlay = 2 * kSecond, kLongestWait = 3 * kSecond;
  static constexpr std::uint64_t kMostTasks = 100'000, kMostEvents = 400'000;
  static constexpr int kShare = 20;

  // `background` is null if no statements are to be made. `nanoseconds` measures plays, and is called on both threads;
  // if it is empty, their length is bounded by events alone. Requires: the other arguments outlive this.
  Forecasts(rpc::Background* background, std::function<std::int64_t()> nanoseconds, const MasterClock& clock,
            kj::Timer& timer, JobTracker& jobs, const SchedulerChoice& scheduler, Log log);
  ~Forecasts();

  // Makes a play if jobs were submitted since the last one. Requires: this is called now and then.
  void Poll();
  // Resolves when the statements are as new as they can be had: at once if they are younger than kPause or no play may
  // be made yet. If `lacks` says that one is missing then, waits for the next play. Resolves after kLongestWait at the
  // latest. `lacks` may be empty. Requires: what `lacks` uses outlives the promise.
  [[nodiscard]] kj::Promise<void> Fresh(std::function<bool()> lacks = {});
  // Returns the last statement about the job; null if there is none, as is so of a job that the engine does not have or
  // that is on hold, and of all jobs from a change until the next play.
  [[nodiscard]] const sched::Statement* Find(JobId job) const;
  // Returns the time of the master, as Statement::made has it.
  [[nodiscard]] Micros Now() const { return clock_.Now(); }
  // Returns how often statements of this kind have held.
  [[nodiscard]] sched::OwnRecord Own(sched::Foretold what) const { return jobs_.forecaster().intervals().Own(what); }
  // Returns why the jobs cannot be played forward now, as a clause; empty if they can. Whether the scheduler can be
  // copied shows only when it is. O(live jobs)
  [[nodiscard]] std::string WhyNot() const;
  // Returns why there are no statements, as a clause; empty if there are, or will be with the next play of new jobs.
  [[nodiscard]] std::string problem() const;

 private:
  struct Work;
  // Does what Fresh does, without a limit of time, and waits for at most so many plays.
  kj::Promise<void> Renew(std::function<bool()> lacks, int plays);
  // Begins a play if it may begin now.
  void Begin();
  void Take(const std::shared_ptr<Work>& work);
  // Returns true if the statements were made before the last change.
  [[nodiscard]] bool Overtaken() const { return turns_ != jobs_.turns(); }

  rpc::Background* const background_;
  const std::function<std::int64_t()> nanoseconds_;
  const MasterClock& clock_;
  kj::Timer& timer_;
  JobTracker& jobs_;
  const SchedulerChoice& scheduler_;
  const Log log_;
  // Work in the background may outlive this; the pointer inside is null then.
  const std::shared_ptr<Forecasts*> self_ = std::make_shared<Forecasts*>(this);
  // Ends a play that nobody waits for any more. Both threads use it.
  const std::shared_ptr<std::atomic<bool>> stopping_ = std::make_shared<std::atomic<bool>>(false);
  std::map<JobId, sched::Statement> statements_;
  std::string problem_;
  Micros begun_ = 0, next_ = 0;  // of the last play, and the earliest time of the next one, as MasterClock::Awake
  bool ever_ = false;
  std::uint64_t submissions_ = 0;  // of the tracker, when the last play began
  std::uint64_t turns_ = 0;        // of the tracker, when the play began from which statements_ are
  kj::Maybe<kj::ForkedPromise<void>> under_way_;
  kj::Own<kj::PromiseFulfiller<void>> done_;
};

}  // namespace millrace::master
