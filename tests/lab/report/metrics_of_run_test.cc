// SPDX-License-Identifier: Apache-2.0
// Tests the metrics that are computed from the rows of jobs, by hand; test_simulated.py has the others by another
// computation.
#include "lab/report/metrics_of_run.h"

#include <gtest/gtest.h>

#include "lab/run/sim_arena.h"
#include "tests/lab/records.h"

namespace millrace::compare {
namespace {

RunOutcome OutcomeOf(std::vector<sim::JobRow> jobs) {
  RunOutcome outcome;
  outcome.result.jobs = std::move(jobs);
  sim::Summarise(&outcome.result);
  return outcome;
}

std::optional<double> Of(const char* metric, const RunOutcome& outcome) { return FindMetric(metric)->of(outcome); }

TEST(MetricsOfRunTest, BoundedSlowdownCountsAShortJobAsTenSeconds) {
  sim::JobRow tiny = testing::Job(0, "a", 0, 4, 5), quick = testing::Job(1, "a", 0, 0, 8),
              large = testing::Job(2, "a", 0, 10, 60), open = testing::Job(3, "a", 0, 1, 2);
  tiny.alone = kSecond / 10;   // 5 s over 10 s: at least 1
  quick.alone = 12 * kSecond;  // faster than alone: 1
  large.alone = 20 * kSecond;  // 60 / 20
  open.outcome.reset(), open.alone = kSecond;
  EXPECT_NEAR(Of("bounded_slowdown", OutcomeOf({tiny, quick, large, open})).value(), (1 + 1 + 3) / 3.0, 1e-9);
  EXPECT_EQ(Of("bounded_slowdown", OutcomeOf({testing::Job(0, "a", 0, 4, 5)})), std::nullopt) << "alone is not known";
}

TEST(MetricsOfRunTest, TheLongestWaitIsOfTheJobsThatEnded) {
  sim::JobRow open = testing::Job(2, "a", 0, 50, 60);
  open.outcome.reset();
  EXPECT_EQ(Of("longest_wait", OutcomeOf({testing::Job(0, "a", 1, 4, 5), testing::Job(1, "a", 2, 9, 10), open})), 7.0);
  EXPECT_EQ(Of("longest_wait", OutcomeOf({open})), std::nullopt);
}

TEST(MetricsOfRunTest, TheErrorOfForetoldEndsIsOverWhatHappened) {
  sim::JobRow late = testing::Job(0, "a", 0, 1, 9), early = testing::Job(1, "a", 10, 11, 14),
              silent = testing::Job(2, "a", 0, 1, 2), failed = testing::Job(3, "a", 0, 1, 2);
  late.foretold = 4 * kSecond;   // 5 off, over 9 + 1
  early.foretold = 5 * kSecond;  // 1 off, over 4 + 1
  failed.foretold = 100 * kSecond, failed.outcome = sched::JobOutcome::kFailed;
  EXPECT_NEAR(Of("foretold", OutcomeOf({late, early, silent, failed})).value(), (0.5 + 0.2) / 2, 1e-9);
  EXPECT_EQ(Of("foretold", OutcomeOf({silent})), std::nullopt);
}

TEST(MetricsOfRunTest, AMetricOfAGroupIsOfItsJobsAlone) {
  // Classes are named like pools and users here, but for the last job.
  sim::JobRow a = testing::Job(0, "a", 0, 1, 9), b = testing::Job(1, "b", 10, 11, 14),
              other = testing::Job(2, "b", 0, 5, 30);
  other.group = "c", other.user = "ann", other.deadline = 20 * kSecond, b.deadline = 20 * kSecond;
  const RunOutcome outcome = OutcomeOf({a, b, other});
  EXPECT_EQ(Of("turnaround/b", outcome), 4.0) << "the class comes before the pool";
  EXPECT_EQ(Of("turnaround/class=b", outcome), 4.0);
  EXPECT_EQ(Of("turnaround/pool=b", outcome), (4.0 + 30) / 2);
  EXPECT_EQ(Of("turnaround/ann", outcome), 30.0) << "no class and no pool has this name";
  EXPECT_EQ(Of("longest_wait/pool=b", outcome), 5.0);
  EXPECT_EQ(Of("late/pool=b", outcome), 0.5);
  EXPECT_EQ(Of("late/a", outcome), std::nullopt);
  EXPECT_EQ(Of("turnaround/nobody", outcome), std::nullopt);
  EXPECT_EQ(Of("turnaround/user=b", outcome), 4.0);
  const Metric* const one = FindMetric("turnaround/b");
  EXPECT_EQ(one, FindMetric("turnaround/b")) << "it stays";
  EXPECT_EQ(one->name, "mean turnaround of b");
  for (const char* key : {"turnaround/", "fairness/b", "nothing/b", "utilisation/b", "/b"})
    EXPECT_EQ(FindMetric(key), nullptr) << key;
}

// Jobs that are all alike, and each alone on the cluster: once one has ended, the ends of the others are known.
TEST(ForetellingTest, WhatIsAlwaysTheSameIsForetold) {
  const auto draw = [](std::uint64_t) {
    return sim::ParseSimulation(
        "[cluster]\nnodes = 2\nmap_slots = 2\nreduce_slots = 1\n[placement]\nreplication = 2\n[[jobs]]\n"
        "name = \"a\"\ncount = 30\nmaps = 6\nmap_time = 10\narrival = { kind = \"interval\", every = 60 }\n",
        "w", {});
  };
  const sim::SimulationFile file = draw(1).value();
  const RunOutcome told = SimulateOnce(file, {"fair", "fair", "", {}}, {.foretelling = true}).value();
  std::size_t foretold = 0;
  for (const sim::JobRow& job : told.result.jobs) foretold += job.foretold ? 1 : 0;
  EXPECT_EQ(foretold, 29u) << "of the first nothing is known";
  EXPECT_LT(Of("foretold", told).value(), 1e-6);
  const RunOutcome silent = SimulateOnce(file, {"fair", "fair", "", {}}, {}).value();
  EXPECT_EQ(Of("foretold", silent), std::nullopt);
  for (std::size_t i = 0; i < 30; ++i)
    EXPECT_EQ(silent.result.jobs[i].end, told.result.jobs[i].end) << "asking changes nothing";
}

// Every fifth of 200 jobs.
TEST(ForetellingTest, AsksAboutAtMostSoManyJobsOfARun) {
  const sim::SimulationFile file =
      sim::ParseSimulation(
          "[cluster]\nnodes = 2\n[[jobs]]\nname = \"a\"\ncount = 200\nmaps = 2\nmap_time = 3\n"
          "arrival = { kind = \"interval\", every = 2 }\n",
          "w", {})
          .value();
  const RunOutcome told = SimulateOnce(file, {"fifo", "fifo", "", {}}, {.foretelling = true}).value();
  std::size_t foretold = 0;
  for (const sim::JobRow& job : told.result.jobs) foretold += job.foretold ? 1 : 0;
  EXPECT_GT(foretold, 30u);
  EXPECT_LE(foretold, 48u);
}

}  // namespace
}  // namespace millrace::compare
