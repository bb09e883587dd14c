// SPDX-License-Identifier: Apache-2.0
// AttemptTable holds the attempts of a worker, from the master's order to the report of their outcome.
//
// A map attempt gets its directories, its executable and a process; when it is done, its run file is served and its end
// reported to the master. A reduce attempt gets its directories and copies its input, without a process yet. It passes
// the compute gate, for which it may have to ask the master (compute_gate.h), and gets a process; its end is then
// reported too. Reports are repeated until answered (report_queue.h). An attempt whose reports do not change for
// task.timeout has failed. When the disk has fewer than the reserved bytes free, attempts of the job that takes the
// most space are stopped (room_plan.h), so that jobs never fill the disk. Thread rule: the control thread.
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
#include "base/protocol/task.capnp.h"
#include "base/protocol/worker.capnp.h"
#include "base/rpc/task_group.h"
#include "worker/daemon/agent/agent_parts.h"
#include "worker/daemon/agent/compute_gate.h"
#include "worker/daemon/agent/master_session.h"
#include "worker/daemon/agent/room_plan.h"
#include "worker/daemon/agent/worker_config.h"

namespace millrace::worker {

// The share of copying in a reduce's progress, as in Hadoop; the rest is the progress that its process reports.
inline constexpr float kCopyShare = 1.0F / 3;

// The worker refuses a launch once it has this many attempts for each of its slots. Below that the scheduler decides
// how many run here (slots without a type, more copying reduces than slots).
inline constexpr std::int64_t kMostAttemptsPerSlot = 16;

// A map output that can be fetched, and its place.
struct AnnouncedOutput {
  AttemptId map;
  std::string host;
  std::uint16_t port = 0;
  NodeId node;
};

// The worker's record of a job.
struct WorkerJob {
  JobId id;
  OwnedMessage<task::wire::JobSetup> setup;
  ExecutableId executable;
  enum class ExecutableState { kFetching, kReady, kFailed } executable_state = ExecutableState::kFetching;
  Status failure;                                      // why the executable could not be fetched
  Micros timeout = 0;                                  // task.timeout, of the job or else of the worker
  std::map<std::uint32_t, shuffle::Source> announced;  // by map task, while reduces of the job are here
  std::set<std::uint32_t> left_out;                    // map tasks without an output, while reduces of the job are here
  std::set<AttemptId> held;                            // map outputs that this worker serves
};

using WorkerJobs = std::map<JobId, std::shared_ptr<WorkerJob>>;

// The life of an attempt on a worker, from the order to the report of its outcome. It may end in any stage.
//
//   AttemptStage  what is awaited                                            next
//   kPreparing    its directories                                            kReady for a map, kCopying for a reduce
//   kCopying      the reduce's input, and then the gate's leave to compute   kReady
//   kReady        the job's executable                                       kStarted
//   kStarted      the outcome, from the runner that it was handed to
enum class AttemptStage : std::uint8_t { kPreparing, kCopying, kReady, kStarted };

// Returns true if the table above lets an attempt go from one stage to the other.
[[nodiscard]] bool MayFollow(AttemptStage from, AttemptStage to, bool reduce);

class AttemptTable final : private TaskObserver {
 public:
  // `fetch` is called when an attempt arrives and its job's executable could not be fetched before; JobFetched follows.
  // Requires: all arguments but `fetch` and `log` outlive the table; `session` may be constructed later, but before any
  // call.
  AttemptTable(const AgentParts& parts, const WorkerConfig& config, const WorkerJobs& jobs, MasterSession& session,
               std::function<void(const std::shared_ptr<WorkerJob>&)> fetch, Log log);
  ~AttemptTable() noexcept override;

  // Starts to watch the progress of attempts.
  void Start() { tasks_.Add(Watch()); }

  // ---- calls of the master (worker.capnp) ----
  void LaunchMap(const AttemptId& attempt, capnp::List<task::wire::InputPiece>::Reader inputs, double crossing,
                 capnp::List<task::wire::RecordPlace>::Reader left_out);
  void LaunchReduce(const AttemptId& attempt, std::uint32_t maps, std::uint32_t computing, bool asks);
  // Lets the reduce compute once it has copied its input. `computing` is the number of reduces that may compute at
  // once.
  void GrantCompute(const AttemptId& attempt, std::uint32_t computing);
  void MapOutputs(JobId job, NodeId own_node, const std::vector<AnnouncedOutput>& ready,
                  const std::vector<AttemptId>& gone, const std::vector<std::uint32_t>& left_out);
  void Kill(const AttemptId& attempt, const std::string& reason);

  // ---- calls of the agent ----
  // Takes in that the job's executable was fetched, so that its attempts proceed, or could not be, so that they fail.
  void JobFetched(const WorkerJob& job);
  // Drops the attempts of the job without a report. The caller ends their processes and removes their files.
  void RemoveJob(JobId job);
  // Ends all attempts and reports them as lost.
  void LoseAll(const std::string& why);
  // Notes that the worker lists its attempts to a master. Orders that the master sends from now on are not covered by
  // that list.
  void NoteClaims() { asked_since_claims_.emplace(); }
  // Notes that the master wants the output of this attempt on this worker. Launches need no such call.
  void NoteAsked(const AttemptId& id) {
    if (asked_since_claims_) asked_since_claims_->insert(id);
  }
  // Returns the attempts that were launched, or whose outputs were asked for, since the last NoteClaims. The master's
  // answer to that list does not apply to them: a master that forgot an attempt may have used its number again, and one
  // that knew of no output here may want one here now.
  [[nodiscard]] std::set<AttemptId> TakeAskedSinceClaims() {
    return std::exchange(asked_since_claims_, std::nullopt).value_or(std::set<AttemptId>());
  }
  // Returns as many new progress reports as one heartbeat has room for.
  [[nodiscard]] std::vector<OwnedMessage<task::wire::Progress>> TakeProgress();
  [[nodiscard]] std::set<AttemptId> Ids() const;
  [[nodiscard]] std::size_t size() const { return attempts_.size(); }

 private:
  struct Attempt {
    AttemptId id;
    std::shared_ptr<WorkerJob> job;
    AttemptStage stage = AttemptStage::kPreparing;
    std::optional<OwnedMessage<task::wire::RunMap>> map;
    std::optional<OwnedMessage<task::wire::RunReduce>> reduce;
    double crossing = 0;     // share of a map's output that goes to other workers
    std::uint32_t maps = 0;  // the number of maps from which a reduce copies
    std::unique_ptr<ReduceCopier> copier;
    std::uint32_t fetch_reports = 0;  // reports so far about outputs that the reduce could not fetch
    std::uint64_t shuffled = 0;
    std::optional<OwnedMessage<task::wire::Progress>> progress;  // the last report, if no heartbeat has carried it
    std::uint64_t mark = 0;                                      // the mark of the last report that showed progress
    kj::TimePoint moved_at = kj::origin<kj::TimePoint>();        // when that report came
  };
  using AttemptPtr = std::shared_ptr<Attempt>;

  // ---- the life of an attempt ----
  // Returns null if the attempt is refused, or is here already.
  AttemptPtr Admit(const AttemptId& id);
  static void Enter(Attempt& attempt, AttemptStage stage);  // Requires: MayFollow
  void Prepare(const AttemptPtr& attempt);
  void Proceed(Attempt& attempt);
  void DescribeLink(Attempt& attempt);
  void StartCopy(const AttemptPtr& attempt);
  void Copied(Attempt& attempt, const std::vector<shuffle::CopiedSegment>& segments);
  void Compute(Attempt& attempt);
  // Reports to the master that the reduce has copied its input, and whether it computes.
  void ReportCopied(const AttemptId& id, bool computing);
  [[nodiscard]] AttemptPtr Find(const AttemptId& id) const;

  // ---- progress, and attempts that make no progress or fill the disk ----
  void TaskProgress(const AttemptId& id, OwnedMessage<task::wire::Progress> progress) override;
  kj::Promise<void> Watch();
  void FailStalled();
  kj::Promise<void> WatchRoom();
  void LookAtRoom();
  // Looks, at most once a second, whether attempts exceed task.scratch_bytes or task.stream_bytes, and stops those.
  void LookAtLimits();
  void StopBeyond(const AttemptId& id, const AttemptFiles::Limited& has);
  // Returns the jobs on this worker and their attempts, to be measured.
  [[nodiscard]] std::vector<JobRoom> ListJobs() const;
  void GiveWay(const GivesWay& who, const AttemptFiles::Shortage& shortage);
  void StopForRoom(const AttemptId& id, const std::string& wrote, const AttemptFiles::Shortage& shortage,
                   bool to_blame);
  // Ends the processes of the job and removes its files, except outputs that are served. Requires: the job has no
  // attempts here.
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
  void Stop(Attempt& attempt);  // ends its process or copy, and removes its files
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
  bool watches_room_ = false;     // while there are jobs
  bool measures_ = false;         // a measurement of what jobs have written is under way
  bool measures_limits_ = false;  // likewise of what attempts have that is limited
  kj::TimePoint limits_looked_at_ = kj::origin<kj::TimePoint>();
  std::optional<std::uint64_t>
      stopped_at_;                       // bytes that were free when attempts were last stopped in the present shortage
  std::set<AttemptId> giving_room_;      // attempts that were stopped for lack of room and still have files
  std::set<JobId> clearing_;             // jobs that were stopped for lack of room and still have files
  std::shared_ptr<AttemptTable*> self_;  // callbacks that outlive the table find this null
  rpc::TaskGroup tasks_;
};

// The following help to find out from an attempt's reports whether it makes progress. Thread rule: any thread.

// Returns the job's own task.timeout; `otherwise` if it has none.
[[nodiscard]] Micros TimeoutOf(task::wire::JobSetup::Reader setup, Micros otherwise);

// Returns a mark that is equal for reports with the same content, and hardly ever equal for others.
[[nodiscard]] std::uint64_t MarkOf(task::wire::Progress::Reader progress);

}  // namespace millrace::worker
