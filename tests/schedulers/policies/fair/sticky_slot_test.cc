// SPDX-License-Identifier: Apache-2.0
// Tests fair sharing over time: slots that stick to a job, and how long a batch takes.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/schedulers/policies/fair/small_cluster.h"

namespace millrace::sched {
namespace {

constexpr std::uint32_t kNodes = 100, kReplicas = 3;

// J equal jobs, each in a pool of its own, of maps whose times vary, so that slots free one at a time.
double LocalityOf(const std::string& scheduler, std::uint32_t jobs, unsigned seed) {
  std::mt19937 random(seed);
  SmallCluster cluster(scheduler, {}, seed);
  cluster.AddNodes(kNodes, {1, 0});
  for (std::uint32_t job = 1; job <= jobs; ++job) {
    JobSpec spec = RandomJob(&random, 12'000 / jobs, kNodes, kReplicas);
    spec.user = "user" + std::to_string(job);
    cluster.Submit(0, JobId{job}, spec, {20 * kSecond, 0, 0.5});
  }
  cluster.Run();
  EXPECT_EQ(cluster.ended().size(), jobs);
  return cluster.NodeLocality();
}

// The paper's, in which the N/J slots of a job are drawn again for every block.
double Formula(std::uint32_t jobs) {
  return 1 - std::pow(1 - static_cast<double>(kReplicas) / kNodes, static_cast<double>(kNodes) / jobs);
}

// The same for N/J nodes that stay with the job and replicas on R different nodes: none of these is among those.
double FormulaOfDistinctNodes(std::uint32_t jobs) {
  double none = 1;
  for (std::uint32_t i = 0; i < kReplicas; ++i) none *= static_cast<double>(kNodes - kNodes / jobs - i) / (kNodes - i);
  return 1 - none;
}

// The strict order brings a job back to the slot that it just freed. A job is left with the maps that have no replica
// on its N/J nodes, and runs them there all the same.
TEST(StickySlots, WithoutDelayTheLocalityIsThatOfTheFormula) {
  EXPECT_NEAR(Formula(5), 0.456, 0.001);
  EXPECT_NEAR(Formula(10), 0.263, 0.001);
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (const std::uint32_t jobs : {5U, 10U}) {
    const double locality = LocalityOf("fair", jobs, seed);
    EXPECT_NEAR(locality, Formula(jobs), 0.06) << jobs;
    EXPECT_NEAR(locality, FormulaOfDistinctNodes(jobs), 0.025) << jobs;
  }
}

TEST(StickySlots, WithDelayNearlyAllMapsRunAtTheirData) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  for (const std::uint32_t jobs : {5U, 10U}) EXPECT_GT(LocalityOf("fair+delay", jobs, seed), 0.97) << jobs;
}

// Two jobs, each 100 s of maps and then 100 s of reduces when it has the cluster to itself.
Micros BatchTime(const std::string& scheduler) {
  SmallCluster cluster(scheduler, {});
  cluster.AddNodes(10, {1, 1});
  for (std::uint32_t job = 1; job <= 2; ++job) {
    JobSpec spec;
    spec.user = "user" + std::to_string(job);
    spec.maps.resize(100);
    spec.reduces = 100;
    spec.slow_start = 1;
    cluster.Submit(0, JobId{job}, spec, {10 * kSecond, 10 * kSecond});
  }
  cluster.Run();
  EXPECT_EQ(cluster.ended().size(), 2U);
  return cluster.now();
}

TEST(BatchOrder, FairSharingTakesFourHundredSecondsWhereFifoTakesThreeHundred) {
  EXPECT_EQ(BatchTime("fair"), 400 * kSecond);
  EXPECT_EQ(BatchTime("fifo"), 300 * kSecond);
}

}  // namespace
}  // namespace millrace::sched
