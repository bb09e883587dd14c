// SPDX-License-Identifier: Apache-2.0
// Tests the check of histories against what people would say of short ones, and against a plain twin that tries every
// order.
#include "tests/simulated/chaos/linearizable.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "base/random.h"

namespace millrace::simulated {
namespace {

using Kind = PathOp::Kind;
constexpr std::uint64_t kNever = PathOp::kNever;

TEST(Linearizable, OneAfterAnother) {
  EXPECT_TRUE(IsLinearizable({}));
  EXPECT_TRUE(IsLinearizable({{Kind::kSeenAbsent, 1, 2}, {Kind::kMake, 3, 4}, {Kind::kSeenThere, 5, 6}}));
  EXPECT_FALSE(IsLinearizable({{Kind::kSeenThere, 1, 2}, {Kind::kMake, 3, 4}}));
  EXPECT_FALSE(IsLinearizable({{Kind::kMake, 1, 2}, {Kind::kSeenAbsent, 3, 4}}));
  EXPECT_FALSE(IsLinearizable({{Kind::kMake, 1, 2}, {Kind::kTake, 3, 4}, {Kind::kSeenThere, 5, 6}}));
  EXPECT_FALSE(IsLinearizable({{Kind::kTake, 1, 2}}));
}

TEST(Linearizable, WhatIsUnderWayMayHaveHappenedAndOnceSeenItHas) {
  EXPECT_TRUE(IsLinearizable({{Kind::kMake, 1, 10}, {Kind::kSeenAbsent, 2, 3}, {Kind::kSeenThere, 4, 5}}));
  EXPECT_FALSE(IsLinearizable({{Kind::kMake, 1, 10}, {Kind::kSeenThere, 2, 3}, {Kind::kSeenAbsent, 4, 5}}));
}

// What a master that died had shown: a directory that was never acknowledged, and is gone.
TEST(Linearizable, WhatWasNeverAnsweredIsDoneOnceOrNotAtAll) {
  EXPECT_TRUE(IsLinearizable({{Kind::kMake, 1, kNever}, {Kind::kSeenAbsent, 2, 3}}));
  EXPECT_TRUE(IsLinearizable({{Kind::kMake, 1, kNever}, {Kind::kSeenAbsent, 2, 3}, {Kind::kSeenThere, 4, 5}}));
  const std::vector<PathOp> shown = {{Kind::kMake, 1, kNever}, {Kind::kSeenThere, 2, 3}, {Kind::kSeenAbsent, 4, 5}};
  EXPECT_FALSE(IsLinearizable(shown));
  EXPECT_EQ(Explain(shown).size(), 3u);
  EXPECT_TRUE(IsLinearizable(
      {{Kind::kMake, 1, kNever}, {Kind::kTake, 2, kNever}, {Kind::kSeenThere, 3, 4}, {Kind::kSeenAbsent, 5, 6}}));
}

TEST(Linearizable, TheExplanationEndsWhereItGoesWrong) {
  EXPECT_EQ(Explain({{Kind::kMake, 1, 2, "mkdir"},
                     {Kind::kSeenThere, 3, 4, "stat"},
                     {Kind::kSeenAbsent, 5, 6, "stat: not found"},
                     {Kind::kMake, 7, 8, "mkdir again"}}),
            (std::vector<std::string>{"1 to 2: mkdir", "3 to 4: stat", "5 to 6: stat: not found"}));
}

// ---- the plain twin ----

bool Fits(const std::vector<PathOp>& order) {
  bool there = false;
  for (const PathOp& op : order) {
    if (op.kind == Kind::kMake) {
      there = true;
    } else if (op.kind == Kind::kTake) {
      if (!there) return false;
      there = false;
    } else if (there != (op.kind == Kind::kSeenThere)) {
      return false;
    }
  }
  return true;
}

// Tries every order of every choice of those that were not answered.
bool PlainIsLinearizable(const std::vector<PathOp>& history) {
  for (std::uint32_t chosen = 0; chosen < 1u << history.size(); ++chosen) {
    std::vector<PathOp> ops;
    bool all = true;
    for (std::size_t i = 0; i < history.size(); ++i) {
      if ((chosen >> i & 1) != 0) {
        ops.push_back(history[i]);
      } else {
        all = all && history[i].answered == kNever;
      }
    }
    if (!all) continue;
    std::vector<std::size_t> order(ops.size());
    std::iota(order.begin(), order.end(), 0);
    do {
      std::vector<PathOp> ordered;
      bool in_time = true;
      for (const std::size_t i : order) {
        for (const PathOp& earlier : ordered) in_time = in_time && earlier.began < ops[i].answered;
        ordered.push_back(ops[i]);
      }
      if (in_time && Fits(ordered)) return true;
    } while (std::next_permutation(order.begin(), order.end()));
  }
  return false;
}

TEST(Linearizable, IsWhatThePlainTwinSays) {
  constexpr std::uint64_t kSeed = 20261126;
  Random random(kSeed);
  int linearizable = 0;
  constexpr int kHistories = 3000;
  for (int n = 0; n < kHistories; ++n) {
    std::vector<std::uint64_t> moments(12);
    std::iota(moments.begin(), moments.end(), 1);
    for (std::size_t i = moments.size() - 1; i > 0; --i) std::swap(moments[i], moments[random.Below(i + 1)]);
    std::vector<PathOp> history(1 + random.Below(6));
    for (std::size_t i = 0; i < history.size(); ++i) {
      history[i].kind = static_cast<Kind>(random.Below(4));
      history[i].began = std::min(moments[2 * i], moments[2 * i + 1]);
      history[i].answered = random.Below(4) == 0 ? kNever : std::max(moments[2 * i], moments[2 * i + 1]);
    }
    const bool plain = PlainIsLinearizable(history);
    linearizable += plain ? 1 : 0;
    ASSERT_EQ(IsLinearizable(history), plain) << "history " << n << " of seed " << kSeed;
  }
  EXPECT_GT(linearizable, kHistories / 10);
  EXPECT_LT(linearizable, kHistories * 9 / 10);
}

}  // namespace
}  // namespace millrace::simulated
