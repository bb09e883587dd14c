// SPDX-License-Identifier: Apache-2.0
#include "lab/report/document.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/random.h"
#include "lab/report/findings_table.h"
#include "lab/report/groups.h"
#include "lab/report/tables.h"
#include "lab/run/make_runs.h"
#include "lab/run/sim_arena.h"
#include "tests/lab/records.h"

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
    SimArena arena = SimArena::Make(draw, 1, {.slowdowns = true, .foretelling = true}).value();
    subject_.nodes = arena.Nodes();
    EXPECT_EQ(MakeRuns(arena, material_.design, subject_.schedulers, store_, {}).value(), Making::kComplete);
    material_.counting = store_.Counting(blocks);
    material_.judged = Judge(material_.design, material_.counting, subject_.headline, {});
    EXPECT_TRUE(AddDetails(arena, &material_).ok());
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

const Json& ComparisonOf(const Json& document, std::string_view metric) {
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
  const Json document = Json::parse(text);
  EXPECT_EQ(document["details"][2]["tasks"]["start"].size(), 20'000u);
  EXPECT_EQ(document["pictures"].size(), 1u) << "another seed would be as large";
  EXPECT_EQ(document["details"].size(), 3u);
  EXPECT_LT(text.size(), 4'400'000u);  // the page around it takes some, too
  RecordProperty("bytes", static_cast<int>(text.size()));
}

// A run in which jobs of these names, as class, pool and user, take so many seconds.
RunRecord RunOf(std::uint32_t scheduler, std::uint32_t block, bool second,
                const std::vector<std::pair<std::string, double>>& jobs) {
  std::vector<sim::JobRow> rows;
  for (const auto& [name, seconds] : jobs)
    rows.push_back(testing::Job(static_cast<std::uint32_t>(rows.size()), name, 0, 0, seconds));
  RunRecord record;
  record.run.scheduler = scheduler, record.run.block = block, record.run.second = second;
  record.run.seed = 100 + block;
  record.outcome = testing::Outcome(std::move(rows));
  return record;
}

std::vector<const RunRecord*> PointersTo(const std::vector<RunRecord>& records) {
  std::vector<const RunRecord*> counting;
  for (const RunRecord& record : records) counting.push_back(&record);
  return counting;
}

// The baseline's runs take 5, 1, 9 and 7 s on average, its second ones and the rival something else.
TEST(JudgeTest, PicturesAreOfTheSeedsOfTheBaselinesMedianBestAndWorstRun) {
  std::vector<RunRecord> records;
  for (std::uint32_t block = 0; block < 4; ++block) {
    const double base = std::vector<double>{5, 1, 9, 7}[block];
    records.push_back(RunOf(1, block, false, {{"a", 20 - base}}));
    records.push_back(RunOf(0, block, false, {{"a", base}}));
    records.push_back(RunOf(0, block, true, {{"a", 6}}));
  }
  Design design;
  design.schedulers = 2, design.blocks = 4;
  std::vector<std::pair<std::string_view, std::uint64_t>> seeds;
  for (const Picture& picture : PicturesOf(design, PointersTo(records))) {
    seeds.emplace_back(picture.of_baseline, picture.seed);
    ASSERT_EQ(picture.runs.size(), 2u);
    for (std::uint32_t scheduler = 0; scheduler < 2; ++scheduler) {
      const PlannedRun& run = picture.runs[scheduler]->run;
      EXPECT_EQ(run.scheduler, scheduler);
      EXPECT_EQ(run.block, picture.block);
      EXPECT_EQ(run.seed, picture.seed);
      EXPECT_FALSE(run.second);
    }
  }
  EXPECT_EQ(seeds, (std::vector<std::pair<std::string_view, std::uint64_t>>{
                       {"median", 100}, {"best", 101}, {"worst", 102}, {"", 103}}))
      << "of two that are in the middle the lower one is the median";
}

TEST(JudgeTest, OfRunsThatAreAlikeNoneIsTheBest) {
  std::vector<RunRecord> records;
  for (std::uint32_t block = 0; block < 5; ++block) records.push_back(RunOf(0, block, false, {{"a", 4}}));
  Design design;
  design.blocks = 5;
  std::vector<std::pair<std::string_view, std::uint32_t>> blocks;
  for (const Picture& picture : PicturesOf(design, PointersTo(records)))
    blocks.emplace_back(picture.of_baseline, picture.block);
  EXPECT_EQ(blocks, (std::vector<std::pair<std::string_view, std::uint32_t>>{
                        {"median", 2}, {"", 0}, {"", 1}, {"", 3}, {"", 4}}));
  EXPECT_TRUE(PicturesOf(design, {}).empty());
}

TEST(JudgeTest, ASchedulerThatHasNotRunTheSeedIsNotInItsPicture) {
  const std::vector<RunRecord> records{RunOf(0, 0, false, {{"a", 4}}), RunOf(1, 0, false, {{"a", 4}}),
                                       RunOf(0, 1, false, {{"a", 6}})};
  Design design;
  design.schedulers = 2, design.blocks = 2;
  const std::vector<Picture> pictures = PicturesOf(design, PointersTo(records));
  ASSERT_EQ(pictures.size(), 2u);
  EXPECT_EQ(pictures[0].runs, (std::vector<const RunRecord*>{&records[0], &records[1]}));
  EXPECT_EQ(pictures[1].runs, std::vector<const RunRecord*>{&records[2]});
}

TEST(DocumentTest, AllDetailsAreOfSeedsThatAllSchedulersShow) {
  const Json document = Compared(kSmall, {"fifo", "fair", "sjf"}, 6).Document();
  std::vector<double> all;  // mean turnarounds of the baseline
  for (const Json& run : document["runs"]) {
    if (run["scheduler"] == 0 && !run["second"]) all.push_back(run["metrics"]["turnaround"]);
  }
  std::sort(all.begin(), all.end());
  const std::map<std::string, double> expected{{"median", all[2]}, {"best", all[0]}, {"worst", all[5]}};
  ASSERT_EQ(document["pictures"].size(), 6u);
  ASSERT_EQ(document["details"].size(), 18u);
  std::set<std::uint64_t> seeds;
  for (std::size_t i = 0; i < 18; ++i) {
    const Json &detail = document["details"][i], &picture = document["pictures"][i / 3];
    EXPECT_EQ(detail["scheduler"], i % 3);
    EXPECT_EQ(detail["seed"], picture["seed"]);
    EXPECT_EQ(detail["block"], picture["block"]);
    EXPECT_EQ(picture["of_baseline"].is_null(), i >= 9);
    seeds.insert(detail["seed"].get<std::uint64_t>());
    if (i % 3 != 0 || i >= 9) continue;
    double sum = 0;
    for (std::size_t job = 0; job < 10; ++job)
      sum += detail["jobs"]["end"][job].get<double>() - detail["jobs"]["submit"][job].get<double>();
    EXPECT_NEAR(sum / 10, expected.at(picture["of_baseline"]), 1e-3) << "the rows are those of the run";
  }
  EXPECT_EQ(seeds, (std::set<std::uint64_t>{1, 2, 3, 4, 5, 6}));
}

// Deciding took 1, 2, 3 and 50 s in the four runs of each, over 10 events each.
TEST(DocumentTest, TheCostOfDecidingIsAMedianOverRuns) {
  std::vector<RunRecord> records;
  for (std::uint32_t block = 0; block < 4; ++block) {
    for (std::uint32_t scheduler = 0; scheduler < 2; ++scheduler) {
      RunRecord& record = records.emplace_back(RunOf(scheduler, block, false, {{"a", 4.0 + block}}));
      record.outcome.result.decision_seconds = std::vector<double>{50, 1, 3, 2}[block];
      record.outcome.result.summary.events = 10;
      if (scheduler == 1) record.outcome.master_cpu_seconds = 7;
    }
    records.emplace_back(RunOf(0, block, true, {{"a", 4.0 + block}})).outcome.result.decision_seconds = 1'000;
  }
  Subject subject;
  subject.schedulers = testing::Plain({"fifo", "fair"});
  Material material;
  material.subject = &subject;
  material.design.schedulers = 2, material.design.blocks = 4;
  material.counting = PointersTo(records);
  const Json deciding = Json::parse(TextOf(DocumentOf(material)))["deciding"];
  EXPECT_EQ(deciding[0]["seconds"], (Json{{"median", 2.5}, {"lowest", 1.0}, {"highest", 50.0}}));
  EXPECT_EQ(deciding[0]["microseconds_per_event"],
            (Json{{"median", 250'000.0}, {"lowest", 100'000.0}, {"highest", 5'000'000.0}}));
  EXPECT_EQ(deciding[0]["master_cpu"], Json());
  EXPECT_EQ(deciding[1]["master_cpu"], (Json{{"median", 7.0}, {"lowest", 7.0}, {"highest", 7.0}}));
  EXPECT_EQ(deciding[0]["runs"], 4);
}

// A class of which a run has no job is not judged, and one user more than there is room for is left out.
TEST(GroupsTest, OnlyGroupsOfAllRunsAreJudgedAndOnlyTheLargestShown) {
  std::vector<RunRecord> records;
  for (std::uint32_t block = 0; block < 8; ++block) {
    for (std::uint32_t scheduler = 0; scheduler < 2; ++scheduler) {
      std::vector<std::pair<std::string, double>> jobs{{"both", 10.0 + block}, {"both", 30}};
      if (block > 0) jobs.emplace_back("rare", 5);
      for (std::size_t i = 0; i < kMostGroups; ++i) jobs.emplace_back("user" + std::to_string(i), 20);
      RunRecord& record = records.emplace_back(RunOf(scheduler, block, false, jobs));
      for (sim::JobRow& job : record.outcome.result.jobs) {
        const bool named = job.group == "both" || job.group == "rare";
        if (scheduler == 1 && job.group == "both") job.end /= 2;
        if (!named) job.group = job.pool = "rest";
      }
    }
  }
  Design design;
  design.schedulers = 2, design.blocks = 8;
  const std::vector<Grouping> groupings = JudgeGroups(design, PointersTo(records), {});
  ASSERT_EQ(groupings.size(), 2u);
  EXPECT_EQ(groupings[0].kinds, (std::vector<std::string_view>{"class", "pool"})) << "they part the jobs alike";
  ASSERT_EQ(groupings[0].largest.size(), 3u);
  const JudgedGroup &both = groupings[0].largest[0], &rare = groupings[0].largest[1], &rest = groupings[0].largest[2];
  EXPECT_EQ(both.name, "both");
  EXPECT_DOUBLE_EQ(both.jobs, 2);
  EXPECT_NEAR(both.means[0].value(), (13.5 + 30) / 2, 1e-9);
  EXPECT_NEAR(both.means[1].value(), (13.5 + 30) / 4, 1e-9);
  ASSERT_TRUE(both.comparison.has_value());
  EXPECT_EQ(both.comparison->schedulers[1].verdict, sim::Verdict::kBetter);
  EXPECT_NEAR(both.comparison->schedulers[1].ratio->value, 0.5, 1e-9);
  EXPECT_EQ(rest.comparison->schedulers[1].verdict, sim::Verdict::kSame);
  EXPECT_EQ(rare.name, "rare");
  EXPECT_FALSE(rare.comparison.has_value());
  EXPECT_DOUBLE_EQ(rare.jobs, 7.0 / 8);
  EXPECT_NEAR(rare.means[1].value(), 5, 1e-9);
  EXPECT_EQ(groupings[1].kinds, std::vector<std::string_view>{"user"});
  EXPECT_EQ(groupings[1].groups, kMostGroups + 2);
  EXPECT_EQ(groupings[1].largest.size(), kMostGroups);
  for (const JudgedGroup& user : groupings[1].largest) EXPECT_NE(user.name, "rare") << "it has the fewest jobs";
}

TEST(GroupsTest, JobsThatAreAllOfOneKindAreNoGroups) {
  std::vector<RunRecord> records;
  for (std::uint32_t block = 0; block < 2; ++block) records.push_back(RunOf(0, block, false, {{"a", 4}, {"a", 5}}));
  Design design;
  design.blocks = 2;
  EXPECT_TRUE(JudgeGroups(design, PointersTo(records), {}).empty());
}

// Equal schedulers whose runs differ by chance: what is said of any group stays below the 5% that it may.
TEST(GroupsTest, OfSchedulersThatAreAlikeHardlyAnythingIsSaid) {
  int said = 0;
  constexpr int kTrials = 100;
  for (int trial = 0; trial < kTrials; ++trial) {
    Random random(static_cast<std::uint64_t>(trial) + 1);
    std::vector<RunRecord> records;
    for (std::uint32_t block = 0; block < 10; ++block) {
      for (std::uint32_t scheduler = 0; scheduler < 3; ++scheduler) {
        std::vector<std::pair<std::string, double>> jobs;
        for (const char* name : {"a", "b", "c", "d"})
          jobs.emplace_back(name, 10 + static_cast<double>(random.Below(10)));
        records.push_back(RunOf(scheduler, block, false, jobs));
      }
    }
    Design design;
    design.schedulers = 3, design.blocks = 10;
    bool any = false;
    for (const Grouping& grouping : JudgeGroups(design, PointersTo(records), {})) {
      for (const JudgedGroup& group : grouping.largest) {
        for (const sim::Comparison& comparison : group.comparison->schedulers)
          any = any || comparison.verdict == sim::Verdict::kBetter || comparison.verdict == sim::Verdict::kWorse;
      }
    }
    said += any ? 1 : 0;
  }
  EXPECT_LE(said, kTrials * 8 / 100) << "5% would be 5; seeds are 1 to " << kTrials;
}

}  // namespace
}  // namespace millrace::compare
