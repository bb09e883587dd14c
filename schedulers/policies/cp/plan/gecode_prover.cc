#include "schedulers/policies/cp/plan/gecode_model.h"
#include "schedulers/policies/cp/plan/prover.h"

namespace millrace::sched {
namespace {

constexpr std::uint64_t kMostTasks = 20'000;  // a model of more takes too long to build

// It propagates the root and searches nothing: a search for what that does not refute could take any time.
class GecodeProver : public Prover {
 public:
  [[nodiscard]] bool NothingBelow(const PlanProblem& problem, double cost) override {
    std::uint64_t tasks = 0;
    for (const PlanJob& job : problem.jobs) tasks += job.maps + job.reduces;
    if (tasks == 0 || tasks > kMostTasks) return false;
    try {
      return MrcpModel(problem, cost).status() == Gecode::SS_FAILED;
    } catch (const Gecode::Exception&) {
      return false;  // numbers beyond Gecode's
    }
  }
};

}  // namespace

std::unique_ptr<Prover> MakeProver() { return std::make_unique<GecodeProver>(); }

}  // namespace millrace::sched
