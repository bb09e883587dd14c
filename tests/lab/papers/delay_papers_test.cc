// Compares the experiments of Zaharia et al. 2009 with the paper and its formulas.
#include <gtest/gtest.h>

#include "lab/papers/list.h"

namespace millrace::sim::experiments {
namespace {

TEST(MultiUserTest, SmallJobsGainAndDelayMakesMapsLocal) {
  const Findings findings = MultiUser({.seed = 1, .effort = 0.17});
  const Table& means = findings.Of("figure-10");
  for (const char* bin : {"0", "1"}) {
    EXPECT_GE(means.Number(bin, "fair+ccs"), 1.8) << bin;
    EXPECT_GT(means.Number(bin, "fair+ccs"), means.Number(bin, "fair")) << bin;
    EXPECT_GT(means.Number(bin, "fair+ccs"), means.Number(bin, "fifo+ccs")) << bin;
    // Delay scheduling changes response times imperceptibly.
    EXPECT_NEAR(means.Number(bin, "fair+delay+ccs") / means.Number(bin, "fair+ccs"), 1, 0.1) << bin;
  }
  for (std::size_t bin = 0; bin < 9; ++bin)
    EXPECT_GE(findings.Of("figure-11").Number(bin, "fair+delay+ccs"), 97) << bin;
}

TEST(SmallJobLocalityTest, WaitingMakesSmallJobsLocalAndCostsThemNothing) {
  const Findings findings = SmallJobLocality({.seed = 1});
  const Table& sizes = findings.Of("figure-4");
  EXPECT_LT(sizes.Number("1 to 25", "fair: node"), 15) << "paper: 5";
  EXPECT_GE(sizes.Number("1 to 25", "fair+delay: node"), 80) << "paper: 80% even for very small jobs";
  const Table& alone = findings.Of("section-6.2.3");
  EXPECT_NEAR(alone.Number("dl", "node-local, %"), 25, 10) << "paper: 25; eight runs of 16 maps";
  EXPECT_EQ(alone.Number("dl+delay", "node-local, %"), 100);
  EXPECT_NEAR(alone.Number("dl+delay", "response, s"), alone.Number("dl", "response, s"), 2);
}

}  // namespace
}  // namespace millrace::sim::experiments
