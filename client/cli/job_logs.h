// `millrace job logs` shows the output of attempts, from the workers that ran them. Thread rule: the main thread.
#pragma once

#include "client/cli/invocation.h"

namespace millrace::cli {

[[nodiscard]] int LogsCommand(const Invocation& invocation, const Words& args);

}  // namespace millrace::cli
