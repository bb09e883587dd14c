// SPDX-License-Identifier: Apache-2.0
// The life of an attempt: launched, then succeeded, failed, lost or killed.
#include <algorithm>

#include "base/ids/counted.h"
#include "schedulers/core/engine_impl.h"
#include "schedulers/events/check.h"
#include "schedulers/events/limits.h"

namespace millrace::sched {
namespace {

// Returns an empty text for a task that may leave no records out.
std::string LeftOutRecordsInWords(const JobState& job, const TaskId& task) {
  if (task.kind == TaskKind::kReduce || job.spec.skip_bad_records == 0) return {};
  const auto bad = job.bad_records.find(task.index);
  const std::uint32_t left_out = bad == job.bad_records.end() ? 0 : bad->second.left_out();
  return " (" + std::to_string(left_out) + " of its records are left out, and no more than " +
         std::to_string(job.spec.skip_bad_records) + " may be)";
}

}  // namespace

const TaskState* Engine::Impl::FindTask(const TaskId& task) const {
  const JobState* job = FindLiveJob(task.job);
  if (job == nullptr) return nullptr;
  const auto& tasks = job->Tasks(task.kind);
  return task.index < tasks.size() ? &tasks[task.index] : nullptr;
}

const RunningAttempt* Engine::Impl::FindRunning(const AttemptId& attempt) const {
  const TaskState* task = FindTask(attempt.task);
  return task == nullptr ? nullptr : task->Find(attempt.number);
}

void Engine::Impl::KillAttempts(const TaskId& task, const std::string& reason, Effects& effects) {
  while (!FindTask(task)->running.empty()) {
    const RunningAttempt victim = FindTask(task)->running.front();
    state.StopAttempt({task, victim.number}, now);
    ++state.MutableJob(task.job).progress.killed_attempts;
    effects.push_back(Kill{{task, victim.number}, victim.node, reason});
  }
}

// Recovery replays what was decided. It must fit the state, but what the policy of that day had to say (limits of the
// node, blacklists, slow start) is not asked again: another policy may be in force now. A task that runs already may
// get one more attempt.
bool Engine::Impl::On(const AttemptLaunched& event, Effects&) {
  const TaskState* task = FindTask(event.attempt.task);
  if (task == nullptr || task->done || event.attempt.number != task->launched) return false;
  const NodeState* node = state.FindNode(event.node);
  if (node == nullptr || !node->InUse() || node->running.size() >= kMaxRunning) return false;
  // The end of a job that let this one go may be forgotten, and a standstill that did so is not an event.
  if (state.FindJob(event.attempt.task.job)->held) state.ReleaseHeld();
  state.Resume(event.attempt.task);
  const JobState& job = *state.FindJob(event.attempt.task.job);
  const bool was_over = job.over_limit;
  if (job.on_hold) state.SetOnHold(event.attempt.task.job, false);
  if (was_over) state.SetOverLimit(event.attempt.task.job, false);
  state.StartAttempt(event.attempt, event.node, now);
  if (was_over) LimitUser(job.spec.PoolName(), job.spec.user);
  return true;
}

bool Engine::Impl::On(const AttemptSucceeded& event, Effects& effects) {
  if (const JobState* job = state.FindJob(event.attempt.task.job)) job->Prefetch();
  const RunningAttempt* running = FindRunning(event.attempt);
  if (running == nullptr) return false;
  const NodeId node = running->node;
  const TaskId& task = event.attempt.task;
  state.FinishAttempt(event.attempt, now);
  if (!deaths.empty()) deaths.erase(task);
  if (!FindTask(task)->running.empty()) {
    KillAttempts(task, "attempt " + std::to_string(event.attempt.number) + " has succeeded", effects);
  }
  JobState& job = state.MutableJob(task.job);
  if (task.kind == TaskKind::kMap && event.input_bytes > 0) {
    job.map_input_bytes += event.input_bytes;
    job.map_output_bytes += event.output_bytes;
    if (job.progress.reduces > 0) state.TakeSpace(node, event.output_bytes);
  }
  if (task.kind == TaskKind::kMap && job.progress.reduces > 0) effects.push_back(MapOutputReady{event.attempt, node});
  if (task.kind == TaskKind::kReduce) WeighReports(task.job, effects);
  if (job.Complete()) EndJob(task.job, JobOutcome::kSucceeded, "", effects);
  return true;
}

bool Engine::Impl::On(const AttemptFailed& event, Effects& effects) {
  const RunningAttempt* running = FindRunning(event.attempt);
  if (running == nullptr) return false;
  const NodeId node = running->node;
  const TaskId& id = event.attempt.task;
  state.StopAttempt(event.attempt, now);
  if (!event.permanent && !BlameRecord(event)) CountNodeFailure(id, node, effects);
  if (id.kind == TaskKind::kReduce) WeighReports(id.job, effects);
  JobState& job = state.MutableJob(id.job);
  ++job.progress.failed_attempts;
  const std::uint32_t failed = ++job.Tasks(id.kind)[id.index].failed;
  if (event.permanent) {
    GiveUpTask(id, "task " + ToText(id) + " failed and is not tried again, since it would fail again: " + event.reason,
               effects);
    return true;
  }
  if (FailuresThatCount(id) >= std::max(job.spec.max_attempts, 1U)) {
    GiveUpTask(id,
               "task " + ToText(id) + " failed " + Counted(failed, "time") + LeftOutRecordsInWords(job, id) +
                   ", the last time: " + event.reason,
               effects);
  } else {
    PauseAfterFailure(id);
  }
  return true;
}

bool Engine::Impl::BlameRecord(const AttemptFailed& event) {
  const TaskId& id = event.attempt.task;
  JobState& job = state.MutableJob(id.job);
  if (!event.record || id.kind == TaskKind::kReduce || job.spec.skip_bad_records == 0) return false;
  BadRecords& bad = job.bad_records[id.index];
  const std::uint32_t before = bad.left_out();
  const bool blamed = bad.Fail(*event.record, event.attempt.number, FindTask(id)->launched, job.spec.skip_bad_records);
  job.progress.records_left_out += bad.left_out() - before;
  return blamed;
}

std::uint32_t Engine::Impl::FailuresThatCount(const TaskId& id) const {
  const JobState& job = *state.FindJob(id.job);
  const std::uint32_t failed = job.Tasks(id.kind)[id.index].failed;
  if (id.kind == TaskKind::kReduce || job.bad_records.empty()) return failed;
  const auto bad = job.bad_records.find(id.index);
  return bad == job.bad_records.end() ? failed : failed - bad->second.forgiven();
}

void Engine::Impl::PauseAfterFailure(const TaskId& id) {
  const std::uint32_t count = FailuresThatCount(id);
  if (count < 2 || !FindTask(id)->pending() || options.retry_pause <= 0) return;
  Micros pause = options.retry_pause;
  for (std::uint32_t failed = 2; failed < count && pause < options.longest_retry_pause; ++failed) pause *= 2;
  state.Pause(id, now + std::min(pause, options.longest_retry_pause));
}

bool Engine::Impl::On(const AttemptLost& event, Effects& effects) {
  const TaskId& task = event.attempt.task;
  if (ServesOutput(event.attempt)) {
    LoseOutput(task.job, task.index, effects);
    return true;
  }
  if (FindRunning(event.attempt) == nullptr) return false;
  state.StopAttempt(event.attempt, now);
  ++state.MutableJob(task.job).progress.killed_attempts;
  if (task.kind == TaskKind::kReduce) WeighReports(task.job, effects);
  return true;
}

bool Engine::Impl::On(const AttemptPreempted& event, Effects&) {
  if (FindRunning(event.attempt) == nullptr) return false;
  state.StopAttempt(event.attempt, now);
  ++state.MutableJob(event.attempt.task.job).progress.preempted_attempts;
  return true;
}

void Engine::Impl::GiveUpTask(const TaskId& task, const std::string& reason, Effects& effects) {
  const JobState& job = *state.FindJob(task.job);
  if (task.kind == TaskKind::kReduce || job.spec.max_failed_maps == 0)
    return EndJob(task.job, JobOutcome::kFailed, reason, effects);
  if (!job.MayLeaveOutAnother()) {
    const std::string left_out = std::to_string(job.progress.maps_left_out) + " of " +
                                 std::to_string(job.progress.maps) + " maps are left out already, and no more than " +
                                 std::to_string(job.spec.max_failed_maps) + "% may be";
    return EndJob(task.job, JobOutcome::kFailed, reason + " (" + left_out + ")", effects);
  }
  KillAttempts(task, "the job goes on without its map", effects);
  state.LeaveOut(task.job, task.index, now);
  ForgetBadRecords(task);
  deaths.erase(task);
  effects.push_back(MapLeftOut{task, reason});
  if (job.Complete()) EndJob(task.job, JobOutcome::kSucceeded, "", effects);
}

void Engine::Impl::ForgetBadRecords(const TaskId& map) {
  JobState& job = state.MutableJob(map.job);
  const auto bad = job.bad_records.find(map.index);
  if (bad == job.bad_records.end()) return;
  job.progress.records_left_out -= bad->second.left_out();
  job.bad_records.erase(bad);
}

std::string Engine::Impl::WhyNot(const Victim& victim) const {
  return FindRunning(victim.attempt) == nullptr ? "it does not run" : "";
}

void Engine::Impl::Preempt(const Victim& victim, Effects& effects) {
  effects.push_back(sched::Preempt{victim.attempt, FindRunning(victim.attempt)->node, victim.reason});
  (void)On(AttemptPreempted{victim.attempt, victim.reason}, effects);
}

bool Engine::Impl::On(const AttemptProgressed& event, Effects&) {
  if (FindRunning(event.attempt) == nullptr || event.per_mille > 1000) return false;
  const TaskId& task = event.attempt.task;
  for (RunningAttempt& running : state.MutableJob(task.job).Tasks(task.kind)[task.index].running) {
    if (running.number == event.attempt.number) running.per_mille = std::max(running.per_mille, event.per_mille);
  }
  return true;
}

bool Engine::Impl::On(const ReduceComputing& event, Effects& effects) {
  if (event.attempt.task.kind != TaskKind::kReduce || FindRunning(event.attempt) == nullptr) return false;
  state.StartComputing(event.attempt, now);
  WeighReports(event.attempt.task.job, effects);
  return true;
}

bool Engine::Impl::On(const ReduceCopied& event, Effects& effects) {
  const RunningAttempt* running = FindRunning(event.attempt);
  if (event.attempt.task.kind != TaskKind::kReduce || running == nullptr) return false;
  if (running->phase != ReducePhase::kCopying) return false;
  state.StartWaiting(event.attempt, now);
  WeighReports(event.attempt.task.job, effects);
  return true;
}

// Recovery replays what was decided, whatever the permits of the node are now.
bool Engine::Impl::On(const ComputeGranted& event, Effects&) {
  const RunningAttempt* running = FindRunning(event.attempt);
  if (running == nullptr || running->phase != ReducePhase::kCopied) return false;
  state.StartComputing(event.attempt, now);
  return true;
}

std::string Engine::Impl::WhyNotCompute(const AttemptId& attempt) const {
  const RunningAttempt* running = FindRunning(attempt);
  if (running == nullptr || running->phase != ReducePhase::kCopied) return "it does not wait for a permit";
  return state.FindNode(running->node)->HasFreePermit() ? "" : "its node has no free permit";
}

void Engine::Impl::GrantCompute(const AttemptId& attempt, Effects& effects) {
  effects.push_back(Compute{attempt, FindRunning(attempt)->node});
  state.StartComputing(attempt, now);
}

}  // namespace millrace::sched
