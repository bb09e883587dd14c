#include <utility>

#include "schedulers/policies/cp/plan/planner.h"
#include "schedulers/policies/cp/plan/search.h"

namespace millrace::sched {
namespace {

class InlinePlanner : public Planner {
 public:
  explicit InlinePlanner(std::uint64_t evaluations) { limits_.evaluations = evaluations; }

  void Submit(PlanProblem problem) override { ready_ = std::make_unique<Plan>(SearchPlan(problem, limits_)); }
  std::unique_ptr<const Plan> TakePlan() override { return std::move(ready_); }

 private:
  SearchLimits limits_;
  std::unique_ptr<const Plan> ready_;
};

}  // namespace

std::unique_ptr<Planner> MakeInlinePlanner(std::uint64_t evaluations) {
  return std::make_unique<InlinePlanner>(evaluations);
}

}  // namespace millrace::sched
