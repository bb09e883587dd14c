// SPDX-License-Identifier: Apache-2.0
// Compares the experiments of Guo et al. 2012 with the paper.
#include <gtest/gtest.h>

#include "lab/papers/list.h"
#include "lab/papers/round.h"

namespace millrace::sim::experiments {
namespace {

TEST(LsapLocalityTest, LandsOnThePapersShares) {
  const Findings findings = LsapLocality({.seed = 1});
  const Table &nodes = findings.Of("figure-4"), &replicas = findings.Of("figure-3a");
  for (std::size_t row = 0; row < nodes.rows.size(); ++row) {
    EXPECT_NEAR(nodes.Number(row, "dl"), 83, 2) << nodes.Number(row, "nodes");
    EXPECT_NEAR(nodes.Number(row, "lsap"), 97, 1.5) << nodes.Number(row, "nodes");
  }
  EXPECT_NEAR(replicas.Number(1, "lsap"), 72, 3);
  EXPECT_NEAR(replicas.Number(2, "lsap"), 88, 3);
}

TEST(RoundTest, LsapIsNeverWorseThanGreedyInAnyRound) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const Round round({.nodes = 20, .slots = 2, .idle = 15, .tasks = 20}, RoundCosts::kEqual, seed);
    const RoundResult dl = round.Run("dl", {});
    const RoundResult lsap = round.Run("lsap", {});
    EXPECT_EQ(dl.launched, 15u) << seed;
    EXPECT_EQ(lsap.launched, 15u) << seed;
    EXPECT_LE(lsap.cost, dl.cost) << seed;
  }
}

TEST(LsapCostTest, SavesWhatThePaperSaves) {
  const Findings findings = LsapCost({.seed = 1, .effort = 0.5});
  const Table &equal = findings.Of("figure-5"), &drawn = findings.Of("figure-7");
  for (std::size_t row = 0; row < equal.rows.size(); ++row) {
    EXPECT_GE(equal.Number(row, "saved, %"), 70);
    EXPECT_LE(equal.Number(row, "saved, %"), 90);
  }
  for (std::size_t row = 0; row < drawn.rows.size(); ++row) {
    EXPECT_GE(drawn.Number(row, "saved, %"), 60 - 3);
    EXPECT_LE(drawn.Number(row, "saved, %"), 70 + 3);
  }
  const Table &replicas = findings.Of("figure-8-50");
  EXPECT_GE(replicas.Number(1, "saved, %"), 50);
  for (std::size_t row = 4; row < replicas.rows.size(); ++row) EXPECT_GE(replicas.Number(row, "saved, %"), 95);
}

TEST(LsapFairnessTest, AlphaTradesFairnessForLocality) {
  const Table table = LsapFairness({.seed = 1, .effort = 0.5}).Of("figure-9");
  const std::size_t last = table.rows.size() - 1;
  EXPECT_GT(table.Number(0, "fairness gained"), table.Number(last, "fairness gained") + 0.1);
  EXPECT_LT(table.Number(0, "node-local, %") + 10, table.Number(last, "node-local, %"));
  // With one replica a slot's node holds the data of one of 90 tasks with probability 1 - (1 - 1/60)^90.
  EXPECT_NEAR(table.Number(last, "node-local, %"), 77.97, 3);
}

}  // namespace
}  // namespace millrace::sim::experiments
