// Admission: whether a task may be placed now, and how far from its data. The seam at which `+delay` and `+ccs` act on
// any policy: a policy that wants to place a task of a job on a node asks here, never ClusterState itself.
//
// Without parts everything is allowed. Thread rule: one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/core/cluster_state.h"

namespace millrace::sched {

// What `+delay` adds (locality_wait.h): a job's pending maps may be no farther from their data than its waits
// have earned it.
class LocalityGate {
 public:
  virtual ~LocalityGate() = default;
  virtual void OnJobSubmitted(const ClusterState& state, JobId job) = 0;
  virtual void OnJobEnded(const ClusterState& state, JobId job) = 0;
  // The worst locality at which a map of the job may be launched now. O(1).
  [[nodiscard]] virtual Locality Worst(const ClusterState& state, JobId job, Micros now) const = 0;
  // The job was offered a slot of the node and had nothing close enough: its clock runs, if it does not yet. O(1) when
  // it does. Worst() may then be farther.
  virtual void OnSkipped(const ClusterState& state, JobId job, NodeId node, Micros now) = 0;
  // A map of the job is launched at this level.
  virtual void OnLaunched(const ClusterState& state, JobId job, Locality locality, Micros now) = 0;
  // The job has more pending maps than there are slots at their data, so it may have a slot that would idle, wherever
  // it is. O(1) on average. Who asks tells of changed nodes, and of jobs that got
  // pending maps or whose data moved.
  [[nodiscard]] virtual bool Outnumbers(const ClusterState& state, JobId job) = 0;
  virtual void OnNodesChanged(const ClusterState& state) = 0;
  virtual void OnDataMoved(JobId job) = 0;
  // When the first of the waiting jobs earns its next level; later than the last call of Advance().
  [[nodiscard]] virtual std::optional<Micros> NextWake(const ClusterState& state) const = 0;
  // It is `now`: what was to happen until then has happened. O(1) but for the jobs that earned a level.
  virtual void Advance(const ClusterState& state, Micros now) = 0;
  // The jobs that have earned a farther level since the last call, so that slots refused before may be offered again.
  // Advances.
  virtual std::vector<JobId> TakeRaised(const ClusterState& state, Micros now) = 0;
  // Since when the job's clock runs, for people.
  [[nodiscard]] virtual std::optional<Micros> WaitingSince(JobId job) const = 0;
};

// What `+ccs` adds (copy_gate.h): how many reduces a node holds, and how many of one job may copy there.
class CopyGate {
 public:
  virtual ~CopyGate() = default;
  [[nodiscard]] virtual NodeLimits LimitsOf(const NodeState& node, NodeLimits without) const = 0;
  [[nodiscard]] virtual bool MayCopy(const ClusterState& state, JobId job, const NodeState& node) const = 0;
};

class Admission {
 public:
  Admission() = default;
  // Either may be null.
  Admission(std::unique_ptr<LocalityGate> locality, std::unique_ptr<CopyGate> copy);

  void OnJobSubmitted(const ClusterState& state, JobId job);
  void OnJobEnded(const ClusterState& state, JobId job);

  // The pending map of the job that is closest to the node and that may run there now. None counts as a refusal of the
  // slot by the job: its clock runs.
  std::optional<MapChoice> BestMap(const ClusterState& state, JobId job, NodeId node, Micros now);
  // The same without a refusal: a look.
  [[nodiscard]] std::optional<MapChoice> PeekMap(const ClusterState& state, JobId job, NodeId node, Micros now) const;
  // The pending reduce of the job that may start on the node now.
  [[nodiscard]] std::optional<std::uint32_t> NextReduce(const ClusterState& state, JobId job, NodeId node) const;
  // For a slot that BestMap refused for every job and that would idle: the closest map of the job, if it may have such
  // a slot. It does not count towards the job's waits, so OnMapLaunched is not called for it.
  [[nodiscard]] std::optional<MapChoice> BestIdleMap(const ClusterState& state, JobId job, NodeId node) const;
  // Returns true if the job is given no map for a slot of the node only because the map's expected output does not fit
  // there. It is a look: no clock starts.
  [[nodiscard]] bool LacksSpace(const ClusterState& state, JobId job, NodeId node, Micros now) const;
  // To be called for each map that the policy decides to launch.
  void OnMapLaunched(const ClusterState& state, JobId job, Locality locality, Micros now);

  [[nodiscard]] NodeLimits LimitsOf(const NodeState& node, NodeLimits without) const;
  [[nodiscard]] std::optional<Micros> NextWake(const ClusterState& state) const;
  // Null without `+delay`.
  [[nodiscard]] LocalityGate* locality() const { return locality_.get(); }
  [[nodiscard]] CopyGate* copy() const { return copy_.get(); }

 private:
  std::unique_ptr<LocalityGate> locality_;
  std::unique_ptr<CopyGate> copy_;
};

}  // namespace millrace::sched
