// SPDX-License-Identifier: Apache-2.0
#include "base/line_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/child_process.h"
#include "base/text.h"
#include "base/units.h"

extern char** environ;

namespace millrace {
namespace {

constexpr std::size_t kLongestKept = 400;      // bytes of a line in the transcript
constexpr std::size_t kErrorBytes = 16 << 10;  // of standard error that are kept
constexpr std::size_t kAtOnce = 64 << 10;
constexpr Micros kLastWords = 1 * kSecond;
constexpr int kAboveDescriptors = 100;

Micros SteadyNow() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return Micros{now.tv_sec} * kSecond + now.tv_nsec / 1000;
}

// Returns where the first line begins whose first word this is; npos if there is no such whole line yet. The search
// goes on from *from, the beginning of a line.
std::size_t FindLine(std::string_view text, std::string_view word, std::size_t* from) {
  for (;;) {
    const std::size_t end = text.find('\n', *from);
    if (end == std::string_view::npos) return end;
    const std::string_view line = text.substr(*from, end - *from);
    if (line.substr(0, line.find(' ')) == word) return *from;
    *from = end + 1;
  }
}

void CloseAll(std::initializer_list<int> fds) {
  for (const int fd : fds) {
    if (fd >= 0) ::close(fd);
  }
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// What a child needs between fork and exec.
struct Birth {
  char* const* words;
  char* const* environment;
  int lines, errors;
  const std::vector<std::pair<int, int>>* descriptors;
  pid_t parent;
};

// Async-signal-safe. Writes the error to `why` if the program cannot be executed.
[[noreturn]] void Become(const Birth& birth, int why) {
  // Nobody else would end a child that is at work when its parent is killed. The first words are that if the parent has
  // ended before.
  bool ready = ::setpgid(0, 0) == 0 && ::prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && ::getppid() == birth.parent;
  ready = ready && ::dup2(birth.lines, STDIN_FILENO) >= 0 && ::dup2(birth.lines, STDOUT_FILENO) >= 0 &&
          ::dup2(birth.errors, STDERR_FILENO) >= 0;
  for (const auto& [own, number] : *birth.descriptors) ready = ready && ::dup2(own, number) >= 0;
  PlainSignals();
  // execvpe would have a shell run what is no program.
  if (ready && std::strchr(birth.words[0], '/') != nullptr)
    ::execve(birth.words[0], birth.words, birth.environment);
  else if (ready)
    ::execvpe(birth.words[0], birth.words, birth.environment);
  const int error = errno;
  (void)!::write(why, &error, sizeof error);
  ::_exit(127);
}

// Starts the child. Returns 0, or why that failed, and then there is none.
int Bear(const Birth& birth, pid_t* pid) {
  int why[2] = {-1, -1};
  if (::pipe2(why, O_CLOEXEC) != 0) return errno;
  int error = 0;
  // Above the numbers that the child's descriptors take.
  int told = ::fcntl(why[1], F_DUPFD_CLOEXEC, kAboveDescriptors);
  if (told < 0) error = errno;
  if (error == 0) {
    *pid = ::fork();
    if (*pid == 0) Become(birth, told);
    if (*pid < 0) error = errno;
  }
  CloseAll({why[1], told});
  if (error == 0) {
    (void)::setpgid(*pid, *pid);  // whoever is first
    ssize_t got = 0;
    while ((got = ::read(why[0], &error, sizeof error)) < 0 && errno == EINTR) {
    }
    if (got != sizeof error) error = 0;  // closed by exec
    if (error != 0) (void)WaitForChild(*pid);
  }
  CloseAll({why[0]});
  return error;
}

}  // namespace

Result<std::unique_ptr<LineChild>> LineChild::Start(LineCommand command) {
  const std::string name = command.name.empty() ? command.argv.front() : command.name;
  int lines[2] = {-1, -1}, errors[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, lines) != 0 || ::pipe2(errors, O_CLOEXEC) != 0) {
    const int error = errno;
    CloseAll({lines[0], lines[1]});
    return FromErrno(error, "start " + Quote(name));
  }
  for (const int fd : {lines[0], errors[0]}) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  const std::vector<char*> words = Pointers(command.argv);
  std::vector<char*> variables;
  if (command.environment) variables = Pointers(*command.environment);
  const Birth birth{
      words.data(), command.environment ? variables.data() : environ, lines[1], errors[1], &command.descriptors,
      ::getpid()};
  pid_t pid = 0;
  const int error = Bear(birth, &pid);
  CloseAll({lines[1], errors[1]});
  if (error != 0) {
    CloseAll({lines[0], errors[0]});
    return FromErrno(error, "start " + Quote(name));
  }
  return std::unique_ptr<LineChild>(new LineChild(pid, lines[0], errors[0], name, std::move(command.kept)));
}

LineChild::~LineChild() {
  // The group is killed before its first process is reaped, since its number may be another's after that.
  if (!reaped_) {
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);  // it may have left its group
    (void)WaitForChild(pid_);
  }
  CloseAll({lines_, errors_});
}

void LineChild::Keep(char direction, std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string line{direction, ' '};
    line += text.substr(0, std::min(end, kLongestKept));
    if (end > kLongestKept) line += "...";
    kept_.push_back(std::move(line));
    if (kept_.size() > kKeptLines) kept_.pop_front();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void LineChild::ReadErrors() {
  char buffer[4096];
  while (errors_ >= 0) {
    const ssize_t got = ::read(errors_, buffer, sizeof(buffer));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got <= 0) {
      CloseAll({std::exchange(errors_, -1)});
      return;
    }
    said_.append(buffer, static_cast<std::size_t>(got));
    if (said_.size() > 2 * kErrorBytes) said_.erase(0, said_.size() - kErrorBytes);
    return;  // one piece at a time, so that a flood of errors keeps nobody from the time
  }
}

// A child whose output is closed mostly ends at once; then its end says more.
void LineChild::AwaitEnd() const {
  const int end = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  if (end < 0) return;
  pollfd polled{end, POLLIN, 0};
  const Micros until = SteadyNow() + kLastWords;
  Micros left = kLastWords;
  while (left > 0 && ::poll(&polled, 1, static_cast<int>(left / 1000 + 1)) < 0 && errno == EINTR)
    left = until - SteadyNow();
  ::close(end);
}

Status LineChild::Ended(const std::string& how) {
  int status = 0;
  std::string what = Quote(name_) + " " + how;
  const pid_t pid = ::waitpid(pid_, &status, WNOHANG | __WALL);
  if (pid == pid_) {
    ::kill(-pid_, SIGKILL);  // what it has left behind
    reaped_ = true;
    what = Quote(name_) + (WIFSIGNALED(status) ? " was ended by signal " + std::to_string(WTERMSIG(status))
                                               : " has ended with status " + std::to_string(WEXITSTATUS(status)));
  }
  ReadErrors();
  std::string_view said = said_;
  while (said.ends_with('\n')) said.remove_suffix(1);
  said = said.substr(said.rfind('\n') + 1);
  if (!said.empty()) what += "; it said: " + Printable(std::string(said.substr(0, kLongestKept)));
  return Unavailable(what);
}

Result<std::string> LineChild::Ask(std::string_view text, std::string_view last, Micros patience, std::size_t most,
                                   std::string* end) {
  if (!failed_.ok()) return failed_;
  Result<std::string> answer = Answer(text, last, patience, most, end);
  if (!answer.ok()) failed_ = answer.status();
  return answer;
}

Result<std::string> LineChild::Answer(std::string_view text, std::string_view last, Micros patience, std::size_t most,
                                      std::string* end) {
  Keep('>', text);
  const Micros until = SteadyNow() + patience;
  std::size_t from = 0;
  bool open = true;
  for (;;) {
    const std::size_t at = FindLine(unread_, last, &from);
    if (at != std::string::npos) {
      const std::size_t behind = unread_.find('\n', at);
      *end = unread_.substr(at, behind - at);
      std::string answer = unread_.substr(0, at);
      Keep('<', std::string_view(unread_).substr(0, behind));
      unread_.erase(0, behind + 1);
      return answer;
    }
    if (unread_.size() > most) {
      Keep('<', unread_);
      return Ended("wrote " + FormatBytes(unread_.size()) + " without a line that begins with " + Quote(last));
    }
    if (!open) {
      Keep('<', unread_);
      AwaitEnd();
      return Ended("has closed its standard output");
    }
    const Micros left = until - SteadyNow();
    if (left <= 0) {
      Keep('<', unread_);
      return Ended("has not answered within " + FormatDuration(patience));
    }
    pollfd polled[2] = {{lines_, static_cast<short>(POLLIN | (text.empty() ? 0 : POLLOUT)), 0}, {errors_, POLLIN, 0}};
    const int ready = ::poll(polled, 2, static_cast<int>(std::min<Micros>(left / 1000 + 1, 60'000)));
    if (ready < 0 && errno != EINTR) return Ended(std::string("cannot be waited for: ") + std::strerror(errno));
    if (ready <= 0) continue;
    if (polled[1].revents != 0) ReadErrors();
    if ((polled[0].revents & POLLOUT) != 0) {
      const ssize_t sent = ::send(lines_, text.data(), std::min(text.size(), kAtOnce), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent > 0) text.remove_prefix(static_cast<std::size_t>(sent));
      if (sent < 0 && errno != EAGAIN && errno != EINTR) text = {};  // it reads no more; perhaps it has answered
    }
    if ((polled[0].revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
      char buffer[kAtOnce];
      const ssize_t got = ::recv(lines_, buffer, sizeof(buffer), MSG_DONTWAIT);
      if (got > 0) unread_.append(buffer, static_cast<std::size_t>(got));
      if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) open = false;
    }
  }
}

std::string LineChild::Transcript() const {
  std::string text;
  for (const std::string& line : kept_) text += Printable(line) + '\n';
  if (!said_.empty()) text += "standard error:\n" + said_;
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text;
}

}  // namespace millrace
