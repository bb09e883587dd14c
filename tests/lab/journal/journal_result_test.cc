// SPDX-License-Identifier: Apache-2.0
// A journal of the simulator, given to ResultOfJournal, gives the rows that the simulator reported itself.
#include "lab/journal/journal_result.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "base/text.h"
#include "schedulers/offering/common_settings.h"
#include "tests/lab/testing.h"

namespace millrace::sim {
namespace {

// Times are odd microseconds, so that no event falls on the moment of a sample.
Workload RandomWorkload(std::uint64_t seed, std::uint32_t jobs) {
  Random random(seed);
  Workload workload;
  for (std::uint32_t i = 0; i < jobs; ++i) {
    SimJob& job = workload.jobs.emplace_back();
    job.name = "j" + std::to_string(i);
    job.user = "u" + std::to_string(random.Below(3));
    job.submit = static_cast<Micros>(random.Below(60'000'000));
    if (random.Below(2) == 0) job.deadline = static_cast<Micros>(50 + random.Below(200)) * kSecond;
    job.maps.resize(1 + random.Below(30));
    for (SimMap& map : job.maps) {
      map = {1'000'000 * (1 + random.Below(200)), static_cast<Micros>(random.Below(20'000'000)),
             1'000'000 * random.Below(100)};
    }
    job.reduces.resize(random.Below(5));
    for (SimReduce& reduce : job.reduces) reduce = {random.Unit(), static_cast<Micros>(random.Below(20'000'000)), 1};
  }
  return workload;
}

struct Pair {
  SimResult simulated, of_journal;
};

Pair RunBoth(const ClusterSpec& cluster, const Workload& workload, const std::string& scheduler,
             const sched::Settings& settings, JournalView view = {}) {
  std::string journal;
  SimOptions options;
  options.task_rows = true;
  options.sample_interval = view.sample_interval;
  options.journal = [&](std::string_view line) { (journal += line) += '\n'; };
  Pair pair{MustSimulate(cluster, workload, scheduler, options, settings), {}};
  view.scheduler = scheduler;
  Result<SimResult> result = ResultOfJournal(journal, "journal", workload, settings, view);
  EXPECT_TRUE(result.ok()) << result.status().message();
  if (result.ok()) pair.of_journal = std::move(result).value();
  return pair;
}

// When a map's input was there, no journal says.
SimResult WithoutReads(SimResult result) {
  for (TaskRow& row : result.tasks) {
    if (!row.attempt.task.reduce()) row.read = row.start;
  }
  return result;
}

void ExpectAlmost(std::uint64_t a, std::uint64_t b, const std::string& what) {
  EXPECT_NEAR(static_cast<double>(a), static_cast<double>(b), 2 + 1e-6 * static_cast<double>(a)) << what;
}

class JournalOf : public testing::TestWithParam<std::string> {};

TEST_P(JournalOf, ARunGivesTheRowsOfTheRun) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Workload workload = RandomWorkload(seed, 25);
    auto [simulated, journal] = RunBoth(MakeCluster(12, 4, 2, {2, 1}), workload, GetParam(), {});
    const std::string what = "seed " + std::to_string(seed);
    for (std::size_t i = 0; i < simulated.jobs.size(); ++i) {
      JobRow& job = journal.jobs[i];
      ExpectAlmost(simulated.jobs[i].shuffle_bytes, job.shuffle_bytes, what);
      ExpectAlmost(simulated.jobs[i].shuffle_datacenter_bytes, job.shuffle_datacenter_bytes, what);
      job.shuffle_bytes = simulated.jobs[i].shuffle_bytes;  // shares are rounded once here, batch by batch there
      job.shuffle_datacenter_bytes = simulated.jobs[i].shuffle_datacenter_bytes;
    }
    EXPECT_EQ(JobsCsv(simulated), JobsCsv(journal)) << what;
    EXPECT_EQ(TasksCsv(WithoutReads(simulated)), TasksCsv(journal)) << what;
    EXPECT_EQ(SamplesCsv(simulated), SamplesCsv(journal)) << what;
    const Summary &a = simulated.summary, &b = journal.summary;
    EXPECT_EQ(a.launches, b.launches) << what;
    EXPECT_EQ(a.events, b.events) << what;
    EXPECT_EQ(a.makespan, b.makespan) << what;
    EXPECT_EQ(a.utilisation, b.utilisation) << what;
    EXPECT_EQ(a.tasks_per_node_deviation, b.tasks_per_node_deviation) << what;
    ExpectAlmost(a.peak_space, b.peak_space, what);
    ExpectAlmost(a.rack_bytes, b.rack_bytes, what);
    ExpectAlmost(a.datacenter_bytes, b.datacenter_bytes, what);
    EXPECT_EQ(simulated.scheduler, journal.scheduler);
  }
}

INSTANTIATE_TEST_SUITE_P(All, JournalOf,
                         testing::Values("fifo", "fair", "fair+delay", "fresh-dynamic", "fresh-static", "lsap-fair",
                                         "fair+ccs", "fair+preempt", "capacity", "joss-t", "joss-j", "cp", "edf",
                                         "lsap", "dl"),
                         [](const auto& of) {
                           std::string name = of.param;
                           std::erase_if(name, [](char c) { return c == '+' || c == '-'; });
                           return name;
                         });

// Attempts fail, nodes are lost and come back, and slow attempts have rivals: all ends of attempts are told alike.
TEST(JournalResult, FailuresAndRivalsEndAlike) {
  ClusterSpec cluster = MakeCluster(12, 4, 2, {2, 1});
  cluster.failure_probability = 0.05;
  cluster.slow_share = 0.1;
  AddRandomFailures(&cluster, 500 * kSecond, 60 * kSecond, 3600 * kSecond, 5);
  sched::Settings settings;
  settings.Of<sched::SpeculationSettings>().enabled = true;
  const auto [simulated, journal] = RunBoth(cluster, RandomWorkload(4, 25), "fair", settings);
  EXPECT_EQ(TasksCsv(WithoutReads(simulated)), TasksCsv(journal));
  EXPECT_GT(journal.summary.speculative, 0U);
  EXPECT_GT(journal.summary.failed_attempts, 0U);
  EXPECT_EQ(simulated.summary.killed_attempts, journal.summary.killed_attempts);
  EXPECT_EQ(simulated.summary.utilisation, journal.summary.utilisation);
  EXPECT_EQ(SamplesCsv(simulated), SamplesCsv(journal));
}

// A live cluster numbers jobs and nodes in its own way, and its clock does not begin at 0.
TEST(JournalResult, JobsAndNodesAreRenumberedAndOthersLeftOut) {
  const std::string journal =
      "1000 NodeJoined node=n4 rack=r0 datacenter=d0 maps=1 reduces=0\n"
      "1000 NodeJoined node=n9 rack=r1 datacenter=d0 maps=1 reduces=0\n"
      "1500 SchedulerSet name=fair settings=\n"
      "2000 JobSubmitted job=job7 name=other maps=5:n4\n"
      "3000 JobSubmitted job=job8 name=ours maps=5:n4 deadline=9000\n"
      "3100 AttemptLaunched attempt=job7.m.0.0 node=n4\n"
      "3200 AttemptLaunched attempt=job8.m.0.0 node=n9\n"
      "4000 AttemptSucceeded attempt=job7.m.0.0\n"
      "5000 AttemptSucceeded attempt=job8.m.0.0 input_bytes=5\n"
      "6000 JobSubmitted job=job9 name=later maps=5:n4\n";
  SimJob job = MakeJob(1, 1);
  job.name = "ours";
  const JournalView view{
      .jobs = {{JobId{8}, 0}}, .nodes = {{NodeId{4}, NodeId{0}}, {NodeId{9}, NodeId{1}}}, .begin = 2500};
  const Result<SimResult> result = ResultOfJournal(journal, "journal", Of({job}), {}, view);
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->scheduler, "fair");
  ASSERT_EQ(result->tasks.size(), 1U);
  EXPECT_EQ(result->tasks[0].node, NodeId{1});
  EXPECT_EQ(result->tasks[0].locality, Locality::kDatacenter);
  EXPECT_EQ(result->jobs[0].submit, 500);
  EXPECT_EQ(result->jobs[0].start, 700);
  EXPECT_EQ(result->jobs[0].end, 2500);
  EXPECT_EQ(result->jobs[0].bytes_at[2], 5U);
  EXPECT_DOUBLE_EQ(result->summary.utilisation[TaskKind::kMap], 1800.0 / (2 * 2000));  // of two slots, from 500 to 2500
}

TEST(JournalResult, WhatDoesNotFitIsToldWithItsLine) {
  const Workload workload = Of({MakeJob(1, 1)});
  EXPECT_EQ(
      ResultOfJournal("1 JobSubmitted job=job0 name=a\nnonsense\n", "journal", workload, {}, {}).status().message(),
      "journal:2: \"nonsense\" is not an event");
  EXPECT_EQ(ResultOfJournal("1 JobSubmitted job=job1 name=a\n", "journal", workload, {}, {}).status().message(),
            "journal:1: the workload has no job1; it has 1 job");
  EXPECT_FALSE(ResultOfJournal("", "journal", workload, {}, {.scheduler = "nobody"}).ok());
  EXPECT_TRUE(
      ResultOfJournal("5 JobEvicted job=job99999\n5 NodeJoined node=n4000000000 maps=1\n", "journal", workload, {}, {})
          .ok());
}

}  // namespace
}  // namespace millrace::sim
