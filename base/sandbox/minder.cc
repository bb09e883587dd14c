// SPDX-License-Identifier: Apache-2.0
// millrace-minder PID [STATUS]: the parent of one task process, between it and the worker's daemon. User code knows the
// number of its parent and may do to it what it likes (`kill -9 $PPID`): it does so to this program, and the daemon
// lives on.
//
// It is started as the parent of the process PID and as the process that adopts the orphans below it
// (PR_SET_CHILD_SUBREAPER), with SIGCHLD and SIGTERM blocked (worker/daemon/process/spawn.cc). The process PID leads a
// group of its own and gets SIGKILL when this program dies. On SIGTERM this program kills the group. When the process
// has ended, it kills what is left of the group and ends as the process did: with its exit status, or by its signal.
// Meanwhile it reaps orphans. STATUS is the descriptor of a pipe on which the launcher of a confined task says how the
// task ended (base/sandbox/launch_order.h): the process PID is then the first of a namespace of processes, which
// cannot end by a signal as the task did. Exit status 125 says that it was not started in this way.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "base/sandbox/launch_order.h"

namespace {

constexpr int kWrongUse = 125;

[[noreturn]] void EndAs(const siginfo_t& child) {
  if (child.si_code == CLD_EXITED) _exit(child.si_status);
  signal(child.si_status, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, child.si_status);
  raise(child.si_status);
  sigprocmask(SIG_UNBLOCK, &one, nullptr);
  _exit(kWrongUse);
}

// Returns the end of the task as the pipe reports it or, if the pipe says nothing, the end of the process itself.
siginfo_t HowEnded(const siginfo_t& process, int status_pipe) {
  millrace::sandbox::StatusOfTask told;
  if (status_pipe < 0 || read(status_pipe, &told, sizeof told) != sizeof told) return process;
  siginfo_t task = process;
  task.si_code = told.code;
  task.si_status = told.status;
  return task;
}

// Reaps whatever has ended by now, but for the task: it stays a zombie until its group is killed, so that nobody else
// can have the number of the group.
void Reap(pid_t task, int status_pipe) {
  for (;;) {
    siginfo_t ended = {};
    if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0) _exit(kWrongUse);
    if (ended.si_pid == 0) return;
    if (ended.si_pid == task) {
      kill(-task, SIGKILL);
      EndAs(HowEnded(ended, status_pipe));
    }
    waitpid(ended.si_pid, nullptr, 0);
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2 && count != 3) return kWrongUse;
  const pid_t task = std::atoi(arguments[1]);
  const int status_pipe = count == 3 ? std::atoi(arguments[2]) : -1;
  if (task <= 1) return kWrongUse;
  prctl(PR_SET_CHILD_SUBREAPER,
        1);  // a worker of an earlier version, under which the package was upgraded, leaves it to us
  sigset_t awaited;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGCHLD);
  sigaddset(&awaited, SIGTERM);
  sigprocmask(SIG_BLOCK, &awaited, nullptr);
  for (;;) {
    Reap(task, status_pipe);
    if (sigwaitinfo(&awaited, nullptr) == SIGTERM) kill(-task, SIGKILL);
  }
}
