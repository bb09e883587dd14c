// SPDX-License-Identifier: Apache-2.0
// Spawn starts a task process below a minder (base/sandbox/minder.cc), which is its parent in place of the daemon.
// User code that attacks its parent hits the minder, and so only its own task. The task leads a process group of its
// own and dies with the minder. It has nothing of the daemon but descriptors 0 to 3 and a few variables of the daemon's
// environment (PATH, HOME, the locale, ...). The minder dies with the thread that started it (PR_SET_PDEATHSIG). Thread
// rule: Spawn is called on the daemon's main thread, the rest on any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/sandbox/launch_order.h"
#include "base/status.h"

namespace millrace::worker {

// The start of a confined task: millrace-launch runs in new namespaces and then becomes the executable.
struct Launch {
  std::string launcher;
  int namespaces = 0;          // flags of clone(2)
  sandbox::LaunchOrder order;  // without executable, arguments and environment, which Spawn adds
  std::vector<Fd> doors;       // of cgroups
};

struct SpawnSpec {
  std::string minder;  // the program millrace-minder
  std::string executable;
  std::vector<std::string> arguments;  // after the program's name
  int output = -1;                     // a descriptor for standard output and error
  std::uint64_t memory_limit = 0;      // RLIMIT_DATA in bytes; 0: none
  std::string mark;                    // identifies its descendants (orphans.h)
  const Launch* launch = nullptr;      // null: it is not confined
};

struct Spawned {
  pid_t pid = 0;  // the minder's; the minder ends after the task and in the same way
  Fd pidfd;       // readable when the minder has ended (it stays a zombie until waitpid)
  Fd channel;     // the daemon's end of a socket pair, non-blocking; the task holds the other end as descriptor 3
  Fd report;      // of a confined task, for its SocketGate (worker/sandbox/socket_gate.h)
};

// Starts the task. Returns kNotFound, kIo, ..., naming the executable and the reason, if it cannot be started. No core
// files are written.
[[nodiscard]] Result<Spawned> Spawn(const SpawnSpec& spec);

// Makes the minder kill the task and its group. Requires: `pid` comes from a Spawned and has not been waited for.
void EndSpawned(pid_t pid);

// Returns the meaning of a waitpid status for a task that should not have ended: "ended itself (exit status 3) before
// it was done", "killed by signal 11 (SIGSEGV)".
[[nodiscard]] std::string DescribeExit(int wait_status);

}  // namespace millrace::worker
