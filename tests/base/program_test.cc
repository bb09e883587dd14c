// SPDX-License-Identifier: Apache-2.0
#include "base/program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <iostream>
#include <new>
#include <string>
#include <system_error>
#include <utility>

#include "base/child_process.h"
#include "base/file.h"

namespace millrace {
namespace {

struct Ended {
  int status = -1;
  std::string said;  // on standard error
};

// Runs the body in a process of its own, whose exit status it returns, with a pipe in place of standard error.
Ended InChild(const std::function<int()>& body) {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::_exit(body());
  }
  const Fd reader(ends[0]);
  { const Fd writer(ends[1]); }
  Ended ended;
  char buffer[4096];
  for (ssize_t size; (size = ::read(reader.get(), buffer, sizeof buffer)) > 0;)
    ended.said.append(buffer, static_cast<std::size_t>(size));
  const Result<int> status = WaitForChild(child);
  EXPECT_TRUE(status.ok()) << status.status().message();
  if (status.ok()) ended.status = ExitStatusOf(*status);
  return ended;
}

TEST(ProgramTest, ClosedDescriptorsAreTaken) {
  EXPECT_EQ(InChild([] {
              for (int fd = 0; fd < 3; ++fd) ::close(fd);
              SetInheritedRight();
              const int next = ::open("/dev/null", O_RDONLY);
              if (next < 3) return 10 + next;
              char byte = 'x';
              if (::read(0, &byte, 1) >= 0) return 20;   // no input is not an empty input
              if (::write(1, &byte, 1) >= 0) return 21;  // lost output is no output
              return ::write(2, &byte, 1) == 1 ? 0 : 22;
            }).status,
            0);
}

TEST(ProgramTest, OpenDescriptorsStayAsTheyAre) {
  EXPECT_EQ(InChild([] {
              int ends[2];
              if (::pipe(ends) != 0) return 1;
              ::dup2(ends[0], 0);
              ::dup2(ends[1], 1);
              SetInheritedRight();
              char byte = 'x';
              return ::write(1, &byte, 1) == 1 && ::read(0, &byte, 1) == 1 ? 0 : 2;
            }).status,
            0);
}

TEST(ProgramTest, StatusesOfChildrenAreKnownWhateverTheParentIgnored) {
  const auto failing = [](bool set_right) {
    return [set_right] {
      ::signal(SIGCHLD, SIG_IGN);
      if (set_right) SetInheritedRight();
      const pid_t child = ::fork();
      if (child == 0) ::_exit(7);
      const Result<int> status = WaitForChild(child);
      return status.ok() ? ExitStatusOf(*status) : 99;
    };
  };
  EXPECT_EQ(InChild(failing(true)).status, 7);
  EXPECT_EQ(InChild(failing(false)).status, 99) << "a status that is not known is not 0";
}

TEST(ProgramTest, SignalsHaveTheirUsualEffect) {
  EXPECT_EQ(InChild([] {
              ::signal(SIGPIPE, SIG_IGN);
              ::signal(SIGHUP, SIG_IGN);
              sigset_t all;
              ::sigfillset(&all);
              ::sigprocmask(SIG_BLOCK, &all, nullptr);
              SetInheritedRight();
              struct sigaction hangup {};
              ::sigaction(SIGHUP, nullptr, &hangup);
              if (hangup.sa_handler != SIG_IGN) return 1;  // nohup
              ::raise(SIGPIPE);
              return 2;
            }).status,
            128 + SIGPIPE);
}

TEST(ProgramTest, AFileThatMayNotGrowIsAnErrorAndNoDeath) {
  EXPECT_EQ(InChild([] {
              SetInheritedRight();
              const rlimit none{0, 0};
              ::setrlimit(RLIMIT_FSIZE, &none);
              const TempDir directory = TempDir::Make("program-test-").value();
              const Status written = WriteFileDurably(directory.path() + "/file", "text");
              return written.ok() ? 1 : 0;
            }).status,
            0);
}

TEST(ProgramTest, AnOpenUmaskIsNarrowedAndANarrowOneKept) {
  for (const auto& [inherited, kept] : {std::pair(0, 022), {0002, 022}, {0077, 077}}) {
    EXPECT_EQ(InChild([inherited = inherited, kept = kept] {
                ::umask(static_cast<mode_t>(inherited));
                KeepOthersFromWriting();
                return ::umask(0) == static_cast<mode_t>(kept) ? 0 : 1;
              }).status,
              0)
        << inherited;
  }
}

TEST(ProgramTest, ChildrenGetPlainSignals) {
  EXPECT_EQ(InChild([] {
              SetInheritedRight();
              PlainSignals();
              struct sigaction action {};
              for (const int signal : {SIGCHLD, SIGPIPE, SIGXFSZ}) {
                ::sigaction(signal, nullptr, &action);
                if (action.sa_handler != SIG_DFL) return signal;
              }
              return 0;
            }).status,
            0);
}

Ended Printing(const std::string& place, const std::function<int()>& body) {
  return InChild([&] {
    ::dup2(::open(place.c_str(), O_WRONLY), STDOUT_FILENO);
    return RunProgram("miller", body);
  });
}

TEST(ProgramTest, OutputThatWasNotWrittenIsNoSuccess) {
  const auto by_stdio = [] { return std::printf("text\n"), 0; };
  const auto by_stream = [] { return std::cout << "text\n" << std::flush, 0; };
  EXPECT_EQ(Printing("/dev/null", by_stdio).status, 0);
  EXPECT_EQ(Printing("/dev/full", by_stdio).status, 1);
  EXPECT_EQ(Printing("/dev/full", by_stdio).said, "miller: cannot write to standard output: No space left on device\n");
  EXPECT_EQ(Printing("/dev/full", by_stream).status, 1);
  EXPECT_EQ(Printing("/dev/full", [] { return 0; }).status, 0) << "nothing was printed";
  EXPECT_EQ(Printing("/dev/full", [] { return std::printf("text\n"), 3; }).status, 3);
}

TEST(ProgramTest, WhatTheSystemRefusesIsALine) {
  const Ended thread = Printing("/dev/null", []() -> int { throw std::system_error(EAGAIN, std::generic_category()); });
  EXPECT_EQ(thread.status, 1);
  EXPECT_EQ(thread.said,
            "miller: the system refuses: Resource temporarily unavailable; is a limit of processes and threads (ulimit "
            "-u) too low?\n");
  const Ended memory = Printing("/dev/null", []() -> int { throw std::bad_alloc(); });
  EXPECT_EQ(memory.status, 1);
  EXPECT_NE(memory.said.find("memory"), std::string::npos);
}

}  // namespace
}  // namespace millrace
