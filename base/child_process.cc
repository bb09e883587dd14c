// SPDX-License-Identifier: Apache-2.0
#include "base/child_process.h"

#include <errno.h>
#include <sys/wait.h>

#include <string>

namespace millrace {
namespace {

constexpr int kOurs[] = {SIGCHLD, SIGPIPE, SIGXFSZ};

}  // namespace

void PlainSignals() {
  for (const int signal : kOurs) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

void PlainSignals(posix_spawnattr_t* attributes, short flags) {
  sigset_t none, plain;
  ::sigemptyset(&none);
  ::sigemptyset(&plain);
  for (const int signal : kOurs) ::sigaddset(&plain, signal);
  ::posix_spawnattr_setsigmask(attributes, &none);
  ::posix_spawnattr_setsigdefault(attributes, &plain);
  ::posix_spawnattr_setflags(attributes, static_cast<short>(flags | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
}

Result<int> WaitForChild(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return FromErrno(errno, "learn how process " + std::to_string(child) + " ended");
  }
  return status;
}

int ExitStatusOf(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

}  // namespace millrace
