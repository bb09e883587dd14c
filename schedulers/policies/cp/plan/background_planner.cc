#include <pthread.h>

#include <atomic>
#include <limits>
#include <thread>
#include <utility>

#include "schedulers/policies/cp/plan/planner.h"
#include "schedulers/policies/cp/plan/prover.h"
#include "schedulers/policies/cp/plan/search.h"

namespace millrace::sched {
namespace {

// A problem or a plan, with the number of the Submit() it belongs to.
template <class T>
struct Numbered {
  std::uint64_t generation = 0;
  T value;
};

// A place for one object that one thread leaves and another takes. What is left there before it was taken is dropped.
template <class T>
class Mailbox {
 public:
  ~Mailbox() { Take(); }
  void Put(std::unique_ptr<T> object) { delete place_.exchange(object.release(), std::memory_order_acq_rel); }
  std::unique_ptr<T> Take() { return std::unique_ptr<T>(place_.exchange(nullptr, std::memory_order_acq_rel)); }

 private:
  std::atomic<T*> place_ = nullptr;
};

class BackgroundPlanner : public Planner {
 public:
  explicit BackgroundPlanner(BackgroundLimits limits) : limits_(std::move(limits)), thread_([this] { Run(); }) {}

  ~BackgroundPlanner() override {
    Announce(kEnd);
    thread_.join();
  }

  void Submit(PlanProblem problem) override {
    ++submitted_;
    problems_.Put(std::make_unique<Numbered<PlanProblem>>(submitted_, std::move(problem)));
    Announce(submitted_);
  }

  std::unique_ptr<const Plan> TakePlan() override {
    const std::unique_ptr<Numbered<Plan>> plan = plans_.Take();
    if (!plan || plan->generation != submitted_) return nullptr;
    return std::make_unique<Plan>(std::move(plan->value));
  }

 private:
  static constexpr std::uint64_t kEnd = std::numeric_limits<std::uint64_t>::max();

  void Announce(std::uint64_t generation) {
    generation_.store(generation, std::memory_order_release);
    generation_.notify_one();
  }

  void Run() {
    ::pthread_setname_np(::pthread_self(), "planner");
    const std::unique_ptr<Prover> prover = MakeProver();
    for (std::uint64_t seen = 0;;) {
      generation_.wait(seen, std::memory_order_acquire);
      seen = generation_.load(std::memory_order_acquire);  // before the look for problems, so that none is missed
      if (seen == kEnd) return;
      while (const std::unique_ptr<Numbered<PlanProblem>> problem = problems_.Take()) Solve(*problem, prover.get());
    }
  }

  void Solve(const Numbered<PlanProblem>& problem, Prover* prover) {
    const Micros start = limits_.clock();
    SearchLimits limits;
    limits.evaluations = kEnd;
    limits.prover = prover;
    limits.stop = [&] {
      return generation_.load(std::memory_order_acquire) > problem.generation ||
             limits_.clock() - start >= limits_.budget;
    };
    (void)SearchPlan(problem.value, limits,
                     [&](const Plan& plan) { plans_.Put(std::make_unique<Numbered<Plan>>(problem.generation, plan)); });
  }

  const BackgroundLimits limits_;
  std::uint64_t submitted_ = 0;  // of the caller's thread
  Mailbox<Numbered<PlanProblem>> problems_;
  Mailbox<Numbered<Plan>> plans_;
  std::atomic<std::uint64_t> generation_ = 0;
  std::thread thread_;  // the last member: it uses the others
};

}  // namespace

std::unique_ptr<Planner> MakeBackgroundPlanner(BackgroundLimits limits) {
  return std::make_unique<BackgroundPlanner>(std::move(limits));
}

}  // namespace millrace::sched
