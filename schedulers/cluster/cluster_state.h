// SPDX-License-Identifier: Apache-2.0
// ClusterState: nodes, free slots, jobs and pending tasks, with an index for each question that a policy asks.
//
// A policy sees it const. The other calls belong to the engine. They keep every index right, and abort when the engine
// breaks a requirement. Thread rule: one thread, const calls included.
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
#include "schedulers/cluster/job_table.h"
#include "schedulers/cluster/local_jobs.h"
#include "schedulers/cluster/ordered_bits.h"
#include "schedulers/cluster/pending_maps.h"
#include "schedulers/cluster/topology.h"
#include "schedulers/events/events.h"
#include "schedulers/events/limits.h"

namespace millrace::sched {

// The number of tasks that a node may run at once: of each kind, and together. A node may run more tasks than that,
// since running tasks continue when another policy, other settings or another split lowers its limits.
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
  NodeLimits limits;  // as the policy sets them
  Slots used;
  NodeLimits counted;                       // this node's part of ClusterState's capacity
  std::uint32_t counted_permits = 0;        // this node's part of ClusterState's capacity of permits
  std::vector<AttemptId> running;           // sorted
  std::uint32_t computing = 0;              // of the running reduces
  std::vector<JobId> copied;                // the job of each reduce that waits for a permit; in no order
  std::optional<std::uint64_t> free_bytes;  // room for map outputs: as last reported, less the outputs finished since
  std::uint64_t reserved_bytes = 0;         // expected outputs of the maps that run here
  // By job, in rising order: the number of its running reduces that copy or wait for a permit. Jobs without any are
  // absent.
  std::vector<std::pair<JobId, std::uint32_t>> copying;
  // The maps whose output for reduces is on this node. Maps whose output has moved or is no longer needed are dropped
  // when the list has grown to `prune_at`.
  std::vector<TaskId> outputs;
  std::size_t prune_at = 64;

  // A node in use may run attempts. It takes another task only if it is not avoided either.
  [[nodiscard]] bool InUse() const { return alive && !drained; }
  [[nodiscard]] bool TakesTasks() const { return InUse() && !avoided; }
  [[nodiscard]] std::uint32_t Used(TaskKind kind) const { return kind == TaskKind::kMap ? used.maps : used.reduces; }
  // Returns how many of the running tasks count towards the limit of both kinds together. All count except reduces
  // beyond their own limit that do not compute. Such reduces may wait for maps, so they keep no slot from maps.
  [[nodiscard]] std::uint32_t UsedTogether() const {
    return used.maps + std::max(computing, std::min(used.reduces, limits.reduces));
  }
  // Returns the number of further tasks of the kind for which the limits leave room.
  [[nodiscard]] std::uint32_t FreeSlots(TaskKind kind) const {
    return std::min(limits.Of(kind) - std::min(limits.Of(kind), Used(kind)),
                    limits.total - std::min(limits.total, UsedTogether()));
  }
  // Returns true if a slot of this kind is not in use, but tasks beyond the limit of the other kind take its room.
  [[nodiscard]] bool IsCrowded(TaskKind kind) const {
    return FreeSlots(kind) == 0 && Used(kind) < limits.Of(kind) &&
           std::min(used.maps, limits.maps) + std::min(used.reduces, limits.reduces) < limits.total;
  }
  // Returns the number of running reduces of this job that copy here or wait for a permit.
  [[nodiscard]] std::uint32_t Copying(JobId job) const;
  // Returns how many reduces may compute at once: as many as the policy lets compute, but at least the number of reduce
  // slots. The slots are the floor because a policy without `+ccs` may lower its limit while reduces run in the slots
  // that it gave them.
  [[nodiscard]] std::uint32_t Permits() const {
    return std::max({1U, slots.reduces, limits.reduces - std::min(limits.only_copying, limits.reduces)});
  }
  [[nodiscard]] bool HasFreePermit() const { return alive && computing < Permits(); }
};

class ClusterState {
 public:
  using JobQueue = std::set<QueueKey>;

  ClusterState() = default;
  // Makes a copy for a trial. Changes to the copy leave the original as it is. O(nodes + jobs), and O(tasks) of each
  // job that changes in the copy. Requires: the original outlives the copy, and does not change while the copy is used.
  ClusterState(const ClusterState&) = default;
  ClusterState& operator=(const ClusterState&) = delete;
  // Makes this copy share nothing with its original, so that the original may change or end and another thread may use
  // the copy. O(tasks) of all jobs.
  void Detach();

  // --- What a policy asks ---

  // Returns the node; null if it never joined. A lost node is still found, and is not alive.
  [[nodiscard]] const NodeState* FindNode(NodeId node) const;
  // Returns the job; null if it was never submitted or is forgotten. Of a job that has ended, only the parts that
  // EndJob keeps remain.
  [[nodiscard]] const JobState* FindJob(JobId job) const {
    const LentJob* const known = jobs_.Find(job);
    return known == nullptr ? nullptr : known->get();
  }
  // Returns the ids of the nodes that take another task of this kind (NodeState::TakesTasks is true and a slot is
  // free), in rising order.
  [[nodiscard]] const OrderedBits& FreeNodes(TaskKind kind) const { return free_[kind]; }
  // Returns true if NodeState::IsCrowded holds for any node that takes tasks. O(nodes).
  [[nodiscard]] bool AnyCrowded(TaskKind kind) const;
  // Returns the number of slots of Capacity(kind) that are in use. O(nodes).
  [[nodiscard]] std::uint32_t SlotsInUse(TaskKind kind) const;
  // Returns the nodes that take another reduce and on which fewer reduces run than may compute.
  [[nodiscard]] const OrderedBits& FreeNodesWithPermits() const { return free_with_permits_; }
  // Returns the live jobs, by priority, then submit order.
  [[nodiscard]] const JobQueue& LiveJobs() const { return live_; }
  // Returns the live jobs that have a pending map, or a pending reduce that slow start allows, by priority, then submit
  // order. Jobs that are withheld are left out. For permits, returns the jobs with a reduce that waits on a node with a
  // free permit.
  [[nodiscard]] const JobQueue& RunnableJobs(SlotKind kind) const { return runnable_[kind]; }
  // Calls visit(job) for the live jobs that are not withheld and have a pending map whose input is on the node, by
  // priority, then submit order, until `visit` returns false. It does not check whether the job refuses the node, or
  // whether its only such map avoids the node. The lists of these jobs are built on the first call, in O(pending maps),
  // and kept up to date from then on, at the cost of one cache line per replica and launch. A policy that never calls
  // this pays nothing. Requires: `visit` does not change the state.
  template <class Visit>
  void VisitLocalJobs(NodeId node, const Visit& visit) const {
    KeepLocalJobs();
    if (node.value >= nodes_.size()) return;
    const bool any = !held_.empty() || over_limit_ > 0;
    local_jobs_->VisitAt(node, [&](JobId job) { return (any && FindJob(job)->withheld()) || visit(job); });
  }
  // Returns true if VisitLocalJobs would visit the job. Requires: the job lives.
  [[nodiscard]] bool IsLocalJob(JobId job, NodeId node) const {
    KeepLocalJobs();
    return node.value < nodes_.size() && local_jobs_->Contains(job, node) && !FindJob(job)->withheld();
  }
  // Returns true if VisitLocalJobs would visit more than `count` jobs if no job were withheld.
  [[nodiscard]] bool MoreLocalJobsThan(NodeId node, std::size_t count) const;
  // Starts to keep the lists of VisitLocalJobs. A caller that will need the lists calls this early, since building them
  // later costs O(pending maps).
  void KeepLocalJobs() const {
    if (!local_jobs_) ListLocalJobs();
  }
  // Capacity returns the number of slots, or permits, on the nodes that take tasks, by the policy's limits.
  // TotalCapacity returns the number of slots of both kinds together. Running returns the number of running attempts on
  // all nodes.
  [[nodiscard]] std::uint32_t Capacity(SlotKind kind) const { return capacity_[kind]; }
  [[nodiscard]] std::uint32_t TotalCapacity() const { return total_capacity_; }
  [[nodiscard]] std::uint32_t Running(TaskKind kind) const { return running_[kind]; }
  // Returns the number of running attempts that run beside another attempt of the same task.
  [[nodiscard]] std::uint32_t Speculating(TaskKind kind) const { return speculating_[kind]; }
  // Returns the mean run time of all attempts that have finished so far, of any job; nothing before the first.
  [[nodiscard]] std::optional<Micros> MeanTime(TaskKind kind) const;
  [[nodiscard]] const Bandwidths& bandwidths() const { return bandwidths_; }
  // Returns the job's pending map that is closest to the node, and among equals the one with the lowest index. Returns
  // nothing if no map that the node may run is as close as `worst`, or if the expected output of the closest one does
  // not fit there. When no map runs anywhere, so that none can make room by ending, it returns the closest of the maps
  // that fit. Finding that map costs O(pending maps) if the smallest map fits; checking whether it does costs O(1) as
  // long as the job's pending maps are the same. Requires: the job and the node are alive.
  [[nodiscard]] std::optional<MapChoice> BestPendingMap(JobId job, NodeId node, Locality worst = Locality::kOff) const;
  // Returns the first of the job's pending maps whose input lies on no node (PendingMaps::unlocated), under the same
  // conditions as BestPendingMap.
  [[nodiscard]] std::optional<MapChoice> UnlocatedPendingMap(JobId job, NodeId node) const;
  // Returns true if BestPendingMap returns nothing only because the closest map does not fit.
  [[nodiscard]] bool BestMapLacksSpace(JobId job, NodeId node, Locality worst = Locality::kOff) const;
  // Returns true if UnlocatedPendingMap returns nothing only because the first such map does not fit.
  [[nodiscard]] bool UnlocatedMapLacksSpace(JobId job, NodeId node) const;
  // Returns true if BestMapLacksSpace returns true for some runnable job and some node with a free map slot. O(jobs x
  // free nodes).
  [[nodiscard]] bool AnyMapLacksSpace() const;
  // Returns the job's pending reduce with the lowest index among those that the node may run; nothing if there is none,
  // or if slow start holds the reduces back.
  [[nodiscard]] std::optional<std::uint32_t> NextPendingReduce(JobId job, NodeId node) const;
  // Returns the reduce that has waited longest among the job's reduces that wait on a node with a free permit.
  // Requires: there is such a reduce (RunnableJobs). O(waiting reduces of the job).
  [[nodiscard]] AttemptId NextToCompute(JobId job) const;
  // Returns true if the expected output of the map does not fit on the node beside the expected outputs of the maps
  // that run there.
  [[nodiscard]] bool LacksSpace(const JobState& job, std::uint32_t map, NodeId node) const;
  // Returns how many maps have been examined so far because the closest one did not fit. For tests.
  [[nodiscard]] std::uint64_t maps_looked_at() const { return maps_looked_at_; }
  // Returns true if the job refuses the node now, because too many of its attempts failed there
  // (EngineOptions::max_failures_per_node).
  [[nodiscard]] bool Refused(const JobState& job, NodeId node) const;
  // Returns true if an attempt of the task failed on the node, and another node, where none failed, takes tasks of the
  // job. When no map runs anywhere, that other node must also have room for the map.
  [[nodiscard]] bool Avoids(const JobState& job, TaskKind kind, std::uint32_t index, NodeId node) const;

  // Returns the paused tasks, by the time at which they become pending again.
  [[nodiscard]] const std::set<std::pair<Micros, TaskId>>& Paused() const { return paused_; }
  // By node: the jobs that blame the node, each with the time at which the blame ends. Jobs that have ended well are
  // included.
  using Blames = std::map<NodeId, std::map<JobId, Micros>>;
  [[nodiscard]] const Blames& blames() const { return blames_; }
  // Returns true if the node takes no tasks because too many jobs blame it.
  [[nodiscard]] bool Avoids(NodeId node) const { return FindNode(node) != nullptr && FindNode(node)->avoided; }
  // Returns the time at which the node stops being avoided if nothing else happens. Requires: the node is avoided.
  [[nodiscard]] Micros AvoidedUntil(NodeId node) const;
  // Returns the time at which PassTime will next end a pause, a refusal or a blame and so may allow a further task to
  // run; nothing if there is none.
  [[nodiscard]] std::optional<Micros> NextEnd() const;

  [[nodiscard]] const Topology& topology() const { return topology_; }
  // Returns the time of the event or the round that is under way, else of the last one.
  [[nodiscard]] Micros now() const { return now_; }
  [[nodiscard]] std::uint32_t live_nodes() const { return live_nodes_; }
  // All ids of nodes are below node_ids(), and all ids of jobs below job_ids().
  [[nodiscard]] std::uint32_t node_ids() const { return static_cast<std::uint32_t>(nodes_.size()); }
  [[nodiscard]] std::uint32_t job_ids() const { return static_cast<std::uint32_t>(used_.size()); }

  // --- What the engine does ---

  // Makes the node alive. O(pending maps with a replica on it). Requires: the node is not alive.
  void JoinNode(const NodeJoined& node);
  // Makes the node not alive; replicas on it do not count until it is back. O(pending maps with a replica on it).
  // Requires: the node is alive, and nothing runs on it.
  void LoseNode(NodeId node);
  void DrainNode(NodeId node, bool drained);
  void SetLimits(NodeId node, const NodeLimits& limits);
  void SetSpace(NodeId node, std::uint64_t free_bytes);
  // Reduces the node's free bytes by `bytes`, until the node's next report (SetSpace).
  void TakeSpace(NodeId node, std::uint64_t bytes);
  // Makes the job not runnable until ReleaseHeld, and counts the eviction.
  void Hold(JobId job);
  void ReleaseHeld();
  // Sets JobState::on_hold. Requires: the job lives; the caller sets over_limit to match.
  void SetOnHold(JobId job, bool held) { MutableJob(job).on_hold = held; }
  // Sets JobState::over_limit. Requires: the job lives, and has not started if `over`.
  void SetOverLimit(JobId job, bool over);
  // Returns true if some jobs are held, and no live job may run.
  [[nodiscard]] bool AllHeld() const;
  [[nodiscard]] bool AnyHeld() const { return !held_.empty(); }
  void NoteBandwidth(NodeId from, NodeId to, double bytes_per_second);

  // Returns true if a job has had this id, even if that job is forgotten.
  [[nodiscard]] bool WasUsed(JobId job) const;
  void AddJob(JobId job, JobSpec spec, Micros now);
  void SetPriority(JobId job, Priority priority);
  // Ends the job. Keeps its progress, queue key, run times, bytes of maps and bad records, and of its spec the name,
  // program and input type; drops the rest. Requires: no attempt of the job runs.
  void EndJob(JobId job, JobOutcome outcome, Micros now);
  void ForgetJob(JobId job);

  // Puts the attempt on the node. Returns the locality of a map: `locality` if it is given, else the one computed from
  // the replicas. Requires: the task is not done, the attempt has the task's next number, and the node is alive and not
  // drained.
  Locality StartAttempt(const AttemptId& attempt, NodeId node, Micros now,
                        std::optional<Locality> locality = std::nullopt);
  // Takes the attempt off its node. The task becomes pending again if this was its last running attempt and the task is
  // not done. Requires: the attempt runs.
  void StopAttempt(const AttemptId& attempt, Micros now);
  // Keeps the task from being pending until the time `until`. Requires: the task is pending.
  void Pause(const TaskId& task, Micros until);
  // Ends the pauses, refusals and blames whose time has come. Returns false if there were none. The engine calls this
  // before each event and each round.
  bool PassTime(Micros now);
  // Ends the task's pause, if it is paused, so that it is pending again.
  void Resume(const TaskId& task);
  // Makes the task done, with this attempt as its winner. Other attempts of the task may still run. Requires: the
  // attempt runs.
  void FinishAttempt(const AttemptId& attempt, Micros now);
  // Records that the reduce has copied its input and waits for a permit. Does nothing if it already waits or computes.
  // Requires: the attempt runs.
  void StartWaiting(const AttemptId& attempt, Micros now);
  // Records that the reduce has a permit and computes. Does nothing if it already computes. Requires: the attempt runs.
  void StartComputing(const AttemptId& attempt, Micros now);
  // Returns the maps of live jobs whose outputs for reduces are on the node, in order. Empties NodeState::outputs.
  std::vector<TaskId> TakeOutputs(NodeId node);
  // Makes a done map pending again. Requires: the map is done, and no attempt of it runs.
  void LoseOutput(JobId job, std::uint32_t map);
  // Puts the map's output on another node. Requires: the map has succeeded, and reduces fetch its output.
  void MoveOutput(JobId job, std::uint32_t map, NodeId to);
  // Counts the map as done from now on, without an output. Requires: the map is pending.
  void LeaveOut(JobId job, std::uint32_t map, Micros now);
  void MoveReplicas(JobId job, std::uint32_t map, std::vector<NodeId> replicas);
  // Counts a failed attempt of the task on the node. Returns true if `limit` attempts of the task's job have now failed
  // on the node (0: never), and the node is not bad for the job yet.
  bool CountNodeFailure(const TaskId& task, NodeId node, std::uint32_t limit);
  // Makes the node bad for the job until the time `until`. Requires: CountNodeFailure has just returned true.
  void Refuse(JobId job, NodeId node, Micros until);
  // Records that the job, which may have ended, blames the node until the time `until`. If that time has passed, the
  // job no longer blames the node.
  void Blame(NodeId node, JobId by, Micros until, Micros now);
  [[nodiscard]] std::vector<NodeId> BlamedBy(JobId job) const;
  // Forgets that jobs blame the node. The jobs that refuse it continue to refuse it.
  void ForgetBlames(NodeId node);

  // Returns the live jobs whose tasks have changed since the last call, in the order of the changes, each once. The
  // reference is valid until the next call.
  [[nodiscard]] const std::vector<JobId>& TakeChangedJobs();
  // Returns true if nodes or their limits have changed since the last call.
  [[nodiscard]] bool TakeNodesChanged() { return std::exchange(nodes_changed_, false); }
  // Drops the lists of VisitLocalJobs, until a call needs them again.
  void DropLocalJobs();

  // Returns the job, so that counters and records on which no index depends can be changed. Requires: the job is known.
  [[nodiscard]] JobState& MutableJob(JobId job);

 private:
  // Returns the closest map that the node may run, whether its output fits there or not.
  [[nodiscard]] std::optional<MapChoice> ClosestPendingMap(const JobState& job, NodeId node, Locality worst) const;
  // Returns the first map whose input lies on no node and that this node may run, whether its output fits there or not.
  [[nodiscard]] std::optional<MapChoice> FirstUnlocatedMap(const JobState& job, NodeId node) const;
  // Returns `choice` if its output fits on the node. Otherwise returns the closest of `maps` that fits if no map runs,
  // else nothing.
  [[nodiscard]] std::optional<MapChoice> ThatFits(const std::optional<MapChoice>& choice, const JobState& job,
                                                  NodeId node, Locality worst, const OrderedBits& maps) const;
  [[nodiscard]] bool LacksSpaceFor(std::uint64_t output, NodeId node) const;
  // Returns a predicate that is true for the job's maps that must not run on the node; empty if all may run there.
  [[nodiscard]] PendingMaps::Skip Avoided(const JobState& job, NodeId node) const;
  NodeState& Node(NodeId node);
  // Puts the node at `to` in the topology, or removes it if `to` is nowhere, and updates each pending map with a
  // replica on it. Requires: the node is not in the topology yet, or `to` is nowhere.
  void Place(NodeId node, Location to);
  void RefreshFree(const NodeState& node);
  void RefreshOpen(NodeState& node);
  void RefreshRunnable(JobState& job);
  void EnterQueues(JobState& job);
  void LeaveQueues(JobState& job);
  void InsertPending(JobState& job, TaskId task);
  void ErasePending(JobState& job, TaskId task);
  // Notes the time if all maps of the job are done.
  static void NoteMapsEnded(JobState& job, Micros now);
  // Adds the reduce to JobState::parts. Requires: the attempt runs, and is about to finish.
  static void NoteParts(JobState& job, const AttemptId& attempt, Micros now);
  RunningAttempt RemoveRunning(const AttemptId& attempt, Micros now);
  void EndPause(std::set<std::pair<Micros, TaskId>>::const_iterator at);
  void EndRefusal(JobId job, NodeId node);
  bool EndBlames(Micros now);
  // Decides again which nodes are avoided. Called when blames, or the nodes that are alive and take tasks, have
  // changed.
  void RefreshAvoided();
  [[nodiscard]] std::vector<NodeId> ToAvoid() const;
  // Returns true if, for each kind of slot that the node has, another node in use has such slots and is not in
  // `without`.
  [[nodiscard]] bool OthersServe(const NodeState& node, const std::vector<NodeId>& without) const;
  // Returns true if this number of nodes is a small enough part of the live nodes to be refused or avoided.
  [[nodiscard]] bool AreFew(std::uint64_t nodes) const { return nodes * kRefusableShare < live_nodes_; }
  void RemoveCopying(NodeState& node, JobId job);
  // Removes the reduce from those that wait for a permit. Returns the time that it has waited.
  Micros StopWaiting(NodeState& node, const AttemptId& attempt, Micros now);
  // Sets the number of reduces that compute on the node.
  void SetComputing(NodeState& node, std::uint32_t computing);
  // Updates JobState::may_compute for the reduces that wait on the node, if the node has gained its first free permit
  // or lost its last.
  void RefreshMayCompute(NodeState& node, bool had_free_permit);
  void NoteChanged(JobState& job);
  // ListLocal records that the job now has a pending map at these nodes, and UnlistLocal that it no longer has one.
  // Both do nothing if local jobs are not listed.
  void ListLocal(const JobState& job, const std::vector<NodeId>& nodes) const;
  void UnlistLocal(const JobState& job, const std::vector<NodeId>& nodes);
  // Returns an empty vector for PendingMaps to fill with the nodes of ListLocal or UnlistLocal; null while local jobs
  // are not listed.
  std::vector<NodeId>* LocalNodes();
  void ListLocalJobs() const;
  void NoteOutput(NodeId node, const TaskId& map);
  void PruneOutputs(NodeState& node);

  Topology topology_;
  std::vector<NodeState> nodes_;  // by id
  JobTable<LentJob> jobs_;
  std::vector<bool> used_;  // by number: there was such a job
  JobQueue live_;
  PerSlot<JobQueue> runnable_;
  mutable std::optional<LocalJobs> local_jobs_;  // of live jobs and nodes that ever joined; built on the first call
  Bandwidths bandwidths_;
  std::vector<JobId> changed_jobs_, taken_jobs_;
  bool nodes_changed_ = false;
  std::vector<JobId> held_;
  std::size_t over_limit_ = 0;                              // the number of live jobs with JobState::over_limit
  std::set<std::pair<Micros, TaskId>> paused_;              // of live jobs
  std::set<std::tuple<Micros, JobId, NodeId>> refusals_;    // of live jobs, by the time at which a bad node is forgiven
  std::set<std::tuple<Micros, NodeId, JobId>> blame_ends_;  // of blames_
  Blames blames_;
  std::uint32_t avoided_ = 0;  // nodes
  std::uint32_t total_capacity_ = 0;
  PerSlot<std::uint32_t> capacity_;
  PerKind<std::uint32_t> running_, speculating_;
  PerKind<std::uint32_t> finished_ = {};
  PerKind<Micros> finished_total_ = {};
  std::vector<NodeId> local_nodes_;  // of LocalNodes()

  PerKind<OrderedBits> open_;  // nodes that take tasks and have slots of the kind, in use or not
  PerKind<OrderedBits> free_;  // the nodes of open_ with a free slot
  OrderedBits free_with_permits_;
  std::uint32_t live_nodes_ = 0;
  mutable std::uint64_t maps_looked_at_ = 0;
  std::uint64_t submitted_ = 0;
  Micros now_ = 0;
};

}  // namespace millrace::sched
