// What the engine's effects mean for the master's records and for workers.
#include <algorithm>

#include "base/ids/ids.h"
#include "base/options.h"
#include "master/job_tracker.h"
#include "master/journal_keys.h"
#include "schedulers/core/cluster_state.h"
#include "schedulers/core/policy.h"

namespace millrace::master {

namespace {

// Where the policy lets no more tasks run than the node has slots, each task has a slot to compute on. Where it lets
// more in (copy-compute splitting), those beyond the reduce slots only copy.
std::uint32_t ComputePermits(const sched::NodeState& node) {
  const bool more_than_slots = node.limits.total > node.slots.maps + node.slots.reduces;
  return std::max(1U, more_than_slots ? node.slots.reduces : node.limits.reduces);
}

}  // namespace

void JobTracker::Carry(const sched::Effects& effects, Step* step) {
  for (const sched::Effect& effect : effects) {
    if (const auto* launch = std::get_if<sched::Launch>(&effect)) {
      CarryLaunch(*launch, step);
    } else if (const auto* kill = std::get_if<sched::Kill>(&effect)) {
      step->kills.push_back({kill->node.value, kill->attempt, kill->reason});
      if (Job* job = Find(kill->attempt.task.job))
        EndAttempt(*job, kill->attempt, AttemptState::kKilled, kill->reason, step);
    } else if (const auto* preempt = std::get_if<sched::Preempt>(&effect)) {
      CarryPreempt(*preempt, step);
    } else if (const auto* evict = std::get_if<sched::Evict>(&effect)) {
      CarryEvict(evict->job, step);
    } else if (const auto* blame = std::get_if<sched::Blame>(&effect)) {
      CarryBlame(*blame, step);
    } else if (const auto* ready = std::get_if<sched::MapOutputReady>(&effect)) {
      CarryOutput(ready->map_attempt, ready->node.value, true, step);
    } else if (const auto* gone = std::get_if<sched::MapOutputGone>(&effect)) {
      CarryOutput(gone->map_attempt, gone->node.value, false, step);
    } else if (const auto* left_out = std::get_if<sched::MapLeftOut>(&effect)) {
      CarryLeftOut(*left_out, step);
    } else if (const auto* end = std::get_if<sched::JobEnded>(&effect)) {
      CarryEnd(*end, step);
    }
  }
}

void JobTracker::CarryLaunch(const sched::Launch& launch, Step* step) {
  Job& job = jobs_.at(launch.attempt.task.job);
  Record(sched::AttemptLaunched{launch.attempt, launch.node}, launch.attempt.task.job, step);
  const NodeNumber node = launch.node.value;
  job.running[launch.attempt] = job.attempts.size();
  job.attempts.push_back({launch.attempt, node, AttemptState::kRunning, step->now, 0, {}, 0, 0});
  job.nodes.insert(node);
  if (job.record.first_launch == 0) {
    job.record.first_launch = step->now;
    step->batch.Put(JobKey(job.record.id), EncodeJob(job.record));
  }
  const std::uint32_t computing =
      launch.attempt.task.kind == TaskKind::kReduce ? ComputePermits(*engine_.state().FindNode(launch.node)) : 0;
  step->launches.push_back({node, launch.attempt, computing});
  step->changed.insert(launch.attempt.task.job);
  if (launch.attempt.task.kind == TaskKind::kReduce) AnnounceOutputs(launch.attempt.task.job, node, step);
}

void JobTracker::CarryPreempt(const sched::Preempt& preempt, Step* step) {
  const AttemptId& attempt = preempt.attempt;
  Record(sched::AttemptPreempted{attempt, preempt.reason}, attempt.task.job, step);
  step->kills.push_back({preempt.node.value, attempt, preempt.reason});
  EndAttempt(jobs_.at(attempt.task.job), attempt, AttemptState::kPreempted, preempt.reason, step);
}

// Its kills follow; workers drop what they hold of it and are told of the job anew when it goes on.
void JobTracker::CarryEvict(JobId id, Step* step) {
  Record(sched::JobEvicted{id}, id, step);
  log_->warn("job {} gives way: there is no room for the map outputs of all running jobs", id.value);
  Job& job = jobs_.at(id);
  for (const NodeNumber node : job.nodes) step->forgets.push_back({node, id});
  job.nodes.clear();
  step->changed.insert(id);
}

// Among the events of nodes, since it outlives the job.
void JobTracker::CarryBlame(const sched::Blame& blame, Step* step) {
  Record(sched::NodeBlamed{blame.node, blame.by, blame.until}, JobId{0}, step);
  if (blame.until <= step->now) return;
  log_->warn("job {}: none of its tasks goes to worker {} for {}: too many of them failed there", blame.by.value,
             blame.node.value, FormatDuration(blame.until - step->now));
}

// Of all jobs alike.
void JobTracker::TellAvoided() {
  std::set<NodeNumber> now;
  for (const auto& [node, jobs] : engine_.state().blames()) {
    if (engine_.state().Avoids(node)) now.insert(node.value);
  }
  for (const NodeNumber node : now) {
    if (avoided_.contains(node)) continue;
    log_->warn(
        "worker {}: no tasks go to it: {} jobs had too many that failed there; `millrace node list` says how long",
        node, engine_.state().blames().at(NodeId{node}).size());
  }
  for (const NodeNumber node : avoided_) {
    if (!now.contains(node)) log_->info("worker {}: tasks may go to it again", node);
  }
  avoided_ = std::move(now);
}

void JobTracker::CarryEnd(const sched::JobEnded& end, Step* step) {
  Job& job = jobs_.at(end.job);
  JobRecord& record = job.record;
  record.outcome = JobOutcomeRecord{end.outcome, end.reason};
  if (end.outcome == sched::JobOutcome::kSucceeded) {
    const Status marked =
        files_.Touch(record.request.output + "/_SUCCESS", record.request.owner, step->now, &step->batch);
    if (!marked.ok()) {
      record.outcome =
          JobOutcomeRecord{sched::JobOutcome::kFailed, marked.Within("mark the output as complete").message()};
    }
  }
  if (record.outcome->outcome != sched::JobOutcome::kSucceeded) {
    const Status removed = files_.Remove(record.request.output, true, &step->batch);
    if (!removed.ok() && removed.code() != StatusCode::kNotFound)
      log_->warn("job {}: output of a failed job stays: {}", end.job.value, removed.message());
  }
  CloseJob(job, step);
}

// The figures and counters are fixed, what served only the running job goes.
void JobTracker::CloseJob(Job& job, Step* step) {
  JobRecord& record = job.record;
  record.ended = step->now;
  if (const auto progress = engine_.Progress(record.id)) {
    std::copy(std::begin(progress->launched_at), std::end(progress->launched_at),
              std::begin(record.figures.launched_at));
    record.figures.failed_attempts = progress->failed_attempts;
    record.figures.killed_attempts = progress->killed_attempts;
    record.figures.preempted_attempts = progress->preempted_attempts;
    record.figures.speculative_attempts = progress->speculative_attempts;
    record.figures.records_left_out = progress->records_left_out;
  }
  record.left_out_records = FirstLeftOutRecords(job);
  record.counters.clear();
  record.figures.bytes_read = record.figures.bytes_shuffled = record.figures.bytes_written = 0;
  for (const auto& [task, report] : job.reports) {
    AddCounters(report.counters, &record.counters);
    record.figures.bytes_read += report.bytes_read;
    record.figures.bytes_shuffled += report.bytes_shuffled;
    record.figures.bytes_written += report.bytes_written;
    step->batch.Remove(TaskKey(task));
  }
  CountLeftOut(record.figures, &record.counters);
  for (const auto& [file, attempt] : job.outputs) (void)files_.Abandon(file, step->now, &step->batch);
  for (const NodeNumber node : job.nodes) step->forgets.push_back({node, record.id});
  job.outputs.clear();
  job.reports.clear();
  job.nodes.clear();
  job.splits.clear();
  job.splits.shrink_to_fit();
  live_.erase(record.id);
  RecordHistory(job, step);
  step->batch.Remove(SplitsKey(record.id));
  step->batch.Put(JobKey(record.id), EncodeJob(record));
  step->ended.insert(record.id);
  engine_.Forget(record.id);
  ForgetOldJobs(step);
}

void JobTracker::RecordHistory(const Job& job, Step* step) {
  const sched::JobState* ended = engine_.state().FindJob(job.record.id);
  if (ended == nullptr || job.record.outcome->outcome != sched::JobOutcome::kSucceeded) return;
  if (auto learnt = history_.Record(*ended))
    step->batch.Put(std::string(kHistoryPrefix) + learnt->key, std::move(learnt->value));
}

void JobTracker::ForgetOldJobs(Step* step) {
  for (auto it = jobs_.begin(); it != jobs_.end() && jobs_.size() - live_.size() > history_jobs_;) {
    const JobId job = it->first;
    if (live_.contains(job) || step->ended.contains(job)) {
      ++it;
      continue;
    }
    step->batch.Remove(JobKey(job));
    const Status scanned = store_.Scan(JournalPrefix(job), {}, [&](std::string_view key, std::string_view) {
      step->batch.Remove(std::string(key));
      return true;
    });
    if (!scanned.ok()) log_->warn("job {}: its journal stays: {}", job.value, scanned.message());
    by_token_.erase(it->second.record.request.token);
    it = jobs_.erase(it);
  }
}

void JobTracker::EndAttempt(Job& job, const AttemptId& attempt, AttemptState state, const std::string& reason,
                            Step* step) {
  const auto it = job.running.find(attempt);
  if (it == job.running.end()) return;
  AttemptRecord& record = job.attempts[it->second];
  record.state = state;
  record.ended = step->now;
  record.reason = reason;
  record.fraction = state == AttemptState::kSucceeded ? 1 : 0;
  job.running.erase(it);
  std::vector<dfs::FileId> orphans;
  for (const auto& [file, owner] : job.outputs) {
    if (owner == attempt) orphans.push_back(file);
  }
  for (const dfs::FileId file : orphans) {
    (void)files_.Abandon(file, step->now, &step->batch);  // fine if its lease ran out before
    job.outputs.erase(file);
  }
  step->changed.insert(job.record.id);
}

// The engine knows without being told that what ran on a lost node is lost; the records follow here.
void JobTracker::LoseAttemptsOn(NodeNumber node, Step* step) {
  for (const JobId id : live_) {
    Job& job = jobs_.at(id);
    std::vector<AttemptId> there;
    for (const auto& [attempt, index] : job.running) {
      if (job.attempts[index].node == node) there.push_back(attempt);
    }
    for (const AttemptId& attempt : there) EndAttempt(job, attempt, AttemptState::kLost, "its worker was lost", step);
  }
}

void JobTracker::NoteReport(Job& job, const TaskId& task, const TaskReport& report) {
  TaskReport& slot = job.reports[task];
  job.totals.bytes_read += report.bytes_read - slot.bytes_read;
  job.totals.bytes_shuffled += report.bytes_shuffled - slot.bytes_shuffled;
  job.totals.bytes_written += report.bytes_written - slot.bytes_written;
  slot = report;
}

}  // namespace millrace::master
