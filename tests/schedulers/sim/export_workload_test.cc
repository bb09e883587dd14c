// A journal of a simulation, exported, is a workload whose simulation takes as long.
#include "schedulers/sim/export_workload.h"

#include <gtest/gtest.h>

#include "schedulers/sim/simulation_file.h"
#include "tests/schedulers/sim/testing.h"

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

}  // namespace
}  // namespace millrace::sim
