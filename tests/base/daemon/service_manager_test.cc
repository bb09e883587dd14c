// SPDX-License-Identifier: Apache-2.0
// The expected lines are those of sd_notify(3).
#include "base/daemon/service_manager.h"

#include <gtest/gtest.h>
#include <kj/async-io.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "base/file.h"

namespace millrace::daemon {
namespace {

constexpr int kPid = 4711;

// The socket of a service manager, under a path or an abstract name.
class Listener {
 public:
  explicit Listener(const std::string& name) : socket_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, name.data(), name.size());
    if (name[0] == '@') address.sun_path[0] = '\0';
    const auto length =
        static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size() + (name[0] == '@' ? 0 : 1));
    EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&address), length), 0);
  }
  ~Listener() { ::close(socket_); }
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Returns the next datagram; empty: there is none.
  std::string Take() {
    char bytes[512];
    const ssize_t size = ::recv(socket_, bytes, sizeof bytes, 0);
    return size > 0 ? std::string(bytes, static_cast<std::size_t>(size)) : "";
  }

 private:
  int socket_;
};

class ServiceManagerTest : public testing::Test {
 public:
  ~ServiceManagerTest() noexcept override {}  // KJ's destructors may throw

 protected:
  TempDir directory_ = TempDir::Make("service-manager-").value();
  std::string name_ = directory_.path() + "/notify";
  Listener listener_{name_};
  kj::EventLoop loop_;
  kj::WaitScope scope_{loop_};
  kj::TimerImpl timer_{kj::origin<kj::TimePoint>()};
};

TEST_F(ServiceManagerTest, IsToldWhatTheDaemonDoes) {
  ServiceManager manager({name_, "", ""}, kPid);
  manager.Ready("serves at 127.0.0.1:7700");
  EXPECT_EQ(listener_.Take(), "READY=1\nSTATUS=serves at 127.0.0.1:7700");
  manager.Say("two\nREADY=1");
  EXPECT_EQ(listener_.Take().find('\n'), std::string::npos) << "a status is one line, whatever is in it";
  manager.Stopping();
  EXPECT_EQ(listener_.Take(), "STOPPING=1");
}

TEST_F(ServiceManagerTest, IsToldByAnAbstractName) {
  const std::string name = "@millrace-test-" + std::to_string(::getpid());
  Listener abstract(name);
  ServiceManager({name, "", ""}, kPid).Ready("x");
  EXPECT_EQ(abstract.Take(), "READY=1\nSTATUS=x");
}

TEST_F(ServiceManagerTest, SignsOfLifeComeTwiceInAPeriod) {
  ServiceManager manager({name_, "10000000", std::to_string(kPid)}, kPid);
  const kj::Promise<void> telling = manager.TellAlive(timer_).eagerlyEvaluate(nullptr);
  EXPECT_EQ(listener_.Take(), "WATCHDOG=1");
  EXPECT_EQ(listener_.Take(), "");
  for (int beat = 1; beat <= 3; ++beat) {
    timer_.advanceTo(kj::origin<kj::TimePoint>() + beat * 5 * kj::SECONDS);
    scope_.poll();
    EXPECT_EQ(listener_.Take(), "WATCHDOG=1") << beat;
    EXPECT_EQ(listener_.Take(), "") << beat;
  }
}

TEST_F(ServiceManagerTest, NoSignOfLifeIsGivenThatNobodyAskedFor) {
  for (const ServiceManager::Environment& environment :
       {ServiceManager::Environment{name_, "", ""}, ServiceManager::Environment{name_, "10000000", "1"},
        ServiceManager::Environment{name_, "soon", ""}, ServiceManager::Environment{name_, "-5", ""}}) {
    ServiceManager manager(environment, kPid);
    const kj::Promise<void> telling = manager.TellAlive(timer_).eagerlyEvaluate(nullptr);
    EXPECT_EQ(listener_.Take(), "") << environment.watchdog << ' ' << environment.watchdog_pid;
  }
}

TEST_F(ServiceManagerTest, NobodyIsToldWithoutAServiceManager) {
  for (const std::string& name : {std::string(), std::string("/"), std::string("relative"), std::string(500, '/')}) {
    ServiceManager manager({name, "10000000", ""}, kPid);
    manager.Ready("x");
    EXPECT_EQ(manager.watchdog(), 0) << name;
  }
  EXPECT_EQ(listener_.Take(), "");
}

TEST_F(ServiceManagerTest, ChildrenDoNotInheritIt) {
  ::setenv("NOTIFY_SOCKET", name_.c_str(), 1);
  ::setenv("WATCHDOG_USEC", "3", 1);
  ::setenv("WATCHDOG_PID", "4", 1);
  const ServiceManager::Environment taken = ServiceManager::TakeEnvironment();
  EXPECT_EQ(taken.socket, name_);
  EXPECT_EQ(taken.watchdog, "3");
  EXPECT_EQ(taken.watchdog_pid, "4");
  for (const char* name : {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}) EXPECT_EQ(std::getenv(name), nullptr);
}

}  // namespace
}  // namespace millrace::daemon
