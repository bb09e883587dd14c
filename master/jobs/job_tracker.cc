// SPDX-License-Identifier: Apache-2.0
#include "master/jobs/job_tracker.h"

#include <algorithm>
#include <limits>
#include <string>
#include <variant>

#include "base/ids/ids.h"
#include "base/kv/spare_log.h"
#include "base/text.h"
#include "base/units.h"
#include "dfs/wire/path.h"
#include "master/jobs/failed_output.h"
#include "master/jobs/job_plan.h"
#include "master/jobs/job_table.h"
#include "master/jobs/output_moves.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/policy.h"
#include "schedulers/history/input_type.h"
#include "schedulers/offering/common_settings.h"
#include "schedulers/policies/make_scheduler.h"
#include "schedulers/policies/settings_file.h"

namespace millrace::master {

using worker::Claim;
using worker::MasterDoes;
using worker::WorkerDoes;

namespace {

constexpr std::string_view kHistoryPrefix = "h/";
constexpr std::string_view kForetoldPrefix = "p/";

std::unique_ptr<sched::Policy> FirstPolicy(const TrackerOptions& options) {
  std::string why;
  std::unique_ptr<sched::Policy> policy = sched::MakeScheduler(options.scheduler, options.background, &why);
  MILLRACE_CHECK(policy != nullptr, why);
  return policy;
}

// Returns what JobTracker::last_turn says of the event; "" if it is not one of those that count.
std::string TurnOf(const sched::Event& event) {
  const auto node = [](NodeId id) { return "node " + std::to_string(id.value); };
  if (const auto* set = std::get_if<sched::JobPrioritySet>(&event))
    return "the priority of " + ToText(set->job) + " was set";
  if (const auto* held = std::get_if<sched::JobHeld>(&event))
    return ToText(held->job) + (held->held ? " was held" : " was released");
  if (const auto* killed = std::get_if<sched::JobKilled>(&event)) return ToText(killed->job) + " was killed";
  if (const auto* set = std::get_if<sched::SchedulerSet>(&event)) return "the scheduler was set to " + set->name;
  if (const auto* joined = std::get_if<sched::NodeJoined>(&event)) return node(joined->node) + " came";
  if (const auto* lost = std::get_if<sched::NodeLost>(&event)) return node(lost->node) + " was lost";
  if (const auto* drained = std::get_if<sched::NodeDrained>(&event))
    return node(drained->node) + (drained->drained ? " takes no more tasks" : " takes tasks again");
  return {};
}

}  // namespace

JobTracker::JobTracker(FileSystem& files, const KeyValueStore& store, TrackerOptions options, Log log)
    : files_(files),
      store_(store),
      engine_({.make_policy = sched::SchedulerMaker(options.background)}, FirstPolicy(options)),
      history_jobs_(options.history_jobs),
      log_(log),
      numbers_(options.history_jobs, std::move(log)),
      journal_(store),
      principal_of_(std::move(options.principal_of)),
      may_start_(std::move(options.may_start)),
      nanoseconds_(std::move(options.nanoseconds)) {}

JobTracker::~JobTracker() = default;

// ---- reading back ----

Status JobTracker::Load(const NodeTable& nodes) {
  MILLRACE_TRY(journal_.Load());
  MILLRACE_TRY(jobs_.Load(store_));
  MILLRACE_TRY(numbers_.Load(store_, jobs_));
  MILLRACE_TRY(LoadHistory());
  std::set<JobId> begun;  // that the engine knew
  for (const JobId job : jobs_.live()) {
    const JobRecord& record = jobs_.At(job).record;
    record.waits ? waiting_.Add(record) : static_cast<void>(begun.insert(job));
  }
  if (begun.empty()) return Status::Ok();
  const auto replay = [this](const sched::Event& event, Micros time) { ReplayEvent(event, time); };
  MILLRACE_ASSIGN(const std::size_t lines, journal_.Replay(begun, replay));
  log_->info("replayed {} journal lines of {} live jobs", lines, begun.size());
  for (const auto& [node, joined] : joined_) {
    if (const NodeRecord* record = nodes.Find(node)) incarnations_[node] = record->facts.incarnation;
  }
  for (const JobId job : begun) {
    const std::vector<MapSplits>& splits = jobs_.At(job).splits;
    places_.Watch(job, splits, files_.blocks());
    for (std::uint32_t map = 0; map < splits.size(); ++map) places_.Doubt({job, TaskKind::kMap, map});
  }
  return Status::Ok();
}

// A record that is not understood is passed over, since the history serves only for estimates.
Status JobTracker::LoadHistory() {
  MILLRACE_TRY(store_.Scan(kForetoldPrefix, {}, [&](std::string_view key, std::string_view value) {
    if (!forecaster_.intervals().Restore(key.substr(kForetoldPrefix.size()), value))
      log_->warn("a record of what was foretold of jobs is not understood: {}", Quote(key));
    return true;
  }));
  forecaster_.intervals().Restored();
  return store_.Scan(kHistoryPrefix, {}, [&](std::string_view key, std::string_view value) {
    if (!history_.Restore(key.substr(kHistoryPrefix.size()), value))
      log_->warn("a record of the history of programs is not understood: {}", Quote(key));
    return true;
  });
}

void JobTracker::ReplayEvent(const sched::Event& event, Micros time) {
  sched::Effects effects;
  Step unsent(time);
  last_time_ = std::max(last_time_, time);
  if (!engine_.Apply(last_time_, event, &effects)) return;
  if (const auto* joined = std::get_if<sched::NodeJoined>(&event)) {
    LoseAttemptsOn(joined->node, &unsent);
    joined_[joined->node] = *joined;
  }
  if (const auto* lost = std::get_if<sched::NodeLost>(&event)) {
    LoseAttemptsOn(lost->node, &unsent);
    joined_.erase(lost->node);
  }
  jobs_.Follow(event, time);
  for (const sched::Effect& effect : effects) {
    const auto* kill = std::get_if<sched::Kill>(&effect);
    if (kill == nullptr) continue;
    if (TrackedJob* job = jobs_.Find(kill->attempt.task.job))
      EndAttempt(*job, kill->attempt, AttemptState::kKilled, kill->reason, &unsent);
  }
}

std::vector<sched::Event> JobTracker::NodesAsEvents() const {
  std::vector<sched::Event> events;
  for (const auto& [node, joined] : joined_) {
    events.emplace_back(joined);
    const sched::NodeState* known = engine_.state().FindNode(node);
    if (known != nullptr && known->drained) events.emplace_back(sched::NodeDrained{node, true});
  }
  for (const auto& [node, jobs] : engine_.state().blames()) {
    for (const auto& [job, until] : jobs) events.emplace_back(sched::NodeBlamed{node, job, until});
  }
  return events;
}

// ---- jobs ----

Result<JobId> JobTracker::Submit(JobRequest request, Step* step, const dfs::Principal& who) {
  if (const auto known = FindToken(request.token)) return *known;
  MILLRACE_TRY(CheckRequest(&request, who, step->now, JobId{0}));
  JobRecord record;
  MILLRACE_ASSIGN(record.waits_for, CheckAfter(request));
  record.waits = request.held || !record.waits_for.empty();
  std::vector<PackedSplits> maps;
  if (!record.waits) {
    MILLRACE_ASSIGN(maps, PlanAndMakeOutput(request, who, step));
  }
  const JobId id = numbers_.Next(&step->batch);
  record.id = id;
  record.hold = request.held ? Hold::kOwner : Hold::kNone;
  record.request = std::move(request);
  record.submitted = step->now;
  record.figures.reduces = record.request.reduces;
  TrackedJob& job = jobs_.Add(std::move(record));
  step->changed.insert(id);
  if (job.record.waits) {
    waiting_.Add(job.record);
    step->batch.Put(JobKey(id), EncodeJob(job.record));
  } else {
    GiveToEngine(job, std::move(maps), step);
  }
  return id;
}

Status JobTracker::CheckRequest(JobRequest* request, const dfs::Principal& who, Micros now, JobId id) const {
  MILLRACE_TRY(CheckPlaces(*request));
  request->input_sample = request->input_sample.substr(0, sched::kInputTypeBytes);
  MILLRACE_ASSIGN(request->output, dfs::CanonicalPath(request->output));
  MILLRACE_TRY(CheckRights(*request, who));
  if (const std::string why = engine_.policy().Refusal(SpecOf(*request, now)); !why.empty())
    return Invalid("submit a job: " + why);
  if (files_.names().Stat(request->output).ok()) {
    return Exists("output " + Quote(request->output) + ": exists already; remove it or name another one");
  }
  if (const std::optional<JobId> other = jobs_.WriterAround(request->output, id)) {
    const std::string& of_other = jobs_.Find(*other)->record.request.output;
    return Exists("output " + Quote(request->output) + ": " + ToText(*other) + ", which has not ended, " +
                  (of_other == request->output ? "is to write it" : "writes to " + Quote(of_other)) +
                  "; name another one, or wait for that job");
  }
  return Status::Ok();
}

Result<std::vector<JobId>> JobTracker::CheckAfter(const JobRequest& request) const {
  std::set<JobId> waits_for;
  for (const JobId id : request.after) {
    const std::string what = "submit a job: it is to run after " + ToText(id) + ", ";
    const TrackedJob* const other = jobs_.Find(id);
    if (other == nullptr) return numbers_.Missing(id).Within("submit a job: the job to run after");
    const std::optional<JobOutcomeRecord>& end = other->record.outcome;
    if (!end) waits_for.insert(id);
    if (end && end->outcome != sched::JobOutcome::kSucceeded && !request.even_if_failed)
      return Invalid(what + "which " + (end->outcome == sched::JobOutcome::kFailed ? "has failed" : "was killed") +
                     "; with --even-if-failed it runs all the same");
  }
  return std::vector<JobId>(waits_for.begin(), waits_for.end());
}

Result<std::vector<PackedSplits>> JobTracker::PlanAndMakeOutput(const JobRequest& request, const dfs::Principal& who,
                                                                Step* step) {
  MILLRACE_ASSIGN(std::vector<PackedSplits> maps, PlanMaps(request, files_, engine_.state(), who));
  MILLRACE_TRY(files_.names().CheckRoomForDirectory(request.output, request.owner));
  MILLRACE_TRY(files_.MakeDirectory(request.output, request.owner, step->now, &step->batch));
  return maps;
}

void JobTracker::GiveToEngine(TrackedJob& job, std::vector<PackedSplits> maps, Step* step) {
  JobRecord& record = job.record;
  const JobId id = record.id;
  // When the engine knows no other live job, recovery can begin at this one.
  if (engine_.state().LiveJobs().empty()) journal_.Snapshot(NodesAsEvents(), step);
  sched::JobSubmitted submitted{id, SpecOf(record.request, record.submitted)};
  submitted.spec.profile = history_.Lookup(submitted.spec.program, submitted.spec.input_type);
  for (PackedSplits& map : maps) {
    submitted.spec.maps.push_back(InputOf(map));
    record.figures.input_bytes += submitted.spec.maps.back().bytes;
    job.splits.push_back(std::move(map.splits));
  }
  places_.Watch(id, job.splits, files_.blocks());
  record.figures.maps = static_cast<std::uint32_t>(job.splits.size());
  ++submissions_;
  step->batch.Put(JobKey(id), EncodeJob(record));
  step->batch.Put(SplitsKey(id), EncodeSplits(job.splits));
  MILLRACE_CHECK(Apply(submitted, id, step), ToText(id) + " was refused by the engine");
}

// ---- jobs that wait for others ----

// The number of a job that waits is greater than those of the jobs for which it waits. So one pass in order is enough
// even for a chain of failures.
void JobTracker::StartWaiting(Step* step) {
  for (auto at = waiting_.due().begin(); at != waiting_.due().end();) {
    const JobId id = *at;
    TrackedJob& job = jobs_.At(id);
    const Status possible = LookAtWaiting(job, step);
    if (!possible.ok()) {
      EndWaiting(job, sched::JobOutcome::kFailed, possible.message(), step);
    } else if (!job.record.waits_for.empty() || job.record.hold != Hold::kNone) {
      waiting_.Passed(id);
    } else if (!may_start_ || may_start_()) {
      if (const Status started = Start(job, step); !started.ok())
        EndWaiting(job, sched::JobOutcome::kFailed, "it cannot start: " + started.message(), step);
    }
    at = waiting_.due().upper_bound(id);
  }
}

Status JobTracker::LookAtWaiting(TrackedJob& job, Step* step) {
  JobRecord& record = job.record;
  std::vector<JobId> left;
  for (const JobId id : record.waits_for) {
    const TrackedJob* const other = jobs_.Find(id);
    if (other == nullptr) return Invalid(ToText(id) + ", after which it was to run, is not known any more");
    const std::optional<JobOutcomeRecord>& end = other->record.outcome;
    if (end && end->outcome != sched::JobOutcome::kSucceeded && !record.request.even_if_failed)
      return Invalid(ToText(id) + ", after which it was to run, " +
                     (end->outcome == sched::JobOutcome::kFailed ? "failed" : "was killed"));
    if (!end) left.push_back(id);
    if (end) waiting_.Settle(record.id, id);
  }
  if (left == record.waits_for) return Status::Ok();
  record.waits_for = std::move(left);
  step->batch.Put(JobKey(record.id), EncodeJob(record));
  step->changed.insert(record.id);
  return Status::Ok();
}

// What could not be known when the job was submitted, or may be otherwise now, is checked.
Status JobTracker::Start(TrackedJob& job, Step* step) {
  JobRecord& record = job.record;
  const dfs::Principal who = principal_of_ ? principal_of_(record.request.owner) : dfs::Everybody();
  waiting_.Remove(record);
  MILLRACE_TRY(CheckRequest(&record.request, who, record.submitted, record.id));
  MILLRACE_ASSIGN(std::vector<PackedSplits> maps, PlanAndMakeOutput(record.request, who, step));
  record.waits = false;
  record.held_back = step->now - record.submitted;
  log_->info("{} starts, {} after its submission", ToText(record.id), FormatDuration(record.held_back));
  GiveToEngine(job, std::move(maps), step);
  step->changed.insert(record.id);
  return Status::Ok();
}

// The engine does not know the job, which has made nothing: what lies at its output's path is another's.
void JobTracker::EndWaiting(TrackedJob& job, sched::JobOutcome outcome, const std::string& reason, Step* step) {
  waiting_.Remove(job.record);
  job.record.outcome = JobOutcomeRecord{outcome, reason};
  CloseJob(job, step);
}

Status JobTracker::HoldJob(JobId id, Hold by, Step* step) {
  MILLRACE_ASSIGN(TrackedJob* const job, GetLive(id));
  JobRecord& record = job->record;
  if (!record.waits && record.hold == Hold::kNone && !Apply(sched::JobHeld{id, true}, id, step))
    return Invalid(ToText(id) + ": runs already, and a running job cannot be held; `millrace job priority " +
                   std::to_string(id.value) + " VERY_LOW` lets others go first");
  record.hold = std::max(record.hold, by);
  forecaster_.Withdraw(id);
  step->batch.Put(JobKey(id), EncodeJob(record));
  step->changed.insert(id);
  return Status::Ok();
}

Status JobTracker::ReleaseJob(JobId id, Step* step) {
  MILLRACE_ASSIGN(TrackedJob* const job, GetLive(id));
  JobRecord& record = job->record;
  if (record.hold == Hold::kNone) {
    const std::string why = WhyItWaits(record);
    return Invalid(ToText(id) + ": is not held" + (why.empty() ? "" : "; it " + why));
  }
  record.hold = Hold::kNone;
  if (!record.waits) record.held_back = step->now - record.submitted;
  step->batch.Put(JobKey(id), EncodeJob(record));
  step->changed.insert(id);
  waiting_.LookAt(id);
  if (!record.waits) (void)Apply(sched::JobHeld{id, false}, id, step);
  return Status::Ok();
}

// Workers fetch the executable, and may read every file; so its rights are looked at here.
Status JobTracker::CheckRights(const JobRequest& request, const dfs::Principal& who) const {
  if (who.superuser) return Status::Ok();
  MILLRACE_ASSIGN(const std::string executable, dfs::CanonicalPath(request.executable.path));
  MILLRACE_TRY(files_.names().Check(dfs::Wish::kRead, executable, who).Within("the job's executable"));
  return files_.names().Check(dfs::Wish::kMakeDirectory, request.output, who).Within("the job's output");
}

Status JobTracker::Kill(JobId job, const std::string& reason, Step* step) {
  MILLRACE_ASSIGN(TrackedJob* const found, GetLive(job));
  if (found->record.waits) {
    EndWaiting(*found, sched::JobOutcome::kKilled, reason, step);
  } else {
    Apply(sched::JobKilled{job, reason}, job, step);
  }
  return Status::Ok();
}

// As CloseJob does it.
std::uint64_t JobTracker::BytesToKill(JobId id) const {
  constexpr std::uint64_t kBytesOfReasons = std::uint64_t{8} << 10;  // in the record and in the journal
  const TrackedJob* job = jobs_.Find(id);
  if (job == nullptr || job->record.outcome) return 0;
  JobRecord record = job->record;
  record.left_out_records = FirstLeftOutRecords(*job, engine_.state());
  record.counters = CountersOf(*job);
  WriteBatch batch;
  for (const auto& [task, report] : job->reports) batch.Remove(TaskKey(task));
  batch.Put(FailedMapsKey(id), EncodeFailedMaps(FailedMapsOf(job->attempts.all(), job->splits)));
  batch.Remove(SplitsKey(id));
  batch.Put(JobKey(id), EncodeJob(record));
  std::uint64_t bytes = SpareLog::BytesOf(batch) + kBytesOfReasons;
  if (!record.waits) bytes += files_.BytesToRemove(record.request.output);
  // Those that wait for it may fail with it.
  std::set<JobId> next = {id};
  while (!next.empty()) {
    const JobId at = *next.begin();
    next.erase(next.begin());
    for (const JobId waiting : waiting_.WaitingFor(at)) {
      if (!next.insert(waiting).second) continue;
      WriteBatch end;
      end.Put(JobKey(waiting), EncodeJob(jobs_.Find(waiting)->record));
      bytes += SpareLog::BytesOf(end) + kBytesOfReasons;
    }
  }
  for (const auto& [file, attempt] : job->outputs) bytes += files_.BytesToAbandon(file);
  return bytes;
}

Status JobTracker::SetPriority(JobId job, std::uint8_t priority, Step* step) {
  MILLRACE_ASSIGN(TrackedJob* const found, GetLive(job));
  if (priority > 4)
    return Invalid("priority " + std::to_string(priority) + ": is not one of 0 (VERY_HIGH) to 4 (VERY_LOW)");
  found->record.request.priority = priority;
  step->batch.Put(JobKey(job), EncodeJob(found->record));
  Apply(sched::JobPrioritySet{job, static_cast<sched::Priority>(priority)}, job, step);
  step->changed.insert(job);
  return Status::Ok();
}

void JobTracker::SetScheduler(const sched::SchedulerSet& scheduler, Step* step) {
  MILLRACE_CHECK(Apply(scheduler, JobId{0}, step), "scheduler " + scheduler.name + " was refused by the engine");
  const Result<sched::Settings> settings = sched::ReadSettings(scheduler.settings);
  ++policies_;
  forecaster_.SchedulerChanged();
  wants_progress_ = settings.ok() && settings->Of<sched::SpeculationSettings>().on();
}

void JobTracker::AnswerPolicy(const sched::PolicyAnswered& answer, Step* step) {
  MILLRACE_CHECK(Apply(answer, JobId{0}, step), "the engine refused an answer to the open question");
}

std::set<std::string> JobTracker::NeededExecutables() const {
  std::set<std::string> needed;
  for (const JobId id : jobs_.After(JobId{0}, std::numeric_limits<std::size_t>::max(), false)) {
    const JobRecord& record = jobs_.Find(id)->record;
    if (!record.outcome || record.figures.failed_attempts > 0) needed.insert(record.request.executable.path);
  }
  return needed;
}

std::size_t JobTracker::ForgetPrograms(Step* step) {
  const std::vector<std::string> keys = history_.Clear();
  for (const std::string& key : keys) step->batch.Remove(std::string(kHistoryPrefix) + key);
  return keys.size();
}

// ---- jobs that are lost with a later state of the database ----

void JobTracker::OpenGap(DoubtCause cause, Micros known, Step* step) {
  numbers_.OpenGap(cause, known, step->now, &step->batch);
}

void JobTracker::NoteSubmission(const SubmittedJob& job, Step* step) {
  if (jobs_.Find(job.job) != nullptr) return;
  step->changed.insert(job.job);
  numbers_.NoteSubmission(job, step->now, &step->batch);
}

void JobTracker::NoteLostJobs(const NodeRecord& node, const Claims& claims, Step* step) {
  for (const auto* list : {&claims.running, &claims.done, &claims.failed, &claims.served}) {
    for (const AttemptId& attempt : *list) {
      const JobId job = attempt.task.job;
      if (jobs_.Find(job) != nullptr) continue;
      const std::string how =
          "worker " + std::to_string(node.number.value) + ", " + node.facts.host + ", had attempts of it";
      step->changed.insert(job);
      numbers_.NoteMet(job, how, step->now, &step->batch);
    }
  }
}

// ---- nodes ----

JobTracker::Reconciled JobTracker::NodeRegistered(const NodeRecord& node, const Claims& claims, Step* step) {
  AdmitNode(node, step);
  NoteLostJobs(node, claims, step);
  Reconciled answer;
  for (const auto& [attempt, claim] : GatherClaims(node.number, claims, jobs_, engine_))
    SettleAttempt(node.number, attempt, claim, &answer, step);
  std::set<JobId> reducing;
  for (const AttemptId& attempt : engine_.RunningOn(node.number)) {
    if (attempt.task.kind == TaskKind::kMap) continue;
    reducing.insert(attempt.task.job);
    RepeatCompute(attempt, step);
  }
  // Some announcements did not reach it.
  for (const JobId job : reducing) AnnounceOutputs(job, node.number, step);
  return answer;
}

// Tells the engine of the node if it is new, or if its incarnation, place or slots have changed.
void JobTracker::AdmitNode(const NodeRecord& node, Step* step) {
  const sched::NodeJoined joined{node.number,           node.facts.rack,
                                 node.facts.datacenter, {node.facts.map_slots, node.facts.reduce_slots},
                                 node.facts.cores,      node.facts.machine};
  const auto known = joined_.find(node.number);
  const auto same = [&joined](sched::NodeJoined other) {
    // A master of an earlier release did not record these two, and nothing is decided by them.
    other.cores = joined.cores, other.machine = joined.machine;
    return other == joined;
  };
  if (known != joined_.end() && same(known->second) && incarnations_[node.number] == node.facts.incarnation)
    return NodeTakesTasks(node.number, node.TakesTasks(), step);
  LoseAttemptsOn(node.number, step);
  Apply(joined, JobId{0}, step);
  ChangeAll(step);  // those whose outputs it had
  joined_[node.number] = joined;
  incarnations_[node.number] = node.facts.incarnation;
  NodeTakesTasks(node.number, node.TakesTasks(), step);
}

void JobTracker::GiveUpLate(NodeId node, Micros left, Step* step) {
  const std::vector<AttemptId> there = engine_.RunningOn(node);
  for (const AttemptId& attempt : there) {
    TrackedJob* job = jobs_.Find(attempt.task.job);
    const AttemptRecord* record = job == nullptr ? nullptr : job->attempts.FindRunning(attempt);
    if (record == nullptr || EndsInTime(step->now - record->launched, record->fraction, left)) continue;
    const std::string reason = "its node leaves before it would have ended";
    step->kills.push_back({node, attempt, reason});
    AttemptFailed(node, attempt, true, reason, step);
  }
}

void JobTracker::GiveUpOn(NodeId node, const std::string& reason, Step* step) {
  for (const AttemptId& attempt : engine_.RunningOn(node)) {
    step->kills.push_back({node, attempt, reason});
    AttemptFailed(node, attempt, true, reason, step);
  }
  for (const AttemptId& map : OutputsOn(node, engine_.state())) {
    step->kills.push_back({node, map, reason});
    Apply(sched::AttemptLost{map, reason}, map.task.job, step);
  }
}

void JobTracker::MoveOutputs(const std::set<NodeId>& leaving, Step* step) {
  for (const OutputCopyOrder& copy : moves_.Next(engine_.state(), leaving)) {
    jobs_.At(copy.map.task.job).nodes.insert(copy.to);  // it is told when the job ends
    step->output_copies.push_back(copy);
  }
}

void JobTracker::OutputCopied(const OutputCopyOrder& copy, const Status& status, Step* step) {
  moves_.End(copy, status.ok());
  const sched::NodeState* to = engine_.state().FindNode(copy.to);
  if (status.ok() && to != nullptr && to->drained) {
    step->kills.push_back({copy.to, copy.map, "its node takes no work by now, and the output goes elsewhere"});
  } else if (!status.ok()) {
    log_->warn("worker {}: the output of {} is not copied there from worker {}: {}", copy.to.value, ToText(copy.map),
               copy.from.value, status.message());
  } else if (!Apply(sched::OutputMoved{copy.map, copy.to}, copy.map.task.job, step)) {
    step->kills.push_back({copy.to, copy.map, "no reduce needs it from there"});
  }
}

void JobTracker::SettleAttempt(NodeId node, const AttemptId& attempt, Claim claim, Reconciled* answer, Step* step) {
  const auto [ours, theirs] = worker::Settle(claim, BeliefOf(node, attempt, jobs_, engine_));
  switch (ours) {
    case MasterDoes::kNothing:
      break;
    case MasterDoes::kLoseAttempt:
      AttemptFailed(node, attempt, true, "the worker does not know of it any more", step);
      break;
    case MasterDoes::kLoseOutput:
      log_->warn("worker {}: it no longer has the output of {}, which runs again", node.value, ToText(attempt));
      Apply(sched::AttemptLost{attempt, "its worker does not have its output any more"}, attempt.task.job, step);
      break;
  }
  switch (theirs) {
    case WorkerDoes::kNothing:
      break;
    case WorkerDoes::kSettle:
      answer->settled.push_back(attempt);
      break;
    case WorkerDoes::kDrop:
      answer->killed.push_back(attempt);
      break;
    case WorkerDoes::kForgetJob:
      if (answer->forgotten.empty() || answer->forgotten.back() != attempt.task.job)  // attempts come ordered by job
        answer->forgotten.push_back(attempt.task.job);
      break;
  }
}

void JobTracker::NodeLost(NodeId node, bool died, Step* step) {
  LoseAttemptsOn(node, step);
  joined_.erase(node);
  incarnations_.erase(node);
  Apply(sched::NodeLost{node, died}, JobId{0}, step);
  ChangeAll(step);  // those whose outputs it had
}

void JobTracker::NodeTakesTasks(NodeId node, bool takes, Step* step) {
  const sched::NodeState* known = engine_.state().FindNode(node);
  if (known != nullptr && known->alive && known->drained == takes) NodeDrained(node, !takes, step);
}

void JobTracker::NodeSpace(NodeId node, std::uint64_t free_bytes, Step* step) {
  constexpr std::uint64_t kLeast = std::uint64_t{64} << 20;
  const sched::NodeState* known = engine_.state().FindNode(node);
  if (known == nullptr || !known->alive) return;
  const std::uint64_t believed = known->free_bytes.value_or(0);
  const std::uint64_t off = believed > free_bytes ? believed - free_bytes : free_bytes - believed;
  // A decrease is reported when it matters. A large increase is always reported: a job may fail for lack of it.
  const std::uint64_t least = free_bytes > believed ? believed / 16 : std::max(kLeast, free_bytes / 16);
  if (known->free_bytes && (off == 0 || off < least)) return;
  Apply(sched::NodeSpace{node, free_bytes}, JobId{0}, step);
}

std::vector<NodeId> JobTracker::EngineNodes() const {
  std::vector<NodeId> nodes;
  for (const auto& [node, joined] : joined_) nodes.push_back(node);
  return nodes;
}

// ---- attempts ----

void JobTracker::AttemptDone(NodeId node, const AttemptId& attempt, const TaskReport& report,
                             const std::vector<AttemptOutput>& outputs, Step* step) {
  TrackedJob* job = jobs_.Find(attempt.task.job);
  const bool may_commit = job != nullptr && jobs_.NodeOf(attempt) == node && engine_.MayCommit(attempt);
  if (!may_commit) {
    for (const AttemptOutput& output : outputs) {
      // A late report; the file may be gone already.
      if (CheckOwnFile(job, output).ok()) (void)files_.Abandon(output.file, step->now, &step->batch);
    }
    const WorkerDoes then = worker::Settle(Claim::kDone, BeliefOf(node, attempt, jobs_, engine_)).worker;
    if (then == WorkerDoes::kDrop) step->kills.push_back({node, attempt, "the master does not want it any more"});
    if (then == WorkerDoes::kForgetJob) step->forgets.push_back({node, attempt.task.job});
    return;
  }
  for (const AttemptOutput& output : outputs) {
    const Status own = CheckOwnFile(job, output);
    if (!own.ok()) return AttemptFailed(node, attempt, false, own.Within("commit").message(), step);
  }
  std::vector<FileSystem::Completion> files;
  for (const AttemptOutput& output : outputs)
    files.push_back({output.file, job->record.request.output + "/" + output.name, output.blocks});
  Status committed = job->CheckCounters(report);
  if (committed.ok()) committed = files_.CompleteAll(files, step->now, &step->batch);
  if (!committed.ok()) {
    // One that was handed over to an earlier process of the master is not among the job's outputs.
    for (const AttemptOutput& output : outputs) job->outputs.emplace(output.file, attempt);
    AttemptFailed(node, attempt, false, committed.Within("commit").message(), step);
    return;
  }
  for (const AttemptOutput& output : outputs) job->outputs.erase(output.file);
  job->NoteReport(attempt.task, report);
  tallies_.bytes_read += report.bytes_read;
  tallies_.bytes_shuffled += report.bytes_shuffled;
  tallies_.bytes_written += report.bytes_written;
  step->batch.Put(TaskKey(attempt.task), EncodeReport(report));
  EndAttempt(*job, attempt, AttemptState::kSucceeded, {}, step);
  sched::AttemptSucceeded succeeded{.attempt = attempt, .use = report.use};
  if (attempt.task.kind == TaskKind::kMap) {
    succeeded.input_bytes = report.bytes_read;
    succeeded.output_bytes = MapOutputBytes(report);
    NoteTransfer(node, job->splits.at(attempt.task.index), RemoteReadRate(report), step);
  }
  Apply(succeeded, attempt.task.job, step);
}

// A worker reports a file as the task described it.
Status JobTracker::CheckOwnFile(const TrackedJob* job, const AttemptOutput& output) const {
  const std::optional<dfs::OpenFile> open = files_.names().FindOpen(output.file);
  if (!open || open->options.owner.empty()) return Status::Ok();
  if (job != nullptr && open->options.owner == job->record.request.owner) return Status::Ok();
  return Denied("file " + std::to_string(output.file) + " is written by " + Printable(open->options.owner) +
                ", not by the job's owner");
}

void JobTracker::AttemptFailed(NodeId node, const AttemptId& attempt, bool lost, const std::string& said, Step* step,
                               std::optional<sched::RecordPlace> record, bool permanent) {
  TrackedJob* job = jobs_.Find(attempt.task.job);
  if (job == nullptr || jobs_.NodeOf(attempt) != node) return;
  std::string reason = said;
  if (record) {
    const bool map = attempt.task.kind == TaskKind::kMap;
    const auto what = map ? DescribeRecord(job->splits.at(attempt.task.index), *record) : std::nullopt;
    if (what) reason = "at " + *what + ": " + said;
    if (!what) record.reset();
  }
  permanent = over_quota_.erase(attempt) > 0 || permanent;
  EndAttempt(*job, attempt, lost ? AttemptState::kLost : AttemptState::kFailed, reason, step);
  if (lost) {
    Apply(sched::AttemptLost{attempt, reason}, attempt.task.job, step);
  } else {
    Apply(sched::AttemptFailed{attempt, reason, record, permanent}, attempt.task.job, step);
  }
}

void JobTracker::NoteOverQuota(std::string_view path) {
  constexpr std::string_view kAttempts = "/_temporary/";
  const std::size_t at = path.rfind(kAttempts);
  if (at == std::string_view::npos) return;
  const std::string_view name = path.substr(at + kAttempts.size());
  const std::optional<AttemptId> attempt = ParseAttempt(name.substr(0, name.find('/')));
  if (!attempt || !jobs_.NodeOf(*attempt)) return;
  if (jobs_.At(attempt->task.job).record.request.output == path.substr(0, at)) over_quota_.insert(*attempt);
}

void JobTracker::FetchFailed(NodeId node, const AttemptId& reduce, const AttemptId& map, std::uint32_t report,
                             Step* step) {
  if (jobs_.NodeOf(reduce) != node) return;
  Apply(sched::FetchFailed{reduce, map, report}, reduce.task.job, step);
}

void JobTracker::Progress(NodeId node, const AttemptId& attempt, double fraction, Step* step) {
  constexpr std::uint32_t kStep = 50;  // per mille; a step of this size is worth a line of the journal
  TrackedJob* job = jobs_.Find(attempt.task.job);
  if (job == nullptr || jobs_.NodeOf(attempt) != node) return;
  AttemptRecord& record = *job->attempts.FindRunning(attempt);
  record.fraction = std::clamp(fraction, 0.0, 1.0);
  step->changed.insert(attempt.task.job);
  const auto per_mille = static_cast<std::uint32_t>(record.fraction * 1000);
  if (!wants_progress_ || per_mille < record.per_mille + kStep) return;
  record.per_mille = per_mille;
  Apply(sched::AttemptProgressed{attempt, per_mille}, attempt.task.job, step);
}

void JobTracker::ReduceComputing(NodeId node, const AttemptId& attempt, Step* step) {
  if (jobs_.NodeOf(attempt) != node || attempt.task.kind != TaskKind::kReduce) return;
  const sched::RunningAttempt* running =
      engine_.state().FindJob(attempt.task.job)->reduces[attempt.task.index].Find(attempt.number);
  if (running == nullptr || running->computing()) return;
  Apply(sched::ReduceComputing{attempt}, attempt.task.job, step);
}

void JobTracker::ReduceCopied(NodeId node, const AttemptId& attempt, Step* step) {
  if (jobs_.NodeOf(attempt) != node || attempt.task.kind != TaskKind::kReduce) return;
  Apply(sched::ReduceCopied{attempt}, attempt.task.job, step);
}

Status JobTracker::HandOver(dfs::FileId file, const AttemptId& attempt) {
  TrackedJob* job = jobs_.Find(attempt.task.job);
  if (job == nullptr || !jobs_.NodeOf(attempt)) {
    return NotFound("hand over file " + std::to_string(file) + ": attempt " + ToText(attempt) + " does not run");
  }
  job->outputs[file] = attempt;
  return Status::Ok();
}

void JobTracker::EndAttempt(TrackedJob& job, const AttemptId& attempt, AttemptState state, const std::string& reason,
                            Step* step) {
  if (!job.attempts.End(attempt, state, reason, step->now)) return;
  tallies_.NoteEnd(attempt, state);
  for (const dfs::FileId file : job.TakeOutputsOf(attempt))
    (void)files_.Abandon(file, step->now, &step->batch);  // fine if its lease ran out before
  step->changed.insert(job.record.id);
}

void JobTracker::LoseAttemptsOn(NodeId node, Step* step) {
  for (const JobId id : jobs_.live()) {
    TrackedJob& job = jobs_.At(id);
    std::vector<AttemptId> there;
    job.attempts.VisitRunning([&](const AttemptRecord& record) {
      if (record.node == node) there.push_back(record.attempt);
    });
    for (const AttemptId& attempt : there) EndAttempt(job, attempt, AttemptState::kLost, "its worker was lost", step);
  }
}

// The rate is that of all input from other nodes. It tells of one of them if most of the input came from it.
void JobTracker::NoteTransfer(NodeId node, const MapSplits& splits, std::uint64_t bytes_per_second, Step* step) {
  if (bytes_per_second == 0) return;
  const auto from = MainInputSource(node, splits, files_, engine_.state().topology());
  if (from) Apply(sched::BandwidthMeasured{*from, node, bytes_per_second}, JobId{0}, step);
}

// ---- replicas ----

void JobTracker::NoteMovedReplicas(Step* step) {
  for (const TaskId& map : places_.Take(kMostLookedAt, files_.blocks())) {
    const sched::JobState& job = *engine_.state().FindJob(map.job);
    if (job.maps[map.index].done) continue;
    std::vector<NodeId> known = job.spec.maps[map.index].replicas;
    std::ranges::sort(known);
    std::vector<NodeId> replicas = ReplicasOf(jobs_.At(map.job).splits[map.index], files_);
    if (replicas != known) Apply(sched::ReplicasMoved{map, std::move(replicas)}, map.job, step);
  }
}

// ---- decisions and effects ----

void JobTracker::Decide(Step* step) {
  StartWaiting(step);
  ForgetOldJobs(step);
  const std::optional<Micros> wake = engine_.NextWake();
  sched::Effects effects;
  const std::int64_t begin = Nanoseconds();
  engine_.Decide(step->now, &effects);
  const std::int64_t took = Nanoseconds() - begin;
  deciding_cost_.nanoseconds += took;
  constexpr double kGiga = 1e9;
  tallies_.decide.Add(static_cast<double>(took) / kGiga);
  Carry(effects, step);
  LogAvoidedNodes();
  // A line of the journal at this time shows that the policy decided then. If there is none, the policy's clocks may
  // still have moved.
  const bool woken = (wake && *wake <= step->now) || engine_.NextWake() != wake;
  if (woken && !journal_.HasEventAt(step->now)) journal_.RecordMark(sched::JournalMark::kWoken, step);
}

bool JobTracker::Apply(const sched::Event& event, JobId job, Step* step) {
  sched::Effects effects;
  const std::int64_t begin = Nanoseconds();
  const bool applied = engine_.Apply(step->now, event, &effects);
  deciding_cost_.nanoseconds += Nanoseconds() - begin;
  if (!applied) return false;
  ++deciding_cost_.events;
  if (std::string turn = TurnOf(event); !turn.empty()) {
    ++turns_;
    last_turn_ = std::move(turn);
  }
  journal_.Record(event, job, step);
  if (job.value != 0) step->changed.insert(job);
  Carry(effects, step);
  return true;
}

void JobTracker::Carry(const sched::Effects& effects, Step* step) {
  for (const sched::Effect& effect : effects) {
    if (const auto* launch = std::get_if<sched::Launch>(&effect)) {
      CarryLaunch(*launch, step);
    } else if (const auto* compute = std::get_if<sched::Compute>(&effect)) {
      CarryCompute(*compute, step);
    } else if (const auto* kill = std::get_if<sched::Kill>(&effect)) {
      step->kills.push_back({kill->node, kill->attempt, kill->reason});
      if (TrackedJob* job = jobs_.Find(kill->attempt.task.job))
        EndAttempt(*job, kill->attempt, AttemptState::kKilled, kill->reason, step);
    } else if (const auto* preempt = std::get_if<sched::Preempt>(&effect)) {
      CarryPreempt(*preempt, step);
    } else if (const auto* evict = std::get_if<sched::Evict>(&effect)) {
      CarryEvict(evict->job, step);
    } else if (const auto* gives_up = std::get_if<sched::GiveUp>(&effect)) {
      journal_.Record(sched::JobGivenUp{gives_up->job, gives_up->reason}, gives_up->job, step);
      log_->warn("{} fails: {}", ToText(gives_up->job), gives_up->reason);
    } else if (const auto* blame = std::get_if<sched::Blame>(&effect)) {
      CarryBlame(*blame, step);
    } else if (const auto* ready = std::get_if<sched::MapOutputReady>(&effect)) {
      CarryOutput(ready->map_attempt, ready->node, true, step);
    } else if (const auto* gone = std::get_if<sched::MapOutputGone>(&effect)) {
      CarryOutput(gone->map_attempt, gone->node, false, step);
    } else if (const auto* left_out = std::get_if<sched::MapLeftOut>(&effect)) {
      CarryLeftOut(*left_out, step);
    } else if (const auto* end = std::get_if<sched::JobEnded>(&effect)) {
      CarryEnd(*end, step);
    }
  }
}

void JobTracker::CarryLaunch(const sched::Launch& launch, Step* step) {
  TrackedJob& job = jobs_.At(launch.attempt.task.job);
  journal_.Record(sched::AttemptLaunched{launch.attempt, launch.node}, launch.attempt.task.job, step);
  const NodeId node = launch.node;
  job.attempts.Begin(launch.attempt, node, step->now);
  job.nodes.insert(node);
  if (job.record.first_launch == 0) {
    job.record.first_launch = step->now;
    tallies_.waits.Add(static_cast<double>(step->now - job.record.queued()) / kSecond);
    step->batch.Put(JobKey(job.record.id), EncodeJob(job.record));
    KeepForetold(forecaster_.Started(job.record.id, step->now), step);
  }
  const std::uint32_t computing = launch.attempt.task.reduce() ? engine_.state().FindNode(launch.node)->Permits() : 0;
  step->launches.push_back({node, launch.attempt, computing, launch.asks_to_compute});
  step->changed.insert(launch.attempt.task.job);
  if (launch.attempt.task.kind == TaskKind::kReduce) AnnounceOutputs(launch.attempt.task.job, node, step);
}

void JobTracker::CarryCompute(const sched::Compute& compute, Step* step) {
  journal_.Record(sched::ComputeGranted{compute.attempt}, compute.attempt.task.job, step);
  step->computes.push_back({compute.node, compute.attempt, engine_.state().FindNode(compute.node)->Permits()});
}

// The order may not have reached the worker.
void JobTracker::RepeatCompute(const AttemptId& reduce, Step* step) {
  const sched::RunningAttempt& running =
      *engine_.state().FindJob(reduce.task.job)->reduces[reduce.task.index].Find(reduce.number);
  if (!running.computing()) return;
  step->computes.push_back({running.node, reduce, engine_.state().FindNode(running.node)->Permits()});
}

void JobTracker::CarryPreempt(const sched::Preempt& preempt, Step* step) {
  const AttemptId& attempt = preempt.attempt;
  journal_.Record(sched::AttemptPreempted{attempt, preempt.reason}, attempt.task.job, step);
  step->kills.push_back({preempt.node, attempt, preempt.reason});
  EndAttempt(jobs_.At(attempt.task.job), attempt, AttemptState::kPreempted, preempt.reason, step);
}

// The kills of its attempts follow. Workers drop the job's data, and learn of the job again when it goes on.
void JobTracker::CarryEvict(JobId id, Step* step) {
  journal_.Record(sched::JobEvicted{id}, id, step);
  log_->warn("{} gives way: there is no room for the map outputs of all running jobs", ToText(id));
  TrackedJob& job = jobs_.At(id);
  for (const NodeId node : job.nodes) step->forgets.push_back({node, id});
  job.nodes.clear();
  step->changed.insert(id);
}

// The event is recorded among those of nodes, since it outlives the job.
void JobTracker::CarryBlame(const sched::Blame& blame, Step* step) {
  journal_.Record(sched::NodeBlamed{blame.node, blame.by, blame.until}, JobId{0}, step);
  if (blame.until <= step->now) return;
  log_->warn("{}: none of its tasks goes to worker {} for {}: too many of them failed there", ToText(blame.by),
             blame.node.value, FormatDuration(blame.until - step->now));
}

void JobTracker::LogAvoidedNodes() {
  std::set<NodeId> now;
  for (const auto& [node, jobs] : engine_.state().blames()) {
    if (engine_.state().Avoids(node)) now.insert(node);
  }
  for (const NodeId node : now) {
    if (avoided_.contains(node)) continue;
    log_->warn(
        "worker {}: no tasks go to it: {} jobs had too many that failed there; `millrace node list` says how long",
        node.value, engine_.state().blames().at(node).size());
  }
  for (const NodeId node : avoided_) {
    if (!now.contains(node)) log_->info("worker {}: tasks may go to it again", node.value);
  }
  avoided_ = std::move(now);
}

void JobTracker::AnnounceOutputs(JobId job, NodeId node, Step* step) {
  OutputsOrder& order = step->OutputsFor(node, job);
  order.ready.clear();
  for (const sched::MapOutputReady& output : engine_.ReadyOutputs(job))
    order.ready.emplace_back(output.map_attempt, output.node);
  order.left_out = engine_.LeftOutMaps(job);
}

void JobTracker::CarryOutput(const AttemptId& map, NodeId node, bool ready, Step* step) {
  if (!ready) places_.Doubt(map.task);
  for (const NodeId target : jobs_.At(map.task.job).ReducingNodes()) {
    OutputsOrder& order = step->OutputsFor(target, map.task.job);
    if (ready) {
      order.ready.emplace_back(map, node);
    } else {
      std::erase_if(order.ready, [&](const auto& output) { return output.first == map; });
      order.gone.push_back(map);
    }
  }
}

// An earlier attempt of the map may have succeeded and its output been lost. Its report does not count then.
void JobTracker::CarryLeftOut(const sched::MapLeftOut& left_out, Step* step) {
  const TaskId& map = left_out.map;
  TrackedJob& job = jobs_.At(map.job);
  log_->warn("{} goes on without {}: {}", ToText(map.job), ToText(map), left_out.reason);
  ++job.record.figures.maps_left_out;
  if (job.record.left_out.size() < kMostLeftOut)
    job.record.left_out.push_back({map.index, DescribeInput(job.splits.at(map.index))});
  step->batch.Put(JobKey(map.job), EncodeJob(job.record));
  if (job.reports.contains(map)) {
    job.NoteReport(map, {});
    job.reports.erase(map);
    step->batch.Remove(TaskKey(map));
  }
  for (const NodeId node : job.ReducingNodes()) step->OutputsFor(node, map.job).left_out.push_back(map.index);
  step->changed.insert(map.job);
}

void JobTracker::CarryEnd(const sched::JobEnded& end, Step* step) {
  TrackedJob& job = jobs_.At(end.job);
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
    if (const Status removed = RemoveFailedOutput(record.request, files_, &step->batch); !removed.ok())
      log_->warn("{}: output of a failed job stays: {}", ToText(end.job), removed.message());
  }
  CloseJob(job, step);
}

// Fixes the figures and counters, and drops what only a running job needs.
void JobTracker::CloseJob(TrackedJob& job, Step* step) {
  JobRecord& record = job.record;
  ++tallies_.jobs.at(static_cast<std::size_t>(StateOf(record.outcome->outcome)));
  std::erase_if(over_quota_, [&](const AttemptId& attempt) { return attempt.task.job == record.id; });
  record.ended = step->now;
  SetFigures(job, engine_, &record.figures);
  record.left_out_records = FirstLeftOutRecords(job, engine_.state());
  record.counters = CountersOf(job);
  for (const auto& [task, report] : job.reports) step->batch.Remove(TaskKey(task));
  for (const auto& [file, attempt] : job.outputs) (void)files_.Abandon(file, step->now, &step->batch);
  for (const NodeId node : job.nodes) step->forgets.push_back({node, record.id});
  if (const FailedMaps failed = FailedMapsOf(job.attempts.all(), job.splits); !failed.empty())
    step->batch.Put(FailedMapsKey(record.id), EncodeFailedMaps(failed));
  places_.Unwatch(record.id, job.splits, files_.blocks());
  job.DropWork();
  jobs_.NoteEnded(record.id);
  waiting_.NoteEnded(record.id);
  RecordHistory(job, step);
  step->batch.Remove(SplitsKey(record.id));
  step->batch.Put(JobKey(record.id), EncodeJob(record));
  step->ended.insert(record.id);
  engine_.Forget(record.id);
}

void JobTracker::RecordHistory(const TrackedJob& job, Step* step) {
  const sched::JobState* ended = engine_.state().FindJob(job.record.id);
  if (ended != nullptr) KeepForetold(forecaster_.Ended(*ended), step);
  if (ended == nullptr || job.record.outcome->outcome != sched::JobOutcome::kSucceeded) return;
  if (auto learnt = history_.Record(*ended))
    step->batch.Put(std::string(kHistoryPrefix) + learnt->key, std::move(learnt->value));
}

void JobTracker::KeepForetold(const std::vector<sched::ForetoldRecord>& judged, Step* step) {
  for (const sched::Foretold what : sched::kForetold) {
    const auto count = static_cast<std::size_t>(std::ranges::count(judged, what, &sched::ForetoldRecord::what));
    for (auto& [key, value] : forecaster_.intervals().LastStored(what, count))
      step->batch.Put(std::string(kForetoldPrefix) + key, std::move(value));
  }
}

void JobTracker::ForgetOldJobs(Step* step) {
  for (const JobId job : jobs_.BeyondHistory(history_jobs_, step->ended)) {
    step->batch.Remove(JobKey(job));
    step->batch.Remove(FailedMapsKey(job));
    const Status forgotten = journal_.Forget(job, step);
    if (!forgotten.ok()) log_->warn("{}: its journal stays: {}", ToText(job), forgotten.message());
    numbers_.NoteForgotten(job, jobs_.At(job).record.ended, &step->batch);
    jobs_.Forget(job);
    step->changed.insert(job);
  }
}

// ---- views ----

std::vector<JobId> JobTracker::JobsAfter(JobId after, std::size_t limit, bool live_only) const {
  std::vector<JobId> found = jobs_.After(after, limit, live_only);
  if (live_only) return found;
  const std::vector<JobId> lost = numbers_.lost().After(after, limit);
  const auto middle = static_cast<std::ptrdiff_t>(found.size());
  found.insert(found.end(), lost.begin(), lost.end());
  std::ranges::inplace_merge(found, found.begin() + middle);
  if (found.size() > limit) found.resize(limit);
  return found;
}

Result<const TrackedJob*> JobTracker::Get(JobId job) const {
  if (const TrackedJob* found = jobs_.Find(job)) return found;
  return numbers_.Missing(job);
}

Result<TrackedJob*> JobTracker::GetLive(JobId job) {
  MILLRACE_TRY(Get(job).status());
  return jobs_.GetLive(job);
}

Result<JobView> JobTracker::View(JobId id) const {
  if (const JobRecord* lost = numbers_.lost().Find(id)) {
    JobView view;
    view.record = lost;
    view.state = JobState::kLost;
    return view;
  }
  MILLRACE_ASSIGN(const TrackedJob* const job, Get(id));
  return ViewOf(*job, engine_);
}

const JobRecord* JobTracker::FindRecord(JobId id) const {
  const TrackedJob* job = jobs_.Find(id);
  return job == nullptr ? nullptr : &job->record;
}

Result<Counters> JobTracker::JobCounters(JobId id) const {
  MILLRACE_ASSIGN(const TrackedJob* const job, Get(id));
  return CountersOf(*job);
}

Result<std::vector<AttemptRecord>> JobTracker::Attempts(JobId id) const {
  MILLRACE_ASSIGN(const TrackedJob* const job, Get(id));
  return AttemptsOf(*job, journal_);
}

Result<Journal::Page> JobTracker::History(JobId job, std::uint64_t after, std::uint64_t offset,
                                          std::size_t limit) const {
  if (job.value != 0) MILLRACE_TRY(Get(job).status());
  return journal_.Read(job, after, offset, limit);
}

Result<MapSplits> JobTracker::InputOfMap(const AttemptId& attempt) const {
  const std::string what = "the input of " + ToText(attempt);
  const TaskId& task = attempt.task;
  if (task.reduce()) return Invalid(what + ": it is a reduce, which reads the outputs of maps and no splits");
  MILLRACE_ASSIGN(const std::vector<AttemptRecord> attempts, Attempts(task.job));
  if (std::ranges::find(attempts, attempt, &AttemptRecord::attempt) == attempts.end())
    return NotFound(what + ": no such attempt; `millrace job logs " + std::to_string(task.job.value) +
                    " --failed` shows those that failed");
  if (const std::vector<MapSplits>* const splits = Splits(task.job)) return splits->at(task.index);
  MILLRACE_ASSIGN(const std::optional<std::string> stored, store_.Get(FailedMapsKey(task.job)));
  FailedMaps failed;
  if (stored) {
    MILLRACE_ASSIGN(failed, DecodeFailedMaps(*stored));
  }
  const auto found = failed.find(task.index);
  if (found == failed.end())
    return NotFound(what + ": it is no longer kept; of a job that has ended, only the input of " +
                    std::to_string(kMostFailedMaps) + " failed maps is kept");
  return std::move(found->second);
}

const std::vector<MapSplits>* JobTracker::Splits(JobId id) const {
  const TrackedJob* job = jobs_.Find(id);
  return job == nullptr || job->record.outcome ? nullptr : &job->splits;
}

sched::PolicyView JobTracker::ViewPolicy(Micros now) const { return engine_.View(now); }

}  // namespace millrace::master
