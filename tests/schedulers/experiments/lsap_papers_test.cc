// Compares the experiments of Guo et al. 2012 with the paper.
#include <gtest/gtest.h>

#include "schedulers/sim/experiments/list.h"
#include "schedulers/sim/experiments/round.h"

namespace millrace::sim::experiments {
namespace {

TEST(LsapLocalityTest, LandsOnThePapersShares) {
  const std::vector<Table> tables = LsapLocality({.seed = 1});
  for (std::size_t row = 0; row < tables[0].rows.size(); ++row) {
    EXPECT_NEAR(tables[0].Number(row, "dl"), 83, 2) << tables[0].Number(row, "nodes");
    EXPECT_NEAR(tables[0].Number(row, "lsap"), 97, 1.5) << tables[0].Number(row, "nodes");
  }
  EXPECT_NEAR(tables[1].Number(1, "lsap"), 72, 3);
  EXPECT_NEAR(tables[1].Number(2, "lsap"), 88, 3);
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
  const std::vector<Table> tables = LsapCost({.seed = 1, .effort = 0.4});
  for (std::size_t row = 0; row < tables[0].rows.size(); ++row) {
    EXPECT_GE(tables[0].Number(row, "saved, %"), 70);
    EXPECT_LE(tables[0].Number(row, "saved, %"), 90);
  }
  for (std::size_t row = 0; row < tables[2].rows.size(); ++row) {
    EXPECT_GE(tables[2].Number(row, "against dl, %"), 60 - 3);
    EXPECT_LE(tables[2].Number(row, "against dl, %"), 70 + 3);
  }
  const Table& replicas = tables[4];  // half of the slots idle
  EXPECT_GE(replicas.Number(1, "saved, %"), 50);
  for (std::size_t row = 4; row < replicas.rows.size(); ++row) EXPECT_GE(replicas.Number(row, "saved, %"), 95);
}

TEST(LsapFairnessTest, AlphaTradesFairnessForLocality) {
  const Table table = LsapFairness({.seed = 1, .effort = 0.5})[0];
  const std::size_t last = table.rows.size() - 1;
  EXPECT_GT(table.Number(0, "fairness gained"), table.Number(last, "fairness gained") + 0.1);
  EXPECT_LT(table.Number(0, "node-local, %") + 10, table.Number(last, "node-local, %"));
  // With one replica a slot's node holds the data of one of 90 tasks with probability 1 - (1 - 1/60)^90.
  EXPECT_NEAR(table.Number(last, "node-local, %"), 77.97, 3);
}

}  // namespace
}  // namespace millrace::sim::experiments
