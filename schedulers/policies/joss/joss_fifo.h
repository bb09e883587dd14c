// SPDX-License-Identifier: Apache-2.0
// JossFifo: MQ_FIFO and RQ_FIFO of JoSS, the queues of jobs whose filtering percentage is unknown (Lee et al. section
// 4.3). It has the order of `fifo` among its listed jobs, and leaves the others out. Thread rule: one thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "schedulers/offering/job_order.h"

namespace millrace::sched {

class JossFifo : public JobOrder {
 public:
  [[nodiscard]] std::unique_ptr<JobOrder> Clone(const ClusterState&) const override {
    return std::make_unique<JossFifo>(*this);
  }
  // List adds the job, and does nothing if it is listed. Unlist removes the job, and does nothing if it is not listed.
  void List(const ClusterState& state, JobId job);
  void Unlist(JobId job);
  [[nodiscard]] bool IsListed(JobId job) const { return keys_.contains(job); }

  void OnJobPrioritySet(const ClusterState& state, JobId job) override;
  void OnJobEnded(const ClusterState& state, JobId job) override;
  void OnJobChanged(const ClusterState& state, JobId job) override;
  PerSlot<bool> BeginRound(const ClusterState&, Micros) override { return std::exchange(let_in_, {}); }
  std::optional<JobId> Offer(const ClusterState& state, SlotKind kind, Micros now, const Take& take) const override;
  [[nodiscard]] bool Before(const ClusterState& state, SlotKind kind, Micros now, JobId a, JobId b) const override;
  [[nodiscard]] bool MayRun(const ClusterState& state, SlotKind kind, JobId job) const override;

 private:
  std::map<JobId, QueueKey> keys_;        // of the listed jobs
  PerSlot<std::set<QueueKey>> runnable_;  // the runnable ones among the listed jobs
  PerSlot<bool> let_in_;                  // since the last round began
};

}  // namespace millrace::sched
