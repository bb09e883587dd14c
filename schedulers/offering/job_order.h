// JobOrder: in which order the jobs are offered a free slot. What fifo, fair, capacity, sjf, mlq and edf differ in; the
// offering itself is Greedy's (greedy.h).
//
// An order holds exactly the jobs that ClusterState lists as runnable for a kind, and is told of changes as a Policy is
// (policy.h). Thread rule: one thread.
#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/core/cluster_state.h"
#include "schedulers/core/policy_view.h"

namespace millrace::sched {

class JobOrder {
 public:
  virtual ~JobOrder() = default;

  virtual void OnJobSubmitted(const ClusterState&, JobId) {}
  virtual void OnJobPrioritySet(const ClusterState&, JobId) {}
  virtual void OnJobEnded(const ClusterState&, JobId) {}
  virtual void OnJobChanged(const ClusterState&, JobId) {}
  virtual void OnNodesChanged(const ClusterState&) {}

  // Offers a slot of this kind to the runnable jobs, the first in order first, until one takes it; jobs that may not
  // have one now (their pool is at its maximum, k is reached) are left out. Returns the job that took it. `take`
  // changes nothing that the order depends on.
  using Take = std::function<bool(JobId)>;
  virtual std::optional<JobId> Offer(const ClusterState& state, TaskKind kind, Micros now, const Take& take) = 0;

  // True if `a` comes before `b` in the order in which Offer would go now; both are runnable. O(1): it serves to pick
  // the first of a few jobs without a walk over all.
  [[nodiscard]] virtual bool Before(const ClusterState& state, TaskKind kind, Micros now, JobId a, JobId b) const = 0;
  // False if Offer would leave the runnable job out. O(1).
  [[nodiscard]] virtual bool MayRun(const ClusterState&, TaskKind, JobId) const { return true; }
  // Offer goes in the order of ClusterState::RunnableJobs and leaves nobody out.
  [[nodiscard]] virtual bool IsTheQueue() const { return false; }
  // True if since the last call a runnable job that Offer left out may have been let in, so that slots which all others
  // refused have to be offered again. Always true is right, but costs O(free nodes) after each event while slots idle.
  virtual bool TakeLetIn(TaskKind) { return true; }

  [[nodiscard]] virtual std::optional<Micros> NextWake(const ClusterState&) const { return std::nullopt; }
  // The groups and facts of `scheduler show`, and the reason of each runnable job that MayRun refuses; Greedy adds the
  // reasons that are its own.
  [[nodiscard]] virtual PolicyView View(const ClusterState&, Micros) const { return {}; }
};

}  // namespace millrace::sched
