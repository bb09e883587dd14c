// SPDX-License-Identifier: Apache-2.0
#include "lab/measure/fairness.h"

#include <gtest/gtest.h>

namespace millrace::sched {
namespace {

TEST(OverallFairness, IsOneWhenAllHaveTheSameAndOneOfNWhenOneHasAll) {
  EXPECT_DOUBLE_EQ(OverallFairness({3, 3, 3, 3}), 1);
  EXPECT_DOUBLE_EQ(OverallFairness({0, 8, 0, 0}), 0.25);
  EXPECT_DOUBLE_EQ(OverallFairness({1, 2, 3}), 36.0 / (3 * 14));
  EXPECT_DOUBLE_EQ(OverallFairness({}), 1);
  EXPECT_DOUBLE_EQ(OverallFairness({0, 0}), 1);
}

TEST(FairnessDistance, IsTheMeanOfRelativeDistances) {
  EXPECT_DOUBLE_EQ(FairnessDistance({{0.5, 0.5}, {0.5, 0.5}}), 0);
  // |0.75 - 0.5| / 0.5 twice.
  EXPECT_DOUBLE_EQ(FairnessDistance({{0.75, 0.5}, {0.25, 0.5}}), 0.5);
  // 0.4 / 0.8 and 0.4 / 0.2.
  EXPECT_DOUBLE_EQ(FairnessDistance({{0.4, 0.8}, {0.6, 0.2}}), (0.5 + 2.0) / 2);
  EXPECT_DOUBLE_EQ(FairnessDistance({}), 0);
}

}  // namespace
}  // namespace millrace::sched
