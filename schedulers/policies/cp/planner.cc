// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/cp/planner.h"

#include <pthread.h>

#include <atomic>
#include <limits>
#include <thread>
#include <utility>

#include "schedulers/policies/cp/search.h"

namespace millrace::sched {
namespace {

class InlinePlanner : public Planner {
 public:
  explicit InlinePlanner(std::uint64_t evaluations) { limits_.evaluations = evaluations; }

  void Submit(PlanProblem problem) override { ready_ = std::make_unique<Plan>(SearchPlan(problem, limits_)); }
  std::unique_ptr<const Plan> TakePlan() override { return std::move(ready_); }
  [[nodiscard]] std::unique_ptr<Planner> Clone() const override {
    auto copy = std::make_unique<InlinePlanner>(limits_.evaluations);
    if (ready_) copy->ready_ = std::make_unique<Plan>(*ready_);
    return copy;
  }

 private:
  SearchLimits limits_;
  std::unique_ptr<const Plan> ready_;
};

class IdlePlanner : public Planner {
 public:
  void Submit(PlanProblem) override {}
  std::unique_ptr<const Plan> TakePlan() override { return nullptr; }
};

// This is a problem or a plan, with the number of the Submit() that it belongs to.
template <class T>
struct Numbered {
  std::uint64_t generation = 0;
  T value;
};

// One thread leaves an object in a mailbox and another takes it. An object that was not taken before the next one is
// left is dropped.
template <class T>
class Mailbox {
 public:
  ~Mailbox() { Take(); }
  void Leave(std::unique_ptr<T> object) { delete object_.exchange(object.release(), std::memory_order_acq_rel); }
  std::unique_ptr<T> Take() { return std::unique_ptr<T>(object_.exchange(nullptr, std::memory_order_acq_rel)); }

 private:
  std::atomic<T*> object_ = nullptr;
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
    problems_.Leave(std::make_unique<Numbered<PlanProblem>>(submitted_, std::move(problem)));
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
    for (std::uint64_t seen = 0;;) {
      generation_.wait(seen, std::memory_order_acquire);
      seen = generation_.load(std::memory_order_acquire);  // before the mailbox, so that no problem is missed
      if (seen == kEnd) return;
      while (const std::unique_ptr<Numbered<PlanProblem>> problem = problems_.Take()) Solve(*problem);
    }
  }

  void Solve(const Numbered<PlanProblem>& problem) {
    const Micros start = limits_.clock();
    SearchLimits limits;
    limits.evaluations = kEnd;
    limits.stop = [&] {
      return generation_.load(std::memory_order_acquire) > problem.generation ||
             limits_.clock() - start >= limits_.budget;
    };
    (void)SearchPlan(problem.value, limits, [&](const Plan& plan) {
      plans_.Leave(std::make_unique<Numbered<Plan>>(problem.generation, plan));
    });
  }

  const BackgroundLimits limits_;
  std::uint64_t submitted_ = 0;  // only the caller's thread uses it
  Mailbox<Numbered<PlanProblem>> problems_;
  Mailbox<Numbered<Plan>> plans_;
  std::atomic<std::uint64_t> generation_ = 0;
  std::thread thread_;  // it is the last member, since it uses the others
};

}  // namespace

std::unique_ptr<Planner> MakeIdlePlanner() { return std::make_unique<IdlePlanner>(); }

std::unique_ptr<Planner> MakeInlinePlanner(std::uint64_t evaluations) {
  return std::make_unique<InlinePlanner>(evaluations);
}

std::unique_ptr<Planner> MakeBackgroundPlanner(BackgroundLimits limits) {
  return std::make_unique<BackgroundPlanner>(std::move(limits));
}

}  // namespace millrace::sched
