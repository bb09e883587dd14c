// SPDX-License-Identifier: Apache-2.0
// fifo: the default scheduler of Hadoop 1 (org.apache.hadoop.mapred.JobQueueTaskScheduler).
//
// The rule, as code, for a free slot on a node (greedy.h chooses among several free nodes):
//
//   for job in the jobs, by priority (VERY_HIGH, HIGH, NORMAL, LOW, VERY_LOW), then submit order:
//     map slot:    if a pending map of the job may run on the node: launch the closest, and return
//     reduce slot: if the job's slow-start fraction of maps is done and it has a pending reduce: launch it, and return
//
// Thread rule: one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "schedulers/offering/greedy.h"
#include "schedulers/offering/job_order.h"

namespace millrace::sched {

// The order is that of ClusterState's queue, so the class keeps no state.
class FifoOrder : public JobOrder {
 public:
  [[nodiscard]] std::unique_ptr<JobOrder> Clone(const ClusterState&) const override {
    return std::make_unique<FifoOrder>(*this);
  }
  PerSlot<bool> BeginRound(const ClusterState&, Micros) override { return {}; }
  std::optional<JobId> Offer(const ClusterState& state, SlotKind kind, Micros now, const Take& take) const override;
  [[nodiscard]] bool Before(const ClusterState& state, SlotKind kind, Micros now, JobId a, JobId b) const override;
  [[nodiscard]] bool FollowsSubmitQueue() const override { return true; }
};

class Fifo : public Greedy {
 public:
  explicit Fifo(std::string name = "fifo", Admission admission = {})
      : Greedy(std::move(name), std::make_unique<FifoOrder>(), std::move(admission)) {}
};

}  // namespace millrace::sched
