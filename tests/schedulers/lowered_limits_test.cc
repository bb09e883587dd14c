// SPDX-License-Identifier: Apache-2.0
// What runs goes on when a limit is lowered beneath it: by another scheduler, another setting, another split. What is
// above the limit takes no slot from the other kind of tasks if it may wait for that kind.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "schedulers/core/engine.h"
#include "schedulers/core/policy_view.h"
#include "schedulers/offering/copy_compute_splitting.h"
#include "schedulers/policies/catalog.h"
#include "tests/schedulers/every_scheduler.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {
namespace {

std::unique_ptr<Policy> Make(const std::string& scheduler, const Settings& settings = {}) {
  std::string why;
  return MakePolicy(scheduler, settings, &why);
}

// The settings of a SchedulerSet are ccs.max_reducers, as a number.
EngineOptions WithCatalog() {
  return {.make_policy = [](const SchedulerSet& set) {
    Settings settings;
    if (!set.settings.empty()) settings.Of<CcsSettings>().max_reducers = std::stod(set.settings);
    return Make(set.name, settings);
  }};
}

// Three jobs of which one reduce each copies on a node of two map slots and one reduce slot.
constexpr std::string_view kThreeCopy = R"(
    0 NodeJoined node=n1 maps=2 reduces=1
    1 JobSubmitted job=job1 maps=1:;1:;1: reduces=1 slow_start=0
    1 JobSubmitted job=job2 maps=1: reduces=1 slow_start=0
    1 JobSubmitted job=job3 maps=1: reduces=1 slow_start=0
    1 decide
    -> launch job1.m.0.0 n1 off
    -> launch job1.m.1.0 n1 off
    -> launch job1.r.0.0 n1
    -> launch job2.r.0.0 n1
    -> launch job3.r.0.0 n1)";

TEST(LoweredLimits, ReducesThatCopiedUnderCcsKeepNoMapSlotsAfterIt) {
  Engine engine(WithCatalog(), Make("fifo+ccs"));
  EXPECT_PLAYS(&engine, std::string(kThreeCopy) + R"(
    2 SchedulerSet name=fifo
    2 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n1
    2 AttemptSucceeded attempt=job1.m.1.0
    -> ready job1.m.1.0 n1
    2 decide
    -> launch job1.m.2.0 n1 off
    -> launch job2.m.0.0 n1 off
    # The reduces above the limit end one after the other, and none follows before they are below it.
    3 AttemptSucceeded attempt=job1.m.2.0
    -> ready job1.m.2.0 n1
    3 ReduceComputing attempt=job1.r.0.0
    3 JobSubmitted job=job4 maps= reduces=1
    3 decide
    -> launch job3.m.0.0 n1 off
    4 AttemptSucceeded attempt=job1.r.0.0
    -> ended job1 succeeded
    4 decide
  )");
}

TEST(LoweredLimits, ASmallerNumberOfReducersKeepsNoMapSlots) {
  Engine engine(WithCatalog(), Make("fifo+ccs"));
  EXPECT_PLAYS(&engine, std::string(kThreeCopy) + R"(
    2 SchedulerSet name=fifo%2Bccs settings=1
    2 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n1
    2 decide
    -> launch job1.m.2.0 n1 off
  )");
}

TEST(LoweredLimits, ReducesOfSlotsWithoutATypeKeepNoMapSlotsWhenANodeIsLost) {
  Engine engine(WithCatalog(), Make("fresh-dynamic"));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=1 reduces=1
    0 NodeJoined node=n2 maps=1
    1 JobSubmitted job=job1 maps=1:n2 reduces=2
    1 decide
    -> launch job1.m.0.0 n2 node
    2 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n2
    2 NodeDrained node=n2
    2 decide
    -> launch job1.r.0.0 n1
    -> launch job1.r.1.0 n1
    3 SchedulerSet name=fifo
    3 NodeLost node=n2
    -> gone job1.m.0.0 n2
    3 decide
    -> launch job1.m.0.1 n1 off
  )");
}

// Two reduces copy in one slot when slots lose their types. A map that they wait for needs all of the slot.
TEST(LoweredLimits, AllReducesAboveTheLimitGiveWayToTheMapThatTheyWaitFor) {
  Engine engine(WithCatalog(), Make("fifo+ccs"));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 reduces=1
    0 NodeJoined node=n2 maps=1
    1 JobSubmitted job=job1 maps=1:n2;1:n2 reduces=1 slow_start=0.5
    1 JobSubmitted job=job2 maps=1:n2;1:n2 reduces=1 slow_start=0
    1 decide
    -> launch job1.m.0.0 n2 node
    -> launch job2.r.0.0 n1
    2 AttemptSucceeded attempt=job1.m.0.0
    -> ready job1.m.0.0 n2
    2 decide
    -> launch job1.m.1.0 n2 node
    -> launch job1.r.0.0 n1
    3 SchedulerSet name=fresh-dynamic
    3 NodeLost node=n2
    -> gone job1.m.0.0 n2
    3 decide
    -> preempt job1.r.0.0 n1: a map that the reduces wait for needs a slot
    -> preempt job2.r.0.0 n1: a map that the reduces wait for needs a slot
    -> launch job2.m.0.0 n1 off
  )");
}

// Reduces that compute end without a map, so they count in full: the node runs no more than it has slots.
TEST(LoweredLimits, ReducesThatComputeCountAndTheReasonSaysSo) {
  Engine engine(WithCatalog(), Make("fresh-dynamic"));
  EXPECT_PLAYS(&engine, R"(
    0 NodeJoined node=n1 maps=2 reduces=1
    1 JobSubmitted job=job1 maps= reduces=3
    1 decide
    -> launch job1.r.0.0 n1
    -> launch job1.r.1.0 n1
    -> launch job1.r.2.0 n1
    2 ReduceComputing attempt=job1.r.0.0
    2 ReduceComputing attempt=job1.r.1.0
    2 ReduceComputing attempt=job1.r.2.0
    3 SchedulerSet name=fifo
    3 JobSubmitted job=job2 maps=1:;1:;1:
    3 decide
  )");
  const PolicyView view = engine.View(3);
  ASSERT_EQ(view.waits.size(), 1U);
  EXPECT_EQ(ToText(view.waits[0].cause), "crowded");
  EXPECT_EQ(
      InWords(view.waits[0], engine.state(), 3),
      "0 of 2 map slots are in use; the others come free when tasks end that run beyond a limit that was lowered");
  EXPECT_PLAYS(&engine, R"(
    4 AttemptSucceeded attempt=job1.r.0.0
    4 decide
    -> launch job2.m.0.0 n1 off
    5 AttemptSucceeded attempt=job1.r.1.0
    5 decide
    -> launch job2.m.1.0 n1 off
  )");
  const PolicyView later = engine.View(5);
  ASSERT_EQ(later.waits.size(), 1U);
  EXPECT_EQ(InWords(later.waits[0], engine.state(), 5),
            "all 2 map slots are busy; the next to become free is offered to it first");
}

// Lets what runs end, until nothing runs any more: the maps first, since reduces wait for them.
void RunToTheEnd(Engine* engine) {
  Micros now = 10;
  for (int round = 0; round < 1000 && !engine->state().LiveJobs().empty(); ++round) {
    Effects effects;
    engine->Decide(now, &effects);
    std::vector<AttemptId> running;
    for (std::uint32_t node = 1; node <= 2; ++node) {
      for (const AttemptId& attempt : engine->RunningOn(NodeId{node})) running.push_back(attempt);
    }
    bool ended = false;
    for (const AttemptId& attempt : running) {
      const JobState& job = *engine->state().FindJob(attempt.task.job);
      const bool has_input = job.progress.maps_done == job.progress.maps;
      if (attempt.task.reduce() && !has_input) continue;
      if (!engine->state().FindJob(attempt.task.job)->alive()) continue;
      if (attempt.task.reduce()) (void)engine->Apply(now, ReduceComputing{attempt}, &effects);
      ended |= engine->Apply(now, AttemptSucceeded{attempt}, &effects);
    }
    const auto wake = engine->NextWake();
    if (!ended && !wake) return;  // it stands still
    now = ended ? now + kSecond : std::max(*wake, now + 1);
  }
}

TEST(LoweredLimits, EverySchedulerGoesOnWithWhatAnyOtherBegan) {
  const std::vector<std::string> all = EverySchedulerByName();
  for (const std::string& first : all) {
    for (const std::string& second : all) {
      SCOPED_TRACE(first + " -> " + second);
      Engine engine(WithCatalog(), Make(first));
      (void)Play(&engine, R"(
        0 NodeJoined node=n1 rack=r1 datacenter=d1 maps=2 reduces=1
        0 NodeJoined node=n2 rack=r2 datacenter=d2 maps=1 reduces=1
        1 JobSubmitted job=job1 maps=1:n1;1:n2;1:n1;1:n2 reduces=3 slow_start=0 user=a
        1 JobSubmitted job=job2 maps=1:n1;1:n2;1:n1 reduces=3 slow_start=0 user=b
        1 JobSubmitted job=job3 maps=1:n2;1:n1 reduces=3 slow_start=0 user=c profile_runs=1 profile_ratio=3
        1 decide
        2 decide)");
      Effects effects;
      ASSERT_TRUE(engine.Apply(3, SchedulerSet{second, ""}, &effects));
      // A node with map outputs is lost, after some maps have ended.
      for (const AttemptId& attempt : engine.RunningOn(NodeId{2})) {
        if (!attempt.task.reduce()) (void)engine.Apply(3, AttemptSucceeded{attempt}, &effects);
      }
      engine.Decide(3, &effects);
      (void)engine.Apply(4, NodeLost{NodeId{2}}, &effects);
      RunToTheEnd(&engine);
      ASSERT_TRUE(engine.state().LiveJobs().empty()) << "it stands still";
    }
  }
}

}  // namespace
}  // namespace millrace::sched
