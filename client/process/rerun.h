// SPDX-License-Identifier: Apache-2.0
// Runs one map attempt of a job again, alone in this process and on its main thread: for debuggers, profilers, valgrind
// and sanitizers. The attempt reads its own split from the file system, with the options that it had; no record is left
// out. Nothing of the cluster changes.
//
//   JOB --millrace-rerun LAUNCH [OUTPUT]
//
// LAUNCH is a file of two frames (worker/task/channel/channel.h): the messages that set a task process up and launch
// the map, without the names of the worker's files. OUTPUT is a new directory for the map's output: its part of the
// job's output, or, if the job has reduces, the run for them (worker/task/run/run_file.h). Without OUTPUT the map's
// output is dropped. The job prints to the outputs of the process. A failure or a crash gives the same message as on
// the cluster.
// Thread rule: the main thread.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/job/attempt.h"
#include "client/job/counters.h"

namespace millrace {

// Runs the attempt and returns its counters. The set-up in the file selects the job among `jobs`. A failure names the
// attempt, and leaves no output.
[[nodiscard]] Result<std::vector<CounterValue>> RerunMap(std::span<const JobBinding> jobs,
                                                         const std::string& launch_file, const std::string& output);

}  // namespace millrace
