// SPDX-License-Identifier: Apache-2.0
// RoundRobin lets the jobs take turns, one task each. It is a JobOrder as it would be written by somebody who has read
// only policy.h and job_order.h: it overrides the necessary calls, and leaves those that only save time to the
// defaults.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "schedulers/offering/job_order.h"

namespace millrace::sched {

class RoundRobin : public JobOrder {
 public:
  // A job that runs `most_tasks` tasks of a kind gets no further task of that kind.
  explicit RoundRobin(std::optional<std::uint32_t> most_tasks = std::nullopt) : most_tasks_(most_tasks) {}

  void OnJobSubmitted(const ClusterState& state, JobId job) override;
  void OnJobEnded(const ClusterState& state, JobId job) override;
  // Moves a job that has launched a task to the end of the line.
  void OnJobChanged(const ClusterState& state, JobId job) override;
  std::optional<JobId> Offer(const ClusterState& state, SlotKind kind, Micros now, const Take& take) const override;
  [[nodiscard]] bool Before(const ClusterState& state, SlotKind kind, Micros now, JobId a, JobId b) const override;
  [[nodiscard]] bool MayRun(const ClusterState& state, SlotKind kind, JobId job) const override;

 private:
  struct Job {
    std::uint64_t place = 0;    // in the line
    std::uint32_t running = 0;  // running attempts when the job last changed
  };

  const std::optional<std::uint32_t> most_tasks_;
  std::map<JobId, Job> jobs_;
  std::map<std::uint64_t, JobId> line_;  // by place
  std::uint64_t last_place_ = 0;
};

}  // namespace millrace::sched
