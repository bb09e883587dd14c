// What the main function of a job executable does.
//   JOB --millrace-describe [--] [NAME=VALUE...]
//       describes the job and checks options (client/process/describe.h); exit status 2 and one line on standard error
//       when an option is refused
//   JOB --millrace-prepare HOST:PORT CLUSTER WAIT REDUCES [NAME=VALUE...] -- INPUT...
//       prepares the job for that cluster, whose master is there or comes within WAIT (client/process/describe.h); exit
//       status 1 and one line on standard error when it cannot
//   JOB --millrace-task
//       serves as task process on descriptor 3 (client/process/task_loop.h)
//   JOB --millrace-solo OUTPUT REDUCES [NAME=VALUE...] [--file=LOCAL=PATH...] -- [INPUT...]
//       runs the whole job in this process, over local files (client/solo/solo.h), and prints its counters
//   JOB --millrace-rerun LAUNCH [OUTPUT]
//       runs one map attempt again, alone (client/process/rerun.h), and prints its counters
//   JOB --millrace-frames HEAD PLACE [ADDRESS...]
//       writes the report of a crash (client/process/crash_frames.h)
//   JOB ARGUMENTS...
//       becomes `millrace run JOB ARGUMENTS...`, with the millrace program that lies beside it, else the one on the
//       PATH
// Thread rule: the main thread.
#pragma once

#include "client/job/attempt.h"

namespace millrace::internal {

[[nodiscard]] int RunJob(const JobBinding& binding, int argc, char** argv);

}  // namespace millrace::internal
