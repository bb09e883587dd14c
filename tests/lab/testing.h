// SPDX-License-Identifier: Apache-2.0
// Helpers of the tests of simulations.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lab/measure/report.h"
#include "lab/model/simulate.h"

namespace millrace::sim {

// Returns a job whose maps and reduces take this many seconds; the maps read nothing and the reduces copy nothing.
inline SimJob MakeJob(std::size_t maps, Micros map_seconds, std::size_t reduces = 0, Micros reduce_seconds = 0) {
  SimJob job;
  job.name = "job";
  job.maps.assign(maps, {0, map_seconds * kSecond, 0});
  job.reduces.assign(reduces, {1, reduce_seconds * kSecond, 0});
  return job;
}

inline Workload Of(std::vector<SimJob> jobs) {
  Workload workload;
  workload.jobs = std::move(jobs);
  return workload;
}

inline SimResult MustSimulate(const ClusterSpec& cluster, const Workload& workload, const std::string& scheduler,
                              const SimOptions& options = {}, const sched::Settings& settings = {}) {
  Result<SimResult> result = Simulate(cluster, workload, scheduler, settings, options);
  return std::move(result).value();
}

// Returns everything that a run reports, except its wall-clock time.
inline std::string Everything(const SimResult& result) {
  return SummaryJson(result) + JobsCsv(result) + TasksCsv(result) + SamplesCsv(result) + ComparisonCsv({result});
}

}  // namespace millrace::sim
