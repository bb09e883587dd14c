// Control: the master's one control strand. It owns the file system, the nodes and the jobs, commits the changes of
// calls, sends orders to workers, and runs the work that time drives (liveness, leases, re-replication, policy waits).
// It is the only place where wall time becomes scheduler time.
//
// Rule of durability: a call changes memory and the journal in one Step; Finish commits the step. Orders go out to
// workers at once. An answer to a client waits until every step that it may depend on is on disk: the call's own step,
// and the steps of others that it has seen (Shown; master/service/after_commits.h sees to that for every call). Thread
// rule: the control thread. Everything it needs is passed in, so that a whole cluster runs in one thread under driven
// time.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <algorithm>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/kv/rocks_store.h"
#include "base/log.h"
#include "base/random.h"
#include "base/release.h"
#include "base/rpc/commit_log.h"
#include "base/rpc/transport.h"
#include "base/tls/expiry.h"
#include "master/access/audit_log.h"
#include "master/access/caller.h"
#include "master/cluster/doubt.h"
#include "master/cluster/file_system.h"
#include "master/cluster/lineage.h"
#include "master/cluster/node_table.h"
#include "master/cluster/room_watch.h"
#include "master/control/access_file.h"
#include "master/control/commit_gate.h"
#include "master/control/dispatcher.h"
#include "master/control/leases.h"
#include "master/control/master_config.h"
#include "master/control/meters.h"
#include "master/control/scheduler_file.h"
#include "master/control/scheduler_time.h"
#include "master/control/watchers.h"
#include "master/control/workers.h"
#include "master/control/write_orders.h"
#include "master/jobs/job_tracker.h"
#include "master/jobs/unused_executables.h"

namespace millrace::master {

struct ControlDependencies {
  kj::Timer& timer;
  const Clock& clock;
  const KeyValueStore& store;
  rpc::CommitLog& commit_log;
  Random random;
  dfs::BlockNumbers block_numbers;
  Log log;
  std::unique_ptr<WatchedFile> scheduler_file = nullptr;  // none: the defaults
  // Backs up the store. Without it backups cannot be made.
  std::function<kj::Promise<BackupFacts>(const std::string& directory)> back_up = nullptr;
  // Looks at the disk of the database. Without it there is always room.
  std::function<Result<Room>()> look_at_room = nullptr;
  // Reaches the workers' ports. Without it workers are taken at their word.
  rpc::Dialer* dialer = nullptr;
  Meters meters = {};
  Release release = ThisRelease();
  // The key by which workers check the tokens of readers. Without it, as without TLS, readers are given no tokens.
  std::optional<tls::TokenKey> token_key = {};
  std::unique_ptr<WatchedFile> access_file = nullptr;  // none: the rules of an empty one
  // The key by which workers check the tokens of writers, with and without TLS. Without it everybody may write.
  std::optional<tls::TokenKey> write_key = {};
  // The store's spare log, which takes changes that make room while the disk has none. Without it they are refused.
  SpareRoom* spare = nullptr;
  // Whether to check, with `dialer`, that a worker that registers is the process that answers at its address. With TLS
  // its certificate is enough.
  bool asks_workers = false;
  // Returns why the second copy of the database is not kept; "" if it is. Without this function there is no second
  // copy.
  std::function<std::string()> copy_problem = nullptr;
  // Returns when the master's own certificates end. Without this function there is no TLS.
  std::function<tls::CertificateEnds()> certificates = nullptr;
};

class Control final : private kj::TaskSet::ErrorHandler {
 public:
  // Makes a Control and loads its state from the store. kInvalid for a scheduler that does not exist, and for an access
  // file as AccessFile::Load says; kCorrupt for a database that cannot be decoded; also the failures of opening the
  // audit log. An invalid scheduler file does not keep it from starting, nor does an invalid access file that was valid
  // before. Requires: the store holds a cluster id (cluster_record.h).
  static Result<std::unique_ptr<Control>> Make(const MasterConfig& config, ControlDependencies seams);
  ~Control();

  // Returns the pointer to this that the capabilities of peers hold. A call that waits for the disk keeps its
  // capability alive, perhaps longer than this. The pointer inside is null once this is gone.
  [[nodiscard]] std::shared_ptr<Control* const> self() const { return self_; }

  // Makes the caller of one connection; without an argument, a caller that may do everything, as without TLS. Requires:
  // the caller is dropped before this object.
  [[nodiscard]] std::shared_ptr<const Caller> MakeCaller(const rpc::Peer& peer = {}) {
    return std::make_shared<const Caller>(access_file_.rules(), audit_, peer);
  }
  [[nodiscard]] const AccessFile& access_file() const { return access_file_; }
  [[nodiscard]] const AuditLog& audit() const { return audit_; }
  // Returns the rights that a user has now, for work on the user's behalf that no connection of theirs asks for.
  [[nodiscard]] dfs::Principal PrincipalOf(const std::string& user) const;

  // Returns the grant by which `subject`, a user or a worker, may read blocks. The caller has checked that they are
  // open to it.
  [[nodiscard]] tls::Grant GrantTo(std::string subject) const;
  [[nodiscard]] const std::optional<tls::TokenKey>& token_key() const { return seams_.token_key; }
  [[nodiscard]] bool asks_workers() const { return seams_.asks_workers; }
  [[nodiscard]] const WriteOrders& write_orders() const { return write_orders_; }
  // Does what Dispatcher::AllowWrite does.
  [[nodiscard]] kj::Promise<void> AllowWrite(const std::vector<NodeId>& nodes, dfs::BlockId block,
                                             const std::string& token) {
    return dispatcher_.AllowWrite(nodes, block, token);
  }
  [[nodiscard]] FileSystem& files() { return files_; }
  [[nodiscard]] NodeTable& nodes() { return nodes_; }
  [[nodiscard]] JobTracker& jobs() { return jobs_; }
  [[nodiscard]] const JobTracker& jobs() const { return jobs_; }
  [[nodiscard]] Watchers& watchers() { return watchers_; }
  [[nodiscard]] const Meters& meters() const { return seams_.meters; }
  [[nodiscard]] const MasterConfig& config() const { return config_; }
  [[nodiscard]] const Log& log() const { return seams_.log; }
  [[nodiscard]] const std::string& cluster() const { return cluster_; }  // base/cluster_id.h
  [[nodiscard]] const Release& release() const { return seams_.release; }
  [[nodiscard]] Micros Up() const { return Awake() - started_; }  // the time since this was made
  [[nodiscard]] kj::Timer& timer() { return seams_.timer; }
  [[nodiscard]] const std::string& scheduler() const { return scheduler_; }  // "fair+delay+ccs"
  [[nodiscard]] const SchedulerFile& scheduler_file() const { return scheduler_file_; }
  // Returns when the certificates of the master and the live workers end; none without TLS.
  [[nodiscard]] std::vector<tls::CertificateEnd> Certificates() const;
  // Returns the time of the wall clock, since the epoch.
  [[nodiscard]] Micros WallTime() const { return seams_.clock.Now(); }
  // Changes the scheduler, also while jobs run: none of their tasks is touched. The choice holds until the next one,
  // across restarts and whatever master.scheduler says. kInvalid, with a list of the schedulers, for one that does not
  // exist. Requires: the caller finishes the step.
  Status SetScheduler(const std::string& name, Step* step);

  // ---- steps ----
  // Begins a step. No two steps have the same time, so the journal shows which events belong to one step, and a replay
  // decides at the points where this master decided.
  [[nodiscard]] Step Begin();
  [[nodiscard]] Micros Now() const { return time_.Now(ShownByClocks()); }  // scheduler time
  // Returns how long the master has been awake, since some moment. All deadlines are on this clock.
  [[nodiscard]] Micros Awake() const;
  // Lets the policy decide, sends the orders and commits the step. The promise resolves when the step, and all before
  // it, are on disk. That holds even for a step that has changed nothing, since the caller has seen the earlier ones.
  kj::Promise<void> Finish(Step step);
  // Does the same, but nobody waits for the disk.
  void FinishLazily(Step step);
  // Does what FinishLazily does, for a step that gave out an id. The promise resolves when the disk records the id as
  // taken, mostly at once, since ids are reserved in runs. Without that record a master that lost power would give the
  // id out again.
  kj::Promise<void> FinishReserved(Step step);
  // These serve the rule that the disk records a job's number as taken before the job is submitted. Workers learn of a
  // job at once. Without the rule, a master that lost power would give the number to another job, while workers have
  // attempts of the first one under it. NumberIsKept returns whether the next number is recorded. If it is not,
  // KeepNumber reserves numbers and resolves when they are on disk; other jobs may have taken them all by then.
  [[nodiscard]] bool NumberIsKept() const { return jobs_.next_number() < numbers_on_disk_; }
  [[nodiscard]] kj::Promise<void> KeepNumber();
  // Resolves when all steps finished so far are on disk; at once if they are.
  [[nodiscard]] kj::Promise<void> Kept() { return commits_.Kept(); }
  // Returns the number of the last step that has changed anything.
  [[nodiscard]] std::uint64_t last_step() const { return commits_.last(); }
  // Resolves when an answer that was made after step `step` may be sent: when that step, and all before it, are on
  // disk. Does not resolve if they never will be. Rejects with kBusy if they wait for room on the master's disk.
  [[nodiscard]] kj::Promise<void> Shown(std::uint64_t step);
  // Resolves when the job's end, if it has ended, is on disk.
  [[nodiscard]] kj::Promise<void> EndKept(JobId job);

  // ---- how old the database is (base/moment.h, doubt.h) ----
  // Returns the last moment that is on disk; none before there is one, and while nothing can be written.
  [[nodiscard]] Moment KeptMoment() const { return Held() ? Moment() : kept_; }
  [[nodiscard]] const Lineage& lineage() const { return lineage_; }
  // Notes that a worker was told of a moment that the database does not have.
  void DoubtDatabase(Step* step) { BeginDoubt(DoubtCause::kSetBack, step); }
  [[nodiscard]] const Doubt& doubt() const { return doubt_; }

  // ---- a full disk (room_watch.h) ----
  // Checks a change that a client asks for. kNoSpace, with RoomWatch::Line, while the master is read-only.
  [[nodiscard]] Status CheckChange() const;
  // Checks a change that makes room and takes at most this many bytes of the spare log, the only room that it needs.
  // kNoSpace with that line if the spare log is used up, too, or too small for it.
  [[nodiscard]] Status CheckMakesRoom(std::uint64_t bytes) const;
  // Checks work that is already under way (a file being written, a job's attempt). kBusy with that line while nothing
  // is written; the caller asks again.
  [[nodiscard]] Status CheckGoingOn() const;
  // Returns why the second copy of the database (master.journal_copy) is not kept; "" if it is, or is not asked for.
  [[nodiscard]] std::string CopyProblem() const { return seams_.copy_problem ? seams_.copy_problem() : std::string(); }
  [[nodiscard]] bool Held() const { return room_.writing() == Writing::kNothing; }
  // Notes the report of a failed attempt that is refused because nothing is written. When the failure is reported
  // again, TakeRefusedFailure says that the full disk may have caused it.
  void NoteRefusedFailure(const AttemptId& attempt) { refused_failures_.insert(attempt); }
  [[nodiscard]] bool TakeRefusedFailure(const AttemptId& attempt) { return refused_failures_.erase(attempt) > 0; }

  // ---- workers ----
  [[nodiscard]] Workers& workers() { return workers_; }
  // Asks the holder to read this replica; it reports what it finds before it answers. Never rejects: the state is
  // kUnreachable when there is no answer.
  [[nodiscard]] kj::Promise<dfs::wire::ReplicaState> CheckReplica(NodeId node, dfs::BlockId block) {
    return dispatcher_.Verify(node, block);
  }
  // Does the same, but nobody waits for the answer.
  void CheckReplicaLater(NodeId node, dfs::BlockId block) {
    tasks_.add(dispatcher_.Verify(node, block).ignoreResult());
  }
  [[nodiscard]] kj::Maybe<worker::wire::WorkerControl::Client> FindWorker(NodeId node) {
    return dispatcher_.Find(node);
  }

  // Backs up the database while it is in use.
  [[nodiscard]] kj::Promise<BackupFacts> BackUp(const std::string& directory);

  // ---- balancing ----
  // These do what the calls of dfs::BlockManager do. Whether balancing is under way is not stored: a master that starts
  // anew does not balance.
  void StartBalance(double threshold);
  void StopBalance();
  // Resolves when balancing ends; at once if it is not under way.
  [[nodiscard]] kj::Promise<void> BalanceEnd();

  // ---- open files ----
  // Takes the right to write `file`; the token tells this holder from earlier ones.
  [[nodiscard]] std::uint64_t TakeLease(dfs::FileId file) { return leases_.Take(file); }
  // Notes that the lease's holder was heard; kNotFound when the file is no longer open.
  Status RenewLease(dfs::FileId file, std::uint64_t token);
  void DropLease(dfs::FileId file, std::uint64_t token);
  // Ends the writing of the file, which is removed, or stays with its synced data. kNotFound when it is not open.
  Status GiveUp(dfs::FileId file, std::string_view why);
  // Makes the file an attempt's output: from now on it ends with its attempt, and no lease of it lapses.
  void LeaseToJob(dfs::FileId file) { leases_.Forget(file); }
  // kInvalid for a file that was handed over to an attempt, which alone decides whether anything of it is kept.
  [[nodiscard]] Status CheckNotHandedOver(dfs::FileId file) const;

 private:
  Control(const MasterConfig& config, ControlDependencies seams, SchedulerFile scheduler_file, AccessFile access_file);
  [[nodiscard]] Status Load();
  [[nodiscard]] Micros TickPeriod() const { return std::max<Micros>(config_.heartbeat / 2, 10 * kMillisecond); }
  void Send(Step& step);
  void TellEnded(kj::Promise<void> committed, std::set<JobId> ended);
  kj::Promise<void> Clockwork();
  void Tick(Micros late);
  // Runs one piece of the work that time drives. An exception is logged and the clock goes on: a master that no longer
  // finds lost workers is worse than one that left something undone.
  template <class Work>
  void Guarded(Work&& work) {
    KJ_IF_MAYBE (thrown, kj::runCatchingExceptions(work)) taskFailed(kj::mv(*thrown));
  }
  void ExpireLeases();
  void NoteMovedReplicas();
  void FollowSchedulerFile();
  void KeepCopies();
  void LogCertificates();
  void SweepExecutables();
  void KeepDirectories(Step* step);
  void BeginDoubt(DoubtCause cause, Step* step);
  void EndDoubt();
  void AdvanceMoment();
  kj::Promise<void> WatchRoom();
  void LookAtRoom();
  void HoldCommits();
  void GoOn();
  [[nodiscard]] Status UseFirstScheduler(Step* step);
  [[nodiscard]] Status UseScheduler(const std::string& name, const sched::Settings& settings, Step* step);
  void ScheduleBlockWork();
  void NoticeBalanceEnd();
  void ArmWake();
  [[nodiscard]] SchedulerTime::Clocks ShownByClocks() const;
  void taskFailed(kj::Exception&& exception) override;

  std::shared_ptr<Control*> self_ = std::make_shared<Control*>(this);
  MasterConfig config_;
  ControlDependencies seams_;
  CommitGate commits_;
  RoomWatch room_;
  SchedulerFile scheduler_file_;
  AccessFile access_file_;
  AuditLog audit_;
  std::string scheduler_;
  std::string cluster_;
  FileSystem files_;
  NodeTable nodes_;
  JobTracker jobs_;
  Watchers watchers_;
  WriteOrders write_orders_;
  Dispatcher dispatcher_;
  Workers workers_;
  Micros started_ = 0;                 // on the clock of Awake
  Micros asleep_ = 0;                  // how far the monotonic clock went while this process stood still
  std::uint64_t ids_on_disk_ = 0;      // the disk records all ids below as taken
  std::uint64_t numbers_on_disk_ = 0;  // the same of job numbers
  std::set<JobId> ending_;             // they ended, but their end is not on disk yet
  Lineage lineage_;
  Moment kept_;           // on disk
  bool advances_ = true;  // something was stored since the last moment began
  Doubt doubt_;
  SchedulerTime time_{0, {}};
  std::set<AttemptId> refused_failures_;
  Leases leases_;
  UnusedExecutables unused_executables_;
  Micros swept_ = 0;  // when executables were last looked at, on the clock of Awake
  tls::ExpiryLog expiry_log_;
  std::optional<Micros> looked_at_certificates_;  // on the clock of Awake
  bool balancing_ = false;
  std::list<kj::Own<kj::PromiseFulfiller<void>>> balance_waiters_;
  std::optional<Micros> wake_;  // scheduler time for which a wake is armed
  std::uint64_t times_held_ = 0;
  kj::TaskSet tasks_;
};

}  // namespace millrace::master
