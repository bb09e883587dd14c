// Policy: who gets a free slot. One small file a policy under schedulers/policies, listed in catalog.
//
// The engine owns all state that every policy needs (ClusterState: nodes, free slots, jobs, the index of pending tasks
// by node, rack and datacenter) and tells the policy of changes; a policy keeps only its own order. It is called when
// something changed, never polled, and its cost must not grow with the number of tasks already done. Ties are broken by
// job id, then task index, then node id.
//
// Order of calls: each On... comes after ClusterState has changed. A job is named by OnJobSubmitted before any other
// call names it, and by none after OnJobEnded. One event can change several jobs and nodes; OnJobChanged comes once for
// each, after the event's own call. Decide() is Preempt() once, then Next() until it gives nothing.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/core/cluster_state.h"
#include "schedulers/core/policy_view.h"

namespace millrace::sched {

// A task for a node with a free slot of that kind.
struct Decision {
  TaskId task;
  NodeId node;
  bool speculative = false;  // a second attempt of a task that runs on another node; else the task is pending
  // Of a map, as ClusterState::BestPendingMap gave it just now. None: the engine looks at the replicas itself.
  std::optional<Locality> locality = std::nullopt;
};

// A running attempt that has to make room.
struct Victim {
  AttemptId attempt;
  std::string reason;  // "pool ads is below its minimum share"
};

class Policy {
 public:
  virtual ~Policy() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;

  // The jobs that live.
  virtual void OnJobSubmitted(const ClusterState&, JobId) {}
  virtual void OnJobPrioritySet(const ClusterState&, JobId) {}
  virtual void OnJobEnded(const ClusterState&, JobId) {}
  // What the job runs, could run or has run is another: its pending, running or finished tasks changed in number.
  virtual void OnJobChanged(const ClusterState&, JobId) {}
  // Nodes came or went, or their limits changed: the capacity is another.
  virtual void OnNodesChanged(const ClusterState&) {}

  // How many tasks the node may run at once. The default is what the node declares.
  [[nodiscard]] virtual NodeLimits LimitsOf(const NodeState& node) const { return NodeLimits::Typed(node.slots); }
  // True once after the answers of LimitsOf have changed: the engine then asks for every node before the next Next().
  virtual bool TakeLimitsChanged() { return false; }

  // The attempts to kill now; they have to run.
  virtual std::vector<Victim> Preempt(const ClusterState&, Micros) { return {}; }
  // The next task to launch, or nothing when no free slot can be filled. The engine launches it and asks again, so a
  // policy sees the effect of its own decisions.
  virtual std::optional<Decision> Next(const ClusterState& state, Micros now) = 0;

  // Returns true if some map would be launched now if only its expected output fitted where the policy would place it.
  // The engine asks when Next has given nothing and no task runs that could make room by ending, and then evicts a job.
  // The default never has a job evicted, so jobs that hold all the room may wait for each other for ever. A policy that
  // finds maps for slots itself returns ClusterState::AnyMapLacksSpace(); one that keeps some jobs from some slots
  // leaves these out, or else a job is evicted that could have gone on. Greedy does it for all orders.
  [[nodiscard]] virtual bool WaitsForSpace(const ClusterState&, Micros) const { return false; }

  // When to be asked again although nothing happened.
  [[nodiscard]] virtual std::optional<Micros> NextWake(const ClusterState&) const { return std::nullopt; }

  // For people; may cost what it takes.
  [[nodiscard]] virtual PolicyView View(const ClusterState&, Micros) const { return {}; }
};

}  // namespace millrace::sched
