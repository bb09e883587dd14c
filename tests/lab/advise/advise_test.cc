// SPDX-License-Identifier: Apache-2.0
// Tests the parts of `millrace advise`; test_advise.py tests the command itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "lab/advise/advice.h"
#include "lab/advise/candidates.h"
#include "lab/advise/goal.h"
#include "lab/advise/redraw.h"
#include "lab/advise/settings_change.h"
#include "schedulers/policies/settings_file.h"
#include "tests/lab/records.h"

namespace millrace::compare {
namespace {

sim::SimulationFile File(const std::string& toml) { return sim::ParseSimulation(toml, "w", {}).value(); }

// Job i comes i seconds after the one before it, so that a gap tells which job follows.
sim::Workload Rising(std::uint32_t count) {
  sim::Workload workload;
  Micros now = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    now += i * kSecond;
    sim::SimJob& job = workload.jobs.emplace_back();
    job.name = std::to_string(i), job.submit = now;
  }
  return workload;
}

TEST(RedrawTest, RunsOfJobsKeepTheirOrderAndGaps) {
  const sim::Workload history = Rising(27);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const sim::Workload drawn = Redraw(history, seed);
    ASSERT_EQ(drawn.jobs.size(), 27u);
    EXPECT_EQ(drawn.jobs[0].submit, 0);
    for (std::size_t i = 1; i < 27; ++i) {
      const int of = std::stoi(drawn.jobs[i].name), before = std::stoi(drawn.jobs[i - 1].name);
      const Micros gap = drawn.jobs[i].submit - drawn.jobs[i - 1].submit;
      EXPECT_EQ(gap, of == 0 ? 13'500'000 : of * kSecond) << "seed " << seed;  // 351 s in 26 gaps
      if (i % 3 == 0) continue;                                                // 3 is the cube root of 27
      EXPECT_EQ(of, (before + 1) % 27) << "seed " << seed;
    }
  }
}

TEST(RedrawTest, EveryJobIsDrawnAsOftenAndDrawsDiffer) {
  const sim::Workload history = Rising(27);
  std::map<std::string, int> drawn;
  std::set<std::string> first;
  for (std::uint64_t seed = 1; seed <= 1'000; ++seed) {
    const sim::Workload one = Redraw(history, seed);
    first.insert(one.jobs[0].name);
    for (const sim::SimJob& job : one.jobs) ++drawn[job.name];
    EXPECT_TRUE(SameJobs(one, Redraw(history, seed)));
  }
  EXPECT_EQ(first.size(), 27u);
  // A job is in 3 of 27 of the 9,000 runs of consecutive jobs: 1,000 on average, with a deviation of 30.
  for (const auto& [name, times] : drawn) EXPECT_NEAR(times, 1'000, 5 * 30) << name;
  EXPECT_FALSE(SameJobs(history, Redraw(history, 1)));
}

TEST(RedrawTest, JobsThatWaitForOthersAreLeftAsTheyAre) {
  sim::Workload history = Rising(3);
  EXPECT_TRUE(CanRedraw(history));
  history.jobs[2].after = 1;
  EXPECT_FALSE(CanRedraw(history));
  EXPECT_FALSE(CanRedraw({}));
}

TEST(HeavyTailTest, HalfOfTheWorkMayBeThatOfFewJobs) {
  sim::Workload workload;
  EXPECT_EQ(JobsOfHalfTheWork(workload), 0u);
  workload.jobs.resize(20);
  EXPECT_EQ(JobsOfHalfTheWork(workload), 0u) << "jobs without tasks";
  for (sim::SimJob& job : workload.jobs) job.maps.push_back({0, kSecond, 0});
  EXPECT_EQ(JobsOfHalfTheWork(workload), 10u);
  workload.jobs[7].reduces.push_back({1, 30 * kSecond, 0});
  EXPECT_EQ(JobsOfHalfTheWork(workload), 1u) << "31 of 50";
}

TEST(CandidatesTest, OnlyThoseThatHaveSomethingToWorkOn) {
  const auto of = [](const std::string& toml, const sched::Settings& settings = {}) {
    const std::vector<std::string> names = CandidatesFor(File(toml), settings);
    return std::set<std::string>(names.begin(), names.end());
  };
  const std::set<std::string> always{"fifo", "sjf", "mlq", "fair", "las", "psbs", "fresh-static", "fresh-dynamic"};
  const std::string asleep = "[cluster]\nnodes = 4\n[[jobs]]\nmaps = 2\nmap_time = 1\nlocated = false\nmap_cores = 0\n";
  EXPECT_EQ(of(asleep), always);
  // FRESH where tasks work only if it is known on how many cores.
  const std::set<std::string> typed{"fifo", "sjf", "mlq", "fair", "las", "psbs"};
  const std::string work = "[[jobs]]\nmaps = 2\nmap_time = 1\nlocated = false\n", nodes = "[cluster]\nnodes = 4\n";
  EXPECT_EQ(of(nodes + work), typed);
  EXPECT_EQ(of(nodes + "cores = 2\n" + work), always);
  EXPECT_EQ(of(nodes + "[[cluster.groups]]\ncount = 4\nmachine = \"m\"\ncores = 2\n" + work), always);
  EXPECT_EQ(of(nodes + "[[cluster.groups]]\ncount = 3\nmachine = \"m\"\ncores = 2\n" + work), typed)
      << "of one node it is not";
  std::set<std::string> queues = always;
  queues.insert("capacity");
  EXPECT_EQ(of(asleep, sched::ParseSettings("[queues.q]\ncapacity = 100\n", "s").value()), queues);
  std::set<std::string> gathers = always;
  gathers.insert("integral");
  const std::string relaxed = "[pool_defaults]\nintegral = \"relaxed\"\nflow_maps = 1\n";
  EXPECT_EQ(of(asleep, sched::ParseSettings(relaxed, "s").value()), gathers);
  std::set<std::string> deadlines = always;
  deadlines.insert({"edf", "cp"});
  EXPECT_EQ(of(asleep + "deadline = 5\n"), deadlines);
  const auto all =
      of("[cluster]\nnodes = 4\nracks = 2\ndatacenters = 2\n[[jobs]]\nmaps = 2\nmap_time = 1\nreduces = 1\n"
         "reduce_time = 1\nuser = [\"a\", \"b\"]\ncount = 2\n");
  for (const std::string name : {"joss-t", "joss-j", "dl", "lsap", "uwfq", "karma", "fair+delay", "fair+ccs",
                                 "fair+delay+ccs", "fair+memory", "fair+preempt"})
    EXPECT_TRUE(all.contains(name)) << name;
  EXPECT_FALSE(all.contains("edf"));
}

TEST(GoalTest, IsServedByAMetric) {
  const std::string racks = "[cluster]\nnodes = 4\nracks = 2\n", centers = racks + "datacenters = 2\n";
  const std::string jobs = "[[jobs]]\nmaps = 1\nmap_time = 1\n", late = jobs + "deadline = 1\n";
  for (const auto& [goal, toml, key] : {std::tuple("turnaround", racks + jobs, "turnaround"),
                                        {"makespan", racks + jobs, "makespan"},
                                        {"fairness", racks + jobs, "distance"},
                                        {"deadlines", racks + late, "late"},
                                        {"traffic", racks + jobs, "rack_bytes"},
                                        {"traffic", centers + jobs, "datacenter_bytes"}})
    EXPECT_EQ(MetricOfGoal(goal, File(toml)).value()->key, key);
  for (const auto& [goal, toml, part] : {std::tuple("deadlines", racks + jobs, "no job has had a deadline"),
                                         {"traffic", "[cluster]\nnodes = 4\nracks = 1\n" + jobs, "one rack only"},
                                         {"makspan", racks + jobs, "did you mean makespan?"}})
    EXPECT_NE(MetricOfGoal(goal, File(toml)).status().message().find(part), std::string::npos) << goal;
}

TEST(SettingsChangeTest, IsTheLinesThatDiffer) {
  const auto settings = [](const char* toml) { return sched::ParseSettings(toml, "s").value(); };
  EXPECT_EQ(SettingsChange({}, {}), "");
  EXPECT_EQ(SettingsChange({}, settings("[delay]\nrack_wait = \"1s\"\n[fair]\norder = \"sjf\"\n")),
            "[fair]\norder = \"sjf\"\n[delay]\nrack_wait = \"1s\"\n");
  EXPECT_EQ(
      SettingsChange(settings("[pools.a]\nmax_maps = 1\n[pools.b]\nweight = 2\n"), settings("[pools.a]\nweight = 1\n")),
      "[pools.a]\n# without max_maps = 1\n# without [pools.b]\n");
  // The printed lines, put into the file, give the wanted settings.
  const sched::Settings wanted = settings("[pools.a]\nweight = 3\nmin_maps = 2\n");
  EXPECT_EQ(SettingsChange(settings(SettingsChange({}, wanted).c_str()), wanted), "");
}

// A comparison of made-up runs: of one job that is submitted at 0, starts after `wait` and ends at `end`.
class Made {
 public:
  static constexpr std::uint32_t kBlocks = 9;  // as four schedulers take
  // Runs differ from one another by about `spread`.
  explicit Made(std::uint32_t schedulers, std::uint32_t blocks = kBlocks, double spread = 0.01)
      : blocks_(blocks), spread_(spread) {
    subject_.schedulers = testing::Plain({"now", "b", "c", "d"});
    subject_.schedulers.resize(schedulers);
    material_.subject = &subject_;
    material_.design.schedulers = schedulers, material_.design.blocks = blocks;
    material_.design.same_against_same = false;
    records_.reserve(100);
  }
  // Of all blocks.
  Made& Add(std::uint32_t scheduler, double wait, double end) {
    for (std::uint32_t block = 0; block < blocks_; ++block) {
      RunRecord& record = records_.emplace_back();
      record.run.scheduler = scheduler, record.run.block = block, record.run.seed = block;
      const double factor = 1 + spread_ * (block * 5 % 8 + scheduler * block % 3);
      record.outcome = testing::Outcome({testing::Job(0, "a", 0, wait * factor, end * factor)});
    }
    return *this;
  }
  [[nodiscard]] Advice By(const std::string& key) {
    material_.counting.clear();
    for (const RunRecord& record : records_) material_.counting.push_back(&record);
    material_.judged = Judge(material_.design, material_.counting, {key}, {});
    return AdviceOf(material_, *FindMetric(key), true);
  }

 private:
  const std::uint32_t blocks_;
  const double spread_;
  Subject subject_;
  Material material_;
  std::vector<RunRecord> records_;
};

TEST(AdviceTest, TheBestIsRecommendedWithWhatItGains) {
  const Advice advice = Made(3).Add(0, 1, 100).Add(1, 1, 60).Add(2, 1, 50).By("turnaround");
  EXPECT_EQ(advice.kind, AdviceKind::kChange);
  EXPECT_EQ(advice.best, std::vector<std::uint32_t>{2});
  EXPECT_EQ(advice.recommended, 2u);
  EXPECT_NEAR(advice.gain.ratio->value, 0.5, 0.02);
  EXPECT_EQ(advice.better_in, Made::kBlocks);
  EXPECT_EQ(advice.runs, Made::kBlocks);
  EXPECT_TRUE(advice.costs.empty());
}

TEST(AdviceTest, WhatIsGivenUpIsTold) {
  const Advice advice = Made(2).Add(0, 10, 100).Add(1, 30, 50).By("turnaround");
  ASSERT_EQ(advice.costs.size(), 2u);
  EXPECT_EQ(advice.costs[0].metric->key, "wait");
  EXPECT_NEAR(advice.costs[0].comparison.ratio->value, 3, 0.1);
  EXPECT_EQ(advice.costs[1].metric->key, "longest_wait");
}

TEST(AdviceTest, ThoseThatCannotBeToldApartServeBestTogether) {
  const Advice advice = Made(4).Add(0, 1, 100).Add(1, 1, 50).Add(2, 1, 50.5).Add(3, 1, 99).By("turnaround");
  EXPECT_EQ(advice.best, (std::vector<std::uint32_t>{1, 2}));
  EXPECT_EQ(advice.recommended, 1u);
}

TEST(AdviceTest, WhereNothingCanShowNothingIsSaid) {
  const Advice few = Made(4, 8).Add(0, 1, 100).Add(1, 1, 50).Add(2, 1, 50.5).Add(3, 1, 99).By("turnaround");
  EXPECT_EQ(few.kind, AdviceKind::kNone) << "four schedulers take 9 runs";
  EXPECT_NE(few.why.find("at least 9"), std::string::npos) << few.why;
  const Advice fixed = Made(2, Made::kBlocks, 0).Add(0, 1, 100).Add(1, 1, 50).By("turnaround");
  EXPECT_EQ(fixed.kind, AdviceKind::kNone);
  EXPECT_NE(fixed.why.find("one observation"), std::string::npos) << fixed.why;
}

TEST(AdviceTest, WhereNothingIsBetterNothingChanges) {
  for (const double other : {100.0, 99.0, 101.0, 200.0}) {
    const Advice advice = Made(2).Add(0, 1, 100).Add(1, 1, other).By("turnaround");
    EXPECT_EQ(advice.kind, AdviceKind::kKeep) << other;
    EXPECT_FALSE(advice.recommended);
    EXPECT_EQ(advice.best.front(), 0u);
  }
}

}  // namespace
}  // namespace millrace::compare
