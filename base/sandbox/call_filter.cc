// SPDX-License-Identifier: Apache-2.0
#include "base/sandbox/call_filter.h"

#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>

#include "base/file.h"

namespace millrace::sandbox {
namespace {

constexpr const char* kForbidden[] = {
    // the tree of mounts
    "mount", "umount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount", "fsopen", "fsconfig", "fsmount",
    "fspick", "mount_setattr",
    // namespaces
    "unshare", "setns",
    // other processes
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd",
    // the kernel
    "kexec_load", "kexec_file_load", "reboot", "init_module", "finit_module", "delete_module", "bpf", "perf_event_open",
    "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register", "lookup_dcookie", "syslog", "nfsservctl",
    "uselib", "ustat", "sysfs", "_sysctl", "vm86", "vm86old", "iopl", "ioperm",
    // keys
    "add_key", "request_key", "keyctl",
    // the machine
    "swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "settimeofday", "stime", "clock_settime", "clock_adjtime",
    "adjtimex", "sethostname", "setdomainname", "vhangup", "personality",
    // files by other ways than names
    "open_by_handle_at", "name_to_handle_at", "fanotify_init"};

// Commands of fcntl(2), which <fcntl.h> does not all have.
constexpr std::uint64_t kSetLease = 1024, kSetDelegation = 1024 + 16;

using Filter = std::unique_ptr<void, decltype(&seccomp_release)>;

// Collects the first failure of many calls.
class Rules {
 public:
  explicit Rules(scmp_filter_ctx context) : context_(context) {}
  template <class... Comparisons>
  void Add(std::uint32_t action, const char* call, Comparisons... comparisons) {
    const int number = seccomp_syscall_resolve_name(call);
    if (number == __NR_SCMP_ERROR || number < 0) return;  // this machine or libseccomp has no such call
    Note(seccomp_rule_add(context_, action, number, sizeof...(comparisons), comparisons...));
  }
  void Note(int result) {
    if (result < 0 && error_ == 0) error_ = -result;
  }
  [[nodiscard]] int error() const { return error_; }

 private:
  scmp_filter_ctx context_;
  int error_ = 0;
};

// An argument of type int is so. The kernel does not look at the upper half.
scmp_arg_cmp IsInt(unsigned argument, std::uint64_t value) {
  constexpr std::uint64_t kInt = 0xffffffff;
  return {argument, SCMP_CMP_MASKED_EQ, kInt, value & kInt};
}

// The flag is set in an argument.
scmp_arg_cmp HasFlag(unsigned argument, std::uint64_t flag) { return {argument, SCMP_CMP_MASKED_EQ, flag, flag}; }

void ForbidNamespacesOfClone(Rules& rules) {
  constexpr std::uint64_t kFlags[] = {CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWPID,   CLONE_NEWIPC,
                                      CLONE_NEWUTS,  CLONE_NEWNET, CLONE_NEWCGROUP};
  for (const std::uint64_t flag : kFlags) rules.Add(SCMP_ACT_ERRNO(EPERM), "clone", HasFlag(0, flag));
  rules.Add(SCMP_ACT_ERRNO(ENOSYS), "clone3");  // its flags lie in memory; the C library then uses clone
}

void ForbidPairsOfOthers(Rules& rules) {
  for (std::uint64_t family = 1; family < AF_MAX; ++family) {
    if (family != AF_UNIX) rules.Add(SCMP_ACT_ERRNO(EAFNOSUPPORT), "socketpair", IsInt(0, family));
  }
}

// Every family but unix sockets, TCP and routing questions is refused.
void AddFamilies(Rules& rules) {
  ForbidPairsOfOthers(rules);
  for (std::uint64_t family = 1; family < AF_MAX; ++family) {
    if (family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK) continue;
    rules.Add(SCMP_ACT_ERRNO(EAFNOSUPPORT), "socket", IsInt(0, family));
  }
}

// Ways to name a peer other than connect are refused, and so are ways to have what goes to one peer pass by another.
void AddQuestions(Rules& rules) {
  constexpr std::uint64_t kTypes = 0xf;
  const auto type_is = [](std::uint64_t type) { return scmp_arg_cmp{1, SCMP_CMP_MASKED_EQ, kTypes, type}; };
  for (const std::uint64_t family : {AF_INET, AF_INET6}) {
    rules.Add(SCMP_ACT_NOTIFY, "socket", IsInt(0, family), type_is(SOCK_STREAM));
    for (const std::uint64_t type : {SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET, SOCK_RDM, SOCK_DCCP, SOCK_PACKET})
      rules.Add(SCMP_ACT_ERRNO(EACCES), "socket", IsInt(0, family), type_is(type));
  }
  for (const char* call : {"connect", "bind", "listen"}) rules.Add(SCMP_ACT_NOTIFY, call);
  rules.Add(SCMP_ACT_ERRNO(EPERM), "sendto", HasFlag(3, MSG_FASTOPEN));
  rules.Add(SCMP_ACT_ERRNO(EPERM), "sendmsg", HasFlag(2, MSG_FASTOPEN));
  rules.Add(SCMP_ACT_ERRNO(EPERM), "sendmmsg", HasFlag(3, MSG_FASTOPEN));
  rules.Add(SCMP_ACT_ERRNO(EPERM), "setsockopt", IsInt(1, IPPROTO_IP), IsInt(2, IP_OPTIONS));
  for (const int option : {IPV6_RTHDR, IPV6_RTHDRDSTOPTS, IPV6_2292RTHDR, IPV6_2292PKTOPTIONS})
    rules.Add(SCMP_ACT_ERRNO(EPERM), "setsockopt", IsInt(1, IPPROTO_IPV6),
              IsInt(2, static_cast<std::uint64_t>(option)));
}

Result<std::string> Export(scmp_filter_ctx context) {
  const Fd file(memfd_create("millrace-filter", MFD_CLOEXEC));
  if (!file.valid()) return FromErrno(errno, "cannot make a file for a filter of system calls");
  if (const int failed = seccomp_export_bpf(context, file.get()); failed < 0)
    return FromErrno(-failed, "cannot make a filter of system calls");
  MILLRACE_ASSIGN(const std::uint64_t size, FileSize(file.get(), "a filter of system calls"));
  std::string program(size, '\0');
  MILLRACE_TRY(ReadExactlyAt(file.get(), program.data(), size, 0, "a filter of system calls"));
  return program;
}

}  // namespace

Result<std::string> MakeCallFilter(Sockets sockets) {
  const Filter filter(seccomp_init(SCMP_ACT_ALLOW), seccomp_release);
  if (filter == nullptr) return Internal("cannot make a filter of system calls");
  Rules rules(filter.get());
  rules.Note(seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS)));
  rules.Note(seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2));  // a binary search over the calls
  for (const char* call : kForbidden) rules.Add(SCMP_ACT_ERRNO(EPERM), call);
  ForbidNamespacesOfClone(rules);
  for (const std::uint64_t lease : {kSetLease, kSetDelegation})
    rules.Add(SCMP_ACT_ERRNO(EPERM), "fcntl", IsInt(1, lease));
  for (const std::uint64_t typing : {TIOCSTI, TIOCLINUX}) rules.Add(SCMP_ACT_ERRNO(EPERM), "ioctl", IsInt(1, typing));
  if (sockets == Sockets::kNone) {
    rules.Add(SCMP_ACT_ERRNO(EACCES), "socket");
    ForbidPairsOfOthers(rules);
  } else {
    AddFamilies(rules);
  }
  if (sockets == Sockets::kAsked) AddQuestions(rules);
  if (rules.error() != 0) return FromErrno(rules.error(), "cannot make a filter of system calls");
  return Export(filter.get());
}

}  // namespace millrace::sandbox
