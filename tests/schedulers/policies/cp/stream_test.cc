// SPDX-License-Identifier: Apache-2.0
// Tests how many jobs are late under each scheduler, in open streams of the paper's workloads, as far as list
// scheduling can show it.
#include "tests/schedulers/policies/cp/stream.h"

#include <gtest/gtest.h>

#include <functional>

#include "schedulers/offering/greedy.h"
#include "schedulers/policies/cp/cp.h"
#include "schedulers/policies/simple/edf.h"

namespace millrace::sched {
namespace {

using Maker = std::function<std::unique_ptr<Policy>()>;

Maker Edf(bool exclusive) {
  return [exclusive] {
    EdfSettings settings;
    settings.exclusive = exclusive;
    return std::make_unique<Greedy>("edf", std::make_unique<EdfOrder>(settings), Admission());
  };
}

Maker CpWith(CpSettings::Objective objective) {
  return [objective] {
    CpSettings settings;
    settings.objective = objective;
    settings.evaluations = 200;
    return std::make_unique<Cp>("cp", settings, Admission());
  };
}

// Returns the mean over seeds. Every scheduler gets the same streams.
StreamResult Mean(const StreamShape& shape, const Maker& make) {
  constexpr std::uint64_t kSeeds = 10;
  StreamResult mean;
  for (std::uint64_t seed = 101; seed < 101 + kSeeds; ++seed) {
    const StreamResult result = RunStream(MakeStream(shape, seed), make());
    mean.late += result.late / kSeeds;
    mean.turnaround += result.turnaround / kSeeds;
    mean.idle_slots += result.idle_slots;
  }
  return mean;
}

TEST(StreamTest, SmallJobsAtHighLoad) {
  StreamShape shape;  // 1/15 jobs a second
  const StreamResult edf = Mean(shape, Edf(false));
  const StreamResult mix = Mean(shape, CpWith(CpSettings::Objective::kMix));
  const StreamResult paper = Mean(shape, CpWith(CpSettings::Objective::kPaper));
  EXPECT_GT(edf.late, 0.1);
  EXPECT_LT(mix.late, 0.6 * edf.late);
  EXPECT_LT(paper.late, 0.8 * edf.late);
  EXPECT_LT(mix.turnaround, 1.1 * edf.turnaround);
  EXPECT_EQ(edf.idle_slots + mix.idle_slots + paper.idle_slots, 0U);  // no slot idles while a task could have it
}

TEST(StreamTest, EstimatesThatAreWrongByJob) {
  StreamShape shape;
  shape.bias_sigma = 0.6;
  const StreamResult edf = Mean(shape, Edf(false));
  const StreamResult mix = Mean(shape, CpWith(CpSettings::Objective::kMix));
  EXPECT_LT(mix.late, 0.8 * edf.late);
  EXPECT_EQ(mix.idle_slots, 0U);
}

TEST(StreamTest, LargeJobsAndAnEdfThatDoesNotOverlapThem) {
  StreamShape shape;
  shape.maps = 20;
  shape.map_seconds = 5.2;
  shape.reduce_seconds = 74;
  shape.gap_seconds = 70;
  const StreamResult exclusive = Mean(shape, Edf(true));
  const StreamResult edf = Mean(shape, Edf(false));
  const StreamResult cp = Mean(shape, CpWith(CpSettings::Objective::kMix));
  EXPECT_GT(exclusive.late, 0.25);  // the paper's EDF: 0.49
  EXPECT_LT(edf.late, 0.05);        // work-conserving, it has no such trouble
  EXPECT_LT(cp.late, 0.05);
  EXPECT_GT(exclusive.idle_slots, 0U);
}

}  // namespace
}  // namespace millrace::sched
