// SPDX-License-Identifier: Apache-2.0
// Submits the jobs of a workload when they are due, waits for their end, and fetches the journal of the run. Thread
// rule: one thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/cli/run_command.h"
#include "client/job_client/job_client.h"
#include "client/local/local_cluster.h"
#include "lab/workload/workload.h"

namespace millrace::compare {

struct RunOfJobs {
  std::map<JobId, std::uint32_t> jobs;  // their indices in the workload
  Micros begin = 0;                     // time 0 of the workload, by the master's clock
  std::string journal;
};

// Returns kCancelled if the process has received a signal to end.
[[nodiscard]] Status CheckInterrupt(local::Signals& signals);

// Runs the jobs. `prepared` is by index; its requests are submitted unchanged. Returns kTimeout, naming a job, if no
// job makes progress for `patience`; kCancelled after a signal; kUnavailable if the master cannot be reached. After a
// failure, live jobs are killed, as far as the master can be reached.
[[nodiscard]] Result<RunOfJobs> RunJobs(dfs::DfsClient& files, const sim::Workload& workload,
                                        const std::vector<cli::Prepared>& prepared, Micros patience,
                                        local::Signals& signals);

}  // namespace millrace::compare
