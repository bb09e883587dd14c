// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/cp/search.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "schedulers/policies/cp/bound.h"
#include "schedulers/policies/cp/evaluator.h"
#include "schedulers/policies/cp/orders.h"

namespace millrace::sched {
namespace {

constexpr std::size_t kAllOrders = 6;    // jobs; 720 orders
constexpr std::size_t kHistory = 4;      // of late acceptance, where there are few chunks
constexpr std::size_t kManyChunks = 64;  // with this many, plain descent gets further with its evaluations
constexpr double kOrderShare = 0.9;      // of the evaluations; the rest is for chunks
constexpr std::uint32_t kPieces = 4;     // in which the maps of a job are cut
constexpr std::uint64_t kPatience = 20;  // evaluations for each chunk without a better plan
constexpr double kTolerance = 1e-12;     // relative, of sums of doubles

class Search {
 public:
  Search(const PlanProblem& problem, const SearchLimits& limits, const OnBetter& on_better)
      : problem_(problem), limits_(limits), on_better_(on_better), evaluator_(problem), random_(limits.seed) {}

  Plan Run() {
    const std::vector<Micros> alone = AloneEnds(problem_);
    plan_.bound = PlanBound(problem_, alone);
    const auto starts = StartOrders(problem_, alone);
    Try(OrderOf(problem_, starts.front()));
    for (std::size_t i = 1; i < starts.size() && !Done(limits_.evaluations); ++i) Try(OrderOf(problem_, starts[i]));
    if (problem_.jobs.size() <= kAllOrders) {
      TryAll();
    } else {
      const auto share = static_cast<std::uint64_t>(kOrderShare * static_cast<double>(limits_.evaluations));
      Climb(share, [&](PlanOrder* order) { return MoveJob(&random_, order); });
    }
    if (!Done(limits_.evaluations)) {
      best_ = Split(problem_, best_, kPieces);
      Climb(limits_.evaluations, [&](PlanOrder* order) { return MoveChunk(&random_, order); });
    }
    plan_.evaluations = evaluator_.evaluations();
    return std::move(plan_);
  }

 private:
  // Returns true after so many evaluations, and when the plan cannot be improved or time is up.
  bool Done(std::uint64_t evaluations) {
    return plan_.optimal || evaluator_.evaluations() >= evaluations || (limits_.stop && limits_.stop());
  }

  void Try(const PlanOrder& order) {
    const double cost = evaluator_.Cost(order);
    if (plan_.reduces.empty() || cost < cost_) Adopt(order, cost);
  }

  void Adopt(const PlanOrder& order, double cost) {
    best_ = order;
    cost_ = cost;
    plan_.cost = cost;
    plan_.optimal = cost <= plan_.bound * (1 + kTolerance);
    plan_.evaluations = evaluator_.evaluations();
    WritePlan(problem_, order, &plan_);
    if (on_better_) on_better_(plan_);
  }

  void TryAll() {
    JobSequence jobs(problem_.jobs.size());
    std::iota(jobs.begin(), jobs.end(), 0U);
    do {
      if (Done(limits_.evaluations)) return;
      Try(OrderOf(problem_, jobs));
    } while (std::next_permutation(jobs.begin(), jobs.end()));
  }

  // This is late acceptance hill climbing (Burke and Bykov 2017): a move is made if it costs no more than the order
  // some moves ago did, so that short climbs out of a hollow are possible without a temperature to be tuned.
  template <class Move>
  void Climb(std::uint64_t evaluations, const Move& move) {
    PlanOrder now = best_;
    double now_cost = evaluator_.Cost(now);
    evaluator_.Rebase(now);
    std::vector<double> history(now.maps.size() < kManyChunks ? kHistory : 1, now_cost);
    PlanOrder next = now;
    const std::uint64_t patience = 200 + kPatience * now.maps.size();
    std::uint64_t idle = 0;
    for (std::size_t step = 0; idle < patience && !Done(evaluations); ++step, ++idle) {
      next = now;
      const std::size_t same = move(&next);
      const double cost = evaluator_.Cost(next, same);
      if (cost < cost_ * (1 - kTolerance)) {
        Adopt(next, cost);
        idle = 0;
      }
      double& past = history[step % history.size()];
      if (cost <= now_cost || cost <= past) {
        std::swap(now, next);
        now_cost = cost;
        evaluator_.Rebase(now, same);
      }
      past = now_cost;
    }
  }

  const PlanProblem& problem_;
  const SearchLimits& limits_;
  const OnBetter& on_better_;
  Evaluator evaluator_;
  std::mt19937_64 random_;
  Plan plan_;
  PlanOrder best_;
  double cost_ = 0;
};

}  // namespace

Plan SearchPlan(const PlanProblem& problem, const SearchLimits& limits, const OnBetter& on_better) {
  if (problem.jobs.empty()) {
    Plan plan;
    plan.optimal = true;
    return plan;
  }
  return Search(problem, limits, on_better).Run();
}

}  // namespace millrace::sched
