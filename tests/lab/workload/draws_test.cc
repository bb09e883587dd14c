// SPDX-License-Identifier: Apache-2.0
// Tests what jobs draw: gamma distributions, arrivals by a distribution of the gaps, the order of jobs that come at
// once, names, and times that follow from those of the maps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lab/workload/distribution.h"
#include "lab/workload/simulation_file.h"

namespace millrace::sim {
namespace {

SimulationFile MustParse(const std::string& text) {
  Result<SimulationFile> file = ParseSimulation(text, "w.toml", {});
  EXPECT_TRUE(file.ok()) << file.status().message();
  return std::move(file).value();
}

std::string WhyNot(const std::string& text) { return ParseSimulation(text, "w.toml", {}).status().message(); }

// The share of draws below the mean is the incomplete gamma function P(k, k) of the shape k. For a whole k it is
// 1 - exp(-k) (1 + k + ... + k^(k-1) / (k-1)!), and for k = 1/2 it is that of a normal variable within one deviation.
TEST(Draws, AGammaDistributionHasItsMeanDeviationAndShape) {
  struct Shape {
    double deviation, below_mean;  // of a mean of 10
  };
  constexpr int kDraws = 200'000;
  for (const auto& [deviation, below_mean] :
       {Shape{10 * std::sqrt(2), 0.682689}, Shape{10, 0.632121}, Shape{5, 0.566530}}) {
    SCOPED_TRACE(deviation);
    const Distribution gamma{Distribution::Kind::kGamma, 10, deviation, 0, {}};
    Random random(7);
    double sum = 0, squares = 0, below = 0;
    for (int i = 0; i < kDraws; ++i) {
      const double value = gamma.Draw(random);
      ASSERT_GE(value, 0);
      sum += value, squares += value * value, below += value < 10 ? 1 : 0;
    }
    const double mean = sum / kDraws;
    EXPECT_NEAR(mean, 10, 5 * deviation / std::sqrt(kDraws));
    EXPECT_NEAR(std::sqrt(squares / kDraws - mean * mean), deviation, 0.02 * deviation);
    EXPECT_NEAR(below / kDraws, below_mean, 5 * 0.5 / std::sqrt(kDraws));
  }
  Random random(7);
  EXPECT_EQ((Distribution{Distribution::Kind::kGamma, 10, 0, 0, {}}.Draw(random)), 10);
  EXPECT_EQ((Distribution{Distribution::Kind::kGamma, 0, 3, 0, {}}.Draw(random)), 0);
}

TEST(Draws, ParametersMayHaveTheirNames) {
  const std::pair<const char*, const char*> kPairs[] = {
      {"{ uniform = [1, 9] }", "{ uniform = { most = 9, least = 1 } }"},
      {"{ exponential = 5 }", "{ exponential = { mean = 5 } }"},
      {"{ normal = [20, 4] }", "{ normal = { mean = 20, deviation = 4 } }"},
      {"{ gamma = [20, 30] }", "{ gamma = { mean = 20, deviation = \"30s\" } }"},
      {"{ lognormal = [20, 0.5] }", "{ lognormal = { median = \"20s\", sigma = 0.5 } }"},
      {"{ zipf = [1.2, \"1ms\", \"50ms\"] }", "{ zipf = { exponent = 1.2, least = \"1ms\", most = \"50ms\" } }"}};
  for (const auto& [list, named] : kPairs) {
    const auto times = [](const std::string& draw) {
      std::vector<Micros> all;
      for (const SimJob& job : MustParse("[[jobs]]\ncount = 20\nmap_time = " + draw + "\n").workload.jobs)
        all.push_back(job.maps.at(0).cpu);
      return all;
    };
    EXPECT_EQ(times(list), times(named)) << named;
  }
  for (const char* wrong : {"{ gamma = { mean = 20 } }", "{ gamma = { mean = 20, sigma = 1 } }", "{ gamma = [20] }",
                            "{ gamma = { mean = 20, deviation = 1, x = 2 } }", "{ choice = { a = 1 } }",
                            "{ choice = {} }", "{ uniform = { least = 3, most = 2 } }"}) {
    EXPECT_TRUE(WhyNot("[[jobs]]\nmap_time = " + std::string(wrong) + "\n")
                    .starts_with("w.toml:2: jobs[0].map_time: a distribution with the wrong numbers: "))
        << wrong << ": " << WhyNot("[[jobs]]\nmap_time = " + std::string(wrong) + "\n");
  }
  EXPECT_EQ(WhyNot("[[jobs]]\nmap_time = { gamma = { mean = 20, deviation = -1 } }\n"),
            "w.toml:2: jobs[0].map_time: below 0");
}

std::vector<Micros> SubmittedBy(const std::string& arrival) {
  std::vector<Micros> times;
  for (const SimJob& job : MustParse("[[jobs]]\ncount = 3000\narrival = " + arrival + "\n").workload.jobs)
    times.push_back(job.submit);
  return times;
}

TEST(Draws, ARenewalProcessHasGapsOfTheDistribution) {
  EXPECT_EQ(SubmittedBy("{ kind = \"renewal\", gap = 4, at = 9 }"),
            SubmittedBy("{ kind = \"interval\", every = 4, at = 9 }"));
  const std::vector<Micros> bursts = SubmittedBy("{ kind = \"renewal\", gap = { gamma = [30, 60] } }");
  EXPECT_EQ(bursts.front(), 0);
  double sum = 0, squares = 0;
  for (std::size_t i = 1; i < bursts.size(); ++i) {
    const double gap = static_cast<double>(bursts[i] - bursts[i - 1]) / kSecond;
    ASSERT_GE(gap, 0);
    sum += gap, squares += gap * gap;
  }
  const auto gaps = static_cast<double>(bursts.size() - 1);
  EXPECT_NEAR(sum / gaps, 30, 5 * 60 / std::sqrt(gaps));
  EXPECT_NEAR(std::sqrt(squares / gaps - sum / gaps * (sum / gaps)), 60, 10);
  EXPECT_EQ(WhyNot("[arrival]\nkind = \"renewal\"\n"),
            "w.toml:1: arrival.gap: is missing: the time between two jobs, or its distribution");
  EXPECT_EQ(WhyNot("[arrival]\nkind = \"renewal\"\ngap = \"x\"\n"),
            "w.toml:3: arrival.gap: not a duration, as 9 or \"9s\"");
  EXPECT_EQ(WhyNot("[arrival]\nkind = \"renewal\"\ngap = 3\nmean = 3\n"),
            "w.toml:4: arrival.mean: there is no such key");
}

std::string Names(const SimulationFile& file) {
  std::string names;
  for (const std::uint32_t job : SubmissionOrder(file.workload)) names += file.workload.jobs[job].group;
  return names;
}

// The example of textbooks: operations of (5, 2), (1, 6), (9, 7), (3, 8) and (10, 4) are done as B D C E A.
const std::string kFive =
    "[[jobs]]\nname = \"A\"\nmap_time = 5\nreduces = 1\nreduce_time = 2\n"
    "[[jobs]]\nname = \"B\"\nmap_time = 1\nreduces = 2\nreduce_time = 3\n"
    "[[jobs]]\nname = \"C\"\nmaps = 3\nmap_time = 3\nreduces = 1\nreduce_time = 7\n"
    "[[jobs]]\nname = \"D\"\nmap_time = 3\nreduces = 1\nreduce_time = 8\n"
    "[[jobs]]\nname = \"E\"\nmaps = 5\nmap_time = 2\nreduces = 1\nreduce_time = 4\n";

TEST(Draws, JobsMayComeInJohnsonsOrder) {
  const SimulationFile file =
      MustParse(kFive + "[arrival]\nkind = \"batch\"\norder = \"johnson\"\nusers = 3\npool = [\"x\", \"y\"]\n");
  EXPECT_EQ(Names(file), "BDCEA");
  std::string pools, users;
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(file.live.classes[file.live.class_of[i]].name, file.workload.jobs[i].group);
    pools += file.workload.jobs[i].pool, users += file.workload.jobs[i].user.back();
  }
  EXPECT_EQ(pools, "xyxyx");
  EXPECT_EQ(users, "01201");
  EXPECT_EQ(Names(MustParse(kFive + "[arrival]\nkind = \"interval\"\nevery = 2\norder = \"johnson\"\n")), "BDCEA");
  EXPECT_EQ(Names(MustParse(kFive + "[arrival]\nkind = \"interval\"\nevery = 2\norder = \"listed\"\n")), "ABCDE");
  EXPECT_EQ(Names(MustParse(kFive)), "ABCDE");
  // What the scheduler is told counts, not what is true: by these estimates E's maps take 2.5 s in all.
  const std::string told = kFive + "tell_times = true\nestimate_bias = 0.25\nreduce_estimate_bias = 4\n";
  EXPECT_EQ(Names(MustParse(told + "[arrival]\norder = \"johnson\"\n")), "BEDCA");
  std::set<std::string> drawn;
  for (int seed = 0; seed < 20; ++seed) {
    std::string names =
        Names(MustParse("seed = " + std::to_string(seed) + "\n[arrival]\norder = \"random\"\n" + kFive));
    drawn.insert(names);
    std::sort(names.begin(), names.end());
    EXPECT_EQ(names, "ABCDE");
  }
  EXPECT_GT(drawn.size(), 10U);
}

// The first jobs of a closed arrival follow those of a class that is given other numbers.
TEST(Draws, AJobFollowsTheSameJobInAnotherOrder) {
  const SimulationFile file =
      MustParse(kFive +
                "[[jobs]]\nname = \"F\"\ncount = 2\narrival = { kind = \"closed\", after = \"E\" }\n"
                "[arrival]\norder = \"johnson\"\n");
  for (const SimJob& job : file.workload.jobs) {
    if (job.name == "F-0") {
      EXPECT_EQ(file.workload.jobs.at(job.after.value()).group, "E");
    }
    if (job.name == "F-1") {
      EXPECT_EQ(file.workload.jobs.at(job.after.value()).name, "F-0");
    }
  }
}

TEST(Draws, OrdersAndPoolsAreRefusedWithTheirLine) {
  EXPECT_EQ(WhyNot("[arrival]\norder = \"jonson\"\n"),
            "w.toml:2: arrival.order: \"jonson\" is not listed, random or johnson");
  EXPECT_EQ(WhyNot("[[jobs]]\narrival = { kind = \"batch\", order = \"johnson\" }\n"),
            "w.toml:2: jobs[0].arrival.order: there is no such key");
  EXPECT_EQ(WhyNot("[arrival]\npool = [\"x\"]\n[[jobs]]\nname = \"a\"\npool = \"y\"\n"),
            "w.toml:5: jobs[0].pool: the arrivals of these jobs have `pool` too; leave one of them out");
  EXPECT_EQ(WhyNot("[arrival]\nusers = 2\n[[jobs]]\nname = \"a\"\nuser = \"y\"\n"),
            "w.toml:5: jobs[0].user: the arrivals of these jobs have `users` too; leave one of them out");
  EXPECT_EQ(WhyNot("[arrival]\npool = []\n"), "w.toml:2: arrival.pool: not a text or a list of texts");
}

TEST(Draws, NamesTakeTurnsOrAreDrawn) {
  std::map<std::string, int> users;
  const SimulationFile drawn =
      MustParse("[[jobs]]\ncount = 4000\nuser = { choice = [\"a\", \"b\", \"c\", \"d\"] }\npool = [\"x\", \"y\"]\n");
  int changes = 0;
  for (std::size_t i = 0; i < 4000; ++i) {
    const SimJob& job = drawn.workload.jobs[i];
    ++users[job.user];
    EXPECT_EQ(job.pool, i % 2 == 0 ? "x" : "y");
    changes += i > 0 && job.user != drawn.workload.jobs[i - 1].user ? 1 : 0;
  }
  EXPECT_EQ(users.size(), 4U);
  for (const auto& [user, jobs] : users) EXPECT_NEAR(jobs, 1000, 5 * std::sqrt(4000 * 0.25 * 0.75)) << user;
  EXPECT_NEAR(changes, 3000, 5 * std::sqrt(4000 * 0.25 * 0.75)) << "one job's user says nothing of the next one's";
  for (const char* wrong : {"{ choice = [] }", "{ choice = [1] }", "{ chose = [\"a\"] }", "3"}) {
    EXPECT_EQ(WhyNot("[[jobs]]\nuser = " + std::string(wrong) + "\n"),
              "w.toml:2: jobs[0].user: not a text, a list of texts to take turns, or { choice = [...] } to draw one");
  }
}

// 4 maps of 1 MB at 10 s keep half: 2 MB, of which each of 2 reduces fetches 1 MB. At half of the maps' cost that is 5
// s.
TEST(Draws, AReduceMayCostInProportionToTheMaps) {
  const std::string job = "[[jobs]]\nmaps = 4\nsplit = 1000000\nmap_time = 10\nmap_output = 0.5\nreduces = 2\n";
  const SimJob half = MustParse(job + "reduce_cost = 0.5\n").workload.jobs.at(0);
  ASSERT_EQ(half.reduces.size(), 2U);
  for (const SimReduce& reduce : half.reduces) EXPECT_NEAR(static_cast<double>(reduce.cpu), 5e6, 1);
  const SimJob skewed = MustParse(job + "reduce_cost = 0.5\nreduce_skew = 1\n").workload.jobs.at(0);
  EXPECT_NEAR(static_cast<double>(skewed.reduces[0].cpu), 10e6 * 2 / 3, 2);
  for (const SimReduce& reduce : MustParse(job + "reduce_cost = 0\n").workload.jobs.at(0).reduces)
    EXPECT_EQ(reduce.cpu, 0);
  EXPECT_EQ(WhyNot(job + "reduce_cost = 1\nreduce_time = 4\n"),
            "w.toml:7: jobs[0].reduce_cost: `reduce_time` is given too; leave one of them out");
  EXPECT_EQ(WhyNot(job + "reduce_cost = 1\nreduce_rate = 4\n"),
            "w.toml:7: jobs[0].reduce_cost: `reduce_rate` is given too; leave one of them out");
}

TEST(Draws, EstimatesOfMapsAndReducesMayBeOffByThemselves) {
  const std::string job =
      "[[jobs]]\ncount = 500\nmaps = 2\nmap_time = 10\nreduces = 2\nreduce_time = 20\ntell_times = true\n"
      "estimate_bias = { uniform = [0.5, 1.5] }\n";
  const auto products = [](const SimulationFile& file) {
    double both = 0;  // the mean of (map estimate / 10 s - 1) (reduce estimate / 20 s - 1)
    for (const SimJob& one : file.workload.jobs)
      both += (static_cast<double>(one.map_time) / 10e6 - 1) * (static_cast<double>(one.reduce_time) / 20e6 - 1) / 500;
    return both;
  };
  // The variance of a uniform variable of width 1 is 1/12; of independent ones the product is 0 on average.
  EXPECT_NEAR(products(MustParse(job)), 1.0 / 12, 0.02);
  EXPECT_NEAR(products(MustParse(job + "reduce_estimate_bias = { uniform = [0.5, 1.5] }\n")), 0, 0.02);
}

}  // namespace
}  // namespace millrace::sim
