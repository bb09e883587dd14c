#include "client/cli/sigint_hold.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace millrace::cli {
namespace {

sigset_t Interrupt() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  return set;
}

void Mask(int how) {
  const sigset_t set = Interrupt();
  MILLRACE_CHECK(::pthread_sigmask(how, &set, nullptr) == 0, "SIGINT can be blocked");
}

}  // namespace

SigintHold::SigintHold() {
  const sigset_t set = Interrupt();
  fd_ = Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_.valid()) throw std::system_error(errno, std::generic_category(), "wait for SIGINT");
}

SigintHold::~SigintHold() { Mask(SIG_UNBLOCK); }
void SigintHold::BeginThreads() { Mask(SIG_BLOCK); }
void SigintHold::EndThreads() { Mask(SIG_UNBLOCK); }
void SigintHold::Catch() { Mask(SIG_BLOCK); }

void SigintHold::Consume() {
  signalfd_siginfo info{};
  (void)!::read(fd_.get(), &info, sizeof info);
}

}  // namespace millrace::cli
