// SPDX-License-Identifier: Apache-2.0
// A process with the filter, as a confined task has it, and its gate in this process.
#include "worker/sandbox/socket_gate.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "base/sandbox/call_filter.h"

namespace millrace::sandbox {
namespace {

using Milliseconds = std::chrono::milliseconds;

// An own port of this machine.
class Server {
 public:
  explicit Server(int backlog) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address_;
    EXPECT_EQ(bind(fd_.get(), Generic(), size), 0);
    EXPECT_EQ(getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address_), &size), 0);
    EXPECT_EQ(listen(fd_.get(), backlog), 0);
  }
  // Whoever connects from now on is not answered: the queue of connections that nobody takes is full.
  void FallSilent() {
    for (;;) {
      Fd next(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      const bool under_way = connect(next.get(), Generic(), sizeof address_) != 0 && errno == EINPROGRESS;
      pollfd connected{next.get(), POLLOUT, 0};
      full_.push_back(std::move(next));
      if (under_way && poll(&connected, 1, 300) == 0) return;
      ASSERT_LT(full_.size(), 100U);
    }
  }
  [[nodiscard]] const sockaddr* Generic() const { return reinterpret_cast<const sockaddr*>(&address_); }

 private:
  Fd fd_;
  sockaddr_in address_ = {};
  std::vector<Fd> full_;
};

class Peers final : public PeerList {
 public:
  std::optional<bool> Allows(const sockaddr_storage&, const std::function<void()>& later) override {
    const std::lock_guard lock(mutex_);
    ++asked_;
    later_ = later;
    changed_.notify_all();
    return answer_;
  }
  bool AllowsLocal(std::string_view name) override { return !local_.empty() && name == local_; }
  void AllowLocal(std::string name) { local_ = std::move(name); }
  void AwaitQuestion() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return asked_ > 0; });
  }
  void Answer(std::optional<bool> answer) {
    std::function<void()> later;
    {
      const std::lock_guard lock(mutex_);
      answer_ = answer;
      later = std::exchange(later_, nullptr);
    }
    if (later) later();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<bool> answer_ = true;
  std::function<void()> later_;
  int asked_ = 0;
  std::string local_;
};

// An abstract name of a unix socket.
class AbstractName {
 public:
  explicit AbstractName(const std::string& name)
      : size_(static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())) {
    address_.sun_family = AF_UNIX;
    std::memcpy(address_.sun_path + 1, name.data(), name.size());
  }
  [[nodiscard]] bool Bind(int fd) const { return bind(fd, Generic(), size_) == 0; }
  [[nodiscard]] bool Connect(int fd) const { return connect(fd, Generic(), size_) == 0; }

 private:
  [[nodiscard]] const sockaddr* Generic() const { return reinterpret_cast<const sockaddr*>(&address_); }
  sockaddr_un address_ = {};
  socklen_t size_;
};

// As millrace-launch does it.
void EnterFilter(int report) {
  const std::string program = MakeCallFilter(Sockets::kAsked).value();
  std::vector<sock_filter> steps(program.size() / sizeof(sock_filter));
  std::memcpy(steps.data(), program.data(), program.size());
  const sock_fprog filter{static_cast<unsigned short>(steps.size()), steps.data()};
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  const int listener =
      static_cast<int>(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter));
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(header), &listener, sizeof listener);
  if (listener < 0 || sendmsg(report, &message, MSG_NOSIGNAL) != 1) _exit(99);
  close(listener);
  close(report);
}

class SocketGateTest : public testing::Test {
 protected:
  ~SocketGateTest() override { End(); }
  // Runs the body in a process with the filter. It returns 0 if it found what it should, or else where it did not.
  void Start(const std::function<int()>& body, Milliseconds longest_connect = std::chrono::hours(1)) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    child_ = fork();
    if (child_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      close(ends[0]);
      EnterFilter(ends[1]);
      _exit(body());
    }
    close(ends[1]);
    gate_ =
        std::make_unique<SocketGate>(Fd(ends[0]), GateOptions{.peers = &peers_, .longest_connect = longest_connect});
  }
  int Result() {
    int status = 0;
    EXPECT_EQ(waitpid(child_, &status, 0), child_);
    child_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  void End() {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    child_ = 0;
  }
  // Destroys the gate, and returns how long that took.
  Milliseconds CloseGate() {
    const auto begin = std::chrono::steady_clock::now();
    gate_.reset();
    return std::chrono::duration_cast<Milliseconds>(std::chrono::steady_clock::now() - begin);
  }
  static int Connect(const Server& server, int type = SOCK_STREAM) {
    const int fd = socket(AF_INET, type, 0);
    if (fd < 0) return errno;
    return connect(fd, server.Generic(), sizeof(sockaddr_in)) == 0 ? 0 : errno;
  }

  // The kernel gives up a connect that is not answered after two minutes.
  static constexpr Milliseconds kAtOnce = std::chrono::seconds(30);
  Peers peers_;
  pid_t child_ = 0;
  std::unique_ptr<SocketGate> gate_;
};

TEST_F(SocketGateTest, AConnectGoesWhereItMay) {
  const Server server(8);
  Start([&] { return Connect(server); });
  EXPECT_EQ(Result(), 0);
  peers_.Answer(false);
  Start([&] { return Connect(server); });
  EXPECT_EQ(Result(), EACCES);
}

TEST_F(SocketGateTest, APeerThatNeverAnswersHoldsNobodyOnceTheTaskIsGone) {
  Server server(0);
  server.FallSilent();
  Start([&] { return Connect(server); });
  peers_.AwaitQuestion();
  End();
  EXPECT_LT(CloseGate(), kAtOnce);
}

TEST_F(SocketGateTest, AGateEndsWhileItsTaskStillConnects) {
  Server server(0);
  server.FallSilent();
  Start([&] { return Connect(server); });
  peers_.AwaitQuestion();
  EXPECT_LT(CloseGate(), kAtOnce);
}

TEST_F(SocketGateTest, AConnectIsGivenUpAfterItsTime) {
  Server server(0);
  server.FallSilent();
  Start([&] { return Connect(server); }, Milliseconds(100));
  EXPECT_EQ(Result(), ETIMEDOUT);
}

TEST_F(SocketGateTest, OtherCallsOfTheTaskAreAnsweredMeanwhile) {
  Server silent(0);
  silent.FallSilent();
  const Server server(8);
  Start([&] {
    std::thread([&] { Connect(silent); }).detach();
    return Connect(server);
  });
  EXPECT_EQ(Result(), 0);
}

TEST_F(SocketGateTest, ConnectsThatAreNotAnsweredAreLimited) {
  Server silent(0);
  silent.FallSilent();
  Start([&] {
    std::atomic<int> refused = 0;
    for (int i = 0; i < 80; ++i) std::thread([&] { refused += Connect(silent) == EAGAIN ? 1 : 0; }).detach();
    while (refused < 80 - 64) std::this_thread::yield();
    return 0;
  });
  EXPECT_EQ(Result(), 0);
}

TEST_F(SocketGateTest, ASocketThatDoesNotWaitIsToldSoAndConnects) {
  Server silent(0);
  silent.FallSilent();
  const Server server(8);
  Start([&] {
    if (Connect(silent, SOCK_STREAM | SOCK_NONBLOCK) != EINPROGRESS) return 1;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (connect(fd, server.Generic(), sizeof(sockaddr_in)) != 0 && errno != EINPROGRESS) return 2;
    pollfd connected{fd, POLLOUT, 0};
    if (poll(&connected, 1, -1) != 1 || (connected.revents & POLLERR) != 0) return 3;
    return 0;
  });
  EXPECT_EQ(Result(), 0);
}

TEST_F(SocketGateTest, ASocketWaitsAsItDidBefore) {
  const Server server(8);
  Start([&] {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, server.Generic(), sizeof(sockaddr_in)) != 0) return 1;
    return (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0 ? 0 : 2;
  });
  EXPECT_EQ(Result(), 0);
}

TEST_F(SocketGateTest, AnAddressThatIsBeingAskedAboutHoldsNobody) {
  const Server server(8);
  peers_.Answer(std::nullopt);
  Start([&] { return Connect(server); });
  peers_.AwaitQuestion();
  peers_.Answer(true);
  EXPECT_EQ(Result(), 0);
  peers_.Answer(std::nullopt);
  Start([&] { return Connect(server); }, Milliseconds(50));
  EXPECT_EQ(Result(), EACCES) << "nobody knew in time";
  Start([&] { return Connect(server); });
  EXPECT_LT(CloseGate(), kAtOnce);
}

TEST_F(SocketGateTest, TcpIsNeitherBoundNorListenedTo) {
  Start([] {
    sockaddr_in any = {};
    any.sin_family = AF_INET;
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(fd, reinterpret_cast<sockaddr*>(&any), sizeof any) == 0 || errno != EACCES) return 1;
    any.sin_family = AF_UNIX;  // another family than the socket's is no way
    if (bind(fd, reinterpret_cast<sockaddr*>(&any), sizeof any) == 0) return 2;
    if (listen(fd, 1) == 0 || errno != EACCES) return 3;
    sockaddr_in6 any6 = {};
    any6.sin6_family = AF_INET6;
    const int fd6 = socket(AF_INET6, SOCK_STREAM, 0);
    if (fd6 >= 0 && bind(fd6, reinterpret_cast<sockaddr*>(&any6), sizeof any6) == 0) return 4;
    return 0;
  });
  EXPECT_EQ(Result(), 0);
}

TEST_F(SocketGateTest, OnlyTcpIsMade) {
  Start([] {
    for (const int protocol : {132 /* SCTP */, 262 /* MPTCP */}) {
      if (socket(AF_INET, SOCK_STREAM, protocol) >= 0 || errno != EPROTONOSUPPORT) return protocol % 100;
    }
    return socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) >= 0 ? 0 : 1;
  });
  EXPECT_EQ(Result(), 0);
}

// By a path, by an abstract name, and by one that the kernel chooses.
TEST_F(SocketGateTest, UnixSocketsOfItsOwnWorkAsEver) {
  const TempDir directory = TempDir::Make("gate").value();
  Start([&] {
    if (chdir(directory.path().c_str()) != 0) return 1;
    for (const std::string& name : {directory.path() + "/absolute", std::string("relative"),
                                    std::string(1, '\0') + "gate-" + std::to_string(getpid()), std::string()}) {
      const int server = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
      sockaddr_un address = {};
      address.sun_family = AF_UNIX;
      std::memcpy(address.sun_path, name.data(), name.size());
      auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
      if (bind(server, reinterpret_cast<sockaddr*>(&address), size) != 0) return 2;
      size = sizeof address;
      if (name.empty() && getsockname(server, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 3;
      if (!name.empty()) size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
      if (listen(server, 1) != 0) return 4;
      if (connect(client, reinterpret_cast<sockaddr*>(&address), size) != 0) return 5;
      if (accept(server, nullptr, nullptr) < 0) return 6;
    }
    int pair[2];
    return socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 ? 0 : 7;
  });
  EXPECT_EQ(Result(), 0);
}

// That socket is one of the worker's network, where names are those of the machine, such as the one of another worker.
TEST_F(SocketGateTest, TheSocketThatLeadsToTheWorkerTakesNoNameOfTheMachine) {
  const std::string name = "gate-worker-" + std::to_string(getpid());
  const AbstractName worker(name), other(name + "-another");
  const Fd server(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_TRUE(worker.Bind(server.get()) && listen(server.get(), 8) == 0);
  peers_.AllowLocal(name);
  Start([&] {
    for (const int flag : {0, int{SOCK_NONBLOCK}}) {
      const int fd = socket(AF_UNIX, SOCK_STREAM | flag, 0);
      if (!worker.Connect(fd)) return 1;
      if (other.Bind(fd) || errno != EINVAL) return 2;
      if (listen(fd, 1) == 0) return 3;
      if (write(fd, "x", 1) != 1) return 4;
    }
    return 0;
  });
  EXPECT_EQ(Result(), 0);
  char got = 0;
  const Fd taken(accept(server.get(), nullptr, nullptr));
  EXPECT_EQ(read(taken.get(), &got, 1), 1);
}

TEST_F(SocketGateTest, AUnixServerThatTakesNobodyHoldsNobody) {
  const TempDir directory = TempDir::Make("gate").value();
  const auto fill = [&] {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    const std::string path = directory.path() + "/full";
    std::memcpy(address.sun_path, path.data(), path.size());
    const int server = socket(AF_UNIX, SOCK_STREAM, 0);
    if (bind(server, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 || listen(server, 0) != 0) return 1;
    for (;;) {
      const int client = socket(AF_UNIX, SOCK_STREAM, 0);
      if (connect(client, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return errno;
    }
  };
  Start(fill, Milliseconds(100));
  EXPECT_EQ(Result(), ETIMEDOUT);
  unlink((directory.path() + "/full").c_str());
  Start(fill);
  EXPECT_LT(CloseGate(), kAtOnce);
}

TEST_F(SocketGateTest, RoutingQuestionsArePutButNobodyElseIsListenedTo) {
  Start([] {
    struct {  // netlink(7)
      sa_family_t family = AF_NETLINK;
      unsigned short padding = 0;
      std::uint32_t port = 0, groups = 0;
    } own;
    const int fd = socket(AF_NETLINK, SOCK_RAW, 0 /* NETLINK_ROUTE */);
    if (bind(fd, reinterpret_cast<sockaddr*>(&own), sizeof own) != 0) return 1;
    own.groups = 1;
    return bind(fd, reinterpret_cast<sockaddr*>(&own), sizeof own) != 0 && errno == EPERM ? 0 : 2;
  });
  EXPECT_EQ(Result(), 0);
}

}  // namespace
}  // namespace millrace::sandbox
