// Policy: who gets a free slot. One small file a policy under schedulers/policies, listed in catalog.
//
// The engine owns all state that every policy needs (ClusterState: nodes, free slots, jobs, the index of pending tasks
// by node, rack and datacenter) and tells the policy of changes; a policy keeps only its own order. It is called when
// something changed, never polled, and its cost must not grow with the number of tasks already done. Ties are broken by
// job id, then task index, then node id.
#pragma once

#include <optional>
#include <string_view>

#include "schedulers/core/cluster_state.h"
#include "schedulers/core/ids.h"

namespace millrace::sched {

// A task for a node with a free slot of that kind.
struct Decision {
  TaskId task;
  NodeId node;
};

class Policy {
 public:
  virtual ~Policy() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;

  // The jobs that live: each call comes after ClusterState has changed.
  virtual void OnJobSubmitted(const ClusterState& state, JobId job) = 0;
  virtual void OnJobPrioritySet(const ClusterState& state, JobId job) = 0;
  virtual void OnJobEnded(const ClusterState& state, JobId job) = 0;

  // The next task to launch, or nothing when no free slot can be filled. The engine launches it and asks again, so a
  // policy sees the effect of its own decisions.
  virtual std::optional<Decision> Next(const ClusterState& state, Time now) = 0;

  // When to be asked again although nothing happened; nothing by default.
  [[nodiscard]] virtual std::optional<Time> NextWake(const ClusterState& state) const;
};

}  // namespace millrace::sched
