// SPDX-License-Identifier: Apache-2.0
#include "client/streaming/child.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <string>

#include "client/streaming/child_log.h"

namespace millrace::streaming {
namespace {

// As in every program of Millrace, for all tests of this executable.
[[maybe_unused]] const auto no_sigpipe = ::signal(SIGPIPE, SIG_IGN);

// A child whose output and complaints are kept.
struct Watched {
  explicit Watched(const std::string& words, ChildLine line = ChildLine::kStandard)
      : child(Child::Start(
                  {words, "/", {{"PATH", "/usr/bin:/bin"}, {"GREETING", "hello"}}, line},
                  [this](std::string_view bytes) { output += bytes; },
                  [this](std::string_view bytes) {
                    complaints += bytes.size();
                    if (error.size() < 1000) error += bytes;
                  })
                  .value()) {}
  int Finish() { return child.Finish().value(); }

  std::string output, error;  // of complaints, the first ones
  std::size_t complaints = 0;
  Child child;
};

TEST(ChildTest, TakesWhileItGives) {
  Watched cat("cat");  // more than both pipes hold: whoever only gave would wait for ever
  const std::string piece(std::size_t{1} << 20, 'x');
  for (int i = 0; i < 16; ++i) ASSERT_TRUE(cat.child.Give(piece).ok());
  EXPECT_EQ(cat.Finish(), 0);
  EXPECT_EQ(cat.output.size(), piece.size() * 16);
  EXPECT_EQ(cat.child.left(), 0U);
}

TEST(ChildTest, TellsHowItEnded) {
  EXPECT_EQ(EndInWords(Watched("exit 3").Finish()), "ended with status 3");
  EXPECT_EQ(EndInWords(Watched("kill -SEGV $$").Finish()), "was ended by signal 11 (Segmentation fault)");
  EXPECT_EQ(EndInWords(Watched("sh -c 'kill -KILL $$'; exit $?").Finish()),
            "ended with status 137 (of a shell: signal 9, Killed)");
  EXPECT_EQ(EndInWords(Watched("/no/such/program").Finish()), "ended with status 127 (of a shell: not found)");
  EXPECT_EQ(EndInWords(Watched("/etc/passwd").Finish()), "ended with status 126 (of a shell: not an executable)");
  EXPECT_EQ(EndInWords(Watched("exit 255").Finish()), "ended with status 255");
}

TEST(ChildTest, OneThatReadsNoMoreIsNoFailure) {
  Watched head("head -c 3");
  const std::string piece(std::size_t{4} << 20, 'x');
  ASSERT_TRUE(head.child.Give(piece).ok());
  EXPECT_EQ(head.Finish(), 0);
  EXPECT_EQ(head.output, "xxx");
  EXPECT_GT(head.child.left(), 0U);
}

TEST(ChildTest, TakesAGigabyteOfComplaints) {
  Watched loud("head -c 1073741824 /dev/zero >&2; echo done");
  EXPECT_EQ(loud.Finish(), 0);
  EXPECT_EQ(loud.output, "done\n");
  EXPECT_EQ(loud.complaints, std::size_t{1} << 30);
}

TEST(ChildTest, HasItsEnvironmentAndNothingElse) {
  Watched env("/usr/bin/env | grep -v -e '^PWD=' -e '^SHLVL=' -e '^_=' -e OLDPWD | sort");
  EXPECT_EQ(env.Finish(), 0);
  EXPECT_EQ(env.output, "GREETING=hello\nPATH=/usr/bin:/bin\n");
  Watched descriptors("ls /proc/self/fd | wc -l");  // the three, and that of the directory
  EXPECT_EQ(descriptors.Finish(), 0);
  EXPECT_EQ(descriptors.output, "4\n");
}

TEST(ChildTest, WhatItLeavesBehindGoesOnWriting) {
  Watched left("exec 4<&0; (read line <&4; echo late) & exit 0");
  ASSERT_TRUE(left.child.Give("x\n").ok());
  EXPECT_EQ(left.Finish(), 0);
  EXPECT_EQ(left.output, "late\n");
}

TEST(ChildTest, WhatItLeavesBehindWhenItFailsHoldsNothingUp) {
  Watched left("sleep 1000 & exit 7");
  EXPECT_EQ(WEXITSTATUS(left.Finish()), 7);
}

TEST(ChildTest, AChannelGoesBothWays) {
  Watched echo("cat <&3 >&3; echo said", ChildLine::kChannel);
  ASSERT_TRUE(echo.child.Give("over the channel").ok());
  EXPECT_EQ(echo.Finish(), 0);
  EXPECT_EQ(echo.output, "over the channel");
  EXPECT_EQ(echo.error, "said\n");
}

// ---- what it writes to standard error ----

struct Reports {
  ChildLog log{{[this](std::string_view group, std::string_view name, std::int64_t amount) {
                  text += "[" + std::string(group) + "/" + std::string(name) + "+" + std::to_string(amount) + "]";
                },
                [this](std::string_view status) { text += "{" + std::string(status) + "}"; },
                [this](std::string_view bytes) { text += bytes; }}};
  std::string text;
};

TEST(ChildLogTest, TakesReports) {
  Reports reports;
  reports.log.Take("reporter:counter:words,long,2\nreporter:status:half");
  reports.log.Take(" done\nplain\nreporter:counter:g,a,b,-3\r\nreporter:counter:g,+4\nreporter:counter:g,n,four\n");
  reports.log.Take("reporter:counter:g,n, 5 \nlast");
  reports.log.End();
  EXPECT_EQ(
      reports.text,
      "[words/long+2]{half done}plain\n[g/a,b+-3]reporter:counter:g,+4\nreporter:counter:g,n,four\n[g/n+5]last\n");
  EXPECT_EQ(reports.log.LastLines(), "plain | reporter:counter:g,+4 | reporter:counter:g,n,four | last");
}

TEST(ChildLogTest, KeepsTheLastLines) {
  Reports reports;
  for (int i = 0; i < 100; ++i) reports.log.Take("line " + std::to_string(i) + "\n");
  EXPECT_TRUE(reports.log.LastLines().starts_with("line 80 | line 81")) << reports.log.LastLines();
  EXPECT_TRUE(reports.log.LastLines().ends_with("| line 99"));
}

TEST(ChildLogTest, LongLinesAreLoggedWholeAndKeptInPart) {
  Reports reports;
  const std::string line(100'000, 'x');
  reports.log.Take(line.substr(0, 50'000));
  reports.log.Take(line.substr(50'000) + "\nreporter:status:ok\n");
  EXPECT_EQ(reports.text, line + "\n{ok}");
  EXPECT_EQ(reports.log.LastLines(), std::string(ChildLog::kLongestLine, 'x'));
  for (int i = 0; i < 5; ++i) reports.log.Take(line + "\n");
  EXPECT_LE(reports.log.LastLines().size(), ChildLog::kLongestText + 10);
  EXPECT_TRUE(reports.log.LastLines().starts_with("... | "));
}

}  // namespace
}  // namespace millrace::streaming
