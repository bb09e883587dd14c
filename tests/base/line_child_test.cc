// SPDX-License-Identifier: Apache-2.0
#include "base/line_child.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "base/file.h"

namespace millrace {
namespace {

constexpr Micros kLong = 30 * kSecond;
constexpr std::size_t kMost = 1 << 20;

std::unique_ptr<LineChild> Shell(const std::string& script) {
  auto child = LineChild::Start({"/bin/sh", "-c", script});
  EXPECT_TRUE(child.ok());
  return std::move(*child);
}

TEST(LineChildTest, AsksAndKeepsWhatComesAfterTheAnswerForTheNext) {
  const auto child = Shell("read a; printf 'one\\ntwo\\nseen 1\\nthree\\nseen'; read b; echo ' '$b; cat");
  std::string end;
  Result<std::string> answer = child->Ask("first\n", "seen", kLong, kMost, &end);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(*answer, "one\ntwo\n");
  EXPECT_EQ(end, "seen 1");
  answer = child->Ask("2\n", "seen", kLong, kMost, &end);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(*answer, "three\n");
  EXPECT_EQ(end, "seen 2");
  EXPECT_EQ(child->Transcript(), "> first\n< one\n< two\n< seen 1\n> 2\n< three\n< seen 2\n");
}

// Whoever is killed ends nothing himself.
TEST(LineChildTest, AChildAtWorkEndsWithItsParent) {
  const TempDir directory = TempDir::Make("line-child").value();
  const std::string fifo = directory.path() + "/alive";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    // The child keeps the pipe open for writing, and is at work.
    auto child = LineChild::Start({"/bin/sh", "-c", "exec 9>\"$1\"; echo seen; while :; do :; done", "sh", fifo});
    std::string end;
    const bool answered = child.ok() && (*child)->Ask("", "seen", kLong, kMost, &end).ok();
    if (answered) ::raise(SIGKILL);
    ::_exit(1);
  }
  const int alive = ::open(fifo.c_str(), O_RDONLY | O_CLOEXEC);  // until the child has opened it
  ASSERT_GE(alive, 0);
  int status = 0;
  ASSERT_EQ(::waitpid(parent, &status, 0), parent);
  EXPECT_TRUE(WIFSIGNALED(status)) << "the parent was not killed";
  char byte = 0;
  EXPECT_EQ(::read(alive, &byte, 1), 0) << "the end of the file comes when the child is gone";
  ::close(alive);
}

// A word that only begins like the last one is not it.
TEST(LineChildTest, TheLastLineBeginsWithTheWholeWord) {
  const auto child = Shell("echo seen2; echo seen 2");
  std::string end;
  const Result<std::string> answer = child->Ask("", "seen", kLong, kMost, &end);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(*answer, "seen2\n");
}

// More than a socket holds, in both directions at once.
TEST(LineChildTest, LongTextsPassInBothDirections) {
  const auto child = Shell("cat");
  std::string text, end;
  for (int i = 0; i < 100'000; ++i) text += "line " + std::to_string(i) + "\n";
  const Result<std::string> answer = child->Ask(text + "seen\n", "seen", kLong, 4 * kMost, &end);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(*answer, text);
}

std::string Failure(const std::string& script, Micros patience = kLong) {
  const auto child = Shell(script);
  std::string end;
  const Result<std::string> answer = child->Ask("question\n", "seen", patience, kMost, &end);
  EXPECT_FALSE(answer.ok());
  EXPECT_EQ(answer.status().code(), StatusCode::kUnavailable);
  EXPECT_FALSE(child->Ask("again\n", "seen", kLong, kMost, &end).ok());
  return answer.status().message();
}

TEST(LineChildTest, SaysHowTheChildFailed) {
  EXPECT_NE(Failure("exit 3").find("has ended with status 3"), std::string::npos);
  EXPECT_NE(Failure("kill -9 $$").find("was ended by signal 9"), std::string::npos);
  EXPECT_NE(Failure("echo why >&2; exit 1").find("it said: why"), std::string::npos);
  EXPECT_NE(Failure("exec >&- <&-; exec sleep 1000").find("has closed its standard output"), std::string::npos);
  EXPECT_NE(Failure("yes").find("without a line that begins with \"seen\""), std::string::npos);
  EXPECT_NE(Failure("yes | tr -d '\\n'").find("without a line"), std::string::npos);
  EXPECT_NE(Failure("exec sleep 1000", 50 * kMillisecond).find("has not answered within 50 ms"), std::string::npos);
  EXPECT_NE(Failure("yes >&2", 50 * kMillisecond).find("has not answered within 50 ms"), std::string::npos);
}

// It reads nothing while it is sent more than a socket holds.
TEST(LineChildTest, AChildThatDoesNotReadHoldsUpNobody) {
  const auto child = Shell("exec sleep 1000");
  std::string end;
  EXPECT_FALSE(child->Ask(std::string(8 << 20, 'x'), "seen", 50 * kMillisecond, kMost, &end).ok());
}

// The grandchild holds the writing end of a FIFO, which reads as ended once it is dead.
TEST(LineChildTest, WhatTheChildHasStartedEndsWithIt) {
  const TempDir directory = TempDir::Make("line-child-").value();
  const std::string fifo = directory.path() + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const int reader = ::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  {
    const auto child = Shell("trap '' TERM; sleep 1000 3>" + fifo + " & echo go >" + fifo + "; echo seen; wait");
    std::string end;
    ASSERT_TRUE(child->Ask("", "seen", kLong, kMost, &end).ok());
  }
  ::fcntl(reader, F_SETFL, 0);
  char byte = 0;
  std::string read;
  while (::read(reader, &byte, 1) == 1) read += byte;
  EXPECT_EQ(read, "go\n");
  ::close(reader);
}

// It joins the group of its parent, where the signal to its own group does not reach it.
TEST(LineChildTest, AChildThatHasLeftItsGroupEnds) {
  if (::system("command -v python3 >/dev/null") != 0) GTEST_SKIP() << "it takes python3";
  auto started = LineChild::Start(
      {"python3", "-c",
       "import os, time; os.setpgid(0, os.getpgid(os.getppid())); print('seen', flush=True); time.sleep(1000)"});
  ASSERT_TRUE(started.ok());
  std::string end;
  ASSERT_TRUE((*started)->Ask("", "seen", kLong, kMost, &end).ok());
  started->reset();  // it would wait for ever
}

TEST(LineChildTest, AScriptThatNamesNoInterpreterIsNotStarted) {
  const TempDir directory = TempDir::Make("line-child").value();
  const std::string script = directory.path() + "/script";
  ASSERT_TRUE(WriteFileDurably(script, "echo seen\n").ok());
  ASSERT_EQ(::chmod(script.c_str(), 0755), 0);
  const auto child = LineChild::Start({script});
  ASSERT_FALSE(child.ok());
  EXPECT_NE(child.status().message().find("Exec format error"), std::string::npos) << child.status().message();
}

TEST(LineChildTest, AProgramThatDoesNotExistIsNotStarted) {
  const auto child = LineChild::Start({"/no/such/program"});
  ASSERT_FALSE(child.ok());
  EXPECT_EQ(child.status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace millrace
