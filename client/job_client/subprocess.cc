// SPDX-License-Identifier: Apache-2.0
#include "client/job_client/subprocess.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <utility>

#include "base/child_process.h"
#include "base/file.h"
#include "base/text.h"
#include "base/units.h"

extern char** environ;  // NOLINT: no header of POSIX declares it

namespace millrace::job {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

Result<std::pair<Fd, Fd>> MakePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return FromErrno(errno, "make a pipe");
  return std::pair<Fd, Fd>(Fd(ends[0]), Fd(ends[1]));
}

// Starts the child in a process group of its own.
Result<pid_t> Spawn(const std::vector<std::string>& argv, int out, int err) {
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&files, err, STDERR_FILENO);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  PlainSignals(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = -1;
  const int failure = ::posix_spawn(&child, argv[0].c_str(), &files, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  if (failure == ENOEXEC) return Invalid("start " + Quote(argv[0]) + ": it is not a program that this machine can run");
  if (failure == ENOENT && ::access(argv[0].c_str(), F_OK) == 0) {
    return Invalid("start " + Quote(argv[0]) +
                   ": the interpreter or the dynamic loader that it names is not on this machine; `file` says which");
  }
  if (failure != 0) return FromErrno(failure, "start " + Quote(argv[0]));
  return child;
}

int MillisecondsUntil(SteadyTime end) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
  return left > 0 ? static_cast<int>(left) : 0;
}

// Reads both pipes to their ends.
Status Collect(std::array<pollfd, 2> pipes, const CaptureLimits& limits, const std::string& program,
               Captured* captured) {
  const SteadyTime end = std::chrono::steady_clock::now() + std::chrono::microseconds(limits.timeout);
  const std::array<std::string*, 2> sinks{&captured->output, &captured->error};
  while (pipes[0].fd >= 0 || pipes[1].fd >= 0) {
    const int ready = ::poll(pipes.data(), pipes.size(), MillisecondsUntil(end));
    if (ready < 0 && errno != EINTR) return FromErrno(errno, "wait for " + Quote(program));
    if (ready == 0) return Timeout(Quote(program) + " gave no answer within " + FormatDuration(limits.timeout));
    for (std::size_t i = 0; ready > 0 && i < pipes.size(); ++i) {
      if (pipes[i].fd < 0 || pipes[i].revents == 0) continue;
      char buffer[16384];
      const ssize_t size = ::read(pipes[i].fd, buffer, sizeof buffer);
      if (size < 0 && errno == EINTR) continue;
      if (size <= 0) {
        pipes[i].fd = -1;
      } else if (sinks[i]->append(buffer, static_cast<std::size_t>(size)).size() > limits.bytes) {
        sinks[i]->resize(limits.bytes);
        if (!limits.cuts) return Invalid(Quote(program) + " printed more than " + FormatBytes(limits.bytes));
      }
    }
  }
  return Status::Ok();
}

// Returns true if the child ends in time. A program may close its output and go on, so its end has as much time as its
// output had. Killing a group that is gone does nothing.
bool EndsWithin(pid_t child, Micros timeout) {
  const Fd handle(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  if (!handle.valid()) return false;
  pollfd ended{handle.get(), POLLIN, 0};
  return ::poll(&ended, 1, static_cast<int>(timeout / kMillisecond)) > 0;
}

}  // namespace

Result<Captured> RunCaptured(const std::vector<std::string>& argv, const CaptureLimits& limits) {
  MILLRACE_CHECK(!argv.empty(), "a program needs a name");
  MILLRACE_ASSIGN(auto out, MakePipe());
  MILLRACE_ASSIGN(auto err, MakePipe());
  MILLRACE_ASSIGN(const pid_t child, Spawn(argv, out.second.get(), err.second.get()));
  out.second.Close();
  err.second.Close();
  Captured captured;
  Status collected =
      Collect({pollfd{out.first.get(), POLLIN, 0}, pollfd{err.first.get(), POLLIN, 0}}, limits, argv[0], &captured);
  if (collected.ok() && !EndsWithin(child, limits.timeout)) {
    collected = Timeout(Quote(argv[0]) + " did not end within " + FormatDuration(limits.timeout));
  }
  ::kill(-child, SIGKILL);
  const Result<int> status = WaitForChild(child);
  MILLRACE_TRY(collected);
  MILLRACE_TRY(status.status());
  captured.exit_status = ExitStatusOf(*status);
  return captured;
}

}  // namespace millrace::job
