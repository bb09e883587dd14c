// ClusterState: nodes, free slots, jobs and pending tasks, with an index for each question that a policy asks.
//
// A policy sees it const. The other calls belong to the engine. They keep every index right, and abort when the engine
// breaks what they require. Thread rule: one thread, const calls included.
//
// Cost: a call is O(log) of nodes or jobs unless its comment says more, so a slot that frees and is filled costs about
// 1 us on a cluster of 10,000 nodes with 1,000 jobs.
#pragma once

#include <algorithm>
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
#include "schedulers/cluster/bandwidths.h"
#include "schedulers/cluster/job_state.h"
#include "schedulers/cluster/lent_job.h"
#include "schedulers/cluster/local_jobs.h"
#include "schedulers/cluster/ordered_bits.h"
#include "schedulers/cluster/pending_maps.h"
#include "schedulers/cluster/topology.h"
#include "schedulers/events/events.h"
#include "schedulers/events/limits.h"

namespace millrace::sched {

// How many tasks a node may run at once: of each kind, and together. A node may run more than that, since what runs
// goes on when another policy, other settings or another split lower its limits.
struct NodeLimits {
  std::uint32_t maps = 0;
  std::uint32_t reduces = 0;
  std::uint32_t total = 0;
  std::uint32_t only_copying = 0;  // of the reduces: how many of them may copy, or wait, but not compute (`+ccs`)
  bool operator==(const NodeLimits&) const = default;

  // Returns as many slots of each kind as the node declares.
  static NodeLimits Typed(Slots slots) { return {slots.maps, slots.reduces, slots.maps + slots.reduces}; }
  // Returns limits under which no slot has a type until it is filled (FRESH).
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
  std::uint32_t counted_permits = 0;        // likewise
  std::vector<AttemptId> running;           // sorted
  std::uint32_t computing = 0;              // of the running reduces
  std::vector<JobId> copied;                // by reduce that waits for a permit: its job; in no order
  std::optional<std::uint64_t> free_bytes;  // for map outputs, as last reported, less what was finished since
  std::uint64_t reserved_bytes = 0;         // expected of the maps that run here
  // How many running reduces copy or wait for a permit, by job in rising order; it has no zeros.
  std::vector<std::pair<JobId, std::uint32_t>> copying;
  // The maps that put their output for reduces here. Some outputs have moved or are of no use any more: their maps are
  // dropped when the list has grown to `prune_at`.
  std::vector<TaskId> outputs;
  std::size_t prune_at = 64;

  [[nodiscard]] bool TakesTasks() const { return alive && !drained && !avoided; }
  [[nodiscard]] std::uint32_t Used(TaskKind kind) const { return kind == TaskKind::kMap ? used.maps : used.reduces; }
  // Returns how many of the running tasks count towards the limit of both kinds together: all but the reduces beyond
  // their own limit that do not compute. Those may wait for maps, so they keep no slot from these.
  [[nodiscard]] std::uint32_t UsedTogether() const {
    return used.maps + std::max(computing, std::min(used.reduces, limits.reduces));
  }
  // Returns how many more tasks of the kind the limits leave room for.
  [[nodiscard]] std::uint32_t FreeSlots(TaskKind kind) const {
    return std::min(limits.Of(kind) - std::min(limits.Of(kind), Used(kind)),
                    limits.total - std::min(limits.total, UsedTogether()));
  }
  // Returns true if tasks beyond the limit of the other kind take the room of a slot of this kind that is not in use.
  [[nodiscard]] bool IsCrowded(TaskKind kind) const {
    return FreeSlots(kind) == 0 && Used(kind) < limits.Of(kind) &&
           std::min(used.maps, limits.maps) + std::min(used.reduces, limits.reduces) < limits.total;
  }
  // Returns how many running reduces of this job copy here, or wait for a permit.
  [[nodiscard]] std::uint32_t Copying(JobId job) const;
  // Returns how many reduces may compute at once: those that the policy lets compute, and never fewer than there are
  // slots, since a policy without `+ccs` may lower its limit while reduces run that it gave slots to.
  [[nodiscard]] std::uint32_t Permits() const {
    return std::max({1U, slots.reduces, limits.reduces - std::min(limits.only_copying, limits.reduces)});
  }
  [[nodiscard]] bool HasFreePermit() const { return alive && computing < Permits(); }
};

class ClusterState {
 public:
  using JobQueue = std::set<QueueKey>;

  ClusterState() = default;
  // Makes a copy to try something on. It changes for itself. O(nodes + jobs), and O(tasks) of each job that changes in
  // it. Requires: the original outlives the copy, and does not change while the copy is used.
  ClusterState(const ClusterState&) = default;
  ClusterState& operator=(const ClusterState&) = delete;

  // --- What a policy asks ---

  // Returns the node, which is not alive if it was lost; null if it never joined.
  [[nodiscard]] const NodeState* FindNode(NodeId node) const;
  // Returns the job, with its progress alone if it has ended; null if it was never submitted or is forgotten.
  [[nodiscard]] const JobState* FindJob(JobId job) const {
    return job.value < jobs_.size() ? jobs_[job.value].state.get() : nullptr;
  }
  // Returns the ids of the nodes that take another task of this kind (NodeState::TakesTasks is true and a slot is
  // free), in rising order.
  [[nodiscard]] const OrderedBits& FreeNodes(TaskKind kind) const { return free_[kind]; }
  // Returns true if a node that takes tasks IsCrowded. O(nodes).
  [[nodiscard]] bool AnyCrowded(TaskKind kind) const;
  // Returns how many of the slots of Capacity(kind) are in use. O(nodes).
  [[nodiscard]] std::uint32_t SlotsInUse(TaskKind kind) const;
  // Returns those of the nodes that take another reduce where fewer reduces run than may compute.
  [[nodiscard]] const OrderedBits& FreeNodesWithPermits() const { return free_with_permits_; }
  // Returns the live jobs, by priority, then submit order.
  [[nodiscard]] const JobQueue& LiveJobs() const { return live_; }
  // Returns the live jobs that have a pending map, or a pending reduce that slow start lets go, in the same order. Held
  // jobs are left out. For permits, returns the jobs with a reduce that waits for one of a node that has one free.
  [[nodiscard]] const JobQueue& RunnableJobs(SlotKind kind) const { return runnable_[kind]; }
  // Calls visit(job) for the live jobs that are not held and have a pending map whose input is on the node, in the same
  // order, until it returns false. It does not look whether the node is refused to a job, or avoided for its only such
  // map. The lists are built on the first call, in O(pending maps), and kept from then on at the cost of a cache line a
  // replica and launch, so a policy that never calls this pays nothing. Requires: `visit` does not change the state.
  template <class Visit>
  void VisitLocalJobs(NodeId node, const Visit& visit) const {
    KeepLocalJobs();
    if (node.value >= nodes_.size()) return;
    local_jobs_->VisitAt(node, [&](JobId job) { return (!held_.empty() && FindJob(job)->held) || visit(job); });
  }
  // Returns true if VisitLocalJobs would visit the job. Requires: the job lives.
  [[nodiscard]] bool IsLocalJob(JobId job, NodeId node) const {
    KeepLocalJobs();
    return node.value < nodes_.size() && local_jobs_->Contains(job, node) && !FindJob(job)->held;
  }
  // Returns true if VisitLocalJobs would visit more than `count` jobs, were no job held.
  [[nodiscard]] bool MoreLocalJobsThan(NodeId node, std::size_t count) const;
  // Starts to keep the lists of VisitLocalJobs. Call it early if you will ask: to build them later costs O(pending
  // maps).
  void KeepLocalJobs() const {
    if (!local_jobs_) ListLocalJobs();
  }
  // Capacity returns the slots, or permits, on the nodes that take tasks, by the policy's limits, and TotalCapacity the
  // slots of both kinds together. Running returns the attempts that run on any node.
  [[nodiscard]] std::uint32_t Capacity(SlotKind kind) const { return capacity_[kind]; }
  [[nodiscard]] std::uint32_t TotalCapacity() const { return total_capacity_; }
  [[nodiscard]] std::uint32_t Running(TaskKind kind) const { return running_[kind]; }
  // Returns how many of the running attempts run beside another attempt of the same task.
  [[nodiscard]] std::uint32_t Speculating(TaskKind kind) const { return speculating_[kind]; }
  // Returns the mean run time of the attempts of all jobs that have finished so far; nothing before the first.
  [[nodiscard]] std::optional<Micros> MeanTime(TaskKind kind) const;
  [[nodiscard]] const Bandwidths& bandwidths() const { return bandwidths_; }
  // Returns the pending map of the job that is closest to the node, the one with the lowest index among equals; nothing
  // if no map that the node may run is as close as `worst`, or if the expected output of the closest one does not fit
  // there. When no map runs anywhere, which might make room by ending, it is the closest of those that fit, in
  // O(pending maps) if the smallest fits, which is O(1) to tell as long as the job's pending maps are the same.
  // Requires: the job and the node are alive.
  [[nodiscard]] std::optional<MapChoice> BestPendingMap(JobId job, NodeId node, Locality worst = Locality::kOff) const;
  // Returns the first pending map of the job whose input lies on no node (PendingMaps::unlocated) in the same way.
  [[nodiscard]] std::optional<MapChoice> UnlocatedPendingMap(JobId job, NodeId node) const;
  // Returns true if BestPendingMap gives nothing only because the closest map does not fit.
  [[nodiscard]] bool BestMapLacksSpace(JobId job, NodeId node, Locality worst = Locality::kOff) const;
  // Returns true if UnlocatedPendingMap gives nothing only because the first such map does not fit.
  [[nodiscard]] bool UnlocatedMapLacksSpace(JobId job, NodeId node) const;
  // Returns true if this is so of some runnable job and some node with a free map slot. O(jobs x free nodes).
  [[nodiscard]] bool AnyMapLacksSpace() const;
  // Returns the pending reduce of the job with the lowest index that the node may run; nothing if there is none, or if
  // slow start holds the reduces back.
  [[nodiscard]] std::optional<std::uint32_t> NextPendingReduce(JobId job, NodeId node) const;
  // Returns the reduce of the job that has waited longest for a permit of a node that has one free. Requires: there is
  // one (RunnableJobs). O(reduces of the job that wait).
  [[nodiscard]] AttemptId NextToCompute(JobId job) const;
  // Returns true if the expected output of the map does not fit on the node beside those of the maps that run there.
  [[nodiscard]] bool LacksSpace(const JobState& job, std::uint32_t map, NodeId node) const;
  // Returns how many maps were looked at so far because the closest one did not fit, so that a test can count them.
  [[nodiscard]] std::uint64_t maps_looked_at() const { return maps_looked_at_; }
  // Returns true if too many attempts of the job failed on the node (EngineOptions::max_failures_per_node), not too
  // long ago.
  [[nodiscard]] bool Refused(const JobState& job, NodeId node) const;
  // Returns true if an attempt of the task failed on the node, and there is another node where none did and which takes
  // tasks of the job; when no map runs anywhere, one that has room for the map, too.
  [[nodiscard]] bool Avoids(const JobState& job, TaskKind kind, std::uint32_t index, NodeId node) const;

  // Returns the paused tasks, by the time at which they become pending again.
  [[nodiscard]] const std::set<std::pair<Micros, TaskId>>& Paused() const { return paused_; }
  // By node: the jobs that blame it, those that have ended well included, and until when each does.
  using Blames = std::map<NodeId, std::map<JobId, Micros>>;
  [[nodiscard]] const Blames& blames() const { return blames_; }
  // Returns true if so many jobs blame the node that it takes no tasks.
  [[nodiscard]] bool Avoids(NodeId node) const { return FindNode(node) != nullptr && FindNode(node)->avoided; }
  // Returns when the node stops being avoided if nothing else happens. Requires: the node is avoided.
  [[nodiscard]] Micros AvoidedUntil(NodeId node) const;
  // Returns when PassTime next has something to end, after which a task may run that may not now; nothing if never.
  [[nodiscard]] std::optional<Micros> NextEnd() const;

  [[nodiscard]] const Topology& topology() const { return topology_; }
  [[nodiscard]] std::uint32_t live_nodes() const { return live_nodes_; }
  [[nodiscard]] std::uint32_t node_ids() const { return static_cast<std::uint32_t>(nodes_.size()); }  // all are below
  [[nodiscard]] std::uint32_t job_ids() const { return static_cast<std::uint32_t>(jobs_.size()); }    // all are below

  // --- What the engine does ---

  // Makes the node alive. O(pending maps with a replica on it). Requires: the node is not alive.
  void JoinNode(const NodeJoined& node);
  // Makes the node not alive: a replica there is none until it is back. O(pending maps with a replica on it). Requires:
  // it is alive, and nothing runs there.
  void LoseNode(NodeId node);
  void DrainNode(NodeId node, bool drained);
  void SetLimits(NodeId node, const NodeLimits& limits);
  void SetSpace(NodeId node, std::uint64_t free_bytes);
  // Reduces the node's free bytes by `bytes`, until the node reports anew what it has (SetSpace).
  void TakeSpace(NodeId node, std::uint64_t bytes);
  // Makes the job not runnable until ReleaseHeld, and counts that.
  void Hold(JobId job);
  void ReleaseHeld();
  // Returns true if there are live jobs and all of them are held.
  [[nodiscard]] bool AllHeld() const;
  [[nodiscard]] bool AnyHeld() const { return !held_.empty(); }
  void NoteBandwidth(NodeId from, NodeId to, double bytes_per_second);

  // Returns true if the id was given to a job before, a forgotten one included.
  [[nodiscard]] bool WasUsed(JobId job) const;
  void AddJob(JobId job, JobSpec spec, Micros now);
  void SetPriority(JobId job, Priority priority);
  // Ends the job and drops all but its progress. Requires: no attempt of the job runs.
  void EndJob(JobId job, JobOutcome outcome, Micros now);
  void ForgetJob(JobId job);

  // Returns the locality of a map, which is the given one or found from its replicas. Requires: the task is not done,
  // the attempt has the task's next number, and the node is alive and not drained.
  Locality StartAttempt(const AttemptId& attempt, NodeId node, Micros now,
                        std::optional<Locality> locality = std::nullopt);
  // Takes the attempt off its node. The task becomes pending again if this was its last running attempt and the task is
  // not done. Requires: the attempt runs.
  void StopAttempt(const AttemptId& attempt, Micros now);
  // Keeps the task from being pending until then. Requires: it is pending.
  void Pause(const TaskId& task, Micros until);
  // Ends the pauses, refusals and blames whose time has come. Returns false if there was none.
  bool PassTime(Micros now);
  // Ends the task's pause, if it is paused: it is pending now.
  void Resume(const TaskId& task);
  // Makes the task done, with this attempt as its winner. Others may still run. Requires: the attempt runs.
  void FinishAttempt(const AttemptId& attempt, Micros now);
  // Takes note that the reduce has copied its input and waits for a permit; does nothing if it did before, or computes.
  // Requires: the attempt runs.
  void StartWaiting(const AttemptId& attempt, Micros now);
  // Takes note that the reduce has a permit and computes; does nothing if it did before. Requires: the attempt runs.
  void StartComputing(const AttemptId& attempt, Micros now);
  // Returns the maps of live jobs that have their outputs for reduces on the node, in order, and empties the node's
  // list of them.
  std::vector<TaskId> TakeOutputs(NodeId node);
  // Makes a done map pending again. Requires: it is done, and no attempt of it runs.
  void LoseOutput(JobId job, std::uint32_t map);
  // Puts the map's output on another node. Requires: the map has succeeded, and reduces fetch its output.
  void MoveOutput(JobId job, std::uint32_t map, NodeId to);
  // Counts the map as done from now on, without an output. Requires: it is pending.
  void LeaveOut(JobId job, std::uint32_t map);
  void MoveReplicas(JobId job, std::uint32_t map, std::vector<NodeId> replicas);
  // Counts that an attempt of the task failed on the node. Returns true if `limit` attempts of its job have now failed
  // there (0: never), and the node is not bad for the job yet.
  bool CountNodeFailure(const TaskId& task, NodeId node, std::uint32_t limit);
  // Makes the node bad for the job until then. Requires: CountNodeFailure has just returned true.
  void Refuse(JobId job, NodeId node, Micros until);
  // Takes note that the job, which may have ended, blames the node until then, or blames it no more if that time has
  // passed.
  void Blame(NodeId node, JobId by, Micros until, Micros now);
  [[nodiscard]] std::vector<NodeId> BlamedBy(JobId job) const;
  // Forgets that jobs blame the node. The jobs that refuse it do so still.
  void ForgetBlames(NodeId node);

  // Returns the live jobs that had a change in their tasks since the last call, in the order of the changes, each once.
  // The reference is valid until the next call.
  [[nodiscard]] const std::vector<JobId>& TakeChangedJobs();
  // Returns true if nodes, or their limits, changed since the last call.
  [[nodiscard]] bool TakeNodesChanged() { return std::exchange(nodes_changed_, false); }
  // Drops the lists of VisitLocalJobs, until a call asks for them again.
  void DropLocalJobs();

  // Gives the job for changes of counters and records that no index depends on. Requires: the job is known.
  [[nodiscard]] JobState& MutableJob(JobId job);

 private:
  struct JobEntry {
    bool used = false;
    LentJob state;
  };

  // Returns the closest map that the node may run, whether it fits there or not.
  [[nodiscard]] std::optional<MapChoice> ClosestPendingMap(const JobState& job, NodeId node, Locality worst) const;
  // Returns the first map whose input lies on no node that this one may run, whether it fits there or not.
  [[nodiscard]] std::optional<MapChoice> FirstUnlocatedMap(const JobState& job, NodeId node) const;
  // Returns `choice` if it fits on the node; else, when no map runs, the closest of `maps` that does; else nothing.
  [[nodiscard]] std::optional<MapChoice> ThatFits(const std::optional<MapChoice>& choice, const JobState& job,
                                                  NodeId node, Locality worst, const OrderedBits& maps) const;
  [[nodiscard]] bool LacksSpaceFor(std::uint64_t output, NodeId node) const;
  // Returns what tells the maps of the job that are not to run on the node; nothing if each may.
  [[nodiscard]] PendingMaps::Skip Avoided(const JobState& job, NodeId node) const;
  NodeState& Node(NodeId node);
  // Puts the node there in the topology, or takes it away, and each pending map with it. Requires: the node is not
  // there yet, or `to` is nowhere.
  void Place(NodeId node, Location to);
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
  // Decides anew which nodes are avoided. Call it when blames, or the nodes that live and take tasks, have changed.
  void RefreshAvoided();
  [[nodiscard]] std::vector<NodeId> ToAvoid() const;
  // Returns true if, for each kind of slots that the node has, another node has some, takes tasks and is not in
  // `without`.
  [[nodiscard]] bool OthersServe(const NodeState& node, const std::vector<NodeId>& without) const;
  // Returns true if `nodes` is so small a part of the live nodes that they may be refused, or avoided.
  [[nodiscard]] bool AreFew(std::uint64_t nodes) const { return nodes * kRefusableShare < live_nodes_; }
  void RemoveCopying(NodeState& node, JobId job);
  // Takes the reduce off those that wait for a permit. Returns how long it has waited.
  Micros StopWaiting(NodeState& node, const AttemptId& attempt, Micros now);
  // Changes how many reduces compute on the node.
  void SetComputing(NodeState& node, std::uint32_t computing);
  // Call it when the node has come to have a free permit, or to have none: the jobs that wait there are counted anew.
  void RefreshMayCompute(NodeState& node, bool had_free_permit);
  void NoteChanged(JobState& job);
  // Note that the job has its first pending map at these nodes, or has none there any more. They do nothing if local
  // jobs are not listed.
  void ListLocal(const JobState& job, const std::vector<NodeId>& nodes) const;
  void UnlistLocal(const JobState& job, const std::vector<NodeId>& nodes);
  // Returns an empty vector into which PendingMaps puts such nodes, or null while local jobs are not listed.
  std::vector<NodeId>* LocalNodes();
  void ListLocalJobs() const;
  void NoteOutput(NodeId node, const TaskId& map);
  void PruneOutputs(NodeState& node);

  Topology topology_;
  std::vector<NodeState> nodes_;  // by id
  std::vector<JobEntry> jobs_;    // by id
  JobQueue live_;
  PerSlot<JobQueue> runnable_;
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
  PerSlot<std::uint32_t> capacity_;
  PerKind<std::uint32_t> running_, speculating_;
  PerKind<std::uint32_t> finished_ = {};
  PerKind<Micros> finished_total_ = {};
  std::vector<NodeId> local_nodes_;  // of LocalNodes()

  PerKind<OrderedBits> open_;  // nodes that have slots of the kind, free or not, and are alive and not drained
  PerKind<OrderedBits> free_;  // those of them with a free one
  OrderedBits free_with_permits_;
  std::uint32_t live_nodes_ = 0;
  mutable std::uint64_t maps_looked_at_ = 0;
  std::uint64_t submitted_ = 0;
};

}  // namespace millrace::sched
