// SPDX-License-Identifier: Apache-2.0
// fair: the Fair Scheduler (Zaharia et al. section 3, appendix A; docs/schedulers/policies.md#fair).
//
// The rule, as code, for a free slot of a kind on a node (greedy.h chooses among several free nodes). Map slots and
// reduce slots are shared separately:
//
//   for pool in the pools that run less than their maximum,
//       those below their minimum first, by running / minimum; then the others, by running / share; ties by name:
//     for job in the pool's jobs that max_running_jobs lets run, in the pool's own order:           // pool_jobs.h
//       if the job has a task that may run on the node: launch the closest, and return
//
//   share of a pool = weighted max-min of the slots with minima: each pool gets its minimum, as far as it has demand,
//                     and the rest levels the share / weight of pools with more demand              // shares.h
//   demand of a pool = the running and runnable tasks of its admitted jobs, at most its maximum
//
// FairOrder decides exactly as FairReference (reference.h), which computes all shares and the whole order again for
// each slot.
//
// A job is in the pool that it names, else in its user's pool. A pool exists while it has live jobs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schedulers/cluster/job_table.h"
#include "schedulers/offering/job_order.h"
#include "schedulers/policies/fair/fair_pool.h"
#include "schedulers/settings/settings.h"

namespace millrace::sched {

class FairOrder : public JobOrder {
 public:
  // `reduces`: the kind of slot in which the minimum and the maximum of a pool's reduces are counted. It is
  // kReduceSlot, or kComputePermit with `+ccs`, since a reduce that copies or waits takes only room to copy from the
  // other pools.
  explicit FairOrder(const Settings& settings, SlotKind reduces = kReduceSlot)
      : settings_(settings), reduces_(reduces) {}

  // Returns a new order of this class, with the same settings.
  [[nodiscard]] virtual std::unique_ptr<FairOrder> New() const {
    return std::make_unique<FairOrder>(settings_, reduces_);
  }
  [[nodiscard]] std::unique_ptr<JobOrder> Clone(const ClusterState& state) const override;
  // Takes over the jobs of another order, with their admissions and holds. Slots that the other order owes are not
  // taken over, since debts are forgotten after a round. Requires: this order is new, and the other one's New() or one
  // of its class with the same settings.
  virtual void TakeOver(const ClusterState& state, const FairOrder& other);
  void OnJobSubmitted(const ClusterState& state, JobId job) override;
  void OnJobPrioritySet(const ClusterState& state, JobId job) override;
  void OnJobEnded(const ClusterState& state, JobId job) override;
  void OnJobChanged(const ClusterState& state, JobId job) override;
  void OnNodesChanged(const ClusterState& state) override;
  PerSlot<bool> BeginRound(const ClusterState& state, Micros now) override;
  std::optional<JobId> Offer(const ClusterState& state, SlotKind kind, Micros now, const Take& take) const override;
  [[nodiscard]] bool Before(const ClusterState& state, SlotKind kind, Micros now, JobId a, JobId b) const override;
  [[nodiscard]] bool MayRun(const ClusterState& state, SlotKind kind, JobId job) const override;
  [[nodiscard]] bool MayHoldBack(const ClusterState& state, JobId job) const override;
  [[nodiscard]] PolicyView View(const ClusterState& state, Micros now) const override;

  using Pools = std::map<std::string, std::unique_ptr<FairPool>, std::less<>>;

  [[nodiscard]] const Settings& settings() const { return settings_; }
  // Returns the kind of slot in which the minima and maxima of reduces are counted.
  [[nodiscard]] SlotKind reduces() const { return reduces_; }
  [[nodiscard]] FairQueue& pools(SlotKind kind) const { return queues_[kind]; }
  // Returns the pools with live jobs, by name.
  [[nodiscard]] const Pools& live_pools() const { return pools_; }
  [[nodiscard]] FairPool& PoolOf(JobId job) const { return jobs_.At(job)->pool(); }
  // Keeps in *clocks the clocks of the jobs that are below their share of their pool (MakePoolJobs). Requires: no job
  // has been submitted; `clocks` outlives all calls.
  void KeepJobClocks(PerSlot<StarvationClocks>* clocks) { job_clocks_ = clocks; }
  // Starts and stops the clocks of the pool's jobs, which share this many units. Returns the range of units for which
  // no clock would have started or stopped.
  UnitRange UpdateJobClocks(FairPool& pool, SlotKind kind, Units units, Micros now);
  // With `held`, keeps slots of the kind from being offered to the job, until a call with false. The job's demand still
  // counts.
  void Hold(const ClusterState& state, SlotKind kind, JobId job, bool held);
  // Puts the pool before all others until it runs `running` tasks, or until ForgetOwed().
  void Owe(FairPool& pool, SlotKind kind, std::uint32_t running);
  // Puts the job before all others until it runs `running` tasks, or until ForgetOwed(), but after those that are owed
  // slots already. Requires: the job is owed no slots.
  void Owe(JobId job, SlotKind kind, std::uint32_t running);
  [[nodiscard]] bool IsOwed(JobId job, SlotKind kind) const { return jobs_.At(job)->Owed(kind); }
  [[nodiscard]] bool OwesAny(SlotKind kind) const { return owing_[kind]; }
  // Puts the job before the others of its pool until it runs `running` tasks, or until ForgetOwed().
  void PutFirstInPool(JobId job, SlotKind kind, std::uint32_t running);
  void ForgetOwed();
  // Does the same as Offer, but only for the jobs and pools that are owed slots.
  std::optional<JobId> OfferOwed(const ClusterState& state, SlotKind kind, const Take& take) const;

 protected:
  // Tells the queues of the pool's claims, as far as they have changed.
  void Refresh(FairPool& pool);

 private:
  std::optional<JobId> OfferTo(const ClusterState& state, SlotKind kind, const Take& take,
                               const std::function<bool(const FairPool&)>& which) const;
  [[nodiscard]] PoolJobs& JobsOf(FairPool& pool, SlotKind kind) const;
  [[nodiscard]] GroupView ViewOf(const FairPool* pool, const std::string& name) const;

  Settings settings_;
  const SlotKind reduces_;
  Pools pools_;
  PerSlot<StarvationClocks>* job_clocks_ = nullptr;
  PerSlot<bool> let_in_;                           // since the last round began
  PerSlot<bool> owing_;                            // some pool or job is owed slots
  PerSlot<std::vector<JobId>> owed_jobs_;          // since ForgetOwed()
  PerSlot<std::vector<JobId>> first_jobs_;         // in their pools; since ForgetOwed()
  JobTable<std::unique_ptr<FairPool::Job>> jobs_;  // of live jobs
  mutable PerSlot<FairQueue> queues_;              // recomputes shares when a call needs them
};

}  // namespace millrace::sched
