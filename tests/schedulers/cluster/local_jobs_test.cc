// SPDX-License-Identifier: Apache-2.0
// Tests the lists of jobs by node, which are made when somebody asks for them.
#include "schedulers/cluster/local_jobs.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "schedulers/policies/simple/fifo.h"
#include "tests/schedulers/history.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

// CheckState asks for them, and compares them with a search through all pending maps.
TEST(LocalJobs, AreWhatASearchFindsWheneverTheFirstQuestionComes) {
  const unsigned base = std::random_device()();
  for (unsigned round = 0; round < 60; ++round) {
    SCOPED_TRACE("seed " + std::to_string(base + round));
    History history(base + round);
    for (unsigned step = 0; step < 10 * (round % 20); ++step) history.Step();
    for (int step = 0; step < 50 && !HasFailure(); ++step) {
      history.CheckState();
      history.Step();
    }
    ASSERT_FALSE(HasFailure());
  }
}

TEST(LocalJobs, AreRightWhenNobodyAskedForAWhile) {
  Engine engine({}, std::make_unique<Fifo>());
  const auto jobs_at = [&](std::uint32_t node) {
    std::vector<std::uint32_t> ids;
    engine.state().VisitLocalJobs(NodeId{node}, [&](JobId job) {
      ids.push_back(job.value);
      return true;
    });
    return ids;
  };
  (void)Play(&engine, R"(
    0 NodeJoined node=n1 maps=1
    0 JobSubmitted job=job1 maps=1:n1;1:n2
    0 JobSubmitted job=job2 maps=1:n1)");
  EXPECT_EQ(jobs_at(1), (std::vector<std::uint32_t>{1, 2}));
  EXPECT_TRUE(engine.state().MoreLocalJobsThan(NodeId{1}, 1));
  EXPECT_FALSE(engine.state().MoreLocalJobsThan(NodeId{1}, 2));
  engine.SetPolicy(std::make_unique<Fifo>());
  (void)Play(&engine, R"(
    1 decide
    2 NodeJoined node=n2 maps=1
    3 JobSubmitted job=job3 maps=1:n2,n1)");
  EXPECT_EQ(jobs_at(1), (std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(jobs_at(2), (std::vector<std::uint32_t>{1, 3}));
}

std::vector<JobId> JobsAt(const LocalJobs& jobs, NodeId node) {
  std::vector<JobId> at;
  jobs.VisitAt(node, [&at](JobId job) {
    at.push_back(job);
    return true;
  });
  return at;
}

TEST(LocalJobs, OfAJobThatGoesToTheFrontStandBeforeTheOthers) {
  LocalJobs jobs;
  jobs.SetNodes(1);
  const NodeId node{0};
  for (const std::uint32_t id : {1, 2, 3}) {
    jobs.AddJob({Priority::kNormal, id, {id}});
    jobs.Insert(JobId{id}, node);
  }
  jobs.Erase(JobId{3}, node);
  jobs.RemoveJob(JobId{3});
  jobs.AddJob({Priority::kHigh, 3, {3}});
  jobs.Insert(JobId{3}, node);
  EXPECT_EQ(JobsAt(jobs, node), (std::vector<JobId>{{3}, {1}, {2}}));
  jobs.Erase(JobId{3}, node);
  jobs.RemoveJob(JobId{3});
  jobs.AddJob({Priority::kNormal, 0, {3}});
  jobs.Insert(JobId{3}, node);
  EXPECT_EQ(JobsAt(jobs, node), (std::vector<JobId>{{3}, {1}, {2}}));
  EXPECT_TRUE(jobs.MoreThan(node, 2));
  EXPECT_FALSE(jobs.MoreThan(node, 3));
}

// Jobs come and go, many or few at a time, so that seats run out and are numbered again.
TEST(LocalJobs, AreWhatSetsAre) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  LocalJobs jobs;
  std::uint32_t nodes = 3, next = 0;
  jobs.SetNodes(nodes);
  std::map<QueueKey, std::set<NodeId>> expected;
  const auto any_job = [&] { return std::next(expected.begin(), random() % expected.size()); };
  for (std::uint32_t step = 0; step < 60'000; ++step) {
    const bool grow = step / 8'000 % 2 == 0;
    if (expected.empty() || random() % 8 < (grow ? 2U : 0U)) {
      const QueueKey key{static_cast<Priority>(random() % 12 == 0 ? 1 : 2), next, {next}};
      ++next;
      jobs.AddJob(key);
      expected[key];
    } else if (random() % 8 < (grow ? 1U : 2U)) {
      const auto gone = any_job();
      for (const NodeId node : gone->second) jobs.Erase(gone->first.job, node);
      jobs.RemoveJob(gone->first.job);
      if (random() % 8 == 0) {  // it is given another priority
        QueueKey key = gone->first;
        key.priority = static_cast<Priority>(random() % 5);
        jobs.AddJob(key);
        for (const NodeId node : gone->second) jobs.Insert(key.job, node);
        expected[key].insert(gone->second.begin(), gone->second.end());
        if (key == gone->first) continue;
      }
      expected.erase(gone);
    } else {
      const auto job = any_job();
      const NodeId node{static_cast<std::uint32_t>(random() % nodes)};
      ASSERT_EQ(jobs.Contains(job->first.job, node), job->second.contains(node));
      if (random() % 2 == 0) {
        jobs.Insert(job->first.job, node);
        job->second.insert(node);
      } else {
        jobs.Erase(job->first.job, node);
        job->second.erase(node);
      }
    }
    if (step % 10'000 == 5'000) jobs.SetNodes(++nodes);
    if (step % 200 != 0) continue;
    for (std::uint32_t id = 0; id < nodes; ++id) {
      std::vector<JobId> at;
      for (const auto& [key, on] : expected) {
        if (on.contains(NodeId{id})) at.push_back(key.job);
      }
      ASSERT_EQ(JobsAt(jobs, NodeId{id}), at) << step;
      ASSERT_TRUE(at.empty() || jobs.MoreThan(NodeId{id}, at.size() - 1)) << step;
      ASSERT_FALSE(jobs.MoreThan(NodeId{id}, at.size())) << step;
    }
  }
}

}  // namespace
}  // namespace millrace::sched
