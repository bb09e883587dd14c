// SPDX-License-Identifier: Apache-2.0
#include "worker/daemon/process/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iterator>
#include <string_view>
#include <utility>

#include "base/sandbox/environment.h"
#include "worker/daemon/process/orphans.h"

namespace millrace::worker {
namespace {

constexpr std::size_t kStack = std::size_t{256} << 10;  // the bytes of each of the two stacks

// Returns the top of a stack that grows downwards.
void* TopOf(std::vector<char>& stack) {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(stack.data() + stack.size()) & ~std::uintptr_t{15});
}

// This is what the children need. The parent prepares it, because they allocate nothing.
struct Child {
  const char* executable = nullptr;
  const char* minder = nullptr;
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  pid_t daemon = 0;
  int input = -1, output = -1, channel = -1;
  // For a confined task the launcher takes the place of the executable.
  const char* launcher = nullptr;
  int namespaces = 0;
  std::vector<int> inherited;  // descriptors from 4 on
  int status_in = -1;          // the minder's end of the pipe that says how the task ended
  rlim_t memory_limit = RLIM_INFINITY;
  std::vector<char> minder_stack = std::vector<char>(kStack), task_stack = std::vector<char>(kStack);
  // The children write the rest, since they run in their parent's memory.
  pid_t minder_pid = 0;
  const char* failed = nullptr;  // what could not be started
  int error = 0;
};

void ResetSignals() {
  struct sigaction plain = {};
  plain.sa_handler = SIG_DFL;
  for (int signal = 1; signal < NSIG; ++signal) sigaction(signal, &plain, nullptr);
}

bool UnblockSignals() {
  sigset_t none;
  sigemptyset(&none);
  return sigprocmask(SIG_SETMASK, &none, nullptr) == 0;
}

bool Limit(const Child& child) {
  const rlimit no_core = {0, 0};
  const rlimit data = {child.memory_limit, child.memory_limit};
  return setrlimit(RLIMIT_CORE, &no_core) == 0 &&
         (child.memory_limit == RLIM_INFINITY || setrlimit(RLIMIT_DATA, &data) == 0);
}

// A dup2 of a descriptor onto itself would leave it to be closed by exec.
bool PlaceAt(int from, int to) { return from == to ? fcntl(to, F_SETFD, 0) == 0 : dup2(from, to) == to; }

bool PlaceStandard(const Child& child) { return PlaceAt(child.input, 0) && PlaceAt(child.output, 1) && PlaceAt(1, 2); }

// The parent may have died before the death signal was asked for. In a namespace of processes its number is 0, and the
// launcher looks again.
bool EndWith(pid_t parent, bool seen = true) {
  return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == (seen ? parent : 0);
}

bool PlaceInherited(const Child& child) {
  int at = 4;
  for (const int fd : child.inherited) {
    if (!PlaceAt(fd, at++)) return false;
  }
  return close_range(static_cast<unsigned>(at), ~0U, 0) == 0;
}

// The children run in the memory of their parent, which is suspended (as with vfork). They make only calls that are
// async-signal-safe, and change nothing of the parent's but what Child says. Every signal is blocked in them.
[[noreturn]] void GiveUp(Child& child, const char* what) {
  child.error = errno;
  child.failed = what;
  _exit(127);
}

// An exec takes the capabilities of a new user namespace away from whoever is not root in it, unless they are ambient.
bool KeepCapabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (syscall(SYS_capget, &header, data) != 0) return false;
  for (__user_cap_data_struct& part : data) part.inheritable = part.permitted;
  if (syscall(SYS_capset, &header, data) != 0) return false;
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; ++capability)
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, capability, 0, 0);
  return true;
}

int TaskMain(void* argument) {
  Child& child = *static_cast<Child*>(argument);
  if ((child.namespaces & CLONE_NEWUSER) != 0 && !KeepCapabilities()) GiveUp(child, child.launcher);
  const bool ready = setpgid(0, 0) == 0 && EndWith(child.minder_pid, (child.namespaces & CLONE_NEWPID) == 0) &&
                     Limit(child) && PlaceStandard(child) && PlaceAt(child.channel, 3) && PlaceInherited(child) &&
                     UnblockSignals();
  const char* const first = child.launcher != nullptr ? child.launcher : child.executable;
  if (ready) execve(first, child.arguments, child.environment);
  GiveUp(child, first);
}

// Writes `number` as text that ends at `end`. Returns where it begins.
char* WriteNumber(pid_t number, char* end) {
  *--end = '\0';
  for (; number > 0; number /= 10) *--end = static_cast<char>('0' + number % 10);
  return end;
}

// Starts the task, then becomes its minder.
int MinderMain(void* argument) {
  Child& child = *static_cast<Child*>(argument);
  ResetSignals();
  child.minder_pid = getpid();
  if (setpgid(0, 0) != 0 || !EndWith(child.daemon)) GiveUp(child, child.minder);
  // Before there is a task: an orphan that it makes at once would be the daemon's, and the daemon its parent.
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) GiveUp(child, child.minder);
  const pid_t task =
      clone(TaskMain, TopOf(child.task_stack), CLONE_VM | CLONE_VFORK | SIGCHLD | child.namespaces, &child);
  if (task < 0) GiveUp(child, child.executable);
  if (child.error != 0) {
    waitpid(task, nullptr, 0);
    _exit(127);
  }
  char digits[24];
  char* arguments[] = {const_cast<char*>(child.minder), WriteNumber(task, std::end(digits)), nullptr, nullptr};
  char status[] = "3";
  if (child.status_in >= 0) arguments[2] = status;
  char* no_environment[] = {nullptr};
  const rlimit no_core = {0, 0};
  const bool ready = setrlimit(RLIMIT_CORE, &no_core) == 0 && PlaceStandard(child) &&
                     (child.status_in < 0 || PlaceAt(child.status_in, 3)) &&
                     close_range(child.status_in < 0 ? 3 : 4, ~0U, 0) == 0;
  if (ready) execve(child.minder, arguments, no_environment);
  GiveUp(child, child.minder);  // this ends the task as well
}

// Moves a descriptor above those that the child overwrites before it has placed them all.
Result<Fd> AboveStandard(Fd fd, std::string_view what) {
  constexpr int kFree = sandbox::kFirstCgroupFd + 8;
  if (fd.get() >= kFree) return fd;
  Fd moved(fcntl(fd.get(), F_DUPFD_CLOEXEC, kFree));
  if (!moved.valid()) return FromErrno(errno, what);
  return moved;
}

Result<pid_t> CloneChildren(Child& child) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // no handler of the daemon may run in the children
  const pid_t pid = clone(MinderMain, TopOf(child.minder_stack), CLONE_VM | CLONE_VFORK | SIGCHLD, &child);
  const int error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return FromErrno(error, fmt::format("cannot start {}", child.minder));
  if (child.error == 0) return pid;
  waitpid(pid, nullptr, 0);
  return FromErrno(child.error, fmt::format("cannot start {}", child.failed));
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// The arguments and descriptors of a confined task, beside those of every task.
struct Handed {
  std::vector<std::string> arguments;
  Fd order, report, status_in, status_out;
  std::vector<Fd> doors;
};

Result<Fd> FileWith(const std::string& bytes) {
  Fd file(memfd_create("millrace-order", MFD_CLOEXEC));
  if (!file.valid()) return FromErrno(errno, "cannot make a file for a launch order");
  MILLRACE_TRY(WriteAll(file.get(), bytes, "a launch order"));
  return AboveStandard(std::move(file), "cannot duplicate a launch order");
}

Result<Handed> Hand(const SpawnSpec& spec, const std::vector<std::string>& variables, Spawned* spawned) {
  const Launch& launch = *spec.launch;
  Handed handed;
  handed.arguments = {launch.launcher, std::to_string(geteuid()), std::to_string(getegid())};
  sandbox::LaunchOrder order = launch.order;
  order.executable = spec.executable;
  order.arguments = spec.arguments;
  order.arguments.insert(order.arguments.begin(), spec.executable);
  order.environment = variables;
  MILLRACE_ASSIGN(handed.order, FileWith(Encode(order)));
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return FromErrno(errno, "cannot make a socket pair");
  spawned->report = Fd(ends[0]);
  MILLRACE_ASSIGN(handed.report, AboveStandard(Fd(ends[1]), "cannot duplicate a socket"));
  if (pipe2(ends, O_CLOEXEC) != 0) return FromErrno(errno, "cannot make a pipe");
  Fd in(ends[0]), out(ends[1]);
  MILLRACE_ASSIGN(handed.status_in, AboveStandard(std::move(in), "cannot duplicate a pipe"));
  MILLRACE_ASSIGN(handed.status_out, AboveStandard(std::move(out), "cannot duplicate a pipe"));
  for (const Fd& door : launch.doors) {
    Fd copy(fcntl(door.get(), F_DUPFD_CLOEXEC, sandbox::kFirstCgroupFd + 8));
    if (!copy.valid()) return FromErrno(errno, "cannot duplicate the file of a cgroup");
    handed.doors.push_back(std::move(copy));
  }
  return handed;
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
  Fd log(fcntl(spec.output, F_DUPFD_CLOEXEC, 0));
  if (!log.valid()) return FromErrno(errno, "cannot duplicate a log");
  MILLRACE_ASSIGN(const Fd output, AboveStandard(std::move(log), "cannot duplicate a log"));

  std::vector<std::string> variables = sandbox::PlainEnvironment();
  variables.push_back(fmt::format("{}={}", kMarkVariable, spec.mark));
  std::vector<std::string> arguments = spec.arguments;
  arguments.insert(arguments.begin(), spec.executable);
  Child child;
  Handed handed;
  if (spec.launch != nullptr) {
    sandbox::Confine(spec.launch->order, &variables);
    MILLRACE_ASSIGN(handed, Hand(spec, variables, &spawned));
    arguments = handed.arguments;
    child.launcher = spec.launch->launcher.c_str();
    child.namespaces = spec.launch->namespaces;
    child.inherited = {handed.order.get(), handed.report.get(), handed.status_out.get()};
    for (const Fd& door : handed.doors) child.inherited.push_back(door.get());
    if (spec.launch->order.own_processes) child.status_in = handed.status_in.get();
  }
  const std::vector<char*> argv = Pointers(arguments);
  const std::vector<char*> environment = Pointers(variables);
  child.executable = spec.executable.c_str();
  child.arguments = argv.data();
  child.environment = environment.data();
  child.minder = spec.minder.c_str();
  child.daemon = getpid();
  child.input = input.get();
  child.output = output.get();
  child.channel = theirs.get();
  if (spec.memory_limit != 0) child.memory_limit = spec.memory_limit;
  MILLRACE_ASSIGN(spawned.pid, CloneChildren(child));
  spawned.pidfd = Fd(static_cast<int>(syscall(SYS_pidfd_open, spawned.pid, 0)));
  if (spawned.pidfd.valid()) return spawned;
  const int error = errno;
  EndSpawned(spawned.pid);
  waitpid(spawned.pid, nullptr, 0);
  return FromErrno(error, "cannot watch a task process");
}

void EndSpawned(pid_t pid) {
  kill(pid, SIGTERM);
  kill(pid, SIGCONT);  // user code may have stopped it
}

std::string DescribeExit(int wait_status) {
  if (WIFEXITED(wait_status))
    return fmt::format("ended itself (exit status {}) before it was done", WEXITSTATUS(wait_status));
  const int signal = WTERMSIG(wait_status);
  const char* name = sigabbrev_np(signal);
  return fmt::format("killed by signal {} (SIG{})", signal, name == nullptr ? "?" : name);
}

}  // namespace millrace::worker
