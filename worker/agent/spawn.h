// Spawn: starts a task process. It leads a process group of its own, holds nothing of the daemon but descriptors 0 to
// 3 and a few variables of its environment (PATH, HOME, the locale, ...), and dies with the thread that started it
// (PR_SET_PDEATHSIG), which must be the daemon's main thread. Thread rule: any thread, but see above.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/status.h"

namespace millrace::worker {

struct SpawnSpec {
  std::string executable;
  std::vector<std::string> arguments;  // after the program's name
  std::string output;                  // a file that takes standard output and error, appended to
  std::uint64_t memory_limit = 0;      // RLIMIT_DATA in bytes; 0: none
  std::string mark;                    // by which its descendants are known (orphans.h)
};

struct Spawned {
  pid_t pid = 0;  // also of its group
  Fd pidfd;       // readable when the process has ended (it stays a zombie until waitpid)
  Fd channel;     // our end of the socket pair of which the process holds the other as descriptor 3; non-blocking
};

// kNotFound, kIo, ...: says which executable could not be started, and why. No core files are written.
[[nodiscard]] Result<Spawned> Spawn(const SpawnSpec& spec);

// "exit status 3", "killed by signal 11 (SIGSEGV)", of a status as waitpid gives it.
[[nodiscard]] std::string DescribeExit(int wait_status);

}  // namespace millrace::worker
