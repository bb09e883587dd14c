// SPDX-License-Identifier: Apache-2.0
// PoolJobs: the jobs of one pool of `fair`, in the pool's own order: fair, fifo, sjf or mlq
// (docs/schedulers/policies.md#fair).
//
// fair: by running/share, where a job's weight is 4, 2, 1, 0.5 or 0.25 by its priority. fifo: by priority, then submit
// order. sjf: the least remaining work of that kind first (estimates.h). mlq: the small jobs, of at most
// mlq.small_job_maps maps, and the large ones share the pool by mlq's weights; fifo inside. Ties by job id.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/offering/job_order.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "schedulers/policies/fair/starvation_clocks.h"
#include "schedulers/policies/fair/water_level.h"

namespace millrace::sched {

class PoolJobs {
 public:
  virtual ~PoolJobs() = default;
  // Inserts the job, or updates it after a change of its tasks or its priority. `offered` says which kinds of slots are
  // offered to the job; it has its share of the other kinds, too.
  virtual void Put(const ClusterState& state, const JobState& job, PerSlot<bool> offered) = 0;
  // Requires: the job is in the pool.
  virtual void Erase(JobId job) = 0;
  // Sets the number of slots that the pool divides among its jobs.
  virtual void SetShare(SlotKind, Units) {}
  // Starts and stops the clocks of the jobs that lack slots of the kind. Returns the range of pool shares for which no
  // clock would have started or stopped; the full range where jobs have no clocks (MakePoolJobs).
  virtual UnitRange UpdateClocks(SlotKind, Micros) { return {}; }
  // Offer and Before do the same as in JobOrder. They may do work that was put off, and change nothing else. Before
  // requires: both jobs are in the pool.
  virtual std::optional<JobId> Offer(const ClusterState& state, SlotKind kind, const JobOrder::Take& take) = 0;
  [[nodiscard]] virtual bool Before(const ClusterState& state, SlotKind kind, JobId a, JobId b) = 0;
};

// `clocks`: receives the clocks of jobs that are below their share of their pool, if the pool's order is fair; in other
// orders jobs have no shares. May be null.
[[nodiscard]] std::unique_ptr<PoolJobs> MakePoolJobs(PoolOrder order, const MlqSettings& mlq,
                                                     PerSlot<StarvationClocks>* clocks = nullptr);
[[nodiscard]] std::unique_ptr<PoolJobs> MakeSjfJobs();

// Returns the weight of a job in its pool.
[[nodiscard]] double PriorityWeight(Priority priority);
[[nodiscard]] bool IsSmall(const MlqSettings& mlq, const JobState& job);

// Returns, in the order of `jobs`, the part of the pool's slots that each of these jobs may have by the pool's order.
// In an order that is not fair, the first job gets all that it can use, then the second, and so on. O(jobs log jobs).
[[nodiscard]] std::vector<double> JobShares(const ClusterState& state, PoolOrder order, const MlqSettings& mlq,
                                            SlotKind kind, double slots, const std::vector<JobId>& jobs);

}  // namespace millrace::sched
