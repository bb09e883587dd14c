// Child processes: the signals that they begin with, and how they ended. Thread rule: any thread, but for one child
// only one.
#pragma once

#include <signal.h>
#include <spawn.h>
#include <sys/types.h>

#include "base/status.h"

namespace millrace {

// Gives the signals that a program makes its own (base/program.h) their usual effect and blocks none, in a child
// between fork and exec. It is async-signal-safe.
void PlainSignals();
// The same for posix_spawn: sets the attributes' signals, and `flags` (POSIX_SPAWN_*) beside its own.
void PlainSignals(posix_spawnattr_t* attributes, short flags = 0);

// Waits for the end of a child and returns its status, as waitpid(2) gives it. A failure says that the status is not
// known: somebody else has reaped the child.
[[nodiscard]] Result<int> WaitForChild(pid_t child);

// Returns the exit status that a status of waitpid means to a shell: 128 + signal if a signal ended the child.
[[nodiscard]] int ExitStatusOf(int wait_status);

}  // namespace millrace
