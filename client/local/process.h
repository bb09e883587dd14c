// SPDX-License-Identifier: Apache-2.0
// Child processes of a local cluster: daemons, each with a log file, and the command that runs in the cluster. Each
// leads a process group of its own. Thread rule: one thread, and no other in the process (children are forked).
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/status.h"

namespace millrace::local {

struct ProcessSpec {
  std::vector<std::string> argv;  // argv[0] is looked for on the PATH unless it holds a slash
  std::vector<std::pair<std::string, std::string>> environment;  // set besides this process's own
  std::string log;  // gets standard output and error; standard input is then empty. If no log is named, all three are
                    // those of this process
  bool without_input = false;  // standard input is empty even if no log is named
};

class Process {
 public:
  Process() = default;
  // Starts the child, which writes its number and a newline to `registry` (-1: nowhere) before it becomes the program.
  // A failure says why the child could not be started.
  static Result<Process> Start(const ProcessSpec& spec, int registry);

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] int fd() const { return handle_.get(); }  // readable once it has ended
  [[nodiscard]] bool running() const { return pid_ > 0; }
  void SignalGroup(int signal) const;  // while running
  // Waits for the child's end and returns the exit status, or 128 + signal if a signal ended it. A failure says that
  // the status is not known. Either way the child is no longer running.
  [[nodiscard]] Result<int> Reap();

 private:
  pid_t pid_ = -1;
  Fd handle_;
};

}  // namespace millrace::local
