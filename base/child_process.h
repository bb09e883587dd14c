// SPDX-License-Identifier: Apache-2.0
// Child processes: the signals that they start with, and the statuses that they end with. Thread rule: any thread, but
// only one for each child.
#pragma once

#include <signal.h>
#include <spawn.h>
#include <sys/types.h>

#include "base/status.h"

namespace millrace {

// Restores the default action of the signals that RunProgram sets (base/program.h) and unblocks all signals. For a
// child between fork and exec; async-signal-safe.
void PlainSignals();
// Sets attributes with which posix_spawn starts a child in that state. Their flags become `flags` (POSIX_SPAWN_*) and
// the two flags that this needs.
void PlainSignals(posix_spawnattr_t* attributes, short flags = 0);

// Waits for the end of a child and returns its status, as waitpid(2) gives it. Fails if the status is unknown because
// something else has reaped the child.
[[nodiscard]] Result<int> WaitForChild(pid_t child);

// Converts a waitpid status to the exit status that a shell shows: 128 + signal if a signal ended the child.
[[nodiscard]] int ExitStatusOf(int wait_status);

}  // namespace millrace
