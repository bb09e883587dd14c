// ClusterState: nodes, free slots, jobs and pending tasks, with an index for each question that a policy asks.
//
// A policy sees it const. The other calls belong to the engine: they keep every index right, and each expects what it
// says (the engine has looked; a breach aborts). Thread rule: one thread, const calls included.
//
// Cost: each call O(log) of nodes or jobs unless it says more, so a slot that frees and is filled costs about 1 us on a
// cluster of 10,000 nodes with 1,000 jobs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/core/bandwidths.h"
#include "schedulers/core/events.h"
#include "schedulers/core/job_state.h"
#include "schedulers/core/limits.h"
#include "schedulers/core/local_jobs.h"
#include "schedulers/core/ordered_bits.h"
#include "schedulers/core/pending_maps.h"
#include "schedulers/core/topology.h"

namespace millrace::sched {

// How many tasks a node may run at once: of each kind, and together.
struct NodeLimits {
  std::uint32_t maps = 0;
  std::uint32_t reduces = 0;
  std::uint32_t total = 0;
  bool operator==(const NodeLimits&) const = default;

  // As many of each kind as the node declares.
  static NodeLimits Typed(Slots slots) { return {slots.maps, slots.reduces, slots.maps + slots.reduces}; }
  // All slots without a type until they are filled (FRESH).
  static NodeLimits Untyped(Slots slots) {
    const std::uint32_t all = slots.maps + slots.reduces;
    return {all, all, all};
  }
  [[nodiscard]] std::uint32_t Of(TaskKind kind) const { return kind == TaskKind::kMap ? maps : reduces; }
};

struct NodeState {
  NodeId id;
  bool alive = false;
  bool drained = false;
  bool avoided = false;  // too many jobs refuse it
  Location location;
  Slots slots;        // as the node declares them
  NodeLimits limits;  // as the policy has it
  Slots used;
  NodeLimits counted;                       // what ClusterState counts of it in its capacity
  std::vector<AttemptId> running;           // sorted
  std::optional<std::uint64_t> free_bytes;  // for map outputs, as last reported, less what was finished since
  std::uint64_t reserved_bytes = 0;         // expected of the maps that run here
  // Running reduces that still copy, by job in rising order; no zeros.
  std::vector<std::pair<JobId, std::uint32_t>> copying;
  // Maps whose output for reduces was put here; some have moved or are of no use any more, and are dropped when
  // the list has grown to `prune_at`.
  std::vector<TaskId> outputs;
  std::size_t prune_at = 64;

  [[nodiscard]] bool TakesTasks() const { return alive && !drained && !avoided; }
  [[nodiscard]] std::uint32_t Used(TaskKind kind) const { return kind == TaskKind::kMap ? used.maps : used.reduces; }
  // Of this job.
  [[nodiscard]] std::uint32_t Copying(JobId job) const;
};

class ClusterState {
 public:
  using JobQueue = std::set<QueueKey>;

  // --- What a policy asks ---

  // Null for a node that never joined; a lost one is there, not alive.
  [[nodiscard]] const NodeState* FindNode(NodeId node) const;
  // Null for a job that was never submitted or is forgotten; an ended one is there, with its progress alone.
  [[nodiscard]] const JobState* FindJob(JobId job) const {
    return job.value < jobs_.size() ? jobs_[job.value].state.get() : nullptr;
  }
  // Ids of the nodes that take another task of this kind (NodeState::TakesTasks, a slot free), in rising order.
  [[nodiscard]] const OrderedBits& FreeNodes(TaskKind kind) const { return free_[kind]; }
  // The jobs that live, by priority, then submit order.
  [[nodiscard]] const JobQueue& LiveJobs() const { return live_; }
  // Those with a pending map, or with a pending reduce that slow start lets go. In the same order.
  [[nodiscard]] const JobQueue& RunnableJobs(TaskKind kind) const { return runnable_[kind]; }
  // The live jobs with a pending map whose input is on the node, held ones included. Whether the node is refused to a
  // job, or avoided for its only such map, is not looked at. Who does not ask does not pay: the lists are made at the
  // first question, in O(pending maps), and kept from then on at the cost of a cache line a replica and launch.
  //
  // Calls visit(job) in the same order until it returns false. It changes nothing of the state.
  template <class Visit>
  void VisitLocalJobs(NodeId node, const Visit& visit) const {
    KeepLocalJobs();
    if (node.value < nodes_.size()) local_jobs_->VisitAt(node, visit);
  }
  // The job lives.
  [[nodiscard]] bool IsLocalJob(JobId job, NodeId node) const {
    KeepLocalJobs();
    return node.value < nodes_.size() && local_jobs_->Contains(job, node);
  }
  [[nodiscard]] bool MoreLocalJobsThan(NodeId node, std::size_t count) const;
  // From now on; for who will ask, while there are few jobs, so that the lists grow with them.
  void KeepLocalJobs() const {
    if (!local_jobs_) ListLocalJobs();
  }
  // Slots on the nodes that take tasks, by the policy's limits; the tasks that run on any node; and the
  // slots of both kinds together.
  [[nodiscard]] std::uint32_t Capacity(TaskKind kind) const { return capacity_[kind]; }
  [[nodiscard]] std::uint32_t TotalCapacity() const { return total_capacity_; }
  [[nodiscard]] std::uint32_t Running(TaskKind kind) const { return running_[kind]; }
  // Of the running attempts, those beside another of the same task.
  [[nodiscard]] std::uint32_t Speculating(TaskKind kind) const { return speculating_[kind]; }
  // Mean run time of all attempts that finished so far, of all jobs; nothing before the first.
  [[nodiscard]] std::optional<Micros> MeanTime(TaskKind kind) const;
  [[nodiscard]] const Bandwidths& bandwidths() const { return bandwidths_; }
  // Returns the pending map of the job that is closest to the node, the one with the lowest index among equals; nothing
  // if no map that the node may run is as close as `worst`, or if the expected output of the closest one does not fit
  // there. Requires: the job and the node are alive.
  [[nodiscard]] std::optional<MapChoice> BestPendingMap(JobId job, NodeId node, Locality worst = Locality::kOff) const;
  // Returns true if BestPendingMap gives nothing only because the closest map does not fit.
  [[nodiscard]] bool BestMapLacksSpace(JobId job, NodeId node, Locality worst = Locality::kOff) const;
  // Returns true if this is so of some runnable job and some node with a free map slot. O(jobs x free nodes).
  [[nodiscard]] bool AnyMapLacksSpace() const;
  // The pending reduce of the job with the lowest index that the node may run; none if slow start holds them.
  [[nodiscard]] std::optional<std::uint32_t> NextPendingReduce(JobId job, NodeId node) const;
  // The expected output of the map does not fit on the node beside those of the maps that run there.
  [[nodiscard]] bool LacksSpace(const JobState& job, std::uint32_t map, NodeId node) const;
  // Too many attempts of the job failed on the node (EngineOptions::max_failures_per_node), not too long ago.
  [[nodiscard]] bool Refused(const JobState& job, NodeId node) const;
  // An attempt of the task failed on the node, and there is another where none did and that takes tasks of the job.
  [[nodiscard]] bool Avoids(const JobState& job, TaskKind kind, std::uint32_t index, NodeId node) const;

  // The tasks that are paused, by the time at which they are pending again.
  [[nodiscard]] const std::set<std::pair<Micros, TaskId>>& Paused() const { return paused_; }
  // Of each node the jobs that blame it, those among them that have ended well, and until when.
  using Blames = std::map<NodeId, std::map<JobId, Micros>>;
  [[nodiscard]] const Blames& blames() const { return blames_; }
  // Too many of them blame it: it takes no tasks.
  [[nodiscard]] bool Avoids(NodeId node) const { return FindNode(node) != nullptr && FindNode(node)->avoided; }
  // When the node, which is avoided, is so no more if nothing else happens.
  [[nodiscard]] Micros AvoidedUntil(NodeId node) const;
  // When something ends that PassTime ends, and a task may run that may not now.
  [[nodiscard]] std::optional<Micros> NextEnd() const;

  [[nodiscard]] const Topology& topology() const { return topology_; }
  [[nodiscard]] std::uint32_t live_nodes() const { return live_nodes_; }
  [[nodiscard]] std::uint32_t node_ids() const { return static_cast<std::uint32_t>(nodes_.size()); }  // all are below
  [[nodiscard]] std::uint32_t job_ids() const { return static_cast<std::uint32_t>(jobs_.size()); }    // all are below

  // --- What the engine does ---

  // The node is not alive. If it stands elsewhere than before, O(pending maps with a replica on it).
  void JoinNode(const NodeJoined& node);
  // The node is alive and nothing runs there.
  void LoseNode(NodeId node);
  void DrainNode(NodeId node, bool drained);
  void SetLimits(NodeId node, const NodeLimits& limits);
  void SetSpace(NodeId node, std::uint64_t free_bytes);
  // So much less, until the node says again what it has.
  void TakeSpace(NodeId node, std::uint64_t bytes);
  // The job is not runnable, until it is released.
  void Hold(JobId job);
  void ReleaseHeld();
  // There are live jobs, and all are held.
  [[nodiscard]] bool AllHeld() const;
  void NoteBandwidth(NodeId from, NodeId to, double bytes_per_second);

  // An id that was given to a job before, forgotten ones included.
  [[nodiscard]] bool WasUsed(JobId job) const;
  void AddJob(JobId job, JobSpec spec, Micros now);
  void SetPriority(JobId job, Priority priority);
  // No attempt of the job runs.
  void EndJob(JobId job, JobOutcome outcome, Micros now);
  void ForgetJob(JobId job);

  // The task is not done, the attempt has its next number, the node is alive and not drained. Returns the locality of a
  // map, which is the given one or found from its replicas.
  Locality StartAttempt(const AttemptId& attempt, NodeId node, Micros now,
                        std::optional<Locality> locality = std::nullopt);
  // A running attempt is no more; the task is pending again if it was the last one and the task is not done.
  void StopAttempt(const AttemptId& attempt, Micros now);
  // The task, which is pending, is not until then.
  void Pause(const TaskId& task, Micros until);
  // Pauses, refusals and blames whose time has come end. False if there was none.
  bool PassTime(Micros now);
  // The task is pending now, if it was paused.
  void Resume(const TaskId& task);
  // A running attempt has won: the task is done. Others may still run.
  void FinishAttempt(const AttemptId& attempt, Micros now);
  // The running reduce has begun to compute, if it had not before.
  void StartComputing(const AttemptId& attempt);
  // The maps of live jobs whose outputs for reduces are on the node, in order; the node's list of them is then empty.
  std::vector<TaskId> TakeOutputs(NodeId node);
  // The task of a done map runs again; nothing of it runs now.
  void LoseOutput(JobId job, std::uint32_t map);
  // The map is pending: it counts as done from now on, without an output.
  void LeaveOut(JobId job, std::uint32_t map);
  void MoveReplicas(JobId job, std::uint32_t map, std::vector<NodeId> replicas);
  // An attempt of the task failed on the node. True if there are `limit` such of its job now (0: never), and the node
  // is not bad for the job yet.
  bool CountNodeFailure(const TaskId& task, NodeId node, std::uint32_t limit);
  // The node is bad for the job until then. Requires: CountNodeFailure has just said so.
  void Refuse(JobId job, NodeId node, Micros until);
  // The job, which may have ended, blames the node until then; no more if that has passed.
  void Blame(NodeId node, JobId by, Micros until, Micros now);
  [[nodiscard]] std::vector<NodeId> BlamedBy(JobId job) const;
  // Nobody blames the node any more, but jobs that refuse it do so still.
  void ForgetBlames(NodeId node);

  // Live jobs whose tasks changed since the last call, in the order of the changes, each once. Valid until the next
  // call.
  [[nodiscard]] const std::vector<JobId>& TakeChangedJobs();
  // Nodes, or their limits, changed since the last call.
  [[nodiscard]] bool TakeNodesChanged() { return std::exchange(nodes_changed_, false); }
  // The lists of LocalJobs are not kept any more, until somebody asks again.
  void DropLocalJobs();

  // For counters and records that no index depends on. The job is known.
  [[nodiscard]] JobState& MutableJob(JobId job);

 private:
  struct JobEntry {
    bool used = false;
    std::unique_ptr<JobState> state;
  };

  // The closest map that the node may run, whether it fits there or not.
  [[nodiscard]] std::optional<MapChoice> ClosestPendingMap(const JobState& job, NodeId node, Locality worst) const;
  NodeState& Node(NodeId node);
  void RefreshFree(const NodeState& node);
  void RefreshOpen(NodeState& node);
  void RefreshRunnable(JobState& job);
  void EnterQueues(JobState& job);
  void LeaveQueues(JobState& job);
  void InsertPending(JobState& job, TaskId task);
  void ErasePending(JobState& job, TaskId task);
  RunningAttempt RemoveRunning(const AttemptId& attempt, Micros now);
  void EndPause(std::set<std::pair<Micros, TaskId>>::const_iterator at);
  void EndRefusal(JobId job, NodeId node);
  bool EndBlames(Micros now);
  // To be called when blames, or the nodes that live and take tasks, are others.
  void RefreshAvoided();
  [[nodiscard]] std::vector<NodeId> ToAvoid() const;
  // Each kind of slots that the node has is there on another one, which takes tasks and is not among these.
  [[nodiscard]] bool OthersServe(const NodeState& node, const std::vector<NodeId>& without) const;
  // So few of the live nodes may be refused, or avoided.
  [[nodiscard]] bool AreFew(std::uint64_t nodes) const { return nodes * kRefusableShare < live_nodes_; }
  void RemoveCopying(NodeState& node, JobId job);
  void NoteChanged(JobState& job);
  // The job has its first pending map, or no longer one, at these nodes. If local jobs are listed.
  void ListLocal(const JobState& job, const std::vector<NodeId>& nodes) const;
  void UnlistLocal(const JobState& job, const std::vector<NodeId>& nodes);
  // Where PendingMaps puts such nodes: empty, or null while they are not asked for.
  std::vector<NodeId>* LocalNodes();
  void ListLocalJobs() const;
  void PruneOutputs(NodeState& node);

  Topology topology_;
  std::vector<NodeState> nodes_;  // by id
  std::vector<JobEntry> jobs_;    // by id
  JobQueue live_;
  PerKind<JobQueue> runnable_;
  mutable std::optional<LocalJobs> local_jobs_;  // of live jobs and nodes that ever joined; once somebody asked
  Bandwidths bandwidths_;
  std::vector<JobId> changed_jobs_, taken_jobs_;
  bool nodes_changed_ = false;
  std::vector<JobId> held_;
  std::set<std::pair<Micros, TaskId>> paused_;              // of live jobs
  std::set<std::tuple<Micros, JobId, NodeId>> refusals_;    // of live jobs: when a bad node is forgiven
  std::set<std::tuple<Micros, NodeId, JobId>> blame_ends_;  // of blames_
  Blames blames_;
  std::uint32_t avoided_ = 0;  // nodes
  std::uint32_t total_capacity_ = 0;
  PerKind<std::uint32_t> capacity_, running_, speculating_;
  PerKind<std::uint32_t> finished_ = {};
  PerKind<Micros> finished_total_ = {};
  std::vector<NodeId> local_nodes_;  // of LocalNodes()

  PerKind<OrderedBits> open_;  // nodes that have slots of the kind, free or not, and are alive and not drained
  PerKind<OrderedBits> free_;  // those of them with a free one
  std::uint32_t live_nodes_ = 0;
  std::uint64_t submitted_ = 0;
};

}  // namespace millrace::sched
