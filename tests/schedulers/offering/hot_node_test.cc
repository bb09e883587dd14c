// SPDX-License-Identifier: Apache-2.0
// What must not happen to delay scheduling (SPARK-18886): a job trickles through the few slots at its data, each local
// launch starts its wait again, and the rest of the cluster idles.
#include <gtest/gtest.h>

#include "tests/schedulers/offering/small_run.h"

namespace millrace::sched {
namespace {

SmallRun HotNode(const std::string& scheduler, std::uint32_t jobs, std::uint32_t slots, Micros map_time) {
  SmallRun run{scheduler, {}, {}, {}, [map_time](const Launch&) { return map_time; }};
  for (std::uint32_t node = 0; node <= 100; ++node)
    run.nodes.push_back({{node}, "rack" + std::to_string(node % 4), "d", {slots, 0}});
  for (std::uint32_t job = 0; job < jobs; ++job) {
    JobSpec spec;
    spec.user = "user" + std::to_string(job);
    spec.maps.assign(1000 / jobs, {64 << 20, {NodeId{0}}});
    run.jobs.push_back(spec);
  }
  return run;
}

class HotNodeTest : public testing::TestWithParam<const char*> {};

// Of several jobs each waits in the end for the same few slots, as long as its own maps would fit.
TEST_P(HotNodeTest, DelayCostsAtMostThreeTenthsOfTheMakespan) {
  const std::string scheduler = GetParam();
  for (const std::uint32_t jobs : {1U, 4U}) {
    for (const std::uint32_t slots : {1U, 2U}) {
      for (const Micros map_time : {100 * kMillisecond, 1 * kSecond, 2 * kSecond}) {
        SCOPED_TRACE(scheduler + ", jobs " + std::to_string(jobs) + ", slots " + std::to_string(slots) + ", maps of " +
                     std::to_string(map_time) + " us");
        const RunResult without = Play(HotNode(scheduler, jobs, slots, map_time));
        const RunResult with = Play(HotNode(scheduler + "+delay", jobs, slots, map_time));
        EXPECT_LE(with.makespan, jobs == 1 ? without.makespan * 13 / 10 : without.makespan + jobs * map_time);
        EXPECT_GE(with.launched_at[0], without.launched_at[0]);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Schedulers, HotNodeTest, testing::Values("fifo", "fair", "sjf", "capacity"));

// A job with fewer maps than slots at its data waits for them, which are free after 2 s.
TEST(HotNode, AJobThatFitsWaits) {
  SmallRun run{"fifo+delay", {}, {}, {}, [](const Launch&) { return 2 * kSecond; }};
  for (std::uint32_t node = 0; node < 10; ++node) run.nodes.push_back({{node}, "r", "d", {2, 0}});
  JobSpec first, second;
  first.maps.assign(2, {1, {NodeId{0}}});
  second.maps.assign(2, {1, {NodeId{0}}});
  run.jobs = {first, second};
  const RunResult result = Play(run);
  EXPECT_EQ(result.launched_at[0], 4U);
  EXPECT_EQ(result.makespan, 4 * kSecond);
}

}  // namespace
}  // namespace millrace::sched
