// Tests Gecode as a prover, and uses it as an oracle, if it is part of the build.
#include <gtest/gtest.h>

#include <algorithm>
#include <gecode/search.hh>
#include <memory>
#include <random>

#include "schedulers/policies/cp/plan/gecode_model.h"
#include "schedulers/policies/cp/plan/prover.h"
#include "schedulers/policies/cp/plan/reference.h"
#include "schedulers/policies/cp/plan/search.h"
#include "tests/schedulers/cp/random_problem.h"

namespace millrace::sched {
namespace {

// Returns the least cost of any schedule under the objective of the paper, by a complete search, or 0 if no schedule
// costs less than `below`.
double Solve(const PlanProblem& problem, double below) {
  double best = 0;
  for (;;) {
    MrcpModel model(problem, below);
    model.Branch();
    Gecode::DFS<MrcpModel> search(&model);
    const std::unique_ptr<MrcpModel> solution(search.next());
    if (!solution) return best;
    best = below = solution->PaperCost();
  }
}

TEST(GecodeTest, FindsTheSameBestSchedulesAsTryingAll) {
  int solved = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    PlanProblem problem = RandomProblem(&random, {.jobs = 3, .maps = 2, .reduces = 1});
    problem.objective.kind = PlanObjective::Kind::kPaper;
    const double best = LeastCost(problem);
    EXPECT_EQ(Solve(problem, best + 1), best);
    EXPECT_EQ(Solve(problem, best), 0);
    ++solved;
  }
  EXPECT_EQ(solved, 120);
}

TEST(GecodeTest, ProvesNothingThatIsNotSo) {
  const std::unique_ptr<Prover> prover = MakeProver();
  ASSERT_NE(prover, nullptr);
  int proven = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const PlanProblem problem = RandomProblem(&random, {.jobs = 3, .maps = 2, .reduces = 1});
    const double best = LeastCost(problem);
    EXPECT_FALSE(prover->NothingBelow(problem, best * (1 + 1e-6) + 1e-6));
    proven += prover->NothingBelow(problem, best) ? 1 : 0;
  }
  EXPECT_GE(proven, 20);
}

TEST(GecodeTest, TimesThatDoNotFitAreRoundedInFavourOfTheSchedule) {
  PlanProblem problem;
  problem.objective.kind = PlanObjective::Kind::kPaper;
  problem.now = 7'777'777;
  problem.map_slots = {{problem.now, 1}};
  for (std::uint32_t i = 0; i < 4; ++i) {
    PlanJob job;
    job.id = JobId{i};
    job.submitted = problem.now - 1'000'000'007;
    job.maps = 3;
    job.map_time = 999'999'937;
    job.deadline = problem.now + 12 * job.map_time;
    problem.jobs.push_back(job);
  }
  const double best = 12 * 999'999'937.0 + 1'000'000'007;
  const std::unique_ptr<Prover> prover = MakeProver();
  EXPECT_FALSE(prover->NothingBelow(problem, best + 1));
  EXPECT_TRUE(prover->NothingBelow(problem, best * 0.99));
}

}  // namespace
}  // namespace millrace::sched
