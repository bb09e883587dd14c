// SPDX-License-Identifier: Apache-2.0
// Waits for a job with its progress on standard error, and handles Ctrl-C meanwhile. Thread rule: the main thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/file.h"
#include "client/cli/invocation.h"

namespace millrace::cli {

// Makes Ctrl-C readable from a descriptor while the program waits for a job. Until Catch, SIGINT ends the program as
// usual. Requires: the SigintHold is made on the main thread before other threads start, so that they inherit the
// blocked SIGINT.
class SigintHold {
 public:
  SigintHold();   // throws std::system_error if the system refuses the descriptor
  ~SigintHold();  // unblocks SIGINT
  SigintHold(const SigintHold&) = delete;
  SigintHold& operator=(const SigintHold&) = delete;

  void BeginThreads();  // blocks SIGINT for threads that are started from now on
  void EndThreads();    // unblocks SIGINT for the main thread
  // From now on, a SIGINT makes fd() readable.
  void Catch();
  [[nodiscard]] int fd() const { return fd_.get(); }
  void Consume();  // takes one SIGINT that has come

 private:
  Fd fd_;
};

// The form in which the end of a job is reported.
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
