// Control: the master's one control strand. It owns the file system, the nodes and the jobs, commits what calls
// changed, sends what workers must be told, and runs the clockwork (liveness, leases, re-replication, policy waits).
// The only place where wall time becomes scheduler time.
//
// Rule of durability: a call changes memory and journals in one Step; Finish commits the step. Work goes out to workers
// at once; what a client is told (a reply, the end of a job) waits until the step is on disk. Thread rule: the control
// thread. Everything it needs is passed in, so that a whole cluster runs in one thread under driven time.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <algorithm>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/kv/rocks_store.h"
#include "base/log.h"
#include "base/random.h"
#include "base/rpc/commit_log.h"
#include "base/rpc/transport.h"
#include "master/commit_gate.h"
#include "master/dispatcher.h"
#include "master/file_system.h"
#include "master/job_tracker.h"
#include "master/leases.h"
#include "master/master_config.h"
#include "master/node_table.h"
#include "master/room_watch.h"
#include "master/scheduler_file.h"
#include "master/scheduler_time.h"
#include "master/watchers.h"

namespace millrace::master {

struct Seams {
  kj::Timer& timer;
  const Clock& clock;
  const KeyValueStore& store;
  rpc::CommitLog& commit_log;
  Random random;
  dfs::BlockNumbers block_numbers;
  Log log;
  std::unique_ptr<WatchedFile> scheduler_file = nullptr;  // none: the defaults
  // Backs up what is in the store; none: it cannot be.
  std::function<kj::Promise<BackupFacts>(const std::string& directory)> back_up = nullptr;
  // Looks at the disk of the database; none: there is always room.
  std::function<Result<Room>()> look_at_room = nullptr;
  // Reaches the workers' ports; none: they are taken at their word.
  rpc::Dialer* dialer = nullptr;
};

class Control final : private kj::TaskSet::ErrorHandler {
 public:
  // Reads everything back. Requires: the store holds a cluster id (cluster_record.h). kInvalid for a scheduler that
  // does not exist or a wrong scheduler file, kCorrupt for a database that is not understood.
  static Result<std::unique_ptr<Control>> Make(const MasterConfig& config, Seams seams);
  ~Control();

  // For the capabilities that peers hold: a call that waits for the disk keeps its capability alive, and that may be
  // longer than this lives. Null inside once this is gone.
  [[nodiscard]] std::shared_ptr<Control* const> self() const { return self_; }

  [[nodiscard]] FileSystem& files() { return files_; }
  [[nodiscard]] NodeTable& nodes() { return nodes_; }
  [[nodiscard]] JobTracker& jobs() { return jobs_; }
  [[nodiscard]] const JobTracker& jobs() const { return jobs_; }
  [[nodiscard]] Watchers& watchers() { return watchers_; }
  [[nodiscard]] const MasterConfig& config() const { return config_; }
  [[nodiscard]] const Log& log() const { return seams_.log; }
  [[nodiscard]] const std::string& cluster() const { return cluster_; }  // base/cluster_id.h
  [[nodiscard]] kj::Timer& timer() { return seams_.timer; }
  [[nodiscard]] const std::string& scheduler() const { return scheduler_; }  // "fair+delay+ccs"
  [[nodiscard]] const SchedulerFile& scheduler_file() const { return scheduler_file_; }
  // While jobs run: none of their tasks is touched. Holds until it is set again, over restarts and whatever
  // master.scheduler says. kInvalid, and what there is, for one that does not exist. To be finished by the caller.
  Status SetScheduler(const std::string& name, Step* step);

  // ---- steps ----
  // No two steps have the same time, so that the journal tells which events were one step, and a replay decides where
  // we did.
  [[nodiscard]] Step Begin();
  [[nodiscard]] Micros Now() const { return time_.Now(ShownByClocks()); }  // scheduler time
  // Decides, sends, commits; resolves when the step is on disk.
  kj::Promise<void> Finish(Step step);
  // The same, but nobody waits for the disk.
  void FinishLazily(Step step);
  // FinishLazily for a step that gave out an id: resolves when the disk knows that it is taken, which is at once for
  // most, since ids are reserved in runs. Otherwise a master that lost power would give it out again.
  kj::Promise<void> FinishReserved(Step step);
  // Workers are told of a job at once, so its number must be taken on disk before: otherwise a master that lost power
  // would give it to another job, of which they have attempts already. While it is not, KeepNumber resolves when it is,
  // unless others have taken those that it reserved.
  [[nodiscard]] bool NumberIsKept() const { return jobs_.next_number() < numbers_on_disk_; }
  [[nodiscard]] kj::Promise<void> KeepNumber();
  // Resolves when all that was finished before is on disk.
  [[nodiscard]] kj::Promise<void> Kept() { return commits_.Commit({}); }
  // Whoever is told how the job stands is told after this: a job that has ended may be running after a restart, as long
  // as the disk does not know.
  [[nodiscard]] kj::Promise<void> EndKept(JobId job);

  // ---- a full disk (room_watch.h) ----
  // For a change that somebody asks for: kNoSpace, and a line that says all, while the master is read-only.
  [[nodiscard]] Status CheckChange() const;
  // For what had begun before (a file being written, a job's attempt), and for the end of a job, which gives room:
  // kBusy with that line while nothing is written. Who is told that asks again.
  [[nodiscard]] Status CheckGoingOn() const;
  [[nodiscard]] bool Held() const { return room_.writing() == Writing::kNothing; }
  // While nothing is written a failure is not taken in; that it may have come of this is known when it is told again.
  void NoteRefusedFailure(const AttemptId& attempt) { refused_failures_.insert(attempt); }
  [[nodiscard]] bool TakeRefusedFailure(const AttemptId& attempt) { return refused_failures_.erase(attempt) > 0; }

  // ---- workers ----
  struct Registration {
    NodeNumber node = 0;
    std::uint64_t epoch = 0;
    JobTracker::Reconciled reconciled;
    kj::Promise<void> committed = nullptr;  // the worker acts on the rest when this has resolved
  };
  // kInvalid, with both named, for a worker that belongs to another cluster than this one.
  [[nodiscard]] Status CheckCluster(const std::string& host, const std::string& cluster) const;
  // Rejects with kUnavailable, and what to set, unless the worker's port takes a connection.
  [[nodiscard]] kj::Promise<void> DialBack(const WorkerFacts& facts);
  // Who registers with a storage whose session stands is asked for patience while its holder is asked for a sign of
  // life: rejected as kBusy, naming the holder, if that answers. A holder whose connection broke is not waited for, and
  // one that does not answer for no more than a heartbeat (and two seconds).
  [[nodiscard]] kj::Promise<void> AwaitVacancy(const WorkerFacts& facts);
  // `epoch` tells this session from earlier ones of the same worker: what those still say is ignored. While nothing can
  // be written the worker is known for its blocks alone: nothing is settled, and when there is room its session ends,
  // so that it registers again.
  Result<Registration> Register(const WorkerFacts& facts, worker::wire::WorkerControl::Client control,
                                const Claims& claims);
  // False if the session is not the node's current one.
  bool Heard(NodeNumber node, std::uint64_t epoch);
  // Since it was last heard; of one that was lost before we started, since it was lost.
  [[nodiscard]] std::uint64_t MillisSilent(const NodeRecord& node) const;
  // It is given up once nobody listens at its port any more (its process is gone), or disconnect_grace is over.
  void SessionDropped(NodeNumber node, std::uint64_t epoch);
  // Lost workers leave the table for good, all or none; who comes back is a new node. kNotFound; kBusy for one that is
  // alive, or may still be on its way after a start of the master. Without `force` kInvalid for one that may be the way
  // back to blocks that are missing or have too few replicas.
  Status ForgetNodes(const std::set<NodeNumber>& nodes, bool force, Step* step);
  // The worker says that its storage is gone: it is lost now.
  void Leave(NodeNumber node, std::uint64_t epoch, const std::string& reason);

  // Asks the holder to read this replica; it reports what it finds before it answers. Never rejected: kUnreachable when
  // there is no answer.
  [[nodiscard]] kj::Promise<dfs::wire::ReplicaState> CheckReplica(NodeNumber node, dfs::BlockId block) {
    return dispatcher_.Verify(node, block);
  }
  // The same, of which nobody waits for the answer.
  void CheckReplicaLater(NodeNumber node, dfs::BlockId block) {
    tasks_.add(dispatcher_.Verify(node, block).ignoreResult());
  }
  [[nodiscard]] kj::Maybe<worker::wire::WorkerControl::Client> FindWorker(NodeNumber node) {
    return dispatcher_.Find(node);
  }

  // Of the database, while it is in use.
  [[nodiscard]] kj::Promise<BackupFacts> BackUp(const std::string& directory);

  // ---- waiting for workers after a start ----
  // True while a missing replica or missing room may only be a worker that has not come back, or not reported, yet:
  // within the grace after a start, as long as there is such a worker, or none at all.
  [[nodiscard]] bool AwaitingReports() const;
  // Who of all is awaited, for how long by now and at most, in a line; empty unless AwaitingReports.
  [[nodiscard]] std::string AwaitedLine() const;
  // The same of one node: it is not here and has not said that it leaves, or has not listed its blocks.
  [[nodiscard]] bool Awaits(const NodeRecord& node) const;
  // For a call that needs more reports and is tried again with each: resolves at the next report of a worker, at the
  // latest when the grace is over. Rejected as kBusy with AwaitedLine when the call, which came at `since`, has waited
  // for kReportPatience: far less than a client's patience for an answer, so that its user hears why.
  static constexpr kj::Duration kReportPatience = 2 * kj::SECONDS;
  [[nodiscard]] kj::Promise<void> NextReport(kj::TimePoint since);
  void Reported(NodeNumber node);
  // Says in the log if the list of blocks that the worker just gave names some that no file has.
  void TellUnknown(NodeNumber node);

  // ---- balancing ----
  // As dfs::BlockManager's. Whether it is under way is not stored: a master that starts anew does not balance.
  void StartBalance(double threshold);
  void StopBalance();
  // Resolves when balancing ends; at once if it is not under way.
  [[nodiscard]] kj::Promise<void> BalanceEnd();

  // ---- open files ----
  // The right to write `file` is held; the token tells it from earlier holders.
  [[nodiscard]] std::uint64_t TakeLease(dfs::FileId file) { return leases_.Take(file); }
  // Its holder was heard; kNotFound when the file is not open any more.
  Status RenewLease(dfs::FileId file, std::uint64_t token);
  void DropLease(dfs::FileId file, std::uint64_t token);
  // It is not written any more: it is removed, or stays with what was synced. kNotFound when it is not open.
  Status GiveUp(dfs::FileId file, std::string_view why);
  // The file is an attempt's output: it ends with its attempt from now on, and no lease of it lapses.
  void LeaseToJob(dfs::FileId file) { leases_.Forget(file); }
  // kInvalid for a file that was handed over: its attempt alone decides whether anything of it is kept.
  [[nodiscard]] Status CheckNotHandedOver(dfs::FileId file) const;

 private:
  Control(const MasterConfig& config, Seams seams, SchedulerFile scheduler_file);
  [[nodiscard]] Status Load();
  [[nodiscard]] Micros TickPeriod() const { return std::max<Micros>(config_.heartbeat / 2, 10 * kMillisecond); }
  // Time that the master was awake, since some moment: all deadlines are told in it.
  [[nodiscard]] Micros Awake() const;
  [[nodiscard]] bool InStartupGrace() const { return Awake() < started_ + config_.startup_grace; }
  void Send(Step& step);
  void TellEnded(kj::Promise<void> committed, std::set<JobId> ended);
  [[nodiscard]] kj::Promise<void> AskAfter(NodeNumber node, std::uint64_t epoch);
  void LoseNode(NodeNumber node);
  void LoseOthersAt(const WorkerFacts& facts);
  [[nodiscard]] Status CheckForget(NodeNumber node, bool force);
  void ForgetOldNodes();
  kj::Promise<void> Clockwork();
  void Tick(Micros late);
  void ExpireLeases();
  void FollowSchedulerFile();
  kj::Promise<void> WatchRoom();
  void LookAtRoom();
  void GoOn();
  [[nodiscard]] Status UseFirstScheduler(Step* step);
  [[nodiscard]] Status UseScheduler(const std::string& name, const sched::Settings& settings, Step* step);
  void CareForBlocks();
  void NoticeBalanceEnd();
  void ArmWake();
  [[nodiscard]] SchedulerTime::Clocks ShownByClocks() const;
  void taskFailed(kj::Exception&& exception) override;

  std::shared_ptr<Control*> self_ = std::make_shared<Control*>(this);
  MasterConfig config_;
  Seams seams_;
  CommitGate commits_;
  RoomWatch room_;
  SchedulerFile scheduler_file_;
  std::string scheduler_;
  std::string cluster_;
  FileSystem files_;
  NodeTable nodes_;
  JobTracker jobs_;
  Watchers watchers_;
  Dispatcher dispatcher_;
  Micros asleep_ = 0;                  // what the monotonic clock counted while we stood still
  Micros started_ = 0;                 // as Awake tells it
  std::uint64_t ids_on_disk_ = 0;      // those below are taken, and the disk knows
  std::uint64_t numbers_on_disk_ = 0;  // of jobs, the same
  std::set<JobId> ending_;             // ended, and the disk does not know yet
  SchedulerTime time_{0, {}};
  std::map<NodeNumber, Micros> deadlines_;  // a node not heard by then is lost
  std::map<NodeNumber, std::uint64_t> epochs_;
  std::set<NodeNumber> unreported_;                // registered, their list of blocks is still under way
  std::map<NodeNumber, std::uint64_t> unsettled_;  // registered while nothing could be written, by their epochs
  std::set<AttemptId> refused_failures_;
  std::set<NodeNumber> left_;     // they said so, and are not back
  std::set<NodeNumber> hung_up_;  // their connection ended, and they are not back
  std::uint64_t next_epoch_ = 1;
  Leases leases_;
  std::list<kj::Own<kj::PromiseFulfiller<void>>> report_waiters_;
  bool balancing_ = false;
  std::list<kj::Own<kj::PromiseFulfiller<void>>> balance_waiters_;
  std::optional<Micros> wake_;  // scheduler time for which a wake is armed
  kj::TaskSet tasks_;
};

}  // namespace millrace::master
