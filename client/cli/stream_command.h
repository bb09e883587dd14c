// SPDX-License-Identifier: Apache-2.0
// `millrace stream` and `millrace local stream`: a job whose map and reduce are other programs, with the words of
// Hadoop Streaming. The job's files and settings are packed with the program `streaming` (client/streaming/pack.h),
// which then runs as any job does. Thread rule: the main thread.
#pragma once

#include <optional>
#include <string>

#include "base/file.h"
#include "client/cli/invocation.h"
#include "client/cli/run_command.h"

namespace millrace::cli {

// A job that was made of such words: `run` is as for `millrace run`.
struct StreamProgram {
  RunOptions run;
  std::optional<TempDir> directory;  // holds the program; removed with this
};

// Reads the words (`verb` is "stream" or "local stream") and makes the program. Returns an exit status if the command
// has nothing more to do.
[[nodiscard]] std::optional<int> MakeStreamProgram(const Invocation& invocation, const Words& args,
                                                   const std::string& verb, StreamProgram* program);

// `millrace stream`.
[[nodiscard]] int StreamCommand(const Invocation& invocation, const Words& args);

}  // namespace millrace::cli
