// SPDX-License-Identifier: Apache-2.0
// What a simulation says of itself is so: its figures do not depend on when it begins, one without a sample is not
// printed, a run that can go on no more says so under every scheduler, and what contradicts itself is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "lab/workload/simulation_file.h"
#include "schedulers/offering/common_settings.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "tests/lab/testing.h"
#include "tests/schedulers/every_scheduler.h"

namespace millrace::sim {
namespace {

using ::testing::HasSubstr;

// Four nodes fall idle and fill again as jobs of two users come.
Workload Begun(Micros at) {
  std::vector<SimJob> jobs;
  for (int i = 0; i < 4; ++i) {
    SimJob& job = jobs.emplace_back(MakeJob(6, 20 + i, 2, 10));
    job.submit = at + i * 15 * kSecond;
    job.user = i % 2 == 0 ? "ann" : "bob";
  }
  return Of(jobs);
}

TEST(Measures, TheTimeBeforeTheFirstJobCountsForNothing) {
  for (const char* scheduler : {"fair", "fair+delay+ccs"}) {
    SCOPED_TRACE(scheduler);
    const ClusterSpec cluster = MakeCluster(4, 2, 1, {2, 1});
    const SimResult early = MustSimulate(cluster, Begun(0), scheduler);
    const Micros late = 1'000'003 * kSecond;
    const SimResult result = MustSimulate(cluster, Begun(late), scheduler);
    EXPECT_EQ(SummaryJson(result), SummaryJson(early));
    ASSERT_EQ(result.samples.size(), early.samples.size());
    for (std::size_t i = 0; i < early.samples.size(); ++i) {
      EXPECT_EQ(result.samples[i].time, early.samples[i].time + late);
      EXPECT_EQ(result.samples[i].fairness, early.samples[i].fairness);
    }
  }
}

TEST(Measures, AFigureWithoutASampleIsNotPrinted) {
  // The only job needs 30 s, and the run stops after 5, before the first sample.
  const SimResult stopped =
      MustSimulate(MakeCluster(1, 1, 1, {1, 0}), Of({MakeJob(1, 30)}), "fifo", {.stop_at = 5 * kSecond});
  const auto json = nlohmann::json::parse(SummaryJson(stopped));
  for (const char* figure :
       {"makespan", "mean_turnaround", "turnaround_p50", "turnaround_p95", "turnaround_p99", "mean_wait",
        "mean_slowdown", "reduce_locality", "fairness", "fairness_distance", "late", "reduce_utilisation"}) {
    EXPECT_TRUE(json.at(figure).is_null()) << figure << ": " << json.at(figure);
  }
  EXPECT_TRUE(json.at("pools").at("user").at("mean_turnaround").is_null());
  EXPECT_EQ(json.at("map_utilisation"), 1);
  const auto table = ComparisonTable({stopped}, true);
  for (const char* column : {"MAKESPAN", "TURNAROUND", "P50", "P95", "P99", "F", "d", "LATE"}) {
    const auto at = std::find(table[0].begin(), table[0].end(), column) - table[0].begin();
    EXPECT_EQ(table[1][static_cast<std::size_t>(at)], "-") << column;
  }
  // With a sample each is a number.
  SimJob job = MakeJob(1, 30, 1, 5);
  job.deadline = 100 * kSecond;
  job.maps[0].output = 1000;
  const SimResult ended = MustSimulate(MakeCluster(1, 1, 1, {1, 1}), Of({job}), "fifo");
  const auto all = nlohmann::json::parse(SummaryJson(ended));
  for (const auto& [figure, value] : all.items()) {
    EXPECT_TRUE(figure.ends_with("slowdown") || figure == "program" || !value.is_null()) << figure;  // none is asked
  }
}

// Nobody may ever run the maps. Some parts ask to be woken all the same.
TEST(Measures, StuckIsStuckUnderEveryScheduler) {
  for (const std::string& scheduler : sched::EverySchedulerByName()) {
    for (const bool speculates : {false, true}) {
      SCOPED_TRACE(scheduler + (speculates ? ", with speculation" : ""));
      sched::Settings settings;
      settings.Of<sched::SpeculationSettings>().enabled = speculates;
      SimJob first = MakeJob(2, 10, 1, 10), second = first;
      second.user = "other";
      first.slow_start = 0;
      const Result<SimResult> result =
          Simulate(MakeCluster(2, 1, 1, {0, 1}), Of({first, second}), scheduler, settings, {});
      ASSERT_TRUE(result.ok()) << result.status().message();
      if (scheduler == "fresh-static" || scheduler == "fresh-dynamic" || scheduler.starts_with("fresh-static+")) {
        EXPECT_EQ(result->summary.succeeded, 2U) << "slots have no kind there";
        continue;
      }
      EXPECT_EQ(result->stuck.size(), 2U);
    }
  }
}

// A node is lost with the only replica of what one job reads, and with one of two of what another reads. The place of
// its rack and datacenter is no place of the data then: nothing is said to be near it, and nobody waits to be.
TEST(Measures, AReplicaOnADeadNodeIsNoReplica) {
  const ClusterSpec cluster = [] {
    ClusterSpec made = MakeCluster(6, 3, 2, {1, 1});  // nodes 0 and 1, 2 and 3, 4 and 5 share a rack; 4 and 5 are apart
    made.failures = {{0, kSecond, 0}};
    return made;
  }();
  const auto rack = [](NodeId node) { return node.value / 2; };
  const auto far = [](NodeId node) { return node.value >= 4; };
  for (const std::string& scheduler : sched::EverySchedulerByName()) {
    SCOPED_TRACE(scheduler);
    std::vector<SimJob> jobs;
    for (const std::vector<NodeId>& replicas : {std::vector{NodeId{0}}, {NodeId{0}, NodeId{5}}}) {
      SimJob& job = jobs.emplace_back(MakeJob(2, 5, 1, 1));
      job.submit = 2 * kSecond, job.user = "user" + std::to_string(jobs.size()), job.deadline = 1000 * kSecond;
      for (SimMap& map : job.maps) map.bytes = 1'000'000;
      job.replicas.assign(2, replicas);
    }
    const SimResult result = MustSimulate(cluster, Of(jobs), scheduler, {.task_rows = true});
    EXPECT_EQ(result.jobs[0].start, result.jobs[0].submit) << "there is no place to wait for";
    EXPECT_EQ(result.jobs[0].outcome, sched::JobOutcome::kFailed) << "nobody has its data";
    EXPECT_EQ(result.jobs[1].outcome, sched::JobOutcome::kSucceeded);
    for (const TaskRow& task : result.tasks) {
      if (task.attempt.task.reduce()) continue;
      Locality expected = Locality::kOff;
      if (task.attempt.task.job.value == 1 && far(task.node)) expected = Locality::kDatacenter;
      if (task.attempt.task.job.value == 1 && rack(task.node) == 2) expected = Locality::kRack;
      if (task.attempt.task.job.value == 1 && task.node == NodeId{5}) expected = Locality::kNode;
      EXPECT_EQ(task.locality, expected) << ToText(task.attempt) << " on node " << task.node.value;
    }
  }
}

// What a lost node had is a place again when it is back.
TEST(Measures, AReplicaIsOneAgainWhenItsNodeIsBack) {
  ClusterSpec cluster = MakeCluster(2, 1, 1, {1, 0});
  cluster.failures = {{0, kSecond, 8 * kSecond}};
  SimJob job = MakeJob(3, 5);
  job.submit = 2 * kSecond;
  for (SimMap& map : job.maps) map.bytes = 1'000'000;
  job.replicas = {{NodeId{1}}, {NodeId{0}}, {NodeId{0}}};
  const SimResult result = MustSimulate(cluster, Of({job}), "fifo+delay", {.task_rows = true});
  EXPECT_EQ(result.jobs[0].outcome, sched::JobOutcome::kSucceeded);
  EXPECT_EQ(result.tasks.back().node, NodeId{0});
  EXPECT_EQ(result.tasks.back().locality, Locality::kNode);
}

// Nothing can go on in any of these, whatever asks to be woken, and whatever runs and waits.
TEST(Measures, StuckIsStuckWhateverTheReason) {
  const auto two = [](SimJob job) {
    std::vector<SimJob> jobs(2, job);
    jobs[0].user = "ann", jobs[1].user = "bob";
    return jobs;
  };
  struct Case {
    const char* name;
    ClusterSpec cluster;
    std::vector<SimJob> jobs;
  };
  std::vector<Case> cases;
  {
    Case& lost =
        cases.emplace_back(Case{"all nodes are lost", MakeCluster(2, 1, 1, {1, 1}), two(MakeJob(4, 10, 1, 10))});
    lost.cluster.failures = {{0, 5 * kSecond, 0}, {1, 6 * kSecond, 0}};
  }
  cases.push_back({"nobody takes reduces", MakeCluster(2, 1, 1, {1, 0}), two(MakeJob(4, 10, 1, 10))});
  {
    // The node with the map slots is lost when reduces of both jobs hold the slots of the other.
    Case& maps = cases.emplace_back(Case{"the maps have no slots any more", MakeCluster(2, 1, 1, {2, 0}), {}});
    maps.cluster.nodes[1].slots = {0, 2};
    maps.cluster.failures = {{0, 25 * kSecond, 0}};
    SimJob job = MakeJob(8, 10, 2, 10);
    job.slow_start = 0.05;
    maps.jobs = two(job);
  }
  for (const Case& one : cases) {
    for (const std::string& scheduler : sched::EverySchedulerByName()) {
      for (const bool speculates : {false, true}) {
        SCOPED_TRACE(std::string(one.name) + ", " + scheduler + (speculates ? ", with speculation" : ""));
        sched::Settings settings;
        settings.Of<sched::SpeculationSettings>().enabled = speculates;
        settings.Of<sched::FairSettings>().preempt_within_pools = true;
        const Result<SimResult> result = Simulate(one.cluster, Of(one.jobs), scheduler, settings, {});
        ASSERT_TRUE(result.ok()) << result.status().message();
        if (result->summary.unfinished == 0) {
          EXPECT_TRUE(scheduler.starts_with("fresh-")) << "slots have no kind there";
          continue;
        }
        EXPECT_EQ(result->stuck.size(), result->summary.unfinished);
        for (const StuckJob& stuck : result->stuck) EXPECT_FALSE(stuck.why.empty());
      }
    }
  }
}

// Returns the reason why the file is refused.
std::string WhyRefused(const std::string& text) {
  const Result<SimulationFile> file = ParseSimulation(text, "w.toml", {});
  if (!file.ok()) return file.status().message();
  if (const Status may = file->CheckSimulable(); !may.ok()) return may.message();
  return Simulate(file->cluster, file->workload, "fifo", {}, {}).status().message();
}

TEST(Contradictions, AreRefusedAndNamed) {
  const std::string jobs = "[[jobs]]\nname = \"a\"\nmaps = 1\n";
  EXPECT_EQ(WhyRefused("[cluster]\nnodes = 4\nracks = 4\ndatacenters = 2\n" + jobs), "");
  EXPECT_THAT(WhyRefused("[cluster]\nnodes = 4\nracks = 5\n" + jobs), HasSubstr("racks"));
  EXPECT_THAT(WhyRefused("[cluster]\nnodes = 4\nracks = 5\n" + jobs),
              HasSubstr("5, though the cluster has only 4 nodes"));
  EXPECT_THAT(WhyRefused("[cluster]\nnodes = 4\nracks = 2\ndatacenters = 3\n" + jobs), HasSubstr("only 2 racks"));
  EXPECT_THAT(WhyRefused("[cluster]\nnodes = 4\ndatacenters = 5\n" + jobs), HasSubstr("only 4 nodes"));
  EXPECT_THAT(WhyRefused("stop_at = \"10s\"\n" + jobs + "arrival = { kind = \"batch\", at = \"20s\" }\n"),
              HasSubstr("nothing would run"));
  EXPECT_THAT(WhyRefused(jobs + "map_time = \"1s\"\nmap_rate = \"1M\"\n"), HasSubstr("`map_time` is given too"));
  EXPECT_THAT(WhyRefused(jobs + "reduce_time = \"1s\"\nreduce_rate = \"1M\"\n"),
              HasSubstr("`reduce_time` is given too"));
  EXPECT_THAT(WhyRefused(jobs + "reduces = 1\nreduces_per_map = 1\n"), HasSubstr("`reduces` is given too"));
  const auto failures = [&](const std::string& second) {
    return WhyRefused(
        "[cluster]\nnodes = 2\n[[cluster.failures]]\nnode = 1\nat = \"10s\"\nback = \"50s\"\n"
        "[[cluster.failures]]\n" +
        second + jobs);
  };
  EXPECT_THAT(failures("node = 1\nat = \"20s\"\n"), HasSubstr("node 1 is away at that time"));
  EXPECT_THAT(failures("node = 1\nat = \"5s\"\n"), HasSubstr("node 1 is away at that time"));
  EXPECT_EQ(failures("node = 1\nat = \"50s\"\nback = \"60s\"\n"), "");
  EXPECT_EQ(failures("node = 0\nat = \"20s\"\nback = \"21s\"\n"), "");
}

TEST(Contradictions, JobsThatWaitForEachOtherAndReplicasThatAreOne) {
  const auto why = [](const std::function<void(std::vector<SimJob>*)>& change) {
    std::vector<SimJob> jobs(4, MakeJob(1, 1));
    for (int i = 0; i < 4; ++i) jobs[static_cast<std::size_t>(i)].name = std::string(1, static_cast<char>('a' + i));
    change(&jobs);
    return Simulate(MakeCluster(3), Of(jobs), "fifo", {}, {}).status().message();
  };
  EXPECT_EQ(why([](auto* jobs) { (*jobs)[0].after = 1, (*jobs)[1].after = 3, (*jobs)[2].after = 1; }), "");
  const std::string circle =
      why([](auto* jobs) { (*jobs)[0].after = 1, (*jobs)[1].after = 3, (*jobs)[3].after = 1, (*jobs)[2].after = 0; });
  EXPECT_THAT(circle, HasSubstr("waits for job"));
  EXPECT_THAT(circle, HasSubstr("(\"b\")"));
  EXPECT_THAT(circle, HasSubstr("(\"d\")"));
  EXPECT_THAT(why([](auto* jobs) {
                (*jobs)[2].replicas = {{NodeId{1}, NodeId{2}, NodeId{1}}};
              }),
              HasSubstr("job 2 (\"c\") has two replicas of one block on node 1"));
}

}  // namespace
}  // namespace millrace::sim
