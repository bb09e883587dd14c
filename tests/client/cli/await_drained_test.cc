// SPDX-License-Identifier: Apache-2.0
// Tests how `node decommission` treats the master's answers: when it waits, fails, and succeeds.
#include "client/cli/await_drained.h"

#include <gmock/gmock.h>

namespace millrace::cli {
namespace {

using job::GoState;
using ::testing::HasSubstr;

constexpr GoState kAll[] = {GoState::kUnknown, GoState::kLost,    GoState::kInUse, GoState::kHeld, GoState::kBlocks,
                            GoState::kTasks,   GoState::kOutputs, GoState::kYes,   GoState::kDoubt};

job::MayGo Of(std::vector<GoState> states) {
  job::MayGo answer;
  answer.others = 2;
  for (const GoState state : states) {
    answer.answers.emplace_back().state = state;
    answer.answers.back().node = NodeId{static_cast<std::uint32_t>(answer.answers.size())};
  }
  return answer;
}

// Every pair of states, so that no node is taken for done because another one is.
TEST(DrainProgressTest, ItIsDoneIfEachNodeMayGoAndNeverOtherwise) {
  for (const GoState one : kAll) {
    for (const GoState two : kAll) {
      const DrainProgress progress = DrainProgressOf(Of({one, two}));
      const auto is_failure = [](GoState s) {
        return s == GoState::kLost || s == GoState::kInUse || s == GoState::kHeld;
      };
      SCOPED_TRACE(std::string(job::InWords(one)) + ", " + std::string(job::InWords(two)));
      const auto is_settled = [](GoState s) { return s == GoState::kYes || s == GoState::kDoubt; };
      const bool settled = is_settled(one) && is_settled(two);
      EXPECT_EQ(progress.done, one == GoState::kYes && two == GoState::kYes);
      EXPECT_EQ(progress.failure.ok(), !is_failure(one) && !is_failure(two) && (progress.done || !settled));
      EXPECT_EQ(DrainProgressOf(Of({one, two}), true).done, settled);
      EXPECT_EQ(progress.waiting.empty(), progress.done || !progress.failure.ok());
    }
  }
}

TEST(DrainProgressTest, ALostNodeEndsItWithTheBlocksThatAreMissing) {
  job::MayGo answer = Of({GoState::kLost});
  EXPECT_THAT(DrainProgressOf(answer).failure.message(), HasSubstr("node 1 is lost: no block is missing"));
  answer.answers[0].lost_known = true;
  answer.answers[0].lost_blocks = 72;
  answer.answers[0].lost_files = {"/a", "/b"};
  EXPECT_THAT(DrainProgressOf(answer).failure.message(),
              HasSubstr("72 blocks that it had and no other node has are missing (\"/a\", \"/b\")"));
  answer.answers[0].lost_known = false;
  answer.answers[0].lost_blocks = 1;
  EXPECT_THAT(DrainProgressOf(answer).failure.message(), HasSubstr("1 block of all files, which it may have"));
}

TEST(DrainProgressTest, ANodeWhoseTrashMayBeNeededKeepsItUnlessForced) {
  job::MayGo answer = Of({GoState::kDoubt, GoState::kYes});
  EXPECT_THAT(DrainProgressOf(answer).failure.message(),
              HasSubstr("node 1: other nodes have all blocks of files, but its trash"));
  answer.answers[0].tasks = 1;
  for (const bool force : {false, true}) {
    EXPECT_FALSE(DrainProgressOf(answer, force).done);
    EXPECT_THAT(DrainProgressOf(answer, force).waiting, HasSubstr("1 task to end"));
  }
}

TEST(DrainProgressTest, WhatIsToCopyIsSummedAndNeedsSomebodyToTakeIt) {
  job::MayGo answer = Of({GoState::kBlocks, GoState::kOutputs});
  answer.answers[0].blocks = 3;
  answer.answers[0].damaged = 1;
  answer.answers[1].outputs = 2;
  answer.answers[1].tasks = 4;
  EXPECT_THAT(DrainProgressOf(answer).waiting, HasSubstr("3 blocks and 2 map outputs to copy, 4 tasks to end"));
  EXPECT_THAT(DrainProgressOf(answer).waiting, HasSubstr("1 block cannot be copied"));
  answer.others = 0;
  answer.away = 1;
  EXPECT_THAT(DrainProgressOf(answer).waiting, HasSubstr("no other node is here"));
  answer.away = 0;
  EXPECT_EQ(DrainProgressOf(answer).failure.code(), StatusCode::kInvalid);
  answer.answers[1].state = GoState::kUnknown;  // a master that has just started: others may come
  EXPECT_TRUE(DrainProgressOf(answer).failure.ok());
  answer = Of({GoState::kTasks});
  answer.others = 0;
  EXPECT_TRUE(DrainProgressOf(answer).failure.ok()) << "its tasks end without anybody's help";
}

}  // namespace
}  // namespace millrace::cli
