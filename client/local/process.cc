// SPDX-License-Identifier: Apache-2.0
#include "client/local/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <utility>

#include "base/child_process.h"
#include "base/text.h"

namespace millrace::local {
namespace {

bool Redirect(const ProcessSpec& spec) {
  if (!spec.log.empty() || spec.without_input) {
    const int nothing = ::open("/dev/null", O_RDONLY);
    if (nothing < 0 || ::dup2(nothing, STDIN_FILENO) < 0) return false;
  }
  if (spec.log.empty()) return true;
  const int log = ::open(spec.log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  return log >= 0 && ::dup2(log, STDOUT_FILENO) >= 0 && ::dup2(log, STDERR_FILENO) >= 0;
}

// Runs in the child. The error number is written to `report` if the child does not become the program.
[[noreturn]] void Become(const ProcessSpec& spec, int registry, int report) {
  ::setpgid(0, 0);
  const std::string line = std::to_string(::getpid()) + "\n";
  const bool registered =
      registry < 0 || ::write(registry, line.data(), line.size()) == static_cast<ssize_t>(line.size());
  if (registered && Redirect(spec)) {
    for (const auto& [name, value] : spec.environment) ::setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> argv;
    for (const std::string& word : spec.argv) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    PlainSignals();
    ::execvp(argv[0], argv.data());
  }
  const int error = errno;
  (void)!::write(report, &error, sizeof error);
  ::_exit(127);
}

}  // namespace

Result<Process> Process::Start(const ProcessSpec& spec, int registry) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return FromErrno(errno, "make a pipe");
  const Fd reader(ends[0]);
  Fd writer(ends[1]);
  Process process;
  process.pid_ = ::fork();
  if (process.pid_ < 0) return FromErrno(errno, "start " + Quote(spec.argv[0]));
  if (process.pid_ == 0) Become(spec, registry, writer.get());
  writer.Close();
  // parent or child, whichever comes first; it fails if the child has already become the program
  ::setpgid(process.pid_, process.pid_);
  process.handle_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, process.pid_, 0)));
  int error = 0;
  if (::read(reader.get(), &error, sizeof error) == sizeof error) {
    (void)process.Reap();
    return FromErrno(error, "start " + Quote(spec.argv[0]));
  }
  if (!process.handle_.valid()) {
    const int failure = errno;
    process.SignalGroup(SIGKILL);
    (void)process.Reap();
    return FromErrno(failure, "watch " + Quote(spec.argv[0]));
  }
  return process;
}

void Process::SignalGroup(int signal) const {
  if (running()) ::kill(-pid_, signal);
}

Result<int> Process::Reap() {
  const Result<int> status = WaitForChild(std::exchange(pid_, -1));
  return status.ok() ? Result<int>(ExitStatusOf(*status)) : status;
}

}  // namespace millrace::local
