// Submits the jobs of a workload when they are due, waits for their end, and brings the journal of the run. Thread
// rule: one thread.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/cli/run_command.h"
#include "client/job_client/job_client.h"
#include "client/local/local_cluster.h"
#include "schedulers/sim/workload/workload.h"

namespace millrace::compare {

struct RunOfJobs {
  std::map<JobId, std::uint32_t> jobs;  // their indices in the workload
  Micros begin = 0;                     // when time 0 of the workload was, by the master's clock
  std::string journal;
};

// Returns kCancelled if a signal has come that asks the process to end.
[[nodiscard]] Status CheckInterrupt(local::Signals& signals);

// Runs the jobs. `prepared`: by index; they are submitted as they are. Returns kTimeout, naming a job, if no job gets
// any further for `patience`; kCancelled after a signal; kUnavailable if the master cannot be reached. The jobs that
// are under way are then killed, as far as the master can be reached.
[[nodiscard]] Result<RunOfJobs> RunJobs(dfs::DfsClient& files, const sim::Workload& workload,
                                        const std::vector<cli::Prepared>& prepared, Micros patience,
                                        local::Signals& signals);

}  // namespace millrace::compare
