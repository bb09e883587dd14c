// SPDX-License-Identifier: Apache-2.0
#include "client/streaming/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

#include "base/child_process.h"
#include "base/text.h"

namespace millrace::streaming {
namespace {

constexpr int kPipeBytes = 1 << 20;
constexpr std::size_t kReadBytes = std::size_t{256} << 10;
constexpr int kChannel = 3;

// The two ends of what the child reads and writes.
struct Pipe {
  Fd ours, theirs;
};

Status NoBlocking(int fd) {
  if (::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK) < 0) return FromErrno(errno, "make a pipe not block");
  return Status::Ok();
}

// `theirs` is the end that is read if `child_reads`.
Result<Pipe> MakePipe(bool child_reads) {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return FromErrno(errno, "make a pipe to a child");
  Fd read(fds[0]), write(fds[1]);
  (void)::fcntl(write.get(), F_SETPIPE_SZ, kPipeBytes);  // a smaller pipe costs time only
  Pipe pipe = child_reads ? Pipe{std::move(write), std::move(read)} : Pipe{std::move(read), std::move(write)};
  MILLRACE_TRY(NoBlocking(pipe.ours.get()));
  return pipe;
}

Result<Pipe> MakeChannel() {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
    return FromErrno(errno, "make a channel to a child");
  Pipe channel{Fd(fds[0]), Fd(fds[1])};
  for (const int fd : fds) (void)::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kPipeBytes, sizeof kPipeBytes);
  MILLRACE_TRY(NoBlocking(channel.ours.get()));
  return channel;
}

// The state between fork and exec; only async-signal-safe calls.
struct Launch {
  const char* directory;
  char* const* arguments;
  char* const* environment;
  int input, output, error, channel;  // channel: -1, or the descriptor to place at kChannel
  pid_t parent;
};

[[noreturn]] void Become(const Launch& launch) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const bool ready = ::getppid() == launch.parent && ::dup2(launch.input, STDIN_FILENO) >= 0 &&
                     ::dup2(launch.output, STDOUT_FILENO) >= 0 && ::dup2(launch.error, STDERR_FILENO) >= 0 &&
                     (launch.channel < 0 || ::dup2(launch.channel, kChannel) >= 0) &&
                     (launch.channel < 0 || ::fcntl(kChannel, F_SETFD, 0) == 0) &&
                     ::close_range(launch.channel < 0 ? kChannel : kChannel + 1, ~0U, 0) == 0 &&
                     ::chdir(launch.directory) == 0;
  PlainSignals();
  if (ready) ::execve("/bin/sh", launch.arguments, launch.environment);
  ::_exit(126);
}

// Returns a descriptor above those that the child's standard ones and its channel take, so that placing one does not
// close another.
Result<Fd> Lifted(const Fd& fd) {
  const int lifted = ::fcntl(fd.get(), F_DUPFD_CLOEXEC, kChannel + 1);
  if (lifted < 0) return FromErrno(errno, "copy a descriptor for a child");
  return Fd(lifted);
}

}  // namespace

Child::Child(pid_t pid, Take take_output, Take take_error)
    : pid_(pid), take_output_(std::move(take_output)), take_error_(std::move(take_error)) {}

Child::Child(Child&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      line_(other.line_),
      input_(std::move(other.input_)),
      output_(std::move(other.output_)),
      error_(std::move(other.error_)),
      end_(std::move(other.end_)),
      watched_(other.watched_),
      take_output_(std::move(other.take_output_)),
      take_error_(std::move(other.take_error_)),
      buffer_(std::move(other.buffer_)),
      left_(other.left_) {}

Child::~Child() {
  if (pid_ < 0) return;
  ::kill(-pid_, SIGKILL);
  (void)WaitForChild(pid_);
}

Result<Child> Child::Start(const ChildCommand& command, Take output, Take error) {
  const bool by_channel = command.line == ChildLine::kChannel;
  MILLRACE_ASSIGN(Pipe err, MakePipe(false));
  Pipe in, out;
  if (by_channel) {
    MILLRACE_ASSIGN(in, MakeChannel());
    out.ours = Fd(::fcntl(in.ours.get(), F_DUPFD_CLOEXEC, 0));
    if (!out.ours.valid()) return FromErrno(errno, "copy the channel to a child");
  } else {
    MILLRACE_ASSIGN(in, MakePipe(true));
    MILLRACE_ASSIGN(out, MakePipe(false));
  }
  MILLRACE_ASSIGN(const Fd nothing, OpenFile("/dev/null", O_RDONLY));
  MILLRACE_ASSIGN(const Fd reads, Lifted(by_channel ? nothing : in.theirs));
  MILLRACE_ASSIGN(const Fd writes, Lifted(by_channel ? err.theirs : out.theirs));
  MILLRACE_ASSIGN(const Fd complains, Lifted(err.theirs));
  MILLRACE_ASSIGN(const Fd channel, Lifted(in.theirs));

  std::vector<std::string> settings;
  for (const auto& [name, value] : command.environment) settings.push_back(name + "=" + value);
  std::vector<char*> environment;
  for (std::string& setting : settings) environment.push_back(setting.data());
  environment.push_back(nullptr);
  std::string words[] = {"sh", "-c", command.words};
  char* const arguments[] = {words[0].data(), words[1].data(), words[2].data(), nullptr};
  const Launch launch{
      command.directory.c_str(),       arguments, environment.data(), reads.get(), writes.get(), complains.get(),
      by_channel ? channel.get() : -1, ::getpid()};
  sigset_t all, before;  // no handler of this program runs in the child
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = ::fork();
  if (pid == 0) Become(launch);
  const int error_of_fork = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return FromErrno(error_of_fork, "start " + Quote(command.words));
  ::setpgid(pid, pid);  // both sides do it, so that it is done before either goes on
  Child child(pid, std::move(output), std::move(error));
  child.line_ = command.line;
  child.end_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  child.watched_ = child.end_.valid();
  child.input_ = std::move(in.ours);
  child.output_ = std::move(out.ours);
  child.error_ = std::move(err.ours);
  child.buffer_.resize(kReadBytes);
  return child;
}

void Child::CloseInput() {
  if (input_.valid() && line_ == ChildLine::kChannel) (void)::shutdown(input_.get(), SHUT_WR);
  input_.Close();
}

Status Child::WriteSome(std::string_view* bytes) {
  const ssize_t size = line_ == ChildLine::kChannel ? ::send(input_.get(), bytes->data(), bytes->size(), MSG_NOSIGNAL)
                                                    : ::write(input_.get(), bytes->data(), bytes->size());
  if (size >= 0) {
    bytes->remove_prefix(static_cast<std::size_t>(size));
    return Status::Ok();
  }
  if (errno == EAGAIN || errno == EINTR) return Status::Ok();
  if (errno != EPIPE && errno != ECONNRESET) return FromErrno(errno, "write to a child");
  input_.Close();
  return Status::Ok();
}

Status Child::Drain(Fd* fd, const Take& take) {
  const ssize_t size = ::read(fd->get(), buffer_.data(), buffer_.size());
  if (size > 0) {
    take({buffer_.data(), static_cast<std::size_t>(size)});
    return Status::Ok();
  }
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return Status::Ok();
  if (size < 0 && errno != ECONNRESET) return FromErrno(errno, "read from a child");
  fd->Close();
  return Status::Ok();
}

bool Child::HasFailed() const {
  siginfo_t ended{};
  if (::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0)
    return false;
  return ended.si_code != CLD_EXITED || ended.si_status != 0;
}

Result<bool> Child::Turn(bool write, int millis, bool* writable) {
  *writable = false;
  enum { kToChild, kFromChild, kComplaints, kItsEnd, kCount };
  pollfd ready[kCount] = {{write && input_.valid() ? input_.get() : -1, POLLOUT, 0},
                          {output_.valid() ? output_.get() : -1, POLLIN, 0},
                          {error_.valid() ? error_.get() : -1, POLLIN, 0},
                          {end_.valid() ? end_.get() : -1, POLLIN, 0}};
  const int count = ::poll(ready, kCount, millis);
  if (count < 0 && errno != EINTR) return FromErrno(errno, "wait for a child");
  if (count <= 0) return count < 0;
  *writable = ready[kToChild].revents != 0;
  if (ready[kFromChild].revents != 0) MILLRACE_TRY(Drain(&output_, take_output_));
  if (ready[kComplaints].revents != 0) MILLRACE_TRY(Drain(&error_, take_error_));
  if (ready[kItsEnd].revents != 0) end_.Close();
  return true;
}

Status Child::Give(std::string_view bytes) {
  bool writable = true;
  while (!bytes.empty() && input_.valid()) {
    if (writable) MILLRACE_TRY(WriteSome(&bytes));
    if (bytes.empty() || !input_.valid()) break;
    MILLRACE_TRY(Turn(true, -1, &writable).status());
  }
  left_ += bytes.size();
  return Look();
}

Status Child::Look() {
  bool writable = false;
  while (output_.valid() || error_.valid()) {
    MILLRACE_ASSIGN(const bool more, Turn(false, 0, &writable));
    if (!more) break;
  }
  return Status::Ok();
}

Status Child::TakeUntil(const std::function<bool()>& enough) {
  bool writable = false;
  while (!enough() && output_.valid()) MILLRACE_TRY(Turn(false, -1, &writable).status());
  return Status::Ok();
}

Result<int> Child::Finish(bool patient) {
  CloseInput();
  bool writable = false;
  while (output_.valid() || error_.valid() || end_.valid()) {
    const bool ended = watched_ && !end_.valid();
    const bool failed = ended && HasFailed();
    MILLRACE_ASSIGN(const bool more, Turn(false, failed ? 0 : ended || !patient ? kPatienceMillis : -1, &writable));
    if (more) continue;
    if (failed) break;
    if (!ended) return Timeout("it went on when it should have ended");
    if (ended) {
      return Timeout(
          "it has ended, but a process that it left behind holds its output open and writes nothing; what is started "
          "in the background needs its output sent elsewhere");
    }
  }
  ::kill(-pid_, SIGKILL);  // what is left of its group; the child itself is a zombie, which keeps its number
  return WaitForChild(std::exchange(pid_, -1));
}

std::string EndInWords(int wait_status) {
  constexpr int kShellSignal = 128, kNotFound = 127, kNotStarted = 126;
  const auto described = [](int signal) {
    const char* const description = ::sigdescr_np(signal);
    return description == nullptr ? std::string() : std::string(description);
  };
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    return "was ended by signal " + std::to_string(signal) + " (" + described(signal) + ")";
  }
  const int status = ExitStatusOf(wait_status);
  std::string text = "ended with status " + std::to_string(status);
  // Any program may end so. A shell does for what it was to run.
  if (status == kNotFound) text += " (of a shell: not found)";
  if (status == kNotStarted) text += " (of a shell: not an executable)";
  if (const int signal = status - kShellSignal; signal > 0 && signal < NSIG && !described(signal).empty())
    text += " (of a shell: signal " + std::to_string(signal) + ", " + described(signal) + ")";
  return text;
}

}  // namespace millrace::streaming
