#include "master/job_tracker.h"

#include <algorithm>

#include "base/text.h"
#include "master/journal_keys.h"
#include "schedulers/config/make_scheduler.h"
#include "schedulers/core/policy.h"
#include "schedulers/journal/event_text.h"

namespace millrace::master {

namespace {

std::unique_ptr<sched::Policy> FirstPolicy(const TrackerOptions& options) {
  std::string why;
  std::unique_ptr<sched::Policy> policy = sched::MakeScheduler(options.scheduler, options.background, &why);
  MILLRACE_CHECK(policy != nullptr, why);
  return policy;
}

}  // namespace

JobTracker::JobTracker(FileSystem& files, const KeyValueStore& store, TrackerOptions options, Log log)
    : files_(files),
      store_(store),
      engine_({.make_policy = sched::SchedulerMaker(options.background)}, FirstPolicy(options)),
      history_jobs_(options.history_jobs),
      scheduler_(std::move(options.scheduler)),
      log_(std::move(log)) {}

JobTracker::~JobTracker() = default;

std::optional<JobId> JobTracker::FindToken(const std::string& token) const {
  const auto it = by_token_.find(token);
  return token.empty() || it == by_token_.end() ? std::nullopt : std::optional(it->second);
}

bool JobTracker::IsOutput(std::string_view path) const {
  return std::any_of(live_.begin(), live_.end(),
                     [&](JobId job) { return path.starts_with(jobs_.at(job).record.request.output + "/_temporary/"); });
}

Status JobTracker::Kill(JobId job, const std::string& reason, Step* step) {
  const Job* found = Find(job);
  if (found == nullptr)
    return NotFound("job " + std::to_string(job.value) + ": no such job; `millrace job list` shows them");
  if (found->record.outcome) return Invalid("job " + std::to_string(job.value) + ": has ended already");
  Apply(sched::JobKilled{job, reason}, job, step);
  return Status::Ok();
}

Status JobTracker::SetPriority(JobId job, std::uint8_t priority, Step* step) {
  Job* found = Find(job);
  if (found == nullptr)
    return NotFound("job " + std::to_string(job.value) + ": no such job; `millrace job list` shows them");
  if (found->record.outcome) return Invalid("job " + std::to_string(job.value) + ": has ended already");
  if (priority > 4)
    return Invalid("priority " + std::to_string(priority) + ": is not one of 0 (VERY_HIGH) to 4 (VERY_LOW)");
  found->record.request.priority = priority;
  step->batch.Put(JobKey(job), EncodeJob(found->record));
  Apply(sched::JobPrioritySet{job, static_cast<sched::Priority>(priority)}, job, step);
  step->changed.insert(job);
  return Status::Ok();
}

void JobTracker::NodeLost(NodeNumber node, bool died, Step* step) {
  LoseAttemptsOn(node, step);
  joined_.erase(node);
  incarnations_.erase(node);
  Apply(sched::NodeLost{NodeId{node}, died}, JobId{0}, step);
}

void JobTracker::NodeDrained(NodeNumber node, bool drained, Step* step) {
  Apply(sched::NodeDrained{NodeId{node}, drained}, JobId{0}, step);
}

std::vector<NodeNumber> JobTracker::EngineNodes() const {
  std::vector<NodeNumber> nodes;
  for (const auto& [node, joined] : joined_) nodes.push_back(node);
  return nodes;
}

void JobTracker::AttemptDone(NodeNumber node, const AttemptId& attempt, const TaskReport& report,
                             const std::optional<AttemptOutput>& output, Step* step) {
  Job* job = Find(attempt.task.job);
  const bool may_commit = job != nullptr && NodeOf(attempt) == node && engine_.MayCommit(attempt);
  if (!may_commit) {
    if (output)
      (void)files_.Abandon(output->file, step->now, &step->batch);  // a late report; the file may be gone already
    const worker::WorkerDoes then = worker::Settle(worker::Claim::kDone, BeliefOf(node, attempt)).worker;
    if (then == worker::WorkerDoes::kDrop)
      step->kills.push_back({node, attempt, "the master does not want it any more"});
    if (then == worker::WorkerDoes::kForgetJob) step->forgets.push_back({node, attempt.task.job});
    return;
  }
  if (output) {
    const std::string path = job->record.request.output + "/" + output->name;
    const Status committed = files_.Complete(output->file, path, output->blocks, step->now, &step->batch);
    if (!committed.ok()) {
      AttemptFailed(node, attempt, false, committed.Within("commit").message(), step);
      return;
    }
    job->outputs.erase(output->file);
  }
  NoteReport(*job, attempt.task, report);
  step->batch.Put(TaskKey(attempt.task), EncodeReport(report));
  EndAttempt(*job, attempt, AttemptState::kSucceeded, {}, step);
  sched::AttemptSucceeded succeeded{attempt};
  if (attempt.task.kind == TaskKind::kMap) {
    succeeded.input_bytes = report.bytes_read;
    succeeded.output_bytes = MapOutputBytes(report);
    NoteTransfer(node, job->splits.at(attempt.task.index), RemoteReadRate(report), step);
  }
  Apply(succeeded, attempt.task.job, step);
}

void JobTracker::AttemptFailed(NodeNumber node, const AttemptId& attempt, bool lost, const std::string& said,
                               Step* step, std::optional<sched::RecordPlace> record) {
  Job* job = Find(attempt.task.job);
  if (job == nullptr || NodeOf(attempt) != node) return;
  std::string reason = said;
  if (record) {
    const bool map = attempt.task.kind == TaskKind::kMap;
    const auto what = map ? DescribeRecord(job->splits.at(attempt.task.index), *record) : std::nullopt;
    if (what) reason = "at " + *what + ": " + said;
    if (!what) record.reset();
  }
  EndAttempt(*job, attempt, lost ? AttemptState::kLost : AttemptState::kFailed, reason, step);
  if (lost) {
    Apply(sched::AttemptLost{attempt, reason}, attempt.task.job, step);
  } else {
    Apply(sched::AttemptFailed{attempt, reason, record}, attempt.task.job, step);
  }
}

void JobTracker::FetchFailed(NodeNumber node, const AttemptId& reduce, const AttemptId& map, std::uint32_t report,
                             Step* step) {
  if (NodeOf(reduce) != node) return;
  Apply(sched::FetchFailed{reduce, map, report}, reduce.task.job, step);
}

Status JobTracker::HandOver(dfs::FileId file, const AttemptId& attempt) {
  Job* job = Find(attempt.task.job);
  if (job == nullptr || !NodeOf(attempt)) {
    return NotFound("hand over file " + std::to_string(file) + ": attempt " + ToText(attempt) + " does not run");
  }
  job->outputs[file] = attempt;
  return Status::Ok();
}

void JobTracker::Decide(Step* step) {
  const std::optional<Micros> wake = engine_.NextWake();
  sched::Effects effects;
  engine_.Decide(step->now, &effects);
  Carry(effects, step);
  TellAvoided();
  // What is journaled at this time says that it was decided. If nothing is, the policy's clocks may still have moved.
  const bool woken = (wake && *wake <= step->now) || engine_.NextWake() != wake;
  if (woken && journaled_at_ != step->now) RecordMark(sched::JournalMark::kWoken, step);
}

bool JobTracker::Apply(const sched::Event& event, JobId job, Step* step) {
  sched::Effects effects;
  if (!engine_.Apply(step->now, event, &effects)) return false;
  Record(event, job, step);
  Carry(effects, step);
  return true;
}

void JobTracker::Record(const sched::Event& event, JobId job, Step* step) {
  step->batch.Put(JournalKey(job, sequences_.Next(&step->batch)), sched::FormatEvent(step->now, event));
  journaled_at_ = step->now;
}

void JobTracker::RecordMark(sched::JournalMark mark, Step* step) {
  step->batch.Put(JournalKey(JobId{0}, sequences_.Next(&step->batch)), sched::FormatMark(step->now, mark));
}

std::optional<NodeNumber> JobTracker::NodeOf(const AttemptId& attempt) const {
  const Job* job = Find(attempt.task.job);
  if (job == nullptr) return std::nullopt;
  const auto it = job->running.find(attempt);
  if (it == job->running.end()) return std::nullopt;
  return job->attempts[it->second].node;
}

JobTracker::Job* JobTracker::Find(JobId job) {
  const auto it = jobs_.find(job);
  return it == jobs_.end() ? nullptr : &it->second;
}

const JobTracker::Job* JobTracker::Find(JobId job) const {
  const auto it = jobs_.find(job);
  return it == jobs_.end() ? nullptr : &it->second;
}

}  // namespace millrace::master
