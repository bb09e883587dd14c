#include "master/control/control.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/rpc/status_codec.h"
#include "base/text.h"
#include "base/units.h"
#include "dfs/wire/path.h"
#include "master/control/cluster_record.h"
#include "schedulers/config/make_scheduler.h"
#include "schedulers/config/settings_text.h"
#include "schedulers/core/policy.h"

namespace millrace::master {

namespace {

// The audit log is written and put aside as the daemon's own.
LogOptions AuditOptionsOf(const MasterConfig& config) {
  LogOptions options = config.log;
  options.file = config.audit_log;
  if (config.audit_log == kAutoAuditLog) options.file = config.tls.given() ? config.directory + "/audit.log" : "";
  return options;
}

constexpr std::string_view kSchedulerKey = "scheduler";  // holds what was set, and master.scheduler at that time

}  // namespace

Result<std::unique_ptr<Control>> Control::Make(const MasterConfig& config, ControlDependencies seams) {
  SchedulerFile scheduler_file(std::move(seams.scheduler_file), seams.log);
  scheduler_file.Load(seams.store, seams.clock.Now());
  std::string why;
  AccessFile access_file(std::move(seams.access_file), seams.log);
  MILLRACE_TRY(access_file.Load(seams.store, seams.clock.Now(), seams.token_key.has_value()).Within("access.file"));
  const sched::SchedulerSet scheduler{config.scheduler, sched::FormatSettings(scheduler_file.settings())};
  if (sched::MakeScheduler(scheduler, false, &why) == nullptr) return Invalid("master.scheduler: " + why);
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
      commits_(seams_.commit_log),
      room_(config.directory, config.reserved_bytes),
      scheduler_file_(std::move(scheduler_file)),
      access_file_(std::move(access_file)),
      audit_(seams_.clock, AuditOptionsOf(config), config.audit_reads, seams_.log),
      scheduler_(config.scheduler),
      files_(Random(seams_.random.Next()), seams_.block_numbers),
      jobs_(files_, seams_.store,
            {.scheduler = {config.scheduler, sched::FormatSettings(scheduler_file_.settings())},
             .background = true,
             .history_jobs = static_cast<std::size_t>(config.history_jobs),
             .nanoseconds = seams_.meters.nanoseconds},
            seams_.log),
      watchers_(
          seams_.timer, jobs_, [this] { return Kept(); }, tasks_),
      write_orders_(seams_.write_key, seams_.clock, nodes_),
      dispatcher_(
          seams_.timer, files_, nodes_, jobs_, write_orders_,
          [this](const JobRecord& record) { return GrantTo(record.request.owner); }, tasks_,
          [this](NodeId node, const AttemptId& attempt, const std::string& reason) {
            Step step = Begin();
            jobs_.AttemptFailed(node, attempt, false, reason, &step);
            FinishLazily(std::move(step));
          },
          [this](const OutputCopyOrder& copy, const Status& status) {
            Step step = Begin();
            jobs_.OutputCopied(copy, status, &step);
            FinishLazily(std::move(step));
            if (status.ok() && !Held()) workers_.MoveOutputs();
          },
          seams_.log),
      workers_(*this, dispatcher_, seams_.dialer, tasks_),
      leases_(config.lease_grace, config.lease_limit, TickPeriod(), Awake()),
      tasks_(*this) {}

tls::Grant Control::GrantTo(std::string subject) const {
  constexpr Micros kLength = 24 * kHour;  // a reader whose token has ended looks the block up again
  if (!seams_.token_key) return {};
  return {&*seams_.token_key, std::move(subject), seams_.clock.Now() + kLength};
}

dfs::Principal Control::PrincipalOf(const std::string& user) const {
  if (!seams_.token_key) return dfs::Everybody();
  const AccessRules& rules = access_file_.rules();
  return {.user = user, .groups = rules.GroupsOf(user), .superuser = rules.IsAdministrator(user)};
}

// Every user's job puts its executable there, whoever's was the first.
void Control::KeepDirectories(Step* step) {
  if (!seams_.token_key) return;
  for (const auto& [path, mode] : {std::pair(dfs::ParentPath(dfs::kExecutablesDirectory), dfs::kDirectoryMode),
                                   std::pair(dfs::kExecutablesDirectory, dfs::kRootMode)}) {
    const Status kept = files_.KeepDirectory(path, mode, step->now, &step->batch);
    if (!kept.ok()) seams_.log->warn("users cannot submit jobs: {}", kept.message());
  }
}

Control::~Control() { *self_ = nullptr; }

Status Control::Load() {
  started_ = Awake();
  LookAtRoom();
  MILLRACE_ASSIGN(cluster_, ReadClusterId(seams_.store));
  MILLRACE_TRY(lineage_.Load(seams_.store));
  MILLRACE_TRY(doubt_.Load(seams_.store));
  MILLRACE_TRY(files_.Load(seams_.store));
  MILLRACE_TRY(nodes_.Load(seams_.store));
  for (const auto& [number, node] : nodes_.all()) files_.blocks().NodeExists(number);
  MILLRACE_TRY(jobs_.Load(nodes_));
  time_ = SchedulerTime(jobs_.last_time(), ShownByClocks());
  Step step = Begin();
  lineage_.Begin(std::max<std::uint64_t>(1, seams_.random.Next()), &step.batch);
  if (const auto cause = doubt_.announced()) {
    BeginDoubt(*cause, &step);
  } else if (doubt_.there_is()) {
    files_.SetDoubt(true);
  }
  jobs_.NoteRestart(&step);
  MILLRACE_TRY(UseFirstScheduler(&step));
  KeepDirectories(&step);
  if (!Held()) {
    scheduler_file_.Keep(&step.batch);
    access_file_.Keep(&step.batch);
  }
  if (Held()) {
    commits_.CommitUnnumbered(std::move(step.batch));  // reads are answered all the same
  } else {
    commits_.CommitLazily(std::move(step.batch));
  }
  workers_.Start();
  for (const dfs::FileId file : files_.names().OpenFiles()) {
    leases_.Await(file, std::max(config_.startup_grace, config_.lease_grace));
  }
  tasks_.add(Clockwork());
  if (seams_.look_at_room != nullptr) tasks_.add(WatchRoom());
  return Status::Ok();
}

SchedulerTime::Clocks Control::ShownByClocks() const {
  return {seams_.clock.Now(), (seams_.timer.now() - kj::origin<kj::TimePoint>()) / kj::MICROSECONDS};
}

Micros Control::Awake() const { return ShownByClocks().monotonic - asleep_; }

// ---- steps ----

Step Control::Begin() { return Step(time_.Step(ShownByClocks())); }

void Control::Send(Step& step) {
  if (!Held()) jobs_.Decide(&step);
  dispatcher_.Send(step);
  for (const JobId job : step.changed) {
    if (step.ended.contains(job)) {
      watchers_.Ending(job);
    } else {
      watchers_.Changed(job);
    }
  }
  ArmWake();
}

kj::Promise<void> Control::Finish(Step step) {
  Send(step);
  if (step.batch.empty()) return Kept();
  advances_ = true;
  auto committed = commits_.Commit(std::move(step.batch)).fork();
  if (!step.ended.empty()) TellEnded(committed.addBranch(), std::move(step.ended));
  return committed.addBranch();
}

void Control::FinishLazily(Step step) {
  Send(step);
  advances_ = advances_ || !step.batch.empty();
  if (!step.ended.empty()) {
    TellEnded(commits_.Commit(std::move(step.batch)), std::move(step.ended));
  } else if (!step.batch.empty()) {
    commits_.CommitLazily(std::move(step.batch));
  }
}

// A worker that was told of a moment knows that what was stored before it was there.
void Control::AdvanceMoment() {
  if (!std::exchange(advances_, false)) return;
  WriteBatch batch;
  lineage_.Advance(&batch);
  tasks_.add(commits_.Commit(std::move(batch)).then([this, moment = lineage_.now()]() { kept_ = moment; }));
}

void Control::BeginDoubt(DoubtCause cause, Step* step) {
  const bool new_doubt = !doubt_.there_is();
  doubt_.Begin(cause, step->now, config_.doubt, &step->batch);
  files_.SetDoubt(true);
  if (new_doubt) seams_.log->error("{}", doubt_.Line(step->now));
}

void Control::EndDoubt() {
  if (!doubt_.there_is()) return;
  Step step = Begin();
  if (!doubt_.EndIfOver(step.now, &step.batch)) return;
  files_.SetDoubt(false);
  seams_.log->info("the database is no longer held to be older than what clients were told (master.doubt)");
  FinishLazily(std::move(step));
}

kj::Promise<void> Control::FinishReserved(Step step) {
  const std::uint64_t ids = files_.names().reserved_ids();
  if (ids <= ids_on_disk_) {
    FinishLazily(std::move(step));
    return kj::READY_NOW;
  }
  return Finish(std::move(step)).then([this, ids]() { ids_on_disk_ = std::max(ids_on_disk_, ids); });
}

kj::Promise<void> Control::KeepNumber() {
  Step step = Begin();
  const std::uint64_t numbers = jobs_.ReserveNumbers(&step);
  FinishLazily(std::move(step));
  return Kept().then([this, numbers]() { numbers_on_disk_ = std::max(numbers_on_disk_, numbers); });
}

void Control::TellEnded(kj::Promise<void> committed, std::set<JobId> ended) {
  ending_.insert(ended.begin(), ended.end());
  tasks_.add(committed.then([this, jobs = std::move(ended)]() {
    for (const JobId job : jobs) {
      ending_.erase(job);
      if (const JobRecord* record = jobs_.FindRecord(job)) seams_.log->info("{}", EndLine(*record));
      watchers_.Ended(job);
    }
  }));
}

kj::Promise<void> Control::EndKept(JobId job) {
  if (!ending_.contains(job)) return kj::READY_NOW;
  return Kept();
}

kj::Promise<void> Control::Shown(std::uint64_t step) {
  if (commits_.HoldsBack(step)) return rpc::ToException(Busy(room_.Line()));
  return commits_.Kept(step);
}

// A policy may wait, for locality or for a window. It is then asked again at that time even if nothing has happened.
void Control::ArmWake() {
  const std::optional<Micros> next = jobs_.NextWake();
  if (Held() || !next || (wake_ && *wake_ <= *next)) return;
  wake_ = next;
  const Micros delay = std::max<Micros>(0, *next - Now());
  tasks_.add(seams_.timer.afterDelay(delay * kj::MICROSECONDS).then([this, at = *next]() {
    if (wake_ != at) return;
    wake_.reset();
    FinishLazily(Begin());
  }));
}

kj::Promise<BackupFacts> Control::BackUp(const std::string& directory) {
  if (seams_.back_up == nullptr) return rpc::ToException(Invalid("this master has no database that can be backed up"));
  seams_.log->info("the database is backed up to {}", directory);
  return seams_.back_up(directory);
}

// ---- open files ----

Status Control::RenewLease(dfs::FileId file, std::uint64_t token) {
  if (!files_.names().FindOpen(file)) {
    return NotFound("file " + std::to_string(file) +
                    " is not being written any more; it was completed, or given up since its writer was silent for " +
                    FormatDuration(config_.lease_limit) + " (dfs.lease_limit)");
  }
  leases_.Renew(file, token);
  return Status::Ok();
}

void Control::DropLease(dfs::FileId file, std::uint64_t token) {
  if (files_.names().FindOpen(file)) {
    leases_.Drop(file, token);
  } else {
    leases_.Forget(file);
  }
}

Status Control::CheckNotHandedOver(dfs::FileId file) const {
  if (leases_.Has(file)) return Status::Ok();
  return Invalid("file " + std::to_string(file) +
                 " was handed over to the attempt that wrote it; whether it is kept is decided with the attempt");
}

Status Control::GiveUp(dfs::FileId file, std::string_view why) {
  const std::optional<dfs::OpenFile> open = files_.names().FindOpen(file);
  const dfs::Principal writer = PrincipalOf(open ? open->options.owner : std::string());
  Step step = Begin();
  MILLRACE_ASSIGN(const dfs::Namespace::Abandoned given_up, files_.Abandon(file, step.now, &step.batch, writer));
  FinishLazily(std::move(step));
  if (given_up.kept) seams_.log->info("{} ends with what was synced of it: {}", Quote(given_up.path), why);
  if (!given_up.not_kept.empty()) {
    seams_.log->warn("what was synced of {} is removed, since {}: {}", Quote(given_up.path), why, given_up.not_kept);
  }
  return Status::Ok();
}

// ---- the clock ----

kj::Promise<void> Control::Clockwork() {
  return seams_.timer.afterDelay(TickPeriod() * kj::MICROSECONDS).then([this, due = Awake() + TickPeriod()]() {
    Guarded([&] { Tick(Awake() - due); });
    return Clockwork();
  });
}

// A master that stood still (stopped, migrated or swapped out) has heard nobody, and must not take that for silence.
// What was sent meanwhile is read before the next tick.
void Control::Tick(Micros late) {
  if (late > config_.heartbeat) {
    seams_.log->warn("the master stood still for {} ms: all deadlines move out by that", late / kMillisecond);
    asleep_ += late;
    return;
  }
  access_file_.Poll(seams_.clock.Now());
  LogCertificates();
  workers_.LoseSilent();
  ScheduleBlockWork();
  if (Held()) return;
  AdvanceMoment();
  EndDoubt();
  ExpireLeases();
  workers_.watch().Judge();
  workers_.GiveUpLate();
  workers_.MoveOutputs();
  workers_.ForgetOld();
  NoteMovedReplicas();
  FollowSchedulerFile();
  KeepCopies();
  SweepExecutables();
}

void Control::SweepExecutables() {
  constexpr Micros kSweepEvery = 60 * kSecond;
  constexpr std::size_t kMostLookedAt = 10'000;
  if (config_.executable_retention == 0 || CheckChange().code() != StatusCode::kOk || Awake() - swept_ < kSweepEvery)
    return;
  swept_ = Awake();
  const Result<std::vector<dfs::FileStatus>> there = files_.names().List(dfs::kExecutablesDirectory, {}, kMostLookedAt);
  if (!there.ok()) return;  // no job was submitted yet
  std::vector<std::string> paths;
  for (const dfs::FileStatus& file : *there) {
    if (!file.directory) paths.push_back(file.path);
  }
  Step step = Begin();
  for (const std::string& path :
       unused_executables_.Due(paths, jobs_.NeededExecutables(), Awake(), config_.executable_retention)) {
    const Status removed = files_.Remove(path, false, &step.batch);
    if (removed.ok()) seams_.log->info("executable {} is removed: no job has needed it for a while", path);
  }
  if (!step.batch.empty()) FinishLazily(std::move(step));
}

// After a start the blocks of a worker seem to be nowhere until it has reported.
void Control::NoteMovedReplicas() {
  if (workers_.InStartupGrace()) return;
  Step step = Begin();
  jobs_.NoteMovedReplicas(&step);
  if (!step.batch.empty()) FinishLazily(std::move(step));
}

void Control::ExpireLeases() {
  for (const Leases::Lapsed& lease : leases_.Expire(Awake())) {
    const char* const why = lease.silent ? "its writer was silent for dfs.lease_limit" : "its writer went away";
    if (GiveUp(lease.file, why).ok()) seams_.log->info("open file {} is given up: {}", lease.file, why);
  }
}

void Control::ScheduleBlockWork() {
  dfs::BlockWork work;
  if (!workers_.InStartupGrace()) {
    work = files_.blocks().NextWork(Awake(), static_cast<std::uint32_t>(config_.copies_per_node), config_.copy_timeout);
  }
  NoticeBalanceEnd();
  dispatcher_.Send(dfs::BlockWork{std::exchange(work.replicate, {}), {}, {}});
  std::vector<dfs::DeleteWork> leftovers = files_.TakeLeftovers();
  if (work.remove.empty() && work.aside.empty() && leftovers.empty()) return;
  // Until the removal of a file is on disk, a restart would bring the file back. Its blocks stay until then. Reports
  // may have begun meanwhile; none names leftovers.
  tasks_.add(Kept().then([this, work = std::move(work), leftovers = std::move(leftovers)]() mutable {
    const auto is_old = [this](const dfs::DeleteWork& order) {
      return order.report != files_.blocks().ReportsBegun(order.node);
    };
    std::erase_if(work.remove, is_old);
    std::erase_if(work.aside, is_old);
    work.remove.insert(work.remove.end(), leftovers.begin(), leftovers.end());
    dispatcher_.Send(work);
  }));
}

// ---- balancing ----

void Control::StartBalance(double threshold) {
  files_.blocks().StartBalance(threshold);
  balancing_ = true;
  seams_.log->info("balancing: replicas move until all workers are within {:g}% of the mean", 100 * threshold);
}

void Control::StopBalance() {
  files_.blocks().StopBalance();
  NoticeBalanceEnd();
}

kj::Promise<void> Control::BalanceEnd() {
  if (!balancing_) return kj::READY_NOW;
  auto paf = kj::newPromiseAndFulfiller<void>();
  balance_waiters_.push_back(std::move(paf.fulfiller));
  return kj::mv(paf.promise);
}

void Control::NoticeBalanceEnd() {
  if (!balancing_) return;
  const dfs::BalanceView view = files_.blocks().Balance();
  if (view.state == dfs::BalanceState::kMoving) {
    std::erase_if(balance_waiters_, [](auto& waiter) { return !waiter->isWaiting(); });
    return;
  }
  balancing_ = false;
  seams_.log->info("balancing has ended: {}; {} blocks of {} bytes were moved, the shares are {:.1f}% to {:.1f}%",
                   view.state == dfs::BalanceState::kBalanced ? "all workers are within the threshold"
                   : view.state == dfs::BalanceState::kStuck  ? "nothing else can be moved"
                                                              : "it was stopped",
                   view.moved_blocks, view.moved_bytes, 100 * view.smallest, 100 * view.largest);
  for (auto& waiter : std::exchange(balance_waiters_, {})) waiter->fulfill();
}

// ---- a full disk ----

Status Control::CheckChange() const { return room_.writing() == Writing::kAll ? Status::Ok() : NoSpace(room_.Line()); }

Status Control::CheckMakesRoom(std::uint64_t bytes) const {
  if (room_.writing() == Writing::kAll) return Status::Ok();
  if (Held() ? commits_.CanSpend(bytes) : bytes <= room_.left()) return Status::Ok();
  return NoSpace(room_.Line() + "; this takes about " + FormatBytes(bytes) + " there, and no more than " +
                 FormatBytes(Held() ? commits_.spendable() : room_.left()) + " are left for what makes room");
}

Status Control::CheckGoingOn() const { return Held() ? Busy(room_.Line()) : Status::Ok(); }

kj::Promise<void> Control::WatchRoom() {
  constexpr kj::Duration kLookEvery = 500 * kj::MILLISECONDS;
  return seams_.timer.afterDelay(kLookEvery).then([this]() {
    Guarded([&] { LookAtRoom(); });
    return WatchRoom();
  });
}

void Control::LookAtRoom() {
  if (seams_.look_at_room == nullptr) return;
  const Result<Room> room = seams_.look_at_room();
  if (!room.ok()) return seams_.log->warn("the room of the master's disk is not known: {}", room.status().message());
  const Writing before = room_.writing();
  const Writing now = room_.Look(*room);
  if (now == before) return;
  if (now == Writing::kNothing) HoldCommits();
  if (now == Writing::kAll) {
    seams_.log->info("the master's disk has room again: changes are taken");
  } else {
    seams_.log->warn("{}; {}", room_.Line(), now == Writing::kNothing ? "jobs wait" : "what runs goes on");
  }
  if (before == Writing::kNothing) GoOn();
}

// The spare log continues what the database has.
void Control::HoldCommits() {
  tasks_.add(commits_.Hold().then([this, time = ++times_held_] {
    if (!Held() || time != times_held_ || seams_.spare == nullptr) return;
    seams_.spare->UseSpare(true);
    commits_.Spend(seams_.spare->spare_left());
  }));
}

// Workers that registered while the disk was full register again, and this time their attempts are settled.
void Control::GoOn() {
  if (seams_.spare != nullptr) seams_.spare->UseSpare(false);
  commits_.Release();
  workers_.SettleAgain();
  FinishLazily(Begin());
}

// ---- the scheduler: as configured, as set by a user, as in the scheduler file ----

Status Control::SetScheduler(const std::string& name, Step* step) {
  MILLRACE_TRY(UseScheduler(name, scheduler_file_.settings(), step));
  Encoder out;
  out.Text(scheduler_);
  out.Text(config_.scheduler);
  step->batch.Put(std::string(kSchedulerKey), out.Take());
  return Status::Ok();
}

// A scheduler that a user has set takes precedence over master.scheduler.
Status Control::UseFirstScheduler(Step* step) {
  MILLRACE_ASSIGN(const std::optional<std::string> record, seams_.store.Get(kSchedulerKey));
  if (!record) return UseScheduler(config_.scheduler, scheduler_file_.settings(), step);
  Decoder in(*record);
  const std::string set(in.Text()), configured_then(in.Text());
  MILLRACE_TRY(in.Finish("the database's record of the scheduler"));
  const Status used = UseScheduler(set, scheduler_file_.settings(), step);
  if (!used.ok()) {
    seams_.log->warn("scheduler {}, which was set by `millrace scheduler set`, cannot be used: {}; it is {} now", set,
                     used.message(), config_.scheduler);
    return UseScheduler(config_.scheduler, scheduler_file_.settings(), step);
  }
  if (config_.scheduler != configured_then) {
    seams_.log->warn(
        "master.scheduler was changed from {} to {}, but {} was set by `millrace scheduler set` and takes "
        "precedence; run `millrace scheduler set {}` to use the new one",
        configured_then, config_.scheduler, set, config_.scheduler);
  } else if (set != config_.scheduler) {
    seams_.log->info(
        "scheduler {} was set by `millrace scheduler set` and takes precedence over {} of master.scheduler", set,
        config_.scheduler);
  }
  return Status::Ok();
}

Status Control::UseScheduler(const std::string& name, const sched::Settings& settings, Step* step) {
  sched::SchedulerSet scheduler{name, sched::FormatSettings(settings)};
  std::string why;
  const std::unique_ptr<sched::Policy> policy = sched::MakeScheduler(scheduler, false, &why);
  if (policy == nullptr) return Invalid(why);
  scheduler_ = scheduler.name = policy->name();
  jobs_.SetScheduler(scheduler, step);
  return Status::Ok();
}

void Control::FollowSchedulerFile() {
  scheduler_file_.Poll(seams_.clock.Now(), [this](const sched::Settings& settings) -> Status {
    Step step = Begin();
    MILLRACE_TRY(UseScheduler(scheduler_, settings, &step));
    FinishLazily(std::move(step));
    return Status::Ok();
  });
}

// What came into force is on disk soon after, for the next start.
void Control::KeepCopies() {
  if (!scheduler_file_.unkept() && !access_file_.unkept()) return;
  Step step = Begin();
  scheduler_file_.Keep(&step.batch);
  access_file_.Keep(&step.batch);
  FinishLazily(std::move(step));
}

// ---- certificates ----

std::vector<tls::CertificateEnd> Control::Certificates() const {
  if (!seams_.certificates) return {};
  const tls::CertificateEnds own = seams_.certificates();
  std::vector<tls::CertificateEnd> all{{"the master's", own.own}, {"the authority's", own.authority}};
  for (const auto& [number, node] : nodes_.all()) {
    if (!node.alive || node.certificate_until == 0) continue;
    all.push_back({"that of " + NameOf(node), node.certificate_until});
  }
  return all;
}

void Control::LogCertificates() {
  constexpr Micros kLookEvery = 10 * kSecond;
  if (!seams_.certificates || (looked_at_certificates_ && Awake() - *looked_at_certificates_ < kLookEvery)) return;
  looked_at_certificates_ = Awake();
  for (const Notice& notice : expiry_log_.Due(Certificates(), seams_.clock.Now())) seams_.log->warn("{}", notice.line);
}

void Control::taskFailed(kj::Exception&& exception) {
  seams_.log->error("control: {}", rpc::FromException(exception).message());
}

}  // namespace millrace::master
