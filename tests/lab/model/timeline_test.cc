// SPDX-License-Identifier: Apache-2.0
// Tests runs that are small enough to be worked out by hand.
#include <gtest/gtest.h>

#include "schedulers/offering/common_settings.h"
#include "tests/lab/testing.h"

namespace millrace::sim {
namespace {

constexpr std::uint64_t kSecondOfLink = 125'000'000;  // bytes that a node's link carries in a second

// Returns nodes with these map and reduce slots, in one rack.
ClusterSpec Nodes(const std::vector<sched::Slots>& slots) {
  ClusterSpec cluster = MakeCluster(static_cast<std::uint32_t>(slots.size()));
  for (std::size_t i = 0; i < slots.size(); ++i) cluster.nodes[i].slots = slots[i];
  return cluster;
}

Micros EndOf(const ClusterSpec& cluster, SimJob job) {
  return MustSimulate(cluster, Of({std::move(job)}), "fifo").jobs[0].end;
}

SimJob WithData(std::size_t maps, NodeId at) {
  SimJob job = MakeJob(maps, 10);
  for (SimMap& map : job.maps) map.bytes = kSecondOfLink;
  job.replicas.assign(maps, {at});
  return job;
}

TEST(Timeline, MapsRunInWaves) { EXPECT_EQ(EndOf(MakeCluster(1, 1, 1, {2, 1}), MakeJob(5, 10)), 30 * kSecond); }

TEST(Timeline, ALocalMapDoesNotWaitForTheNetwork) {
  EXPECT_EQ(EndOf(Nodes({{1, 0}}), WithData(1, NodeId{0})), 10 * kSecond);
}

TEST(Timeline, ARemoteMapReadsFirst) {
  EXPECT_EQ(EndOf(Nodes({{0, 0}, {1, 0}}), WithData(1, NodeId{0})), 11 * kSecond);
}

TEST(Timeline, TwoThatReadShareTheLink) {
  EXPECT_EQ(EndOf(Nodes({{0, 0}, {2, 0}}), WithData(2, NodeId{0})), 12 * kSecond);
}

TEST(Timeline, ReadingCanOverlapComputing) {
  ClusterSpec cluster = Nodes({{0, 0}, {1, 0}});
  cluster.overlap_reads = true;
  EXPECT_EQ(EndOf(cluster, WithData(1, NodeId{0})), 10 * kSecond);
  cluster.nodes[0].up = kSecondOfLink / 20.0;
  EXPECT_EQ(EndOf(cluster, WithData(1, NodeId{0})), 20 * kSecond);
}

TEST(Timeline, ASlowDiskDelaysLocalMaps) {
  ClusterSpec cluster = Nodes({{1, 0}});
  cluster.local_read_bandwidth = kSecondOfLink / 2.0;
  EXPECT_EQ(EndOf(cluster, WithData(1, NodeId{0})), 12 * kSecond);
}

TEST(Timeline, ASlowNodeTakesLonger) {
  ClusterSpec cluster = Nodes({{1, 0}});
  cluster.nodes[0].speed = 0.25;
  EXPECT_EQ(EndOf(cluster, MakeJob(1, 10)), 40 * kSecond);
}

TEST(Timeline, RackUplinksAndDatacenterLinksLimit) {
  ClusterSpec cluster = MakeCluster(3, 3, 2, {1, 0});  // dc0: r0 r1, dc1: r2
  cluster.nodes[0].slots = cluster.nodes[1].slots = cluster.nodes[2].slots = {0, 0};
  cluster.rack_bandwidth = kSecondOfLink / 2.0;
  cluster.datacenter_bandwidth = kSecondOfLink / 4.0;
  cluster.nodes[1].slots = {1, 0};
  EXPECT_EQ(EndOf(cluster, WithData(1, NodeId{0})), 12 * kSecond);
  cluster.nodes[1].slots = {0, 0}, cluster.nodes[2].slots = {1, 0};
  EXPECT_EQ(EndOf(cluster, WithData(1, NodeId{0})), 14 * kSecond);
}

// The maps are on nodes 0 and 1. The reduce is on node 2, whose link carries everything.
SimJob WithShuffle(double slow_start) {
  SimJob job = MakeJob(2, 10, 1, 5);
  for (SimMap& map : job.maps) map.output = kSecondOfLink;
  job.slow_start = slow_start;
  return job;
}

TEST(Timeline, AReduceCopiesThenComputes) {
  EXPECT_EQ(EndOf(Nodes({{1, 0}, {1, 0}, {0, 1}}), WithShuffle(1)), 17 * kSecond);
}

TEST(Timeline, CopyingOverlapsTheMaps) {
  SimJob job = WithShuffle(0.5);
  job.maps[1].cpu = 20 * kSecond;
  const SimResult result = MustSimulate(Nodes({{1, 0}, {1, 0}, {0, 1}}), Of({job}), "fifo", {.task_rows = true});
  EXPECT_EQ(result.jobs[0].end, 26 * kSecond);  // the last output is copied at 21
  EXPECT_EQ(result.tasks.back().start, 10 * kSecond);
  EXPECT_EQ(result.tasks.back().read, 21 * kSecond);
  EXPECT_EQ(result.jobs[0].shuffle_bytes, 2 * kSecondOfLink);
}

TEST(Timeline, WhatIsOnTheNodeIsNotCopied) { EXPECT_EQ(EndOf(Nodes({{2, 1}}), WithShuffle(1)), 15 * kSecond); }

TEST(Timeline, ReducesGetTheirSharesByWeight) {
  SimJob job = MakeJob(1, 10, 2, 0);
  job.maps[0].output = 4 * kSecondOfLink;
  job.reduces[0].weight = 3;
  job.slow_start = 1;
  const SimResult result = MustSimulate(Nodes({{1, 0}, {0, 1}, {0, 1}}), Of({job}), "fifo", {.task_rows = true});
  // The sender's link carries both at the same rate until one has its second; the other has two more to go.
  ASSERT_EQ(result.tasks.size(), 3U);
  EXPECT_EQ(result.tasks[1].end, 14 * kSecond);
  EXPECT_EQ(result.tasks[2].end, 12 * kSecond);
}

// Zaharia et al. section 5.3: 100 s of maps and 100 s of reduces a job.
TEST(Timeline, FairSharingEndsABatchLaterThanFifo) {
  SimJob job = MakeJob(100, 10, 100, 10);
  job.slow_start = 1;
  SimJob other = job;
  job.user = "a", other.user = "b";
  const ClusterSpec cluster = MakeCluster(10, 1, 1, {1, 1});
  EXPECT_EQ(MustSimulate(cluster, Of({job, other}), "fifo").summary.makespan, 300 * kSecond);
  EXPECT_EQ(MustSimulate(cluster, Of({job, other}), "fair").summary.makespan, 400 * kSecond);
}

// Copies go on while permits are taken: with one compute permit two reduces compute one after the other, but both have
// copied before (Zaharia et al. section 5.2).
TEST(Timeline, CopyComputeSplittingOverlapsCopyAndCompute) {
  SimJob job = MakeJob(1, 10, 2, 10);
  job.maps[0].output = 10 * kSecondOfLink;
  job.slow_start = 1;
  SimJob second = job;
  second.maps[0].output = 0;
  second.submit = kSecond;
  const ClusterSpec cluster = Nodes({{2, 0}, {0, 1}});
  // fifo: reduces hold the slot from the first fetch on: (5 copy + 10) twice, then 10 twice.
  EXPECT_EQ(MustSimulate(cluster, Of({job, second}), "fifo").summary.makespan, (10 + 15 + 15 + 20) * kSecond);
}

TEST(Timeline, ALostOutputIsMadeAgain) {
  ClusterSpec cluster = Nodes({{1, 0}, {1, 0}, {0, 1}});
  SimJob job = MakeJob(1, 10, 1, 5);
  job.maps[0].output = 10 * kSecondOfLink;
  job.slow_start = 1;
  EXPECT_EQ(EndOf(cluster, job), 25 * kSecond);
  cluster.failures = {{0, 15 * kSecond, 0}};  // half is copied: map again on node 1 (15 to 25), copy, compute
  EXPECT_EQ(EndOf(cluster, job), 40 * kSecond);
  cluster.failures = {{0, 21 * kSecond, 0}};  // all is copied
  EXPECT_EQ(EndOf(cluster, job), 25 * kSecond);
}

TEST(Timeline, ALostNodesTasksRunAgain) {
  ClusterSpec cluster = Nodes({{1, 0}, {1, 0}});
  cluster.failures = {{0, 5 * kSecond, 8 * kSecond}};
  const SimResult result = MustSimulate(cluster, Of({MakeJob(2, 10)}), "fifo");
  EXPECT_EQ(result.jobs[0].end, 18 * kSecond);
  EXPECT_EQ(result.jobs[0].killed, 1U);
}

TEST(Timeline, AReaderGoesOnAtAnotherReplica) {
  ClusterSpec cluster = Nodes({{0, 0}, {0, 0}, {1, 0}});
  SimJob job = MakeJob(1, 10);
  job.maps[0].bytes = 10 * kSecondOfLink;
  job.replicas = {{NodeId{0}, NodeId{1}}};
  cluster.failures = {{0, 5 * kSecond, 0}};
  EXPECT_EQ(EndOf(cluster, job), 20 * kSecond);
  cluster.failures.push_back({1, 6 * kSecond, 0});
  const SimResult result = MustSimulate(cluster, Of({job}), "fifo");
  EXPECT_EQ(result.jobs[0].outcome, sched::JobOutcome::kFailed);
}

TEST(Timeline, ClosedLoopsSubmitWhenTheLastEnded) {
  SimJob job = MakeJob(1, 10), next = job;
  next.after = 0, next.submit = 3 * kSecond;
  const SimResult result = MustSimulate(MakeCluster(1), Of({job, next}), "fifo");
  EXPECT_EQ(result.jobs[1].submit, 13 * kSecond);
  EXPECT_EQ(result.jobs[1].end, 23 * kSecond);
}

TEST(Timeline, StoppedRunsSayWhatIsUnfinished) {
  const SimResult result = MustSimulate(MakeCluster(1, 1, 1, {1, 1}), Of({MakeJob(1, 10), MakeJob(1, 10)}), "fifo",
                                        {.stop_at = 15 * kSecond});
  EXPECT_EQ(result.summary.succeeded, 1U);
  EXPECT_EQ(result.summary.unfinished, 1U);
}

TEST(Timeline, JobsThatNothingCanRunAreStuck) {
  SimJob next = MakeJob(1, 10);
  next.after = 0;
  const SimResult result = MustSimulate(MakeCluster(1, 1, 1, {0, 1}), Of({MakeJob(1, 10), next}), "fifo");
  EXPECT_EQ(result.summary.unfinished, 1U);  // of those that were submitted
  ASSERT_EQ(result.stuck.size(), 2U);
  EXPECT_EQ(result.stuck[0].job, 0U);
  EXPECT_EQ(result.stuck[0].why, "its maps: no node that takes tasks has a map slot");
  EXPECT_EQ(result.stuck[1].why, "the job that it comes after has not ended");
}

// The clocks of starving pools are renewed forever, though nothing runs that could be preempted. Nothing that the jobs
// would write fits anywhere, so they fail, one after the other, and say why.
TEST(Timeline, JobsThatFitNowhereFailAlsoUnderASchedulerThatAsksToBeWoken) {
  ClusterSpec cluster = MakeCluster(3, 1, 1, {2, 1});
  for (NodeSpec& node : cluster.nodes) node.space = 1000;
  Workload workload = Of({});
  for (const char* user : {"x", "y", "z"}) {
    SimJob job = MakeJob(3, 1, 1, 1);
    job.user = user;
    for (SimMap& map : job.maps) map.bytes = map.output = 100'000;
    job.profile = {.runs = 1, .map_time = 1, .reduce_time = 1, .output_ratio = 1};
    workload.jobs.push_back(job);
  }
  for (const char* scheduler : {"fair+preempt", "fair+delay+preempt", "fifo+delay"}) {
    SCOPED_TRACE(scheduler);
    const SimResult result = MustSimulate(cluster, workload, scheduler);
    EXPECT_EQ(result.summary.unfinished, 0U);
    EXPECT_TRUE(result.stuck.empty());
    ASSERT_EQ(result.given_up.size(), 3U);
    EXPECT_EQ(result.given_up[0].job, 0U);
    EXPECT_TRUE(
        result.given_up[0].why.starts_with("its map outputs do not fit: map 0 is expected to write 97.7 KiB, "
                                           "and of 3 workers that take maps worker 0 has most room, 1000 B"))
        << result.given_up[0].why;
  }
}

// Each job has one output of 40 bytes, and there is no room for a third on a node of 100. The first has done a quarter
// of its tasks, the second a third.
TEST(Timeline, AJobGivesWayAsTheSettingsSay) {
  ClusterSpec cluster = MakeCluster(1, 1, 1, {2, 1});
  cluster.nodes[0].space = 100;
  std::vector<SimJob> jobs;
  for (const std::size_t reduces : {2, 1}) {
    SimJob& job = jobs.emplace_back(MakeJob(2, 10, reduces, 1));
    job.user = std::to_string(reduces);
    job.slow_start = 1;
    for (SimMap& map : job.maps) map.bytes = map.output = 40;
    job.profile = {.runs = 1, .map_time = 1, .reduce_time = 1, .output_ratio = 1};
  }
  const auto evictions = [&](sched::GivesWay gives_way) {
    sched::Settings settings;
    settings.Of<sched::EvictionSettings>().gives_way = gives_way;
    const SimResult result = MustSimulate(cluster, Of(jobs), "fair", {}, settings);
    EXPECT_EQ(result.summary.succeeded, 2U);
    EXPECT_EQ(result.summary.evictions, 1U);
    EXPECT_NE(SummaryJson(result).find("\"evictions\": 1"), std::string::npos);
    return std::vector<std::uint32_t>{result.jobs[0].evicted, result.jobs[1].evicted};
  };
  EXPECT_EQ(evictions(sched::GivesWay::kSubmittedLast), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(evictions(sched::GivesWay::kLeastProgress), (std::vector<std::uint32_t>{1, 0}));
}

// A pause after a failure is no end: the task runs again when it is over.
TEST(Timeline, NotStuckWhileSomethingIsToCome) {
  ClusterSpec cluster = MakeCluster(1, 1, 1, {1, 1});
  cluster.failures = {{.node = 0, .at = 5 * kSecond, .back = 500'000 * kSecond}};
  const SimResult result = MustSimulate(cluster, Of({MakeJob(1, 10)}), "fair+preempt");
  EXPECT_EQ(result.summary.succeeded, 1U);
  EXPECT_TRUE(result.stuck.empty());
}

TEST(Timeline, SizesBeyondReasonAreRefused) {
  SimJob reads = MakeJob(2, 1, 1, 1), writes = reads, computes = reads;
  reads.maps[1].bytes = 1'000'000'000'000'000'000;
  writes.maps[1].output = 1'000'000'000'000'000'000;
  computes.reduces[0].cpu = 400 * 86'400 * kSecond;
  for (const SimJob& job : {reads, writes, computes}) {
    const Result<SimResult> result = Simulate(MakeCluster(1), Of({MakeJob(1, 1), job}), "fifo", {}, {});
    ASSERT_FALSE(result.ok());
    EXPECT_NE(result.status().message().find("job 1 (\"job\")"), std::string::npos) << result.status().message();
  }
}

TEST(Timeline, DeadlinesAndSlowdowns) {
  SimJob job = MakeJob(2, 10);
  job.deadline = 25 * kSecond;
  const ClusterSpec cluster = MakeCluster(1, 1, 1, {1, 1});
  const Workload workload = Of({job, job});
  SimOptions options;
  options.alone = AloneTimes(cluster, workload, {}).value();
  EXPECT_EQ(options.alone, (std::vector<Micros>{20 * kSecond, 20 * kSecond}));
  const SimResult result = MustSimulate(cluster, workload, "fifo", options);
  EXPECT_DOUBLE_EQ(result.summary.late, 0.5);
  EXPECT_DOUBLE_EQ(result.summary.mean_slowdown, 1.5);
  EXPECT_DOUBLE_EQ(result.summary.mean_turnaround, 30e6);
  EXPECT_DOUBLE_EQ(result.summary.utilisation[TaskKind::kMap], 1);
}

// Two reduces of 30 s on one slot. One after the other, or, with `+ccs`, both at once until they compute: the slot is
// as busy. Of the run of 70 s it idles for the 10 s of the map; the map slot is busy for those 10 s.
TEST(Timeline, CopyingBesideTheSlotsIsNoSlotTime) {
  const ClusterSpec cluster = MakeCluster(1, 1, 1, {1, 1});
  SimJob job = MakeJob(1, 10, 2, 30);
  job.slow_start = 0;
  for (const char* scheduler : {"fifo", "fifo+ccs"}) {
    SCOPED_TRACE(scheduler);
    SimJob alone = job;
    if (std::string_view(scheduler) == "fifo") alone.slow_start = 1;
    const SimResult result = MustSimulate(cluster, Of({alone}), scheduler);
    EXPECT_EQ(result.summary.makespan, 70 * kSecond);
    EXPECT_DOUBLE_EQ(result.summary.utilisation[TaskKind::kReduce], 60.0 / 70);
    EXPECT_DOUBLE_EQ(result.summary.utilisation[TaskKind::kMap], 10.0 / 70);
    EXPECT_DOUBLE_EQ(result.summary.utilisation_total, 70.0 / 140);
  }
  // Stopped while the first of them computes and the second, without a permit, waits.
  SimOptions options;
  options.stop_at = 25 * kSecond;
  const SimResult stopped = MustSimulate(cluster, Of({job}), "fifo+ccs", options);
  EXPECT_DOUBLE_EQ(stopped.summary.utilisation[TaskKind::kReduce], 15.0 / 25);
  // Without `+ccs` a reduce that waits for maps holds its slot.
  const SimResult holds = MustSimulate(cluster, Of({job}), "fifo", options);
  EXPECT_DOUBLE_EQ(holds.summary.utilisation[TaskKind::kReduce], 1);
}

// A profile is kept of the first job and serves the second.
TEST(Timeline, HistoryIsKept) {
  SimJob job = MakeJob(2, 10, 1, 7);
  job.program = "p";
  for (SimMap& map : job.maps) map.bytes = 100, map.output = 50;
  SimJob next = job;
  next.after = 0;
  std::string line;
  SimOptions options;
  options.journal = [&](std::string_view text) {
    if (text.find("JobSubmitted job=job1") != std::string_view::npos) line = text;
  };
  (void)MustSimulate(MakeCluster(1), Of({job, next}), "fifo", options);
  EXPECT_NE(line.find(" profile_runs=1 profile_map_time=10000000 profile_reduce_time=7000000 profile_ratio=0.5"),
            std::string::npos)
      << line;
}

}  // namespace
}  // namespace millrace::sim
