// SPDX-License-Identifier: Apache-2.0
#include "client/top/terminal.h"

#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace millrace::top {
namespace {

// The other screen, no cursor, and no wrapping; and all of it back.
constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J";
constexpr std::string_view kLeave = "\x1b[0m\x1b[?7h\x1b[?25h\x1b[?1049l";

Status SetMode(int fd, const termios& mode) {
  while (::tcsetattr(fd, TCSANOW, &mode) != 0) {
    if (errno != EINTR) return FromErrno(errno, "set the mode of the terminal");
  }
  return Status::Ok();
}

}  // namespace

Signals::Signals() {
  ::sigemptyset(&set_);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT, SIGWINCH}) ::sigaddset(&set_, signal);
  fd_ = Fd(::signalfd(-1, &set_, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_.valid()) throw std::system_error(errno, std::generic_category(), "signalfd");
  Hold();
}

Signals::~Signals() { Release(); }

void Signals::Release() { ::pthread_sigmask(SIG_UNBLOCK, &set_, nullptr); }
void Signals::Hold() { ::pthread_sigmask(SIG_BLOCK, &set_, nullptr); }

int Signals::Next() {
  signalfd_siginfo info{};
  return ::read(fd_.get(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
}

Status Terminal::Enter() {
  if (!before_) {
    termios mode{};
    if (::tcgetattr(console_.in, &mode) != 0) return FromErrno(errno, "read the mode of the terminal");
    before_ = mode;
  }
  termios mode = *before_;
  mode.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);  // Ctrl-C and Ctrl-Z still send their signals
  mode.c_cc[VMIN] = 1;
  mode.c_cc[VTIME] = 0;
  MILLRACE_TRY(SetMode(console_.in, mode));
  return Write(kEnter);
}

void Terminal::Leave() {
  if (!before_) return;
  // A terminal that is gone cannot be restored, and nobody would see it.
  (void)Write(kLeave);
  (void)SetMode(console_.in, *before_);
  before_.reset();
}

Status Terminal::Suspend() {
  Leave();
  ::kill(::getpid(), SIGSTOP);
  return Enter();
}

Size Terminal::size() const {
  winsize size{};
  if (::ioctl(console_.out, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0) return {};
  return {size.ws_col, size.ws_row};
}

Status Terminal::Write(std::string_view bytes) const { return WriteAll(console_.out, bytes, "the terminal"); }

Result<std::string> Terminal::Read() const {
  char bytes[512];
  const ssize_t size = ::read(console_.in, bytes, sizeof bytes);
  if (size > 0) return std::string(bytes, static_cast<std::size_t>(size));
  if (size < 0 && (errno == EINTR || errno == EAGAIN)) return std::string();
  return Unavailable("the terminal is gone");
}

}  // namespace millrace::top
