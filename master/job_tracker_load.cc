// Reading jobs back: records of all, and for those that live the journal, replayed into a fresh engine.
#include <algorithm>

#include "base/text.h"
#include "master/job_tracker.h"
#include "master/journal_keys.h"
#include "schedulers/core/policy.h"
#include "schedulers/journal/event_text.h"
#include "schedulers/journal/journal_text.h"

namespace millrace::master {

Status JobTracker::Load(const NodeTable& nodes) {
  MILLRACE_TRY(job_numbers_.Load(store_));
  MILLRACE_TRY(sequences_.Load(store_));
  MILLRACE_TRY(LoadJobs());
  MILLRACE_TRY(LoadHistory());
  if (live_.empty()) return Status::Ok();
  for (const JobId job : live_) MILLRACE_TRY(LoadLiveJob(jobs_.at(job)));
  MILLRACE_TRY(Replay());
  for (const auto& [node, joined] : joined_) {
    if (const NodeRecord* record = nodes.Find(node)) incarnations_[node] = record->facts.incarnation;
  }
  return Status::Ok();
}

Status JobTracker::LoadJobs() {
  Status failure;
  MILLRACE_TRY(store_.Scan("j/", {}, [&](std::string_view key, std::string_view value) {
    Result<JobRecord> record = DecodeJob(key, value);
    if (!record.ok()) {
      failure = record.status();
      return false;
    }
    const JobId id = record->id;
    if (!record->outcome) live_.insert(id);
    if (!record->request.token.empty()) by_token_[record->request.token] = id;
    jobs_[id].record = *std::move(record);
    return true;
  }));
  return failure;
}

// It only helps to guess: what is not understood is passed over.
Status JobTracker::LoadHistory() {
  return store_.Scan(kHistoryPrefix, {}, [&](std::string_view key, std::string_view value) {
    if (!history_.Restore(key.substr(kHistoryPrefix.size()), value))
      log_->warn("a record of the history of programs is not understood: {}", Quote(key));
    return true;
  });
}

Status JobTracker::LoadLiveJob(Job& job) {
  MILLRACE_ASSIGN(const std::optional<std::string> splits, store_.Get(SplitsKey(job.record.id)));
  if (!splits) return Corrupt("job " + std::to_string(job.record.id.value) + ": the database has no splits of it");
  MILLRACE_ASSIGN(job.splits, DecodeSplits(*splits));
  Status failure;
  MILLRACE_TRY(store_.Scan(TaskKeyPrefix(job.record.id), {}, [&](std::string_view key, std::string_view value) {
    const std::optional<TaskId> task = ParseTaskKey(key);
    const Result<TaskReport> report = DecodeReport(value);
    if (!task || !report.ok()) {
      failure = task ? report.status() : Corrupt("the database's report of a task: key not understood");
      return false;
    }
    NoteReport(job, *task, *report);
    return true;
  }));
  return failure;
}

// The nodes as they were when the replay begins.
Status JobTracker::ReplayBase() {
  MILLRACE_ASSIGN(const std::optional<std::string> base, store_.Get(kReplayBase));
  std::string_view rest = base ? std::string_view(*base) : std::string_view();
  while (!rest.empty()) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    const std::optional<sched::TimedEvent> event = sched::ParseEvent(line);
    if (!event) return Corrupt("the journal's list of nodes is not understood: " + Quote(line));
    ReplayEvent(event->event, event->time);
  }
  return Status::Ok();
}

// The events of nodes and of every live job, in the order in which they happened.
Status JobTracker::Replay() {
  MILLRACE_ASSIGN(const std::optional<std::string> from_text, store_.Get(kReplayFrom));
  const std::uint64_t from = from_text ? ParseKeyNumber(*from_text).value_or(0) : 0;
  MILLRACE_TRY(ReplayBase());
  std::map<std::uint64_t, std::string> lines;
  std::vector<JobId> sources = {JobId{0}};
  sources.insert(sources.end(), live_.begin(), live_.end());
  for (const JobId source : sources) {
    MILLRACE_TRY(
        store_.Scan(JournalPrefix(source), JournalKey(source, from), [&](std::string_view key, std::string_view line) {
          if (const auto sequence = JournalSequence(key)) lines.emplace(*sequence, line);
          return true;
        }));
  }
  for (const auto& [sequence, line] : lines) {
    const std::optional<sched::JournalLine> parsed = sched::ParseJournalLine(line);
    if (!parsed) return Corrupt("the journal's line " + std::to_string(sequence) + " is not understood: " + line);
    // What was decided stands in lines of its own; that it was is for those who decide again.
    if (const auto* event = std::get_if<sched::Event>(&parsed->content)) ReplayEvent(*event, parsed->time);
  }
  log_->info("replayed {} journal lines of {} live jobs", lines.size(), live_.size());
  return Status::Ok();
}

void JobTracker::ReplayEvent(const sched::Event& event, Micros time) {
  sched::Effects effects;
  Step unsent(time);
  last_time_ = std::max(last_time_, time);
  if (!engine_.Apply(last_time_, event, &effects)) return;
  if (const auto* joined = std::get_if<sched::NodeJoined>(&event)) {
    LoseAttemptsOn(joined->node.value, &unsent);
    joined_[joined->node.value] = *joined;
  }
  if (const auto* lost = std::get_if<sched::NodeLost>(&event)) {
    LoseAttemptsOn(lost->node.value, &unsent);
    joined_.erase(lost->node.value);
  }
  NoteReplayedAttempt(event, time);
  for (const sched::Effect& effect : effects) {
    const auto* kill = std::get_if<sched::Kill>(&effect);
    if (kill == nullptr) continue;
    if (Job* job = Find(kill->attempt.task.job))
      EndAttempt(*job, kill->attempt, AttemptState::kKilled, kill->reason, &unsent);
  }
}

void JobTracker::NoteReplayedAttempt(const sched::Event& event, Micros time) {
  Step unsent(time);
  const auto end = [&](const AttemptId& attempt, AttemptState state, const std::string& reason) {
    if (Job* job = Find(attempt.task.job)) EndAttempt(*job, attempt, state, reason, &unsent);
  };
  if (const auto* launched = std::get_if<sched::AttemptLaunched>(&event)) {
    Job* job = Find(launched->attempt.task.job);
    if (job == nullptr) return;
    job->running[launched->attempt] = job->attempts.size();
    job->attempts.push_back({launched->attempt, launched->node.value, AttemptState::kRunning, time, 0, {}, 0, 0});
    job->nodes.insert(launched->node.value);
  } else if (const auto* succeeded = std::get_if<sched::AttemptSucceeded>(&event)) {
    end(succeeded->attempt, AttemptState::kSucceeded, {});
  } else if (const auto* failed = std::get_if<sched::AttemptFailed>(&event)) {
    end(failed->attempt, AttemptState::kFailed, failed->reason);
  } else if (const auto* lost = std::get_if<sched::AttemptLost>(&event)) {
    end(lost->attempt, AttemptState::kLost, lost->reason);
  } else if (const auto* preempted = std::get_if<sched::AttemptPreempted>(&event)) {
    end(preempted->attempt, AttemptState::kPreempted, preempted->reason);
  }
}

}  // namespace millrace::master
