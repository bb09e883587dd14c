// SPDX-License-Identifier: Apache-2.0
#include "master/control/announcements.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "tests/node_ids.h"

namespace millrace::master {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Time stands still until it is moved.
class AnnouncementsTest : public testing::Test, private kj::TaskSet::ErrorHandler {
 protected:
  ~AnnouncementsTest() noexcept override = default;  // KJ's may throw

  static AttemptId Map(std::uint32_t map) { return MapAttemptId(JobId{1}, map, 0); }
  static OutputsOrder Ready(NodeId node, std::uint32_t map) { return {node, JobId{1}, {{Map(map), 9_n}}, {}, {}}; }
  static OutputsOrder Gone(NodeId node, std::uint32_t map) { return {node, JobId{1}, {}, {Map(map)}, {}}; }
  static OutputsOrder LeftOut(NodeId node, std::uint32_t map) { return {node, JobId{1}, {}, {}, {map}}; }

  void Advance(kj::Duration by) {
    timer_.advanceTo(timer_.now() + by);
    scope_.poll();
  }
  // Returns the announcements since the last call, a line for each order: "2: +4 -5 without 6".
  std::vector<std::string> Told() { return std::exchange(told_, {}); }

  kj::EventLoop loop_;
  kj::WaitScope scope_{loop_};
  kj::TimerImpl timer_{kj::origin<kj::TimePoint>()};
  std::vector<std::string> told_;
  Announcements announcements_{timer_, tasks_, [this](const OutputsOrder& order) {
                                 std::string line = std::to_string(order.node.value) + ":";
                                 for (const auto& [map, at] : order.ready)
                                   line += " +" + std::to_string(map.task.index);
                                 for (const AttemptId& map : order.gone) line += " -" + std::to_string(map.task.index);
                                 for (const auto map : order.left_out) line += " without " + std::to_string(map);
                                 told_.push_back(line);
                               }};
  kj::TaskSet tasks_{*this};  // goes before what its tasks use

 private:
  void taskFailed(kj::Exception&& failure) override { FAIL() << failure.getDescription().cStr(); }
};

TEST_F(AnnouncementsTest, TheFirstIsToldAtOnceAndWhatFollowsTogether) {
  announcements_.Add(Ready(1_n, 0), false);
  EXPECT_THAT(Told(), ElementsAre("1: +0"));
  announcements_.Add(Ready(1_n, 1), false);
  announcements_.Add(Ready(2_n, 1), false);
  announcements_.Add(Ready(1_n, 2), false);
  EXPECT_THAT(Told(), ElementsAre("2: +1"));
  Advance(Announcements::kPause);
  EXPECT_THAT(Told(), ElementsAre("1: +1 +2"));
  announcements_.Add(Ready(1_n, 3), false);
  EXPECT_THAT(Told(), IsEmpty());
  Advance(Announcements::kPause);
  EXPECT_THAT(Told(), ElementsAre("1: +3"));
}

TEST_F(AnnouncementsTest, AfterAPauseWithoutNewsTheNextIsToldAtOnce) {
  announcements_.Add(Ready(1_n, 0), false);
  Advance(Announcements::kPause);
  EXPECT_THAT(Told(), ElementsAre("1: +0"));
  Advance(100 * Announcements::kPause);
  announcements_.Add(Ready(1_n, 1), false);
  EXPECT_THAT(Told(), ElementsAre("1: +1"));
}

TEST_F(AnnouncementsTest, NobodyWaitsForTheLastMap) {
  announcements_.Add(Ready(1_n, 0), false);
  announcements_.Add(Ready(1_n, 1), false);
  announcements_.Add(Ready(1_n, 2), true);
  EXPECT_THAT(Told(), ElementsAre("1: +0", "1: +1", "1: +2"));
  Advance(Announcements::kPause);
  EXPECT_THAT(Told(), IsEmpty());
}

TEST_F(AnnouncementsTest, BadNewsIsToldAtOnceButAfterWhatWasGathered) {
  announcements_.Add(Ready(1_n, 0), false);
  announcements_.Add(Ready(1_n, 1), false);
  announcements_.Add(Ready(1_n, 2), false);
  announcements_.Add(Gone(1_n, 1), false);
  EXPECT_THAT(Told(), ElementsAre("1: +0", "1: +1 +2", "1: -1"));
  announcements_.Add(LeftOut(1_n, 3), false);
  EXPECT_THAT(Told(), ElementsAre("1: without 3"));
}

// It has another connection, or another reduce, and is told of everything again.
TEST_F(AnnouncementsTest, WhatWasGatheredForAForgottenWorkerIsNotTold) {
  for (const NodeId node : {1_n, 2_n, 3_n}) {
    announcements_.Add(Ready(node, 0), false);
    announcements_.Add(Ready(node, 1), false);
  }
  announcements_.Forget(1_n);
  announcements_.Forget(2_n, JobId{1});
  announcements_.Forget(3_n, JobId{2});
  Told();
  announcements_.Add(Ready(1_n, 5), false);
  EXPECT_THAT(Told(), ElementsAre("1: +5"));
  Advance(Announcements::kPause);
  EXPECT_THAT(Told(), ElementsAre("3: +1"));
}

}  // namespace
}  // namespace millrace::master
