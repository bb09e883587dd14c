// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/external/answer.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace::sched {
namespace {

TEST(AnswerTest, ReadsEachLine) {
  ProgramAnswer answer;
  ASSERT_EQ(ParseAnswer("order maps=job7,job2 reduces=\nlaunch kind=map job=job7 node=n3\n\n"
                        "launch kind=reduce job=job2 node=n1\npreempt kind=reduce job=job2 tasks=2 reason=make%20room\n"
                        "preempt kind=map job=job7 later=unknown\nwake at=20\n",
                        &answer),
            "");
  EXPECT_EQ(answer.order[kMapSlot], (std::vector<JobId>{JobId{7}, JobId{2}}));
  EXPECT_EQ(answer.order[kReduceSlot], std::vector<JobId>());
  EXPECT_EQ(answer.order[kComputePermit], std::vector<JobId>());  // as that of the reduces
  ASSERT_EQ(answer.launches.size(), 2U);
  EXPECT_EQ(answer.launches[0].kind, TaskKind::kMap);
  EXPECT_EQ(answer.launches[0].job, JobId{7});
  EXPECT_EQ(answer.launches[0].node, NodeId{3});
  EXPECT_EQ(answer.launches[1].kind, TaskKind::kReduce);
  ASSERT_EQ(answer.preempts.size(), 2U);
  EXPECT_EQ(answer.preempts[0].tasks, 2U);
  EXPECT_EQ(answer.preempts[0].reason, "make room");
  EXPECT_EQ(answer.preempts[1].tasks, 1U);
  EXPECT_EQ(answer.wake, 20);
}

TEST(AnswerTest, AnOrderThatIsNotNamedStays) {
  ProgramAnswer answer;
  ASSERT_EQ(ParseAnswer("order maps=job1", &answer), "");
  EXPECT_TRUE(answer.order[kMapSlot]);
  EXPECT_FALSE(answer.order[kReduceSlot]);
  EXPECT_FALSE(answer.order[kComputePermit]);
  ASSERT_EQ(ParseAnswer("order reduces=job1 permits=job2", &answer), "");
  EXPECT_FALSE(answer.order[kMapSlot]);
  EXPECT_EQ(answer.order[kComputePermit], std::vector<JobId>{JobId{2}});
  ASSERT_EQ(ParseAnswer("", &answer), "");
  EXPECT_FALSE(answer.order[kReduceSlot]);
}

TEST(AnswerTest, SaysWhatIsWrongWithALine) {
  for (const auto& [text, why] : {std::pair<std::string, std::string>{"order", "order names neither"},
                                  {"order jobs=job1", "order names neither"},
                                  {"order maps=1", "order takes jobs"},
                                  {"order maps=job1,", "order takes jobs"},
                                  {"order maps=job1 job2", "key=value"},
                                  {"launch job=job1 node=n1", "launch takes"},
                                  {"launch kind=both job=job1 node=n1", "launch takes"},
                                  {"launch kind=map job=job1", "launch takes"},
                                  {"launch kind=map job=job1 node=3", "launch takes"},
                                  {"preempt kind=map job=job1 tasks=-1", "preempt takes"},
                                  {"preempt kind=map", "preempt takes"},
                                  {"wake", "wake takes"},
                                  {"wake at=-5", "wake takes"},
                                  {"wake at=99999999999999999999", "wake takes"},
                                  {"Order maps=job1", "no answer begins like this"},
                                  {std::string(100, 'x'), "\"" + std::string(60, 'x') + "...\": no answer"},
                                  {"a\x01\x7f"
                                   "b",
                                   "\"a??b\""}}) {
    ProgramAnswer answer;
    const std::string said = ParseAnswer("wake at=1\n" + text, &answer);
    EXPECT_TRUE(said.starts_with("line 2, \"")) << said;
    EXPECT_NE(said.find(why), std::string::npos) << said;
  }
  ProgramAnswer answer;
  EXPECT_EQ(ParseAnswer(std::string(kMostAnswerBytes + 1, '\n'), &answer), "it has more than 4 MiB");
}

}  // namespace
}  // namespace millrace::sched
