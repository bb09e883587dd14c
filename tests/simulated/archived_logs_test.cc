// SPDX-License-Identifier: Apache-2.0
// The archived logs of jobs in a whole cluster under driven time: those of the newest jobs stay, and the master tells
// workers what to do with theirs.
#include <gmock/gmock.h>

#include <set>

#include "dfs/wire/job_logs.h"
#include "dfs/wire/path.h"
#include "tests/simulated/simulated_cluster.h"

namespace millrace {
namespace {

using master::JobLogs;

void RunJobs(SimulatedCluster& cluster, int first, int last) {
  for (int i = first; i <= last; ++i) cluster.Submit("/in", "/out" + std::to_string(i), 1);
  ASSERT_TRUE(cluster.RunUntilIdle(1000));
}

void Archive(SimulatedCluster& cluster, std::uint32_t job) {
  master::Step step = cluster.control().steps().Begin();
  const std::string path = dfs::PathOf({JobId{job}, NodeId{1}});
  ASSERT_TRUE(cluster.control().job_logs().KeepDirectories(path, &step).ok());
  ASSERT_TRUE(cluster.control().files().Touch(path, "ann", step.now, &step.batch).ok());
  cluster.control().steps().FinishLazily(std::move(step));
}

std::set<std::string> Archived(SimulatedCluster& cluster) {
  std::set<std::string> jobs;
  const auto there = cluster.control().files().names().List(dfs::kJobLogsDirectory, {}, 1000);
  if (!there.ok()) return jobs;
  for (const dfs::FileStatus& entry : *there) jobs.emplace(dfs::BaseName(entry.path));
  return jobs;
}

TEST(JobLogsTest, ThoseOfTheNewestJobsStay) {
  SimulatedCluster cluster({.workers = 2, .job_logs_keep = 3});
  cluster.AddFile("/in", 2);
  RunJobs(cluster, 1, 5);
  for (std::uint32_t job = 1; job <= 5; ++job) Archive(cluster, job);
  master::Step step = cluster.control().steps().Begin();
  ASSERT_TRUE(cluster.control().files().Touch("/.millrace/logs/notes", "", step.now, &step.batch).ok());
  cluster.control().steps().FinishLazily(std::move(step));
  cluster.Advance(20);
  EXPECT_EQ(Archived(cluster), (std::set<std::string>{"job3", "job4", "job5", "notes"}));
  RunJobs(cluster, 6, 6);
  cluster.RestartMaster();
  cluster.Advance(60);
  EXPECT_EQ(Archived(cluster), (std::set<std::string>{"job4", "job5", "notes"}));
}

TEST(JobLogsTest, AForgottenJobLosesItsLogs) {
  SimulatedCluster cluster({.workers = 2, .job_logs_keep = 100, .history_jobs = 1});
  cluster.AddFile("/in", 2);
  RunJobs(cluster, 1, 1);
  Archive(cluster, 1);
  cluster.Advance(20);
  EXPECT_EQ(Archived(cluster), std::set<std::string>{"job1"});
  RunJobs(cluster, 2, 3);
  cluster.Advance(20);
  EXPECT_EQ(Archived(cluster), std::set<std::string>{});
}

TEST(JobLogsTest, AWorkerIsToldWhatToArchive) {
  SimulatedCluster cluster({.workers = 2, .job_logs_keep = 1});
  cluster.AddFile("/in", 20);
  RunJobs(cluster, 1, 2);
  const auto fate = [&](std::uint32_t node, std::uint32_t job) {
    return cluster.control().job_logs().OrdersFor(NodeId{node}, {JobId{job}}).at(0).fate;
  };
  cluster.RestartMaster();
  std::uint64_t bytes = 0;
  std::set<NodeId> nodes;
  const auto attempts = cluster.control().jobs().Attempts(JobId{2});
  ASSERT_TRUE(attempts.ok());
  for (const auto& attempt : *attempts) nodes.insert(attempt.node);
  for (const NodeId node : nodes) {
    EXPECT_EQ(fate(node.value, 2), JobLogs::Fate::kArchive);
    bytes += cluster.control().job_logs().OrdersFor(node, {JobId{2}}).at(0).bytes;
  }
  EXPECT_LE(bytes, cluster.control().config().job_logs_bytes);
  EXPECT_GT(bytes, cluster.control().config().job_logs_bytes - nodes.size());
  EXPECT_EQ(fate(nodes.begin()->value, 1), JobLogs::Fate::kLeave) << "it is not among those that are kept";
  EXPECT_EQ(fate(99, 2), JobLogs::Fate::kLeave) << "none of its attempts ran there";
  EXPECT_EQ(fate(nodes.begin()->value, 77), JobLogs::Fate::kLeave) << "there was never such a job";
  cluster.Advance(30);
  cluster.Submit("/in", "/out3", 1);
  const auto newest = static_cast<std::uint32_t>(cluster.control().jobs().next_number() - 1);
  EXPECT_EQ(fate(nodes.begin()->value, newest), JobLogs::Fate::kLater);
}

}  // namespace
}  // namespace millrace
