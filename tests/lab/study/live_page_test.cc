// SPDX-License-Identifier: Apache-2.0
// Papers that are run live: the comparisons that they ask for, the plan that runs them, and what it is refused for.
#include "lab/study/live_page.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"

namespace millrace::sim::experiments {
namespace {

// Line 1 is `name`.
const std::string kLive = R"(name = "slots"
[paper]
where = "testbed"
schedulers = ["fair", "fifo"]
metrics = ["makespan", "wait"]
testbed = "bed.toml"
[cluster]
nodes = 2
[[jobs]]
name = "one"
maps = 4
map_time = 1
)";
const std::string kSweep = R"([[sweep]]
name = "sizes"
key = "jobs.one.maps"
values = [4, 8]
)";

class LivePageTest : public ::testing::Test {
 protected:
  void SetUp() override { std::ofstream(At("bed.toml")) << "nodes = 2\n"; }
  [[nodiscard]] std::string At(const std::string& name) const { return dir_.path() + "/" + name; }

  // Returns the paper of this text, as if it had been read from the directory.
  Paper Parsed(const std::string& text, const std::string& name = "p.toml") {
    Result<Paper> paper = ParsePaper(text, At(name));
    EXPECT_TRUE(paper.ok()) << paper.status().message();
    return paper.ok() ? std::move(*paper) : Paper();
  }
  // Returns the reason why it is refused, without the directory; empty if it is not.
  std::string Refused(const std::string& from, const std::string& to, const std::string& more = "") {
    std::string text = kLive + more;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    const Result<Paper> paper = ParsePaper(text.replace(at, from.size(), to), At("p.toml"));
    std::string why = paper.ok() ? CheckLive({*paper}).message() : paper.status().message();
    for (std::size_t found = why.find(At("")); found != std::string::npos; found = why.find(At("")))
      why.erase(found, At("").size());
    return why;
  }

  TempDir dir_ = TempDir::Make("live-page").value();
};

TEST_F(LivePageTest, WhatCannotBeRunIsRefused) {
  EXPECT_EQ(Refused("", ""), "");
  EXPECT_EQ(Refused("", "", kSweep), "");
  EXPECT_EQ(Refused("testbed = \"bed.toml\"\n", "", kSweep + "testbed = \"bed.toml\"\n"), "");
  EXPECT_EQ(Refused("where = \"testbed\"", "where = \"local\""),
            "p.toml:2: paper.testbed: is for where = \"testbed\"; the runs of this paper are local");
  EXPECT_EQ(Refused("testbed = \"bed.toml\"\n", ""),
            "p.toml:2: paper.testbed: is missing: the file of the cluster on which the runs take place");
  const std::string beside = " is not the path of a file from the directory of the paper's file";
  EXPECT_EQ(Refused("bed.toml", "/bed.toml"), "p.toml:2: paper.testbed: \"/bed.toml\"" + beside);
  EXPECT_EQ(Refused("bed.toml", "-bed.toml"), "p.toml:2: paper.testbed: \"-bed.toml\"" + beside);
  EXPECT_EQ(Refused("", "", kSweep + "testbeds = [\"bed.toml\", \"other.toml\"]\n"),
            "p.toml:13: sweep[0].testbed: there is no file \"other.toml\"");
  EXPECT_EQ(Refused("\"wait\"", "\"makespan\""), "p.toml:5: paper.metrics: names makespan twice");
  EXPECT_EQ(Refused("\"wait\"", "\"wait\", \"turnaround\""), "");
  EXPECT_EQ(Refused("\"wait\"", "\"wait\", \"turnaround\", \"late\""),
            "p.toml:5: paper.metrics: names more than 3 metrics; further ones are `shown`");
  EXPECT_EQ(Refused(", \"fifo\"", ""),
            "p.toml:4: paper.schedulers: names one scheduler only; to compare it with itself, name it twice");
  EXPECT_EQ(Refused(", \"fifo\"", ", \"fair\""), "");
}

// The workload of a point lies in the directory of the results.
TEST_F(LivePageTest, AProgramBesideThePaperIsNotBesideThePointsOfASweep) {
  EXPECT_EQ(Refused("maps = 4", "maps = 4\nprogram = \"./prog\""), "");
  EXPECT_EQ(Refused("maps = 4", "maps = 4\nprogram = \"prog\"", kSweep), "");
  EXPECT_EQ(Refused("maps = 4", "maps = 4\nprogram = \"/bin/prog\"", kSweep), "");
  EXPECT_EQ(Refused("maps = 4", "maps = 4\nprogram = \"./prog\"", kSweep),
            "p.toml:14: sweep[0]: \"./prog\" is a path from this file, and the workloads of a live sweep are files "
            "elsewhere; give an absolute path");
}

TEST_F(LivePageTest, ATraceBesideThePaperIsNotBesideThePointsOfASweep) {
  std::ofstream(At("trace.tsv")) << "job0\t0\t0\t1000000\t1000\t1000\n";
  std::string text = kLive.substr(0, kLive.find("[[jobs]]"));
  text += "[trace]\nfile = \"trace.tsv\"\n";
  const std::string sweep = "[[sweep]]\nname = \"nodes\"\nkey = \"cluster.nodes\"\nvalues = [2, 3]\n";
  EXPECT_EQ(ParsePaper(text, At("p.toml")).status().message(), "");
  EXPECT_EQ(ParsePaper(text + sweep, At("p.toml")).status().message(),
            At("p.toml") +
                ":11: sweep[0]: \"trace.tsv\" is a path from this file, and the workloads of a live sweep are "
                "files elsewhere; give an absolute path");
  text.replace(text.find("trace.tsv"), 9, At("trace.tsv"));
  EXPECT_EQ(ParsePaper(text + sweep, At("p.toml")).status().message(), "");
}

TEST_F(LivePageTest, WhatWouldBeKeptInOnePlaceIsRefused) {
  const std::string second = "[[sweep]]\nname = \"more\"\nkey = \"cluster.nodes\"\nvalues = [3, 4]\n";
  EXPECT_EQ(Refused("", "", kSweep + second),
            "p.toml:17: sweep[1]: slots, point \"4\" of \"more\", is kept as \"slots-4\", and so is slots, point \"4\" "
            "of \"sizes\" (p.toml:13: sweep[0]); give one of them another name or label");
  EXPECT_EQ(Refused("", "", kSweep + second + "labels = [\"three\", \"four\"]\n"), "");
  EXPECT_EQ(Refused("", "", kSweep + "labels = [\"a\", \"a.toml\"]\n"),
            "p.toml:13: sweep[0]: slots, point \"a.toml\" of \"sizes\", is kept as \"slots-a.toml\", and so is slots, "
            "point \"a\" of \"sizes\" (p.toml:13: sweep[0]); give one of them another name or label");
  std::string other = kLive;
  other.replace(other.find("slots"), 5, "slots-4");
  const std::vector<Paper> papers = {Parsed(kLive + kSweep), Parsed(other, "q.toml")};
  EXPECT_EQ(CheckLive(papers).message(),
            At("q.toml") + ":2: paper: slots-4, is kept as \"slots-4\", and so is slots, point \"4\" of \"sizes\" (" +
                At("p.toml") + ":13: sweep[0]); give one of them another name or label");
  EXPECT_TRUE(CheckLive({papers[0]}).ok());
}

// A workload file may have the name of another word of the command.
TEST_F(LivePageTest, ThePlanHasTheWorkloadInItsPlaceAlone) {
  for (const std::string name : {"fair,fifo", "compare", "8", "testbed"}) {
    const Paper paper = Parsed(kLive, name);
    EXPECT_EQ(PlanOf({paper}, "deploy/testbed", "o"),
              "(\ndeploy/testbed up " + At("bed.toml") + " --name papers\ntrap 'deploy/testbed down papers' EXIT\n" +
                  "deploy/testbed run --name papers -- millrace compare " + At(name) +
                  " --scheduler fair,fifo --metric makespan,wait --repeat 8 --on testbed --simulate -o o/slots\n)\n");
  }
}

}  // namespace
}  // namespace millrace::sim::experiments
