// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/cp/planner.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <semaphore>

#include "schedulers/policies/cp/search.h"
#include "tests/schedulers/policies/cp/random_problem.h"

namespace millrace::sched {
namespace {

PlanProblem Problem(std::uint64_t seed, std::uint32_t jobs = 12) {
  std::mt19937_64 random(seed);
  return RandomProblem(&random, {.jobs = jobs, .maps = 20, .reduces = 3, .slots = 6, .task = 20});
}

TEST(InlinePlannerTest, GivesThePlanOfTheSearchOnce) {
  const auto planner = MakeInlinePlanner(500);
  EXPECT_EQ(planner->TakePlan(), nullptr);
  planner->Submit(Problem(1));
  const auto plan = planner->TakePlan();
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(plan->maps, SearchPlan(Problem(1), {.evaluations = 500}).maps);
  EXPECT_EQ(planner->TakePlan(), nullptr);
}

// The planner's thread asks the clock at the start of a search, and then before each evaluation but the first. So the
// clock is where these tests meet that thread.
class BackgroundPlannerTest : public testing::Test {
 protected:
  // Stops the planner in the given call of the clock until `go`.
  std::unique_ptr<Planner> Make(int stop_in, Micros budget, Micros step) {
    return MakeBackgroundPlanner({budget, [this, stop_in, step] {
                                    const int call = ++calls_;
                                    if (call == stop_in) {
                                      there_.release();
                                      go_.acquire();
                                    }
                                    return call * step;
                                  }});
  }

  std::atomic<int> calls_ = 0;
  std::binary_semaphore there_{0}, go_{0};
};

TEST_F(BackgroundPlannerTest, APlanIsThereBeforeTheSearchHasEnded) {
  const auto planner = Make(2, 1'000'000, 0);
  planner->Submit(Problem(1));
  there_.acquire();
  const auto plan = planner->TakePlan();
  ASSERT_NE(plan, nullptr);
  EXPECT_EQ(plan->evaluations, 1U);
  go_.release();
}

TEST_F(BackgroundPlannerTest, ANewProblemReplacesTheOneBeingSolved) {
  const auto planner = Make(5, 1'000'000, 0);
  planner->Submit(Problem(1));
  there_.acquire();
  planner->Submit(Problem(2, 3));
  EXPECT_EQ(planner->TakePlan(), nullptr);  // what there was is of the old problem
  go_.release();
  std::unique_ptr<const Plan> plan;
  while (!plan) plan = planner->TakePlan();
  EXPECT_EQ(plan->reduces.size(), 3U);
}

TEST_F(BackgroundPlannerTest, TheBudgetIsKept) {
  // Every call of the clock is a millisecond later: there are 30 evaluations in all, then the thread rests.
  const auto planner = Make(31, 30'000, 1'000);
  planner->Submit(Problem(3, 40));
  there_.acquire();
  const auto plan = planner->TakePlan();
  ASSERT_NE(plan, nullptr);
  EXPECT_LE(plan->evaluations, 31U);
  go_.release();
}

TEST_F(BackgroundPlannerTest, DestructionEndsTheSearch) {
  auto planner = Make(3, 1'000'000'000, 0);
  planner->Submit(Problem(4, 100));
  there_.acquire();
  go_.release();
  planner.reset();
  EXPECT_GE(calls_, 3);
}

}  // namespace
}  // namespace millrace::sched
