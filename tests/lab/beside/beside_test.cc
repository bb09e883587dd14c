// SPDX-License-Identifier: Apache-2.0
// The errors of simulations beside live runs. Kendall's tau is that of scipy.stats.kendalltau (1.x, tau-b).
#include "lab/beside/beside.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lab/report/metrics_of_run.h"
#include "lab/report/numbers.h"
#include "tests/lab/records.h"

namespace millrace::compare {
namespace {

std::vector<BesideRow> Rows(const std::vector<double>& live, const std::vector<double>& simulated) {
  std::vector<BesideRow> rows;
  for (std::size_t i = 0; i < live.size(); ++i)
    rows.push_back(RowOf(static_cast<std::uint32_t>(i), {{live[i], simulated[i]}}));
  return rows;
}

TEST(BesideTest, TheErrorIsTheGeometricMeanOfTheRatiosLessOne) {
  const BesideRow row = RowOf(1, {{10, 9.5}, {20, 21}, {30, 33}});
  EXPECT_EQ(row.runs, 3u);
  EXPECT_EQ(row.live, 20);
  EXPECT_NEAR(row.simulated, 63.5 / 3, 1e-12);
  EXPECT_NEAR(*row.error, 0.03141916416832591, 1e-12) << "scipy.stats.gmean([0.95, 1.05, 1.1]) - 1";
  ASSERT_TRUE(row.interval.has_value());
  EXPECT_LT(row.interval->low, *row.error);
  EXPECT_GT(row.interval->high, *row.error);
}

TEST(BesideTest, AMetricThatCanBeZeroHasNoInterval) {
  const BesideRow row = RowOf(0, {{0, 0.1}, {0.4, 0.2}});
  EXPECT_FALSE(row.interval.has_value());
  EXPECT_NEAR(*row.error, -0.25, 1e-12) << "0.3 of 0.4";
  EXPECT_FALSE(RowOf(0, {{0, 3}}).error.has_value());
  EXPECT_NEAR(*RowOf(0, {{2, 3}}).error, 0.5, 1e-12) << "one run has no interval";
  EXPECT_FALSE(RowOf(0, {{2, 3}, {4, 7}}).interval.has_value()) << "nor have two";
  EXPECT_NEAR(*RowOf(0, {{2, 4}, {4, 2}}).error, 0, 1e-12) << "twice and half";
}

TEST(BesideTest, RankAgreementIsKendallsTau) {
  EXPECT_NEAR(*RankAgreement(Rows({12.5, 8.25, 9, 30, 11}, {13, 7.5, 9.5, 22, 13.5})), 0.8, 1e-12);
  EXPECT_NEAR(*RankAgreement(Rows({1, 2, 2}, {3, 5, 4})), 0.816496580927726, 1e-12);
  EXPECT_FALSE(RankAgreement(Rows({1}, {2})).has_value());
}

// A comparison of fifo and fair of a workload of one job, live in 4 s and 5 s in blocks 0 and 1, and so on.
class Compared {
 public:
  Compared(bool second, const std::vector<std::vector<double>>& ends) {
    subject_.schedulers = testing::Plain({"fifo", "fair"});
    subject_.headline = {"turnaround"};
    subject_.nodes = {{"a", "r0", "dc0", 1, 1}};
    material_.subject = &subject_;
    material_.design.schedulers = 2, material_.design.blocks = static_cast<std::uint32_t>(ends.size());
    records_.reserve(3 * ends.size());
    for (std::uint32_t block = 0; block < ends.size(); ++block) {
      for (std::uint32_t run = 0; run < (second ? 3 : 2); ++run) {
        RunRecord& record = records_.emplace_back();
        record.run = {block, run, run % 2, run == 2, 1 + block, 0};
        const double end = ends[block][run];
        record.outcome =
            testing::Outcome({testing::Job(0, "u", 0, 0, end)}, {testing::Task(0, TaskKind::kMap, 0, 0, 0, 0, end)});
        record.outcome.result.tasks[0].locality = Locality::kNode;
      }
    }
    for (const RunRecord& record : records_) material_.counting.push_back(&record);
  }
  [[nodiscard]] Beside Simulated(const std::string& links = "",
                                 const std::string& map = "map_time = 3\nmap_cores = 0\n") const {
    const auto draw = [&](std::uint64_t) {
      return sim::ParseSimulation("[cluster]\nnodes = 1\nmap_slots = 1\n" + links +
                                      "[placement]\nreplication = 1\n[[jobs]]\nname = \"a\"\nmaps = 1\n" + map,
                                  "w", {});
    };
    return SimulateBeside(material_, draw).value();
  }
  void RunsOn(const std::string& where) { subject_.where = where; }
  [[nodiscard]] const Subject& subject() const { return subject_; }

 private:
  Subject subject_;
  Material material_;
  std::vector<RunRecord> records_;
};

const BesideRow& RowIn(const Beside& beside, std::string_view metric, std::uint32_t scheduler) {
  for (const BesideMetric& of : beside.metrics) {
    if (of.metric->key == metric) return of.rows.at(scheduler);
  }
  ADD_FAILURE() << metric;
  return beside.metrics.at(0).rows.at(0);
}

TEST(BesideTest, CostsAreOfSecondRunsWhichAreNotJudged) {
  // Second runs take 4 s each, so a map costs 1 s beyond its 3.
  const Beside beside = Compared(true, {{5, 8, 4}, {5, 8, 4}, {5, 8, 4}}).Simulated();
  EXPECT_TRUE(beside.second);
  EXPECT_EQ(beside.measured_runs, 3u);
  EXPECT_NEAR(beside.costs.classes[0].of[TaskKind::kMap].latency, 1e6, 1);
  for (const std::uint32_t scheduler : {0, 1}) {
    const BesideRow& row = RowIn(beside, "makespan", scheduler);
    EXPECT_EQ(row.runs, 3u);
    EXPECT_NEAR(row.simulated, 4, 1e-9);
    EXPECT_NEAR(*row.error, scheduler == 0 ? -0.2 : -0.5, 1e-9);
  }
}

TEST(BesideTest, WithoutSecondRunsTheFirstBlockIsMeasuredAndLeftOut) {
  const Compared compared(false, {{4, 8}, {5, 8}});
  const Beside beside = compared.Simulated();
  EXPECT_FALSE(beside.second);
  EXPECT_EQ(beside.measured_runs, 1u);
  EXPECT_EQ(RowIn(beside, "makespan", 0).runs, 1u);
  EXPECT_EQ(RowIn(beside, "makespan", 1).runs, 2u);
  EXPECT_NEAR(RowIn(beside, "makespan", 0).live, 5, 1e-9) << "that of the second block alone";
}

TEST(BesideTest, LinksThatALocalClusterDoesNotHaveAreNotSimulated) {
  Compared compared(true, {{5, 8, 4}, {5, 8, 4}});
  const std::string links = "node_bandwidth = 1e3\ndatacenter_bandwidth = 2e3\n";
  for (const std::string where : {"local", "testbed"}) {
    compared.RunsOn(where);
    const Beside beside = compared.Simulated(links);
    const bool local = where == "local";
    EXPECT_EQ(beside.links_not_there, local ? (std::vector<std::string>{"node_bandwidth", "datacenter_bandwidth"})
                                            : std::vector<std::string>());
    const std::vector<std::string> lines = BesideLines(beside, {"fifo", "fair"}, Design{});
    const bool said = std::ranges::any_of(lines, [](const std::string& line) {
      return line ==
             "not simulated: node_bandwidth, datacenter_bandwidth of the workload file, since a local cluster has no "
             "such links";
    });
    EXPECT_EQ(said, local) << where;
    EXPECT_EQ(BesideJson(beside)["parameters"]["links_not_there"].size(), local ? 2U : 0U);
  }
  compared.RunsOn("local");
  EXPECT_TRUE(compared.Simulated().links_not_there.empty()) << "the file states none";
}

TEST(BesideTest, AFactorThatSaysThatTheModelIsWrongIsWarnedOf) {
  const Compared compared(true, {{5, 8, 4}, {5, 8, 4}});
  const auto warnings = [&](const char* map) {
    return BesideWarnings(compared.Simulated("", std::string(map) + "\nprogram = \"p\"\n"), {"fifo", "fair"}, Design{});
  };
  EXPECT_TRUE(warnings("map_time = 0.5").empty()) << "4 s are eight times as much";
  EXPECT_TRUE(warnings("map_time = 30").empty());
  const std::vector<std::string> often = warnings("map_time = 0.2"), rarely = warnings("map_time = 80");
  ASSERT_EQ(often.size(), 1U);
  EXPECT_EQ(often[0].find("maps of a are simulated with 20 times what the workload file says that they take"), 0U)
      << often[0];
  ASSERT_EQ(rarely.size(), 1U);
  EXPECT_EQ(rarely[0].find("maps of a are simulated with 0.05 times"), 0U) << rarely[0];
  EXPECT_TRUE(
      BesideWarnings(compared.Simulated("", "map_time = 0.001\nmap_cores = 0\n"), {"fifo", "fair"}, Design{}).empty())
      << "a latency is no factor";
  EXPECT_TRUE(warnings("").empty()) << "the file does not say what it takes";
}

TEST(BesideTest, LinksThatAreBusyUnderOneSchedulerAloneAreWarnedOf) {
  // Runs of 10 s over the links of two datacenters, 1 MB/s each way: what each scheduler moves, in MB.
  const auto warnings = [](double baseline, double other, double bandwidth, const char* metric) {
    const auto rows = [](double of_baseline, double of_other) {
      std::vector<BesideRow> made(2);
      made[0].live = of_baseline, made[1].live = of_other;
      made[1].scheduler = 1;
      return made;
    };
    Beside beside;
    beside.costs.datacenter_bandwidth = bandwidth, beside.datacenters = 2;
    beside.metrics.push_back({FindMetric("makespan"), rows(10, 10), {}});
    beside.metrics.push_back({FindMetric(metric), rows(baseline * 1e6, other * 1e6), {}});
    return BesideWarnings(beside, {"fair", "joss-t"}, Design{});
  };
  const auto slow = warnings(16, 6, 1e6, "datacenter_bytes"), fast = warnings(6, 16, 1e6, "datacenter_bytes");
  ASSERT_EQ(slow.size(), 1U);
  EXPECT_EQ(slow[0].find("the bytes that joss-t moves between datacenters take 30% of what the links carry, those of "
                         "fair, under which the costs were measured, 80%"),
            0U)
      << slow[0];
  EXPECT_TRUE(slow[0].ends_with("simulations of joss-t may be too slow")) << slow[0];
  ASSERT_EQ(fast.size(), 1U);
  EXPECT_TRUE(fast[0].ends_with("simulations of joss-t may be too fast")) << fast[0];
  EXPECT_TRUE(warnings(16, 12, 1e6, "datacenter_bytes").empty()) << "about as much";
  EXPECT_TRUE(warnings(4, 2, 1e6, "datacenter_bytes").empty()) << "the links are hardly used";
  EXPECT_TRUE(warnings(16, 6, 0, "datacenter_bytes").empty()) << "no link limits";
  EXPECT_TRUE(warnings(16, 6, 1e6, "rack_bytes").empty()) << "racks have no limit here";
}

TEST(BesideTest, ItsFormsSayTheSame) {
  const Compared compared(true, {{5, 8, 4}, {5, 8, 4}, {5, 8, 4}});
  const Beside beside = compared.Simulated();
  const nlohmann::ordered_json json = BesideJson(beside);
  EXPECT_EQ(json["metrics"]["makespan"][1]["live"], 8.0);
  EXPECT_EQ(json["metrics"]["makespan"][1]["error"]["value"], -0.5);
  EXPECT_EQ(json["parameters"]["classes"][0]["map"]["latency"], 1.0);
  EXPECT_TRUE(json["parameters"]["classes"][0]["reduce"].is_null());
  EXPECT_TRUE(json["parameters"]["node_bandwidth"].is_null());
  const std::string csv = BesideCsv(beside, sched::LabelsOf(compared.subject().schedulers));
  EXPECT_NE(csv.find("fair,makespan,s,3,8,4,-0.5,-0.5,-0.5,"), std::string::npos) << csv;
  const auto table = BesideTable(beside, compared.subject(), false);
  EXPECT_EQ(table[1],
            (std::vector<std::string>{"turnaround", "fifo", "5.000 s", "4.000 s", "-20.0%", "-20.0% to -20.0%"}));
}

}  // namespace
}  // namespace millrace::compare
