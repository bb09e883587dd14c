// SPDX-License-Identifier: Apache-2.0
#include "master/control/control.h"

#include <fcntl.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/file.h"
#include "base/rpc/status_codec.h"
#include "base/text.h"
#include "schedulers/core/policy.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/make_scheduler.h"
#include "schedulers/policies/settings_file.h"

namespace millrace::master {

namespace {

// The audit log is written and put aside as the daemon's own.
LogOptions AuditOptionsOf(const MasterConfig& config) {
  LogOptions options = config.log;
  options.file = config.audit_log;
  if (config.audit_log == kAutoAuditLog) options.file = config.tls.given() ? config.directory + "/audit.log" : "";
  return options;
}

Result<std::string> ReadTail(const std::string& path, std::uint64_t most) {
  MILLRACE_ASSIGN(const Fd file, OpenFile(path, O_RDONLY));
  MILLRACE_ASSIGN(const std::uint64_t size, FileSize(file.get(), path));
  std::string text(static_cast<std::size_t>(std::min(size, most)), '\0');
  MILLRACE_TRY(ReadExactlyAt(file.get(), text.data(), text.size(), size - text.size(), path));
  return text;
}

Micros TickPeriod(const MasterConfig& config) { return std::max<Micros>(config.heartbeat / 2, 10 * kMillisecond); }

}  // namespace

Result<std::unique_ptr<Control>> Control::Make(const MasterConfig& config, ControlDependencies seams) {
  SchedulerFile scheduler_file(std::move(seams.scheduler_file), seams.log);
  scheduler_file.Load(seams.store, seams.clock.Now());
  std::string why;
  AccessFile access_file(std::move(seams.access_file), seams.log);
  MILLRACE_TRY(access_file.Load(seams.store, seams.clock.Now(), seams.token_key.has_value()).Within("access.file"));
  const sched::SchedulerSet scheduler{sched::CutSpec(config.scheduler).expression,
                                      sched::FormatSettings(scheduler_file.settings())};
  if (sched::MakeScheduler(scheduler, false, &why) == nullptr) return Invalid("master.scheduler: " + why);
  if (sched::CutSpec(config.scheduler).expression.starts_with(sched::kExternal) && !seams.start_program) {
    return Invalid("master.scheduler " + Quote(config.scheduler) +
                   " asks a program, and master.programs names no directory for programs");
  }
  std::unique_ptr<Control> control(
      new Control(config, std::move(seams), std::move(scheduler_file), std::move(access_file)));
  MILLRACE_TRY(control->audit_.Open());
  MILLRACE_TRY(control->Load());
  return control;
}

Control::Control(const MasterConfig& config, ControlDependencies seams, SchedulerFile scheduler_file,
                 AccessFile access_file)
    : config_(config),
      seams_(std::move(seams)),
      identity_{.cluster = {}, .release = seams_.release},
      clock_(seams_.clock, seams_.timer),
      commits_(seams_.commit_log),
      room_(config_, seams_.look_at_room, seams_.spare, commits_, tasks_, seams_.log),
      scheduler_file_(std::move(scheduler_file)),
      access_file_(std::move(access_file)),
      audit_(seams_.clock, AuditOptionsOf(config), config.audit_reads, seams_.log),
      callers_(access_file_.rules(), audit_, seams_.token_key.has_value()),
      files_(Random(seams_.random.Next()), seams_.block_numbers),
      jobs_(files_, seams_.store,
            {.scheduler = {sched::CutSpec(config.scheduler).expression,
                           sched::FormatSettings(scheduler_file_.settings())},
             .background = true,
             .history_jobs = static_cast<std::size_t>(config.history_jobs),
             .nanoseconds = seams_.meters.nanoseconds,
             .principal_of = [this](const std::string& user) { return callers_.PrincipalOf(user); },
             .may_start = [this] { return MayStartJobs(); }},
            seams_.log),
      watchers_(seams_.timer, jobs_, commits_, tasks_),
      tokens_(seams_.token_key, seams_.write_key, seams_.clock, nodes_),
      dispatcher_(
          seams_.timer, files_, nodes_, jobs_, tokens_, tasks_,
          [this](NodeId node, const AttemptId& attempt, const std::string& reason) {
            Step step = steps_.Begin();
            jobs_.AttemptFailed(node, attempt, false, reason, &step);
            steps_.FinishLazily(std::move(step));
          },
          [this](const OutputCopyOrder& copy, const Status& status) {
            Step step = steps_.Begin();
            jobs_.OutputCopied(copy, status, &step);
            steps_.FinishLazily(std::move(step));
            if (status.ok() && !room_.Held()) workers_.MoveOutputs();
          },
          seams_.log),
      steps_(clock_, seams_.timer, commits_, room_, files_, jobs_, watchers_, changes_, dispatcher_, tasks_,
             seams_.log),
      age_(config_.doubt, files_, jobs_, steps_, commits_, room_, tasks_, seams_.log),
      backups_(config_.backup_age),
      watch_(config_.avoid_ailing, clock_, files_.blocks(), nodes_, jobs_, steps_, seams_.log),
      workers_({.config = config_,
                .identity = identity_,
                .clock = clock_,
                .timer = seams_.timer,
                .room = room_,
                .files = files_,
                .nodes = nodes_,
                .jobs = jobs_,
                .steps = steps_,
                .age = age_,
                .watch = watch_,
                .dispatcher = dispatcher_,
                .dialer = seams_.dialer,
                .asks_workers = seams_.asks_workers,
                .tasks = tasks_,
                .log = seams_.log}),
      open_files_(config_, TickPeriod(config_), clock_, files_, callers_, steps_, seams_.log),
      replicas_(config_, clock_, files_, workers_, steps_, dispatcher_, tasks_, seams_.log),
      scheduler_(config_.scheduler, scheduler_file_, clock_, jobs_, steps_, seams_.log),
      program_(seams_.programs, seams_.start_program, config_.directory + "/scheduler-programs", clock_, room_, jobs_,
               steps_, scheduler_, tasks_, seams_.log),
      forecasts_(seams_.background, seams_.meters.nanoseconds, clock_, seams_.timer, jobs_, scheduler_, seams_.log),
      what_helps_(seams_.background, seams_.meters.nanoseconds, forecasts_, jobs_, scheduler_),
      executables_(config_.executable_retention, clock_, files_, jobs_, room_, steps_, seams_.log),
      expired_trash_(config_.trash_retention, clock_, files_, room_, steps_, seams_.log),
      job_logs_(config_, clock_, files_, nodes_, jobs_, room_, steps_, seams_.log),
      certificates_(seams_.certificates, clock_, nodes_, seams_.log),
      tasks_(*this) {}

Control::~Control() { steps_.Stop(); }

Status Control::Load() {
  (void)room_.Look();
  MILLRACE_ASSIGN(identity_.cluster, ReadClusterId(seams_.store));
  MILLRACE_TRY(age_.Load(seams_.store));
  MILLRACE_TRY(backups_.Load(seams_.store));
  MILLRACE_TRY(nodes_.Load(seams_.store));
  files_.blocks().SetLeastStaying(static_cast<std::uint32_t>(config_.maintenance_replicas));
  for (const auto& [number, node] : nodes_.all()) {
    files_.blocks().NodeExists(number);
    // What such a node has is not known, which is cheap to note before there are blocks.
    if (node.InMaintenance()) files_.blocks().SetMaintenance(number, true);
  }
  MILLRACE_TRY(files_.Load(seams_.store));
  MILLRACE_TRY(jobs_.Load(nodes_));
  clock_.StartAfter(jobs_.last_time());
  Step step = steps_.Begin();
  nodes_.ShortenMaintenance(step.now, &step.batch);
  if (age_.Begin(std::max<std::uint64_t>(1, seams_.random.Next()), &step)) ReadSubmissions(&step);
  jobs_.NoteRestart(&step);
  MILLRACE_TRY(scheduler_.Start(seams_.store, &step));
  if (seams_.token_key) executables_.KeepDirectory(&step);
  if (room_.Held()) {
    commits_.CommitUnnumbered(std::move(step.batch));  // reads are answered all the same
  } else {
    scheduler_file_.Keep(&step.batch);
    access_file_.Keep(&step.batch);
    commits_.CommitLazily(std::move(step.batch));
  }
  steps_.OnDecided([this] { program_.LookSoon(); });
  program_.LookSoon();
  MarkAllJobs();
  workers_.Start();
  open_files_.AwaitWriters(std::max(config_.startup_grace, config_.lease_grace));
  tasks_.add(Clockwork());
  if (room_.watched()) tasks_.add(WatchRoom());
  return Status::Ok();
}

// The audit log outlives a database that was lost, if it lies elsewhere or only the database was replaced.
void Control::ReadSubmissions(Step* step) {
  constexpr std::uint64_t kMostRead = std::uint64_t{64} << 20;
  const std::string path = AuditOptionsOf(config_).file;
  if (path.empty()) return;
  const Result<std::string> text = ReadTail(path, kMostRead);
  if (!text.ok()) return seams_.log->warn("the audit log is not read for lost jobs: {}", text.status().message());
  std::string_view rest = *text;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (const auto job = ReadSubmission(rest.substr(0, end))) jobs_.NoteSubmission(*job, step);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

SummaryParts Control::summary() const {
  return {.identity = identity_,
          .clock = clock_,
          .files = files_,
          .nodes = nodes_,
          .jobs = jobs_,
          .workers = workers_,
          .room = room_,
          .age = age_,
          .backups = backups_,
          .scheduler = scheduler_,
          .scheduler_file = scheduler_file_,
          .access_file = access_file_,
          .audit = audit_,
          .certificates = certificates_,
          .copy_problem = seams_.copy_problem};
}

kj::Promise<void> Control::Clockwork() {
  const Micros period = TickPeriod(config_);
  return seams_.timer.afterDelay(period * kj::MICROSECONDS).then([this, due = clock_.Awake() + period]() {
    KJ_IF_MAYBE (thrown, kj::runCatchingExceptions([&] { Tick(clock_.Awake() - due); })) taskFailed(kj::mv(*thrown));
    return Clockwork();
  });
}

// A master that stood still (stopped, migrated or swapped out) has heard nobody, and must not take that for silence.
// Messages that were sent meanwhile are read before the next tick.
void Control::Tick(Micros late) {
  if (late > config_.heartbeat) {
    seams_.log->warn("the master was stalled for {} ms: all deadlines are extended by that", late / kMillisecond);
    clock_.StoodStill(late);
    return;
  }
  access_file_.Poll(clock_.Wall());
  certificates_.Warn();
  workers_.LoseSilent();
  workers_.EndMaintenance();
  replicas_.GiveOut();
  if (room_.Held()) return;
  age_.Advance();
  age_.EndDoubt();
  open_files_.Expire();
  watch_.Judge();
  workers_.GiveUpLate();
  workers_.MoveOutputs();
  workers_.ForgetOld();
  NoteMovedReplicas();
  StartWaitingJobs();
  scheduler_.FollowFile();
  program_.Look();
  forecasts_.Poll();
  KeepCopies();
  executables_.Sweep();
  expired_trash_.Sweep();
  job_logs_.Sweep();
}

// After a start the blocks of a worker seem to be nowhere until it has reported.
void Control::NoteMovedReplicas() {
  if (workers_.InStartupGrace()) return;
  Step step = steps_.Begin();
  jobs_.NoteMovedReplicas(&step);
  if (!step.batch.empty()) steps_.FinishLazily(std::move(step));
}

void Control::MarkAllJobs() {
  changes_.SetLife(age_.now().life);
  for (const JobId job : jobs_.JobsAfter(JobId{0}, std::numeric_limits<std::size_t>::max(), false))
    changes_.Mark({ChangeIndex::Kind::kJob, job.value});
}

// As JobService::submit: blocks may be on workers that have not reported yet, and changes need room on the disk.
bool Control::MayStartJobs() const {
  return room_.CheckChange().ok() && !(workers_.AwaitingReports() && files_.blocks().Health().missing > 0);
}

void Control::StartWaitingJobs() {
  if (jobs_.AnyDue()) steps_.FinishLazily(steps_.Begin());
}

// The new contents are on disk soon after, for the next start.
void Control::KeepCopies() {
  if (!scheduler_file_.unkept() && !access_file_.unkept()) return;
  Step step = steps_.Begin();
  scheduler_file_.Keep(&step.batch);
  access_file_.Keep(&step.batch);
  steps_.FinishLazily(std::move(step));
}

kj::Promise<void> Control::WatchRoom() {
  constexpr kj::Duration kLookEvery = 500 * kj::MILLISECONDS;
  return seams_.timer.afterDelay(kLookEvery).then([this]() {
    KJ_IF_MAYBE (thrown, kj::runCatchingExceptions([&] { LookAtRoom(); })) taskFailed(kj::mv(*thrown));
    return WatchRoom();
  });
}

// Workers that registered while the disk was full register again, and this time their attempts are settled.
void Control::LookAtRoom() {
  if (!room_.Look()) return;
  workers_.SettleAgain();
  steps_.FinishLazily(steps_.Begin());
}

void Control::taskFailed(kj::Exception&& exception) {
  seams_.log->error("control: {}", rpc::FromException(exception).message());
}

}  // namespace millrace::master
