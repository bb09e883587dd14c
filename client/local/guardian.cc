// SPDX-License-Identifier: Apache-2.0
#include "client/local/guardian.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <charconv>
#include <optional>
#include <string_view>
#include <vector>

namespace millrace::local {
namespace {

constexpr std::string_view kDismissed = "dismissed";
constexpr int kRemoveTries = 100;
constexpr int kRemovePauseMs = 50;  // gives task processes time to notice that their worker is gone

struct Leader {
  pid_t pid = -1;
  Fd handle;
};

// Reads lines up to the end of the pipe. Returns false if the guardian was dismissed.
bool Listen(int pipe, std::vector<Leader>* leaders) {
  std::string text;
  char buffer[4096];
  while (true) {
    const ssize_t size = ::read(pipe, buffer, sizeof buffer);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return true;
    text.append(buffer, static_cast<std::size_t>(size));
    for (std::size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
      const std::string_view line = std::string_view(text).substr(0, end);
      if (line == kDismissed) return false;
      pid_t pid = -1;
      const auto [last, error] = std::from_chars(line.data(), line.data() + line.size(), pid);
      if (error != std::errc() || last != line.data() + line.size() || pid <= 1) continue;
      leaders->push_back({pid, Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)))});
    }
  }
}

// A leader of which we could not get a handle had ended already, and its number may be somebody else's by now.
bool HasEnded(const Leader& leader) {
  pollfd ended{leader.handle.get(), POLLIN, 0};
  return !leader.handle.valid() || ::poll(&ended, 1, 0) > 0;
}

void KillAll(const std::vector<Leader>& leaders) {
  for (const Leader& leader : leaders) {
    if (!HasEnded(leader)) ::kill(-leader.pid, SIGKILL);
  }
  for (const Leader& leader : leaders) {
    pollfd ended{leader.handle.get(), POLLIN, 0};
    while (leader.handle.valid() && ::poll(&ended, 1, -1) < 0 && errno == EINTR) {
    }
  }
}

[[noreturn]] void Guard(int pipe, const std::string& directory) {
  ::setpgid(0, 0);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(signal, SIG_IGN);
  // Standard error stays open: whoever waits for its end then knows that nothing is left.
  const int nothing = ::open("/dev/null", O_RDWR);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(nothing, STDOUT_FILENO);
  std::vector<Leader> leaders;
  if (Listen(pipe, &leaders)) {
    KillAll(leaders);
    for (int i = 0; i < kRemoveTries && !directory.empty() && ::access(directory.c_str(), F_OK) == 0; ++i) {
      if (i > 0) ::poll(nullptr, 0, kRemovePauseMs);
      (void)RemoveTree(directory);
    }
  }
  ::_exit(0);
}

}  // namespace

Result<Guardian> Guardian::Start(const std::string& directory) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return FromErrno(errno, "make a pipe");
  const Fd reader(ends[0]);
  Fd writer(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return FromErrno(errno, "start a guardian process");
  if (pid == 0) {
    writer.Close();
    Guard(reader.get(), directory);
  }
  ::setpgid(pid, pid);
  return Guardian(pid, std::move(writer));
}

void Guardian::Dismiss() {
  if (pid_ < 0) return;
  (void)WriteAll(pipe_.get(), std::string(kDismissed) + "\n", "guardian");
  Await();
}

void Guardian::CleanUp() {
  if (pid_ >= 0) Await();
}

void Guardian::Await() {
  pipe_.Close();
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

}  // namespace millrace::local
