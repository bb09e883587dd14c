// SPDX-License-Identifier: Apache-2.0
// The filter is run here as the kernel would run it, on calls that nobody makes: so each rule is seen, on any machine.
#include "base/sandbox/call_filter.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "base/random.h"

namespace millrace::sandbox {
namespace {

constexpr std::uint64_t kHigh = std::uint64_t{1} << 32;

using Arguments = std::array<std::uint64_t, 6>;

class Filter {
 public:
  explicit Filter(Sockets sockets) {
    const std::string bytes = MakeCallFilter(sockets).value();
    program_.resize(bytes.size() / sizeof(sock_filter));
    std::memcpy(program_.data(), bytes.data(), bytes.size());
  }
  // Returns the kernel's action for the call: SECCOMP_RET_... with its data.
  [[nodiscard]] std::uint32_t Run(const char* call, const Arguments& arguments) const {
    seccomp_data data = {};
    data.nr = seccomp_syscall_resolve_name(call);
    data.arch = seccomp_arch_native();
    for (std::size_t i = 0; i < arguments.size(); ++i) data.args[i] = arguments[i];
    std::uint32_t accumulator = 0;
    for (std::size_t at = 0; at < program_.size(); ++at) {
      const sock_filter& step = program_[at];
      const auto jump = [&](bool holds) { at += holds ? step.jt : step.jf; };
      switch (step.code) {
        case BPF_LD | BPF_W | BPF_ABS:
          std::memcpy(&accumulator, reinterpret_cast<const char*>(&data) + step.k, sizeof accumulator);
          break;
        case BPF_ALU | BPF_AND | BPF_K:
          accumulator &= step.k;
          break;
        case BPF_JMP | BPF_JA:
          at += step.k;
          break;
        case BPF_JMP | BPF_JEQ | BPF_K:
          jump(accumulator == step.k);
          break;
        case BPF_JMP | BPF_JGT | BPF_K:
          jump(accumulator > step.k);
          break;
        case BPF_JMP | BPF_JGE | BPF_K:
          jump(accumulator >= step.k);
          break;
        case BPF_JMP | BPF_JSET | BPF_K:
          jump((accumulator & step.k) != 0);
          break;
        case BPF_RET | BPF_K:
          return step.k;
        default:
          ADD_FAILURE() << "an instruction that this test does not know: " << step.code;
          return 0;
      }
    }
    ADD_FAILURE() << "the program has no end";
    return 0;
  }

 private:
  std::vector<sock_filter> program_;
};

std::uint32_t Error(int error) { return SECCOMP_RET_ERRNO | static_cast<std::uint32_t>(error); }

class CallFilterTest : public testing::TestWithParam<Sockets> {
 protected:
  // With the upper half of each argument as it should be, and as it should not.
  void Expect(std::uint32_t action, const char* call, const Arguments& arguments) const {
    EXPECT_EQ(filter_.Run(call, arguments), action) << call;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      Arguments changed = arguments;
      changed[i] |= kHigh;
      EXPECT_EQ(filter_.Run(call, changed), action) << call << " with more than 32 bits in argument " << i;
    }
  }
  const Filter filter_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(Asking, CallFilterTest, testing::Values(Sockets::kAny, Sockets::kAsked));

TEST_P(CallFilterTest, NoFamilyButUnixTcpAndRoutingQuestions) {
  for (std::uint64_t family = 1; family < AF_MAX; ++family) {
    const bool internet = family == AF_INET || family == AF_INET6;
    if (!internet && family != AF_UNIX && family != AF_NETLINK)
      Expect(Error(EAFNOSUPPORT), "socket", {family, SOCK_STREAM, 0});
    if (internet)
      Expect(GetParam() == Sockets::kAsked ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW, "socket",
             {family, SOCK_STREAM, 0});
    if (family != AF_UNIX) Expect(Error(EAFNOSUPPORT), "socketpair", {family, SOCK_STREAM, 0, 0});
  }
}

TEST_P(CallFilterTest, WhatJobsNeedIsAllowed) {
  for (const std::uint64_t type : {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET}) {
    Expect(SECCOMP_RET_ALLOW, "socket", {AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0});
    Expect(SECCOMP_RET_ALLOW, "socketpair", {AF_UNIX, type, 0, 0});
  }
  Expect(SECCOMP_RET_ALLOW, "socket", {AF_NETLINK, SOCK_RAW, 0});
  Expect(SECCOMP_RET_ALLOW, "setsockopt", {3, IPPROTO_TCP, 1, 0, 4});
  Expect(SECCOMP_RET_ALLOW, "setsockopt", {3, SOL_SOCKET, IP_OPTIONS, 0, 4});
  Expect(SECCOMP_RET_ALLOW, "sendto", {3, 0, 1, MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0});
  Expect(SECCOMP_RET_ALLOW, "ioctl", {3, FIONREAD, 0});
  Expect(SECCOMP_RET_ALLOW, "clone", {SIGCHLD, 0, 0, 0, 0});
  Expect(SECCOMP_RET_ALLOW, "accept4", {3, 0, 0, 0});
}

TEST_P(CallFilterTest, NamespacesAndTypingForOthersAreRefused) {
  for (const std::uint64_t flag : {CLONE_NEWUSER, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET})
    Expect(Error(EPERM), "clone", {flag | SIGCHLD, 0, 0, 0, 0});
  for (const std::uint64_t typing : {TIOCSTI, TIOCLINUX}) Expect(Error(EPERM), "ioctl", {0, typing, 0});
}

TEST_P(CallFilterTest, WhoItReachesIsAskedOrRefused) {
  const auto when_asking = [](std::uint32_t action) {
    return GetParam() == Sockets::kAsked ? action : SECCOMP_RET_ALLOW;
  };
  for (const char* call : {"connect", "bind", "listen"}) Expect(when_asking(SECCOMP_RET_USER_NOTIF), call, {3, 0, 16});
  for (const std::uint64_t family : {AF_INET, AF_INET6}) {
    for (const std::uint64_t type : {SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET, SOCK_RDM, SOCK_DCCP, SOCK_PACKET})
      Expect(when_asking(Error(EACCES)), "socket", {family, type | SOCK_CLOEXEC, 0});
  }
  Expect(when_asking(Error(EPERM)), "sendto", {3, 0, 1, MSG_FASTOPEN | MSG_NOSIGNAL, 0, 16});
  Expect(when_asking(Error(EPERM)), "sendmsg", {3, 0, MSG_FASTOPEN});
  Expect(when_asking(Error(EPERM)), "sendmmsg", {3, 0, 1, MSG_FASTOPEN});
  Expect(when_asking(Error(EPERM)), "setsockopt", {3, IPPROTO_IP, IP_OPTIONS, 0, 8});
  Expect(when_asking(Error(EPERM)), "setsockopt", {3, IPPROTO_IPV6, IPV6_RTHDR, 0, 8});
}

// The holder of a lease on a file makes everybody wait who opens the file.
TEST_P(CallFilterTest, LeasesOfFilesAreRefusedAndOtherControlIsAllowed) {
  constexpr std::uint64_t kSetDelegation = 1024 + 16;
  for (const std::uint64_t lease : {std::uint64_t{F_SETLEASE}, kSetDelegation}) {
    for (const std::uint64_t kind : {F_RDLCK, F_WRLCK, F_UNLCK}) Expect(Error(EPERM), "fcntl", {3, lease, kind});
  }
  for (const std::uint64_t other : {F_DUPFD, F_GETFD, F_SETFD, F_GETFL, F_SETFL, F_GETLK, F_SETLK, F_SETLKW,
                                    F_OFD_SETLK, F_GETLEASE, F_SETPIPE_SZ, F_ADD_SEALS})
    Expect(SECCOMP_RET_ALLOW, "fcntl", {3, other, 0});
}

// Pairs of unix sockets reach nobody, and programs use them among their own processes.
TEST(CallFilterWithoutSocketsTest, ThereAreUnixPairsAlone) {
  const Filter filter(Sockets::kNone);
  for (std::uint64_t family = 0; family < AF_MAX; ++family) {
    for (const std::uint64_t high : {std::uint64_t{0}, kHigh}) {
      EXPECT_EQ(filter.Run("socket", {family | high, SOCK_STREAM, 0}), Error(EACCES)) << family;
      if (family == AF_UNIX || family == AF_UNSPEC) continue;
      EXPECT_EQ(filter.Run("socketpair", {family | high, SOCK_STREAM, 0, 0}), Error(EAFNOSUPPORT)) << family;
    }
  }
  EXPECT_EQ(filter.Run("socketpair", {AF_UNIX, SOCK_STREAM, 0, 0}), SECCOMP_RET_ALLOW);
  EXPECT_EQ(filter.Run("mount", {}), Error(EPERM));
}

// Bits that the kernel ignores change nothing.
TEST_P(CallFilterTest, OfAnIntTheLowerHalfAloneCounts) {
  const std::uint64_t seed = SeedFromSystem();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Random random(seed);
  for (int i = 0; i < 100'000; ++i) {
    const char* const call = std::array{"socket", "socketpair", "setsockopt", "ioctl", "sendto"}[random.Below(5)];
    Arguments low = {}, any = {};
    for (std::size_t k = 0; k < 4; ++k) {
      low[k] = random.Below(64) | (random.Below(2) == 0 ? 0 : MSG_FASTOPEN) | (random.Below(4) == 0 ? TIOCSTI : 0);
      any[k] = low[k] | random.Below(4) << 32 | (random.Below(2) << 63);
    }
    ASSERT_EQ(filter_.Run(call, any), filter_.Run(call, low)) << call;
  }
}

}  // namespace
}  // namespace millrace::sandbox
