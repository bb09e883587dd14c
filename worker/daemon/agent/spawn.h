// Spawn: starts a task process below a minder (worker/daemon/minder), which is its parent in our place: user code that
// turns on its parent hits the minder, and its own task. The task leads a process group of its own, holds nothing of
// the daemon but descriptors 0 to 3 and a few variables of its environment (PATH, HOME, the locale, ...), and dies with
// the minder; the minder dies with the thread that started it (PR_SET_PDEATHSIG), which must be the daemon's main
// thread. Thread rule: any thread, but see above.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"

namespace millrace::worker {

struct SpawnSpec {
  std::string minder;  // the program millrace-minder
  std::string executable;
  std::vector<std::string> arguments;  // after the program's name
  std::string output;                  // a file that takes standard output and error, appended to
  std::uint64_t memory_limit = 0;      // RLIMIT_DATA in bytes; 0: none
  std::string mark;                    // by which its descendants are known (orphans.h)
};

struct Spawned {
  pid_t pid = 0;  // of the minder, which ends after the task and as it did
  Fd pidfd;       // readable when it has ended (it stays a zombie until waitpid)
  Fd channel;     // our end of the socket pair of which the task holds the other as descriptor 3; non-blocking
};

// kNotFound, kIo, ...: says which executable could not be started, and why. No core files are written.
[[nodiscard]] Result<Spawned> Spawn(const SpawnSpec& spec);

// Has the minder kill the task and its group. Requires: `pid` is of a Spawned and has not been waited for.
void EndSpawned(pid_t pid);

// "exit status 3", "killed by signal 11 (SIGSEGV)", of a status as waitpid gives it.
[[nodiscard]] std::string DescribeExit(int wait_status);

}  // namespace millrace::worker
