// SPDX-License-Identifier: Apache-2.0
#include "base/ids/ids.h"

#include <gtest/gtest.h>

#include "base/ids/counted.h"

namespace millrace {
namespace {

TEST(IdsTest, EachHasOneText) {
  EXPECT_EQ(ToText(JobId{3}), "job3");
  EXPECT_EQ(ToText(NodeId{7}), "n7");
  EXPECT_EQ(ToText(TaskId{JobId{3}, TaskKind::kReduce, 2}), "job3.r.2");
  EXPECT_EQ(ToText(MapAttemptId(JobId{3}, 17, 2)), "job3.m.17.2");
}

TEST(IdsTest, TextsAreReadBack) {
  for (const AttemptId& attempt : {MapAttemptId(JobId{3}, 17, 0), ReduceAttemptId(JobId{4294967295}, 0, 3)}) {
    EXPECT_EQ(ParseAttempt(ToText(attempt)), attempt);
    EXPECT_EQ(ParseTask(ToText(attempt.task)), attempt.task);
    EXPECT_EQ(ParseJob(ToText(attempt.task.job)), attempt.task.job);
  }
  EXPECT_EQ(ParseNode("n12"), NodeId{12});
}

TEST(IdsTest, OtherTextsAreNothing) {
  for (const char* wrong : {"", "job3", "job3.m.17", "job3.x.17.0", "3.m.17.0", "job3.m..0", "job3.m.1.0.0",
                            "job3.m.1.-1", "job3.m.1.4294967296", " job3.m.1.0", "job3.m.1.0 "}) {
    EXPECT_FALSE(ParseAttempt(wrong).has_value()) << wrong;
  }
  for (const char* wrong : {"", "job", "job-1", "n3", "3"}) EXPECT_FALSE(ParseJob(wrong).has_value()) << wrong;
  for (const char* wrong : {"", "n", "job3", "nn3"}) EXPECT_FALSE(ParseNode(wrong).has_value()) << wrong;
}

TEST(IdsTest, MapsComeBeforeReducesAndOneJobBeforeTheNext) {
  EXPECT_LT(MapAttemptId(JobId{1}, 9, 9), ReduceAttemptId(JobId{1}, 0, 0));
  EXPECT_LT(ReduceAttemptId(JobId{1}, 9, 9), MapAttemptId(JobId{2}, 0, 0));
}

TEST(IdsTest, PerKindHoldsOneForEachKind) {
  PerKind<int> slots;
  slots[TaskKind::kMap] = 4;
  slots[TaskKind::kReduce] = 2;
  int sum = 0;
  for (const TaskKind kind : kTaskKinds) sum += slots[kind];
  EXPECT_EQ(sum, 6);
}

TEST(CountedTest, TheNounGoesWithTheCount) {
  EXPECT_EQ(Counted(1, "block"), "1 block");
  for (const std::uint64_t count : {0, 2, 11, 21, 101}) {
    EXPECT_EQ(Counted(count, "block"), std::to_string(count) + " blocks");
    EXPECT_EQ(Counted(count, "node is", "nodes are"), std::to_string(count) + " nodes are");
  }
  EXPECT_EQ(Counted(1, "node is", "nodes are"), "1 node is");
  EXPECT_EQ(Counted(0, "directory", "directories"), "0 directories");
}

}  // namespace
}  // namespace millrace
