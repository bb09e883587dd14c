// Foreground: a command in a process group of its own that has the terminal, if there is one and it was ours: so Ctrl-C
// and Ctrl-Z of its user reach it as if it had been started by the shell. Thread rule: as Process; SIGTTOU may not stop
// us.
#pragma once

#include <sys/types.h>

#include "client/local/local_cluster.h"
#include "client/local/process.h"

namespace millrace::local {

// Waits for the command's end and gives its exit status. Signals that come to us meanwhile are passed on to its group;
// when it has not ended 5 s after SIGTERM or SIGHUP, it is killed.
[[nodiscard]] int WaitInForeground(Process& command, Signals& signals);

}  // namespace millrace::local
