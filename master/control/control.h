// Control: the master's one control strand. It owns the file system, the nodes and the jobs, commits what calls
// changed, sends what workers must be told, and runs what time drives (liveness, leases, re-replication, policy waits).
// It is the only place where wall time becomes scheduler time.
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
#include "master/cluster/file_system.h"
#include "master/cluster/node_table.h"
#include "master/cluster/room_watch.h"
#include "master/control/commit_gate.h"
#include "master/control/dispatcher.h"
#include "master/control/leases.h"
#include "master/control/master_config.h"
#include "master/control/scheduler_file.h"
#include "master/control/scheduler_time.h"
#include "master/control/watchers.h"
#include "master/jobs/job_tracker.h"

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
  // Backs up what is in the store. Without it backups cannot be made.
  std::function<kj::Promise<BackupFacts>(const std::string& directory)> back_up = nullptr;
  // Looks at the disk of the database. Without it there is always room.
  std::function<Result<Room>()> look_at_room = nullptr;
  // Reaches the workers' ports. Without it workers are taken at their word.
  rpc::Dialer* dialer = nullptr;
};

class Control final : private kj::TaskSet::ErrorHandler {
 public:
  // Makes a Control that has read everything back. kInvalid for a scheduler that does not exist or a wrong scheduler
  // file, kCorrupt for a database that is not understood. Requires: the store holds a cluster id (cluster_record.h).
  static Result<std::unique_ptr<Control>> Make(const MasterConfig& config, ControlDependencies seams);
  ~Control();

  // Returns the pointer that the capabilities of peers hold: a call that waits for the disk keeps its capability alive,
  // which may be longer than this lives. The pointer inside is null once this is gone.
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
  // Changes the scheduler, also while jobs run: none of their tasks is touched. The choice holds until the next one,
  // over restarts and whatever master.scheduler says. kInvalid, with the schedulers that there are, for one that does
  // not exist. Requires: the caller finishes the step.
  Status SetScheduler(const std::string& name, Step* step);

  // ---- steps ----
  // Begins a step. No two steps have the same time: so the journal tells which events were one step, and a replay makes
  // its decisions where this master made them.
  [[nodiscard]] Step Begin();
  [[nodiscard]] Micros Now() const { return time_.Now(ShownByClocks()); }  // scheduler time
  // Lets the policy decide, sends the orders and commits the step. The promise resolves when the step is on disk.
  kj::Promise<void> Finish(Step step);
  // Does the same, but nobody waits for the disk.
  void FinishLazily(Step step);
  // Does what FinishLazily does, for a step that gave out an id. The promise resolves when it is on disk that the id is
  // taken, which is at once for most, since ids are reserved in runs. Without that a master that lost power would give
  // the id out again.
  kj::Promise<void> FinishReserved(Step step);
  // These serve the rule that a job's number is taken on disk before the job is submitted. Workers are told of a job at
  // once, and a master that lost power would otherwise give its number to another job, of which they have attempts
  // already. NumberIsKept returns whether that is so for the next number. If it is not, KeepNumber reserves numbers and
  // resolves when they are on disk; other jobs may have taken them all by then.
  [[nodiscard]] bool NumberIsKept() const { return jobs_.next_number() < numbers_on_disk_; }
  [[nodiscard]] kj::Promise<void> KeepNumber();
  // Resolves when everything that was finished before is on disk.
  [[nodiscard]] kj::Promise<void> Kept() { return commits_.Commit({}); }
  // Resolves when the job's end, if it has ended, is on disk: until then the job may be running again after a restart.
  // Requires: it is awaited before anybody is told how the job stands.
  [[nodiscard]] kj::Promise<void> EndKept(JobId job);

  // ---- a full disk (room_watch.h) ----
  // Checks a change that somebody asks for: kNoSpace, with a line that says all, while the master is read-only.
  [[nodiscard]] Status CheckChange() const;
  // Checks work that had begun before (a file being written, a job's attempt), or the end of a job, which makes room:
  // kBusy with that line while nothing is written. The caller that gets it asks again.
  [[nodiscard]] Status CheckGoingOn() const;
  [[nodiscard]] bool Held() const { return room_.writing() == Writing::kNothing; }
  // Notes a failure that is not taken in because nothing is written. When it is reported again it is known that the
  // full disk may have caused it.
  void NoteRefusedFailure(const AttemptId& attempt) { refused_failures_.insert(attempt); }
  [[nodiscard]] bool TakeRefusedFailure(const AttemptId& attempt) { return refused_failures_.erase(attempt) > 0; }

  // ---- workers ----
  struct Registration {
    NodeNumber node = 0;
    std::uint64_t epoch = 0;
    JobTracker::Reconciled reconciled;
    kj::Promise<void> committed = nullptr;  // the worker acts on the rest when this has resolved
  };
  // kInvalid, with both clusters named, for a worker that belongs to another cluster than this one.
  [[nodiscard]] Status CheckCluster(const std::string& host, const std::string& cluster) const;
  // Rejects with kUnavailable, and what to set, unless the worker's port takes a connection.
  [[nodiscard]] kj::Promise<void> DialBack(const WorkerFacts& facts);
  // Makes a worker wait that registers with a storage whose session stands, while that session's holder is asked for a
  // sign of life. Rejects with kBusy, naming the holder, if the holder answers. It does not wait for a holder whose
  // connection broke. If a holder does not answer, it waits for a heartbeat, two seconds at most.
  [[nodiscard]] kj::Promise<void> AwaitVacancy(const WorkerFacts& facts);
  // Registers the worker. `epoch` tells this session from earlier ones of the same worker: what those still say is
  // ignored. While nothing can be written the worker is known for its blocks alone: nothing is settled, and when there
  // is room its session ends, so that it registers again.
  Result<Registration> Register(const WorkerFacts& facts, worker::wire::WorkerControl::Client control,
                                const Claims& claims);
  // Notes that the node was heard. Returns false if the session is not the node's current one.
  bool Heard(NodeNumber node, std::uint64_t epoch);
  // Returns the time since the node was last heard; for one that was lost before this master started, since it was
  // lost.
  [[nodiscard]] std::uint64_t MillisSilent(const NodeRecord& node) const;
  // Notes that the session's connection is gone. The node is given up once nobody listens at its port any more (its
  // process is gone), or disconnect_grace is over.
  void SessionDropped(NodeNumber node, std::uint64_t epoch);
  // Removes lost workers from the table for good, all or none; one that comes back is a new node. kNotFound for an
  // unknown node; kBusy for one that is alive, or may still be on its way after a start of the master. Without `force`,
  // kInvalid for one that may be the way back to blocks that are missing or have too few replicas.
  Status ForgetNodes(const std::set<NodeNumber>& nodes, bool force, Step* step);
  // Notes that the worker says that its storage is gone: the worker is lost now.
  void Leave(NodeNumber node, std::uint64_t epoch, const std::string& reason);

  // Asks the holder to read this replica; it reports what it finds before it answers. Never rejects: the state is
  // kUnreachable when there is no answer.
  [[nodiscard]] kj::Promise<dfs::wire::ReplicaState> CheckReplica(NodeNumber node, dfs::BlockId block) {
    return dispatcher_.Verify(node, block);
  }
  // Does the same, but nobody waits for the answer.
  void CheckReplicaLater(NodeNumber node, dfs::BlockId block) {
    tasks_.add(dispatcher_.Verify(node, block).ignoreResult());
  }
  [[nodiscard]] kj::Maybe<worker::wire::WorkerControl::Client> FindWorker(NodeNumber node) {
    return dispatcher_.Find(node);
  }

  // Backs up the database while it is in use.
  [[nodiscard]] kj::Promise<BackupFacts> BackUp(const std::string& directory);

  // ---- waiting for workers after a start ----
  // Returns true while a missing replica or missing room may only be a worker that has not come back, or not reported,
  // yet: within the grace after a start, as long as there is such a worker, or none at all.
  [[nodiscard]] bool AwaitingReports() const;
  // Returns a line that says which workers are awaited, for how long by now and for how long at most; empty unless
  // AwaitingReports.
  [[nodiscard]] std::string AwaitedLine() const;
  // Returns true if this node is awaited: it is not here and has not said that it leaves, or has not listed its blocks.
  [[nodiscard]] bool Awaits(const NodeRecord& node) const;
  // Serves a call that needs more reports and is tried again with each: resolves at the next report of a worker, at the
  // latest when the grace is over. Rejects with kBusy and AwaitedLine when the call, which came at `since`, has waited
  // for kReportPatience: that is far less than a client's patience for an answer, so that its user hears why.
  static constexpr kj::Duration kReportPatience = 2 * kj::SECONDS;
  [[nodiscard]] kj::Promise<void> NextReport(kj::TimePoint since);
  void Reported(NodeNumber node);
  // Logs it if the list of blocks that the worker just gave names some that no file has.
  void TellUnknown(NodeNumber node);

  // ---- balancing ----
  // These do what dfs::BlockManager's do. Whether balancing is under way is not stored: a master that starts anew does
  // not balance.
  void StartBalance(double threshold);
  void StopBalance();
  // Resolves when balancing ends; at once if it is not under way.
  [[nodiscard]] kj::Promise<void> BalanceEnd();

  // ---- open files ----
  // Takes the right to write `file`; the token tells this holder from earlier ones.
  [[nodiscard]] std::uint64_t TakeLease(dfs::FileId file) { return leases_.Take(file); }
  // Notes that the lease's holder was heard; kNotFound when the file is not open any more.
  Status RenewLease(dfs::FileId file, std::uint64_t token);
  void DropLease(dfs::FileId file, std::uint64_t token);
  // Ends the writing of the file: it is removed, or stays with what was synced. kNotFound when it is not open.
  Status GiveUp(dfs::FileId file, std::string_view why);
  // Makes the file an attempt's output: from now on it ends with its attempt, and no lease of it lapses.
  void LeaseToJob(dfs::FileId file) { leases_.Forget(file); }
  // kInvalid for a file that was handed over to an attempt, which alone decides whether anything of it is kept.
  [[nodiscard]] Status CheckNotHandedOver(dfs::FileId file) const;

 private:
  Control(const MasterConfig& config, ControlDependencies seams, SchedulerFile scheduler_file);
  [[nodiscard]] Status Load();
  [[nodiscard]] Micros TickPeriod() const { return std::max<Micros>(config_.heartbeat / 2, 10 * kMillisecond); }
  // Returns the time that the master was awake, since some moment: all deadlines are told in it.
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
  std::string scheduler_;
  std::string cluster_;
  FileSystem files_;
  NodeTable nodes_;
  JobTracker jobs_;
  Watchers watchers_;
  Dispatcher dispatcher_;
  Micros asleep_ = 0;                  // what the monotonic clock counted while this process stood still
  Micros started_ = 0;                 // as Awake tells it
  std::uint64_t ids_on_disk_ = 0;      // it is on disk that the ids below are taken
  std::uint64_t numbers_on_disk_ = 0;  // the same of job numbers
  std::set<JobId> ending_;             // they ended, which is not on disk yet
  SchedulerTime time_{0, {}};
  std::map<NodeNumber, Micros> deadlines_;  // a node that is not heard by then is lost
  std::map<NodeNumber, std::uint64_t> epochs_;
  std::set<NodeNumber> unreported_;                // they registered; their list of blocks is still under way
  std::map<NodeNumber, std::uint64_t> unsettled_;  // they registered while nothing could be written; with their epochs
  std::set<AttemptId> refused_failures_;
  std::set<NodeNumber> left_;     // they said that they leave, and are not back
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
