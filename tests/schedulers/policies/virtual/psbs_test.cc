// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/virtual/psbs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>

#include "schedulers/core/engine.h"
#include "schedulers/policies/catalog.h"
#include "tests/schedulers/policies/fair/small_cluster.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

std::unique_ptr<Policy> MakePsbs(const std::string& scheduler) {
  std::string why;
  return MakePolicy(scheduler, {}, &why);
}

// g is the slot time of a job of weight 1; NORMAL jobs have weight 4, HIGH ones 8.
TEST(PsbsTest, TheJobThatFairSharingWouldEndFirst) {
  Engine engine({}, MakePsbs("psbs"));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1
    # key = 0 + 3 * 20 / 4 = 15
    0 JobSubmitted job=job1 maps=1:;1:;1: map_time=20
    0 decide
    -> launch job1.m.0.0 n1 off
    # g = 10 / 4 = 2, and 2 are not divided; key = 2 + 8 / 4 = 4
    10 JobSubmitted job=job2 maps=1: map_time=8
    10 decide
    20 AttemptSucceeded attempt=job1.m.0.0
    20 decide
    -> launch job2.m.0.0 n1 off
    28 AttemptSucceeded attempt=job2.m.0.0
    -> ended job2 succeeded
    28 decide
    -> launch job1.m.1.0 n1 off
  )");
}

// Under fair sharing job1 would have had its part of the slot while job9 ran, so that job2 would end after it. By what
// is left job2 would be first, with 60 us against 80.
TEST(PsbsTest, AShorterJobDoesNotOvertakeOneThatHasWaited) {
  Engine engine({}, MakePsbs("psbs"));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1
    # key = 0 + 100 / 4 = 25
    0 JobSubmitted job=job9 maps=1: map_time=100
    0 decide
    -> launch job9.m.0.0 n1 off
    # g = 0, and 1 is not divided; key = 0 + 2 * 40 / 4 = 20
    1 JobSubmitted job=job1 maps=1:;1: map_time=40
    1 decide
    # g = (98 + 1) / 8 = 12; key = 12 + 60 / 4 = 27
    99 JobSubmitted job=job2 maps=1: map_time=60
    99 decide
    100 AttemptSucceeded attempt=job9.m.0.0
    -> ended job9 succeeded
    100 decide
    -> launch job1.m.0.0 n1 off
  )");
}

TEST(PsbsTest, LateJobsComeFirstAndShareByWeight) {
  Engine engine({}, MakePsbs("psbs"));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1
    0 JobSubmitted job=job9 maps=1: map_time=1000000
    0 decide
    -> launch job9.m.0.0 n1 off
    # g = 0, and 1 is not divided; keys: 32 / 4 = 8, 32 / 8 = 4, 1000 / 4 = 250
    1 JobSubmitted job=job1 maps=1:;1:;1:;1: map_time=8
    1 JobSubmitted job=job2 maps=1:;1:;1:;1: map_time=8 priority=HIGH
    1 JobSubmitted job=job3 maps=1: map_time=1000
    1 decide
    # Work of 200; weights 4 + 4 + 8 + 4 = 20: g = 4 after 80, when job2 is late; weights 12: g = 8 after 48 more, when
    # job1 is late. Late jobs by running / weight: 0, 0: job2 by its key; 1/8, 0: job1; 1/8, 1/4: job2; 2/8, 1/4: by key.
    200 NodeJoined node=n2 maps=4
    200 decide
    -> launch job2.m.0.0 n2 off
    -> launch job1.m.0.0 n2 off
    -> launch job2.m.1.0 n2 off
    -> launch job2.m.2.0 n2 off
  )");
}

// job1 says 4 us a map, and its maps take 40. By what it said it is late from 24 us on.
TEST(PsbsTest, AJobWronglyCalledLateGoesBackWhenItsFirstTaskHasEnded) {
  Engine engine({}, MakePsbs("psbs"));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1
    # keys: 3 * 4 / 4 = 3, 40 / 4 = 10
    0 JobSubmitted job=job1 maps=1:;1:;1: map_time=4
    0 JobSubmitted job=job2 maps=1: map_time=40
    0 decide
    -> launch job1.m.0.0 n1 off
    # g = 3 after 24 of 30, when job1 is late; g = 3 + 6 / 4 = 4; key = 4 + 20 / 4 = 9
    30 JobSubmitted job=job3 maps=1: map_time=20
    30 decide
    # job1's size is 3 * 40: its key 0 + 120 / 4 = 30, behind 9 and 10.
    40 AttemptSucceeded attempt=job1.m.0.0
    40 decide
    -> launch job3.m.0.0 n1 off
    60 AttemptSucceeded attempt=job3.m.0.0
    -> ended job3 succeeded
    60 decide
    -> launch job2.m.0.0 n1 off
  )");
}

TEST(PsbsTest, MapsAndReducesAreClustersOfTheirOwn) {
  Engine engine({}, MakePsbs("psbs"));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=2
    # Maps: keys 10 / 4 = 2 and 40 / 4 = 10.
    0 JobSubmitted job=job1 maps=1: reduces=1 slow_start=1 map_time=10 reduce_time=400
    0 JobSubmitted job=job2 maps=1: reduces=1 slow_start=1 map_time=40 reduce_time=100
    0 decide
    -> launch job1.m.0.0 n1 off
    -> launch job2.m.0.0 n1 off
    10 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n1
    10 decide
    # Reduces: no slots yet, so that g = 0; keys 400 / 4 = 100 and 100 / 4 = 25.
    40 AttemptSucceeded attempt=job2.m.0.0
    -> ready job2.m.0.0 n1
    40 decide
    41 NodeJoined node=n2 reduces=1
    41 decide
    -> launch job2.r.0.0 n2
  )");
}

// Jobs with right sizes and many equal tasks, in one pool, on more slots than jobs, so that `fair` can share evenly.
struct Turnarounds {
  std::map<JobId, Micros> ended;
  Micros longest_task = 0;
};
Turnarounds RunUnder(const std::string& scheduler, unsigned seed) {
  std::mt19937 random(seed);
  SmallCluster cluster(scheduler, {}, seed);
  const auto nodes = 15 + static_cast<std::uint32_t>(random() % 5);
  cluster.AddNodes(nodes, {2, 0});
  Turnarounds result;
  for (std::uint32_t job = 1; job <= 60; ++job) {
    const Micros time = static_cast<Micros>(5 + random() % 6) * kSecond;
    JobSpec spec;
    spec.user = "user";
    spec.maps.resize(2 * nodes * (1 + random() % (random() % 5 == 0 ? 40 : 6)));
    spec.map_time = time;
    cluster.Submit(static_cast<Micros>(random() % 3500) * kSecond, JobId{job}, spec, {time, kSecond, 0});
    result.longest_task = std::max(result.longest_task, time);
  }
  cluster.Run();
  result.ended = cluster.ended();
  return result;
}

// Returns how much later than under `fair` the worst job ends, in times of the longest task.
double WorstDelay(const std::string& scheduler, unsigned seed) {
  const Turnarounds fair = RunUnder("fair", seed), is = RunUnder(scheduler, seed);
  EXPECT_EQ(is.ended.size(), 60U);
  double worst = 0;
  for (const auto& [job, end] : is.ended) {
    worst = std::max(worst, static_cast<double>(end - fair.ended.at(job)) / static_cast<double>(is.longest_task));
  }
  return worst;
}

// Tasks are not cut off, so that a job may wait for one when it is its turn, and run its own last one a little later.
TEST(PsbsTest, NoJobEndsLaterThanUnderFairSharingIfTheSizesAreRight) {
  for (unsigned round = 0, base = std::random_device()(); round < 8; ++round) {
    EXPECT_LE(WorstDelay("psbs", base + round), 2.0) << "seed " << base + round;
  }
  // In another order a large job waits for the small ones that come all the time.
  EXPECT_GT(WorstDelay("sjf", 5), 10.0);
}

}  // namespace
}  // namespace millrace::sched
