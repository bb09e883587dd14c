// SPDX-License-Identifier: Apache-2.0
#include "worker/sandbox/socket_gate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/sandbox/launch_order.h"
#include "base/thread.h"

namespace millrace::sandbox {
namespace {

constexpr std::size_t kMostConnects = 64;  // under way at a time: each holds a descriptor of the worker
constexpr std::chrono::milliseconds kRetry{20};

// The address of a netlink socket (netlink(7)).
struct NetlinkAddress {
  sa_family_t family = 0;
  unsigned short padding = 0;
  std::uint32_t port = 0;
  std::uint32_t groups = 0;
};

// A signal that does nothing but end a call that waits.
int InterruptSignal() { return SIGRTMIN + 5; }

void ListenForInterrupts() {
  struct sigaction nothing = {};
  nothing.sa_handler = [](int) {};
  sigaction(InterruptSignal(), &nothing, nullptr);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, InterruptSignal());
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
}

// Acts as a user towards files, on this thread alone, as long as it exists.
class AsUser {
 public:
  explicit AsUser(std::optional<uid_t> user) : changed_(user.has_value()) {
    if (!changed_) return;
    group_ = setfsgid(*user);
    user_ = setfsuid(*user);
  }
  AsUser(const AsUser&) = delete;
  AsUser& operator=(const AsUser&) = delete;
  ~AsUser() {
    if (!changed_) return;
    setfsuid(static_cast<uid_t>(user_));
    setfsgid(static_cast<gid_t>(group_));
  }

 private:
  bool changed_;
  int user_ = 0, group_ = 0;
};

int DomainOf(int fd) {
  int domain = -1;
  socklen_t length = sizeof domain;
  return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 ? domain : -1;
}

// Gives the task a descriptor of the worker's, in the place of its own `at` unless that is negative.
int Give(int listener, std::uint64_t call, int fd, int at, bool close_on_exec, int* given) {
  seccomp_notif_addfd add = {};
  add.id = call;
  add.srcfd = static_cast<std::uint32_t>(fd);
  add.newfd = static_cast<std::uint32_t>(std::max(at, 0));
  add.flags = at >= 0 ? SECCOMP_ADDFD_FLAG_SETFD : 0;
  add.newfd_flags = close_on_exec ? O_CLOEXEC : 0;
  const int added = ioctl(listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
  if (added < 0) return errno;
  *given = added;
  return 0;
}

// The target of a connect.
struct Target {
  Fd fd;  // the worker's own copy of the task's descriptor
  sockaddr_storage address = {};
  socklen_t size = 0;
  bool decide = false;           // PeerList is asked first
  std::optional<int> hand_over;  // the task gets the socket in the place of this descriptor of its own
  Fd place;                      // keeps what the address names
};

// One call of the task.
class Asked {
 public:
  Asked(int listener, const seccomp_notif& call, const GateOptions& options)
      : listener_(listener), call_(call), options_(options) {}

  // Returns 0 or an errno. *given is the descriptor that the task got, which is then the call's result. A connect is
  // not done, but *target names the two ends to connect.
  int Do(int* given, std::optional<Target>* target) {
    const int number = call_.data.nr;
    if (number == SCMP_SYS(socket)) return MakeSocket(given);
    if (number == SCMP_SYS(connect)) return Connect(target);
    if (number == SCMP_SYS(bind)) return Bind();
    if (number == SCMP_SYS(listen)) return Listen();
    return ENOSYS;
  }

 private:
  [[nodiscard]] int Argument(int index) const { return static_cast<int>(call_.data.args[index]); }

  // True while the call still waits: until then its number of a process means the caller and nobody else.
  [[nodiscard]] bool Stands() const { return ioctl(listener_, SECCOMP_IOCTL_NOTIF_ID_VALID, &call_.id) == 0; }

  int MakeSocket(int* given) {
    const int type = Argument(1);
    // Others (SCTP, MPTCP) can connect and bind by calls that nobody asks about.
    if (Argument(2) != 0 && Argument(2) != IPPROTO_TCP) return EPROTONOSUPPORT;
    const Fd made(socket(Argument(0), (type & ~SOCK_CLOEXEC) | SOCK_CLOEXEC, Argument(2)));
    if (!made.valid()) return errno;
    return Give(listener_, call_.id, made.get(), -1, (type & SOCK_CLOEXEC) != 0, given);
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

  int Connect(std::optional<Target>* out) {
    Target target;
    target.fd = CopyOf(Argument(0));
    if (!target.fd.valid()) return errno == EBADF ? EBADF : EACCES;
    if (!ReadAddress(&target.address, &target.size)) return EFAULT;
    const int domain = DomainOf(target.fd.get()), family = target.address.ss_family;
    if (domain == AF_UNIX && family == AF_UNIX) {
      if (const int refused = NameLocal(&target); refused != 0) return refused;
    } else if ((domain == AF_INET || domain == AF_INET6) && (family == AF_INET || family == AF_INET6)) {
      target.decide = true;
    } else if (domain != AF_NETLINK || family != AF_NETLINK) {
      return EACCES;
    }
    out->emplace(std::move(target));
    return 0;
  }

  int NameLocal(Target* target) {
    const auto& local = reinterpret_cast<const sockaddr_un&>(target->address);
    const std::size_t header = offsetof(sockaddr_un, sun_path);
    if (target->size <= header) return EINVAL;
    const std::string_view path(local.sun_path, target->size - header);
    if (path[0] != '\0') return NamePath(target, std::string(path.substr(0, path.find('\0'))));
    if (!options_.peers->AllowsLocal(path.substr(1))) return 0;  // one in its own namespace
    int type = 0;
    socklen_t length = sizeof type;
    if (getsockopt(target->fd.get(), SOL_SOCKET, SO_TYPE, &type, &length) != 0) return errno;
    const int flags = fcntl(target->fd.get(), F_GETFL);
    Fd made(socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
    if (!made.valid()) return errno;
    // It is a socket of the worker's network, where names are those of the machine. The kernel gives it one that nobody
    // has, and no socket a second.
    const sockaddr any = {AF_UNIX, {}};
    if (bind(made.get(), &any, sizeof any.sa_family) != 0) return errno;
    if ((flags & O_NONBLOCK) != 0) fcntl(made.get(), F_SETFL, O_NONBLOCK);
    target->fd = std::move(made);
    target->hand_over = Argument(0);
    return 0;
  }

  // Opens a directory of the task's view, from where its paths begin.
  Fd ViewOf(const std::string& path) {
    const std::string process = "/proc/" + std::to_string(call_.pid);
    Fd root(open((process + (path.starts_with('/') ? "/root" : "/cwd")).c_str(), O_PATH | O_CLOEXEC));
    return root.valid() && Stands() ? std::move(root) : Fd();
  }
  static Fd OpenIn(const Fd& view, const std::string& path, int flags, bool absolute) {
    open_how how = {};
    how.flags = static_cast<std::uint64_t>(O_PATH | O_CLOEXEC | O_NOFOLLOW | flags);
    how.resolve = absolute ? RESOLVE_IN_ROOT : RESOLVE_BENEATH;
    return Fd(static_cast<int>(syscall(SYS_openat2, view.get(), path.c_str(), &how, sizeof how)));
  }
  static bool Name(const std::string& name, sockaddr_storage* address, socklen_t* size) {
    sockaddr_un local = {};
    if (name.size() >= sizeof local.sun_path) return false;
    local.sun_family = AF_UNIX;
    std::memcpy(local.sun_path, name.data(), name.size());
    *address = {};
    std::memcpy(address, &local, sizeof local);
    *size = sizeof local;
    return true;
  }

  // A socket of the task's view, and of its own making.
  int NamePath(Target* target, const std::string& path) {
    const Fd view = ViewOf(path);
    if (!view.valid()) return EACCES;
    target->place = OpenIn(view, path, 0, path.starts_with('/'));
    if (!target->place.valid()) return errno;
    struct stat info = {};
    if (fstat(target->place.get(), &info) != 0 || !S_ISSOCK(info.st_mode)) return ECONNREFUSED;
    if (info.st_uid != options_.user.value_or(geteuid())) return EACCES;
    return Name("/proc/self/fd/" + std::to_string(target->place.get()), &target->address, &target->size) ? 0 : EACCES;
  }

  int Bind() {
    const Fd fd = CopyOf(Argument(0));
    if (!fd.valid()) return errno == EBADF ? EBADF : EACCES;
    sockaddr_storage address = {};
    socklen_t size = 0;
    if (!ReadAddress(&address, &size)) return EFAULT;
    const int domain = DomainOf(fd.get());
    if (domain != address.ss_family) return EACCES;
    if (domain == AF_NETLINK) {
      const auto& route = reinterpret_cast<const NetlinkAddress&>(address);
      if (size < sizeof route || route.groups != 0) return EPERM;  // the worker may listen to more than the task
    } else if (domain != AF_UNIX) {
      return EACCES;
    }
    const auto& local = reinterpret_cast<const sockaddr_un&>(address);
    const std::size_t header = offsetof(sockaddr_un, sun_path);
    if (domain == AF_UNIX && size > header && local.sun_path[0] != '\0')
      return BindPath(fd, std::string(local.sun_path, strnlen(local.sun_path, size - header)));
    // Abstract names are those of the socket's own namespace; one of the worker's has its name (NameLocal).
    return bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0 ? 0 : errno;
  }

  // Makes a socket in the task's view as the task would.
  int BindPath(const Fd& fd, const std::string& path) {
    if (!options_.own_view) return EACCES;
    const std::size_t slash = path.rfind('/');
    const std::string parent = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
    const std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
    if (name.empty() || name == "." || name == "..") return EADDRINUSE;
    const Fd view = ViewOf(path);
    if (!view.valid()) return EACCES;
    const AsUser as_task(options_.user);
    const Fd place = OpenIn(view, parent, O_DIRECTORY, path.starts_with('/'));
    if (!place.valid()) return errno;
    sockaddr_storage address = {};
    socklen_t size = 0;
    if (!Name("/proc/self/fd/" + std::to_string(place.get()) + "/" + name, &address, &size)) return ENAMETOOLONG;
    return bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0 ? 0 : errno;
  }

  int Listen() {
    const Fd fd = CopyOf(Argument(0));
    if (!fd.valid()) return errno == EBADF ? EBADF : EACCES;
    if (DomainOf(fd.get()) != AF_UNIX) return EACCES;
    return listen(fd.get(), Argument(1)) == 0 ? 0 : errno;
  }

  int listener_;
  const seccomp_notif& call_;
  const GateOptions& options_;
};

}  // namespace

struct SocketGate::Connect {
  std::uint64_t call = 0;
  Target target;
  Time end;
  enum class State : std::uint8_t { kUndecided, kFull, kUnderWay } state = State::kUndecided;
  std::optional<int> flags;  // as the task left them, while its socket is made not to wait
};

SocketGate::SocketGate(Fd report, const GateOptions& options)
    : report_(std::move(report)),
      stop_(eventfd(0, EFD_CLOEXEC)),
      news_(std::make_shared<const Fd>(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))),
      options_(options) {
  if (!stop_.valid() || !news_->valid()) {
    failure_ = FromErrno(errno, "make an event descriptor").message();
  } else if (Result<std::jthread> started = StartThread([this] { Serve(); }); started.ok()) {
    thread_ = *std::move(started);
  } else {
    failure_ = started.status().message();
  }
  if (thread_.joinable()) return;
  report_.Close();  // the launcher cannot hand its filter over, and ends
  over_ = true;
}

SocketGate::~SocketGate() { Stop(); }

// The task shares the flags of its sockets, and may make one block in the moment in which the gate connects it: so
// calls are interrupted until the thread has seen that it is to end.
void SocketGate::Stop() {
  if (!thread_.joinable()) return;
  const std::uint64_t one = 1;
  (void)!write(stop_.get(), &one, sizeof one);
  {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, kRetry, [this] { return over_; }))
      pthread_kill(thread_.native_handle(), InterruptSignal());
  }
  thread_.join();
}

std::string SocketGate::Failure() {
  Stop();
  return failure_;
}

void SocketGate::Serve() {
  ListenForInterrupts();
  Loop();
  connects_.clear();
  listener_.Close();
  while (Receive()) {
  }
  const std::lock_guard lock(mutex_);
  over_ = true;
  changed_.notify_all();
}

void SocketGate::Loop() {
  bool reports = true;
  while (reports || listener_.valid()) {
    std::vector<pollfd> watched = {{stop_.get(), POLLIN, 0},
                                   {reports ? report_.get() : -1, POLLIN, 0},
                                   {listener_.get(), POLLIN, 0},
                                   {news_->get(), POLLIN, 0}};
    Time now = std::chrono::steady_clock::now(), next = Time::max();
    for (const auto& connect : connects_) {
      watched.push_back({connect->state == Connect::State::kUnderWay ? connect->target.fd.get() : -1, POLLOUT, 0});
      next =
          std::min(next, connect->state == Connect::State::kFull ? std::min(connect->end, now + kRetry) : connect->end);
    }
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(std::max(next - now, Time::duration(0)));
    const int ready = poll(watched.data(), watched.size(), connects_.empty() ? -1 : static_cast<int>(wait.count()));
    if (ready < 0 && errno != EINTR) return;
    if (ready < 0) continue;
    if (watched[0].revents != 0) return;
    if (watched[1].revents != 0) reports = Receive();
    std::uint64_t news = 0;  // how often PeerList has told
    if (watched[3].revents != 0) (void)!read(news_->get(), &news, sizeof news);
    now = std::chrono::steady_clock::now();
    std::vector<std::unique_ptr<Connect>> left;
    for (std::size_t i = 0; i < connects_.size(); ++i) {
      if (!Advance(*connects_[i], watched[4 + i].revents != 0, news != 0, now)) left.push_back(std::move(connects_[i]));
    }
    connects_ = std::move(left);
    if ((watched[2].revents & POLLIN) != 0) {
      Answer();
    } else if (watched[2].revents != 0) {
      connects_.clear();
      listener_.Close();  // every process with the filter has ended
    }
  }
}

bool SocketGate::Receive() {
  std::optional<LaunchReport> report = ReceiveReport(report_.get(), MSG_DONTWAIT);
  if (!report) return false;
  if (!report->passed.valid()) {
    failure_ = std::move(report->failure);
  } else if (options_.peers != nullptr) {
    listener_ = std::move(report->passed);
  }
  return true;
}

void SocketGate::Answer() {
  seccomp_notif call = {};
  if (ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) return;
  int given = 0;
  std::optional<Target> target;
  int error = Asked(listener_.get(), call, options_).Do(&given, &target);
  if (error == 0 && target && connects_.size() >= kMostConnects) error = EAGAIN;
  if (error != 0 || !target) return Reply(call.id, error, given);
  auto connect = std::make_unique<Connect>();
  connect->call = call.id;
  connect->target = std::move(*target);
  connect->end = std::chrono::steady_clock::now() + options_.longest_connect;
  if (!Decide(*connect)) connects_.push_back(std::move(connect));
}

bool SocketGate::Decide(Connect& connect) {
  if (!connect.target.decide) return Begin(connect);
  const auto tell = [news = news_] {
    const std::uint64_t one = 1;
    (void)!write(news->get(), &one, sizeof one);
  };
  const std::optional<bool> allowed = options_.peers->Allows(connect.target.address, tell);
  if (!allowed) return false;
  return *allowed ? Begin(connect) : Reply(connect, EACCES);
}

// A unix socket whose server has no room says so with EAGAIN, and not when there is room again.
bool SocketGate::Begin(Connect& connect) {
  const int fd = connect.target.fd.get(), flags = fcntl(fd, F_GETFL);
  const bool waits = (flags & O_NONBLOCK) == 0;
  if (waits) {
    connect.flags = flags;
    fcntl(fd, F_SETFL, flags | O_NONBLOCK);
  }
  const auto* const address = reinterpret_cast<const sockaddr*>(&connect.target.address);
  const int error = ::connect(fd, address, connect.target.size) == 0 ? 0 : errno;
  const bool under_way = error == EINPROGRESS, full = error == EAGAIN || error == EINTR;
  if (!waits || (!under_way && !full)) return Reply(connect, error);
  connect.state = under_way ? Connect::State::kUnderWay : Connect::State::kFull;
  if (full) fcntl(fd, F_SETFL, *std::exchange(connect.flags, std::nullopt));
  return false;
}

bool SocketGate::Advance(Connect& connect, bool ready, bool news, Time now) {
  if (ready) {
    int error = 0;
    socklen_t length = sizeof error;
    if (getsockopt(connect.target.fd.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
    return Reply(connect, error);
  }
  if (now < connect.end) {
    if (connect.state == Connect::State::kUndecided) return news && Decide(connect);
    return connect.state == Connect::State::kFull && Begin(connect);
  }
  if (connect.state == Connect::State::kUndecided) return Reply(connect, EACCES);
  const sockaddr nobody = {AF_UNSPEC, {}};
  if (connect.state == Connect::State::kUnderWay) (void)!::connect(connect.target.fd.get(), &nobody, sizeof nobody);
  return Reply(connect, ETIMEDOUT);
}

bool SocketGate::Reply(Connect& connect, int error) {
  const Target& target = connect.target;
  if (connect.flags) fcntl(target.fd.get(), F_SETFL, *connect.flags);
  int given = 0;
  if (error == 0 && target.hand_over)
    error = Give(listener_.get(), connect.call, target.fd.get(), *target.hand_over, true, &given);
  Reply(connect.call, error, 0);
  return true;
}

void SocketGate::Reply(std::uint64_t call, int error, int value) {
  seccomp_notif_resp answer = {};
  answer.id = call;
  answer.val = error == 0 ? value : 0;
  answer.error = -error;
  (void)ioctl(listener_.get(), SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

}  // namespace millrace::sandbox
