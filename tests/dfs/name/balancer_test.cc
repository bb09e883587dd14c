// SPDX-License-Identifier: Apache-2.0
// Tests the rule of dfs/name/balancer.h.
#include "dfs/name/balancer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "tests/node_ids.h"

namespace millrace::dfs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Shares, AreOfWhatANodeHas) {
  const Shares shares({{1_n, 60, 100}, {2_n, 60, 200}, {3_n, 0, 100}, {4_n, 30, 100}}, 0.1);
  EXPECT_DOUBLE_EQ(shares.mean(), 0.3) << "150 of 500, and not the mean of the shares";
  EXPECT_DOUBLE_EQ(shares.Largest(), 0.6);
  EXPECT_DOUBLE_EQ(shares.Smallest(), 0);
  EXPECT_THAT(shares.Givers(), ElementsAre(1_n));
  EXPECT_THAT(shares.Takers(), ElementsAre(3_n));
  EXPECT_EQ(shares.BytesLeft(), 20u) << "node 1 has 60, and 40 would be within";
  EXPECT_FALSE(shares.Balanced());
}

TEST(Shares, NoNodesAreBalanced) {
  const Shares shares({}, 0.1);
  EXPECT_TRUE(shares.Balanced());
  EXPECT_EQ(shares.mean(), 0);
  EXPECT_EQ(shares.Largest(), 0);
  EXPECT_EQ(shares.Smallest(), 0);
  EXPECT_THAT(shares.Givers(), IsEmpty());
  EXPECT_FALSE(shares.Helps(1_n, 2_n, 1)) << "which nobody knows";
}

TEST(Shares, WithinTheThresholdIsBalanced) {
  EXPECT_TRUE(Shares({{1_n, 40, 100}, {2_n, 20, 100}}, 0.1).Balanced());
  EXPECT_FALSE(Shares({{1_n, 42, 100}, {2_n, 20, 100}}, 0.1).Balanced());
}

TEST(Shares, FullestAndEmptiestFirst) {
  const Shares shares({{1_n, 60, 100}, {2_n, 10, 100}, {3_n, 80, 100}, {4_n, 0, 100}, {5_n, 60, 100}}, 0.1);
  EXPECT_THAT(shares.Givers(), ElementsAre(3_n, 1_n, 5_n));
  EXPECT_THAT(shares.Takers(), ElementsAre(4_n, 2_n));
}

TEST(Shares, OneOfTheTwoIsOutsideTheThreshold) {
  // The mean is 50%; 1 is over, 2 above, 3 below, 4 under.
  const Shares shares({{1_n, 70, 100}, {2_n, 55, 100}, {3_n, 45, 100}, {4_n, 30, 100}}, 0.1);
  EXPECT_TRUE(shares.Helps(1_n, 4_n, 5));
  EXPECT_TRUE(shares.Helps(1_n, 3_n, 5));
  EXPECT_TRUE(shares.Helps(2_n, 4_n, 5));
  EXPECT_FALSE(shares.Helps(2_n, 3_n, 1)) << "both are within";
  EXPECT_FALSE(shares.Helps(1_n, 2_n, 1)) << "which is above the mean itself";
  EXPECT_FALSE(shares.Helps(3_n, 4_n, 1)) << "which is below the mean itself";
  EXPECT_FALSE(shares.Helps(4_n, 1_n, 1));
  EXPECT_FALSE(shares.Helps(1_n, 4_n, 0)) << "nothing is no help";
}

TEST(Shares, TheReceiverEndsNoFullerThanTheGiver) {
  const Shares shares({{1_n, 70, 100}, {2_n, 30, 100}}, 0.1);
  EXPECT_TRUE(shares.Helps(1_n, 2_n, 20));
  EXPECT_FALSE(shares.Helps(1_n, 2_n, 21));
}

// Blocks of one length are moved as long as any move helps. Each time the sum that the header names gets smaller, and
// in the end all nodes are within the threshold, or within a block of it.
TEST(Shares, MovesComeToAnEndWithinTheThreshold) {
  const std::uint64_t base = SeedFromSystem();
  for (std::uint64_t round = 0; round < 300; ++round) {
    SCOPED_TRACE("seed " + std::to_string(base + round));
    Random random(base + round);
    std::vector<NodeUse> nodes;
    for (std::uint32_t id = 0; id < 2 + random.Below(8); ++id) {
      const std::uint64_t capacity = 100'000 + random.Below(400'000);
      nodes.push_back({NodeId{id}, random.Below(capacity), capacity});
    }
    const double threshold = 0.01 + 0.1 * static_cast<double>(random.Below(1000)) / 1000;
    const std::uint64_t block = 1 + random.Below(900);  // less than a hundredth of any node
    Shares shares(nodes, threshold);
    const auto sum = [&nodes] {
      double all = 0;
      for (const NodeUse& n : nodes)
        all += static_cast<double>(n.used) * static_cast<double>(n.used) / static_cast<double>(n.capacity);
      return all;
    };
    const auto move = [&] {
      for (const NodeId from : shares.Givers()) {
        for (const NodeId to : shares.Takers()) {
          if (!shares.Helps(from, to, block)) continue;
          const double before = sum();
          nodes[from.value].used -= block;
          nodes[to.value].used += block;
          shares.Subtract(from, block);
          shares.Add(to, block);
          EXPECT_LT(sum(), before);
          return true;
        }
      }
      return false;
    };
    while (move()) {
    }
    EXPECT_TRUE(shares.Balanced()) << shares.Smallest() << " " << shares.mean() << " " << shares.Largest();
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace millrace::dfs
