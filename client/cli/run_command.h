// `millrace run`: submits a job and waits for its end. Thread rule: the main thread.
#pragma once

#include "client/cli/invocation.h"
#include "client/job_client/job_types.h"

namespace millrace::cli {

struct RunOptions {
  std::string job, output, pool, name, priority = "NORMAL", deadline;
  std::vector<std::string> inputs, parameters;
  std::int64_t reducers = 1;
  bool detach = false, json = false;
};

// The command line of `run` (`verb`: "run" or "local run"); an exit status if that was all.
[[nodiscard]] std::optional<int> ParseRunOptions(const Invocation& invocation, const Words& args,
                                                 const std::string& verb, RunOptions* options);

// What can be known of the request without a cluster: everything but the executable's place. kInvalid and kNotFound are
// wrong usage.
struct Prepared {
  std::string executable;
  job::JobRequest request;
};
[[nodiscard]] Result<Prepared> PrepareRun(const Invocation& invocation, const RunOptions& options);

// Submits and waits; gives the exit status.
[[nodiscard]] int SubmitAndWait(const Invocation& invocation, Prepared prepared, const RunOptions& options);

[[nodiscard]] int RunCommand(const Invocation& invocation, const Words& args);

}  // namespace millrace::cli
