// SPDX-License-Identifier: Apache-2.0
// Tests what happens to attempts and map outputs on ailing nodes.
#include <gmock/gmock.h>

#include <algorithm>

#include "tests/master/tracker_fixture.h"

namespace millrace::master {
namespace {

using testing::Each;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;

class AilingTest : public TrackerFixture {
 protected:
  void Ail(NodeId node, std::optional<Ailment> ailment) {
    Step step = At();
    NodeRecord& record = *nodes->Find(node);
    record.ailing.reset();
    if (ailment) record.ailing = Ailing{{*ailment, "a test says so"}, 0};
    jobs->NodeTakesTasks(node, record.TakesTasks(), &step);
    if (ailment == Ailment::kOutOfReach) jobs->GiveUpOn(node, "its node is out of reach", &step);
    Finish(std::move(step));
  }
  LaunchOrder TakeOn(NodeId node) {
    const auto at = std::ranges::find(launches, node, &LaunchOrder::node);
    EXPECT_NE(at, launches.end());
    if (at == launches.end()) return {};
    const LaunchOrder launch = *at;
    launches.erase(at);
    return launch;
  }
};

TEST_F(AilingTest, ASlowNodeGetsNoTasksAndWhatRunsThereGoesOn) {
  const NodeId a = AddWorker("a", 1, 1), b = AddWorker("b", 1, 1);
  AddFile("/in/text", 4, {a, b});
  Submit(Request("/out", 0));
  ASSERT_THAT(launches, SizeIs(2));
  const LaunchOrder on_a = TakeOn(a), on_b = TakeOn(b);
  Ail(a, Ailment::kSlowDisk);
  EXPECT_THAT(kills, IsEmpty());
  Done(on_a, WriteOutput(on_a.attempt, "part-m-00000"));
  EXPECT_THAT(launches, IsEmpty()) << "the slot on a is free, and a is slow";
  Done(on_b, WriteOutput(on_b.attempt, "part-m-00001"));
  EXPECT_THAT(launches, Each(Field(&LaunchOrder::node, b)));
  EXPECT_THAT(launches, SizeIs(1));
  Ail(a, std::nullopt);
  EXPECT_THAT(launches, SizeIs(2));
}

TEST_F(AilingTest, WhatANodeOutOfReachRunsAndServesRunsElsewhere) {
  const NodeId a = AddWorker("a", 1, 1), b = AddWorker("b", 1, 1);
  AddFile("/in/text", 3, {a, b});
  JobRequest request = Request("/out", 2);
  const JobId job = Submit(std::move(request));
  Done(TakeOn(a));
  Done(TakeOn(b));
  ASSERT_FALSE(launches.empty());
  std::vector<AttemptId> there;
  for (const LaunchOrder& launch : launches) {
    if (launch.node == a) there.push_back(launch.attempt);
  }
  ASSERT_FALSE(there.empty());
  ASSERT_EQ(jobs->OutputsLeftOn(a), 1U);
  launches.clear();
  Ail(a, Ailment::kOutOfReach);
  EXPECT_EQ(jobs->OutputsLeftOn(a), 0U);
  EXPECT_THAT(jobs->RunningOn(a), testing::Pair(0, 0));
  EXPECT_THAT(kills, SizeIs(there.size() + 1)) << "the worker drops the output as well";
  EXPECT_THAT(kills, Each(Field(&KillOrder::node, a)));
  EXPECT_THAT(launches, Each(Field(&LaunchOrder::node, b)));
  EXPECT_EQ(jobs->View(job)->figures.failed_attempts, 0U) << "it counts against nobody";

  // A master that starts again believes the same.
  const auto progress = jobs->View(job)->maps.done;
  Restart();
  EXPECT_EQ(jobs->View(job)->maps.done, progress);
  EXPECT_EQ(jobs->OutputsLeftOn(a), 0U);
  EXPECT_TRUE(jobs->cluster().FindNode(a)->drained);
}

TEST_F(AilingTest, ANodeThatIsWellAgainStaysDecommissionedAndTheOtherWayRound) {
  const NodeId a = AddWorker("a", 1, 1);
  const auto drained = [&] { return jobs->cluster().FindNode(a)->drained; };
  const auto decommission = [&](bool draining) {
    Step step = At();
    NodeRecord& record = *nodes->Find(a);
    record.draining = draining;
    jobs->NodeDrained(a, !record.TakesTasks(), &step);
    Finish(std::move(step));
  };
  Ail(a, Ailment::kSlowDisk);
  decommission(true);
  Ail(a, std::nullopt);
  EXPECT_TRUE(drained()) << "it is decommissioned";
  Ail(a, Ailment::kSlowDisk);
  decommission(false);
  EXPECT_TRUE(drained()) << "its disk is slow";
  Ail(a, std::nullopt);
  EXPECT_FALSE(drained());
}

}  // namespace
}  // namespace millrace::master
