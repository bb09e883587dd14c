// fifo: the default scheduler of Hadoop 1 (org.apache.hadoop.mapred.JobQueueTaskScheduler).
//
// Jobs stand in one queue, by priority (VERY_HIGH, HIGH, NORMAL, LOW, VERY_LOW), then submit order. A free map slot
// goes to the first job with a pending map; within the job the map closest to the node is taken (node, rack,
// datacenter, off), the lowest index first. A free reduce slot goes to the first job with a pending reduce whose
// slow-start fraction of maps is done. A job to which the node is refused is passed over. Free nodes are served by id,
// a node's map slots all at once, maps before reduces. Unlike Hadoop, which fills trackers evenly as their heartbeats
// come.
#pragma once

#include <optional>
#include <string_view>

#include "schedulers/core/policy.h"

namespace millrace::sched {

class Fifo : public Policy {
 public:
  [[nodiscard]] std::string_view name() const override { return "fifo"; }
  // The order of the jobs is that of ClusterState's queue, so there is nothing to keep.
  void OnJobSubmitted(const ClusterState&, JobId) override {}
  void OnJobPrioritySet(const ClusterState&, JobId) override {}
  void OnJobEnded(const ClusterState&, JobId) override {}
  std::optional<Decision> Next(const ClusterState& state, Time now) override;
};

}  // namespace millrace::sched
