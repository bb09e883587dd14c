// SPDX-License-Identifier: Apache-2.0
// The main function of a job executable.
//   JOB --millrace-describe [--] [NAME=VALUE...]
//       describes the job and checks options (client/process/describe.h); exit status 2 and one line on standard error
//       if an option is refused
//   JOB --millrace-prepare HOST:PORT CLUSTER WAIT REDUCES [NAME=VALUE...] -- INPUT...
//       prepares the job for that cluster, whose master must answer within WAIT (client/process/describe.h); exit
//       status 1 and one line on standard error if it cannot be prepared
//   JOB --millrace-task
//       serves as a task process on descriptor 3 (client/process/task_loop.h)
//   JOB --millrace-solo OUTPUT REDUCES [NAME=VALUE...] [--file=LOCAL=PATH...] -- [INPUT...]
//       runs the whole job in this process, over local files (client/solo/solo.h), and prints its counters
//   JOB --millrace-stream map|combine|reduce [NAME=VALUE...] [--file=LOCAL=PATH...]
//       is a mapper, a combiner or a reducer of Hadoop Streaming (client/export/stream_task.h)
//   JOB --millrace-pipeline ...
//       drives the steps of a pipeline (client/process/run_pipeline.h)
//   JOB --millrace-rerun LAUNCH [OUTPUT]
//       runs one map attempt again, alone (client/process/rerun.h), and prints its counters
//   JOB --millrace-frames HEAD PLACE [ADDRESS...]
//       writes the report of a crash (client/process/crash_frames.h)
//   JOB ARGUMENTS...
//       becomes `millrace run JOB ARGUMENTS...`, with the millrace program that lies beside it, else the one on the
//       PATH
// Thread rule: the main thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "client/job/attempt.h"

namespace millrace::internal {

// Requires: the process has done nothing else yet (base/program.h).
[[nodiscard]] int RunJob(const JobBinding& binding, int argc, char** argv);

// Does what RunJob does for a program of several jobs (run_pipeline.h), if the arguments ask for one of the jobs. They
// do so by --millrace-task, or by the word that JobWord returns. Returns nothing if they ask for the program itself.
[[nodiscard]] std::optional<int> RunOneOf(std::span<const JobBinding> jobs, int argc, char** argv);

// Returns the NAME=VALUE that selects job `i` of such a program.
[[nodiscard]] std::string JobWord(std::size_t i);

// Prints the line on standard output or, if there is none, the reason on standard error. Returns the exit status, which
// is `when_refused` if there is no line.
[[nodiscard]] int Answer(const char* job, const Result<std::string>& line, int when_refused);
// Becomes `millrace run JOB ARGUMENTS...`. Returns only if that fails, with the exit status.
[[nodiscard]] int BecomeClient(int argc, char** argv);

// Returns the path of this executable, or argv[0] if the system does not say.
[[nodiscard]] std::string OwnPath(const char* argv0);
[[nodiscard]] std::string BaseName(std::string_view path);

}  // namespace millrace::internal
