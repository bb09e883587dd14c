// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/cp/search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "schedulers/policies/cp/bound.h"
#include "schedulers/policies/cp/orders.h"
#include "schedulers/policies/cp/reference.h"
#include "tests/schedulers/policies/cp/random_problem.h"

namespace millrace::sched {
namespace {

using testing::ElementsAre;

PlanJob Job(std::uint32_t id, std::uint32_t maps, Micros map_time, Micros deadline) {
  PlanJob job;
  job.id = JobId{id};
  job.maps = maps;
  job.map_time = map_time;
  job.deadline = deadline;
  return job;
}

// Returns the plan as an order of indices into the problem.
PlanOrder Indexed(const PlanProblem& problem, const Plan& plan) {
  std::map<JobId, std::uint32_t> index;
  for (std::uint32_t i = 0; i < problem.jobs.size(); ++i) index[problem.jobs[i].id] = i;
  PlanOrder order;
  for (const PlanChunk& chunk : plan.maps) order.maps.push_back({index.at(chunk.job), chunk.maps});
  for (const JobId job : plan.reduces) order.reduces.push_back(index.at(job));
  return order;
}

TEST(SearchTest, LetsAHopelessJobGoLastWhereDeadlinesAloneWouldMakeTwoLate) {
  PlanProblem problem;
  problem.objective.kind = PlanObjective::Kind::kPaper;
  problem.map_slots = {{0, 1}};
  problem.jobs = {Job(1, 1, 20, 10), Job(2, 1, 10, 15), Job(3, 1, 10, 25)};
  const Plan plan = SearchPlan(problem, {});
  EXPECT_EQ(plan.cost, 2 * 40.0);
  EXPECT_TRUE(plan.optimal);
  EXPECT_THAT(plan.maps, ElementsAre(PlanChunk{JobId{2}, 1}, PlanChunk{JobId{3}, 1}, PlanChunk{JobId{1}, 1}));
}

TEST(SearchTest, NoJobsNoPlan) {
  const Plan plan = SearchPlan({}, {});
  EXPECT_TRUE(plan.maps.empty());
  EXPECT_TRUE(plan.optimal);
}

TEST(SearchTest, TheBestOrderIsWithinAFewPercentOfTheBestSchedule) {
  int problems = 0, optimal = 0;
  double found = 0, least = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const PlanProblem problem = RandomProblem(&random, {.jobs = 3, .maps = 2, .reduces = 1});
    const Plan plan = SearchPlan(problem, {});
    const double best = LeastCost(problem);
    ASSERT_LE(plan.bound, best * (1 + 1e-9));
    ASSERT_GE(plan.cost, best * (1 - 1e-9));
    ASSERT_TRUE(!plan.optimal || plan.cost <= best * (1 + 1e-9));
    ++problems;
    optimal += plan.cost <= best * (1 + 1e-9) ? 1 : 0;
    found += plan.cost / best;
    least += 1;
  }
  // In the other problems the best schedule lets a slot wait, which no order does.
  EXPECT_GE(optimal, problems * 95 / 100);
  EXPECT_LE(found, least * 1.005);
}

TEST(SearchTest, ThePlanHoldsEveryPendingTaskAndCostsWhatItSays) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const RandomShape shape{.jobs = 12, .maps = 20, .reduces = 3, .slots = 6, .task = 20};
    const PlanProblem problem = RandomProblem(&random, shape);
    std::vector<double> costs;
    const Plan plan = SearchPlan(problem, {.evaluations = 800}, [&](const Plan& p) { costs.push_back(p.cost); });
    EXPECT_TRUE(std::is_sorted(costs.rbegin(), costs.rend()));
    ASSERT_FALSE(costs.empty());
    EXPECT_EQ(costs.back(), plan.cost);
    std::vector<std::uint32_t> maps(problem.jobs.size());
    const PlanOrder order = Indexed(problem, plan);
    for (const MapChunk& chunk : order.maps) maps[chunk.job] += chunk.maps;
    for (std::size_t i = 0; i < maps.size(); ++i) EXPECT_EQ(maps[i], problem.jobs[i].maps);
    EXPECT_EQ(order.reduces.size(), problem.jobs.size());
    EXPECT_DOUBLE_EQ(CostOf(problem, Follow(problem, order)), plan.cost);
    EXPECT_LE(plan.bound, plan.cost * (1 + 1e-9));
    EXPECT_LE(plan.evaluations, 802U);
  }
}

TEST(SearchTest, IsNeverWorseThanItsStarts) {
  std::mt19937_64 random(3);
  const PlanProblem problem = RandomProblem(&random, {.jobs = 30, .maps = 20, .reduces = 3, .slots = 6, .task = 20});
  const Plan plan = SearchPlan(problem, {.evaluations = 3'000});
  for (const JobSequence& start : StartOrders(problem, AloneEnds(problem))) {
    PlanOrder order{{}, start};
    for (const std::uint32_t job : start) order.maps.push_back({job, problem.jobs[job].maps});
    EXPECT_LE(plan.cost, CostOf(problem, Follow(problem, order)));
  }
}

TEST(SearchTest, TheSameProblemGivesTheSamePlan) {
  std::mt19937_64 random(4);
  const PlanProblem problem = RandomProblem(&random, {.jobs = 15, .maps = 20, .reduces = 3, .slots = 6, .task = 20});
  const Plan one = SearchPlan(problem, {.evaluations = 1'000});
  const Plan two = SearchPlan(problem, {.evaluations = 1'000});
  EXPECT_EQ(one.maps, two.maps);
  EXPECT_EQ(one.reduces, two.reduces);
}

TEST(SearchTest, StopsWhenItIsToldTo) {
  std::mt19937_64 random(4);
  const PlanProblem problem = RandomProblem(&random, {.jobs = 15, .maps = 20, .reduces = 3, .slots = 6, .task = 20});
  int asked = 0;
  const Plan plan = SearchPlan(problem, {.evaluations = 1'000'000, .stop = [&] { return ++asked > 50; }});
  EXPECT_LE(plan.evaluations, 53U);
  EXPECT_FALSE(plan.maps.empty());
}

TEST(BoundTest, FewestLateIsMooreHodgsonOnTheWholePool) {
  // Two slots: 20 ticks of slot time before 10, 40 before 20. Works 16, 16, 10 due at 10, 20, 20: one is late.
  EXPECT_EQ(FewestLate({{0, 2}}, {{10, 16}, {20, 16}, {20, 10}}), 1U);
  EXPECT_EQ(FewestLate({{0, 2}}, {{10, 16}, {20, 14}, {20, 10}}), 0U);
  // From 9 on 22 before 20: besides the first one more.
  EXPECT_EQ(FewestLate({{9, 2}}, {{10, 16}, {20, 14}, {20, 10}}), 2U);
}

TEST(OrdersTest, APreviousOrderTakesInNewJobsByDeadline) {
  PlanProblem problem;
  problem.jobs = {Job(1, 1, 1, 90), Job(2, 1, 1, 50), Job(3, 1, 1, 70)};
  problem.previous = {JobId{1}, JobId{9}, JobId{2}};
  EXPECT_THAT(Previous(problem), ElementsAre(2, 0, 1));
}

TEST(OrdersTest, EachRuleOnASmallExample) {
  PlanProblem problem;
  problem.map_slots = {{0, 1}};
  problem.reduce_slots = {{0, 1}};
  problem.jobs = {Job(1, 1, 30, 20), Job(2, 1, 10, 21), Job(3, 1, 10, 100), Job(4, 1, 12, 22)};
  problem.jobs[2].deadline.reset();
  problem.jobs[2].reduces = 1;
  problem.jobs[2].reduce_time = 40;
  problem.jobs[1].submitted = -5;
  const std::vector<Micros> alone{30, 10, 50, 12};
  EXPECT_THAT(EarliestDeadline(problem), ElementsAre(0, 1, 3, 2));
  EXPECT_THAT(LeastSlack(problem, alone), ElementsAre(0, 3, 1, 2));
  EXPECT_THAT(ShortestWork(problem), ElementsAre(1, 3, 0, 2));
  EXPECT_THAT(MooreHodgson(problem), ElementsAre(1, 3, 2, 0));
  EXPECT_THAT(HopelessLast(problem, alone), ElementsAre(1, 3, 2, 0));
  EXPECT_THAT(Johnson(problem), ElementsAre(2, 0, 1, 3));
  EXPECT_THAT(Oldest(problem), ElementsAre(1, 0, 2, 3));
}

}  // namespace
}  // namespace millrace::sched
