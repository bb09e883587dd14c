// SPDX-License-Identifier: Apache-2.0
#include "master/jobs/job_views.h"

#include <algorithm>
#include <iterator>

#include "base/ids/counted.h"
#include "base/ids/time.h"
#include "base/text.h"
#include "base/units.h"
#include "master/jobs/waiting_jobs.h"
#include "schedulers/cluster/cluster_state.h"

namespace millrace::master {

namespace {

// The fraction of a reduce counts its copy phase as the first third, as the worker reports it and as Hadoop does.
constexpr double kCopyShare = 1.0 / 3;

double PhaseFraction(const Phase& phase, double running_sum) {
  return phase.total == 0 ? 1 : std::min(1.0, (phase.done + running_sum) / phase.total);
}

JobState StateOf(const JobRecord& record) {
  if (record.outcome) return millrace::StateOf(record.outcome->outcome);
  return record.first_launch == 0 ? JobState::kWaiting : JobState::kRunning;
}

// Adds the work of running attempts to that of ended ones.
void ViewFractions(const AttemptList& attempts, JobView* view) {
  double maps = 0, reduces = 0, copies = view->reduces.done;
  attempts.VisitRunning([&](const AttemptRecord& record) {
    if (record.attempt.task.kind == TaskKind::kMap) {
      maps += record.fraction;
    } else {
      reduces += record.fraction;
      copies += std::min(1.0, record.fraction / kCopyShare);
    }
  });
  view->maps.fraction = PhaseFraction(view->maps, maps);
  view->reduces.fraction = PhaseFraction(view->reduces, reduces);
  view->copy_fraction = view->reduces.total == 0 ? 1 : std::min(1.0, copies / view->reduces.total);
}

void ViewLiveJob(const TrackedJob& job, const sched::Engine& engine, JobView* view) {
  if (const auto progress = engine.Progress(job.record.id)) {
    view->maps.running = progress->maps_running;
    view->maps.done = progress->maps_done;
    view->reduces.running = progress->reduces_running;
    view->reduces.done = progress->reduces_done;
  }
  SetFigures(job, engine, &view->figures);
  ViewFractions(job.attempts, view);
  view->left_out_records = FirstLeftOutRecords(job, engine.state());
  // How many maps it will have is not known.
  if (job.record.waits) view->maps.fraction = view->reduces.fraction = view->copy_fraction = 0;
}

// Work of attempts that were running at the end of the job is lost with them.
double DoneFraction(const Phase& phase, bool succeeded) {
  return succeeded ? 1 : phase.total == 0 ? 0 : PhaseFraction(phase, 0);
}

void ViewEndedJob(const JobRecord& record, JobView* view) {
  view->left_out_records = record.left_out_records;
  const bool succeeded = view->state == JobState::kSucceeded;
  view->maps.done = succeeded ? view->maps.total : record.figures.maps_done;
  view->reduces.done = succeeded ? view->reduces.total : record.figures.reduces_done;
  view->maps.fraction = DoneFraction(view->maps, succeeded);
  view->reduces.fraction = view->copy_fraction = DoneFraction(view->reduces, succeeded);
}

}  // namespace

JobView ViewOf(const TrackedJob& job, const sched::Engine& engine) {
  JobView view;
  view.record = &job.record;
  view.state = StateOf(job.record);
  view.figures = job.record.figures;
  view.maps.total = view.figures.maps;
  view.reduces.total = view.figures.reduces;
  if (job.record.outcome) {
    ViewEndedJob(job.record, &view);
  } else {
    ViewLiveJob(job, engine, &view);
  }
  return view;
}

JobStatus StatusOf(const JobView& view) {
  const JobRecord& record = *view.record;
  JobStatus status;
  status.job = record.id;
  status.name = record.request.name;
  status.owner = record.request.owner;
  status.state = view.state;
  status.reason = record.outcome ? record.outcome->reason : WhyItWaits(record);
  status.priority = record.request.priority;
  status.pool = PoolOf(record.request);
  status.output = record.request.output;
  status.submitted = record.submitted;
  status.first_launch = record.first_launch;
  status.ended = record.ended;
  status.maps = view.maps;
  status.reduces = view.reduces;
  status.copy_fraction = view.copy_fraction;
  std::copy(std::begin(view.figures.launched_at), std::end(view.figures.launched_at), status.maps_at.begin());
  status.failed_attempts = view.figures.failed_attempts;
  status.killed_attempts = view.figures.killed_attempts;
  status.preempted_attempts = view.figures.preempted_attempts;
  status.speculative_attempts = view.figures.speculative_attempts;
  status.maps_left_out = view.figures.maps_left_out;
  status.left_out = record.left_out;
  status.records_left_out = view.figures.records_left_out;
  status.left_out_records = view.left_out_records;
  if (record.request.deadline != 0) status.deadline = record.submitted + record.request.deadline;
  status.after = record.request.after;
  status.even_if_failed = record.request.even_if_failed;
  if (!record.outcome) {
    status.waits_for = record.waits_for;
    status.held = record.hold != Hold::kNone;
  }
  status.queued = record.queued();
  status.input_bytes = view.figures.input_bytes;
  status.bytes_read = view.figures.bytes_read;
  status.bytes_shuffled = view.figures.bytes_shuffled;
  status.bytes_written = view.figures.bytes_written;
  return status;
}

void SetFigures(const TrackedJob& job, const sched::Engine& engine, JobFigures* figures) {
  if (const auto progress = engine.Progress(job.record.id)) {
    std::copy(std::begin(progress->launched_at), std::end(progress->launched_at), std::begin(figures->launched_at));
    figures->maps_done = progress->maps_done;
    figures->reduces_done = progress->reduces_done;
    figures->failed_attempts = progress->failed_attempts;
    figures->killed_attempts = progress->killed_attempts;
    figures->preempted_attempts = progress->preempted_attempts;
    figures->speculative_attempts = progress->speculative_attempts;
    figures->records_left_out = progress->records_left_out;
  }
  figures->bytes_read = job.totals.bytes_read;
  figures->bytes_shuffled = job.totals.bytes_shuffled;
  figures->bytes_written = job.totals.bytes_written;
}

std::vector<LeftOutRecord> FirstLeftOutRecords(const TrackedJob& job, const sched::ClusterState& cluster) {
  std::vector<LeftOutRecord> first;
  const sched::JobState* const state = cluster.FindJob(job.record.id);
  if (state == nullptr) return first;
  for (const auto& [map, bad] : state->bad_records) {
    for (const sched::RecordPlace& record : bad.LeftOut()) {
      if (first.size() == kMostLeftOut) return first;
      first.push_back({map, job.splits.at(map).at(record.input).path, record.offset});
    }
  }
  return first;
}

std::string EndLine(const JobRecord& record) {
  const JobFigures& figures = record.figures;
  const JobOutcomeRecord& end = record.outcome.value();
  const char* const outcome = end.outcome == sched::JobOutcome::kSucceeded ? "succeeded"
                              : end.outcome == sched::JobOutcome::kFailed  ? "failed"
                                                                           : "was killed";
  std::string line = ToText(record.id) + " " + Quote(record.request.name) + " of " + record.request.owner + " " +
                     outcome + (end.reason.empty() ? "" : " (" + end.reason + ")") + ": ";
  if (record.first_launch == 0) {
    line += "nothing of it ran, it waited " + FormatDuration(record.ended - record.submitted);
  } else {
    if (record.held_back > 0)
      line += "was free to start " + FormatDuration(record.held_back) + " after its submission, ";
    line += "waited " + FormatDuration(record.first_launch - record.queued()) + ", ran " +
            FormatDuration(record.ended - record.first_launch);
  }
  line += ", " + Counted(figures.maps, "map") + ", " + Counted(figures.reduces, "reduce") + ", " +
          Counted(figures.failed_attempts, "failed attempt") + ", " + FormatBytes(figures.bytes_read) + " read, " +
          FormatBytes(figures.bytes_written) + " written";
  return line;
}

Counters CountersOf(const TrackedJob& job) {
  Counters counters = job.record.counters;
  for (const auto& [task, report] : job.reports) AddCounters(report.counters, &counters);
  CountLeftOut(job.record.figures, &counters);
  return counters;
}

Result<std::vector<AttemptRecord>> AttemptsOf(const TrackedJob& job, const Journal& journal) {
  if (!job.attempts.all().empty() || !job.record.outcome) return job.attempts.all();
  AttemptList attempts;
  MILLRACE_TRY(
      journal.ReadJob(job.record.id, [&](const sched::Event& event, Micros time) { attempts.Follow(event, time); }));
  attempts.KillRest(job.record.ended);  // they ended with the job or a node, and have no line of their own
  return attempts.all();
}

std::vector<sched::RecordPlace> LeftOutBy(const AttemptId& attempt, const sched::ClusterState& cluster) {
  const sched::JobState* const state = cluster.FindJob(attempt.task.job);
  if (state == nullptr || attempt.task.kind != TaskKind::kMap) return {};
  const auto bad = state->bad_records.find(attempt.task.index);
  return bad == state->bad_records.end() ? std::vector<sched::RecordPlace>() : bad->second.LeftOutBy(attempt.number);
}

double CrossingShare(NodeId node, const sched::ClusterState& cluster) {
  const sched::NodeState* const state = cluster.FindNode(node);
  const std::uint32_t slots = cluster.Capacity(TaskKind::kReduce);
  if (state == nullptr || slots == 0) return 0;
  return 1 - static_cast<double>(state->counted.reduces) / slots;
}

std::pair<std::uint32_t, std::uint32_t> RunningOn(NodeId node, const sched::Engine& engine) {
  std::pair<std::uint32_t, std::uint32_t> running;
  for (const AttemptId& attempt : engine.RunningOn(node)) {
    ++(attempt.task.kind == TaskKind::kMap ? running.first : running.second);
  }
  return running;
}

}  // namespace millrace::master
