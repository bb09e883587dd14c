// SPDX-License-Identifier: Apache-2.0
// Tests what holds for any workload under any scheduler.
#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "schedulers/offering/common_settings.h"
#include "schedulers/policies/catalog.h"
#include "schedulers/policies/simple/capacity_settings.h"
#include "tests/lab/testing.h"

namespace millrace::sim {
namespace {

Workload RandomWorkload(std::uint64_t seed, std::uint32_t jobs) {
  Random random(seed);
  Workload workload;
  for (std::uint32_t i = 0; i < jobs; ++i) {
    SimJob& job = workload.jobs.emplace_back();
    job.name = "j" + std::to_string(i);
    job.user = "u" + std::to_string(random.Below(3));
    job.priority = static_cast<sched::Priority>(random.Below(5));
    job.submit = static_cast<Micros>(random.Below(100)) * kSecond;
    job.program = "p" + std::to_string(random.Below(4));
    if (random.Below(2) == 0) job.deadline = static_cast<Micros>(50 + random.Below(200)) * kSecond;
    job.maps.resize(1 + random.Below(30));
    for (SimMap& map : job.maps) {
      map = {1'000'000 * random.Below(200), static_cast<Micros>(random.Below(20'000'000)),
             1'000'000 * random.Below(100)};
    }
    job.reduces.resize(random.Below(5));
    for (SimReduce& reduce : job.reduces) {
      reduce = {random.Unit(), static_cast<Micros>(random.Below(20'000'000)), 1000};
    }
  }
  return workload;
}

std::uint64_t MapBytes(const SimJob& job) {
  std::uint64_t bytes = 0;
  for (const SimMap& map : job.maps) bytes += map.bytes;
  return bytes;
}

std::uint64_t ShuffleBytes(const SimJob& job) {
  std::uint64_t bytes = 0;
  for (const SimMap& map : job.maps) bytes += map.output;
  return job.reduces.empty() ? 0 : bytes;
}

class EveryScheduler : public testing::TestWithParam<std::string> {};

TEST_P(EveryScheduler, EveryTaskSucceedsOnceAndBytesAddUp) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Workload workload = RandomWorkload(seed, 25);
    const SimResult result = MustSimulate(MakeCluster(12, 4, 2, {2, 1}), workload, GetParam(), {.task_rows = true});
    EXPECT_EQ(result.summary.succeeded, 25U) << "seed " << seed;
    std::map<TaskId, int> succeeded;
    for (const TaskRow& row : result.tasks) {
      EXPECT_NE(row.how, AttemptEnd::kRunning);
      if (row.how == AttemptEnd::kSucceeded) ++succeeded[row.attempt.task];
    }
    std::size_t tasks = 0;
    for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
      const SimJob& job = workload.jobs[i];
      const JobRow& row = result.jobs[i];
      tasks += job.maps.size() + job.reduces.size();
      if (row.killed + row.preempted + row.speculative > 0) continue;  // what these read counts too
      EXPECT_EQ(row.bytes_at[0] + row.bytes_at[1] + row.bytes_at[2] + row.bytes_at[3], MapBytes(job));
      EXPECT_NEAR(static_cast<double>(row.shuffle_bytes), static_cast<double>(ShuffleBytes(job)), 1);
    }
    EXPECT_EQ(succeeded.size(), tasks) << "seed " << seed;
    for (const auto& [task, times] : succeeded) EXPECT_EQ(times, 1);
  }
}

TEST_P(EveryScheduler, EqualSeedsGiveEqualBytes) {
  ClusterSpec cluster = MakeCluster(12, 4, 2, {2, 1});
  cluster.slow_share = 0.1, cluster.failure_probability = 0.02;
  cluster.failures = {{3, 60 * kSecond, 90 * kSecond}, {7, 100 * kSecond, 0}};
  const Workload workload = RandomWorkload(11, 20);
  std::string runs[3];
  for (int run = 0; run < 3; ++run) {
    SimOptions options{.seed = run < 2 ? 5U : 6U, .task_rows = true};
    options.journal = [&](std::string_view line) { (runs[run] += line) += '\n'; };
    runs[run] += Everything(MustSimulate(cluster, workload, GetParam(), options));
  }
  EXPECT_EQ(runs[0], runs[1]);
  EXPECT_NE(runs[0], runs[2]);
}

TEST_P(EveryScheduler, FaultsLoseNoJob) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    ClusterSpec cluster = MakeCluster(12, 4, 2, {2, 2});
    cluster.slow_share = 0.1;
    AddRandomFailures(&cluster, 300 * kSecond, 30 * kSecond, 2000 * kSecond, seed);
    Workload workload = RandomWorkload(seed + 50, 20);
    for (SimJob& job : workload.jobs) job.max_attempts = 100;  // blocks may be out of reach for a while
    const SimResult result = MustSimulate(cluster, workload, GetParam());
    EXPECT_EQ(result.summary.succeeded, 20U) << "seed " << seed;
  }
}

std::vector<std::string> Schedulers() {
  std::vector<std::string> names;
  for (const sched::PolicyInfo& info : sched::ListPolicies()) {
    names.push_back(info.name);
    std::string all = info.name;
    for (const std::string& part : info.parts) all += "+" + part;
    if (!info.parts.empty()) names.push_back(all);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Sim, EveryScheduler, testing::ValuesIn(Schedulers()), [](const auto& name) {
  std::string safe = name.param;
  for (char& c : safe) c = c == '+' || c == '-' ? '_' : c;
  return safe;
});

TEST(Simulate, SpeculationOvertakesStragglers) {
  ClusterSpec cluster = MakeCluster(10, 1, 1, {2, 1});
  cluster.nodes[3].speed = 0.1;
  sched::Settings settings;
  const Workload workload = Of({MakeJob(20, 30)});
  const Micros without = MustSimulate(cluster, workload, "fifo", {}, settings).summary.makespan;
  EXPECT_EQ(without, 300 * kSecond);
  settings.Of<sched::SpeculationSettings>().enabled = true;
  const SimResult with = MustSimulate(cluster, workload, "fifo", {}, settings);
  EXPECT_GT(with.summary.speculative, 0U);
  EXPECT_LT(with.summary.makespan, without / 2);
}

TEST(Simulate, WrongArgumentsAreRefused) {
  EXPECT_FALSE(Simulate({}, Of({MakeJob(1, 1)}), "fifo", {}, {}).ok());
  EXPECT_FALSE(Simulate(MakeCluster(1), Of({MakeJob(1, 1)}), "nonsense", {}, {}).ok());
  SimJob job = MakeJob(1, 1);
  job.replicas = {{NodeId{9}}};
  EXPECT_FALSE(Simulate(MakeCluster(1), Of({job}), "fifo", {}, {}).ok());
  job = MakeJob(1, 1);
  job.after = 0;
  EXPECT_FALSE(Simulate(MakeCluster(1), Of({job}), "fifo", {}, {}).ok());
}

TEST(Simulate, AWorkloadThatNamesAQueueThatIsNotIsRefused) {
  sched::Settings settings;
  settings.Named<sched::QueueSettings>()["q"].capacity = 60;
  SimJob job = MakeJob(1, 1);
  job.pool = "q";
  EXPECT_TRUE(Simulate(MakeCluster(1), Of({job}), "capacity", settings, {}).ok());
  job.pool = "qq";
  const auto refused = Simulate(MakeCluster(1), Of({MakeJob(1, 1), job}), "capacity", settings, {});
  ASSERT_FALSE(refused.ok());
  const std::string message(refused.status().message());
  EXPECT_TRUE(message.starts_with("job 1 (\"job\"): capacity has no queue called \"qq\"; there is: \"default\", \"q\""))
      << message;
  EXPECT_TRUE(Simulate(MakeCluster(1), Of({job}), "fair", settings, {}).ok());
}

// Node 1 has the only replica of the second map, and is lost while the map runs there.
TEST(Simulate, NoMapIsLocalToALostReplica) {
  ClusterSpec cluster = MakeCluster(2);
  for (NodeSpec& node : cluster.nodes) node.slots = {1, 0};
  cluster.failures = {{1, 10 * kSecond, 0}};
  SimJob job = MakeJob(2, 100);
  job.replicas = {{NodeId{0}}, {NodeId{1}}};
  for (const char* scheduler : {"fifo", "dl", "fair", "capacity", "lsap", "edf"}) {
    SCOPED_TRACE(scheduler);
    const SimResult result = MustSimulate(cluster, Of({job}), scheduler);
    EXPECT_EQ(result.jobs[0].maps_at[0], 2U);  // both at the start
    EXPECT_EQ(result.jobs[0].maps_at[1], 0U);
    EXPECT_EQ(result.jobs[0].maps_at[3], 1U);  // the second one again
  }
}

}  // namespace
}  // namespace millrace::sim
