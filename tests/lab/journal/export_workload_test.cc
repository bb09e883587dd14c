// SPDX-License-Identifier: Apache-2.0
// A journal of a simulation, exported, is a workload whose simulation takes as long.
#include "lab/journal/export_workload.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/random.h"
#include "lab/journal/task_demand.h"
#include "lab/model/cores_share.h"
#include "lab/workload/simulation_file.h"
#include "tests/lab/testing.h"

namespace millrace::sim {
namespace {

TEST(ExportWorkload, WhatHasHappenedHappensAgain) {
  const ClusterSpec cluster = MakeCluster(6, 2, 2, {2, 1});
  Workload workload;
  for (std::uint32_t i = 0; i < 8; ++i) {
    SimJob& job = workload.jobs.emplace_back(MakeJob(3 + 5 * i, 2 + i, i % 3, 5));
    for (SimMap& map : job.maps) map.bytes = 1'000'000, map.output = 500'000;
    job.name = "say \"hi\" \\ " + std::to_string(i), job.user = "u" + std::to_string(i % 2),
    job.pool = i == 3 ? "p" : "";
    job.submit = 7 * kSecond * i, job.priority = i == 4 ? sched::Priority::kHigh : sched::Priority::kNormal;
    if (i == 5) job.deadline = 40 * kSecond;
  }
  std::string journal;
  SimOptions options;
  options.journal = [&](std::string_view line) { (journal += line) += '\n'; };
  const SimResult before = MustSimulate(cluster, workload, "fair", options);
  const Result<ExportedWorkload> exported = ExportWorkload(journal, "journal", 0);
  ASSERT_TRUE(exported.ok()) << exported.status().message();
  const Result<SimulationFile> file = ParseSimulation(exported->text, "exported.toml", {});
  ASSERT_TRUE(file.ok()) << file.status().message() << "\n" << exported->text;
  ASSERT_EQ(file->workload.jobs.size(), 8U);
  EXPECT_EQ(file->workload.jobs[3].pool, "p");
  EXPECT_EQ(file->workload.jobs[4].priority, sched::Priority::kHigh);
  EXPECT_EQ(file->workload.jobs[5].deadline, 40 * kSecond);
  EXPECT_EQ(file->workload.jobs[7].name, workload.jobs[7].name + "-0");
  EXPECT_EQ(file->cluster.nodes[5].datacenter, "dc1");
  const SimResult after = MustSimulate(file->cluster, file->workload, "fair");
  for (std::size_t i = 0; i < 8; ++i) {
    EXPECT_EQ(after.jobs[i].submit, before.jobs[i].submit);
    EXPECT_NEAR(static_cast<double>(after.jobs[i].Turnaround()), static_cast<double>(before.jobs[i].Turnaround()),
                0.02 * static_cast<double>(before.jobs[i].Turnaround()))
        << i;
    EXPECT_EQ(after.jobs[i].user, before.jobs[i].user);
  }
}

TEST(ExportWorkload, AJobThatWasHeldComesWhenItIsReleased) {
  const std::string journal = R"(1000000 NodeJoined node=n3 maps=1
1000000 JobSubmitted job=job1 name=held maps=1:n3 deadline=50000000
2000000 JobHeld job=job1
3000000 JobSubmitted job=job2 name=other maps=1:n3
9000000 JobHeld job=job1 held=0
9000000 AttemptLaunched attempt=job2.m.0.0 node=n3
)";
  const Result<ExportedWorkload> exported = ExportWorkload(journal, "journal", 0);
  ASSERT_TRUE(exported.ok()) << exported.status().message();
  const Result<SimulationFile> file = ParseSimulation(exported->text, "exported.toml", {});
  ASSERT_TRUE(file.ok()) << file.status().message() << "\n" << exported->text;
  std::map<std::string, const SimJob*> jobs;
  for (const SimJob& job : file->workload.jobs) jobs[job.name] = &job;
  EXPECT_EQ(jobs.at("other-0")->submit, 0);
  EXPECT_EQ(jobs.at("held-0")->submit, 6 * kSecond);
  EXPECT_EQ(jobs.at("held-0")->deadline, 41 * kSecond);
}

TEST(ExportWorkload, TakesTheJobsSinceATime) {
  const std::string journal =
      "4 SchedulerSet name=fair\n5 NodeJoined node=n3 maps=1\n10 JobSubmitted job=job1 maps=1:n3\n20 JobSubmitted "
      "job=job2 maps=1:n3\n";
  const Result<ExportedWorkload> exported = ExportWorkload(journal, "journal", 15);
  ASSERT_TRUE(exported.ok()) << exported.status().message();
  EXPECT_EQ(exported->text.find("job1"), std::string::npos);
  EXPECT_NE(exported->text.find("\"job2\""), std::string::npos);
  EXPECT_EQ(exported->jobs, (std::map<JobId, std::uint32_t>{{JobId{2}, 0}}));
  EXPECT_EQ(exported->nodes, (std::map<NodeId, NodeId>{{NodeId{3}, NodeId{0}}}));
  EXPECT_EQ(exported->begin, 20);
  EXPECT_EQ(exported->scheduler, "fair");
  EXPECT_EQ(ExportWorkload(journal, "journal", 30).status().message(), "journal: no job was submitted in that time");
  EXPECT_EQ(ExportWorkload("nonsense", "journal", 0).status().message(), "journal:1: \"nonsense\" is not an event");
}

TEST(ExportWorkload, CountsTheNodesThatTookTasksSinceItsFirstJob) {
  const std::string journal =
      "1 NodeJoined node=n1 maps=1\n1 NodeJoined node=n2 maps=1\n1 NodeJoined node=n3 maps=1\n1 NodeJoined node=n4 "
      "maps=1\n1 NodeJoined node=n5 maps=1\n2 JobSubmitted job=job1 maps=1:n1\n3 NodeLost node=n1\n4 NodeLost "
      "node=n2\n5 NodeDrained node=n3 drained=1\n6 NodeDrained node=n4 drained=1\n10 JobSubmitted job=job2 "
      "maps=1:n2,n5\n11 NodeJoined node=n2 maps=2\n12 NodeLost node=n3\n13 NodeDrained node=n4 "
      "drained=0\n14 NodeLost node=n5\n15 NodeJoined node=n6 maps=1\n";
  const Result<ExportedWorkload> exported = ExportWorkload(journal, "journal", 8);
  ASSERT_TRUE(exported.ok()) << exported.status().message();
  const std::map<NodeId, NodeId> expected{
      {NodeId{2}, NodeId{0}}, {NodeId{4}, NodeId{1}}, {NodeId{5}, NodeId{2}}, {NodeId{6}, NodeId{3}}};
  EXPECT_EQ(exported->nodes, expected);
  EXPECT_NE(exported->text.find("nodes = 4\n"), std::string::npos) << exported->text;
  EXPECT_NE(exported->text.find("places = [[0, 2]]"), std::string::npos) << exported->text;
  EXPECT_EQ(ExportWorkload(journal, "journal", 0)->nodes.size(), 6U);
  const std::string gone = "1 NodeJoined node=n1 maps=1\n2 NodeLost node=n1\n3 JobSubmitted job=job1 maps=1:n1\n";
  EXPECT_EQ(ExportWorkload(gone, "journal", 0).status().message(), "journal: no node took tasks in that time");
}

std::string JournalOf(const ClusterSpec& cluster, const Workload& workload, const std::string& scheduler) {
  std::string journal;
  SimOptions options;
  options.journal = [&](std::string_view line) { (journal += line) += '\n'; };
  (void)MustSimulate(cluster, workload, scheduler, options);
  return journal;
}

double Seconds(double micros) { return micros / static_cast<double>(kSecond); }

// Counts of words on three workers of two and two slots, which share the two cores of one machine: a map needs a core
// for 3 s and a reduce for 2 s, and six maps at once wait for the cores two thirds of their time.
struct OneMachine {
  OneMachine() {
    cluster.cores = 2, cluster.nodes_per_machine = 3;
    for (int i = 0; i < 22; ++i) {
      SimJob& job = workload.jobs.emplace_back(MakeJob(4, 3, 2, 2));
      job.name = "count" + std::to_string(i), job.submit = i * 4 * kSecond;
    }
  }
  ClusterSpec cluster = MakeCluster(3, 1, 1, {2, 2});
  Workload workload;
};

TEST(ExportWorkload, WaitingForCoresIsNotCountedTwice) {
  const OneMachine live;
  const auto exported = ExportWorkload(JournalOf(live.cluster, live.workload, "fifo"), "journal", 0).value();
  const SimulationFile file = ParseSimulation(exported.text, "exported.toml", {}).value();
  EXPECT_EQ(MachinesOf(file.cluster).value().cores, std::vector<double>{2}) << exported.text;
  for (const SimJob& job : file.workload.jobs) {
    EXPECT_NEAR(Seconds(static_cast<double>(job.maps[0].cpu)), 3, 0.01) << job.name;
    EXPECT_NEAR(Seconds(static_cast<double>(job.reduces[0].cpu)), 2, 0.01) << job.name;
    EXPECT_NEAR(job.map_cores, 1, 0.01);
  }
  // So the history under fifo tells how every scheduler would have done, that which gives slots another kind included.
  std::map<std::string, double> turnaround;
  for (const std::string scheduler : {"fifo", "fair", "fair+ccs", "fresh-static", "fresh-dynamic"}) {
    const Summary then = MustSimulate(live.cluster, live.workload, scheduler).summary;
    const Summary now = MustSimulate(file.cluster, file.workload, scheduler).summary;
    EXPECT_NEAR(Seconds(static_cast<double>(now.makespan)), Seconds(static_cast<double>(then.makespan)),
                0.02 * Seconds(static_cast<double>(then.makespan)))
        << scheduler;
    EXPECT_NEAR(Seconds(now.mean_turnaround), Seconds(then.mean_turnaround), 0.05 * Seconds(then.mean_turnaround))
        << scheduler;
    turnaround[scheduler] = now.mean_turnaround;
  }
  EXPECT_GT(turnaround["fresh-dynamic"], turnaround["fifo"]) << "there is no core for the slots that become map slots";
}

// The same history of workers that do not tell of cores.
TEST(ExportWorkload, WithoutCoresSlotsCostNothing) {
  const OneMachine live;
  std::string journal = JournalOf(live.cluster, live.workload, "fifo");
  for (const std::string key : {" cores=", " machine=", " cpu=", " waited=", " start="}) {
    for (std::size_t at = journal.find(key); at != std::string::npos; at = journal.find(key))
      journal.erase(at, journal.find_first_of(" \n", at + 1) - at);
  }
  const auto exported = ExportWorkload(journal, "journal", 0).value();
  EXPECT_EQ(exported.text.find("cores"), std::string::npos) << exported.text;
  const SimulationFile file = ParseSimulation(exported.text, "exported.toml", {}).value();
  const auto turnaround = [&](const char* scheduler) {
    return MustSimulate(file.cluster, file.workload, scheduler).summary.mean_turnaround;
  };
  EXPECT_LT(turnaround("fresh-dynamic"), turnaround("fifo")) << "which is why advise does not look at it";
}

// Whatever the tasks and machines, what they need is found in what they took.
TEST(ExportWorkload, WhatTasksNeedIsFoundOnBusyMachines) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    const auto draw = [&random](double least, double most) { return least + random.Unit() * (most - least); };
    ClusterSpec cluster = MakeCluster(6, 2, 1, {3, 2});
    cluster.cores = std::floor(draw(2, 5)), cluster.nodes_per_machine = static_cast<std::uint32_t>(draw(1, 4));
    cluster.process_start = std::llround(draw(0, 0.5) * kSecond);
    Workload workload;
    for (int i = 0; i < 10; ++i) {
      SimJob& job = workload.jobs.emplace_back(MakeJob(12, 1, 3, 1));
      job.name = "job" + std::to_string(i), job.submit = std::llround(draw(0, 60) * kSecond);
      job.map_cores = draw(0.2, 2), job.reduce_cores = draw(0.2, 1);
      for (SimMap& map : job.maps) map.cpu = std::llround(draw(2, 6) * kSecond);
      for (SimReduce& reduce : job.reduces) reduce.cpu = std::llround(draw(2, 6) * kSecond);
    }
    const auto exported = ExportWorkload(JournalOf(cluster, workload, "fifo"), "journal", 0).value();
    const SimulationFile file = ParseSimulation(exported.text, "exported.toml", {}).value();
    for (std::size_t i = 0; i < workload.jobs.size(); ++i) {
      const SimJob &was = workload.jobs[i], &is = file.workload.jobs[i];
      double cpu = 0;
      for (const SimMap& map : was.maps) cpu += was.map_cores * static_cast<double>(map.cpu) / 12;
      EXPECT_NEAR(Seconds(is.map_cores * static_cast<double>(is.maps[0].cpu)), Seconds(cpu), 0.001) << was.name;
    }
    for (const char* scheduler : {"fifo", "fair", "fresh-dynamic"}) {
      const Summary then = MustSimulate(cluster, workload, scheduler).summary;
      const Summary now = MustSimulate(file.cluster, file.workload, scheduler).summary;
      EXPECT_NEAR(static_cast<double>(now.makespan) / static_cast<double>(then.makespan), 1, 0.1) << scheduler;
      // FRESH decides by what single tasks take, of which the file has the mean.
      const double off = std::string_view(scheduler) == "fresh-dynamic" ? 0.3 : 0.15;
      EXPECT_NEAR(now.mean_turnaround / then.mean_turnaround, 1, off) << scheduler;
    }
  }
}

TEST(CoresShareTest, IsFoundInHowLongAttemptsWaited) {
  for (const double share : {0.4, 0.75, 1.0}) {
    OneMachine live;  // whose workers tell of two cores
    live.cluster.cores = 2 * share;
    const auto exported = ExportWorkload(JournalOf(live.cluster, live.workload, "fair"), "journal", 0).value();
    SimulationFile file = ParseSimulation(exported.text, "exported.toml", {}).value();
    for (NodeSpec& node : file.cluster.nodes) node.cores = 2;
    const double found = FitCoresShare(file.cluster, file.workload, "fair", {}, {}, exported.waited).value();
    EXPECT_NEAR(found, share, 0.02);
    GiveShare(found, &file.cluster);
    const auto makespan = [](const ClusterSpec& cluster, const Workload& workload) {
      return static_cast<double>(MustSimulate(cluster, workload, "fresh-dynamic").summary.makespan);
    };
    EXPECT_NEAR(makespan(file.cluster, file.workload) / makespan(live.cluster, live.workload), 1, 0.03);
  }
}

TEST(TaskDemandTest, WhatAnAttemptWaitedForCoresIsNoPartOfItsNeed) {
  EXPECT_EQ(TimeAlone(10, {}), 10) << "nothing is told";
  EXPECT_EQ(TimeAlone(10, {4, 3, 0}), 7) << "4 of computing and 3 of other waiting";
  EXPECT_EQ(TimeAlone(10, {4, 3, 2}), 5) << "the start of its process is not its own";
  EXPECT_EQ(TimeAlone(10, {20, 5, 0}), 5) << "four threads on two cores, each of which waited for half of the time";
  EXPECT_EQ(TimeAlone(10, {8, 10, 0}), 1) << "what makes no sense";
  TaskDemand demand;
  demand.Add(10, {4, 3, 2}), demand.Add(6, {});
  EXPECT_EQ(demand.Alone(), 5.5);
  EXPECT_EQ(demand.Cores(), 0.8) << "of those that told";
  EXPECT_EQ(demand.Start(), 2);
  EXPECT_FALSE(TaskDemand().Cores().has_value());
}

}  // namespace
}  // namespace millrace::sim
