// SPDX-License-Identifier: Apache-2.0
#include "master/control/worker_sessions.h"

#include <gtest/gtest.h>

namespace millrace::master {
namespace {

using State = WorkerSessions::State;
constexpr NodeId kNode{7}, kOther{9};

TEST(WorkerSessions, AWorkerThatIsExpectedComesOrIsLost) {
  WorkerSessions sessions;
  sessions.Expect(kNode, 100);
  sessions.Expect(kOther, 100);
  EXPECT_EQ(sessions.StateOf(kNode), State::kExpected);
  EXPECT_EQ(sessions.EpochOf(kNode), std::nullopt);
  EXPECT_FALSE(sessions.IsReporting(kNode));
  const auto epoch = sessions.Register(kNode, 300, true);
  EXPECT_EQ(sessions.StateOf(kNode), State::kHere);
  EXPECT_EQ(sessions.EpochOf(kNode), epoch);
  EXPECT_EQ(sessions.Silent(99), std::vector<NodeId>{});
  EXPECT_EQ(sessions.Silent(100), std::vector{kOther});
  EXPECT_FALSE(sessions.Lose(kOther)) << "nothing is known of its process";
  EXPECT_EQ(sessions.StateOf(kOther), std::nullopt);
  EXPECT_EQ(sessions.Nodes(), std::vector{kNode});
}

TEST(WorkerSessions, WhatIsSaidInTheNameOfAnEarlierSessionIsRefused) {
  WorkerSessions sessions;
  const auto first = sessions.Register(kNode, 100, true);
  const auto other = sessions.Register(kOther, 100, true);
  const auto second = sessions.Register(kNode, 200, true);
  EXPECT_NE(first, second);
  EXPECT_NE(other, second);
  EXPECT_FALSE(sessions.IsCurrent(kNode, first));
  EXPECT_TRUE(sessions.IsCurrent(kNode, second));
  EXPECT_FALSE(sessions.IsCurrent(kNode, other));
  (void)sessions.Lose(kNode);
  EXPECT_FALSE(sessions.IsCurrent(kNode, second));
}

TEST(WorkerSessions, EachSignOfLifeMovesTheTimeOut) {
  WorkerSessions sessions;
  (void)sessions.Register(kNode, 100, true);
  sessions.Heard(kNode, 150);
  EXPECT_TRUE(sessions.Silent(149).empty());
  EXPECT_EQ(sessions.Silent(150), std::vector{kNode});
  sessions.Heard(kOther, 1000);  // lost meanwhile
  EXPECT_EQ(sessions.StateOf(kOther), std::nullopt);
}

TEST(WorkerSessions, AConnectionThatEndsShortensTheTimeAndTellsOfTheProcess) {
  WorkerSessions sessions;
  const auto epoch = sessions.Register(kNode, 100, true);
  sessions.HangUp(kNode, 400);
  EXPECT_EQ(sessions.Silent(100), std::vector{kNode}) << "it does not lengthen the time";
  sessions.HangUp(kNode, 30);
  EXPECT_EQ(sessions.StateOf(kNode), State::kHungUp);
  EXPECT_TRUE(sessions.IsCurrent(kNode, epoch)) << "calls that were under way still count";
  EXPECT_EQ(sessions.Silent(30), std::vector{kNode});
  EXPECT_TRUE(sessions.Lose(kNode));
}

TEST(WorkerSessions, AWorkerThatComesBackInTimeIsHere) {
  WorkerSessions sessions;
  (void)sessions.Register(kNode, 100, true);
  sessions.HangUp(kNode, 30);
  (void)sessions.Register(kNode, 120, true);
  EXPECT_EQ(sessions.StateOf(kNode), State::kHere);
  EXPECT_TRUE(sessions.Silent(119).empty());
  EXPECT_FALSE(sessions.Lose(kNode));
}

TEST(WorkerSessions, AWorkerThatLeavesHasLeftUntilItIsBack) {
  WorkerSessions sessions;
  (void)sessions.Register(kNode, 100, true);
  sessions.HangUp(kNode, 30);
  sessions.Leave(kNode);
  EXPECT_FALSE(sessions.Lose(kNode)) << "it said so itself";
  EXPECT_TRUE(sessions.HasLeft(kNode));
  EXPECT_FALSE(sessions.HasLeft(kOther));
  (void)sessions.Register(kNode, 100, true);
  EXPECT_FALSE(sessions.HasLeft(kNode));
}

TEST(WorkerSessions, AWorkerReportsOnceForEachRegistration) {
  WorkerSessions sessions;
  (void)sessions.Register(kNode, 100, true);
  EXPECT_TRUE(sessions.IsReporting(kNode));
  sessions.Reported(kNode);
  EXPECT_FALSE(sessions.IsReporting(kNode));
  (void)sessions.Register(kNode, 100, true);
  EXPECT_TRUE(sessions.IsReporting(kNode));
  (void)sessions.Lose(kNode);
  EXPECT_FALSE(sessions.IsReporting(kNode));
}

TEST(WorkerSessions, WhoWasNotSettledRegistersAgain) {
  WorkerSessions sessions;
  const auto unsettled = sessions.Register(kNode, 100, false);
  const auto settled = sessions.Register(kOther, 100, true);
  sessions.EndUnsettled();
  EXPECT_FALSE(sessions.IsCurrent(kNode, unsettled));
  EXPECT_EQ(sessions.StateOf(kNode), State::kEnded);
  EXPECT_EQ(sessions.Silent(100), (std::vector{kNode, kOther})) << "it is not lost before its time";
  EXPECT_TRUE(sessions.IsCurrent(kOther, settled));
  const auto again = sessions.Register(kNode, 200, true);
  sessions.EndUnsettled();
  EXPECT_TRUE(sessions.IsCurrent(kNode, again));
}

TEST(WorkerSessions, AnUnsettledWorkerThatHungUpIsStillKnownToHave) {
  WorkerSessions sessions;
  (void)sessions.Register(kNode, 100, false);
  sessions.HangUp(kNode, 50);
  sessions.EndUnsettled();
  EXPECT_EQ(sessions.EpochOf(kNode), std::nullopt);
  EXPECT_TRUE(sessions.Lose(kNode));
}

}  // namespace
}  // namespace millrace::master
