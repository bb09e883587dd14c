// `millrace sim`: workloads under schedulers, simulated. Needs no cluster. Thread rule: the main thread.
#pragma once

#include "client/cli/invocation.h"

namespace millrace::cli {

[[nodiscard]] int SimCommand(const Invocation& invocation, const Words& args);

}  // namespace millrace::cli
