// SPDX-License-Identifier: Apache-2.0
// The words that say what a figure of a paper is: each value again, from simulations that the test makes itself.
#include "lab/study/paper_words.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "lab/measure/fairness.h"
#include "lab/model/simulate.h"
#include "lab/study/paper_run.h"
#include "lab/workload/simulation_file.h"

namespace millrace::sim::experiments {
namespace {

const std::string kHead = R"(name = "words"
[paper]
schedulers = ["fifo", "fair", "sjf"]
)";
const std::string kWorkload = R"([cluster]
nodes = 5
racks = 2
datacenters = 2
map_slots = 1
reduce_slots = 1
[placement]
kind = "random"
replication = 1
[arrival]
kind = "poisson"
mean = 4
[[jobs]]
name = "a"
count = 3
users = 3
maps = 9
map_time = { uniform = [5, 9] }
reduces = 1
reduce_time = 3
[[jobs]]
name = "b"
count = 4
users = 4
maps = 2
map_time = { uniform = [2, 9] }
[[jobs]]
name = "c"
count = 2
maps = 3
map_time = 4
)";
const std::string kSweeps = R"([[sweep]]
name = "s"
key = "jobs.a.maps"
values = [4, 9, 14]
[[sweep]]
name = "t"
key = "jobs.b.maps"
values = [4, 9, 14]
)";

std::string ClaimOf(const std::string& words) {
  return "[[claims]]\ntext = \"c\"\nsays = \"s\"\nat_least = 0\n" + words;
}

constexpr std::uint64_t kSeed = 4;

Result<double> Try(const std::string& words, const std::string& head, const std::string& sweeps) {
  MILLRACE_ASSIGN(const Paper paper, ParsePaper(head + kWorkload + sweeps + ClaimOf(words), "p.toml"));
  MILLRACE_ASSIGN(const Findings findings, RunPaper(paper, {.seed = kSeed}));
  return findings.Ours("c");
}

double Ours(const std::string& words, const std::string& head = kHead, const std::string& sweeps = kSweeps) {
  const Result<double> ours = Try(words, head, sweeps);
  EXPECT_TRUE(ours.ok()) << ours.status().message();
  return ours.ok() ? *ours : std::nan("");
}

void ExpectBegins(const std::string& text, const std::string& with) {
  EXPECT_EQ(text.substr(0, with.size()), with) << text;
}

std::string WhyNot(const std::string& words, const std::string& head = kHead, const std::string& sweeps = kSweeps) {
  return Try(words, head, sweeps).status().message();
}

// Simulates the workload with one key of class `a` or `b` changed.
SimResult Simulated(const std::string& scheduler, std::uint64_t seed, const std::string& from = "",
                    const std::string& to = "", const sched::Settings& settings = {}) {
  std::string text = kWorkload;
  if (!from.empty()) text.replace(text.find(from), from.size(), to);
  Overrides overrides;
  overrides.seed = seed;
  const Result<SimulationFile> file = ParseSimulation(text, "test", overrides);
  EXPECT_TRUE(file.ok()) << file.status().message();
  SimOptions options;
  options.seed = seed, options.task_rows = true;
  Result<SimResult> result = Simulate(file->cluster, file->workload, scheduler, settings, options);
  EXPECT_TRUE(result.ok()) << result.status().message();
  return std::move(*result);
}

// Returns the makespan in s at a point of sweep s or t.
double End(const std::string& scheduler, char sweep, int maps) {
  const std::string from = sweep == 's' ? "maps = 9" : "maps = 2";
  return static_cast<double>(Simulated(scheduler, kSeed, from, "maps = " + std::to_string(maps)).summary.makespan) /
         1e6;
}

const std::string kEnd = "metric = \"makespan\"\n";

TEST(PaperWords, SeveralSchedulersArePicked) {
  const std::string at = kEnd + "point = 9\nof = [\"fifo\", \"fair\", \"sjf\"]\n";
  const double fifo = End("fifo", 's', 9), fair = End("fair", 's', 9), sjf = End("sjf", 's', 9);
  EXPECT_DOUBLE_EQ(Ours(at), std::min({fifo, fair, sjf}));
  EXPECT_DOUBLE_EQ(Ours(at + "pick = \"most\"\n"), std::max({fifo, fair, sjf}));
  EXPECT_NEAR(Ours(at + "pick = \"mean\"\n"), (fifo + fair + sjf) / 3, 1e-9);
  EXPECT_NEAR(Ours(kEnd + "point = 9\nof = \"fifo\"\nas = \"difference\"\nagainst = { of = [\"fair\", \"sjf\"], pick = "
                          "\"most\" }\n"),
              fifo - std::max(fair, sjf), 1e-9);
  EXPECT_EQ(WhyNot(at + "pick = \"best\"\n"), "p.toml:50: claims[0].pick: \"best\" is not least, most or mean");
}

TEST(PaperWords, SeveralPointsAreCasesOrOneFigure) {
  const double four = End("fair", 's', 4), nine = End("fair", 's', 9), most = End("fair", 's', 14);
  const std::string fair = kEnd + "of = \"fair\"\n";
  EXPECT_NEAR(Ours(fair + "point = [4, 14]\nover = \"mean\"\n"), (four + most) / 2, 1e-9);
  EXPECT_NEAR(Ours(fair + "across = \"mean\"\n"), (four + nine + most) / 3, 1e-9);
  EXPECT_DOUBLE_EQ(Ours(fair + "across = \"most\"\nsweep = [\"s\", \"t\"]\n"),
                   std::max({four, nine, most, End("fair", 't', 4), End("fair", 't', 9), End("fair", 't', 14)}));
  // Each case beside a point of its own sweep.
  const double of_s = std::abs(four / nine - 1), of_t = std::abs(End("fair", 't', 4) / End("fair", 't', 9) - 1);
  EXPECT_NEAR(
      Ours(fair + "sweep = [\"s\", \"t\"]\npoint = 4\nas = \"apart\"\nagainst = { point = 9 }\nover = \"most\"\n"),
      100 * std::max(of_s, of_t), 1e-9);
  EXPECT_NEAR(
      Ours(fair + "sweep = [\"s\", \"t\"]\npoint = 4\nas = \"difference\"\nover = \"mean\"\n"
                  "against = { point = [9, 14], across = \"least\" }\n"),
      (four - std::min(nine, most) + End("fair", 't', 4) - std::min(End("fair", 't', 9), End("fair", 't', 14))) / 2,
      1e-9);
  EXPECT_NEAR(Ours(fair + "sweep = \"s\"\nas = \"difference\"\nagainst = { sweep = \"t\" }\nover = \"most\"\n"),
              std::max({four - End("fair", 't', 4), nine - End("fair", 't', 9), most - End("fair", 't', 14)}), 1e-9);
  EXPECT_EQ(
      WhyNot(fair +
             "sweep = \"s\"\nas = \"difference\"\nagainst = { sweep = \"t\", point = [4, 9] }\nover = \"most\"\n"),
      "p.toml:51: claims[0].against: has other points than what it is compared with");
  EXPECT_EQ(WhyNot(fair + "point = [4, 9]\n"),
            "p.toml:43: claims[0].over: is missing: how several figures become one, such as mean");
  EXPECT_EQ(WhyNot(fair + "point = []\nover = \"mean\"\n"), "p.toml:49: claims[0].point: the list is empty");
  ExpectBegins(WhyNot(fair + "sweep = [\"s\", \"u\"]\nover = \"mean\"\n"),
               "p.toml:49: claims[0].sweep: there is no sweep \"u\"");
}

// In how many cases the difference is above 0, or at least 0. A scheduler beside itself is never above.
TEST(PaperWords, CasesAreCounted) {
  double above = 0, rising = 0;
  for (const char* of : {"fifo", "fair", "sjf"}) {
    for (const int maps : {4, 9, 14}) above += End(of, 's', maps) - End("sjf", 's', maps) > 0 ? 1 : 0;
    double node_local[3];
    int at = 0;
    for (const int maps : {4, 9, 14})
      node_local[at++] = Simulated(of, kSeed, "maps = 9", "maps = " + std::to_string(maps)).summary.maps_at[0];
    rising += node_local[0] <= node_local[1] && node_local[1] <= node_local[2] ? 1 : 0;
  }
  const std::string each = "each = { of = [\"fifo\", \"fair\", \"sjf\"] }\nsweep = \"s\"\n";
  const std::string against = "as = \"difference\"\nagainst = { of = \"fair\" }\n";
  EXPECT_GT(above, 0);
  EXPECT_EQ(Ours(kEnd + each + "as = \"difference\"\nagainst = { of = \"sjf\" }\nover = \"above 0\"\n"), above);
  EXPECT_EQ(Ours(kEnd + "of = \"fair\"\nsweep = \"s\"\n" + against + "over = \"above 0\"\n"), 0);
  EXPECT_EQ(Ours(kEnd + "of = \"fair\"\nsweep = \"s\"\n" + against + "over = \"not below 0\"\n"), 3);
  EXPECT_EQ(Ours("metric = \"node_local\"\n" + each + "as = \"least rise\"\nover = \"not below 0\"\n"), rising);
  const double first = End("sjf", 's', 9) - End("sjf", 's', 4), second = End("sjf", 's', 14) - End("sjf", 's', 9);
  EXPECT_NEAR(Ours(kEnd + "of = \"sjf\"\nsweep = \"s\"\nas = \"least rise\"\n"), std::min(first, second), 1e-9);
  EXPECT_EQ(WhyNot(kEnd + "of = \"sjf\"\npoint = 4\nas = \"least rise\"\n"),
            "p.toml:43: claims[0]: a rise is from a point to the next, and there is one");
  EXPECT_EQ(WhyNot(kEnd + each + "point = 4\n"),
            "p.toml:43: claims[0].over: is missing: how several figures become one, such as mean");
  EXPECT_EQ(WhyNot(kEnd + "each = {}\n"), "p.toml:48: claims[0].each: gives neither `of` nor `class`");
  ExpectBegins(WhyNot(kEnd + "each = { point = [4] }\n"), "p.toml:48: claims[0].each: gives neither `of` nor `class`");
  EXPECT_EQ(WhyNot(kEnd + "of = \"fair\"\neach = { class = [[]] }\n"),
            "p.toml:49: claims[0].each.class: a list of no class");
}

double LocalOf(const SimResult& result, const std::vector<std::string>& classes) {
  double local = 0, all = 0;
  for (const JobRow& job : result.jobs) {
    if (std::find(classes.begin(), classes.end(), job.group) == classes.end()) continue;
    local += job.maps_at[0];
    for (const std::uint32_t maps : job.maps_at) all += maps;
  }
  return 100 * local / all;
}

TEST(PaperWords, SeveralClassesAreTogetherOrCases) {
  const SimResult fair = Simulated("fair", kSeed);
  const std::string local = "metric = \"node_local\"\nof = \"fair\"\npoint = 9\n";
  EXPECT_NEAR(Ours(local + "class = [\"a\", \"b\"]\n"), LocalOf(fair, {"a", "b"}), 1e-9);
  EXPECT_NEAR(Ours(local + "each = { class = [[\"a\", \"c\"], \"b\"] }\nover = \"mean\"\n"),
              (LocalOf(fair, {"a", "c"}) + LocalOf(fair, {"b"})) / 2, 1e-9);
  ExpectBegins(WhyNot(local + "class = [\"a\", \"d\"]\n"),
               "p.toml:50: claims[0].class: there is no class of jobs \"d\"");
  ExpectBegins(WhyNot(local + "each = { class = [\"d\"] }\nover = \"mean\"\n"),
               "p.toml:43: claims[0]: there is no class of jobs \"d\"");
}

std::vector<double> Gains(const SimResult& ours, const SimResult& baseline, const std::string& job_class) {
  std::vector<double> gains;
  for (std::size_t i = 0; i < ours.jobs.size(); ++i) {
    if (!job_class.empty() && ours.jobs[i].group != job_class) continue;
    gains.push_back(static_cast<double>(baseline.jobs[i].end - baseline.jobs[i].submit) /
                    static_cast<double>(ours.jobs[i].end - ours.jobs[i].submit));
  }
  return gains;
}

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

TEST(PaperWords, GainsAreJobByJob) {
  const SimResult fifo = Simulated("fifo", kSeed), fair = Simulated("fair", kSeed), sjf = Simulated("sjf", kSeed);
  const std::string gain = "baseline = \"fifo\"\npoint = 9\nclass = \"b\"\nof = \"fair\"\nmetric = ";
  const std::vector<double> gains = Gains(fair, fifo, "b");
  ASSERT_NE(Mean(gains), 1);
  EXPECT_NEAR(Ours(gain + "\"gain\"\n"), Mean(gains), 1e-9);
  EXPECT_NEAR(Ours(gain + "\"most_gain\"\n"), *std::max_element(gains.begin(), gains.end()), 1e-9);
  EXPECT_NEAR(Ours(gain + "\"gain\"\nas = \"ratio\"\nagainst = { of = \"sjf\" }\n"),
              Mean(gains) / Mean(Gains(sjf, fifo, "b")), 1e-9);
  EXPECT_NEAR(Ours(gain + "\"gain\"\nas = \"ratio\"\nagainst = { of = \"fifo\" }\n"), Mean(gains), 1e-9);
  EXPECT_EQ(WhyNot("metric = \"gain\"\npoint = 9\nof = \"fair\"\n"),
            "p.toml:47: claims[0].metric: gain wants `baseline`: the scheduler under which the jobs are compared");
  ExpectBegins(WhyNot("metric = \"gain\"\nbaseline = \"lifo\"\npoint = 9\nof = \"fair\"\n"),
               "p.toml:48: claims[0].baseline: there is no scheduler \"lifo\"; d");
}

TEST(PaperWords, ADrawMayBePickedByItsRank) {
  std::vector<std::pair<double, double>> draws;  // gain of all jobs, makespan
  for (std::uint64_t draw = 0; draw < 5; ++draw) {
    const SimResult fair = Simulated("fair", kSeed * 1000 + draw);
    draws.emplace_back(Mean(Gains(fair, Simulated("fifo", kSeed * 1000 + draw), "")),
                       static_cast<double>(fair.summary.makespan) / 1e6);
  }
  std::sort(draws.begin(), draws.end());
  const std::string head = "name = \"words\"\n[paper]\ndraws = 5\nschedulers = [\"fifo\", \"fair\", \"sjf\"]\n";
  for (const auto& [rank, at] : {std::pair("0", 0), {"0.24", 0}, {"0.25", 1}, {"0.5", 2}, {"1", 4}}) {
    const std::string words =
        kEnd + "of = \"fair\"\nranked_by = { metric = \"gain\", baseline = \"fifo\", of = \"fair\" }\nrank = " + rank +
        "\n";
    EXPECT_NEAR(Ours(words, head, ""), draws[static_cast<std::size_t>(at)].second, 1e-9) << rank;
  }
  EXPECT_EQ(WhyNot(kEnd + "of = \"fair\"\nrank = 1\n", head, ""),
            "p.toml:42: claims[0].rank: `ranked_by` is missing: what orders the draws");
  ExpectBegins(WhyNot(kEnd + "of = \"fair\"\nrank = 1.5\n", head, ""), "p.toml:42: claims[0].rank: 1.5 ");
}

// Pairs that are in the printed order, less those that are in the reverse, over all pairs.
TEST(PaperWords, AnOrderIsComparedWithThePrintedOne) {
  std::vector<double> ours;
  for (const char* of : {"fifo", "fair", "sjf"}) ours.push_back(Simulated(of, kSeed).summary.mean_turnaround);
  const std::vector<double> printed = {3, 1, 2};
  double alike = 0;
  for (const auto& [a, b] : {std::pair(0U, 1U), {0U, 2U}, {1U, 2U}}) {
    const double product = (ours[a] - ours[b]) * (printed[a] - printed[b]);
    alike += product > 0 ? 1 : product < 0 ? -1 : 0;
  }
  ASSERT_NE(alike, 0);
  const std::string order = "metric = \"turnaround\"\nof = [\"fifo\", \"fair\", \"sjf\"]\npoint = 9\nas = \"order\"\n";
  EXPECT_DOUBLE_EQ(Ours(order + "printed = [3, 1, 2]\n"), alike / 3);
  EXPECT_DOUBLE_EQ(Ours(order + "printed = [-3, -1, -2]\n"), -alike / 3);
  EXPECT_NEAR(Ours("metric = \"turnaround\"\nof = [\"fifo\", \"sjf\"]\npoint = 9\nas = \"order\"\nover = \"mean\"\n"
                   "each = { class = [\"a\", \"b\"] }\nprinted = [[1, 2], [2, 1]]\n"),
              Ours("metric = \"turnaround\"\nof = [\"fifo\", \"sjf\"]\npoint = 9\nas = \"order\"\nclass = \"a\"\n"
                   "printed = [1, 2]\n") /
                      2 +
                  Ours("metric = \"turnaround\"\nof = [\"fifo\", \"sjf\"]\npoint = 9\nas = \"order\"\nclass = \"b\"\n"
                       "printed = [2, 1]\n") /
                      2,
              1e-9);
  EXPECT_EQ(WhyNot(order), "p.toml:43: claims[0]: `as = \"order\"` and `printed` go together");
  EXPECT_EQ(WhyNot(order + "printed = [1, 2]\n"),
            "p.toml:51: claims[0].printed: not as many numbers as schedulers in `of`, of which there are two or more");
  EXPECT_EQ(WhyNot(order + "printed = [[3, 1, 2], [3, 1, 2]]\n"),
            "p.toml:51: claims[0].printed: not as many lists as cases");
  ExpectBegins(WhyNot(order + "printed = [nan, 1, 2]\n"), "p.toml:51: claims[0].printed: not a list of numb");
}

TEST(PaperWords, MetricsOfPapersFollowFromTheRowsOfARun) {
  const SimResult fair = Simulated("fair", kSeed);
  double near = 0, all = 0;
  for (const JobRow& job : fair.jobs) {
    near += job.maps_at[0] + job.maps_at[1] + job.maps_at[2];
    for (const std::uint32_t maps : job.maps_at) all += maps;
  }
  const std::string of = "of = \"fair\"\npoint = 9\nmetric = ";
  ASSERT_LT(near, all);
  EXPECT_NEAR(Ours(of + "\"datacenter_local\"\n"), 100 * near / all, 1e-9);
  std::map<std::uint32_t, double> maps;
  for (const TaskRow& task : fair.tasks) maps[task.node.value] += task.attempt.task.kind == TaskKind::kMap ? 1 : 0;
  double squares = 0;
  for (std::uint32_t node = 0; node < 5; ++node) squares += std::pow(maps[node] - all / 5, 2);
  EXPECT_NEAR(Ours(of + "\"maps_per_node\"\n"), all / 5, 1e-9);
  EXPECT_NEAR(Ours(of + "\"maps_per_node_deviation\"\n"), std::sqrt(squares / 5), 1e-9);
  double waiting = 0;
  int samples = 0;
  for (const Sample& sample : fair.samples) {
    if (sample.jobs == 0) continue;
    waiting += sample.fairness * sample.active / sample.jobs, ++samples;
  }
  EXPECT_NEAR(Ours(of + "\"fairness_waiting\"\n"), waiting / samples, 1e-9);
  EXPECT_EQ(WhyNot(of + "\"maps_per_node\"\nclass = \"a\"\n"),
            "p.toml:50: claims[0].class: maps_per_node is of the cluster; it cannot be told of one class");
}

// Two classes alone on five nodes: most nodes run nothing of a small job, and they count.
TEST(PaperWords, NodesWithoutMapsCount) {
  const std::string one =
      "[[sweep]]\nname = \"one\"\nset = { \"jobs.a.count\" = 0, \"jobs.b.count\" = 1, \"jobs.c.count\" = 0 }\n";
  EXPECT_NEAR(Ours("of = \"fair\"\nmetric = \"maps_per_node\"\n", kHead, one), 2.0 / 5, 1e-9);
}

TEST(PaperWords, SchedulersMayDifferAtAPoint) {
  const std::string head =
      "name = \"words\"\n[settings.delay]\noff_wait = 30\n[paper]\n[[schedulers]]\nname = \"x\"\n"
      "policy = \"fair+delay\"\nsettings = { delay = { rack_wait = 30 } }\n[[schedulers]]\nname = \"y:1\"\n"
      "policy = \"fifo\"\n";
  const std::string sweep =
      "[[sweep]]\nname = \"w\"\nkeys = [\"settings.delay.datacenter_wait\", \"schedulers.x.settings.delay.rack_wait\", "
      "\"schedulers.y:1.policy\"]\nvalues = [[1, 2, \"fifo\"], [3, 30, \"sjf\"]]\n";
  const Result<Paper> paper =
      ParsePaper(head + kWorkload + sweep + ClaimOf(kEnd + "of = \"x\"\npoint = 1\n"), "p.toml");
  ASSERT_TRUE(paper.ok()) << paper.status().message();
  ASSERT_EQ(paper->points.size(), 2U);
  const sched::Variant& first = paper->points[0].variants.at(0);
  for (const char* line : {"off_wait = 30", "rack_wait = 2", "datacenter_wait = 1"})
    EXPECT_NE(first.settings_text.find(line), std::string::npos) << line << " in " << first.settings_text;
  EXPECT_EQ(first.label, "x");
  EXPECT_EQ(paper->points[1].variants.at(1).scheduler, "sjf");
  EXPECT_EQ(paper->points[1].variants.at(1).label, "y:1");
  EXPECT_EQ(paper->workloads.size(), 1U) << "the workload is the same";
  EXPECT_NEAR(Ours(kEnd + "of = \"y:1\"\npoint = 3\n", head, sweep),
              static_cast<double>(Simulated("sjf", kSeed).summary.makespan) / 1e6, 1e-9);
  const auto refused = [&](const std::string& keys) {
    return WhyNot(kEnd + "of = \"x\"\npoint = 1\n", head, "[[sweep]]\nname = \"w\"\nset = { " + keys + " }\n");
  };
  EXPECT_EQ(refused("\"schedulers.z.policy\" = \"fifo\""),
            "p.toml:43: sweep[0]: there is no scheduler with the name \"z\"");
  ExpectBegins(refused("\"schedulers.x.policy\" = \"lifo\""), "p.toml:43: sweep[0]: ");
  EXPECT_EQ(refused("\"schedulers.x.policy\" = 3"), "p.toml:43: sweep[0]: a policy that is no text");
  EXPECT_EQ(refused("\"schedulers.x.name\" = \"z\""),
            "p.toml:43: sweep[0]: \"schedulers.x.name\" is neither schedulers.NAME.policy nor "
            "schedulers.NAME.settings.SECTION.KEY");
  ExpectBegins(refused("\"settings.delay.rock_wait\" = 1"), "p.toml:43: sweep[0]: ");
  EXPECT_NE(refused("\"settings.delay.rock_wait\" = 1").find("rock_wait"), std::string::npos);
}

TEST(PaperWords, DrawsHaveAPluralOfTheirOwn) {
  const auto caption = [](const std::string& draw) {
    const Result<Paper> paper = ParsePaper(
        "name = \"w\"\n[paper]\nschedulers = [\"fifo\", \"fair\"]\ndraws = 2\ndraw = " + draw + "\n" + kWorkload +
            "[[tables]]\nid = \"t\"\nclasses = [\"a\", \"b\"]\nmetric = \"turnaround\"\ncolumns = [{ name = \"x\", of "
            "= \"fair\" }]\n",
        "p.toml");
    if (!paper.ok()) return paper.status().message();
    const Result<Findings> findings = RunPaper(*paper, {});
    return findings.ok() ? findings->Of("t").repeats : findings.status().message();
  };
  EXPECT_EQ(caption("[\"batch\", \"batches\"]"), "2 batches");
  EXPECT_EQ(caption("\"schedule\""), "2 schedules");
  EXPECT_EQ(caption("[\"a\", \"b\", \"c\"]"),
            "p.toml:5: paper.draw: gives more than what one draw and several are called");
}

}  // namespace
}  // namespace millrace::sim::experiments
