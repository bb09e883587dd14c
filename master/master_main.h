// SPDX-License-Identifier: Apache-2.0
// The master daemon: `millrace master --config FILE [--set key=value ...]`. With --init it makes a new, empty cluster
// in master.directory instead, and prints the cluster's id.
#pragma once

#include <string>
#include <vector>

#include "base/console/console.h"

namespace millrace::master {

// Serves until SIGTERM or SIGINT, with the real clock, disk, network and randomness. Returns the exit status (0 stopped
// on request, 1 failed, 2 wrong usage). `args` are the arguments after the verb. The caller reports output that
// `console` could not write. `launchers` is the directory of millrace-launch and millrace-minder.
[[nodiscard]] int RunMaster(const std::vector<std::string>& args, const std::string& launchers,
                            const console::Console& console);

// `millrace master restore` and `millrace master repair` work on a master's database while no master has it open
// (database_verbs.cc). These take the words after the verb and return the exit status of the process.
[[nodiscard]] int RunRestore(const std::vector<std::string>& args, const console::Console& console);
[[nodiscard]] int RunRepair(const std::vector<std::string>& args, const console::Console& console);

}  // namespace millrace::master
