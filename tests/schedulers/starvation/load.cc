// SPDX-License-Identifier: Apache-2.0
#include "tests/schedulers/starvation/load.h"

#include <algorithm>
#include <utility>

namespace millrace::sched {

Micros Load::Slots(TaskKind kind, const std::string& datacenter) const {
  Micros slots = 0;
  for (const NodeJoined& node : nodes) {
    if (!datacenter.empty() && node.datacenter != datacenter) continue;
    slots += kind == TaskKind::kMap ? node.slots.maps : node.slots.reduces;
  }
  return slots;
}

Micros Load::Longest(TaskKind kind) const {
  Micros longest = 0;
  for (const LoadJob& job : jobs)
    longest = std::max(longest, kind == TaskKind::kMap ? job.work.map_time : job.work.reduce_time);
  return longest;
}

Load RandomLoad(unsigned seed, const LoadOptions& options) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  Load load;
  const std::uint32_t nodes = 4 + below(8);
  for (std::uint32_t node = 0; node < nodes; ++node) {
    load.nodes.push_back({NodeId{node + 1},
                          "r" + std::to_string(node % options.racks),
                          "d" + std::to_string(node % options.racks % options.datacenters),
                          {1 + below(4), 1 + below(2)}});
  }
  for (std::uint32_t job = 1; job <= options.jobs; ++job) {
    LoadJob one{below(options.within) * kSecond,
                JobId{job},
                RandomJob(&random, 1 + below(40), nodes, 2),
                {(1 + below(80)) * kSecond, (1 + below(80)) * kSecond, 0}};
    one.spec.user = "u" + std::to_string(below(5));
    one.spec.reduces = below(12);
    one.spec.slow_start = 1;
    one.spec.priority = static_cast<Priority>(below(5));
    if (below(2) == 0) one.spec.deadline = one.at + (100 + below(2000)) * kSecond;
    load.jobs.push_back(std::move(one));
  }
  // Jobs are in the order in which they are submitted, which is that of their ids.
  std::stable_sort(load.jobs.begin(), load.jobs.end(), [](const LoadJob& a, const LoadJob& b) { return a.at < b.at; });
  for (std::uint32_t i = 0; i < load.jobs.size(); ++i) load.jobs[i].job = JobId{i + 1};
  return load;
}

std::unique_ptr<SmallCluster> Start(const std::string& scheduler, const Settings& settings, const Load& load) {
  auto cluster = std::make_unique<SmallCluster>(scheduler, settings, 1);
  for (const NodeJoined& node : load.nodes) cluster->Apply(0, node);
  for (const LoadJob& job : load.jobs) cluster->Submit(job.at, job.job, job.spec, job.work);
  return cluster;
}

}  // namespace millrace::sched
