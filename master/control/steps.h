// SPDX-License-Identifier: Apache-2.0
// Steps turns what calls and time change into steps, and gets the steps onto the disk. A caller begins a step, changes
// files, nodes and jobs, and finishes it; then the policy decides, the workers are sent their orders, and the batch of
// the step is handed to the commit log.
//
// Rule of durability: a call changes memory and the journal in one step. Orders go out to workers at once. An answer to
// a client waits until every step that it may depend on is on disk: the call's own step, and the steps of others that
// it has seen (Shown; master/service/after_commits.h sees to that for every call). Nothing may wait between Begin and
// the call that finishes the step. Thread rule: the control thread.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>

#include "base/log.h"
#include "master/cluster/file_system.h"
#include "master/control/change_index.h"
#include "master/control/commit_gate.h"
#include "master/control/disk_room.h"
#include "master/control/dispatcher.h"
#include "master/control/master_clock.h"
#include "master/control/watchers.h"
#include "master/jobs/job_tracker.h"

namespace millrace::master {

class Steps {
 public:
  // Requires: all arguments and this outlive `tasks`.
  Steps(MasterClock& clock, kj::Timer& timer, CommitGate& commits, const DiskRoom& room, const FileSystem& files,
        JobTracker& jobs, Watchers& watchers, ChangeIndex& changes, Dispatcher& dispatcher, kj::TaskSet& tasks,
        Log log);

  // Returns the pointer to this that the capabilities of peers hold. A call that waits for the disk keeps its
  // capability alive, perhaps longer than the master exists. The pointer inside is null from Stop on.
  [[nodiscard]] std::shared_ptr<Steps* const> self() const { return self_; }
  // Called when the master ends, before any part of it does: no capability may use one from then on.
  void Stop() { *self_ = nullptr; }

  // Begins a step. No two steps have the same time, so the journal shows which events belong to one step, and a replay
  // decides at the points where this master decided.
  [[nodiscard]] Step Begin() { return Step(clock_.ForStep()); }
  // Lets the policy decide, sends the orders and commits the step. The promise resolves when the step, and all before
  // it, are on disk. It waits for the earlier steps even if this one has changed nothing, since the caller has seen
  // them.
  kj::Promise<void> Finish(Step step);
  // Does what Finish does, but nobody waits for the disk.
  void FinishLazily(Step step);
  // Does what FinishLazily does, for a step that assigned an id. The promise resolves when the disk records the id as
  // taken; mostly at once, since ids are reserved in runs. Without that record, a master that lost power would assign
  // the id again.
  kj::Promise<void> FinishReserved(Step step);

  // These two calls ensure that the disk records a job's number as taken before the job is submitted. Workers learn of
  // a job at once. Without the record, a master that lost power would give the number to another job, while workers
  // have attempts of the first job under that number. NumberIsKept returns whether the next number is recorded. If it
  // is not, KeepNumber reserves numbers and resolves when they are on disk; other jobs may have taken them all by then.
  [[nodiscard]] bool NumberIsKept() const { return jobs_.next_number() < numbers_on_disk_; }
  [[nodiscard]] kj::Promise<void> KeepNumber();

  // Returns the number of the last step that has changed anything.
  [[nodiscard]] std::uint64_t last() const { return commits_.last(); }
  // Resolves when all steps finished so far are on disk; at once if they are.
  [[nodiscard]] kj::Promise<void> Kept() { return commits_.Kept(); }
  // Resolves when an answer made after `step` may be sent, that is, when that step and all before it are on disk. Does
  // not resolve if they never will be. Rejects with kBusy if they wait for room on the master's disk.
  [[nodiscard]] kj::Promise<void> Shown(std::uint64_t step);
  // Has `ended` called for each job that ends, once that is on disk.
  void OnEnded(std::function<void(const JobRecord&)> ended) { on_ended_ = std::move(ended); }
  // Has `decided` called after each time that the policy has decided, within the step: it begins no other.
  void OnDecided(std::function<void()> decided) { on_decided_ = std::move(decided); }
  // Resolves when the job's end, if it has ended, is on disk.
  [[nodiscard]] kj::Promise<void> EndKept(JobId job);

 private:
  void Send(Step& step);
  void TellEnded(kj::Promise<void> committed, std::set<JobId> ended);
  void ArmWake();

  const std::shared_ptr<Steps*> self_ = std::make_shared<Steps*>(this);
  MasterClock& clock_;
  kj::Timer& timer_;
  CommitGate& commits_;
  const DiskRoom& room_;
  const FileSystem& files_;
  JobTracker& jobs_;
  Watchers& watchers_;
  ChangeIndex& changes_;
  Dispatcher& dispatcher_;
  kj::TaskSet& tasks_;
  const Log log_;
  std::function<void(const JobRecord&)> on_ended_;
  std::function<void()> on_decided_;
  std::uint64_t ids_on_disk_ = 0;      // the disk records all ids below as taken
  std::uint64_t numbers_on_disk_ = 0;  // the disk records all job numbers below as taken
  std::set<JobId> ending_;             // ended jobs whose end is not on disk yet
  std::optional<Micros> wake_;         // scheduler time for which a wake is armed
};

}  // namespace millrace::master
