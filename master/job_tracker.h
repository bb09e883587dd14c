// JobTracker: jobs from submission to their last byte, around the pure engine. It journals every event before the
// engine applies it, completes output files in the same batch as the success that makes them visible, and turns the
// engine's effects into orders for workers. Pure: calls change memory, and say in a Step what must be stored and what
// must be sent.
//
// What jobs showed of their programs (schedulers/history/job_history.h) is stored under "h/<program> <input type>", in
// the batch that ends the job, and outlives it. Journal: "e/<job><sequence>" -> a line of
// schedulers/journal/event_text.h; job 0 holds the events of nodes and schedulers. "r" -> the sequence from which the
// live jobs are replayed, "b" -> the nodes as they were then. Thread rule: control thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/kv/key_value_store.h"
#include "base/log.h"
#include "base/protocol/settlement.h"
#include "base/status.h"
#include "dfs/wire/place.h"
#include "master/file_system.h"
#include "master/job_record.h"
#include "master/node_table.h"
#include "master/reserved_counter.h"
#include "schedulers/core/engine.h"
#include "schedulers/core/events.h"
#include "schedulers/core/policy_view.h"
#include "schedulers/history/job_history.h"
#include "schedulers/journal/journal_text.h"

namespace millrace::master {

// What workers have to be told.
struct LaunchOrder {
  NodeNumber node = 0;
  AttemptId attempt;
  std::uint32_t computing = 0;  // of a reduce: so many may compute at once on the node
};
struct KillOrder {
  NodeNumber node = 0;
  AttemptId attempt;
  std::string reason;
};
struct OutputsOrder {  // to a worker that runs reduces of the job
  NodeNumber node = 0;
  JobId job;
  std::vector<std::pair<AttemptId, NodeNumber>> ready;  // and where it is
  std::vector<AttemptId> gone;
  std::vector<std::uint32_t> left_out;  // maps
};
struct ForgetOrder {
  NodeNumber node = 0;
  JobId job;
};

// The outcome of one call: to be stored, then sent; `ended` and `changed` jobs have watchers to be told.
struct Step {
  explicit Step(Micros at) : now(at) {}
  Micros now;
  WriteBatch batch;
  std::vector<LaunchOrder> launches;
  std::vector<KillOrder> kills;
  std::map<std::pair<NodeNumber, JobId>, OutputsOrder> outputs;
  std::vector<ForgetOrder> forgets;
  std::set<JobId> changed;
  std::set<JobId> ended;
};

// A file that an attempt wrote and that is not visible yet.
struct AttemptOutput {
  dfs::FileId file = 0;
  std::string name;
  std::vector<dfs::WrittenBlock> blocks;
};

enum class AttemptState : std::uint8_t { kRunning, kSucceeded, kFailed, kKilled, kLost, kPreempted };

struct AttemptRecord {
  AttemptId attempt;
  NodeNumber node = 0;
  AttemptState state = AttemptState::kRunning;
  Micros launched = 0, ended = 0;
  std::string reason;
  double fraction = 0;          // while it runs
  std::uint32_t per_mille = 0;  // of it, as the engine was told
};

enum class JobState : std::uint8_t { kWaiting, kRunning, kSucceeded, kFailed, kKilled };

struct PhaseView {
  std::uint32_t total = 0, running = 0, done = 0;
  double fraction = 0;
};

struct JobView {
  const JobRecord* record = nullptr;  // valid until the next call of the tracker
  JobState state = JobState::kWaiting;
  PhaseView maps, reduces;
  double copy_fraction = 0;
  JobFigures figures;
  std::vector<LeftOutRecord> left_out_records;  // the first of them
};

struct TrackerOptions {
  sched::SchedulerSet scheduler;  // one that MakeScheduler makes
  bool background = false;        // searches for plans have a thread of their own (schedulers/config/make_scheduler.h)
  std::size_t history_jobs = 0;   // ended jobs that are remembered
};

class JobTracker {
 public:
  JobTracker(FileSystem& files, const KeyValueStore& store, TrackerOptions options, Log log);
  ~JobTracker();

  // Reads jobs back and replays the journal of those that live; `nodes` (loaded) tells which incarnation each worker
  // had.
  [[nodiscard]] Status Load(const NodeTable& nodes);

  // The time of the last event of the replay; 0 without one.
  [[nodiscard]] Micros last_time() const { return last_time_; }

  // ---- jobs ----
  // Checks inputs and output, makes the output directory. A token seen before gives the job it made.
  Result<JobId> Submit(JobRequest request, Step* step);
  [[nodiscard]] std::uint64_t next_number() const { return job_numbers_.next(); }  // of a job
  // As ReservedCounter::Reserve.
  [[nodiscard]] std::uint64_t ReserveNumbers(Step* step) { return job_numbers_.Reserve(&step->batch); }
  // The job that was submitted with this token, which is not empty.
  [[nodiscard]] std::optional<JobId> FindToken(const std::string& token) const;
  // The path lies where the attempts of a live job write.
  [[nodiscard]] bool IsOutput(std::string_view path) const;
  Status Kill(JobId job, const std::string& reason, Step* step);
  Status SetPriority(JobId job, std::uint8_t priority, Step* step);
  // To be called once after Load, before anything else is journaled.
  void NoteRestart(Step* step) { RecordMark(sched::JournalMark::kRestart, step); }
  // From now on; journaled. The scheduler is one that MakeScheduler makes. After Load this, or the one given to the
  // constructor, holds: what the journal says of earlier ones served to replay it.
  void SetScheduler(const sched::SchedulerSet& scheduler, Step* step);

  // ---- nodes ----
  // What a worker says that it has (base/protocol/settlement.h). Of an attempt in several lists the first holds.
  struct Claims {
    std::vector<AttemptId> running, done, failed, served;
  };
  // What the worker has to do.
  struct Reconciled {
    std::vector<AttemptId> killed, settled;
    std::vector<JobId> forgotten;
  };
  // A worker registered. Another incarnation than the one that the engine knows has lost everything. Then what it
  // claims, and what it is believed to have, is settled attempt by attempt.
  Reconciled NodeRegistered(const NodeRecord& node, const Claims& claims, Step* step);
  // `died`: its process ended, which a task of it may have done; else it was silent, or left.
  void NodeLost(NodeNumber node, bool died, Step* step);
  void NodeDrained(NodeNumber node, bool drained, Step* step);
  // Nodes that the engine holds for alive: after Load, those that have yet to register again.
  [[nodiscard]] std::vector<NodeNumber> EngineNodes() const;

  // ---- attempts ----
  // Commits if the attempt may, otherwise gives its output up. Late and repeated reports are normal.
  void AttemptDone(NodeNumber node, const AttemptId& attempt, const TaskReport& report,
                   const std::optional<AttemptOutput>& output, Step* step);
  // `record`: of a map, the one that was under way, if the worker knows it; taken if it lies in the map's input.
  void AttemptFailed(NodeNumber node, const AttemptId& attempt, bool lost, const std::string& reason, Step* step,
                     std::optional<sched::RecordPlace> record = std::nullopt);
  void FetchFailed(NodeNumber node, const AttemptId& reduce, const AttemptId& map, std::uint32_t report, Step* step);
  void Progress(NodeNumber node, const AttemptId& attempt, double fraction, Step* step);
  // The room that the node has left. The engine is told when it is off by a sixteenth and 64 MiB.
  void NodeSpace(NodeNumber node, std::uint64_t free_bytes, Step* step);
  // A reduce has copied everything and was let in to compute. Repeated reports are normal.
  void ReduceComputing(NodeNumber node, const AttemptId& attempt, Step* step);
  // An open file is now the output of this attempt and ends with it; kNotFound if the attempt does not run.
  Status HandOver(dfs::FileId file, const AttemptId& attempt);

  // Lets the policy fill free slots. The caller ends every batch of calls with it.
  void Decide(Step* step);
  [[nodiscard]] std::optional<Micros> NextWake() const { return engine_.NextWake(); }

  // ---- looking ----
  [[nodiscard]] const sched::ClusterState& cluster() const { return engine_.state(); }
  // The share, 0 to 1, of what a map on the node emits that is expected to go to reduces on other nodes: those are
  // spread as the slots for them are.
  [[nodiscard]] double CrossingShare(NodeNumber node) const;
  [[nodiscard]] sched::PolicyView ViewPolicy(Micros now) const;
  [[nodiscard]] Result<JobView> View(JobId job) const;
  [[nodiscard]] std::vector<JobId> JobsAfter(JobId after, std::size_t limit, bool live_only) const;
  [[nodiscard]] Result<Counters> JobCounters(JobId job) const;
  [[nodiscard]] Result<std::vector<AttemptRecord>> Attempts(JobId job) const;  // in order of launch
  [[nodiscard]] const std::vector<MapSplits>* Splits(JobId job) const;         // by map; null once it ended
  // What an attempt of a live job is to leave out, in order.
  [[nodiscard]] std::vector<sched::RecordPlace> LeftOutBy(const AttemptId& attempt) const;
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> RunningOn(NodeNumber node) const;  // maps, reduces
  using JournalLine = std::pair<std::uint64_t, std::string>;
  struct HistoryPage {
    std::vector<JournalLine> lines;  // each with its sequence
    std::uint64_t next = 0;          // of the last line that is here to its end
    bool cut = false;                // the last line goes on
    bool more = false;
  };
  // Lines of the job's journal with sequence > after, the first one from its byte `offset` on, as many as an answer
  // holds and at most `limit`; job 0 has those of nodes and schedulers.
  [[nodiscard]] Result<HistoryPage> History(JobId job, std::uint64_t after, std::uint64_t offset,
                                            std::size_t limit) const;

 private:
  struct Job {
    JobRecord record;
    std::vector<MapSplits> splits;             // by map, while it lives
    std::map<TaskId, TaskReport> reports;      // of succeeded tasks, while it lives
    std::vector<AttemptRecord> attempts;       // in order of launch; empty after a restart if it had ended
    std::map<AttemptId, std::size_t> running;  // index into attempts
    std::map<dfs::FileId, AttemptId> outputs;  // handed over, not committed
    std::set<NodeNumber> nodes;                // that were given an attempt
    TaskReport totals;                         // sums over reports (bytes only)
  };

  // Journals, applies, and carries the effects into the step. False if the engine refused.
  bool Apply(const sched::Event& event, JobId job, Step* step);
  void Record(const sched::Event& event, JobId job, Step* step);
  void RecordMark(sched::JournalMark mark, Step* step);
  void Carry(const sched::Effects& effects, Step* step);
  void CarryLaunch(const sched::Launch& launch, Step* step);
  void CarryPreempt(const sched::Preempt& preempt, Step* step);
  void CarryEvict(JobId job, Step* step);
  void CarryBlame(const sched::Blame& blame, Step* step);
  // Logs which nodes are avoided since the last call, and which are so no more.
  void TellAvoided();
  void AnnounceOutputs(JobId job, NodeNumber node, Step* step);
  void CarryOutput(const AttemptId& map, NodeNumber node, bool ready, Step* step);
  void CarryLeftOut(const sched::MapLeftOut& left_out, Step* step);
  [[nodiscard]] static std::set<NodeNumber> ReducingNodes(const Job& job);
  void CarryEnd(const sched::JobEnded& end, Step* step);
  void CloseJob(Job& job, Step* step);
  void RecordHistory(const Job& job, Step* step);
  std::optional<dfs::NodeId> ClosestHolder(NodeNumber node, const Split& split) const;
  void NoteTransfer(NodeNumber node, const MapSplits& splits, std::uint64_t bytes_per_second, Step* step);
  [[nodiscard]] worker::Belief BeliefOf(NodeNumber node, const AttemptId& attempt) const;
  void ForgetOldJobs(Step* step);
  void EndAttempt(Job& job, const AttemptId& attempt, AttemptState state, const std::string& reason, Step* step);
  void LoseAttemptsOn(NodeNumber node, Step* step);
  void AdmitNode(const NodeRecord& node, Step* step);
  [[nodiscard]] std::map<AttemptId, worker::Claim> Gather(NodeNumber node, const Claims& claims) const;
  void SettleAttempt(NodeNumber node, const AttemptId& attempt, worker::Claim claim, Reconciled* answer, Step* step);
  void NoteReport(Job& job, const TaskId& task, const TaskReport& report);
  void SnapshotNodes(Step* step);
  void ViewProgress(const Job& job, JobView* out) const;                               // of a live job
  [[nodiscard]] std::vector<LeftOutRecord> FirstLeftOutRecords(const Job& job) const;  // until the engine forgets it
  [[nodiscard]] std::optional<NodeNumber> NodeOf(const AttemptId& attempt) const;
  [[nodiscard]] Job* Find(JobId job);
  [[nodiscard]] const Job* Find(JobId job) const;

  Status LoadJobs();
  Status LoadHistory();
  Status LoadLiveJob(Job& job);
  Status ReplayBase();
  Status Replay();
  void ReplayEvent(const sched::Event& event, Micros time);
  void NoteReplayedAttempt(const sched::Event& event, Micros time);

  FileSystem& files_;
  const KeyValueStore& store_;
  sched::Engine engine_;
  std::size_t history_jobs_;
  sched::SchedulerSet scheduler_;  // in force, once loaded
  bool wants_progress_ = false;    // it judges attempts by how far they are
  Log log_;
  sched::JobHistory history_;  // of programs, stored under "h/"
  ReservedCounter job_numbers_{"k", 16};
  ReservedCounter sequences_{"q", 65536};
  std::map<JobId, Job> jobs_;
  std::set<JobId> live_;
  std::map<std::string, JobId> by_token_;
  Micros last_time_ = 0;
  Micros journaled_at_ = -1;                          // the last event
  std::set<NodeNumber> avoided_;                      // that the log knows of
  std::map<NodeNumber, sched::NodeJoined> joined_;    // as the engine knows them
  std::map<NodeNumber, std::uint64_t> incarnations_;  // of those
};

}  // namespace millrace::master
