// sjf and mlq (Zaharia et al., table 4; docs/policies.md#sjf): `fair` with one pool that holds all jobs, in one of its
// orders (pool_jobs.h).
//
// sjf: the job with the least remaining work of that kind first, pending tasks x mean task time (estimates.h). mlq: one
// queue for jobs of at most mlq.small_job_maps maps and one for larger ones, weighted fair sharing between them, FIFO
// inside. Where the paper is silent: priorities count in mlq's queues, as in `fifo`, and not in sjf.
//
// Thread rule: one thread.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "schedulers/offering/job_order.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "schedulers/policies/fair/pool_jobs.h"

namespace millrace::sched {

class SinglePoolOrder : public JobOrder {
 public:
  SinglePoolOrder(PoolOrder order, const MlqSettings& mlq);

  void OnJobSubmitted(const ClusterState& state, JobId job) override;
  void OnJobPrioritySet(const ClusterState& state, JobId job) override;
  void OnJobEnded(const ClusterState& state, JobId job) override;
  void OnJobChanged(const ClusterState& state, JobId job) override;
  void OnNodesChanged(const ClusterState& state) override;
  PerKind<bool> BeginRound(const ClusterState&, Micros) override { return {}; }
  std::optional<JobId> Offer(const ClusterState& state, TaskKind kind, Micros now, const Take& take) const override;
  [[nodiscard]] bool Before(const ClusterState& state, TaskKind kind, Micros now, JobId a, JobId b) const override;
  [[nodiscard]] PolicyView View(const ClusterState& state, Micros now) const override;

 private:
  const PoolOrder order_;
  const MlqSettings mlq_;
  const std::unique_ptr<PoolJobs> jobs_;
  std::vector<std::unique_ptr<PoolJobs::Job>> entries_;  // by job id; of live jobs
};

}  // namespace millrace::sched
