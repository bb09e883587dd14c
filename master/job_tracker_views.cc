// What clients may see of jobs.
#include <algorithm>
#include <utility>

#include "master/answer_budget.h"
#include "master/job_tracker.h"
#include "master/journal_keys.h"
#include "schedulers/core/cluster_state.h"
#include "schedulers/core/policy.h"
#include "schedulers/journal/event_text.h"

namespace millrace::master {

namespace {

// A reduce's fraction counts its copy phase as the first third (the worker reports it so, as Hadoop does).
constexpr double kCopyShare = 1.0 / 3;

double PhaseFraction(const PhaseView& phase, double running_sum) {
  return phase.total == 0 ? 1 : std::min(1.0, (phase.done + running_sum) / phase.total);
}

JobState StateOf(const JobRecord& record) {
  if (!record.outcome) return record.first_launch == 0 ? JobState::kWaiting : JobState::kRunning;
  switch (record.outcome->outcome) {
    case sched::JobOutcome::kSucceeded:
      return JobState::kSucceeded;
    case sched::JobOutcome::kFailed:
      return JobState::kFailed;
    case sched::JobOutcome::kKilled:
      return JobState::kKilled;
  }
  return JobState::kFailed;
}

Status NoSuchJob(JobId job) {
  return NotFound("job " + std::to_string(job.value) + ": no such job; `millrace job list` shows them");
}

}  // namespace

double JobTracker::CrossingShare(NodeNumber node) const {
  const sched::NodeState* const state = engine_.state().FindNode(NodeId{node});
  const std::uint32_t slots = engine_.state().Capacity(TaskKind::kReduce);
  if (state == nullptr || slots == 0) return 0;
  return 1 - static_cast<double>(state->counted.reduces) / slots;
}

sched::PolicyView JobTracker::ViewPolicy(Micros now) const { return engine_.policy().View(engine_.state(), now); }

Result<JobView> JobTracker::View(JobId id) const {
  const Job* job = Find(id);
  if (job == nullptr) return NoSuchJob(id);
  JobView view;
  view.record = &job->record;
  view.state = StateOf(job->record);
  view.figures = job->record.figures;
  view.maps.total = view.figures.maps;
  view.reduces.total = view.figures.reduces;
  if (job->record.outcome) {
    view.left_out_records = job->record.left_out_records;
    const bool succeeded = view.state == JobState::kSucceeded;
    view.maps.done = succeeded ? view.maps.total : 0;
    view.reduces.done = succeeded ? view.reduces.total : 0;
    view.maps.fraction = view.reduces.fraction = view.copy_fraction = succeeded ? 1 : 0;
    return view;
  }
  ViewProgress(*job, &view);
  view.left_out_records = FirstLeftOutRecords(*job);
  view.figures.bytes_read = job->totals.bytes_read;
  view.figures.bytes_shuffled = job->totals.bytes_shuffled;
  view.figures.bytes_written = job->totals.bytes_written;
  return view;
}

std::vector<LeftOutRecord> JobTracker::FirstLeftOutRecords(const Job& job) const {
  std::vector<LeftOutRecord> first;
  const sched::JobState* const state = engine_.state().FindJob(job.record.id);
  if (state == nullptr) return first;
  for (const auto& [map, bad] : state->bad_records) {
    for (const sched::RecordPlace& record : bad.LeftOut()) {
      if (first.size() == kMostLeftOut) return first;
      first.push_back({map, job.splits.at(map).at(record.input).path, record.offset});
    }
  }
  return first;
}

std::vector<sched::RecordPlace> JobTracker::LeftOutBy(const AttemptId& attempt) const {
  const sched::JobState* const state = engine_.state().FindJob(attempt.task.job);
  if (state == nullptr || attempt.task.kind != TaskKind::kMap) return {};
  const auto bad = state->bad_records.find(attempt.task.index);
  return bad == state->bad_records.end() ? std::vector<sched::RecordPlace>() : bad->second.LeftOutBy(attempt.number);
}

void JobTracker::ViewProgress(const Job& job, JobView* out) const {
  JobView& view = *out;
  if (const auto progress = engine_.Progress(job.record.id)) {
    view.maps.running = progress->maps_running;
    view.maps.done = progress->maps_done;
    view.reduces.running = progress->reduces_running;
    view.reduces.done = progress->reduces_done;
    std::copy(std::begin(progress->launched_at), std::end(progress->launched_at), std::begin(view.figures.launched_at));
    view.figures.failed_attempts = progress->failed_attempts;
    view.figures.killed_attempts = progress->killed_attempts;
    view.figures.preempted_attempts = progress->preempted_attempts;
    view.figures.speculative_attempts = progress->speculative_attempts;
    view.figures.records_left_out = progress->records_left_out;
  }
  double maps = 0, reduces = 0, copies = view.reduces.done;
  for (const auto& [attempt, index] : job.running) {
    const double fraction = job.attempts[index].fraction;
    if (attempt.task.kind == TaskKind::kMap) {
      maps += fraction;
    } else {
      reduces += fraction;
      copies += std::min(1.0, fraction / kCopyShare);
    }
  }
  view.maps.fraction = PhaseFraction(view.maps, maps);
  view.reduces.fraction = PhaseFraction(view.reduces, reduces);
  view.copy_fraction = view.reduces.total == 0 ? 1 : std::min(1.0, copies / view.reduces.total);
}

std::vector<JobId> JobTracker::JobsAfter(JobId after, std::size_t limit, bool live_only) const {
  std::vector<JobId> found;
  for (auto it = jobs_.upper_bound(after); it != jobs_.end() && found.size() < limit; ++it) {
    if (!live_only || live_.contains(it->first)) found.push_back(it->first);
  }
  return found;
}

Result<Counters> JobTracker::JobCounters(JobId id) const {
  const Job* job = Find(id);
  if (job == nullptr) return NoSuchJob(id);
  Counters counters = job->record.counters;
  for (const auto& [task, report] : job->reports) AddCounters(report.counters, &counters);
  CountLeftOut(job->record.figures, &counters);
  return counters;
}

Result<std::vector<AttemptRecord>> JobTracker::Attempts(JobId id) const {
  const Job* job = Find(id);
  if (job == nullptr) return NoSuchJob(id);
  if (!job->attempts.empty() || !job->record.outcome) return job->attempts;
  // It had ended before this master started: its journal tells.
  std::vector<AttemptRecord> attempts;
  std::map<AttemptId, std::size_t> running;
  const auto end = [&](const AttemptId& attempt, AttemptState state, Micros time, const std::string& reason) {
    const auto it = running.find(attempt);
    if (it == running.end()) return;
    AttemptRecord& record = attempts[it->second];
    record.state = state;
    record.ended = time;
    record.reason = reason;
    running.erase(it);
  };
  MILLRACE_TRY(store_.Scan(JournalPrefix(id), {}, [&](std::string_view, std::string_view line) {
    const std::optional<sched::TimedEvent> event = sched::ParseEvent(line);
    if (!event) return true;
    if (const auto* launched = std::get_if<sched::AttemptLaunched>(&event->event)) {
      running[launched->attempt] = attempts.size();
      attempts.push_back({launched->attempt, launched->node.value, AttemptState::kRunning, event->time, 0, {}, 0, 0});
    } else if (const auto* succeeded = std::get_if<sched::AttemptSucceeded>(&event->event)) {
      end(succeeded->attempt, AttemptState::kSucceeded, event->time, {});
    } else if (const auto* failed = std::get_if<sched::AttemptFailed>(&event->event)) {
      end(failed->attempt, AttemptState::kFailed, event->time, failed->reason);
    } else if (const auto* lost = std::get_if<sched::AttemptLost>(&event->event)) {
      end(lost->attempt, AttemptState::kLost, event->time, lost->reason);
    } else if (const auto* preempted = std::get_if<sched::AttemptPreempted>(&event->event)) {
      end(preempted->attempt, AttemptState::kPreempted, event->time, preempted->reason);
    }
    return true;
  }));
  for (const auto& [attempt, index] :
       running) {  // stopped without a line of their own, by the end of the job or of a node
    attempts[index].state = AttemptState::kKilled;
    attempts[index].ended = job->record.ended;
  }
  return attempts;
}

const std::vector<MapSplits>* JobTracker::Splits(JobId id) const {
  const Job* job = Find(id);
  return job == nullptr || job->record.outcome ? nullptr : &job->splits;
}

std::pair<std::uint32_t, std::uint32_t> JobTracker::RunningOn(NodeNumber node) const {
  std::pair<std::uint32_t, std::uint32_t> running;
  for (const AttemptId& attempt : engine_.RunningOn(NodeId{node})) {
    ++(attempt.task.kind == TaskKind::kMap ? running.first : running.second);
  }
  return running;
}

Result<JobTracker::HistoryPage> JobTracker::History(JobId job, std::uint64_t after, std::uint64_t offset,
                                                    std::size_t limit) const {
  if (job.value != 0 && Find(job) == nullptr) return NoSuchJob(job);
  constexpr std::size_t kPiece = kElementBytes - 64;  // of a line; beside it stand its pointer and its number
  HistoryPage page;
  page.next = after;
  AnswerBudget budget(limit);
  MILLRACE_TRY(
      store_.Scan(JournalPrefix(job), JournalKey(job, after + 1), [&](std::string_view key, std::string_view line) {
        line.remove_prefix(std::min<std::uint64_t>(std::exchange(offset, 0), line.size()));
        const std::string_view piece = line.substr(0, kPiece);
        page.more = !budget.Take(FieldBytes(piece) + 16);
        if (page.more) return false;
        const std::uint64_t number = JournalSequence(key).value_or(page.next);
        page.lines.emplace_back(number, piece);
        page.cut = page.more = piece.size() < line.size();
        if (!page.cut) page.next = number;
        return !page.cut;
      }));
  return page;
}

}  // namespace millrace::master
