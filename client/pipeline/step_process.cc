#include "client/pipeline/step_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child_process.h"
#include "base/file.h"
#include "base/text.h"

extern char** environ;  // NOLINT: no header of POSIX declares it

namespace millrace::internal {
namespace {

// What the handler needs of the child that runs; a handler has no other way to it.
volatile sig_atomic_t child_pid = 0;
volatile sig_atomic_t signal_that_came = 0;

void HandOn(int number, siginfo_t* info, void*) {
  signal_that_came = number;
  // What the terminal sends has reached the child, too.
  if (info != nullptr && info->si_code <= 0 && child_pid > 0) ::kill(child_pid, number);
}

// Handles both signals while it lives.
class Handlers {
 public:
  Handlers() {
    struct sigaction action {};
    action.sa_sigaction = HandOn;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGINT, &action, &interrupt_);
    ::sigaction(SIGTERM, &action, &terminate_);
  }
  ~Handlers() {
    ::sigaction(SIGINT, &interrupt_, nullptr);
    ::sigaction(SIGTERM, &terminate_, nullptr);
  }
  Handlers(const Handlers&) = delete;
  Handlers& operator=(const Handlers&) = delete;

 private:
  struct sigaction interrupt_ {};
  struct sigaction terminate_ {};
};

Result<pid_t> Spawn(const std::vector<std::string>& argv, int output) {
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  PlainSignals(&attributes);
  pid_t child = -1;
  const int failure = ::posix_spawn(&child, argv[0].c_str(), &files, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  if (failure != 0) return FromErrno(failure, "start " + Quote(argv[0]));
  return child;
}

}  // namespace

Result<StepEnd> RunStep(const std::vector<std::string>& argv) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return FromErrno(errno, "make a pipe");
  const Fd reader(ends[0]);
  Fd writer(ends[1]);
  signal_that_came = 0;
  const Handlers handlers;
  MILLRACE_ASSIGN(const pid_t child, Spawn(argv, writer.get()));
  child_pid = child;
  writer.Close();
  if (signal_that_came != 0) ::kill(child, signal_that_came);  // it came before the child was known
  StepEnd end;
  for (bool more = true; more;) {
    char buffer[16384];
    const ssize_t size = ::read(reader.get(), buffer, sizeof buffer);
    if (size > 0) end.output.append(buffer, static_cast<std::size_t>(size));
    more = size > 0 || (size < 0 && errno == EINTR);
  }
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
  }
  child_pid = 0;  // before it is reaped: its number may then be another's
  MILLRACE_ASSIGN(const int status, WaitForChild(child));
  end.exit_status = ExitStatusOf(status);
  end.interrupted = signal_that_came != 0 && end.exit_status != 0;
  return end;
}

}  // namespace millrace::internal
