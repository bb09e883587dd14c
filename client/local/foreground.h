// Foreground: a command in a process group of its own that has the terminal, if there is one and this process had it.
// So Ctrl-C and Ctrl-Z of its user reach the command as if the shell had started it. Thread rule: as Process. Requires:
// SIGTTOU does not stop this process.
#pragma once

#include <sys/types.h>

#include "client/local/local_cluster.h"
#include "client/local/process.h"

namespace millrace::local {

// Waits for the command's end and returns its exit status. Signals that come to this process meanwhile are passed on to
// the command's group. If it has not ended 5 s after SIGTERM or SIGHUP, it is killed.
[[nodiscard]] int WaitInForeground(Process& command, Signals& signals);

}  // namespace millrace::local
