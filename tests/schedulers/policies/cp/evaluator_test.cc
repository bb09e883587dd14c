// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/cp/evaluator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "schedulers/policies/cp/orders.h"
#include "schedulers/policies/cp/reference.h"
#include "tests/schedulers/policies/cp/random_problem.h"

namespace millrace::sched {
namespace {

using testing::ElementsAre;

PlanJob Job(std::uint32_t id, std::uint32_t maps, Micros map_time, std::uint32_t reduces, Micros reduce_time) {
  PlanJob job;
  job.id = JobId{id};
  job.maps = maps;
  job.map_time = map_time;
  job.reduces = reduces;
  job.reduce_time = reduce_time;
  return job;
}

TEST(EvaluatorTest, ReducesStartAfterAllMapsOfTheirJob) {
  PlanProblem problem;
  problem.map_slots = {{0, 2}};
  problem.reduce_slots = {{0, 1}};
  problem.jobs = {Job(1, 3, 10, 1, 5), Job(2, 1, 4, 1, 100)};
  Evaluator evaluator(problem);
  // Maps of 1: 0-10, 0-10, 10-20; the map of 2: 10-14; its reduce 14-114; the reduce of 1 waits for the slot.
  evaluator.Cost({{{0, 3}, {1, 1}}, {0, 1}});
  EXPECT_THAT(evaluator.ends(), ElementsAre(119, 114));
  // The map of 2 first: 0-4, its reduce 4-104; maps of 1: 0-10, 4-14, 10-20.
  evaluator.Cost({{{1, 1}, {0, 3}}, {1, 0}});
  EXPECT_THAT(evaluator.ends(), ElementsAre(109, 104));
}

TEST(EvaluatorTest, RunningTasksHoldTheirSlotsAndTheirJob) {
  PlanProblem problem;
  problem.now = 100;
  problem.map_slots = {{100, 1}, {130, 1}};
  problem.reduce_slots = {{100, 1}};
  problem.jobs = {Job(1, 1, 10, 1, 5)};
  problem.jobs[0].maps_until = 130;
  Evaluator evaluator(problem);
  evaluator.Cost({{{0, 1}}, {0}});
  EXPECT_THAT(evaluator.ends(), ElementsAre(135));
}

TEST(EvaluatorTest, AKindWithoutSlotsIsPlannedAsIfThereWereOne) {
  PlanProblem problem;
  problem.now = 7;
  problem.jobs = {Job(1, 2, 10, 0, 1)};
  Evaluator evaluator(problem);
  evaluator.Cost({{{0, 2}}, {0}});
  EXPECT_THAT(evaluator.ends(), ElementsAre(27));
}

TEST(EvaluatorTest, ThePaperCountsLateJobsAndTheWorstTurnaround) {
  PlanProblem problem;
  problem.now = 20;
  problem.objective.kind = PlanObjective::Kind::kPaper;
  problem.jobs = {Job(1, 0, 1, 0, 1), Job(2, 0, 1, 0, 1), Job(3, 0, 1, 0, 1)};
  problem.jobs[0].deadline = 50;
  problem.jobs[1].deadline = 50;
  problem.jobs[1].submitted = 20;
  EXPECT_EQ(PlanCost(problem, std::vector<Micros>{50, 60, 30}), (1 + 1) * 50.0);
}

// Compares orders of all shapes, with and without checkpoints, with a simulation of single slots tick by tick.
TEST(EvaluatorTest, DoesWhatFollowingTheOrderTickByTickDoes) {
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const RandomShape shape{.jobs = 5, .maps = 12, .reduces = 4, .slots = 5, .task = 20};
    const PlanProblem problem = RandomProblem(&random, shape);
    Evaluator evaluator(problem);
    JobSequence jobs{0, 1, 2, 3, 4};
    std::shuffle(jobs.begin(), jobs.end(), random);
    PlanOrder order = Split(problem, OrderOf(problem, jobs), 1 + static_cast<std::uint32_t>(random() % 4));
    evaluator.Rebase(order);
    for (int step = 0; step < 8; ++step) {
      PlanOrder next = order;
      const std::size_t same = MoveChunk(&random, &next);
      const std::vector<Micros> expected = Follow(problem, next);
      ASSERT_DOUBLE_EQ(evaluator.Cost(next, same), CostOf(problem, expected));
      ASSERT_EQ(std::vector<Micros>(evaluator.ends().begin(), evaluator.ends().end()), expected);
      if (random() % 2 == 0) continue;
      order = next;
      evaluator.Rebase(order, same);
    }
  }
}

TEST(EvaluatorTest, CheckpointsOfLongOrdersChangeNothing) {
  std::mt19937_64 random(5);
  const PlanProblem problem = RandomProblem(&random, {.jobs = 200, .maps = 30, .reduces = 3, .slots = 20, .task = 30});
  Evaluator with(problem), without(problem);
  PlanOrder order = Split(problem, OrderOf(problem, EarliestDeadline(problem)), 4);
  with.Rebase(order);
  for (int step = 0; step < 500; ++step) {
    PlanOrder next = order;
    const std::size_t same = MoveChunk(&random, &next);
    ASSERT_EQ(with.Cost(next, same), without.Cost(next));
    if (step % 3 != 0) continue;
    order = next;
    with.Rebase(order, same);
  }
}

}  // namespace
}  // namespace millrace::sched
