#include "client/local/foreground.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

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

int WaitInForeground(Process& command, Signals& signals) {
  const Terminal terminal(command.pid());
  int patience = -1;
  while (true) {
    std::array<pollfd, 2> waited{pollfd{command.fd(), POLLIN, 0}, pollfd{signals.fd(), POLLIN, 0}};
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
  }
  command.SignalGroup(SIGKILL);  // kills what the command left behind
  return command.Reap();
}

}  // namespace millrace::local
