#include "worker/sandbox/socket_gate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <seccomp.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace millrace::sandbox {
namespace {

// One call of the task, and what it is answered.
class Asked {
 public:
  Asked(int listener, const seccomp_notif& call, std::optional<uid_t> user, PeerList& peers)
      : listener_(listener), call_(call), user_(user), peers_(peers) {}

  // Returns 0 or an errno. *given is the descriptor that the task got, which is then the call's result.
  int Do(int* given) {
    const int number = call_.data.nr;
    if (number == SCMP_SYS(socket)) return MakeSocket(given);
    if (number == SCMP_SYS(connect)) return Connect();
    if (number == SCMP_SYS(listen)) return Listen();
    return ENOSYS;
  }

 private:
  [[nodiscard]] int Argument(int index) const { return static_cast<int>(call_.data.args[index]); }

  // True while the call still waits: until then its number of a process means the caller and nobody else.
  [[nodiscard]] bool Stands() const { return ioctl(listener_, SECCOMP_IOCTL_NOTIF_ID_VALID, &call_.id) == 0; }

  int Give(int fd, int at, bool close_on_exec, int* given) {
    seccomp_notif_addfd add = {};
    add.id = call_.id;
    add.srcfd = static_cast<std::uint32_t>(fd);
    add.newfd = static_cast<std::uint32_t>(std::max(at, 0));
    add.flags = at >= 0 ? SECCOMP_ADDFD_FLAG_SETFD : 0;
    add.newfd_flags = close_on_exec ? O_CLOEXEC : 0;
    const int added = ioctl(listener_, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
    if (added < 0) return errno;
    *given = added;
    return 0;
  }

  int MakeSocket(int* given) {
    const int type = Argument(1);
    const Fd made(socket(Argument(0), (type & ~SOCK_CLOEXEC) | SOCK_CLOEXEC, Argument(2)));
    if (!made.valid()) return errno;
    return Give(made.get(), -1, (type & SOCK_CLOEXEC) != 0, given);
  }

  // Returns the worker's own copy of the task's descriptor.
  Fd CopyOf(int fd) const {
    // The caller may be any thread; its descriptors are those of its process.
    const std::string status = "/proc/" + std::to_string(call_.pid) + "/status";
    const auto text = ReadWholeFile(status);
    pid_t leader = static_cast<pid_t>(call_.pid);
    if (text.ok()) {
      const std::size_t at = text->find("\nTgid:");
      if (at != std::string::npos) leader = std::atoi(text->c_str() + at + 6);
    }
    const Fd process(static_cast<int>(syscall(SYS_pidfd_open, leader, 0)));
    if (!process.valid() || !Stands()) return {};
    return Fd(static_cast<int>(syscall(SYS_pidfd_getfd, process.get(), fd, 0)));
  }

  bool ReadAddress(sockaddr_storage* address, socklen_t* size) const {
    *size = static_cast<socklen_t>(call_.data.args[2]);
    if (*size < sizeof(sa_family_t) || *size > sizeof *address) return false;
    iovec here{address, *size};
    iovec there{reinterpret_cast<void*>(call_.data.args[1]), *size};
    return process_vm_readv(static_cast<pid_t>(call_.pid), &here, 1, &there, 1, 0) == static_cast<ssize_t>(*size) &&
           Stands();
  }

  int Connect() {
    const Fd fd = CopyOf(Argument(0));
    if (!fd.valid()) return errno == EBADF ? EBADF : EACCES;
    sockaddr_storage address = {};
    socklen_t size = 0;
    if (!ReadAddress(&address, &size)) return EFAULT;
    int domain = 0;
    socklen_t length = sizeof domain;
    if (getsockopt(fd.get(), SOL_SOCKET, SO_DOMAIN, &domain, &length) != 0) return errno;
    if (domain == AF_UNIX && address.ss_family == AF_UNIX) return ConnectLocal(fd.get(), address, size);
    if (domain == AF_NETLINK) return connect(fd.get(), reinterpret_cast<sockaddr*>(&address), size) == 0 ? 0 : errno;
    const bool internet =
        (domain == AF_INET || domain == AF_INET6) && (address.ss_family == AF_INET || address.ss_family == AF_INET6);
    if (!internet || !peers_.Allows(address)) return EACCES;
    return connect(fd.get(), reinterpret_cast<sockaddr*>(&address), size) == 0 ? 0 : errno;
  }

  int ConnectLocal(int fd, const sockaddr_storage& address, socklen_t size) {
    const auto& local = reinterpret_cast<const sockaddr_un&>(address);
    const std::size_t header = offsetof(sockaddr_un, sun_path);
    if (size <= header) return EINVAL;
    const std::string_view path(local.sun_path, size - header);
    if (path[0] != '\0') return ConnectPath(fd, std::string(path.substr(0, path.find('\0'))));
    if (!peers_.AllowsLocal(path.substr(1)))
      return connect(fd, reinterpret_cast<const sockaddr*>(&address), size) == 0 ? 0 : errno;  // in its own namespace
    int type = 0;
    socklen_t length = sizeof type;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &length) != 0) return errno;
    const int flags = fcntl(fd, F_GETFL);
    const Fd made(socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
    if (!made.valid() || connect(made.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0) return errno;
    if ((flags & O_NONBLOCK) != 0) fcntl(made.get(), F_SETFL, O_NONBLOCK);
    int given = 0;
    return Give(made.get(), Argument(0), true, &given);
  }

  // A socket of the task's view, and of its own making.
  int ConnectPath(int fd, const std::string& path) {
    const std::string process = "/proc/" + std::to_string(call_.pid);
    const Fd root(open((process + (path.starts_with('/') ? "/root" : "/cwd")).c_str(), O_PATH | O_CLOEXEC));
    if (!root.valid() || !Stands()) return EACCES;
    open_how how = {};
    how.flags = O_PATH | O_CLOEXEC | O_NOFOLLOW;
    how.resolve = path.starts_with('/') ? RESOLVE_IN_ROOT : RESOLVE_BENEATH;
    const Fd place(static_cast<int>(syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof how)));
    if (!place.valid()) return errno;
    struct stat info = {};
    if (fstat(place.get(), &info) != 0 || !S_ISSOCK(info.st_mode)) return ECONNREFUSED;
    if (info.st_uid != user_.value_or(geteuid())) return EACCES;
    sockaddr_un local = {};
    local.sun_family = AF_UNIX;
    const std::string name = "/proc/self/fd/" + std::to_string(place.get());
    std::memcpy(local.sun_path, name.data(), name.size());
    return connect(fd, reinterpret_cast<const sockaddr*>(&local), sizeof local) == 0 ? 0 : errno;
  }

  int Listen() {
    const Fd fd = CopyOf(Argument(0));
    if (!fd.valid()) return errno == EBADF ? EBADF : EACCES;
    int domain = 0;
    socklen_t length = sizeof domain;
    if (getsockopt(fd.get(), SOL_SOCKET, SO_DOMAIN, &domain, &length) != 0) return errno;
    if (domain != AF_UNIX) return EACCES;
    return listen(fd.get(), Argument(1)) == 0 ? 0 : errno;
  }

  int listener_;
  const seccomp_notif& call_;
  std::optional<uid_t> user_;
  PeerList& peers_;
};

}  // namespace

SocketGate::SocketGate(Fd report, std::optional<uid_t> user, PeerList* peers)
    : report_(std::move(report)), stop_(eventfd(0, EFD_CLOEXEC)), user_(user), peers_(peers) {
  thread_ = std::thread([this] { Serve(); });
}

SocketGate::~SocketGate() { Stop(); }

void SocketGate::Stop() {
  const std::uint64_t one = 1;
  (void)!write(stop_.get(), &one, sizeof one);
  if (thread_.joinable()) thread_.join();
}

std::string SocketGate::Failure() {
  Stop();
  return failure_;
}

void SocketGate::Serve() {
  bool reports = true;
  while (reports || listener_.valid()) {
    pollfd watched[] = {
        {stop_.get(), POLLIN, 0}, {reports ? report_.get() : -1, POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    if (poll(watched, 3, -1) < 0 && errno != EINTR) return;
    if (watched[0].revents != 0) break;
    if (watched[1].revents != 0) reports = Receive();
    if ((watched[2].revents & POLLIN) != 0) {
      Answer();
    } else if (watched[2].revents != 0) {
      listener_.Close();  // every process with the filter has ended
    }
  }
  listener_.Close();
  while (Receive()) {
  }
}

bool SocketGate::Receive() {
  char text[1024];
  iovec data{text, sizeof text};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  const ssize_t got = recvmsg(report_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (got <= 0) return got < 0 && errno == EINTR;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr) {
    failure_.assign(text, static_cast<std::size_t>(got));
  } else if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
    listener_ = Fd(fd);
    if (peers_ == nullptr) listener_.Close();
  }
  return true;
}

void SocketGate::Answer() {
  seccomp_notif call = {};
  if (ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) return;
  int given = 0;
  const int error = Asked(listener_.get(), call, user_, *peers_).Do(&given);
  seccomp_notif_resp answer = {};
  answer.id = call.id;
  answer.val = error == 0 ? given : 0;
  answer.error = -error;
  (void)ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

}  // namespace millrace::sandbox
