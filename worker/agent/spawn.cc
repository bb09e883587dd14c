#include "worker/agent/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "worker/agent/orphans.h"

namespace millrace::worker {
namespace {

struct Child {
  const char* executable = nullptr;
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  pid_t parent = 0;
  int input = -1, output = -1, channel = -1;
  rlim_t memory_limit = RLIM_INFINITY;
  int error = 0;  // written by the child, whose memory is ours
};

void ResetSignals() {
  struct sigaction plain = {};
  plain.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) sigaction(signal, &plain, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

bool Limit(Child& child) {
  const rlimit no_core = {0, 0};
  const rlimit data = {child.memory_limit, child.memory_limit};
  return setrlimit(RLIMIT_CORE, &no_core) == 0 &&
         (child.memory_limit == RLIM_INFINITY || setrlimit(RLIMIT_DATA, &data) == 0);
}

// dup2 of a descriptor onto itself would leave it to be closed by exec.
bool Place(int from, int to) { return from == to ? fcntl(to, F_SETFD, 0) == 0 : dup2(from, to) == to; }

// Runs in our memory while we are suspended (as vfork): async-signal-safe calls only, and no change to what we hold but
// `error`.
int ChildMain(void* argument) {
  Child& child = *static_cast<Child*>(argument);
  ResetSignals();
  // The parent may have died before the death signal was asked for.
  const bool ready = setpgid(0, 0) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == child.parent &&
                     Limit(child) && Place(child.input, 0) && Place(child.output, 1) && Place(1, 2) &&
                     Place(child.channel, 3) && close_range(4, ~0U, 0) == 0;
  if (ready) execve(child.executable, child.arguments, child.environment);
  child.error = errno;
  _exit(127);
}

// Descriptors below 4 are overwritten in the child before they are all placed.
Result<Fd> AboveStandard(Fd fd, std::string_view what) {
  if (fd.get() > 3) return fd;
  Fd moved(fcntl(fd.get(), F_DUPFD_CLOEXEC, 4));
  if (!moved.valid()) return FromErrno(errno, what);
  return moved;
}

Result<pid_t> CloneChild(Child& child) {
  constexpr std::size_t kStack = std::size_t{256} << 10;
  std::vector<char> stack(kStack);
  const auto top = reinterpret_cast<std::uintptr_t>(stack.data() + kStack) & ~std::uintptr_t{15};
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // none of our handlers may run in the child
  const pid_t pid = clone(ChildMain, reinterpret_cast<void*>(top), CLONE_VM | CLONE_VFORK | SIGCHLD, &child);
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return FromErrno(error, fmt::format("cannot start {}", child.executable));
  if (child.error == 0) return pid;
  waitpid(pid, nullptr, 0);
  return FromErrno(child.error, fmt::format("cannot start {}", child.executable));
}

// What programs need to run at all; the rest of the daemon's environment may hold secrets.
bool Inherited(std::string_view variable) {
  constexpr std::string_view kNames[] = {"PATH", "HOME", "USER",   "LOGNAME",        "SHELL",
                                         "LANG", "TZ",   "TMPDIR", "LD_LIBRARY_PATH"};
  const std::string_view name = variable.substr(0, variable.find('='));
  return name.starts_with("LC_") || std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

std::vector<std::string> TaskEnvironment() {
  std::vector<std::string> kept;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (Inherited(*variable)) kept.emplace_back(*variable);
  }
  return kept;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

Result<Spawned> Spawn(const SpawnSpec& spec) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return FromErrno(errno, "cannot make a socket pair");
  Spawned spawned;
  spawned.channel = Fd(ends[0]);
  MILLRACE_ASSIGN(const Fd theirs, AboveStandard(Fd(ends[1]), "cannot duplicate a socket"));
  if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0) return FromErrno(errno, "cannot make a socket non-blocking");
  MILLRACE_ASSIGN(Fd null, OpenFile("/dev/null", O_RDONLY));
  MILLRACE_ASSIGN(const Fd input, AboveStandard(std::move(null), "cannot duplicate /dev/null"));
  MILLRACE_ASSIGN(Fd log, OpenFile(spec.output, O_WRONLY | O_CREAT | O_APPEND));
  MILLRACE_ASSIGN(const Fd output, AboveStandard(std::move(log), "cannot duplicate " + spec.output));

  std::vector<std::string> arguments = spec.arguments;
  arguments.insert(arguments.begin(), spec.executable);
  const std::vector<char*> argv = Pointers(arguments);
  std::vector<std::string> variables = TaskEnvironment();
  variables.push_back(fmt::format("{}={}", kMarkVariable, spec.mark));
  const std::vector<char*> environment = Pointers(variables);
  Child child;
  child.executable = spec.executable.c_str();
  child.arguments = argv.data();
  child.environment = environment.data();
  child.parent = getpid();
  child.input = input.get();
  child.output = output.get();
  child.channel = theirs.get();
  if (spec.memory_limit != 0) child.memory_limit = spec.memory_limit;
  MILLRACE_ASSIGN(spawned.pid, CloneChild(child));
  spawned.pidfd = Fd(static_cast<int>(syscall(SYS_pidfd_open, spawned.pid, 0)));
  if (spawned.pidfd.valid()) return spawned;
  const int error = errno;
  kill(-spawned.pid, SIGKILL);
  waitpid(spawned.pid, nullptr, 0);
  return FromErrno(error, "cannot watch a task process");
}

std::string DescribeExit(int wait_status) {
  if (WIFEXITED(wait_status)) return fmt::format("exit status {}", WEXITSTATUS(wait_status));
  const int signal = WTERMSIG(wait_status);
  const char* name = sigabbrev_np(signal);
  return fmt::format("killed by signal {} (SIG{})", signal, name == nullptr ? "?" : name);
}

}  // namespace millrace::worker
