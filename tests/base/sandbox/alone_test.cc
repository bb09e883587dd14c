// SPDX-License-Identifier: Apache-2.0
#include "base/sandbox/alone.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>

#include "base/file.h"

namespace millrace::sandbox {
namespace {

constexpr Micros kLong = 60 * kSecond;

class AloneTest : public testing::Test {
 protected:
  void SetUp() override { Open({}); }
  void Open(AloneOptions options) {
    const std::string launcher = MILLRACE_LAUNCHER;
    options.directory = launcher.substr(0, launcher.rfind('/'));
    auto alone = Alone::Open(std::move(options));
    if (!alone.ok()) GTEST_SKIP() << alone.status().message();
    alone_ = std::move(*alone);
  }
  // Returns what a shell says by this script, up to its line "end".
  std::string Says(const std::string& script, const std::vector<std::string>& files = {}) {
    child_.reset();
    auto child = alone_->Start("sh", {"sh", "-c", script + "\necho end"}, files);
    if (!child.ok()) return "not started: " + child.status().message();
    child_ = std::move(*child);
    std::string end;
    const auto said = child_->Ask("", "end", kLong, 1 << 20, &end);
    return said.ok() ? *said : said.status().message() + "\n" + child_->Transcript();
  }
  std::unique_ptr<Alone> alone_;
  std::unique_ptr<LineChild> child_;
};

TEST_F(AloneTest, AProgramReadsWhatItIsGivenAndChangesNothing) {
  const auto directory = TempDir::Make("alone");
  ASSERT_TRUE(directory.ok());
  ASSERT_EQ(chmod(directory->path().c_str(), 0755), 0);
  const std::string given = directory->path() + "/given", other = directory->path() + "/other";
  ASSERT_TRUE(WriteFileDurably(given, "words\n").ok());
  ASSERT_TRUE(WriteFileDurably(other, "secret\n").ok());
  for (const std::string& file : {given, other}) ASSERT_EQ(chmod(file.c_str(), 0644), 0);
  EXPECT_EQ(Says("cat " + given, {given}), "words\n");
  EXPECT_EQ(Says("cat " + other + " 2>&1 || echo no", {given}).find("secret"), std::string::npos);
  EXPECT_EQ(Says("(echo more >> " + given + ") 2> /dev/null || echo no", {given}), "no\n");
  EXPECT_EQ(Says("(echo x > /usr/x) 2> /dev/null || echo no"), "no\n");
  EXPECT_EQ(*ReadWholeFile(given), "words\n");
}

TEST_F(AloneTest, NothingRemainsForTheNextProgram) {
  (void)Says("echo left > /tmp/left; echo left > /dev/shm/left");
  EXPECT_EQ(Says("cat /tmp/left /dev/shm/left 2> /dev/null || echo nothing"), "nothing\n");
}

TEST_F(AloneTest, ItsEnvironmentHasNoSecretsButWhatItWasGiven) {
  ASSERT_EQ(setenv("MILLRACE_TEST_SECRET", "secret", 1), 0);
  Open({.variables = {"GIVEN=words"}});
  if (IsSkipped()) return;
  EXPECT_EQ(Says("echo \"$MILLRACE_TEST_SECRET\" $GIVEN"), " words\n");
  unsetenv("MILLRACE_TEST_SECRET");
}

TEST_F(AloneTest, AMissingProgramIsNamed) {
  const auto child = alone_->Start("it", {"/nowhere/program"}, {});
  ASSERT_FALSE(child.ok());
  EXPECT_NE(child.status().message().find("/nowhere/program"), std::string::npos) << child.status().message();
}

TEST_F(AloneTest, ItsExitIsToldAsItWas) {
  EXPECT_NE(Says("exit 3").find("has ended with status 3"), std::string::npos);
  EXPECT_NE(Says("kill -9 $$").find("was ended by signal 9"), std::string::npos);
}

TEST_F(AloneTest, ItsMemoryIsBounded) {
  Open({.memory = std::uint64_t{64} << 20});
  if (IsSkipped()) return;
  EXPECT_EQ(Says("head -c 300000000 /dev/zero 2> /dev/null | tail > /dev/null 2> /dev/null || echo no"), "no\n");
}

TEST_F(AloneTest, ItForksOnlySoOften) {
  Open({.processes = 20});
  if (IsSkipped()) return;
  EXPECT_EQ(Says("(for i in $(seq 200); do sleep 1000 & done) 2> /dev/null || echo no"), "no\n");
}

// Returns the process of this machine that has the word as its argument; 0 if there is none.
pid_t Find(const std::string& word) {
  const auto names = ListDirectory("/proc");
  if (!names.ok()) return 0;
  for (const std::string& name : *names) {
    const auto line = ReadWholeFile("/proc/" + name + "/cmdline");
    if (line.ok() && *line == std::string("sleep\0", 6) + word + std::string(1, '\0')) return std::atoi(name.c_str());
  }
  return 0;
}

TEST_F(AloneTest, WhatHasLeftItsGroupEndsWithIt) {
  const std::string word = "1000000." + std::to_string(getpid());
  // The program goes on, so that nothing but its end ends what it has started.
  EXPECT_EQ(Says("setsid sleep " + word + " < /dev/null > /dev/null 2>&1 & echo end; cat"), "");
  pid_t sleeper = 0;
  for (const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
       sleeper == 0 && std::chrono::steady_clock::now() < until; sched_yield())
    sleeper = Find(word);  // it becomes `sleep` when it does
  ASSERT_NE(sleeper, 0);
  const Fd ends(static_cast<int>(syscall(SYS_pidfd_open, sleeper, 0)));
  ASSERT_TRUE(ends.valid());
  child_.reset();
  pollfd polled{ends.get(), POLLIN, 0};
  EXPECT_EQ(poll(&polled, 1, 60'000), 1) << "the process " << sleeper << " lives on";
}

}  // namespace
}  // namespace millrace::sandbox
