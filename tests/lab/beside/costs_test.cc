// SPDX-License-Identifier: Apache-2.0
// Costs are measured on rows whose times are written down here, and on simulations with costs that are known.
#include "lab/beside/costs.h"

#include <gtest/gtest.h>

#include "lab/beside/fit.h"
#include "lab/beside/run_beside.h"
#include "lab/model/simulate.h"
#include "tests/lab/records.h"

namespace millrace::compare {
namespace {

using testing::Job;
using testing::Outcome;
using testing::Task;

sim::SimulationFile MustParse(const std::string& text) {
  Result<sim::SimulationFile> file = sim::ParseSimulation(text, "w.toml", {});
  EXPECT_TRUE(file.ok()) << file.status().message();
  return std::move(file).value();
}

const std::vector<NodeRow> kNodes{
    {"a", "r0", "dc0", 2, 1}, {"b", "r0", "dc0", 2, 1}, {"c", "r1", "dc0", 2, 1}, {"d", "r2", "dc1", 2, 1}};

Costs Measure(const sim::SimulationFile& file, const RunOutcome& outcome) {
  return MeasureCosts({{&file, &outcome}}, kNodes);
}

TEST(CostsTest, WhatASleepingTaskTakesBeyondItsTimeIsLatency) {
  const sim::SimulationFile file = MustParse(
      "[cluster]\nnodes = 4\n[[jobs]]\nname = \"a\"\nmaps = 4\nmap_time = 2\nmap_cores = 0\nreduces = 1\n"
      "reduce_time = 3\nreduce_cores = 0\n");
  RunOutcome outcome =
      Outcome({Job(0, "a", 0.5, 1, 12)},
              {Task(0, TaskKind::kMap, 0, 1, 1, 0, 3.1), Task(0, TaskKind::kMap, 1, 1, 1, 0, 3.3),
               Task(0, TaskKind::kMap, 2, 1, 1, 0, 4.5),  // from another node: its reading is no latency
               Task(0, TaskKind::kMap, 3, 1, 1, 0, 9.0),  // killed
               // It was there at 2, the last map ended at 4.5, it had copied at 4.6, waited for a permit until 6.
               Task(0, TaskKind::kReduce, 0, 2, 4.6, 6, 9.3)});
  outcome.result.jobs[0].maps_ended = 4'500'000;
  outcome.result.tasks[2].locality = Locality::kRack;
  outcome.result.tasks[3].how = sim::AttemptEnd::kKilled;
  const Costs costs = Measure(file, outcome);
  const TaskCost& map = costs.classes[0].of[TaskKind::kMap];
  EXPECT_EQ(map.attempts, 2u);
  EXPECT_NEAR(map.latency, 200'000, 1) << "(0.1 + 0.3) / 2";
  EXPECT_EQ(map.scale, 1);
  const TaskCost& reduce = costs.classes[0].of[TaskKind::kReduce];
  EXPECT_EQ(reduce.attempts, 1u);
  EXPECT_NEAR(reduce.latency, 400'000, 1) << "0.1 of copying and 0.3 beyond the 3 s; the permit is no cost";
  EXPECT_NEAR(costs.lateness, 500'000, 1);
}

TEST(CostsTest, WhatAProgramTakesIsAMultiple) {
  const sim::SimulationFile file = MustParse(
      "block_size = 100\n[cluster]\nnodes = 4\n[[jobs]]\nname = \"a\"\nprogram = \"wordcount\"\nmaps = 2\n"
      "map_time = 2\nmap_output = 0.5\nreduces = 1\nreduce_time = 1\n");
  RunOutcome outcome = Outcome({Job(0, "a", 0, 1, 9)},
                               {Task(0, TaskKind::kMap, 0, 1, 1, 0, 2), Task(0, TaskKind::kMap, 1, 1, 1, 0, 1.6)});
  outcome.result.jobs[0].shuffle_bytes = 25;
  const Costs costs = Measure(file, outcome);
  EXPECT_NEAR(costs.classes[0].of[TaskKind::kMap].scale, 0.4, 1e-9) << "1.6 s of 4 s";
  EXPECT_EQ(costs.classes[0].of[TaskKind::kMap].latency, 0);
  EXPECT_EQ(costs.classes[0].of[TaskKind::kReduce].attempts, 0u);
  EXPECT_EQ(costs.classes[0].output_scale, 0.25) << "25 of 100 bytes";
}

TEST(CostsTest, BandwidthIsOfLinksThatAreSlower) {
  const sim::SimulationFile file = MustParse("[cluster]\nnodes = 4\n[[jobs]]\nname = \"a\"\nmaps = 1\n");
  RunOutcome outcome = Outcome({Job(0, "a", 0, 1, 2)});
  const auto read = [&](std::uint32_t from, std::uint32_t to, std::uint64_t rate) {
    outcome.facts.reads.push_back({NodeId{from}, NodeId{to}, rate});
  };
  for (std::uint64_t i = 1; i <= 10; ++i) read(0, 1, i * 10'000'000);
  read(0, 2, 20'000'000), read(2, 1, 25'000'000);
  Costs costs = Measure(file, outcome);
  EXPECT_EQ(costs.node_bandwidth, 90e6) << "nine of ten are not faster";
  EXPECT_EQ(costs.rack_bandwidth, 20e6);
  EXPECT_EQ(costs.datacenter_bandwidth, 0) << "nothing was read across";
  read(3, 0, 19'000'000);
  costs = Measure(file, outcome);
  EXPECT_EQ(costs.datacenter_bandwidth, 0) << "hardly slower than racks";
  outcome.facts.reads.back().bytes_per_second = 5'000'000;
  EXPECT_EQ(Measure(file, outcome).datacenter_bandwidth, 5e6);
  outcome.facts.reads = {{NodeId{0}, NodeId{2}, 7}};
  EXPECT_EQ(Measure(file, outcome).node_bandwidth, 7) << "of all reads, if none was within a rack";
}

TEST(CostsTest, JobsThatFollowOthersComeLater) {
  const sim::SimulationFile file = MustParse(
      "[cluster]\nnodes = 4\n[[jobs]]\nname = \"a\"\ncount = 3\nmaps = 1\narrival = { kind = \"closed\", workers = 1, "
      "think = 2 }\n");
  const RunOutcome outcome = Outcome({Job(0, "a", 0, 0, 5), Job(1, "a", 7.1, 8, 9), Job(2, "a", 11.3, 12, 13)});
  const Costs costs = Measure(file, outcome);
  EXPECT_NEAR(costs.follow_delay, 200'000, 1) << "0.1 and 0.3 after the pause";
  EXPECT_EQ(costs.lateness, 0);
  const sim::SimulationFile beside = FileBeside(file, costs, kNodes, outcome);
  EXPECT_EQ(beside.workload.jobs[2].submit, 2'200'000);
  EXPECT_EQ(beside.workload.jobs[2].after, 1u);
}

// A cluster whose tasks all take a time of their own for their start, processes included, stands for a live one. Its
// figures come back when its costs are measured and its run is made again without that knowledge.
constexpr const char* kMixed = R"(
block_size = "1M"
[cluster]
nodes = 4
racks = 2
map_slots = 2
reduce_slots = 1
%s
[placement]
replication = 1
[[jobs]]
name = "long"
user = "ann"
maps = 60
map_time = { uniform = [1, 3] }
per_task = true
map_cores = 0
reduces = 3
reduce_time = 2
reduce_cores = 0
[[jobs]]
name = "short"
count = 9
user = "bob"
maps = 3
map_time = 1
map_cores = 0
reduces = 1
reduce_time = 1
reduce_cores = 0
arrival = { kind = "poisson", mean = 3 }
[[jobs]]
name = "loop"
count = 4
user = "cid"
maps = 2
map_time = 2
map_cores = 0
arrival = { kind = "closed", workers = 1, think = 1 }
)";

std::string With(const std::string& keys) {
  std::string text = kMixed;
  return text.replace(text.find("%s"), 2, keys);
}

TEST(CostsTest, AClusterOfKnownCostsIsMetAgain) {
  const sim::SimulationFile file = MustParse(With(""));
  sim::SimulationFile hidden = MustParse(With("task_latency = 0.3\nnode_bandwidth = \"4M\""));
  EvenOut(&hidden.workload);
  sim::SimOptions options;
  options.task_rows = true, options.sample_interval = kSecond;
  for (const char* scheduler : {"fifo", "fair+delay"}) {
    RunOutcome live;
    live.result = sim::Simulate(hidden.cluster, hidden.workload, scheduler, {}, options).value();
    for (const sim::SimJob& job : hidden.workload.jobs) {
      live.facts.jobs.push_back({job.program, job.input_type, std::vector<sched::MapInput>(job.maps.size() + 1)});
    }
    for (std::uint32_t i = 0; i < 20; ++i) live.facts.reads.push_back({NodeId{0}, NodeId{1}, 4 << 20});
    std::vector<NodeRow> nodes;
    for (const sim::NodeSpec& node : file.cluster.nodes) nodes.push_back({"", node.rack, node.datacenter, 2, 1});
    const Costs costs = FitCosts({{&file, &live}}, nodes, {scheduler, scheduler}).value();
    EXPECT_NEAR(costs.classes[0].of[TaskKind::kMap].latency, 300'000, 1'000);
    EXPECT_NEAR(costs.classes[0].of[TaskKind::kReduce].latency, 0, 300'000) << "copying is the model's own";
    const RunOutcome again = RunBeside(file, costs, nodes, live, {scheduler, scheduler}).value();
    const auto makespan = [](const RunOutcome& run) { return static_cast<double>(run.result.summary.makespan); };
    EXPECT_NEAR(makespan(again) / makespan(live), 1, 0.02) << scheduler;
    EXPECT_NEAR(again.result.summary.mean_turnaround / live.result.summary.mean_turnaround, 1, 0.04) << scheduler;
    const RunOutcome plain =
        RunBeside(file, Costs{std::vector<ClassCost>(3)}, nodes, live, {scheduler, scheduler}).value();
    EXPECT_LT(makespan(plain) / makespan(live), 0.92) << "the costs make a difference: " << scheduler;
  }
}

// Eight workers on a machine of two cores, of which daemons have a fifth; programs that take twice what the file says,
// processes that take longer to start than a task computes, and a latency.
constexpr const char* kPrograms = R"(
block_size = "512K"
[cluster]
nodes = 8
racks = 2
datacenters = 2
map_slots = 1
reduce_slots = 1
%s
[placement]
replication = 1
[arrival]
kind = "poisson"
mean = 1.5
[[jobs]]
name = "count"
count = 16
user = ["a", "b"]
program = "wordcount"
maps = 4
map_time = %m
reduces = 1
reduce_time = %r
[[jobs]]
name = "index"
count = 8
user = ["a", "b"]
program = "invertedindex"
maps = 8
map_time = %m
map_cores = 0.6
reduces = 2
reduce_time = %r
)";

std::string Programs(const std::string& cluster, const std::string& map_time, const std::string& reduce_time) {
  std::string text = kPrograms;
  for (const auto& [mark, value] : {std::pair("%s", cluster), {"%m", map_time}, {"%r", reduce_time}}) {
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark)) text.replace(at, 2, value);
  }
  return text;
}

TEST(CostsTest, CoresProcessesAndLatencyAreMetAgainUnderOtherSchedulers) {
  const sim::SimulationFile file = MustParse(Programs("", "0.1", "0.15"));
  const sim::SimulationFile hidden =
      MustParse(Programs("nodes_per_machine = 8\ncores = 1.6\nprocess_start = 0.3\ntask_latency = 0.05", "0.2", "0.3"));
  sim::SimOptions options;
  options.task_rows = true, options.sample_interval = kSecond;
  const auto run = [&](const char* scheduler) {
    RunOutcome live;
    live.result = sim::Simulate(hidden.cluster, hidden.workload, scheduler, {}, options).value();
    for (const sim::SimJob& job : hidden.workload.jobs)
      live.facts.jobs.push_back({job.program, job.input_type, std::vector<sched::MapInput>(job.maps.size() + 1)});
    live.facts.nodes.assign(8, {2, "the machine"});  // as its workers say
    return live;
  };
  std::vector<NodeRow> nodes;
  for (const sim::NodeSpec& node : file.cluster.nodes) nodes.push_back({"", node.rack, node.datacenter, 1, 1});
  const RunOutcome measured = run("fifo");
  const Costs costs = FitCosts({{&file, &measured}}, nodes, {"fifo", "fifo"}).value();
  EXPECT_NEAR(costs.process_start, 0.3e6, 1'000);
  EXPECT_NEAR(costs.task_latency, 0.05e6, 5'000) << "what the maps of wordcount take without working";
  EXPECT_NEAR(costs.cores_share, 0.8, 0.08);
  for (const ClassCost& cost : costs.classes) {
    EXPECT_NEAR(cost.of[TaskKind::kMap].scale, 2, 0.1);
    EXPECT_NEAR(cost.of[TaskKind::kReduce].scale, 2, 0.1);
  }
  EXPECT_NEAR(costs.classes[0].of[TaskKind::kMap].cpu, 0.2e6, 1'000);
  EXPECT_NEAR(costs.classes[1].of[TaskKind::kMap].cpu, 0.12e6, 1'000);
  for (const char* scheduler : {"fifo", "fair+delay", "joss-t", "fresh-dynamic"}) {
    const RunOutcome live = run(scheduler);
    const RunOutcome again = RunBeside(file, costs, nodes, live, {scheduler, scheduler}).value();
    const auto makespan = [](const RunOutcome& of) { return static_cast<double>(of.result.summary.makespan); };
    EXPECT_NEAR(makespan(again) / makespan(live), 1, 0.05) << scheduler;
    EXPECT_NEAR(again.result.summary.mean_turnaround / live.result.summary.mean_turnaround, 1, 0.15) << scheduler;
  }
}

TEST(CostsTest, WhatOneClassWaitsIsNoLatencyOfAll) {
  const sim::SimulationFile file = MustParse(
      "[cluster]\nnodes = 4\n[[jobs]]\nname = \"works\"\nprogram = \"p\"\nmaps = 1\nmap_time = 1\n"
      "[[jobs]]\nname = \"sleeps\"\nmaps = 1\nmap_time = 2\nmap_cores = 0\n");
  RunOutcome outcome = Outcome({Job(0, "a", 0, 0, 5), Job(1, "b", 0, 0, 5)},
                               {Task(0, TaskKind::kMap, 0, 0, 0, 0, 1.5), Task(1, TaskKind::kMap, 0, 0, 0, 0, 2.125)});
  outcome.result.tasks[0].use = {kSecond / 4, 0, 0};  // it does nothing for 1.25 s of its 1.5
  outcome.result.tasks[1].use = {kSecond / 100, 0, 0};
  const Costs costs = Measure(file, outcome);
  EXPECT_NEAR(costs.task_latency, 125'000, 1) << "what the other takes beyond its sleep";
  EXPECT_NEAR(costs.classes[0].of[TaskKind::kMap].scale, 1.375, 1e-6);
  EXPECT_NEAR(costs.classes[1].of[TaskKind::kMap].latency, 0, 1);
}

TEST(FileBesideTest, BlocksLieWhereTheyLay) {
  const sim::SimulationFile file = MustParse(
      "[cluster]\nnodes = 2\nrack_bandwidth = \"3M\"\n[[jobs]]\nname = \"a\"\nmaps = 2\nmap_time = { uniform = [1, 9] "
      "}\nper_task = true\n");
  RunOutcome live = Outcome({Job(0, "a", 3, 4, 5)});
  live.facts.jobs = {{"loadgen", "text", {{10, {NodeId{3}}}, {20, {NodeId{1}, NodeId{2}}}}}};
  Costs costs;
  costs.classes.resize(1);
  costs.classes[0].of[TaskKind::kMap] = {5, 0, 2, 0};
  costs.reads = 3, costs.node_bandwidth = 5e6, costs.rack_bandwidth = 1e6, costs.datacenter_bandwidth = 2e6;
  const sim::SimulationFile beside = FileBeside(file, costs, kNodes, live);
  const sim::SimJob &job = beside.workload.jobs[0], &asked = file.workload.jobs[0];
  EXPECT_EQ(job.replicas[1], (std::vector<NodeId>{NodeId{1}, NodeId{2}}));
  EXPECT_EQ(job.maps[0].bytes, 10u);
  EXPECT_EQ(job.program, "loadgen");
  EXPECT_EQ(job.submit, 3 * kSecond);
  EXPECT_EQ(job.maps[0].cpu, job.maps[1].cpu);
  EXPECT_NE(asked.maps[0].cpu, asked.maps[1].cpu);
  EXPECT_NEAR(double(job.maps[0].cpu), double(asked.maps[0].cpu + asked.maps[1].cpu), 2) << "twice the mean";
  ASSERT_EQ(beside.cluster.nodes.size(), 4u) << "those of the live cluster";
  EXPECT_EQ(beside.cluster.nodes[3].datacenter, "dc1");
  EXPECT_EQ(beside.cluster.nodes[3].up, 5e6);
  EXPECT_EQ(beside.cluster.rack_bandwidth, 3 << 20) << "what the file states is taken";
  EXPECT_EQ(beside.cluster.datacenter_bandwidth, 2e6);
  costs.reads = 0;
  EXPECT_EQ(FileBeside(file, costs, kNodes, live).cluster.nodes[3].up, sim::NodeSpec{}.up) << "nothing was measured";
}

TEST(FileBesideTest, AProgramThatNothingTimesIsNotSimulated) {
  const sim::SimulationFile file =
      MustParse("[cluster]\nnodes = 4\n[[jobs]]\nname = \"a\"\nprogram = \"wordcount\"\nmaps = 1\n");
  const RunOutcome live = Outcome({Job(0, "a", 0, 1, 5)});
  Costs costs;
  costs.classes.resize(1);
  const Result<RunOutcome> run = RunBeside(file, costs, kNodes, live, {"fifo", "fifo"});
  ASSERT_FALSE(run.ok());
  EXPECT_NE(run.status().message().find("map_time"), std::string::npos) << run.status().message();
  costs.classes[0].of[TaskKind::kMap] = {1, 0, 0.5, 0};
  EXPECT_TRUE(RunBeside(file, costs, kNodes, live, {"fifo", "fifo"}).ok());
}

}  // namespace
}  // namespace millrace::compare
