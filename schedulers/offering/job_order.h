// JobOrder: in which order the jobs are offered a free slot, or a compute permit. It is all that such policies as fifo,
// fair and edf differ in: Greedy (greedy.h) offers each free slot to the jobs in this order and gives it to the first
// that has a task for it.
//
// An order needs Offer and Before. It keeps the jobs that ClusterState lists as runnable for a kind of slot, and is
// told of changes by the On... calls of a Policy, with the same rules (core/policy.h); or it keeps nothing and walks
// ClusterState::RunnableJobs. The rest have defaults that are always right, and at worst slow.
//
// A const call changes nothing that another call would show. In particular an order does not learn from Offer that a
// job got a slot, since Greedy also asks it just to see who is first: a launch shows in OnJobChanged, where the job's
// running_attempts have grown. They grow by second attempts, too (speculation.h), and those of permits by reduces that
// need not ask for one. Thread rule: one thread, const calls included.
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

  // Returns an order that goes on as this one does, whatever happens to either (Policy::Clone); null if there is none.
  // One that keeps no more than copies may keep returns a copy; one whose parts point to each other makes a new one and
  // tells it of the nodes and the live jobs.
  [[nodiscard]] virtual std::unique_ptr<JobOrder> Clone(const ClusterState&) const { return nullptr; }

  // Returns why a job like this is not to be submitted; empty if it may be (Policy::Refusal).
  [[nodiscard]] virtual std::string Refusal(const JobSpec&) const { return {}; }
  virtual void OnJobSubmitted(const ClusterState&, JobId) {}
  virtual void OnJobPrioritySet(const ClusterState&, JobId) {}
  virtual void OnJobEnded(const ClusterState&, JobId) {}
  virtual void OnJobChanged(const ClusterState&, JobId) {}
  virtual void OnNodesChanged(const ClusterState&) {}

  // Slots are going to be offered: a round begins (Policy::BeginRound), or goes on after a job was evicted. An order
  // that lets jobs in as time passes lets them in here.
  //
  // Returns for each kind whether a runnable job that Offer has left out may be offered slots from now on. Greedy then
  // offers everybody the slots that all others have refused. Saying so without need costs O(free nodes) and changes no
  // decision; hence the default. An order that leaves nobody out returns {}.
  virtual PerSlot<bool> BeginRound(const ClusterState&, Micros) { return {true, true, true}; }

  // Calls take(job) for the runnable jobs, the first in order first, until one takes the slot, and returns that one, or
  // nothing. Leaves out the jobs that may not have a slot of the kind now: their pool is at its maximum, say. `take`
  // calls nothing of the order that is not const.
  using Take = std::function<bool(JobId)>;
  virtual std::optional<JobId> Offer(const ClusterState& state, SlotKind kind, Micros now, const Take& take) const = 0;

  // Returns true if Offer would ask `a` before `b` now. Requires: both are runnable, and MayRun is true of both. O(1)
  // or nearly so: it serves to pick the first of a few jobs without a walk over all.
  [[nodiscard]] virtual bool Before(const ClusterState& state, SlotKind kind, Micros now, JobId a, JobId b) const = 0;
  // Returns false if Offer leaves the job out now, or would if it were runnable. Requires: the job lives. O(1). An
  // order that leaves jobs out must say so here, too.
  [[nodiscard]] virtual bool MayRun(const ClusterState&, SlotKind, JobId) const { return true; }
  // Returns true if MayRun may come to be false for permits of the job though a reduce of it runs
  // (Policy::MayHoldBack).
  [[nodiscard]] virtual bool MayHoldBack(const ClusterState&, JobId) const { return false; }
  // Returns true if Offer goes in the order of ClusterState::RunnableJobs and never leaves anybody out, so that Greedy
  // need not ask.
  [[nodiscard]] virtual bool FollowsSubmitQueue() const { return false; }

  // Returns when BeginRound would let jobs in although nothing happens, or nothing.
  [[nodiscard]] virtual std::optional<Micros> NextWake(const ClusterState&) const { return std::nullopt; }
  // Returns the groups and facts of `scheduler show`, and why each runnable job waits that MayRun refuses. Greedy adds
  // the reasons that are its own.
  [[nodiscard]] virtual PolicyView View(const ClusterState&, Micros) const { return {}; }
};

}  // namespace millrace::sched
