// SPDX-License-Identifier: Apache-2.0
#include "client/local/foreground.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

namespace millrace::local {
namespace {

constexpr int kEndPatienceMs = 5000;

class Terminal {
 public:
  explicit Terminal(pid_t command)
      : command_(command), ours_(::isatty(STDIN_FILENO) == 1 && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp()) {
    previous_ = ::signal(SIGTTOU, SIG_IGN);
    GiveToCommand();
  }
  ~Terminal() {
    TakeBack();
    ::signal(SIGTTOU, previous_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void GiveToCommand() const {
    if (ours_) ::tcsetpgrp(STDIN_FILENO, command_);
  }
  void TakeBack() const {
    if (ours_) ::tcsetpgrp(STDIN_FILENO, ::getpgrp());
  }
  // Ctrl-Z has stopped the command: this process stops as well, and continues together with it.
  void StopTogether() const {
    if (!ours_) return;
    TakeBack();
    ::raise(SIGSTOP);
    GiveToCommand();
    ::kill(-command_, SIGCONT);
  }

 private:
  const pid_t command_;
  const bool ours_;
  sighandler_t previous_ = SIG_DFL;
};

bool Stopped(pid_t command) {
  siginfo_t info{};
  return ::waitid(P_PID, static_cast<id_t>(command), &info, WSTOPPED | WNOHANG) == 0 && info.si_pid == command;
}

}  // namespace

Result<int> WaitInForeground(Process& command, Signals& signals, LocalCluster& cluster,
                             const std::function<void(const std::string&)>& tell) {
  const Terminal terminal(command.pid());
  Status lost;
  int patience = -1;
  while (true) {
    std::vector<pollfd> waited{{command.fd(), POLLIN, 0}, {signals.fd(), POLLIN, 0}};
    for (const int fd : lost.ok() ? cluster.DaemonFds() : std::vector<int>()) waited.push_back({fd, POLLIN, 0});
    const int ready = ::poll(waited.data(), waited.size(), patience);
    if (ready < 0 && errno == EINTR) continue;
    if (waited[0].revents != 0) break;
    if (ready == 0) command.SignalGroup(SIGKILL);
    for (int signal; (signal = signals.Next()) != 0;) {
      if (signal == SIGCHLD) {
        if (Stopped(command.pid())) terminal.StopTogether();
        continue;
      }
      command.SignalGroup(signal);
      if (signal != SIGINT) patience = kEndPatienceMs;
    }
    if (!lost.ok()) continue;
    const Result<std::vector<std::string>> losses = cluster.TakeLosses();
    if (losses.ok()) {
      for (const std::string& line : *losses) tell(line);
      continue;
    }
    lost = losses.status();
    command.SignalGroup(SIGTERM);
    patience = kEndPatienceMs;
  }
  command.SignalGroup(SIGKILL);  // kills what the command left behind
  const Result<int> status = command.Reap();
  MILLRACE_TRY(lost);
  return status;
}

}  // namespace millrace::local
