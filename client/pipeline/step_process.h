// RunStep runs the command of one step as a child that shares the terminal: its standard error is shown, and its
// standard output is kept. Ctrl-C reaches the child by the terminal; SIGINT and SIGTERM that another process sends to
// this one are passed on to the child.
// Thread rule: the main thread.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace millrace::internal {

struct StepEnd {
  std::string output;
  int exit_status = 0;       // as in a shell: 128 + signal when a signal ended it
  bool interrupted = false;  // SIGINT or SIGTERM has come
};

// Runs argv[0] (a path) until it has ended.
[[nodiscard]] Result<StepEnd> RunStep(const std::vector<std::string>& argv);

}  // namespace millrace::internal
