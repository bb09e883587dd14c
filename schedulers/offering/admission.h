// SPDX-License-Identifier: Apache-2.0
// Admission: decides whether a task may be placed now, and how far from its data. Through Admission, `+delay` and
// `+ccs` act on any policy: a policy that wants to place a task of a job on a node asks Admission, and never
// ClusterState itself.
//
// An Admission without gates allows everything that ClusterState does. Thread rule: one thread, const calls included.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/policy_view.h"

namespace millrace::sched {

// The gate that `+delay` adds (locality_wait.h): a job's maps may be placed no farther from their data than the level
// that the job has earned by waiting. A level is a distance; a job's clock runs while it waits for a closer slot.
class LocalityGate {
 public:
  virtual ~LocalityGate() = default;
  [[nodiscard]] virtual std::unique_ptr<LocalityGate> Clone() const = 0;
  virtual void OnJobSubmitted(const ClusterState& state, JobId job) = 0;
  virtual void OnJobEnded(const ClusterState& state, JobId job) = 0;
  // Returns the worst locality at which a map of the job may be launched now. Maps whose input lies on no node
  // (PendingMaps::unlocated) may always be launched. O(1).
  [[nodiscard]] virtual Locality Worst(const ClusterState& state, JobId job, Micros now) const = 0;
  // Starts the job's clock, unless the clock runs or the input of all the job's pending maps lies on no node. Worst()
  // may be farther afterwards. Requires: the job was offered a slot of the node and had no map close enough. O(1) if
  // the clock runs.
  virtual void OnSkipped(const ClusterState& state, JobId job, NodeId node, Micros now) = 0;
  // Records that a map of the job is about to be launched at this level.
  virtual void OnLaunched(const ClusterState& state, JobId job, Locality locality, Micros now) = 0;
  // Returns true if the job has more pending maps than there are slots at their data, so that it may have any slot that
  // would idle. O(1) on average. Requires: OnNodesChanged was called after each change of nodes, and OnDataMoved for
  // each job that got pending maps or whose data moved.
  [[nodiscard]] virtual bool Outnumbers(const ClusterState& state, JobId job) = 0;
  virtual void OnNodesChanged(const ClusterState& state) = 0;
  virtual void OnDataMoved(JobId job) = 0;
  // Returns the time at which the first of the waiting jobs earns its next level; it is after the time of the last
  // Advance().
  [[nodiscard]] virtual std::optional<Micros> NextWake(const ClusterState& state) const = 0;
  // Gives each waiting job the levels that it has earned by `now`. O(1), and more only for jobs that earned a level.
  virtual void Advance(const ClusterState& state, Micros now) = 0;
  // Calls Advance, and returns the jobs that have earned a farther level since the last call of TakeRaised. Slots that
  // these jobs refused must be offered to them again.
  virtual std::vector<JobId> TakeRaised(const ClusterState& state, Micros now) = 0;
  // Returns the time since which the job's clock runs; nothing if it does not run.
  [[nodiscard]] virtual std::optional<Micros> WaitingSince(JobId job) const = 0;
  // Returns the time at which the job earns its next level; nothing if it has earned the last level, or its clock does
  // not run.
  [[nodiscard]] virtual std::optional<Micros> WaitingUntil(const ClusterState& state, JobId job, Micros now) const = 0;
  // Returns the values in force, for people.
  [[nodiscard]] virtual std::vector<Fact> Facts() const = 0;
};

// The gate that `+ccs` adds (copy_compute_splitting.h): it limits how many reduces a node holds, and how many of one
// job may copy there.
class CopyGate {
 public:
  virtual ~CopyGate() = default;
  [[nodiscard]] virtual std::unique_ptr<CopyGate> Clone() const = 0;
  [[nodiscard]] virtual NodeLimits LimitsOf(const NodeState& node, NodeLimits without) const = 0;
  // Returns the number of further reduces of the job that may copy on the node.
  [[nodiscard]] virtual std::uint32_t CopyRoom(JobId job, const NodeState& node) const = 0;
  [[nodiscard]] bool MayCopy(JobId job, const NodeState& node) const { return CopyRoom(job, node) > 0; }
  // Returns the values in force, for people.
  [[nodiscard]] virtual std::vector<Fact> Facts() const = 0;
};

class Admission {
 public:
  Admission() = default;
  // Either gate may be null.
  Admission(std::unique_ptr<LocalityGate> locality, std::unique_ptr<CopyGate> copy);
  // A copy has gates of its own.
  Admission(const Admission& other);
  Admission(Admission&&) = default;
  Admission& operator=(const Admission&) = delete;
  Admission& operator=(Admission&&) = default;
  ~Admission() = default;

  void OnJobSubmitted(const ClusterState& state, JobId job);
  void OnJobEnded(const ClusterState& state, JobId job);
  void OnNodesChanged(const ClusterState& state);
  // Call this when the job got pending maps, or when the replicas of their input moved (RefusalMemory::OnJobChanged).
  void OnMapsAdded(JobId job);

  // Returns the job's pending map that is closest to the node, among those that may run there now. If it returns
  // nothing, the job has refused the slot, and its clock runs.
  std::optional<MapChoice> BestMap(const ClusterState& state, JobId job, NodeId node, Micros now);
  // Returns the map that BestMap would return, but starts no clock.
  [[nodiscard]] std::optional<MapChoice> PeekMap(const ClusterState& state, JobId job, NodeId node, Micros now) const;
  // Returns the job's next pending reduce that may start on the node now.
  [[nodiscard]] std::optional<std::uint32_t> NextReduce(const ClusterState& state, JobId job, NodeId node) const;
  // Returns the number of further tasks of the kind that the job could run on the node if slots were free there,
  // however far the tasks are from their data.
  [[nodiscard]] std::uint32_t CouldRun(const ClusterState& state, TaskKind kind, JobId job, NodeId node) const;
  // Returns the job's closest map for a slot that would otherwise idle, if the job may have such a slot. The launch
  // does not count towards the job's waits: do not call OnMapLaunched for it. Requires: every job has refused the slot
  // (BestMap).
  [[nodiscard]] std::optional<MapChoice> BestIdleMap(const ClusterState& state, JobId job, NodeId node) const;
  // Returns the nodes of ClusterState::FreeNodes that are preferred for tasks of the kind: with `+ccs` a reduce goes
  // where it need not wait for a permit, as long as there are such nodes.
  [[nodiscard]] const OrderedBits& NodesBeforeOthers(const ClusterState& state, TaskKind kind) const {
    return copy_ && kind == TaskKind::kReduce ? state.FreeNodesWithPermits() : state.FreeNodes(kind);
  }
  // Returns the reason why no further task of the job is launched now. If all slots are busy, the policy adds the jobs
  // that are ahead of this one. Requires: the job is runnable, and the policy itself would let it run. O(nodes with a
  // free slot).
  [[nodiscard]] WaitView WhyWaits(const ClusterState& state, TaskKind kind, JobId job, Micros now) const;
  // Adds the facts of the gates.
  void AddFacts(PolicyView* view) const;
  // Returns true if BestMap would return nothing only because the map's expected output does not fit on the node. No
  // clock starts.
  [[nodiscard]] bool LacksSpace(const ClusterState& state, JobId job, NodeId node, Micros now) const;
  // Returns true if LacksSpace does, or if BestIdleMap would return nothing for lack of space.
  [[nodiscard]] bool LacksSpaceIfIdle(const ClusterState& state, JobId job, NodeId node, Micros now) const;
  // Call this for each map that the policy decides to launch. The launch of a map whose input lies on no node leaves
  // the job's level and clock as they are.
  void OnMapLaunched(const ClusterState& state, JobId job, const MapChoice& choice, Micros now);

  [[nodiscard]] NodeLimits LimitsOf(const NodeState& node, NodeLimits without) const;
  // Returns the kind by which the reduces of a job or a pool count towards shares, minima, maxima and ceilings: reduce
  // slots, or compute permits with `+ccs`.
  [[nodiscard]] SlotKind CountedReduces() const { return copy_ ? kComputePermit : kReduceSlot; }
  [[nodiscard]] std::optional<Micros> NextWake(const ClusterState& state) const;
  // Return the gates: locality() is null without `+delay`, copy() without `+ccs`.
  [[nodiscard]] LocalityGate* locality() const { return locality_.get(); }
  [[nodiscard]] CopyGate* copy() const { return copy_.get(); }

 private:
  // Returns the closest map that the gate allows at this level.
  [[nodiscard]] static std::optional<MapChoice> Within(const ClusterState& state, JobId job, NodeId node,
                                                       Locality worst);

  std::unique_ptr<LocalityGate> locality_;
  std::unique_ptr<CopyGate> copy_;
};

}  // namespace millrace::sched
