// `millrace job rerun ATTEMPT --local [-- WRAPPER...]` runs a failed map again, alone and in the foreground: the job's
// executable with --millrace-rerun (client/process/rerun.h), under a debugger or profiler if one is named. Thread rule:
// the main thread.
#pragma once

#include "client/cli/invocation.h"

namespace millrace::cli {

// Returns the exit status of the program that was run, as in a shell.
[[nodiscard]] int RerunCommand(const Invocation& invocation, const Words& args);

}  // namespace millrace::cli
