// SPDX-License-Identifier: Apache-2.0
// The worker daemon: `millrace worker --config FILE [--set key=value ...]`.
#pragma once

#include <string>
#include <vector>

#include "base/console/console.h"

namespace millrace::worker {

// Serves until SIGTERM or SIGINT, with the real clock, disk, network, processes and randomness. Returns the exit status
// (0 stopped on request, 1 failed, 2 wrong usage). `args` are the arguments after the verb; `minder` is the program
// millrace-minder. The caller reports output that `console` could not write. Requires: RunWorker is called on the
// process's main thread.
[[nodiscard]] int RunWorker(const std::vector<std::string>& args, const std::string& minder,
                            const console::Console& console);

}  // namespace millrace::worker
