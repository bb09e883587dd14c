// SPDX-License-Identifier: Apache-2.0
// The page of live papers, from documents that are written here.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/local_place.h"
#include "lab/study/live_page.h"

namespace millrace::sim::experiments {
namespace {

constexpr const char* kPaper = R"(name = "tiny"
[paper]
where = "testbed"
testbed = "beds/one.toml"
schedulers = ["fifo", "fair"]
metrics = ["turnaround"]
repeat = 2
[[jobs]]
name = "load"
)";

// Two runs of each scheduler: ratios 0.5 and 2, so the geometric mean is 1. Too few runs for a shift or an error.
constexpr const char* kDocument = R"({"format": "millrace.comparison/1",
 "design": {"repeat": 2, "seeds": [1, 2], "baseline": 0, "headline": ["turnaround"]},
 "schedulers": ["fifo", "fair"],
 "metrics": [{"key": "turnaround", "name": "mean turnaround", "unit": "s", "better": "lower", "headline": true}],
 "runs": [{"scheduler": 0, "block": 0, "second": false, "metrics": {"turnaround": 4}},
          {"scheduler": 1, "block": 0, "second": false, "metrics": {"turnaround": 2}},
          {"scheduler": 1, "block": 1, "second": false, "metrics": {"turnaround": 2}},
          {"scheduler": 0, "block": 1, "second": false, "metrics": {"turnaround": 1}},
          {"scheduler": 0, "block": 1, "second": true, "metrics": {"turnaround": 99}}],
 "comparisons": [{"scheduler": 1, "metric": "turnaround", "ratio": null,
                  "shift": {"value": -0.5, "low": -2, "high": 1}, "verdict": "undecided"}],
 "same_against_same": {},
 "sources": [{"scheduler": 1, "phases": [{"name": "wait", "difference": -0.5}, {"name": "map", "difference": 0.001}],
              "groups": [{"name": "load", "difference": -0.5}]}],
 "simulated": {"metrics": {"turnaround": [{"scheduler": 0, "live": 2.5, "simulated": 5,
                                           "error": {"value": 1, "low": null, "high": null}}],
                           "makespan": [{"scheduler": 0, "live": 2.5, "simulated": 2,
                                         "error": {"value": -0.2, "low": -0.3, "high": 0.1}}]},
               "tau": {"turnaround": null, "makespan": 1}}})";

constexpr const char* kMarks =
    "<!-- table tiny -->\n<!-- end of table -->\n<!-- table live-and-simulated -->\n<!-- end of table -->\n";

class LivePageTextTest : public testing::Test {
 protected:
  void SetUp() override {
    Result<TempDir> made = TempDir::Make("millrace-live-page");
    ASSERT_TRUE(made.ok()) << made.status().message();
    temp_.emplace(std::move(*made));
    directory_ = temp_->path();
  }

  Result<LivePage> Make(std::string document) {
    EXPECT_TRUE(MakeDirectories(directory_ + "/tiny").ok());
    EXPECT_TRUE(WriteLocalFile(directory_ + "/tiny/comparison.json", document).ok());
    const Result<Paper> paper = ParsePaper(kPaper, "papers/tiny.toml");
    EXPECT_TRUE(paper.ok()) << paper.status().message();
    return MakeLivePage({*paper}, directory_, kMarks);
  }

  static std::string With(const std::string& from, const std::string& to) {
    std::string text = kDocument;
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  }

  std::optional<TempDir> temp_;
  std::string directory_;
};

TEST_F(LivePageTextTest, SaysWhatTheDocumentSays) {
  const Result<LivePage> page = Make(kDocument);
  ASSERT_TRUE(page.ok()) << page.status().message();
  EXPECT_EQ(page->tables.at("tiny"),
            "`millrace compare tiny.toml --scheduler fifo,fair --metric turnaround --repeat 2 --on testbed --simulate "
            "-o tiny` on `testbeds/one.toml`: 2 runs of each scheduler.\n\n"
            "| metric | fifo | scheduler | | ratio, 95% interval | verdict | baseline against itself |\n"
            "|---|---:|---|---:|---:|---|---:|\n"
            "| mean turnaround | 2.5 s | fair | 2 s | -0.5 s [-2 s, +1 s] | undecided | - |\n\n"
            "- `fair`, difference in the mean turnaround by phases of a job: wait -0.50 s.\n");
  EXPECT_NE(page->tables.at("live-and-simulated")
                .find("| tiny | fifo | 2.5 s | 2 s | -20.0% [-30.0, +10.0] | 2.5 s | 5 s | +100.0% |\n"),
            std::string::npos);
  EXPECT_TRUE(page->tables.at("live-and-simulated").ends_with("tiny: makespan 1.00.\n"));
  EXPECT_TRUE(page->pictures.empty()) << "there is no ratio";
}

TEST_F(LivePageTextTest, ARatioHasToFollowFromItsRuns) {
  const std::string right = "\"ratio\": {\"value\": 1, \"low\": 0.0001, \"high\": 10000}";
  const Result<LivePage> page = Make(With("\"ratio\": null", right));
  ASSERT_FALSE(page.ok());
  EXPECT_NE(
      page.status().message().find("turnaround, fair: the document has 1.0000 [0.0001, 10000.0000], its runs give "
                                   "1.0000 ["),
      std::string::npos)
      << page.status().message();
}

TEST_F(LivePageTextTest, RefusesWhatIsNoDocument) {
  EXPECT_EQ(Make("[").status().code(), StatusCode::kCorrupt);
  EXPECT_EQ(Make(With("comparison/1", "comparison/2")).status().code(), StatusCode::kCorrupt);
  EXPECT_EQ(Make(With("\"sources\"", "\"other\"")).status().code(), StatusCode::kCorrupt);
}

TEST_F(LivePageTextTest, APaperThatHasNotBeenRunChangesNoTable) {
  const Result<Paper> paper = ParsePaper(kPaper, "papers/tiny.toml");
  ASSERT_TRUE(paper.ok()) << paper.status().message();
  const Result<LivePage> page = MakeLivePage({*paper}, directory_, kMarks);
  ASSERT_TRUE(page.ok()) << page.status().message();
  EXPECT_TRUE(page->tables.empty());
}

// The other papers of the page would be lost from the table of all.
TEST_F(LivePageTextTest, TheTableOfAllNeedsAllPapersOfThePage) {
  ASSERT_TRUE(Make(kDocument).ok());
  const Result<Paper> paper = ParsePaper(kPaper, "papers/tiny.toml");
  const Result<LivePage> page = MakeLivePage({*paper}, directory_, std::string(kMarks) + "<!-- table other -->\n");
  ASSERT_TRUE(page.ok()) << page.status().message();
  EXPECT_TRUE(page->tables.contains("tiny"));
  EXPECT_FALSE(page->tables.contains("live-and-simulated"));
}

TEST_F(LivePageTextTest, ThePlanQuotesWhatAShellWouldRead) {
  const Result<Paper> paper = ParsePaper(kPaper, "my papers/tiny.toml");
  ASSERT_TRUE(paper.ok()) << paper.status().message();
  EXPECT_EQ(PlanOf({*paper}, "deploy/testbed", "it's"),
            "(\n"
            "deploy/testbed up 'my papers/beds/one.toml' --name papers\n"
            "trap 'deploy/testbed down papers' EXIT\n"
            "deploy/testbed run --name papers -- millrace compare 'my papers/tiny.toml' --scheduler fifo,fair --metric "
            "turnaround --repeat 2 --on testbed --simulate -o 'it'\\''s/tiny'\n"
            ")\n");
}

}  // namespace
}  // namespace millrace::sim::experiments
