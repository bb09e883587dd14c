#include "client/compare/document.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/file.h"
#include "client/compare/findings_table.h"
#include "client/compare/make_runs.h"
#include "client/compare/sim_arena.h"
#include "client/compare/tables.h"
#include "tests/client/compare/records.h"

namespace millrace::compare {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSmall =
    "[cluster]\nnodes = 4\nracks = 2\n[arrival]\nkind = \"poisson\"\nmean = 5\n"
    "[[jobs]]\nname = \"long\"\ncount = 2\nmaps = 30\nmap_time = 10\nreduces = 2\nreduce_time = 5\nuser = \"a\"\n"
    "[[jobs]]\nname = \"short\"\ncount = 8\nmaps = 2\nmap_time = 4\nreduces = 1\nreduce_time = 2\nuser = \"b\"\n"
    "deadline = 30\n";

// A comparison that was made in the simulator.
class Compared {
 public:
  Compared(const std::string& toml, const std::vector<std::string>& schedulers, std::uint32_t blocks,
           std::vector<std::string> headline = {"turnaround", "makespan", "fairness"}) {
    subject_.schedulers = testing::Plain(schedulers);
    subject_.headline = std::move(headline);
    subject_.where = "sim";
    material_.subject = &subject_;
    material_.design.schedulers = static_cast<std::uint32_t>(subject_.schedulers.size());
    material_.design.blocks = blocks;
    const auto draw = [toml](std::uint64_t seed) {
      sim::Overrides overrides;
      overrides.seed = seed;
      return sim::ParseSimulation(toml, "w", overrides);
    };
    SimArena arena = SimArena::Make(draw, 1, true).value();
    subject_.nodes = arena.Nodes();
    EXPECT_EQ(MakeRuns(arena, material_.design, subject_.schedulers, store_, {}).value(), Making::kComplete);
    material_.counting = store_.Counting(blocks);
    material_.judged = Judge(material_.design, material_.counting, subject_.headline, {});
    for (const RunRecord* median : MedianRuns(material_.design, material_.counting)) {
      const std::uint32_t scheduler = median->run.scheduler;
      material_.details.push_back(
          {scheduler, median->run.seed, arena.Run({subject_.schedulers[scheduler], median->run.seed}).value()});
    }
  }
  [[nodiscard]] const Material& material() const { return material_; }
  [[nodiscard]] Json Document() const { return Json::parse(TextOf(DocumentOf(material_))); }

 private:
  Subject subject_;
  TempDir directory_ = TempDir::Make("compared").value();
  RunStore store_ = RunStore::Open(directory_.path() + "/c", {}, {3, 0, 1, 1, true}, 1'000, false).value();
  Material material_;
};

TEST(DocumentTest, SimulationsOfOneSchedulerAreTheSame) {
  const Json document = Compared(kSmall, {"fair", "fair"}, 6).Document();
  for (const Json& comparison : document["comparisons"]) {
    if (comparison["metric"] == "deciding") continue;
    if (!comparison["ratio"].is_null()) {
      EXPECT_EQ(comparison["ratio"], (Json{{"value", 1.0}, {"low", 1.0}, {"high", 1.0}})) << comparison;
    }
    EXPECT_EQ(comparison["p"], 1.0);
    EXPECT_EQ(comparison["verdict"], "same") << comparison;
  }
  EXPECT_EQ(document["same_against_same"]["turnaround"], (Json{{"value", 1.0}, {"low", 1.0}, {"high", 1.0}}));
  EXPECT_EQ(document["winners"]["turnaround"], (Json{0, 1}));
}

// Short jobs behind long ones: fair serves them before, which the papers measured and anyone can check by hand.
TEST(DocumentTest, FairServesShortJobsBetterThanFifo) {
  const Compared compared(kSmall, {"fifo", "fair"}, 12);
  const Json document = compared.Document();
  const Json& turnaround = document["comparisons"][0];
  EXPECT_EQ(turnaround["metric"], "turnaround");
  EXPECT_EQ(turnaround["verdict"], "better") << turnaround;
  EXPECT_LT(turnaround["ratio"]["high"], 1.0);
  EXPECT_EQ(document["winners"]["turnaround"], Json{1});
  const Json& groups = document["sources"][0]["groups"];
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[1]["name"], "short");
  EXPECT_LT(groups[1]["difference"], 0.0);
}

TEST(DocumentTest, SourcesAddUpToTheDifferenceOfTheMeans) {
  const Json document = Compared(kSmall, {"fifo", "fair", "sjf"}, 6).Document();
  for (const Json& source : document["sources"]) {
    double difference = 0, groups = 0, phases = 0;
    for (const Json& run : document["runs"]) {
      if (run["second"]) continue;
      const double sign = run["scheduler"] == source["scheduler"] ? 1 : run["scheduler"] == 0 ? -1 : 0;
      difference += sign * run["metrics"]["turnaround"].get<double>() / 6;
    }
    for (const Json& group : source["groups"]) groups += group["difference"].get<double>();
    for (const Json& phase : source["phases"]) phases += phase["difference"].get<double>();
    EXPECT_NEAR(groups, difference, 1e-6);
    EXPECT_NEAR(phases, difference, 1e-6);
  }
}

TEST(DocumentTest, TasksOfASlotRowDoNotOverlap) {
  const Json document = Compared(kSmall, {"fifo", "fair+delay"}, 2).Document();
  for (const Json& run : document["details"]) {
    const Json& tasks = run["tasks"];
    std::map<std::tuple<int, std::string, int>, double> until;
    const std::size_t rows = tasks["start"].size();
    EXPECT_EQ(rows, 2u * 32 + 8 * 3);
    for (std::size_t i = 0; i < rows; ++i) {
      const std::string kind = tasks["kind"][i];
      const int slot = tasks["slot"][i];
      EXPECT_LT(slot, 2);
      double& last = until[{tasks["node"][i].get<int>(), kind, slot}];
      EXPECT_GE(tasks["start"][i].get<double>(), last);
      last = tasks["end"][i];
    }
  }
}

TEST(DocumentTest, WarnsOfWhatMakesAComparisonWorthless) {
  const auto warns = [](const Json& document, const std::string& part) {
    for (const std::string warning : document["warnings"]) {
      if (warning.find(part) != std::string::npos) return true;
    }
    return false;
  };
  const Json idle = Compared(
                        "[cluster]\nnodes = 200\n[arrival]\nkind = \"interval\"\nevery = 100\n[[jobs]]\ncount = 3\n"
                        "maps = 2\nmap_time = 1\n",
                        {"fifo", "fair"}, 3)
                        .Document();
  EXPECT_TRUE(warns(idle, "of the slots were in use"));
  EXPECT_TRUE(warns(idle, "no difference can be significant"));
  EXPECT_FALSE(idle["design"]["significance_possible"]);
  const Json good = Compared(kSmall, {"fifo", "fair"}, 8).Document();
  EXPECT_EQ(good["warnings"], Json::array());
}

const Json& ComparisonOf(const Json& document, const std::string& metric) {
  for (const Json& one : document["comparisons"]) {
    if (one["metric"] == metric) return one;
  }
  ADD_FAILURE() << metric;
  return document["comparisons"][0];
}

// A job of 20 maps before one of 4, on 4 slots, each map 3 s: under fifo they end after 15 and 18 s, and under fair the
// small one ends after 6 s. Nothing in it is drawn.
constexpr const char* kFixed =
    "[cluster]\nnodes = 2\nmap_slots = 2\nreduce_slots = 1\n"
    "[[jobs]]\nname = \"a\"\nmaps = 20\nmap_time = 3\nlocated = false\nuser = \"a\"\n"
    "[[jobs]]\nname = \"b\"\nmaps = 4\nmap_time = 3\nlocated = false\nuser = \"b\"\n";

TEST(DocumentTest, RunsThatAreAllAlikeAreOneObservation) {
  const Compared compared(kFixed, {"fifo", "fair"}, 12);
  const Json document = compared.Document();
  const Json& turnaround = ComparisonOf(document, "turnaround");
  EXPECT_NEAR(turnaround["ratio"]["value"].get<double>(), (6.0 + 18) / (15 + 18), 1e-8);
  EXPECT_EQ(turnaround["verdict"], "undecided");
  EXPECT_EQ(turnaround["no_verdict"], "one observation");
  EXPECT_EQ(turnaround["more_runs"], Json());
  EXPECT_EQ(ComparisonOf(document, "makespan")["verdict"], "same");
  EXPECT_EQ(document["winners"]["turnaround"], (Json{0, 1}));
  ASSERT_EQ(document["warnings"].size(), 1u) << document["warnings"];
  EXPECT_NE(
      document["warnings"][0].get<std::string>().find("the seeds change nothing in the turnarounds under fifo, fair"),
      std::string::npos);
  const std::vector<std::vector<std::string>> table = FindingsTable(compared.material(), false);
  EXPECT_EQ(table[2], (std::vector<std::string>{"turnaround", "fair", "12.0 s", "0.727", "-", "one observation"}));
}

// Under fifo the second job waits for 15 s, and under fair none waits: the difference is shown, in seconds, and none of
// it is called a factor.
TEST(DocumentTest, AMetricThatIsZeroIsShownInItsOwnUnit) {
  const Compared compared(kFixed, {"fifo", "fair"}, 8, {"wait"});
  const Json document = compared.Document();
  EXPECT_EQ(ComparisonOf(document, "wait")["ratio"], Json());
  EXPECT_FALSE(document["same_against_same"].contains("wait"));
  EXPECT_EQ(document["same_against_same_difference"]["wait"], (Json{{"value", 0.0}, {"low", 0.0}, {"high", 0.0}}));
  for (const std::string warning : document["warnings"])
    EXPECT_EQ(warning.find("factor"), std::string::npos) << warning;
  std::map<std::string, std::vector<std::string>> waits;
  for (const std::vector<std::string>& row : FindingsTable(compared.material(), true)) {
    if (row[0] == "wait") waits[row[1]] = row;
  }
  EXPECT_EQ(waits["fifo"][3], "+0");
  EXPECT_EQ(waits["fifo"][4], "+0.000 s to +0.000 s");
  EXPECT_EQ(waits["fair"][3], "-7.500 s") << "half of 15 s, since there are two jobs";
}

// Stopped while fifo is at long jobs that sjf would have put off.
TEST(DocumentTest, WhereOtherJobsEndedThereIsNoVerdictOnThem) {
  const Json document = Compared(
                            "stop_at = 120\n[cluster]\nnodes = 2\nmap_slots = 2\nreduce_slots = 1\n[arrival]\n"
                            "kind = \"poisson\"\nmean = 4\n[[jobs]]\ncount = 20\nmaps = { uniform = [1, 3] }\n"
                            "map_time = { uniform = [2, 5] }\nlocated = false\n[[jobs]]\ncount = 6\nmaps = 40\n"
                            "map_time = { uniform = [4, 8] }\nlocated = false\n",
                            {"fifo", "sjf"}, 12)
                            .Document();
  for (const char* metric : {"turnaround", "makespan"}) {
    EXPECT_EQ(ComparisonOf(document, metric)["no_verdict"], "other jobs ended");
    EXPECT_EQ(ComparisonOf(document, metric)["verdict"], "undecided");
    EXPECT_EQ(document["winners"][metric], (Json{0, 1}));
  }
  EXPECT_EQ(ComparisonOf(document, "fairness")["no_verdict"], Json()) << "it is of the whole run";
  EXPECT_EQ(ComparisonOf(document, "deciding")["no_verdict"], "not judged");
}

// Names may be any bytes, and a page has to parse all the same.
TEST(DocumentTest, NamesThatAreNotTextDoNotSpoilIt) {
  sim::SimResult result;
  result.jobs.emplace_back().name = "caf\xe9 </script>";
  DetailedRun run;
  run.outcome.result = result;
  EXPECT_TRUE(Json::accept(TextOf(DetailsJson(run, {}, {}))));
}

TEST(DocumentTest, AThousandJobsAndTwentyThousandTasksStayBelowFiveMegabytes) {
  const Compared compared(
      "[cluster]\nnodes = 100\n[arrival]\nkind = \"poisson\"\nmean = 2\n"
      "[[jobs]]\ncount = 1000\nmaps = 18\nmap_time = { uniform = [5, 30] }\nreduces = 2\n"
      "reduce_time = { uniform = [5, 30] }\nuser = [\"a\", \"b\", \"c\", \"d\"]\n",
      {"fifo", "fair", "fair+delay"}, 2);
  const std::string text = TextOf(DocumentOf(compared.material()));
  EXPECT_EQ(Json::parse(text)["details"][2]["tasks"]["start"].size(), 20'000u);
  EXPECT_LT(text.size(), 4'400'000u);  // the page around it takes some, too
  RecordProperty("bytes", static_cast<int>(text.size()));
}

TEST(JudgeTest, TheMedianRunIsTheLowerOfTwo) {
  std::vector<RunRecord> records(4);
  std::vector<const RunRecord*> counting;
  for (std::uint32_t block = 0; block < 4; ++block) {
    records[block].run.block = block;
    records[block].outcome.result.summary.mean_turnaround = std::vector<double>{5, 1, 9, 7}[block];
    counting.push_back(&records[block]);
  }
  EXPECT_EQ(MedianRuns({}, counting), std::vector<const RunRecord*>{&records[0]});
}

}  // namespace
}  // namespace millrace::compare
