// SPDX-License-Identifier: Apache-2.0
// millrace-launch: the beginning of every confined task process. A worker starts it, in namespaces of its own, with an
// order (base/sandbox/launch_order.h). It does what the order says and becomes the job's executable. A failure is
// reported to the worker, and then nothing is executed: a task runs as the order says, or not at all.
//
// In a namespace of processes this program is the first process, which the others of the namespace do not outlive. It
// has the job's executable as its child, reaps whatever becomes an orphan, tells the minder how the child ended, and
// ends.
//
// With other arguments it does not start a task:
//   --alone PARENT NAMESPACES BYTES  makes the namespaces itself, for a program that is no task (base/sandbox/alone.h),
//                                    becomes its minder, and bounds the memory of each of its processes
//   --probe                          tries the gate
//   --probe-alone PARENT FILE        tries what a program that is alone must not reach
//   --mount-read-only DIRECTORY...   sends the worker mounts of the directories, or text that says what failed
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/sandbox/confine.h"
#include "base/sandbox/launch_order.h"

namespace millrace::sandbox {
namespace {

constexpr int kFailed = 126;

Status Failed(const std::string& what) { return FromErrno(errno, what); }

[[noreturn]] void Tell(const Status& why) {
  const std::string& text = why.message();
  (void)!send(kReportFd, text.data(), text.size(), MSG_NOSIGNAL);
  _exit(kFailed);
}

Result<LaunchOrder> ReadOrder() {
  MILLRACE_ASSIGN(const std::uint64_t size, FileSize(kOrderFd, "the launch order"));
  std::string bytes(size, '\0');
  MILLRACE_TRY(ReadExactlyAt(kOrderFd, bytes.data(), size, 0, "the launch order"));
  close(kOrderFd);
  return DecodeLaunchOrder(bytes);
}

Status WriteText(const std::string& path, const std::string& text) {
  MILLRACE_ASSIGN(const Fd file, OpenFile(path, O_WRONLY));
  return WriteAll(file.get(), text, path);
}

Status MapUser(uid_t user, gid_t group) {
  MILLRACE_TRY(WriteText("/proc/self/setgroups", "deny"));
  const auto itself = [](unsigned id) { return std::to_string(id) + " " + std::to_string(id) + " 1\n"; };
  MILLRACE_TRY(WriteText("/proc/self/uid_map", itself(user)));
  return WriteText("/proc/self/gid_map", itself(group));
}

Status EnterCgroups(const LaunchOrder& order) {
  for (std::uint32_t i = 0; i < order.cgroups; ++i) {
    const int procs = kFirstCgroupFd + static_cast<int>(i);
    if (write(procs, "0", 1) != 1) return Failed("cgroup: cannot enter the task's cgroup");
    close(procs);
  }
  return Status::Ok();
}

Status DropCapabilities() {
  for (int capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) prctl(PR_CAPBSET_DROP, capability);
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  prctl(PR_SET_SECUREBITS,
        SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED);
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[2] = {};
  if (syscall(SYS_capset, &header, none) != 0) return Failed("user: cannot give up privileges");
  return Status::Ok();
}

Status BecomeUser(uid_t user) {
  if (setgroups(0, nullptr) != 0 || setresgid(user, user, user) != 0 || setresuid(user, user, user) != 0)
    return Failed("user: cannot become user " + std::to_string(user));
  return Status::Ok();
}

Status SendDescriptor(int fd) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  if (sendmsg(kReportFd, &message, MSG_NOSIGNAL) != 1) return Failed("filter: cannot hand a descriptor to the worker");
  return Status::Ok();
}

Status EnterFilter(const LaunchOrder& order) {
  if (order.filter.empty()) return Status::Ok();
  std::vector<sock_filter> instructions(order.filter.size() / sizeof(sock_filter));
  std::memcpy(instructions.data(), order.filter.data(), instructions.size() * sizeof(sock_filter));
  const sock_fprog program{static_cast<unsigned short>(instructions.size()), instructions.data()};
  const unsigned flags = order.filter_tells ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0;
  const long listener = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
  if (listener < 0) return Failed("filter: cannot filter system calls");
  return order.filter_tells ? SendDescriptor(static_cast<int>(listener)) : Status::Ok();
}

Status Confine(const LaunchOrder& order) {
  if (order.processes != 0) {
    const rlimit most = {order.processes, order.processes};
    if (setrlimit(RLIMIT_NPROC, &most) != 0) return Failed("user: cannot limit the number of processes");
  }
  umask(0077);
  if (order.user) MILLRACE_TRY(BecomeUser(*order.user));
  MILLRACE_TRY(DropCapabilities());
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Failed("user: cannot forbid new privileges");
  if (order.landlock) MILLRACE_TRY(EnterLandlock(order));
  return EnterFilter(order);
}

std::vector<char*> Pointers(std::vector<std::string> texts) {
  static std::vector<std::vector<std::string>> kept;
  std::vector<char*> pointers;
  for (std::string& text : kept.emplace_back(std::move(texts))) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// The kernel counts the descriptors that are under way in unix sockets by user, and lets no user above its limit send
// another. Tasks may be one user, and the worker may be it, too: so a task's limit is below the one by which
// the worker and the launchers of other tasks send theirs.
Status LimitDescriptors() {
  rlimit most = {};
  if (getrlimit(RLIMIT_NOFILE, &most) != 0) return Failed("cannot learn the limit of descriptors");
  most.rlim_cur /= 2;
  most.rlim_max = most.rlim_cur;
  return setrlimit(RLIMIT_NOFILE, &most) == 0 ? Status::Ok() : Failed("cannot limit the number of descriptors");
}

[[noreturn]] void Execute(const LaunchOrder& order) {
  Status confined = Confine(order);
  if (confined.ok()) confined = LimitDescriptors();
  if (!confined.ok()) Tell(confined);
  // An exec that succeeds closes the report, and so tells the worker that the job's own code begins.
  fcntl(kReportFd, F_SETFD, FD_CLOEXEC);
  close_range(kReportFd + 1, ~0U, 0);
  execve(order.executable.c_str(), Pointers(order.arguments).data(), Pointers(order.environment).data());
  Tell(Failed("cannot start " + order.executable));
}

// Waits until the job's process has ended, and for the minder's end, after which nobody wants it.
[[noreturn]] void Watch(pid_t task) {
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGCHLD);
  const timespec look{5, 0};
  for (;;) {
    for (;;) {
      siginfo_t ended = {};
      if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG) != 0 || ended.si_pid == 0) break;
      if (ended.si_pid != task) continue;
      const StatusOfTask status{ended.si_code, ended.si_status};
      (void)!write(kStatusFd, &status, sizeof status);
      _exit(0);
    }
    pollfd minder{kStatusFd, 0, 0};
    if (poll(&minder, 1, 0) == 1) _exit(kFailed);
    sigtimedwait(&ends, nullptr, &look);
  }
}

// Becomes the first process of the namespace of processes: it keeps nothing that it does not need.
[[noreturn]] void Stand(pid_t task) {
  for (int fd = 0; fd < kStatusFd; ++fd) close(fd);
  close_range(kStatusFd + 1, ~0U, 0);
  (void)DropCapabilities();
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  prctl(PR_SET_DUMPABLE, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Watch(task);
}

Status Prepare(const LaunchOrder& order, uid_t user, gid_t group) {
  MILLRACE_TRY(EnterCgroups(order));
  if (order.user_namespace) MILLRACE_TRY(MapUser(user, group).Within("namespaces: cannot map users"));
  if (order.own_host_name)
    (void)!sethostname("task", 4);  // a service manager may forbid it, and the name is not secret
  return order.own_view ? EnterView(order) : Status::Ok();
}

int Main(uid_t user, gid_t group) {
  const Result<LaunchOrder> order = ReadOrder();
  if (!order.ok()) Tell(order.status());
  if (const Status prepared = Prepare(*order, user, group); !prepared.ok()) Tell(prepared);
  if (!order->own_processes) Execute(*order);
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGCHLD);
  sigprocmask(SIG_BLOCK, &ends, nullptr);
  const pid_t task = fork();
  if (task < 0) Tell(Failed("processes: cannot start a process"));
  if (task > 0) Stand(task);
  sigprocmask(SIG_UNBLOCK, &ends, nullptr);
  setpgid(0, 0);
  Execute(*order);
}

// A process that may not mount may do so in namespaces of its own.
Status GiveReadOnly(const std::vector<std::string>& directories) {
  if (unshare(CLONE_NEWNS) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
    return Failed("namespaces: cannot make one");
  for (const std::string& directory : directories) {
    MILLRACE_ASSIGN(const Fd mount, MountReadOnly(directory));
    MILLRACE_TRY(SendDescriptor(mount.get()));
  }
  return Status::Ok();
}

// Becomes the minder of the program that it starts, and ends with PARENT, whose thread started it.
[[noreturn]] void StartAlone(pid_t parent, unsigned long namespaces, std::uint64_t bytes, const std::string& self) {
  const uid_t user = geteuid();
  const gid_t group = getegid();
  sigset_t awaited, before;
  sigemptyset(&awaited);
  sigaddset(&awaited, SIGCHLD);
  sigaddset(&awaited, SIGTERM);
  sigprocmask(SIG_BLOCK, &awaited, &before);
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) _exit(kFailed);
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) Tell(Failed("cannot become the parent of orphans"));
  // It may be the first that the kernel ends, though it may not be able to say so everywhere.
  (void)WriteText("/proc/self/oom_score_adj", "1000");
  const rlimit no_core = {0, 0}, data = {bytes, bytes};
  if (setrlimit(RLIMIT_CORE, &no_core) != 0 || (bytes != 0 && setrlimit(RLIMIT_DATA, &data) != 0))
    Tell(Failed("cannot limit the memory"));
  int status[2];
  if (pipe(status) != 0) Tell(Failed("cannot make a pipe"));
  const pid_t minder = getpid();
  const long program = syscall(SYS_clone, namespaces | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (program < 0) Tell(Failed("namespaces: cannot make them"));
  if (program == 0) {
    const bool seen = (namespaces & CLONE_NEWPID) == 0;
    if (setpgid(0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != (seen ? minder : 0)) _exit(kFailed);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    if (dup2(status[1], kStatusFd) != kStatusFd) Tell(Failed("cannot duplicate a pipe"));
    _exit(Main(user, group));
  }
  const bool tells = (namespaces & CLONE_NEWPID) != 0;
  const std::string path = self.substr(0, self.rfind('/') + 1) + "millrace-minder", number = std::to_string(program);
  std::vector<std::string> words = {path, number};
  if (tells) words.emplace_back("3");
  if (dup2(status[0], 3) != 3) Tell(Failed("cannot duplicate a pipe"));
  fcntl(kReportFd, F_SETFD, FD_CLOEXEC);
  close_range(kReportFd + 1, ~0U, 0);
  execve(path.c_str(), Pointers(words).data(), environ);
  kill(static_cast<pid_t>(program), SIGKILL);
  Tell(Failed("cannot start " + path));
}

// Says what it can reach of that which nobody who is alone may.
int ProbeAlone(pid_t parent, const char* file) {
  std::string reaches = "reaches";
  if (parent != getpid() && parent != getppid() && kill(parent, 0) == 0) reaches += " parent";
  if (Fd(open(file, O_RDONLY | O_CLOEXEC)).valid()) reaches += " files";
  sockaddr_in here = {};
  here.sin_family = AF_INET;
  here.sin_port = htons(9);
  here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const Fd any(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (any.valid() && connect(any.get(), reinterpret_cast<const sockaddr*>(&here), sizeof here) == 0)
    reaches += " network";
  reaches += '\n';
  return write(STDOUT_FILENO, reaches.data(), reaches.size()) > 0 ? 0 : 1;
}

// Makes the calls that a worker's gate answers. Returns the exit status: 0 when they went well.
int Probe() {
  const Fd internet(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const Fd local(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr any = {AF_UNIX, {}};
  const bool well = internet.valid() && local.valid() && bind(local.get(), &any, sizeof any.sa_family) == 0 &&
                    listen(local.get(), 1) == 0;
  return well ? 0 : 1;
}

}  // namespace
}  // namespace millrace::sandbox

int main(int count, char** arguments) {
  const auto number = [&](int at) { return std::strtoull(arguments[at], nullptr, 10); };
  if (count == 5 && std::string_view(arguments[1]) == "--alone") {
    millrace::sandbox::StartAlone(static_cast<pid_t>(number(2)), number(3), number(4), arguments[0]);
  }
  if (count == 4 && std::string_view(arguments[1]) == "--probe-alone")
    return millrace::sandbox::ProbeAlone(static_cast<pid_t>(number(2)), arguments[3]);
  if (count == 2 && std::string_view(arguments[1]) == "--probe") return millrace::sandbox::Probe();
  if (count > 2 && std::string_view(arguments[1]) == "--mount-read-only") {
    const millrace::Status given = millrace::sandbox::GiveReadOnly({arguments + 2, arguments + count});
    if (!given.ok()) millrace::sandbox::Tell(given);
    return 0;
  }
  // The user and group that started it, of which a new user namespace knows nothing until they are mapped.
  if (count != 3) return millrace::sandbox::kFailed;
  return millrace::sandbox::Main(static_cast<uid_t>(std::strtoul(arguments[1], nullptr, 10)),
                                 static_cast<gid_t>(std::strtoul(arguments[2], nullptr, 10)));
}
