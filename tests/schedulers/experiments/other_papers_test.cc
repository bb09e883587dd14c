// Tests what the papers on FRESH, JoSS and MRCP say, with fewer repetitions.
#include <gtest/gtest.h>

#include "schedulers/sim/experiments/list.h"

namespace millrace::sim::experiments {
namespace {

constexpr Options kQuick{.seed = 7, .effort = 0.3};

TEST(FreshSetsTest, EndsTheBatchFirstAndIsFair) {
  const auto tables = FreshSets(kQuick);
  const Table &makespans = tables.at(0), &fairness = tables.at(1);
  for (const char* set : {"A", "B", "C", "D", "E"}) {
    SCOPED_TRACE(set);
    for (const char* fresh : {"FRESH:1", "FRESH:half", "FRESH:all"}) {
      for (const char* other : {"FIFO", "Capacity", "Fair-1:3", "Fair-2:2", "Fair-3:1"})
        EXPECT_LT(makespans.Number(fresh, set), makespans.Number(other, set)) << fresh << " and " << other;
    }
    EXPECT_LT(makespans.Number("FRESH-static:1", set), makespans.Number("Fair-2:2", set));
    EXPECT_GT(fairness.Number("FRESH:half", set), 0.95) << "paper: > 0.95 in all the tested cases";
    EXPECT_GT(fairness.Number("FRESH:all", set), 0.95);
  }
  EXPECT_NEAR(tables.at(2).Number(0, "ours"), 27.6, 6) << "set A: less makespan than Fair-2:2, %";
  EXPECT_NEAR(tables.at(2).Number(1, "ours"), 31.3, 6) << "sets B to E";
}

TEST(JossWorkloadsTest, KeepsTrafficInTheDatacenter) {
  const auto tables = JossWorkloads(kQuick);
  for (const std::size_t workload : {2, 4}) {
    for (const char* joss : {"joss-t", "joss-j"}) {
      for (const char* other : {"fifo", "fair", "capacity"})
        EXPECT_LT(tables.at(workload).Number(joss, "INT, GB"), tables.at(workload).Number(other, "INT, GB"));
    }
  }
  const Table& small = tables.at(0);
  for (std::size_t row = 0; row < 10; ++row) {  // five benchmarks under joss-t, then joss-j
    if (row % 5 == 4) {
      EXPECT_GT(small.Number(row, "reduce data, %"), 95) << "Permu is reduce-heavy";
    } else {
      EXPECT_LT(small.Number(row, "off, %"), 3) << "map-heavy, row " << row;
    }
    if (row < 5) {
      EXPECT_LT(small.Number(row, "node, %"), small.Number(row + 5, "node, %"));
    }
  }
}

TEST(CpDeadlinesTest, IsLateLessThanEdf) {
  const auto tables = CpDeadlines(kQuick);
  const Table &small = tables.at(2), &medium = tables.at(4), &large = tables.at(6);
  EXPECT_LT(small.Number("CP, mixed cost", "1/15.0"), 0.6 * small.Number("EDF", "1/15.0")) << "paper: about half";
  EXPECT_LT(small.Number("CP, mixed cost", "1/20.0"), 7) << "paper: below 0.07";
  EXPECT_LT(medium.Number("CP, mixed cost", "1/37.5"), medium.Number("EDF", "1/37.5"));
  EXPECT_GT(large.Number("EDF, one job at a time", "1/70.0"), 10) << "paper: 49; at this load streams differ much";
  EXPECT_LT(large.Number("CP, mixed cost", "1/70.0"), 1);
}

}  // namespace
}  // namespace millrace::sim::experiments
