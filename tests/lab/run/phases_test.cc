// SPDX-License-Identifier: Apache-2.0
#include "lab/run/phases.h"

#include <gtest/gtest.h>

#include "lab/report/sources.h"
#include "tests/lab/records.h"

namespace millrace::compare {
namespace {

using testing::Job;
using testing::Outcome;
using testing::Task;

// A job that is submitted at 1, starts at 3, has its maps done at 10; its last reduce is launched at 12, has copied at
// 15, gets its permit at 16 and ends at 20.
RunOutcome WithReduce() {
  sim::JobRow job = Job(0, "a", 1, 3, 20);
  job.reduces = 2, job.maps_ended = 10 * kSecond;
  return Outcome({job}, {Task(0, TaskKind::kMap, 0, 3, 4, 0, 10), Task(0, TaskKind::kReduce, 0, 4, 11, 11, 13),
                         Task(0, TaskKind::kReduce, 1, 12, 15, 16, 20)});
}

TEST(PhasesTest, TheReduceThatEndsLastTells) {
  const Phases phases = PhasesOf(WithReduce().result).value();
  EXPECT_DOUBLE_EQ(phases.wait, 2 + 2);
  EXPECT_DOUBLE_EQ(phases.map, 7);
  EXPECT_DOUBLE_EQ(phases.copy, 3);
  EXPECT_DOUBLE_EQ(phases.permit, 1);
  EXPECT_DOUBLE_EQ(phases.compute, 4);
}

TEST(PhasesTest, AReduceThatWasLaunchedEarlyCopiesOnlyAfterTheMaps) {
  sim::JobRow job = Job(0, "a", 0, 0, 20);
  job.maps_ended = 10 * kSecond;
  const Phases phases = PhasesOf(Outcome({job}, {Task(0, TaskKind::kReduce, 0, 2, 12, 12, 20)}).result).value();
  EXPECT_DOUBLE_EQ(phases.map, 10);
  EXPECT_DOUBLE_EQ(phases.wait, 0);
  EXPECT_DOUBLE_EQ(phases.copy, 2);
  EXPECT_DOUBLE_EQ(phases.compute, 8);
}

TEST(PhasesTest, AJobWithoutReducesEndsWithItsMaps) {
  const Phases phases =
      PhasesOf(Outcome({Job(0, "a", 0, 2, 9)}, {Task(0, TaskKind::kMap, 0, 2, 3, 0, 9)}).result).value();
  EXPECT_DOUBLE_EQ(phases.wait, 2);
  EXPECT_DOUBLE_EQ(phases.map, 7);
  EXPECT_DOUBLE_EQ(phases.copy + phases.permit + phases.compute, 0);
}

TEST(PhasesTest, WithoutRowsNothingIsKnown) { EXPECT_FALSE(PhasesOf(Outcome({Job(0, "a", 0, 2, 9)}).result)); }

// The baseline (scheduler 0) takes 4 and 10 s for the jobs of classes a and b, the other 6 and 4: on average over two
// jobs a adds 1 s and b takes 3 s away.
TEST(SourcesTest, ClassesAddUpToTheDifferenceOfTheMeans) {
  RunRecord base, rival, second;
  base.run.scheduler = 0, rival.run.scheduler = 1, second.run.second = true;
  base.outcome = Outcome({Job(0, "a", 0, 0, 4), Job(1, "b", 0, 0, 10)});
  rival.outcome = Outcome({Job(0, "a", 0, 0, 6), Job(1, "b", 0, 0, 4)});
  second.outcome = Outcome({Job(0, "a", 0, 0, 100), Job(1, "b", 0, 0, 100)});  // counts for nothing here
  base.phases = Phases{1, 2, 3, 4, 5}, rival.phases = Phases{2, 2, 2, 2, 2};
  Design design;
  design.schedulers = 2;
  const Sources sources = SourcesOf(1, design, {&base, &rival, &second});
  ASSERT_EQ(sources.groups.size(), 2u);
  EXPECT_EQ(sources.groups[0].name, "a");
  EXPECT_DOUBLE_EQ(sources.groups[0].jobs, 1);
  EXPECT_DOUBLE_EQ(sources.groups[0].difference, 1);
  EXPECT_DOUBLE_EQ(sources.groups[1].difference, -3);
  ASSERT_EQ(sources.phases.size(), 5u);
  EXPECT_EQ(sources.phases[0], (std::pair<std::string, double>("wait", 1)));
  EXPECT_EQ(sources.phases[4], (std::pair<std::string, double>("compute", -3)));
}

}  // namespace
}  // namespace millrace::compare
