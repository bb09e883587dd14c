// SPDX-License-Identifier: Apache-2.0
// Random loads for tests of the time that jobs wait. Every task takes exactly as long as its job sets, so that the work
// ahead of a job is known. Thread rule: one thread.
#pragma once

#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/schedulers/policies/fair/small_cluster.h"

namespace millrace::sched {

struct LoadJob {
  Micros at = 0;
  JobId job;
  JobSpec spec;
  Work work;

  [[nodiscard]] Micros MapWork() const { return static_cast<Micros>(spec.maps.size()) * work.map_time; }
  [[nodiscard]] Micros ReduceWork() const { return spec.reduces * work.reduce_time; }
  // Returns the most time that the job still takes once none of its tasks waits.
  [[nodiscard]] Micros Tails() const { return work.map_time + (spec.reduces > 0 ? work.reduce_time : 0); }
};

struct Load {
  std::vector<NodeJoined> nodes;
  std::vector<LoadJob> jobs;

  // Returns the slots of this kind of all nodes, or of the nodes of `datacenter` if one is given.
  [[nodiscard]] Micros Slots(TaskKind kind, const std::string& datacenter = {}) const;
  [[nodiscard]] Micros Longest(TaskKind kind) const;
};

struct LoadOptions {
  std::uint32_t racks = 1, datacenters = 1;
  std::uint32_t jobs = 25;
  std::uint32_t within = 300;  // all jobs arrive in this many seconds
};

// Returns 4 to 11 nodes, and jobs of five users and all priorities, half of them with a deadline. A job has 1 to 40
// maps and 0 to 11 reduces of 1 to 80 s.
[[nodiscard]] Load RandomLoad(unsigned seed, const LoadOptions& options);

[[nodiscard]] std::unique_ptr<SmallCluster> Start(const std::string& scheduler, const Settings& settings,
                                                  const Load& load);

}  // namespace millrace::sched
