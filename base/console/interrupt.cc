// SPDX-License-Identifier: Apache-2.0
#include "base/console/interrupt.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/check.h"
#include "base/thread.h"

namespace millrace::console {
namespace {

sigset_t Ending() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGINT);
  ::sigaddset(&set, SIGTERM);
  return set;
}

void Raise(int fd) {
  const std::uint64_t one = 1;
  MILLRACE_CHECK(::write(fd, &one, sizeof one) == sizeof one, "an eventfd takes eight bytes");
}

}  // namespace

Interrupt::Interrupt() {
  const sigset_t set = Ending();
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signals_ = Fd(::signalfd(-1, &set, SFD_CLOEXEC));
  seen_ = Fd(::eventfd(0, EFD_CLOEXEC));
  quit_ = Fd(::eventfd(0, EFD_CLOEXEC));
  if (!signals_.valid() || !seen_.valid() || !quit_.valid())
    throw std::system_error(errno, std::generic_category(), "wait for signals");
  thread_ = std::thread([this] { Wait(); });
}

Interrupt::~Interrupt() {
  Raise(quit_.get());
  thread_.join();
  const sigset_t set = Ending();
  ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void Interrupt::Wait() {
  NameThread("signals");
  pollfd waited[] = {{quit_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
  while (true) {
    if (::poll(waited, Seen() ? 1 : 2, -1) < 0) continue;
    if (waited[0].revents != 0) return;
    signalfd_siginfo info{};
    if (::read(signals_.get(), &info, sizeof info) != sizeof info) continue;
    signal_ = static_cast<int>(info.ssi_signo);
    Raise(seen_.get());
    // A signal to the process goes to any thread that does not block it, so unblocking it here is enough for a second
    // one to have its usual effect.
    const sigset_t set = Ending();
    ::pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  }
}

}  // namespace millrace::console
