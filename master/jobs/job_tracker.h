// SPDX-License-Identifier: Apache-2.0
// JobTracker manages jobs from submission to their last byte, around the pure engine. It journals every event that the
// engine applied, completes output files in the same batch as the success that makes them visible, and turns the
// engine's effects into orders for workers. Pure: calls change memory, and put what must be stored and sent into a
// Step.
//
//   journal.h      the events, from which the engine is rebuilt at a start
//   beliefs.h      the master's beliefs about attempts, when a worker registers
//   job_table.h    the records of jobs
//   input_places.h the maps whose inputs may have moved
//   job_numbers.h  the numbers of jobs, and what is known of one without a record
//   waiting_jobs.h the jobs that wait for others, which the engine does not know yet
//   job_plan.h     the making of a job from a request
//   job_views.h    the views of jobs for clients
//   orders.h       Step, and the orders to workers
//
// The history of programs (schedulers/history/job_history.h) is stored under "h/<program> <input type>", in the batch
// that ends the job, and outlives the job. So are the records of statements about jobs
// (schedulers/forecast/forecaster.h), under "p/<kind>/<place>". Thread rule: control thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/kv/key_value_store.h"
#include "base/log.h"
#include "base/protocol/settlement.h"
#include "base/status.h"
#include "dfs/wire/blocks.h"
#include "master/cluster/file_system.h"
#include "master/cluster/node_table.h"
#include "master/jobs/beliefs.h"
#include "master/jobs/input_places.h"
#include "master/jobs/job_numbers.h"
#include "master/jobs/job_record.h"
#include "master/jobs/job_table.h"
#include "master/jobs/job_tallies.h"
#include "master/jobs/job_views.h"
#include "master/jobs/journal.h"
#include "master/jobs/lost_jobs.h"
#include "master/jobs/orders.h"
#include "master/jobs/output_moves.h"
#include "master/jobs/pack_splits.h"
#include "master/jobs/waiting_jobs.h"
#include "schedulers/core/engine.h"
#include "schedulers/core/policy_view.h"
#include "schedulers/events/events.h"
#include "schedulers/forecast/forecaster.h"
#include "schedulers/history/job_history.h"

namespace millrace::master {

// A file that an attempt wrote and that is not visible yet.
struct AttemptOutput {
  dfs::FileId file = 0;
  std::string name;
  std::vector<dfs::WrittenBlock> blocks;
};

struct TrackerOptions {
  sched::SchedulerSet scheduler;  // one that MakeScheduler makes
  bool background = false;        // the search for plans has a thread of its own (schedulers/policies/make_scheduler.h)
  std::size_t history_jobs = 0;   // how many ended jobs are remembered
  // Returns the nanoseconds since an arbitrary moment, to measure the cost of deciding. If it is empty, the cost is not
  // measured.
  std::function<std::int64_t()> nanoseconds = {};
  // Returns the rights of a user now, for a job that starts when nobody calls. If it is empty, everybody may
  // everything.
  std::function<dfs::Principal(const std::string& user)> principal_of = {};
  // Returns true if a waiting job may start now: the places of blocks are known, and there is room for its records. If
  // it is empty, a job may start at any time.
  std::function<bool()> may_start = {};
};

// The cost of the engine and the policy since the tracker was made.
struct DecidingCost {
  std::int64_t nanoseconds = 0;
  std::uint64_t events = 0;  // that the engine applied
};

class JobTracker {
 public:
  // Requires: `files` and `store` outlive the tracker.
  JobTracker(FileSystem& files, const KeyValueStore& store, TrackerOptions options, Log log);
  ~JobTracker();

  // Reads jobs back and replays the journal of those that live. `nodes` contains each worker's last incarnation.
  // Requires: Load is called once, before any other call, and `nodes` is loaded.
  [[nodiscard]] Status Load(const NodeTable& nodes);

  // Returns the time of the last event of the replay; 0 if there was none.
  [[nodiscard]] Micros last_time() const { return last_time_; }

  // ---- jobs ----
  // Checks inputs and output, and makes the output directory. A job that is to wait for others or for its release has
  // this done when it starts (StartWaiting); only what can be known is checked now. Returns the new job, or the one
  // that was submitted with the same token before. Returns kNotFound if a job for which it is to wait is not
  // remembered, and kInvalid if that one has ended otherwise than the request asks. Returns kDenied, before any task
  // runs, if `who` may not read the executable or an input, or may not make the output directory.
  Result<JobId> Submit(JobRequest request, Step* step, const dfs::Principal& who = dfs::Everybody());
  // Returns the number of the next job.
  [[nodiscard]] std::uint64_t next_number() const { return numbers_.next(); }
  // Reserves numbers of jobs; see ReservedCounter::Reserve.
  [[nodiscard]] std::uint64_t ReserveNumbers(Step* step) { return numbers_.Reserve(&step->batch); }
  // Does what JobTable::FindToken does.
  [[nodiscard]] std::optional<JobId> FindToken(const std::string& token) const { return jobs_.FindToken(token); }
  // Returns the ended jobs but the newest `kept`, from the oldest on.
  [[nodiscard]] std::vector<JobId> EndedBeyond(std::size_t kept) const { return jobs_.BeyondHistory(kept, {}); }
  [[nodiscard]] bool IsOutput(std::string_view path) const { return jobs_.IsOutput(path); }
  // Notes that a quota has no room for this file, however many other files end. If it is one of an attempt of a job,
  // and the attempt fails, the failure is permanent.
  void NoteOverQuota(std::string_view path);
  // Kills the job. Returns kNotFound if it is not remembered, kInvalid if it has ended.
  Status Kill(JobId job, const std::string& reason, Step* step);
  // Returns the most bytes of a spare log that Kill would take now; 0 if it would fail.
  [[nodiscard]] std::uint64_t BytesToKill(JobId job) const;
  Status SetPriority(JobId job, std::uint8_t priority, Step* step);
  // Holds the job for its owner or an operator; an operator's hold stays one. Returns kInvalid if a task of the job was
  // launched.
  Status HoldJob(JobId job, Hold by, Step* step);
  // Releases the job. Returns kInvalid if it is not held. The caller checks who may.
  Status ReleaseJob(JobId job, Step* step);
  // Returns true if a waiting job may be able to go on in the next step.
  [[nodiscard]] bool AnyDue() const { return !waiting_.due().empty(); }
  // Journals that the master started again. Requires: NoteRestart is called once after Load, before anything else is
  // journaled.
  void NoteRestart(Step* step) { journal_.RecordMark(sched::JournalMark::kRestart, step); }
  // Makes this scheduler decide from now on, and journals the change. After Load, the scheduler given to the
  // constructor decides until the first call; the schedulers in the journal serve only its replay. Requires:
  // `scheduler` is one that MakeScheduler makes.
  void SetScheduler(const sched::SchedulerSet& scheduler, Step* step);
  // Returns how often a scheduler was set since the tracker was made: each time there is another policy.
  [[nodiscard]] std::uint64_t policies() const { return policies_; }
  // Returns the side of the policy that asks a program; null if it asks nobody. Valid until the scheduler is set.
  [[nodiscard]] sched::Outside* outside() { return engine_.outside(); }
  // Gives the policy the answer to its open question, and journals it. Requires: the policy does not misread it.
  void AnswerPolicy(const sched::PolicyAnswered& answer, Step* step);
  // Forgets the history of programs. Returns the number of records that it had.
  std::size_t ForgetPrograms(Step* step);

  // ---- jobs that are lost with a later state of the database ----
  // Goes on with numbers that no earlier state of the database can have given (lost_jobs.h). `known` is the time until
  // when the database knows what happened, since the epoch; 0: unknown. Requires: nothing else was done with `step`'s
  // batch that gives out a number.
  void OpenGap(DoubtCause cause, Micros known, Step* step);
  // Takes in a submission that the audit log tells of.
  void NoteSubmission(const SubmittedJob& job, Step* step);

  // ---- nodes ----
  // The orders to a worker after it registered.
  struct Reconciled {
    std::vector<AttemptId> killed, settled;
    std::vector<JobId> forgotten;
  };
  // Takes in the registration of a worker. If its incarnation differs from the one that the engine knows, the worker
  // has lost everything. After that, the worker's claims and the master's beliefs are settled attempt by attempt.
  Reconciled NodeRegistered(const NodeRecord& node, const Claims& claims, Step* step);
  // Takes in the loss of a worker. `died` says that its process ended, which one of its tasks may have caused;
  // otherwise the worker was silent, or left.
  void NodeLost(NodeId node, bool died, Step* step);
  void NodeDrained(NodeId node, bool drained, Step* step) { Apply(sched::NodeDrained{node, drained}, JobId{0}, step); }
  // Updates the engine if it is wrong about whether a live node takes tasks.
  void NodeTakesTasks(NodeId node, bool takes, Step* step);
  // This node leaves in `left`. Ends the attempts on it that will not end before then, so that their tasks run
  // elsewhere. They are lost, which counts against nobody. O(running attempts)
  void GiveUpLate(NodeId node, Micros left, Step* step);
  // Takes in that other nodes cannot reach this live node. Its running attempts are lost, and so are its map outputs
  // that reduces may need; the tasks of all these run elsewhere. The losses count against nobody. O(running attempts +
  // outputs)
  void GiveUpOn(NodeId node, const std::string& reason, Step* step);
  // Orders copies of map outputs that only these leaving nodes have (output_moves.h).
  void MoveOutputs(const std::set<NodeId>& leaving, Step* step);
  // Takes in the end of a copy that MoveOutputs ordered. If the copy succeeded, the output's place is the new node from
  // now on.
  void OutputCopied(const OutputCopyOrder& copy, const Status& status, Step* step);
  // Returns the number of map outputs on this node that reduces of live jobs have to fetch.
  [[nodiscard]] std::size_t OutputsLeftOn(NodeId node) const { return OutputsOn(node, engine_.state()).size(); }
  // Returns the nodes that the engine considers alive; after Load, these have yet to register again.
  [[nodiscard]] std::vector<NodeId> EngineNodes() const;

  // ---- attempts ----
  // Commits the attempt if it may commit; otherwise gives its outputs up. Its files appear together, in one step, or
  // not at all. Late and repeated reports are normal.
  void AttemptDone(NodeId node, const AttemptId& attempt, const TaskReport& report,
                   const std::vector<AttemptOutput>& outputs, Step* step);
  // Takes in a failed attempt. `record` is the record on which a map was working, if the worker knows it. The record
  // counts if it lies in the map's input. `permanent` says that another attempt would fail in the same way.
  void AttemptFailed(NodeId node, const AttemptId& attempt, bool lost, const std::string& reason, Step* step,
                     std::optional<sched::RecordPlace> record = std::nullopt, bool permanent = false);
  void FetchFailed(NodeId node, const AttemptId& reduce, const AttemptId& map, std::uint32_t report, Step* step);
  void Progress(NodeId node, const AttemptId& attempt, double fraction, Step* step);
  // Takes in the node's free space. The engine's figure is updated if the space has grown by a sixteenth, or shrunk by
  // a sixteenth and 64 MiB.
  void NodeSpace(NodeId node, std::uint64_t free_bytes, Step* step);
  // These take in the report that a reduce has copied everything and now computes (ReduceComputing), or waits for a
  // permit to compute (ReduceCopied). Repeated reports are normal.
  void ReduceComputing(NodeId node, const AttemptId& attempt, Step* step);
  void ReduceCopied(NodeId node, const AttemptId& attempt, Step* step);
  // Makes an open file an output of this attempt. The file's writing ends with the attempt. Returns kNotFound if the
  // attempt does not run.
  Status HandOver(dfs::FileId file, const AttemptId& attempt);

  // ---- replicas ----
  // Reports to the engine the present places of the inputs of maps that are not done, if they differ from those that it
  // knows. A call examines at most kMostLookedAt maps, so the loss of a worker with very many blocks takes several
  // calls. Requires: this is called now and then, once the blocks of all awaited workers are known.
  static constexpr std::size_t kMostLookedAt = 4096;
  void NoteMovedReplicas(Step* step);

  // Starts the waiting jobs that may start, fails those for which another job was to succeed and has not, and lets the
  // policy fill free slots. Requires: the caller calls this at the end of every batch of calls.
  void Decide(Step* step);
  [[nodiscard]] std::optional<Micros> NextWake() const { return engine_.NextWake(); }

  // ---- looking ----
  // Returns whether View finds the job.
  [[nodiscard]] bool Remembers(JobId job) const {
    return jobs_.Find(job) != nullptr || numbers_.lost().Find(job) != nullptr;
  }
  // Returns the view of the job for clients; kNotFound if the job is not remembered.
  [[nodiscard]] Result<JobView> View(JobId job) const;
  // Returns the record of the job; null if the job is not remembered. The record is valid until the next call that
  // changes the tracker.
  [[nodiscard]] const JobRecord* FindRecord(JobId job) const;
  [[nodiscard]] Result<Counters> JobCounters(JobId job) const;
  [[nodiscard]] Result<std::vector<AttemptRecord>> Attempts(JobId job) const;  // in order of launch
  // Does what Journal::Read does. Job 0 stands for the lines of nodes and schedulers.
  [[nodiscard]] Result<Journal::Page> History(JobId job, std::uint64_t after, std::uint64_t offset,
                                              std::size_t limit) const;
  // Returns the input of a map attempt. Returns kNotFound if there was no such attempt, or if the job has ended and the
  // map's input was not kept (FailedMaps); returns kInvalid if the attempt is of a reduce.
  [[nodiscard]] Result<MapSplits> InputOfMap(const AttemptId& attempt) const;
  // Returns the paths of the executables that jobs need: those of live jobs, and those of remembered jobs with a failed
  // attempt, which can be run again (`millrace job rerun`).
  [[nodiscard]] std::set<std::string> NeededExecutables() const;
  // Returns the splits by map; null once the job has ended.
  [[nodiscard]] const std::vector<MapSplits>* Splits(JobId job) const;
  // These do what the calls of JobTable do.
  // Lost jobs are among those that do not live.
  [[nodiscard]] std::vector<JobId> JobsAfter(JobId after, std::size_t limit, bool live_only) const;
  [[nodiscard]] const ForgottenJobs& forgotten() const { return numbers_.forgotten(); }
  [[nodiscard]] const sched::ClusterState& cluster() const { return engine_.state(); }
  [[nodiscard]] sched::PolicyView ViewPolicy(Micros now) const;
  [[nodiscard]] const DecidingCost& deciding_cost() const { return deciding_cost_; }
  [[nodiscard]] const JobTallies& tallies() const { return tallies_; }

  // ---- when jobs start and end (master/control/forecasts.h) ----
  // Returns a copy of the engine that another thread may play forward; null if the scheduler cannot be copied.
  [[nodiscard]] std::unique_ptr<sched::Engine> DetachEngine() const { return engine_.Detach(); }
  [[nodiscard]] const sched::Forecaster& forecaster() const { return forecaster_; }
  // Does what Forecaster::Note does.
  void NoteStatements(const std::vector<sched::Statement>& statements, std::string_view scheduler,
                      const std::map<JobId, sched::JobFacts>& facts) {
    forecaster_.Note(statements, scheduler, facts);
  }
  // Returns how many jobs were submitted since the tracker was made.
  [[nodiscard]] std::uint64_t submissions() const { return submissions_; }
  // Returns how often, since the tracker was made, something was changed that no play foresees and that makes all that
  // was said before out of date: a job's priority was set, a job was held, released or killed, the scheduler was set,
  // or a node came, was lost, or began or ceased to take tasks. `last_turn` tells the last one as a sentence without
  // its full stop: "node 3 was lost".
  [[nodiscard]] std::uint64_t turns() const { return turns_; }
  [[nodiscard]] const std::string& last_turn() const { return last_turn_; }

  // These do what the functions of job_views.h do.
  [[nodiscard]] double CrossingShare(NodeId node) const { return master::CrossingShare(node, engine_.state()); }
  [[nodiscard]] std::vector<sched::RecordPlace> LeftOutBy(const AttemptId& attempt) const {
    return master::LeftOutBy(attempt, engine_.state());
  }
  [[nodiscard]] std::pair<std::uint32_t, std::uint32_t> RunningOn(NodeId node) const {
    return master::RunningOn(node, engine_);
  }

 private:
  // These do what the calls of JobTable do, and say more of a job that may be lost.
  [[nodiscard]] Result<const TrackedJob*> Get(JobId job) const;
  [[nodiscard]] Result<TrackedJob*> GetLive(JobId job);
  // ---- submission ----
  // Checks the parts of a request that do not depend on other jobs, and completes it.
  Status CheckRequest(JobRequest* request, const dfs::Principal& who, Micros now, JobId id) const;
  // Cuts the inputs and makes the output directory.
  Result<std::vector<PackedSplits>> PlanAndMakeOutput(const JobRequest& request, const dfs::Principal& who, Step* step);
  // Returns those of the jobs that have not ended.
  Result<std::vector<JobId>> CheckAfter(const JobRequest& request) const;
  // Gives the job to the engine.
  void GiveToEngine(TrackedJob& job, std::vector<PackedSplits> maps, Step* step);
  void StartWaiting(Step* step);
  // Returns a failure if the job cannot run any more.
  Status LookAtWaiting(TrackedJob& job, Step* step);
  Status Start(TrackedJob& job, Step* step);
  void EndWaiting(TrackedJob& job, sched::JobOutcome outcome, const std::string& reason, Step* step);

  // Notes the attempts of lost jobs among the claims of a worker.
  void NoteLostJobs(const NodeRecord& node, const Claims& claims, Step* step);
  [[nodiscard]] Status CheckRights(const JobRequest& request, const dfs::Principal& who) const;
  // Returns kDenied if the open file does not belong to the job's owner.
  [[nodiscard]] Status CheckOwnFile(const TrackedJob* job, const AttemptOutput& output) const;
  // Lets the engine apply the event, records the event under the job, and puts the effects into the step. Returns
  // false, and changes nothing, if the engine refused.
  bool Apply(const sched::Event& event, JobId job, Step* step);
  [[nodiscard]] std::int64_t Nanoseconds() const { return nanoseconds_ ? nanoseconds_() : 0; }

  // ---- effects of the engine ----
  void Carry(const sched::Effects& effects, Step* step);
  void CarryLaunch(const sched::Launch& launch, Step* step);
  void CarryCompute(const sched::Compute& compute, Step* step);
  void RepeatCompute(const AttemptId& reduce, Step* step);
  void CarryPreempt(const sched::Preempt& preempt, Step* step);
  void CarryEvict(JobId job, Step* step);
  void CarryBlame(const sched::Blame& blame, Step* step);
  void CarryOutput(const AttemptId& map, NodeId node, bool ready, Step* step);
  void CarryLeftOut(const sched::MapLeftOut& left_out, Step* step);
  void CarryEnd(const sched::JobEnded& end, Step* step);
  void CloseJob(TrackedJob& job, Step* step);
  void RecordHistory(const TrackedJob& job, Step* step);
  // Stores the records that were added last.
  void KeepForetold(const std::vector<sched::ForetoldRecord>& judged, Step* step);
  void ForgetOldJobs(Step* step);
  // Reports all map outputs of the job to the node, because it begins to run reduces of the job or may have missed
  // outputs.
  void AnnounceOutputs(JobId job, NodeId node, Step* step);
  // Notes that the view of every live job may have changed.
  void ChangeAll(Step* step) const { step->changed.insert(jobs_.live().begin(), jobs_.live().end()); }
  // Logs the nodes that are newly avoided since the last call, and those that are no longer avoided.
  void LogAvoidedNodes();

  // ---- attempts ----
  // Ends the attempt's record and gives up the files that it handed over. Does nothing if the attempt does not run.
  void EndAttempt(TrackedJob& job, const AttemptId& attempt, AttemptState state, const std::string& reason, Step* step);
  // Ends the records of the attempts on a lost node; the engine itself knows that these attempts are lost.
  void LoseAttemptsOn(NodeId node, Step* step);
  // Reports to the engine the rate at which a map got its input, if one other node sent most of the input that came
  // from others.
  void NoteTransfer(NodeId node, const MapSplits& splits, std::uint64_t bytes_per_second, Step* step);

  // ---- workers that register ----
  void AdmitNode(const NodeRecord& node, Step* step);
  void SettleAttempt(NodeId node, const AttemptId& attempt, worker::Claim claim, Reconciled* answer, Step* step);

  // ---- replay ----
  Status LoadHistory();
  void ReplayEvent(const sched::Event& event, Micros time);
  // Returns events that rebuild the present nodes, with the blame that jobs have put on them.
  [[nodiscard]] std::vector<sched::Event> NodesAsEvents() const;

  FileSystem& files_;
  const KeyValueStore& store_;
  sched::Engine engine_;
  std::size_t history_jobs_;
  bool wants_progress_ = false;  // the scheduler in force judges attempts by their progress
  Log log_;
  sched::JobHistory history_;  // of programs, stored under "h/"
  sched::Forecaster forecaster_;
  std::uint64_t submissions_ = 0, turns_ = 0, policies_ = 0;
  std::string last_turn_;
  JobNumbers numbers_;
  std::set<AttemptId> over_quota_;  // of live jobs (NoteOverQuota)
  Journal journal_;
  JobTable jobs_;
  WaitingJobs waiting_;
  std::function<dfs::Principal(const std::string&)> principal_of_;
  std::function<bool()> may_start_;
  InputPlaces places_;
  OutputMoves moves_;
  Micros last_time_ = 0;
  std::function<std::int64_t()> nanoseconds_;
  DecidingCost deciding_cost_;
  JobTallies tallies_;
  std::set<NodeId> avoided_;                      // as last logged
  std::map<NodeId, sched::NodeJoined> joined_;    // the nodes, as the engine knows them
  std::map<NodeId, std::uint64_t> incarnations_;  // of the nodes in `joined_`
};

}  // namespace millrace::master
