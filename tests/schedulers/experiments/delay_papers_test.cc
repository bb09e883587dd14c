// Compares the experiments of Zaharia et al. 2009 with the paper and its formulas.
#include <gtest/gtest.h>

#include "schedulers/sim/experiments/list.h"

namespace millrace::sim::experiments {
namespace {

TEST(StickySlotsTest, FairSharingLandsOnTheFormulaAndDelayOnAllLocal) {
  const Table curve = StickySlots({.seed = 1})[0];
  for (std::size_t row = 0; row < curve.rows.size(); ++row) {
    const double jobs = curve.Number(row, "jobs");
    EXPECT_NEAR(curve.Number(row, "fair, replicas as in the formula"), curve.Number(row, "paper: formula"), 3) << jobs;
    EXPECT_NEAR(curve.Number(row, "fair"), curve.Number(row, "exact: 3 distinct replicas"), 3) << jobs;
    EXPECT_GE(curve.Number(row, "fair+delay"), 97) << jobs;
  }
  // docs/policies.md#fair.
  EXPECT_NEAR(curve.Number(1, "paper: formula"), 45.6, 0.05);
  EXPECT_NEAR(curve.Number(2, "paper: formula"), 26.3, 0.05);
}

TEST(BatchTest, FairSharingEndsTheBatchOfTwoAJobLater) {
  const std::vector<Table> tables = Batch({.seed = 1, .effort = 0.5});
  EXPECT_NEAR(tables[0].Number("fifo", "ours"), 300, 3);
  EXPECT_NEAR(tables[0].Number("fair", "ours"), 400, 3);
  // "Fair sharing, preemption and copy-compute splitting each cut slowdown in half."
  EXPECT_LE(tables[2].Number("0.50", "fair / FIFO"), 0.5);
  EXPECT_LE(tables[2].Number("0.30", "fair+preempt / fair"), 0.5);
  EXPECT_LE(tables[2].Number("0.30", "fair+ccs / fair"), 0.5);
}

TEST(MultiUserTest, SmallJobsGainAndDelayMakesMapsLocal) {
  const std::vector<Table> tables = MultiUser({.seed = 1, .effort = 0.25});
  const Table& means = tables[1];
  for (const char* bin : {"0", "1"}) {
    EXPECT_GE(means.Number(bin, "fair+ccs"), 1.8) << bin;
    EXPECT_GT(means.Number(bin, "fair+ccs"), means.Number(bin, "fair")) << bin;
    EXPECT_GT(means.Number(bin, "fair+ccs"), means.Number(bin, "fifo+ccs")) << bin;
    // Delay scheduling changes response times imperceptibly.
    EXPECT_NEAR(means.Number(bin, "fair+delay+ccs") / means.Number(bin, "fair+ccs"), 1, 0.1) << bin;
  }
  for (std::size_t bin = 0; bin < 9; ++bin) EXPECT_GE(tables[3].Number(bin, "fair+delay+ccs"), 97) << bin;
}

TEST(SmallJobsTest, DelayRaisesLocalityAndThroughput) {
  const std::vector<Table> tables = SmallJobs({.seed = 1, .effort = 0.25});
  for (std::size_t row = 0; row < 3; ++row) {
    EXPECT_GE(tables[0].Number(row, "fair"), 1.2);
    EXPECT_GE(tables[1].Number(row, "fair+delay: node"), tables[1].Number(row, "paper: node, delay"));
    EXPECT_GE(tables[1].Number(row, "fair+delay: rack"), tables[1].Number(row, "paper: rack, delay") - 2);
  }
}

TEST(HotSpotTest, BiasingBeatsBothOtherWaits) {
  const Table gains = HotSpot({.seed = 1, .effort = 0.5})[1];
  for (std::size_t column = 1; column < gains.columns.size(); ++column) {
    EXPECT_GT(gains.Number("ours", gains.columns[column].name), 0) << gains.columns[column].name;
  }
}

}  // namespace
}  // namespace millrace::sim::experiments
