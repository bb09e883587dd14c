// AttemptTable: the attempts of a worker, from the master's order to the report of how they went.
//
// A map attempt: directories, executable, process; then its run file is served, then the master is told.
// A reduce attempt: directories, copy phase (no process yet), then past the compute gate, for which it may have to ask
// the master (compute_gate.h), process; then the master is told. Reports are repeated until answered (report_queue.h).
// An attempt whose reports do not change for task.timeout has failed. When the disk has fewer than the reserved bytes
// free, attempts of the job that has most there are stopped (room_plan.h): what jobs write never fills it. Thread rule:
// the control thread.
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
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/protocol/worker.capnp.h"
#include "base/rpc/task_group.h"
#include "worker/daemon/agent/agent_parts.h"
#include "worker/daemon/agent/compute_gate.h"
#include "worker/daemon/agent/master_session.h"
#include "worker/daemon/agent/room_plan.h"
#include "worker/daemon/agent/worker_config.h"

namespace millrace::worker {

// The part of a reduce's progress that is copying; the rest is what its process reports (as Hadoop counts it).
inline constexpr float kCopyShare = 1.0F / 3;

// The scheduler decides how many attempts run here (slots without a type, more reduces that copy than slots). The
// worker refuses a launch once it has this many attempts for each of its slots.
inline constexpr std::int64_t kMostAttemptsPerSlot = 16;

// A map's output that can be had, and where.
struct AnnouncedOutput {
  AttemptId map;
  std::string host;
  std::uint16_t port = 0;
  NodeId node;
};

// What the worker keeps of a job.
struct WorkerJob {
  JobId id;
  OwnedMessage<task::wire::JobSetup> setup;
  ExecutableId executable;
  enum class ExecutableState { kFetching, kReady, kFailed } executable_state = ExecutableState::kFetching;
  Status failure;                                      // why the executable could not be had
  Micros timeout = 0;                                  // task.timeout, of the job or else of the worker
  std::map<std::uint32_t, shuffle::Source> announced;  // by map task; while reduces of the job are here
  std::set<std::uint32_t> left_out;                    // map tasks without an output; while reduces are here
  std::set<AttemptId> held;                            // map outputs that this worker serves
};

using WorkerJobs = std::map<JobId, std::shared_ptr<WorkerJob>>;

class AttemptTable final : private TaskObserver {
 public:
  // `fetch` is called when an attempt comes of a job whose executable could not be had; JobFetched follows. Requires:
  // all arguments but `fetch` and `log` outlive the table; `session` may be constructed later, but before any call.
  AttemptTable(const AgentParts& parts, const WorkerConfig& config, const WorkerJobs& jobs, MasterSession& session,
               std::function<void(const std::shared_ptr<WorkerJob>&)> fetch, Log log);
  ~AttemptTable() noexcept override;

  // Begins to watch whether attempts make progress.
  void Start() { tasks_.Add(Watch()); }

  // ---- what the master asks for (worker.capnp) ----
  void LaunchMap(const AttemptId& attempt, capnp::List<task::wire::InputPiece>::Reader inputs, double crossing,
                 capnp::List<task::wire::RecordPlace>::Reader left_out);
  void LaunchReduce(const AttemptId& attempt, std::uint32_t maps, std::uint32_t computing, bool asks);
  // The reduce may compute once it has copied. computing: how many may at once.
  void GrantCompute(const AttemptId& attempt, std::uint32_t computing);
  void MapOutputs(JobId job, NodeId own_node, const std::vector<AnnouncedOutput>& ready,
                  const std::vector<AttemptId>& gone, const std::vector<std::uint32_t>& left_out);
  void Kill(const AttemptId& attempt, const std::string& reason);

  // ---- what the agent asks for ----
  // Takes in that the job's executable is there, or could not be had: its attempts go on, or fail.
  void JobFetched(const WorkerJob& job);
  // Drops the attempts of the job; nobody is told. The caller ends their processes and removes their files.
  void RemoveJob(JobId job);
  // Ends all attempts and reports them as lost.
  void LoseAll(const std::string& why);
  // Notes that the worker tells a master what it has. What the master asks for from now on is not part of that.
  void NoteClaims() { asked_since_claims_.emplace(); }
  // Notes that the master asks for the output of this attempt to be here. Launches are noted by themselves.
  void NoteAsked(const AttemptId& id) {
    if (asked_since_claims_) asked_since_claims_->insert(id);
  }
  // Returns the attempts that were launched, or whose outputs were asked for, since the last NoteClaims. The master's
  // answer to those claims does not mean them: a master that forgot an attempt may have given its number again, and
  // one that knew of no output here may want it here now.
  [[nodiscard]] std::set<AttemptId> TakeAskedSinceClaims() {
    return std::exchange(asked_since_claims_, std::nullopt).value_or(std::set<AttemptId>());
  }
  // Returns the news of progress that one heartbeat has room for.
  [[nodiscard]] std::vector<OwnedMessage<task::wire::Progress>> TakeProgress();
  [[nodiscard]] std::set<AttemptId> Ids() const;
  [[nodiscard]] std::size_t size() const { return attempts_.size(); }

 private:
  struct Attempt {
    AttemptId id;
    std::shared_ptr<WorkerJob> job;
    bool prepared = false;   // its directories are there
    bool started = false;    // handed to the runner
    bool computing = false;  // a reduce past the gate
    std::optional<OwnedMessage<task::wire::RunMap>> map;
    std::optional<OwnedMessage<task::wire::RunReduce>> reduce;
    double crossing = 0;     // share of a map's output that goes to other workers
    std::uint32_t maps = 0;  // how many maps a reduce copies from
    std::unique_ptr<ReduceCopier> copier;
    std::uint32_t fetch_reports = 0;  // reports so far of outputs that it could not fetch
    std::uint64_t shuffled = 0;
    std::optional<OwnedMessage<task::wire::Progress>> progress;  // the last one, if no heartbeat has carried it
    std::uint64_t mark = 0;                                      // the mark of the last sign of progress that was news
    kj::TimePoint moved_at = kj::origin<kj::TimePoint>();        // when that report came
  };
  using AttemptPtr = std::shared_ptr<Attempt>;

  // ---- the life of an attempt ----
  // Returns null for an attempt that is refused, or is here already.
  AttemptPtr Admit(const AttemptId& id);
  void Prepare(const AttemptPtr& attempt);
  void Proceed(Attempt& attempt);
  void DescribeLink(Attempt& attempt);
  void StartCopy(const AttemptPtr& attempt);
  void Copied(Attempt& attempt, const std::vector<shuffle::CopiedSegment>& segments);
  void Compute(Attempt& attempt);
  // Tells the master that the reduce has copied, and whether it computes.
  void ReportCopied(const AttemptId& id, bool computing);
  [[nodiscard]] AttemptPtr Find(const AttemptId& id) const;

  // ---- progress, and attempts that make none, or that fill the disk ----
  void TaskProgress(const AttemptId& id, OwnedMessage<task::wire::Progress> progress) override;
  kj::Promise<void> Watch();
  void FailStalled();
  kj::Promise<void> WatchRoom();
  void LookAtRoom();
  // Returns the jobs that are here and their attempts, to be measured.
  [[nodiscard]] std::vector<JobRoom> ListJobs() const;
  void GiveWay(const GivesWay& who, const AttemptFiles::Shortage& shortage);
  void StopForRoom(const AttemptId& id, const std::string& wrote, const AttemptFiles::Shortage& shortage,
                   bool to_blame);
  // Ends the processes of the job, which has no attempts here any more, and removes its files but for what is served.
  void Clear(JobId job);
  void FailStalled(Attempt& attempt, const std::optional<task::RecordPlace>& record);
  [[nodiscard]] bool Stalled(Attempt& attempt) const;
  void Moved(Attempt& attempt, std::uint64_t mark) const;

  // ---- ends ----
  void TaskDone(const AttemptId& id, OwnedMessage<task::wire::Done> done) override;
  void TaskFailed(const AttemptId& id, TaskFailure failure) override;
  void ServeRun(const AttemptPtr& attempt, std::shared_ptr<OwnedMessage<task::wire::Done>> done);
  void ReportDone(Attempt& attempt, const std::shared_ptr<OwnedMessage<task::wire::Done>>& done);
  void ReportFailed(const AttemptId& id, TaskFailure failure, bool lost);
  void ReportFetchFailed(Attempt& reduce, const AttemptId& map, const Status& why);
  void Fail(Attempt& attempt, TaskFailure failure, bool lost = false);
  void Stop(Attempt& attempt);  // ends what runs of it, and its files go
  void Remove(Attempt& attempt);
  void RemoveFiles(const AttemptId& id, bool run_too);
  void DropMapOutput(const AttemptId& id);

  const AgentParts& parts_;
  const WorkerConfig& config_;
  const WorkerJobs& jobs_;
  MasterSession& session_;
  const std::function<void(const std::shared_ptr<WorkerJob>&)> fetch_;
  Log log_;
  ComputeGate gate_;
  std::map<AttemptId, AttemptPtr> attempts_;
  std::optional<std::set<AttemptId>> asked_since_claims_;
  bool watches_room_ = false;                // while there are jobs
  bool measures_ = false;                    // finds out what jobs have written
  std::optional<std::uint64_t> stopped_at_;  // bytes that were free when somebody was stopped in this shortage
  std::set<AttemptId> giving_room_;          // were stopped for want of room; their files are still there
  std::set<JobId> clearing_;                 // so are those of these jobs
  std::shared_ptr<AttemptTable*> self_;      // callbacks that outlive the table find this null
  rpc::TaskGroup tasks_;
};

}  // namespace millrace::worker
