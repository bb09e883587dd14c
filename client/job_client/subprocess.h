// SPDX-License-Identifier: Apache-2.0
// Runs a short-lived program and captures its whole output, such as the description of a job. Thread rule: any thread.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace millrace::job {

struct CaptureLimits {
  Micros timeout = 5 * kSecond;
  std::size_t bytes = std::size_t{1} << 20;  // the limit for standard output and for standard error, each
  bool cuts = false;                         // more than that is read and dropped, and no failure
};

struct Captured {
  int exit_status = 0;  // as in a shell: 128 + signal when a signal ended it
  std::string output;
  std::string error;
};

// Runs argv[0] (a path; PATH is not searched) with an empty standard input. The program leads a process group of its
// own, which is killed if a limit is exceeded. The call then returns kTimeout, or kInvalid for too much output. Returns
// kNotFound, kIo or kInvalid if the program cannot be started.
[[nodiscard]] Result<Captured> RunCaptured(const std::vector<std::string>& argv, const CaptureLimits& limits);

}  // namespace millrace::job
