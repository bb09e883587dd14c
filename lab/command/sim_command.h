// SPDX-License-Identifier: Apache-2.0
// `millrace sim` simulates workloads under schedulers. It needs no cluster. Thread rule: the main thread.
#pragma once

#include "client/cli/invocation.h"

namespace millrace::cli {

[[nodiscard]] int SimCommand(const Invocation& invocation, const Words& args);

}  // namespace millrace::cli
