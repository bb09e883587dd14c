#include "worker/sandbox/call_filter.h"

#include <errno.h>
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

void ForbidNamespacesOfClone(Rules& rules) {
  constexpr std::uint64_t kFlags[] = {CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWPID,   CLONE_NEWIPC,
                                      CLONE_NEWUTS,  CLONE_NEWNET, CLONE_NEWCGROUP};
  for (const std::uint64_t flag : kFlags)
    rules.Add(SCMP_ACT_ERRNO(EPERM), "clone", SCMP_A0(SCMP_CMP_MASKED_EQ, flag, flag));
  rules.Add(SCMP_ACT_ERRNO(ENOSYS), "clone3");  // its flags lie in memory; the C library then uses clone
}

// Every family but unix sockets, TCP and routing questions is refused. Ways to name a peer other than connect are, too.
void AddSockets(Rules& rules, bool ask) {
  constexpr std::uint64_t kTypes = 0xf;
  for (const std::uint64_t family : {AF_INET, AF_INET6}) {
    if (!ask) continue;
    rules.Add(SCMP_ACT_NOTIFY, "socket", SCMP_A0(SCMP_CMP_EQ, family),
              SCMP_A1(SCMP_CMP_MASKED_EQ, kTypes, SOCK_STREAM));
    for (const std::uint64_t type : {SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET, SOCK_RDM, SOCK_DCCP})
      rules.Add(SCMP_ACT_ERRNO(EACCES), "socket", SCMP_A0(SCMP_CMP_EQ, family),
                SCMP_A1(SCMP_CMP_MASKED_EQ, kTypes, type));
  }
  for (std::uint64_t family = 1; family < AF_MAX; ++family) {
    if (family == AF_UNIX || family == AF_INET || family == AF_INET6 || family == AF_NETLINK) continue;
    rules.Add(SCMP_ACT_ERRNO(EAFNOSUPPORT), "socket", SCMP_A0(SCMP_CMP_EQ, family));
  }
  if (!ask) return;
  rules.Add(SCMP_ACT_NOTIFY, "connect");
  rules.Add(SCMP_ACT_NOTIFY, "listen");
  rules.Add(SCMP_ACT_ERRNO(EPERM), "sendto", SCMP_A3(SCMP_CMP_MASKED_EQ, MSG_FASTOPEN, MSG_FASTOPEN));
  rules.Add(SCMP_ACT_ERRNO(EPERM), "sendmsg", SCMP_A2(SCMP_CMP_MASKED_EQ, MSG_FASTOPEN, MSG_FASTOPEN));
  rules.Add(SCMP_ACT_ERRNO(EPERM), "sendmmsg", SCMP_A3(SCMP_CMP_MASKED_EQ, MSG_FASTOPEN, MSG_FASTOPEN));
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

Result<std::string> MakeCallFilter(bool ask) {
  const Filter filter(seccomp_init(SCMP_ACT_ALLOW), seccomp_release);
  if (filter == nullptr) return Internal("cannot make a filter of system calls");
  Rules rules(filter.get());
  rules.Note(seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(ENOSYS)));
  rules.Note(seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2));  // a binary search over the calls
  for (const char* call : kForbidden) rules.Add(SCMP_ACT_ERRNO(EPERM), call);
  ForbidNamespacesOfClone(rules);
  rules.Add(SCMP_ACT_ERRNO(EPERM), "ioctl", SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, TIOCSTI));
  AddSockets(rules, ask);
  if (rules.error() != 0) return FromErrno(rules.error(), "cannot make a filter of system calls");
  return Export(filter.get());
}

}  // namespace millrace::sandbox
