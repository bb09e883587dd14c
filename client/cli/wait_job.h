// Waits for a job with its progress on standard error, and handles Ctrl-C meanwhile. Thread rule: the main thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "client/cli/invocation.h"
#include "client/cli/sigint_hold.h"

namespace millrace::cli {

// How the end of a job is reported.
struct Reporting {
  bool json = false;
  std::string what = {};          // the beginning of an error's line
  std::string shown_output = {};  // the name of the job's output in the report; empty: its path
  std::optional<std::chrono::steady_clock::time_point> until = {};  // the wait then ends as failed; the job continues
  bool of_step = false;  // the job is a step of a pipeline; the pipeline then reports a failure
};

// Waits until the job has ended, reports the end, and returns the exit status. If the job succeeded, its summary with
// its own counters (or JSON with all counters) goes to standard output; else the reason goes to standard error. Ctrl-C
// on a terminal asks whether to kill the job; elsewhere it kills the job (exit status 130).
[[nodiscard]] int WaitAndReport(const Invocation& invocation, dfs::DfsClient& files, JobId job, SigintHold& sigint,
                                const Reporting& reporting);

}  // namespace millrace::cli
