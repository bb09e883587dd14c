// Waits for a job with its progress on standard error, and handles Ctrl-C meanwhile. Thread rule: the main thread.
#pragma once

#include <cstdint>
#include <string>

#include "client/cli/invocation.h"
#include "client/cli/sigint_hold.h"

namespace millrace::cli {

// Waits until the job has ended. Then prints its summary (or JSON) on standard output if it succeeded, else why not on
// standard error, and returns the exit status. Ctrl-C on a terminal asks whether to kill the job; elsewhere it kills
// the job (exit status 130). `what` is how an error's line begins.
[[nodiscard]] int WaitAndReport(const Invocation& invocation, dfs::DfsClient& files, JobId job, SigintHold& sigint,
                                bool json, const std::string& what);

}  // namespace millrace::cli
