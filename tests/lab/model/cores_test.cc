// SPDX-License-Identifier: Apache-2.0
// Tests what tasks cost a machine: cores that they share, latencies and processes. The times are worked out by hand.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "lab/workload/simulation_file.h"
#include "tests/lab/testing.h"

namespace millrace::sim {
namespace {

// Returns one node with these slots on a machine of two cores.
ClusterSpec TwoCores(sched::Slots slots) {
  ClusterSpec cluster = MakeCluster(1, 1, 1, slots);
  cluster.cores = 2;
  return cluster;
}

std::vector<Micros> Ends(const ClusterSpec& cluster, std::vector<SimJob> jobs) {
  const SimResult result = MustSimulate(cluster, Of(std::move(jobs)), "fifo");
  std::vector<Micros> ends;
  for (const JobRow& job : result.jobs) ends.push_back(job.end);
  return ends;
}

SimJob Cores(SimJob job, double cores) {
  job.map_cores = job.reduce_cores = cores;
  return job;
}

TEST(Cores, ATaskUsesNoMoreThanItCan) {
  EXPECT_EQ(Ends(TwoCores({1, 0}), {MakeJob(1, 10)}), std::vector<Micros>{10 * kSecond});
  EXPECT_EQ(Ends(TwoCores({2, 0}), {MakeJob(2, 10)}), std::vector<Micros>{10 * kSecond});
  EXPECT_EQ(Ends(TwoCores({2, 0}), {Cores(MakeJob(2, 10), 0.3)}), std::vector<Micros>{10 * kSecond});
}

TEST(Cores, FourTasksOnTwoCoresTakeTwiceAsLong) {
  EXPECT_EQ(Ends(TwoCores({4, 0}), {MakeJob(4, 10)}), std::vector<Micros>{20 * kSecond});
  EXPECT_EQ(Ends(TwoCores({3, 0}), {MakeJob(3, 10)}), std::vector<Micros>{15 * kSecond});
}

TEST(Cores, OneThatSleepsDelaysNobody) {
  EXPECT_EQ(Ends(TwoCores({5, 0}), {MakeJob(4, 10), Cores(MakeJob(1, 10), 0)}),
            (std::vector<Micros>{20 * kSecond, 10 * kSecond}));
}

// One of two threads, two of one thread: four threads on two cores, until those of one thread have had their 10 s of a
// core at 20 s. The other has had 20 of its 60 s by then, and needs 20 s with both cores for the rest.
TEST(Cores, ThreadsShareAlike) {
  EXPECT_EQ(Ends(TwoCores({3, 0}), {MakeJob(2, 10), Cores(MakeJob(1, 30), 2)}),
            (std::vector<Micros>{20 * kSecond, 40 * kSecond}));
}

// 2.5 threads on two cores go at 0.8 of a core each, so the one of 1.5 threads has its 15 s of a core when the other
// has its 10, after 12.5 s.
TEST(Cores, PartsOfAThreadHaveAPartOfItsShare) {
  EXPECT_EQ(Ends(TwoCores({2, 0}), {Cores(MakeJob(1, 10), 1.5), MakeJob(1, 10)}),
            (std::vector<Micros>{12'500'000, 12'500'000}));
}

// What needs half a core gets it, and the others share the rest: 1.5 cores for three.
TEST(Cores, WhatATaskCannotUseIsForTheOthers) {
  EXPECT_EQ(Ends(TwoCores({4, 0}), {Cores(MakeJob(1, 100), 0.5), MakeJob(3, 10)}),
            (std::vector<Micros>{100 * kSecond, 20 * kSecond}));
}

// The second arrives when the first two have done 5 of 10 s; three share until these end, at 5 + 7.5 s. It then has
// done 5 of 10 s, and has a core to itself.
TEST(Cores, SharesChangeAsTasksComeAndGo) {
  SimJob late = MakeJob(1, 10);
  late.submit = 5 * kSecond;
  EXPECT_EQ(Ends(TwoCores({3, 0}), {MakeJob(2, 10), late}), (std::vector<Micros>{12'500'000, 17'500'000}));
}

TEST(Cores, NodesOfOneMachineShareIts) {
  ClusterSpec cluster = MakeCluster(4, 1, 1, {1, 0});
  cluster.cores = 2, cluster.nodes_per_machine = 4;
  EXPECT_EQ(Ends(cluster, {MakeJob(4, 10)}), std::vector<Micros>{20 * kSecond});
  cluster.nodes_per_machine = 2;
  EXPECT_EQ(Ends(cluster, {MakeJob(4, 10)}), std::vector<Micros>{10 * kSecond});
}

// The node is lost when its two of four attempts have done 5 of 10 s: the others are alone from then on.
TEST(Cores, AttemptsThatEndEarlyLeaveTheirCores) {
  ClusterSpec cluster = MakeCluster(2, 1, 1, {2, 0});
  cluster.cores = 2, cluster.nodes_per_machine = 2;
  cluster.failures = {{1, 10 * kSecond, 0}};
  SimJob job = MakeJob(4, 10);
  // The two that were lost run when the first two have ended, at 10 + 5 s.
  EXPECT_EQ(Ends(cluster, {job}), std::vector<Micros>{25 * kSecond});
}

TEST(Cores, ReducesShareThemToo) {
  SimJob job = MakeJob(1, 10, 4, 10);
  job.slow_start = 1;
  EXPECT_EQ(Ends(TwoCores({1, 4}), {job}), std::vector<Micros>{30 * kSecond});
}

TEST(Cores, EachAttemptHasItsLatency) {
  ClusterSpec cluster = MakeCluster(1, 1, 1, {1, 1});
  cluster.task_latency = kSecond;
  SimJob job = MakeJob(2, 10, 1, 5);
  EXPECT_EQ(Ends(cluster, {MakeJob(2, 10)}), std::vector<Micros>{22 * kSecond});
  job.slow_start = 1;
  EXPECT_EQ(Ends(cluster, {job}), std::vector<Micros>{28 * kSecond});
  job.slow_start = 0;  // that of the reduce passes while maps run
  EXPECT_EQ(Ends(cluster, {job}), std::vector<Micros>{27 * kSecond});
}

TEST(Cores, AttemptsMayEndInTheirLatency) {
  ClusterSpec cluster = MakeCluster(1, 1, 1, {1, 1});
  cluster.task_latency = 2 * kSecond;
  cluster.failures = {{0, kSecond, 3 * kSecond}};
  SimJob job = MakeJob(1, 10, 1, 5);
  job.slow_start = 0;
  EXPECT_EQ(Ends(cluster, {job}), std::vector<Micros>{20 * kSecond});
}

// Two slots need two processes; the maps after the first two, and the reduce, find one that has no work.
TEST(Cores, ProcessesServeLaterTasksOfTheirJob) {
  ClusterSpec cluster = MakeCluster(1, 1, 1, {2, 1});
  cluster.process_start = kSecond;
  EXPECT_EQ(Ends(cluster, {MakeJob(4, 10)}), std::vector<Micros>{21 * kSecond});
  SimJob job = MakeJob(2, 10, 1, 5);
  job.slow_start = 1;
  EXPECT_EQ(Ends(cluster, {job}), std::vector<Micros>{16 * kSecond});
  // The second job has processes of its own, and so has a node that came back.
  EXPECT_EQ(Ends(cluster, {MakeJob(2, 10), MakeJob(2, 10)}), (std::vector<Micros>{11 * kSecond, 22 * kSecond}));
  cluster.failures = {{0, 12 * kSecond, 13 * kSecond}};
  EXPECT_EQ(Ends(cluster, {MakeJob(4, 10)}), std::vector<Micros>{24 * kSecond});
}

// A process starts on a core, whatever its tasks do: four of 1 + 10 s on two cores.
TEST(Cores, ProcessesStartOnCores) {
  ClusterSpec cluster = TwoCores({4, 0});
  cluster.process_start = kSecond;
  EXPECT_EQ(Ends(cluster, {MakeJob(4, 10)}), std::vector<Micros>{22 * kSecond});
  // Those of four tasks that sleep for 10 s, or that need a quarter of a core for as long, start together in 2 s.
  EXPECT_EQ(Ends(cluster, {Cores(MakeJob(4, 10), 0)}), std::vector<Micros>{12 * kSecond});
  EXPECT_EQ(Ends(cluster, {Cores(MakeJob(4, 10), 0.25)}), std::vector<Micros>{12 * kSecond});
}

TEST(Cores, AttemptsThatAreKilledWhileTheirProcessStartsLeaveTheirCores) {
  ClusterSpec cluster = MakeCluster(2, 1, 1, {2, 0});
  cluster.cores = 2, cluster.nodes_per_machine = 2, cluster.process_start = 4 * kSecond;
  cluster.failures = {{1, 4 * kSecond, 0}};
  // Four processes have half a core each until 4 s, when two are lost: 2 of 4 s are done. The others start until 6 s
  // and compute until 16 s; then the processes that are there compute for those that were lost.
  EXPECT_EQ(Ends(cluster, {MakeJob(4, 10)}), std::vector<Micros>{26 * kSecond});
}

// Machines by name, of different cores: two tasks of 10 s on one core, two on two, and one beside nobody.
TEST(Cores, MachinesHaveNames) {
  ClusterSpec cluster = MakeCluster(5, 1, 1, {1, 0});
  for (const std::uint32_t node : {0, 3}) cluster.nodes[node].machine = "a", cluster.nodes[node].cores = 1;
  for (const std::uint32_t node : {1, 2}) cluster.nodes[node].machine = "b", cluster.nodes[node].cores = 2;
  std::string journal;
  SimOptions options;
  options.task_rows = true;
  options.journal = [&](std::string_view line) { (journal += line) += '\n'; };
  const SimResult result = MustSimulate(cluster, Of({MakeJob(5, 10)}), "fifo", options);
  for (const TaskRow& task : result.tasks) {
    const bool crowded = task.node.value == 0 || task.node.value == 3;
    EXPECT_EQ(task.end, (crowded ? 20 : 10) * kSecond) << task.node.value;
    EXPECT_EQ(task.use, (sched::ProcessorUse{10 * kSecond, crowded ? 10 * kSecond : 0, 0})) << task.node.value;
  }
  // The journal has the nodes and attempts as a master would write them.
  EXPECT_NE(journal.find("0 NodeJoined node=n0 rack=r0 datacenter=dc0 maps=1 reduces=0 cores=1 machine=m0\n"),
            std::string::npos)
      << journal;
  EXPECT_NE(journal.find("0 NodeJoined node=n4 rack=r0 datacenter=dc0 maps=1 reduces=0\n"), std::string::npos);
  EXPECT_NE(journal.find(" cpu=10000000 waited=10000000\n"), std::string::npos);
  cluster.nodes[3].cores = 2;
  EXPECT_EQ(Simulate(cluster, Of({MakeJob(1, 1)}), "fifo", {}, {}).status().message(),
            "node 3 gives its machine other cores than an earlier node of the same");
}

TEST(Cores, AreReadFromAFile) {
  const auto file = ParseSimulation(
      "[cluster]\nnodes = 4\nnodes_per_machine = 2\ncores = 2\ntask_latency = \"4ms\"\nprocess_start = \"15ms\"\n"
      "[[jobs]]\nname = \"a\"\nmap_cores = 0\nreduce_cores = 1.5\n",
      "f.toml", {});
  ASSERT_TRUE(file.ok()) << file.status().message();
  EXPECT_EQ(file->cluster.nodes_per_machine, 2U);
  EXPECT_EQ(file->cluster.cores, 2);
  EXPECT_EQ(file->cluster.task_latency, 4'000);
  EXPECT_EQ(file->cluster.process_start, 15'000);
  EXPECT_EQ(file->workload.jobs[0].map_cores, 0);
  EXPECT_EQ(file->workload.jobs[0].reduce_cores, 1.5);
  const std::string groups =
      "[cluster]\nnodes = 4\n[[cluster.groups]]\ncount = 2\nmachine = \"m\"\ncores = 1.5\n"
      "[[cluster.groups]]\nmachine = \"m\"\ncores = ";
  const auto named = ParseSimulation(groups + "1.5\n[[jobs]]\nname = \"a\"\n", "f.toml", {});
  ASSERT_TRUE(named.ok()) << named.status().message();
  const Machines machines = MachinesOf(named->cluster).value();
  EXPECT_EQ(machines.of_node, (std::vector<std::uint32_t>{0, 0, 0, 1}));
  EXPECT_EQ(machines.cores, (std::vector<double>{1.5, 0}));
  const std::string refused = ParseSimulation(groups + "2\n[[jobs]]\nname = \"a\"\n", "f.toml", {}).status().message();
  EXPECT_NE(refused.find("node 2 gives its machine other cores"), std::string::npos) << refused;
}

TEST(Cores, NonsenseIsRefused) {
  ClusterSpec cluster = MakeCluster(1);
  cluster.nodes_per_machine = 0;
  EXPECT_FALSE(Simulate(cluster, Of({MakeJob(1, 1)}), "fifo", {}, {}).ok());
  cluster = MakeCluster(1);
  cluster.cores = -1;
  EXPECT_FALSE(Simulate(cluster, Of({MakeJob(1, 1)}), "fifo", {}, {}).ok());
  EXPECT_FALSE(Simulate(MakeCluster(1), Of({Cores(MakeJob(1, 1), -1)}), "fifo", {}, {}).ok());
}

}  // namespace
}  // namespace millrace::sim
