#include "lab/papers/run.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "lab/papers/draw.h"
#include "schedulers/offering/delay_settings.h"

namespace millrace::sim::experiments {

SimResult Run(const ClusterSpec& cluster, const Workload& workload, const std::string& scheduler,
              const sched::Settings& settings, const SimOptions& options) {
  Result<SimResult> result = Simulate(cluster, workload, scheduler, settings, options);
  MILLRACE_CHECK(result.ok(), result.status().message());
  return std::move(*result);
}

ClusterSpec Ec2Cluster() {
  constexpr double kLink = 50e6;
  ClusterSpec cluster = MakeCluster(100, 1, 1, {4, 2});
  for (NodeSpec& node : cluster.nodes) node.up = node.down = kLink;
  return cluster;
}

SimOptions Seeded(std::uint64_t seed) {
  SimOptions options;
  options.seed = seed;
  return options;
}

std::string Count(std::uint32_t count, const std::string& what, const std::string& plural) {
  return std::to_string(count) + ' ' + (count == 1 ? what : plural.empty() ? what + 's' : plural);
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

std::vector<JobRow> OfGroup(const SimResult& result, const std::string& group) {
  std::vector<JobRow> rows;
  std::copy_if(result.jobs.begin(), result.jobs.end(), std::back_inserter(rows),
               [&](const JobRow& row) { return row.group == group; });
  return rows;
}

double GroupLocality(const SimResult& result, const std::string& group, Locality worst) {
  return LocalityPercent(OfGroup(result, group), worst);
}

sched::Settings DelayWaits(double seconds) {
  sched::Settings settings;
  auto& delay = settings.Of<sched::DelaySettings>();
  delay.rack_wait = delay.datacenter_wait = delay.off_wait = Seconds(seconds);
  return settings;
}

SimJob ScanJob(std::uint32_t maps, double map_seconds) {
  SimJob job;
  job.maps.assign(maps, {kBlock128, Seconds(map_seconds), 0});
  return job;
}

}  // namespace millrace::sim::experiments
