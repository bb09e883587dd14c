// SPDX-License-Identifier: Apache-2.0
// The steps of `millrace run`, which submits a job and waits for its end. Thread rule: the main thread.
#pragma once

#include "client/cli/invocation.h"
#include "client/job_client/job_description.h"
#include "client/job_client/job_types.h"

namespace millrace::cli {

struct RunOptions {
  std::string job, output, pool, user, name, priority, deadline, map_time, reduce_time, locality_wait;
  std::vector<std::string> inputs, parameters;
  std::int64_t reducers = -1;  // -1: not given, which means one, or none for a job that has only maps
  bool detach = false, json = false;
  std::vector<std::string> after;  // as given: each word names one job or several, with commas between them
  bool even_if_failed = false, hold = false;
  std::string shown_output;  // the directory that the summary names in place of `output`; empty: `output`
  bool step = false;         // a step of a pipeline; the pipeline reads the JSON and reports a failure of the job
  // For `local run`: the side files that the job reads, as LOCAL=PATH, and whether it runs without a cluster.
  std::vector<std::string> files;
  bool in_process = false;
  bool local = false;  // the inputs and the output are paths of this machine
};

// An option for the schedulers: --pool P, or -D scheduler.pool=P.
struct SchedulingOption {
  std::string flag, name;  // "--map-time", "map_time"
  std::string* field;
  std::string one_line;
  bool among_jobs = false;  // it says something only beside other jobs
};
[[nodiscard]] std::vector<SchedulingOption> SchedulingOptionsOf(RunOptions* options);

// Reads the command line of `run` (`verb` is "run" or "local run"). Returns an exit status if the command has nothing
// more to do.
[[nodiscard]] std::optional<int> ParseRunOptions(const Invocation& invocation, const Words& args,
                                                 const std::string& verb, RunOptions* options);

// The part of a request that is known without a cluster: all but the executable's place. PrepareRun returns kInvalid or
// kNotFound for wrong usage.
struct Prepared {
  std::string executable;
  job::JobDescription description;
  JobRequest request;
};
[[nodiscard]] Result<Prepared> PrepareRun(const Invocation& invocation, const RunOptions& options);

// Completes the request with the help of the cluster: looks at the input, lets the job prepare itself, and stores its
// executable, unless the request names its place.
[[nodiscard]] Status CompleteRequest(const Invocation& invocation, dfs::DfsClient& files, Prepared* prepared);

// Submits the job and waits for it. Returns the exit status.
[[nodiscard]] int SubmitAndWait(const Invocation& invocation, Prepared prepared, const RunOptions& options);

}  // namespace millrace::cli
