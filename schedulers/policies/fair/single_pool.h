// SPDX-License-Identifier: Apache-2.0
// SinglePoolOrder: the policies sjf and mlq (Zaharia et al., table 4; docs/schedulers/policies.md#sjf). Each is `fair`
// with a single pool of all jobs, in one of the orders of pool_jobs.h.
//
// The rule, as code, for a free slot of a kind on a node:
//
//   sjf:  for job in the jobs, by pending tasks of the kind * mean time of such a task (estimates.h):
//           if the job has a task that may run on the node: launch the closest, and return
//   mlq:  queues = the jobs of at most mlq.small_job_maps maps, and the larger ones
//         for queue in the queues, by running / share:    // shares by mlq's weights, as far as there is demand
//           for job in the queue, by priority, then submit order:
//             if the job has a task that may run on the node: launch the closest, and return
//
// Where the paper is silent: priorities count in mlq's queues, as in `fifo`, and not in sjf.
//
// Thread rule: one thread.
#pragma once

#include <memory>
#include <optional>

#include "schedulers/offering/job_order.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "schedulers/policies/fair/pool_jobs.h"

namespace millrace::sched {

class SinglePoolOrder : public JobOrder {
 public:
  SinglePoolOrder(PoolOrder order, const MlqSettings& mlq);

  [[nodiscard]] std::unique_ptr<JobOrder> Clone(const ClusterState& state) const override;
  void OnJobSubmitted(const ClusterState& state, JobId job) override;
  void OnJobPrioritySet(const ClusterState& state, JobId job) override;
  void OnJobEnded(const ClusterState& state, JobId job) override;
  void OnJobChanged(const ClusterState& state, JobId job) override;
  void OnNodesChanged(const ClusterState& state) override;
  PerSlot<bool> BeginRound(const ClusterState&, Micros) override { return {}; }
  std::optional<JobId> Offer(const ClusterState& state, SlotKind kind, Micros now, const Take& take) const override;
  [[nodiscard]] bool Before(const ClusterState& state, SlotKind kind, Micros now, JobId a, JobId b) const override;
  [[nodiscard]] PolicyView View(const ClusterState& state, Micros now) const override;

 private:
  const PoolOrder order_;
  const MlqSettings mlq_;
  const std::unique_ptr<PoolJobs> jobs_;
};

}  // namespace millrace::sched
