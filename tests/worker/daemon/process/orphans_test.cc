// SPDX-License-Identifier: Apache-2.0
// Descendants are processes without anything to do; each ends when the test does.
#include "worker/daemon/process/orphans.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace millrace::worker {
namespace {

constexpr const char* kMark = "1.2";

class OrphansTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(AdoptOrphans().ok()); }
  void TearDown() override {
    for (const pid_t child : started_) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
  }

  // A child that ends with this process, if not before.
  static pid_t Fork(const std::function<void()>& run) {
    const pid_t child = fork();
    if (child != 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    run();
    _exit(0);
  }
  [[noreturn]] static void Hang() {
    while (true) pause();
  }
  // Runs `sleep` with this environment, and returns when it has it.
  pid_t StartSleep(const std::vector<std::string>& environment) {
    int ready[2];
    EXPECT_EQ(pipe2(ready, O_CLOEXEC), 0);
    const pid_t child = Fork([&] {
      std::vector<char*> variables;
      for (const std::string& variable : environment) variables.push_back(const_cast<char*>(variable.c_str()));
      variables.push_back(nullptr);
      char name[] = "sleep", time[] = "100000";
      char* const words[] = {name, time, nullptr};
      execve("/bin/sleep", words, variables.data());
    });
    close(ready[1]);
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 0);  // closed by exec
    close(ready[0]);
    started_.push_back(child);
    return child;
  }
  static std::vector<Orphan> One(pid_t child) {
    std::vector<Orphan> orphans;
    for (Orphan& orphan : ReapOrphans({})) {
      if (orphan.pid == child) orphans.push_back(std::move(orphan));
    }
    EXPECT_EQ(orphans.size(), 1U);
    return orphans;
  }
  static bool Lives(pid_t child) {
    siginfo_t ended = {};
    return waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == 0;
  }
  static void AwaitEnd(pid_t child) {
    siginfo_t ended = {};
    ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  }

  std::vector<pid_t> started_;
};

TEST_F(OrphansTest, WhoCarriesTheMarkIsKilled) {
  const pid_t child = StartSleep({"A=1", std::string(kMarkVariable) + "=" + kMark});
  EXPECT_EQ(KillMarked(One(child), kMark), 1U);
  AwaitEnd(child);
}

TEST_F(OrphansTest, WhoCarriesAnotherMarkOrNothingIsLeftAlone) {
  for (const std::vector<std::string>& environment :
       {std::vector<std::string>{std::string(kMarkVariable) + "=1.20"}, {"A=1"}, {}}) {
    const pid_t child = StartSleep(environment);
    EXPECT_EQ(KillMarked(One(child), kMark), 0U) << environment.size();
    EXPECT_TRUE(Lives(child));
  }
}

// Its children may have come to this process by now, so the sweep is not over.
TEST_F(OrphansTest, WhoHasJustEndedCallsForAnotherLook) {
  const pid_t child = StartSleep({std::string(kMarkVariable) + "=" + kMark});
  const std::vector<Orphan> orphans = One(child);
  kill(child, SIGKILL);
  AwaitEnd(child);
  EXPECT_EQ(KillMarked(orphans, kMark), 1U);
}

// A child ends at some time around the moment at which the children are listed, and leaves one of its own. Others,
// which come before it, make that moment a long one.
TEST_F(OrphansTest, WhoIsReapedHasLeftItsChildrenAmongThoseThatAreReturned) {
  constexpr int kOthers = 150, kRounds = 200;
  for (int i = 0; i < kOthers; ++i) started_.push_back(Fork(Hang));
  int reaped = 0;
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    int begin[2], told[2];
    ASSERT_EQ(pipe2(begin, O_CLOEXEC), 0);
    ASSERT_EQ(pipe2(told, O_CLOEXEC), 0);
    const pid_t parent = Fork([&] {
      const pid_t child = fork();
      if (child == 0) Hang();
      char byte = 0;
      if (write(told[1], &child, sizeof child) != sizeof child || read(begin[0], &byte, 1) != 1) _exit(1);
    });
    pid_t child = 0;
    ASSERT_EQ(read(told[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
    ASSERT_EQ(write(begin[1], "x", 1), 1);
    const auto wait = std::chrono::steady_clock::now() + std::chrono::microseconds(2 * round);
    while (std::chrono::steady_clock::now() < wait) {
    }
    const std::vector<Orphan> orphans = ReapOrphans({});
    if (std::ranges::find(orphans, parent, &Orphan::pid) == orphans.end()) {
      ++reaped;
      EXPECT_NE(std::ranges::find(orphans, child, &Orphan::pid), orphans.end());
    } else {
      AwaitEnd(parent);
      waitpid(parent, nullptr, 0);
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    for (const int fd : {begin[0], begin[1], told[0], told[1]}) close(fd);
  }
  EXPECT_GT(reaped, 0);
}

}  // namespace
}  // namespace millrace::worker
