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
  // Reaches the workers' ports. Without it, workers are taken at their word.
  rpc::Dialer* dialer = nullptr;
  Meters meters = {};
  Release release = ThisRelease();
  // The key by which workers check the tokens of readers. Without this key (the case without TLS), readers are given no
  // tokens.
  std::optional<tls::TokenKey> token_key = {};
  std::unique_ptr<WatchedFile> access_file = nullptr;  // none: the rules of an empty one
  // The key by which workers check the tokens of writers, with and without TLS. Without this key everybody may write.
  std::optional<tls::TokenKey> write_key = {};
  // The store's spare log. While the disk has no room, the changes that make room go there. Without a spare log they
  // are refused.
  SpareRoom* spare = nullptr;
  // Whether to check, with `dialer`, that the process that registers as a worker is the one that answers at the
  // worker's address. With TLS the worker's certificate is enough.
  bool asks_workers = false;
  // Returns why the second copy of the database is not kept; "" if it is. Without this function there is no second
  // copy.
  std::function<std::string()> copy_problem = nullptr;
  // Returns the times at which the master's own certificates end. Without this function there is no TLS.
  std::function<tls::CertificateEnds()> certificates = nullptr;
};

class Control final : private kj::TaskSet::ErrorHandler {
 public:
  // Makes a Control and loads its state from the store. Returns kInvalid if the scheduler does not exist or
  // AccessFile::Load fails, kCorrupt if the database cannot be decoded, and the failure if the audit log cannot be
  // opened. The master starts in spite of an invalid scheduler file, or of an invalid access file that was valid
  // before. Requires: the store holds a cluster id (cluster_record.h).
  static Result<std::unique_ptr<Control>> Make(const MasterConfig& config, ControlDependencies seams);
  ~Control();

  // Returns the pointer to this that the capabilities of peers hold. A call that waits for the disk keeps its
  // capability alive, perhaps longer than this object exists. The pointer inside is null once this object is gone.
  [[nodiscard]] std::shared_ptr<Control* const> self() const { return self_; }

  // Makes the Caller of one connection. Without an argument the Caller may do everything, as without TLS. Requires: the
  // caller is dropped before this object.
  [[nodiscard]] std::shared_ptr<const Caller> MakeCaller(const rpc::Peer& peer = {}) {
    return std::make_shared<const Caller>(access_file_.rules(), audit_, peer);
  }
  [[nodiscard]] const AccessFile& access_file() const { return access_file_; }
  [[nodiscard]] const AuditLog& audit() const { return audit_; }
  // Returns the rights that a user has now, for work on the user's behalf that no connection of theirs asks for.
  [[nodiscard]] dfs::Principal PrincipalOf(const std::string& user) const;

  // Returns the grant by which `subject`, a user or a worker, may read blocks. Requires: `subject` has the right to
  // read them.
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
  // Returns the ends of the certificates of the master and the live workers; none without TLS.
  [[nodiscard]] std::vector<tls::CertificateEnd> Certificates() const;
  // Returns the time of the wall clock, since the epoch.
  [[nodiscard]] Micros WallTime() const { return seams_.clock.Now(); }
  // Changes the scheduler. Jobs that run keep all their tasks. The choice stays in force until the next one, across
  // restarts and whatever master.scheduler says. Returns kInvalid, with a list of the schedulers, if there is no such
  // scheduler. Requires: the caller finishes the step.
  Status SetScheduler(const std::string& name, Step* step);

  // ---- steps ----
  // Begins a step. No two steps have the same time, so the journal shows which events belong to one step, and a replay
  // decides at the points where this master decided.
  [[nodiscard]] Step Begin();
  [[nodiscard]] Micros Now() const { return time_.Now(ShownByClocks()); }  // scheduler time
  // Returns the time for which the master has been awake since some fixed moment. All deadlines are on this clock.
  [[nodiscard]] Micros Awake() const;
  // Lets the policy decide, sends the orders and commits the step. The promise resolves when the step, and all before
  // it, are on disk. It waits for the earlier steps even if this one has changed nothing, since the caller has seen
  // them.
  kj::Promise<void> Finish(Step step);
  // Does what Finish does, but nobody waits for the disk.
  void FinishLazily(Step step);
  // Does what FinishLazily does, for a step that assigned an id. The promise resolves when the disk records the id as
  // taken; mostly at once, since ids are reserved in runs. Without that record, a master that lost power would assign
  // the id again.
  kj::Promise<void> FinishReserved(Step step);
  // These two calls ensure that the disk records a job's number as taken before the job is submitted. Workers learn of
  // a job at once. Without the record, a master that lost power would give the number to another job, while workers
  // have attempts of the first job under that number. NumberIsKept returns whether the next number is recorded. If it
  // is not, KeepNumber reserves numbers and resolves when they are on disk; other jobs may have taken them all by then.
  [[nodiscard]] bool NumberIsKept() const { return jobs_.next_number() < numbers_on_disk_; }
  [[nodiscard]] kj::Promise<void> KeepNumber();
  // Resolves when all steps finished so far are on disk; at once if they are.
  [[nodiscard]] kj::Promise<void> Kept() { return commits_.Kept(); }
  // Returns the number of the last step that has changed anything.
  [[nodiscard]] std::uint64_t last_step() const { return commits_.last(); }
  // Resolves when an answer made after `step` may be sent, that is, when that step and all before it are on disk. Does
  // not resolve if they never will be. Rejects with kBusy if they wait for room on the master's disk.
  [[nodiscard]] kj::Promise<void> Shown(std::uint64_t step);
  // Resolves when the job's end, if it has ended, is on disk.
  [[nodiscard]] kj::Promise<void> EndKept(JobId job);

  // ---- how old the database is (base/moment.h, doubt.h) ----
  // Returns the last moment that is on disk; an empty one if there is none yet, and while nothing can be written.
  [[nodiscard]] Moment KeptMoment() const { return Held() ? Moment() : kept_; }
  [[nodiscard]] const Lineage& lineage() const { return lineage_; }
  // Notes that a worker knows a moment that the database does not contain.
  void DoubtDatabase(Step* step) { BeginDoubt(DoubtCause::kSetBack, step); }
  [[nodiscard]] const Doubt& doubt() const { return doubt_; }

  // ---- a full disk (room_watch.h) ----
  // Checks a change that a client asks for. Returns kNoSpace, with RoomWatch::Line, while the master is read-only.
  [[nodiscard]] Status CheckChange() const;
  // Checks a change that makes room and takes at most this many bytes of the spare log, the only room that it needs.
  // Returns kNoSpace, with RoomWatch::Line, if the spare log is used up too, or is too small for the change.
  [[nodiscard]] Status CheckMakesRoom(std::uint64_t bytes) const;
  // Checks work that is already under way (a file being written, a job's attempt). Returns kBusy, with RoomWatch::Line,
  // while nothing is written; the caller asks again.
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
  // Asks the holder to read this replica. The holder reports what it finds before it answers. Never rejects; the state
  // is kUnreachable if there is no answer.
  [[nodiscard]] kj::Promise<dfs::wire::ReplicaState> CheckReplica(NodeId node, dfs::BlockId block) {
    return dispatcher_.Verify(node, block);
  }
  // Does what CheckReplica does, but nobody waits for the answer.
  void CheckReplicaLater(NodeId node, dfs::BlockId block) {
    tasks_.add(dispatcher_.Verify(node, block).ignoreResult());
  }
  [[nodiscard]] kj::Maybe<worker::wire::WorkerControl::Client> FindWorker(NodeId node) {
    return dispatcher_.Find(node);
  }

  // Backs up the database while it is in use.
  [[nodiscard]] kj::Promise<BackupFacts> BackUp(const std::string& directory);

  // ---- balancing ----
  // These do what the calls of dfs::BlockManager do. Whether balancing is under way is not stored, so a master that has
  // restarted does not balance.
  void StartBalance(double threshold);
  void StopBalance();
  // Resolves when balancing ends; at once if it is not under way.
  [[nodiscard]] kj::Promise<void> BalanceEnd();

  // ---- open files ----
  // Takes the right to write `file`. The token distinguishes this holder from earlier ones.
  [[nodiscard]] std::uint64_t TakeLease(dfs::FileId file) { return leases_.Take(file); }
  // Notes that the lease's holder has sent a sign of life. Returns kNotFound if the file is no longer open.
  Status RenewLease(dfs::FileId file, std::uint64_t token);
  void DropLease(dfs::FileId file, std::uint64_t token);
  // Ends the writing of the file, which is removed or stays with its synced data. Returns kNotFound if it is not open.
  Status GiveUp(dfs::FileId file, std::string_view why);
  // Makes the file an attempt's output. From now on its writing ends with the attempt, and no lease of it lapses.
  void LeaseToJob(dfs::FileId file) { leases_.Forget(file); }
  // Returns kInvalid if the file was handed over to an attempt, since the attempt alone decides whether any of it is
  // kept.
  [[nodiscard]] Status CheckNotHandedOver(dfs::FileId file) const;

 private:
  Control(const MasterConfig& config, ControlDependencies seams, SchedulerFile scheduler_file, AccessFile access_file);
  [[nodiscard]] Status Load();
  [[nodiscard]] Micros TickPeriod() const { return std::max<Micros>(config_.heartbeat / 2, 10 * kMillisecond); }
  void Send(Step& step);
  void TellEnded(kj::Promise<void> committed, std::set<JobId> ended);
  kj::Promise<void> Clockwork();
  void Tick(Micros late);
  // Runs one piece of the work that time drives. An exception is logged and the other work continues: a master that no
  // longer finds lost workers is worse than one that left something undone.
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
  Micros asleep_ = 0;                  // how far the monotonic clock advanced while this process was stopped
  std::uint64_t ids_on_disk_ = 0;      // the disk records all ids below as taken
  std::uint64_t numbers_on_disk_ = 0;  // the disk records all job numbers below as taken
  std::set<JobId> ending_;             // ended jobs whose end is not on disk yet
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
