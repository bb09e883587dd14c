// RunStep runs the command of one step as a child that shares the terminal: what it says on standard error is seen, its
// standard output is kept. Ctrl-C reaches the child by the terminal; SIGINT and SIGTERM that a process sends to this
// one are handed on to it.
// Thread rule: the main thread.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace millrace::internal {

struct StepEnd {
  std::string output;
  int exit_status = 0;       // as a shell has it: 128 + signal when a signal ended it
  bool interrupted = false;  // SIGINT or SIGTERM has come
};

// Runs argv[0] (a path) until it has ended.
[[nodiscard]] Result<StepEnd> RunStep(const std::vector<std::string>& argv);

}  // namespace millrace::internal
