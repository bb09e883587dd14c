// Waits for a command in a process group of its own that has the terminal, if there is one and this process had it. So
// Ctrl-C and Ctrl-Z of its user reach the command as if the shell had started it. Thread rule: as Process. Requires:
// SIGTTOU does not stop this process.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "client/local/local_cluster.h"
#include "client/local/process.h"

namespace millrace::local {

// Waits for the command's end and returns its exit status. Signals that come to this process meanwhile are passed on to
// the command's group. If it has not ended 5 s after SIGTERM or SIGHUP, it is killed.
// The command may be waiting for the cluster, so the cluster is watched, too: `tell` gets a line about each daemon that
// ends. When the cluster has failed (LocalCluster::TakeLosses), the command is ended as by SIGTERM, and the cluster's
// failure is returned.
[[nodiscard]] Result<int> WaitInForeground(Process& command, Signals& signals, LocalCluster& cluster,
                                           const std::function<void(const std::string&)>& tell);

}  // namespace millrace::local
