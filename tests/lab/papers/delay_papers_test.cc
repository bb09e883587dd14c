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

}  // namespace
}  // namespace millrace::sim::experiments
