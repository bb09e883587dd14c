// SPDX-License-Identifier: Apache-2.0
#include "lab/workload/workload.h"

#include <algorithm>

namespace millrace::sim {

std::uint64_t TasksOf(const Workload& workload) {
  std::uint64_t tasks = 0;
  for (const SimJob& job : workload.jobs) tasks += job.maps.size() + job.reduces.size();
  return tasks;
}

std::vector<std::uint32_t> SubmissionOrder(const Workload& workload) {
  std::vector<std::uint32_t> order;
  for (std::uint32_t job = 0; job < workload.jobs.size(); ++job) {
    if (!workload.jobs[job].after) order.push_back(job);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return workload.jobs[a].submit < workload.jobs[b].submit; });
  return order;
}

}  // namespace millrace::sim
