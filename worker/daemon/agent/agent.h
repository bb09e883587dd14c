// WorkerAgent: what a worker does for its master: takes attempts, has them executed, tells how they went, serves and
// copies map outputs, keeps and drops blocks. The master decides; the agent checks that what it is told is possible and
// otherwise says so. It owns no socket, thread or file: those are the seams in AgentParts.
//
// A map attempt: directories, executable, process; then its run file is served, then the master is told.
// A reduce attempt: directories, copy phase (no process yet), then past the compute gate, process; then the master is
// told. Reports are repeated until answered (report_queue.h). Thread rule: the control thread.
#pragma once

#include <kj/async.h>
#include <kj/timer.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/protocol/worker.capnp.h"
#include "base/random.h"
#include "dfs/data/block_store.h"
#include "worker/daemon/agent/attempt_files.h"
#include "worker/daemon/agent/background.h"
#include "worker/daemon/agent/block_check.h"
#include "worker/daemon/agent/compute_gate.h"
#include "worker/daemon/agent/data_plane.h"
#include "worker/daemon/agent/executables.h"
#include "worker/daemon/agent/master_session.h"
#include "worker/daemon/agent/task_group.h"
#include "worker/daemon/agent/task_runner.h"
#include "worker/daemon/agent/worker_config.h"

namespace millrace::worker {

// All of it outlives the agent.
struct AgentParts {
  kj::Timer& timer;
  rpc::Dialer& dialer;
  TaskRunner& runner;
  dfs::BlockStore& blocks;
  DataPlane& plane;
  AttemptFiles& files;
  Executables& executables;
  Background& background;
  Background& checks;  // where blocks are read to check them: whole blocks, so that nothing else waits behind them
  const Clock& clock;  // of the trash
};

// What the configuration does not know.
struct WorkerIdentity {
  std::string storage;     // storage_lock.h
  std::uint16_t port = 0;  // the bulk server's
  std::string local_socket;
  std::string cluster;  // to which the directory belongs; empty: to none yet
  // Stores the cluster's id with the directory. Called at most once at a time, on the background.
  std::function<Status(const std::string& cluster)> join;
};

// Of a reduce's progress, the part that is copying; the rest is what its process reports (as Hadoop counts it).
inline constexpr float kCopyShare = 1.0F / 3;

// How many attempts run here is the scheduler's to say (slots without a type, more reduces that copy than slots).
// Beyond so many times its slots the worker believes it no more.
inline constexpr std::int64_t kMostAttemptsPerSlot = 16;

inline constexpr kj::Duration kFarewell = 1 * kj::SECONDS;

// Where a map's output can be had.
struct AnnouncedOutput {
  AttemptId map;
  std::string host;
  std::uint16_t port = 0;
  std::uint32_t node = 0;
};

class WorkerAgent final : private TaskObserver, private SessionOwner {
 public:
  WorkerAgent(AgentParts parts, WorkerConfig config, WorkerIdentity identity, Random random, Log log);
  ~WorkerAgent() noexcept override;

  // Registers with config.master, now and whenever the connection was lost.
  void Start();
  // The worker stops on request: its attempts end and the master is told that they are lost, by nobody's fault.
  // Resolves when it has answered, or after kFarewell.
  [[nodiscard]] kj::Promise<void> Leave();
  // Called whenever the master has taken the worker in.
  void OnRegistered(std::function<void(std::uint32_t node)> then) { on_registered_ = std::move(then); }

  // What the master asks for (worker.capnp says what each is), by way of ControlServer.
  void SetUpJob(task::wire::JobSetup::Reader setup, ExecutableId executable);
  void LaunchMap(const AttemptId& attempt, capnp::List<task::wire::InputPiece>::Reader inputs, double crossing,
                 capnp::List<task::wire::RecordPlace>::Reader left_out);
  void LaunchReduce(const AttemptId& attempt, std::uint32_t maps, std::uint32_t computing);
  void MapOutputs(std::uint32_t job, const std::vector<AnnouncedOutput>& ready, const std::vector<AttemptId>& gone,
                  const std::vector<std::uint32_t>& left_out);
  void Kill(const AttemptId& attempt, const std::string& reason);
  void ForgetJob(std::uint32_t job);
  void Replicate(const dfs::StoredBlock& block, std::vector<dfs::Place> targets);
  void DeleteBlocks(std::vector<std::uint64_t> ids);
  void TrashBlocks(std::vector<std::uint64_t> ids);  // of no file
  // Reads it from the disk and tells the master what it is (Found). The same block is read once for all who ask
  // meanwhile.
  [[nodiscard]] kj::Promise<dfs::wire::ReplicaState> VerifyBlock(std::uint64_t id);
  [[nodiscard]] kj::Promise<LogPiece> ReadLog(const AttemptId& attempt, bool standard_error, std::uint64_t offset,
                                              std::uint32_t limit);

  // A block was read: one that is not sound is told to the master at once, and one that is sound makes it believe in
  // the replica again.
  void Found(const CheckedBlock& checked);
  // A disk of this worker has failed: the master is told that what was on it is not here any more.
  void LostBlocks(const std::vector<std::uint64_t>& ids);
  // Tells the master that the storage is gone; resolves when it has heard, or cannot be told. Nothing is told to it
  // after that.
  [[nodiscard]] kj::Promise<void> Leave(const std::string& reason) { return session_.Leave(reason); }

  [[nodiscard]] std::size_t running() const { return attempts_.size(); }

 private:
  struct Job {
    std::uint32_t number = 0;
    OwnMessage<task::wire::JobSetup> setup;
    ExecutableId executable;
    enum class State { kFetching, kReady, kFailed } state = State::kFetching;
    Status failure;
    Micros timeout = 0;                                  // task.timeout, of the job or else of the worker
    std::map<std::uint32_t, shuffle::Source> announced;  // by map task; while reduces of the job are here
    std::set<std::uint32_t> left_out;                    // map tasks without an output; while reduces are here
    std::set<AttemptId> held;                            // map outputs that we serve
  };
  struct Attempt {
    AttemptId id;
    std::shared_ptr<Job> job;
    bool prepared = false;   // its directories are there
    bool started = false;    // handed to the runner
    bool computing = false;  // a reduce past the gate
    std::optional<OwnMessage<task::wire::RunMap>> map;
    std::optional<OwnMessage<task::wire::RunReduce>> reduce;
    double crossing = 0;     // of a map's output, to other workers
    std::uint32_t maps = 0;  // that a reduce copies
    std::unique_ptr<ReduceCopier> copier;
    std::uint32_t fetch_reports = 0;  // of outputs that it could not fetch, so far
    std::uint64_t shuffled = 0;
    std::optional<OwnMessage<task::wire::Progress>> progress;  // the last, if no heartbeat has carried it
    std::uint64_t mark = 0;                                    // of the last sign of progress that differed from others
    kj::TimePoint moved_at = kj::origin<kj::TimePoint>();      // when that was
  };
  using AttemptPtr = std::shared_ptr<Attempt>;

  // agent_blocks.cc: blocks
  void RemoveBlocks(std::vector<std::uint64_t> ids, std::function<Status(std::uint64_t)> remove);
  kj::Promise<void> SweepBlocks();
  // agent.cc: jobs, the master
  void FetchExecutable(const std::shared_ptr<Job>& job);
  void ExecutableFetched(const std::shared_ptr<Job>& job, const Result<std::string>& path);
  kj::Promise<void> Join(std::string cluster) override;
  void DescribeWorker(master::wire::WorkerInfo::Builder info) override;
  wire::WorkerControl::Client Control() override;
  void Registered(std::uint32_t node, master::wire::WorkerSettings::Reader settings) override;
  void DescribeHeartbeat(master::wire::WorkerSession::HeartbeatParams::Builder heartbeat) override;
  std::vector<dfs::StoredBlock> Blocks() override;
  std::vector<dfs::StoredBlock> Trash() override { return parts_.blocks.ListTrash(); }
  kj::Promise<std::vector<dfs::StoredBlock>> Restore(std::vector<std::uint64_t> ids) override;
  [[nodiscard]] std::vector<OwnMessage<task::wire::Progress>> TakeProgress();

  // attempt_watch.cc: attempts that do not get on
  kj::Promise<void> Watch();
  void FailStalled();
  [[nodiscard]] bool Stalled(Attempt& attempt) const;
  void Moved(Attempt& attempt, std::uint64_t mark) const;
  void Stop(Attempt& attempt);  // ends what runs of it, and its files go

  // attempts.cc: the way of an attempt; attempt_ends.cc: how it ends
  AttemptPtr Admit(const AttemptId& id);  // null: refused, or here already
  void Prepare(const AttemptPtr& attempt);
  void Proceed(Attempt& attempt);
  void DescribeLink(Attempt& attempt);
  void StartCopy(const AttemptPtr& attempt);
  void Copied(Attempt& attempt, const std::vector<shuffle::CopiedSegment>& segments);
  void Compute(Attempt& attempt);
  void TaskProgress(const AttemptId& id, OwnMessage<task::wire::Progress> progress) override;
  void TaskDone(const AttemptId& id, OwnMessage<task::wire::Done> done) override;
  void TaskFailed(const AttemptId& id, TaskFailure failure) override;
  void ServeRun(const AttemptPtr& attempt, std::shared_ptr<OwnMessage<task::wire::Done>> done);
  void ReportDone(Attempt& attempt, const std::shared_ptr<OwnMessage<task::wire::Done>>& done);
  void ReportFailed(const AttemptId& id, TaskFailure failure, bool lost);
  void ReportFetchFailed(Attempt& reduce, const AttemptId& map, const Status& why);
  void Fail(Attempt& attempt, TaskFailure failure);
  void Remove(Attempt& attempt);
  void RemoveFiles(const AttemptId& id, bool run_too);
  void DropMapOutput(const AttemptId& id);
  [[nodiscard]] AttemptPtr Find(const AttemptId& id) const;

  AgentParts parts_;
  WorkerConfig config_;
  WorkerIdentity identity_;
  std::uint64_t incarnation_;
  Log log_;
  std::uint32_t node_ = 0;
  std::function<void(std::uint32_t)> on_registered_;
  ComputeGate gate_;
  std::map<std::uint64_t, std::vector<kj::Own<kj::PromiseFulfiller<dfs::wire::ReplicaState>>>> checking_;
  std::map<std::uint32_t, std::shared_ptr<Job>> jobs_;
  std::map<AttemptId, AttemptPtr> attempts_;
  // Launched after the claims of a registration that is not answered yet: its answer does not mean them, though a
  // master that forgot an attempt may have given its number again.
  std::optional<std::set<AttemptId>> launched_since_claim_;
  std::shared_ptr<WorkerAgent*> self_;  // callbacks and capabilities that outlive us find it gone
  TaskGroup tasks_;
  MasterSession session_;  // last: it calls us
};

}  // namespace millrace::worker
