// SPDX-License-Identifier: Apache-2.0
#include "lab/command/sim_command.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/file.h"

namespace millrace::cli {
namespace {

constexpr const char* kWorkload =
    "[cluster]\nnodes = 4\n[[jobs]]\nname = \"a\"\ncount = 3\nmaps = 4\nmap_time = 10\nreduces = 1\nreduce_time = 5\n";

struct Said {
  int status = 0;
  std::string out, err;
};

class SimVerb : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(WriteFileDurably(At("w.toml"), kWorkload).ok()); }
  [[nodiscard]] std::string At(const std::string& name) const { return directory_.path() + "/" + name; }
  [[nodiscard]] std::string Read(const std::string& name) const { return ReadWholeFile(At(name)).value(); }

  Said Run(const Words& args) {
    Said said;
    {
      const Fd out = OpenFile(At("out"), O_WRONLY | O_CREAT | O_TRUNC).value();
      const Fd err = OpenFile(At("err"), O_WRONLY | O_CREAT | O_TRUNC).value();
      const Invocation invocation{{0, out.get(), err.get()}, "/bin/millrace", "127.0.0.1:1", "me"};
      said.status = SimCommand(invocation, args);
    }
    said.out = Read("out"), said.err = Read("err");
    return said;
  }

  TempDir directory_ = TempDir::Make("sim-verb").value();
};

TEST_F(SimVerb, WritesATableAndReports) {
  const Said said = Run({At("w.toml"), "--scheduler", "fifo,fair", "-o", At("r")});
  EXPECT_EQ(said.status, kDone) << said.err;
  EXPECT_NE(said.out.find("fifo"), std::string::npos);
  EXPECT_NE(said.out.find("3 of 3"), std::string::npos) << said.out;
  for (const std::string scheduler : {"fifo", "fair"}) {
    EXPECT_NE(Read("r/" + scheduler + "/summary.json").find("\"makespan\": "), std::string::npos);
    const std::string jobs = Read("r/" + scheduler + "/jobs.csv"), tasks = Read("r/" + scheduler + "/tasks.csv");
    EXPECT_EQ(std::count(jobs.begin(), jobs.end(), '\n'), 4);
    EXPECT_EQ(std::count(tasks.begin(), tasks.end(), '\n'), 1 + 3 * 5);
  }
  const std::string comparison = Read("r/comparison.csv");
  EXPECT_EQ(std::count(comparison.begin(), comparison.end(), '\n'), 3);
}

TEST_F(SimVerb, WhatWasNotComputedIsNotZero) {
  EXPECT_EQ(Run({At("w.toml"), "--scheduler", "fifo", "-o", At("r")}).status, kDone);
  EXPECT_NE(Read("r/fifo/summary.json").find("\"mean_slowdown\": null"), std::string::npos);
  EXPECT_EQ(Read("r/comparison.csv").find("null"), std::string::npos);
  EXPECT_EQ(Run({At("w.toml"), "--scheduler", "fifo", "-o", At("s"), "--slowdown"}).status, kDone);
  EXPECT_EQ(Read("s/fifo/summary.json").find("\"mean_slowdown\": null"), std::string::npos);
}

TEST_F(SimVerb, AWorkloadWithoutJobsIsRefused) {
  ASSERT_TRUE(WriteFileDurably(At("none.toml"), "[cluster]\nnodes = 2\n").ok());
  const Said said = Run({At("none.toml"), "--scheduler", "fifo"});
  EXPECT_EQ(said.status, kWrongUsage);
  EXPECT_NE(said.err.find("the workload has no jobs"), std::string::npos) << said.err;
}

TEST_F(SimVerb, NumbersOutOfRangeAreNamed) {
  for (const auto& [option, value] :
       {std::pair("--scale", "big"), std::pair("--scale", "0"), std::pair("--seed", "-1")}) {
    const Said said = Run({At("w.toml"), "--scheduler", "fifo", option, value});
    EXPECT_EQ(said.status, kWrongUsage);
    EXPECT_NE(said.err.find(std::string(option) + ": \"" + value + "\" is not a"), std::string::npos) << said.err;
  }
}

// Three jobs of four maps on eight map slots: with one of them at a time it takes twelve.
TEST_F(SimVerb, RunsOneSchedulerUnderSeveralSettings) {
  ASSERT_TRUE(WriteFileDurably(At("one.toml"), "[pool_defaults]\nmax_maps = 1\n").ok());
  const Said said =
      Run({At("w.toml"), "--scheduler", "fair, one=fair", "--settings", "one=" + At("one.toml"), "-o", At("r")});
  EXPECT_EQ(said.status, kDone) << said.err;
  EXPECT_NE(said.out.find("\none "), std::string::npos) << said.out;
  EXPECT_NE(Read("r/one/summary.json").find("\"scheduler\": \"one\""), std::string::npos);
  const std::string comparison = Read("r/comparison.csv");
  EXPECT_NE(comparison.find("\none,"), std::string::npos) << comparison;
  const auto makespan = [&](const std::string& label) {
    const std::string summary = Read("r/" + label + "/summary.json"), key = "\"makespan\": ";
    return std::stod(summary.substr(summary.find(key) + key.size()));
  };
  EXPECT_LT(makespan("fair"), 12 * 10);
  EXPECT_GE(makespan("one"), 12 * 10);
}

TEST_F(SimVerb, AStuckRunFailsAndSaysWhichJobsAndWhy) {
  const Said said = Run({At("w.toml"), "--scheduler", "fifo", "--slots", "0,1"});
  EXPECT_EQ(said.status, kFailed);
  EXPECT_NE(said.out.find("0 of 3"), std::string::npos) << said.out;
  EXPECT_NE(said.err.find("fifo is stuck"), std::string::npos) << said.err;
  EXPECT_NE(said.err.find("3 of 3 jobs have not ended: job0 ("), std::string::npos) << said.err;
  EXPECT_NE(said.err.find("its maps: no node that takes tasks has a map slot"), std::string::npos) << said.err;
}

TEST_F(SimVerb, EqualRunsWriteEqualBytes) {
  for (const std::string run : {"a", "b"}) {
    EXPECT_EQ(Run({At("w.toml"), "--scheduler", "fair", "-o", At(run), "--seed", "9"}).status, kDone);
  }
  for (const std::string name : {"comparison.csv", "comparison.json", "fair/summary.json", "fair/jobs.csv",
                                 "fair/tasks.csv", "fair/samples.csv"}) {
    EXPECT_EQ(Read("a/" + name), Read("b/" + name)) << name;
  }
}

TEST_F(SimVerb, ReplaysItsOwnJournal) {
  EXPECT_EQ(Run({At("w.toml"), "--scheduler", "fair", "--journal", At("j")}).status, kDone);
  const Said said = Run({At("j"), "--replay", "--scheduler", "fair"});
  EXPECT_EQ(said.status, kDone) << said.err;
  EXPECT_NE(said.out.find("the same decisions: 15 launches"), std::string::npos) << said.out;
}

// The jobs of a trace are drawn from its users evenly: with 200 jobs each of the three has some.
TEST_F(SimVerb, UsersOfATraceArePools) {
  std::string trace;
  for (int i = 0; i < 200; ++i) trace += "j\t" + std::to_string(i) + "\t0\t1\t0\t0\n";
  ASSERT_TRUE(WriteFileDurably(At("t.tsv"), trace).ok());
  const auto pools = [&](const Words& more) {
    Words words = {At("t.tsv"), "--scheduler", "fair", "-o", At("r")};
    words.insert(words.end(), more.begin(), more.end());
    const Said said = Run(words);
    EXPECT_EQ(said.status, kDone) << said.err;
    const std::string summary = Read("r/fair/summary.json");
    const std::size_t begin = summary.find("\"pools\"");
    std::set<std::string> named;
    for (const std::string name : {"user", "user1", "user2", "user3", "user4"}) {
      if (summary.find("\"" + name + "\"", begin) != std::string::npos) named.insert(name);
    }
    return named;
  };
  EXPECT_EQ(pools({}), std::set<std::string>{"user"});
  EXPECT_EQ(pools({"--users", "3", "--user-skew", "0"}), (std::set<std::string>{"user1", "user2", "user3"}));
}

TEST_F(SimVerb, TheTableFitsIntoEightyColumns) {
  const Words words = {At("w.toml"), "--scheduler", "fifo, fair+delay+ccs ,fresh-dynamic"};
  const std::string narrow = Run(words).out;
  for (std::size_t begin = 0; begin < narrow.size(); begin = narrow.find('\n', begin) + 1) {
    EXPECT_LE(narrow.find('\n', begin) - begin, 80u) << narrow;
  }
  EXPECT_NE(narrow.find("P95"), std::string::npos);
  EXPECT_EQ(narrow.find("DECIDE/JOB"), std::string::npos);
  Words wide = words;
  wide.emplace_back("--wide");
  EXPECT_NE(Run(wide).out.find("DECIDE/JOB"), std::string::npos);
}

TEST_F(SimVerb, AllStandsForEveryPolicy) {
  const Said said = Run({At("w.toml"), "--scheduler", "all,fair+delay"});
  EXPECT_EQ(said.status, kDone) << said.err;
  for (const std::string name : {"\nfifo ", "\nfair ", "\ncp ", "\nlsap ", "\nfair+delay "}) {
    EXPECT_NE(said.out.find(name), std::string::npos) << name << said.out;
  }
}

// With three jobs of 20 s on a thousand nodes nothing ever waits.
TEST_F(SimVerb, WarnsOfAnIdleCluster) {
  EXPECT_EQ(Run({At("w.toml"), "--scheduler", "fifo"}).err, "");
  const Said said = Run({At("w.toml"), "--scheduler", "fifo,fair", "--nodes", "1000"});
  EXPECT_EQ(said.status, kDone);
  EXPECT_NE(said.err.find("of the slots were in use"), std::string::npos) << said.err;
}

TEST_F(SimVerb, WarnsOfAProgramThatDoesNotExist) {
  const std::string workload = kWorkload;
  // Programs without a slash lie beside millrace, which is in /bin here.
  for (const auto& [program, warned] : {std::pair("sleep", ""), std::pair("sleeep", "did you mean sleep?"),
                                        std::pair("./own", "there is no file"), std::pair("./w.toml", "not an exec")}) {
    ASSERT_TRUE(WriteFileDurably(At("named.toml"), workload + "program = \"" + program + "\"\n").ok());
    const Said said = Run({At("named.toml"), "--scheduler", "fifo"});
    EXPECT_EQ(said.status, kDone) << said.err << "it is simulated all the same";
    EXPECT_EQ(said.err.find("warning: ") == 0, *warned != 0) << program << ": " << said.err;
    EXPECT_NE(said.err.find(warned), std::string::npos) << said.err;
    if (*warned != 0) {
      EXPECT_NE(said.err.find("jobs[0]: "), std::string::npos) << said.err;
    }
  }
}

TEST_F(SimVerb, ReportsAreReplacedAndNotMixed) {
  const Words words = {At("w.toml"), "-o", At("r"), "--scheduler"};
  const auto with = [&](Words more) {
    more.insert(more.begin(), words.begin(), words.end());
    return Run(more);
  };
  EXPECT_EQ(with({"fifo,fair"}).status, kDone);
  EXPECT_EQ(with({"fifo,fair", "--no-tasks"}).status, kDone);
  EXPECT_FALSE(ReadWholeFile(At("r/fifo/tasks.csv")).ok()) << "of the run before";
  const Said said = with({"fifo"});
  EXPECT_EQ(said.status, kWrongUsage);
  EXPECT_NE(said.err.find("\"fair\""), std::string::npos) << said.err;
}

TEST_F(SimVerb, SaysThatItLeftOutTheRowsOfTooManyTasks) {
  ASSERT_TRUE(WriteFileDurably(At("big.toml"),
                               "[cluster]\nnodes = 1000\n[[jobs]]\ncount = 21\nmaps = 100000\n"
                               "map_time = 1\n")
                  .ok());
  const Said said = Run({At("big.toml"), "--scheduler", "fifo", "-o", At("r"), "--stop-at", "3s"});
  EXPECT_EQ(said.status, kDone) << said.err;
  EXPECT_NE(said.err.find("tasks.csv was left out: it would have 2100000 rows"), std::string::npos) << said.err;
}

TEST_F(SimVerb, WrongUsageIsOneLine) {
  ASSERT_TRUE(WriteFileDurably(At("bad.toml"), "[cluster]\nnodes = 0\n").ok());
  const Words kWrong[] = {{At("w.toml")},
                          {At("w.toml"), "--scheduler", "no-such"},
                          {At("w.toml"), "--scheduler", "fifo,,fair"},
                          {At("bad.toml"), "--scheduler", "fifo"},
                          {At("w.toml"), "--scheduler", "fifo", "--slots", "x"},
                          {At("w.toml"), "--scheduler", "fifo", "--block-size", "0"},
                          {At("w.toml"), "--scheduler", "fifo", "--users", "0"},
                          {At("w.toml"), "--scheduler", "fifo", "--users", "2", "--user-skew", "-1"}};
  for (const Words& words : kWrong) {
    const Said said = Run(words);
    EXPECT_EQ(said.status, kWrongUsage) << said.err;
    EXPECT_EQ(std::count(said.err.begin(), said.err.end(), '\n'), 1) << said.err;
  }
  EXPECT_EQ(Run({At("none.toml"), "--scheduler", "fifo"}).status, kFailed);
}

}  // namespace
}  // namespace millrace::cli
