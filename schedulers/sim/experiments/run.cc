#include "schedulers/sim/experiments/run.h"

#include <utility>

#include "base/check.h"
#include "schedulers/sim/experiments/draw.h"

namespace millrace::sim::experiments {

SimResult Run(const ClusterSpec& cluster, const Workload& workload, const std::string& scheduler,
              const sched::Settings& settings, const SimOptions& options) {
  Result<SimResult> result = Simulate(cluster, workload, scheduler, settings, options);
  MILLRACE_CHECK(result.ok(), result.status().message());
  return std::move(*result);
}

ClusterSpec Ec2Cluster(double link) {
  ClusterSpec cluster = MakeCluster(100, 1, 1, {4, 2});
  for (NodeSpec& node : cluster.nodes) node.up = node.down = link;
  return cluster;
}

SimOptions Seeded(std::uint64_t seed) {
  SimOptions options;
  options.seed = seed;
  return options;
}

double LocalityPercent(const std::vector<JobRow>& jobs, Locality worst) {
  double near = 0;
  double all = 0;
  for (const JobRow& job : jobs) {
    for (int level = 0; level < 4; ++level) {
      all += job.maps_at[level];
      if (level <= static_cast<int>(worst)) near += job.maps_at[level];
    }
  }
  return all > 0 ? 100 * near / all : 0;
}

SimJob ScanJob(std::uint32_t maps, double map_seconds) {
  SimJob job;
  job.maps.assign(maps, {kBlock128, Seconds(map_seconds), 0});
  return job;
}

}  // namespace millrace::sim::experiments
