// SPDX-License-Identifier: Apache-2.0
// Waits for a command that runs in a process group of its own. If this process has a terminal, the command's group gets
// it, so that the user's Ctrl-C and Ctrl-Z reach the command as if the shell had started it. SIGTTOU is ignored
// meanwhile. Thread rule: the same as for Process.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "client/local/local_cluster.h"
#include "client/local/process.h"

namespace millrace::local {

// Waits for the command's end and returns its exit status. Signals that come to this process meanwhile are passed on to
// the command's group. If the command has not ended 5 s after SIGTERM or SIGHUP, it is killed.
// The command may be waiting for the cluster, so the cluster is watched, too. `tell` gets a line about each daemon that
// ends. If the cluster fails (LocalCluster::TakeLosses), the command gets SIGTERM, has 5 s to end before it is killed,
// and the cluster's failure is returned.
[[nodiscard]] Result<int> WaitInForeground(Process& command, Signals& signals, LocalCluster& cluster,
                                           const std::function<void(const std::string&)>& tell);

}  // namespace millrace::local
