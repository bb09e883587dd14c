// SPDX-License-Identifier: Apache-2.0
// JobOrder: the order in which the jobs are offered a free slot, or a compute permit. Policies such as fifo, fair and
// edf differ only in their order: Greedy (greedy.h) offers each free slot to the jobs in this order and gives it to the
// first that has a task for it.
//
// An order must implement Offer and Before. One kind of order keeps the jobs that ClusterState lists as runnable for a
// kind of slot. It is notified of changes by the On... calls, which follow the rules of Policy (core/policy.h). Another
// kind keeps nothing and walks ClusterState::RunnableJobs. The other calls have defaults that are always right, and at
// worst slow.
//
// A const call changes nothing that another call would show. In particular an order does not learn from Offer that a
// job got a slot, since Greedy also calls it only to see which job is first. An order learns of a launch from
// OnJobChanged, since the job's running_attempts have then grown. They also grow through second attempts
// (speculation.h) and, for permits, through reduces that need not ask for a permit. Thread rule: one thread, const
// calls included.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/policy_view.h"

namespace millrace::sched {

class JobOrder {
 public:
  virtual ~JobOrder() = default;

  // Returns an independent order that decides from now on as this one does (Policy::Clone); null if the order cannot be
  // copied. An order that is safe to copy returns a copy. An order whose parts point to each other makes a new one and
  // notifies it of the nodes and the live jobs.
  [[nodiscard]] virtual std::unique_ptr<JobOrder> Clone(const ClusterState&) const { return nullptr; }

  // Returns the reason why a job like this must not be submitted; empty if the job may be submitted (Policy::Refusal).
  [[nodiscard]] virtual std::string Refusal(const JobSpec&) const { return {}; }
  virtual void OnJobSubmitted(const ClusterState&, JobId) {}
  virtual void OnJobPrioritySet(const ClusterState&, JobId) {}
  virtual void OnJobEnded(const ClusterState&, JobId) {}
  virtual void OnJobChanged(const ClusterState&, JobId) {}
  virtual void OnNodesChanged(const ClusterState&) {}

  // Called before slots are offered: when a round begins (Policy::BeginRound), or continues after a job was evicted. An
  // order that lets jobs in as time passes lets them in here.
  //
  // Returns true for each kind for which a runnable job that Offer has left out may be offered slots from now on.
  // Greedy then offers slots again to all jobs, even slots that the other jobs have refused. A needless true costs
  // O(free nodes) and changes no decision; hence the default. An order that leaves no job out returns {}.
  virtual PerSlot<bool> BeginRound(const ClusterState&, Micros) { return {true, true, true}; }

  // Calls take(job) for the runnable jobs, in order, until one takes the slot. Returns that job, or nothing. Leaves out
  // jobs that may not have a slot of the kind now (because their pool is at its maximum, say). `take` calls only const
  // functions of the order.
  using Take = std::function<bool(JobId)>;
  virtual std::optional<JobId> Offer(const ClusterState& state, SlotKind kind, Micros now, const Take& take) const = 0;

  // Returns true if Offer would ask `a` before `b` now. Requires: both jobs are runnable, and MayRun is true for both.
  // O(1) or nearly so: Greedy uses it to pick the first of a few jobs without a walk over all.
  [[nodiscard]] virtual bool Before(const ClusterState& state, SlotKind kind, Micros now, JobId a, JobId b) const = 0;
  // Returns false if Offer leaves the job out now, or would if it were runnable. Requires: the job lives. O(1). An
  // order that leaves jobs out must override this.
  [[nodiscard]] virtual bool MayRun(const ClusterState&, SlotKind, JobId) const { return true; }
  // Returns true if MayRun may become false for permits of the job while a reduce of the job runs
  // (Policy::MayHoldBack).
  [[nodiscard]] virtual bool MayHoldBack(const ClusterState&, JobId) const { return false; }
  // Returns true if Offer goes in the order of ClusterState::RunnableJobs and never leaves a job out, so that Greedy
  // need not call it.
  [[nodiscard]] virtual bool FollowsSubmitQueue() const { return false; }

  // Returns the time at which BeginRound would let jobs in even if nothing else happens; nothing if there is no such
  // time.
  [[nodiscard]] virtual std::optional<Micros> NextWake(const ClusterState&) const { return std::nullopt; }
  // Returns the groups and facts for `scheduler show`, and, for each runnable job for which MayRun is false, the reason
  // why it waits. Greedy adds its own reasons.
  [[nodiscard]] virtual PolicyView View(const ClusterState&, Micros) const { return {}; }
};

}  // namespace millrace::sched
