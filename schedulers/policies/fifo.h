// fifo: the default scheduler of Hadoop 1 (org.apache.hadoop.mapred.JobQueueTaskScheduler).
//
// Jobs stand in one queue, by priority (VERY_HIGH, HIGH, NORMAL, LOW, VERY_LOW), then submit order. A free map slot
// goes to the first job with a pending map; within the job the map closest to the node is taken (node, rack,
// datacenter, off), the lowest index first. A free reduce slot goes to the first job with a pending reduce whose
// slow-start fraction of maps is done. A job to which the node is refused is passed over. Maps go before
// reduces. Which of several free nodes is served: one that holds the data of the first job's first pending map, else
// the next in turn by id, one slot each, going on where the last decision left off. So the tasks of an idle cluster are
// spread evenly, as Hadoop spreads them by its trackers' heartbeats, and a small job runs at its data.
#pragma once

#include <cstdint>
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

 private:
  std::uint32_t next_map_node_ = 0;  // where the turn goes on
  std::uint32_t next_reduce_node_ = 0;
};

}  // namespace millrace::sched
