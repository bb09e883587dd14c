#include "schedulers/policies/cp/plan/gecode_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace millrace::sched {
namespace {

using Gecode::IntArgs;
using Gecode::IntVar;
using Gecode::IntVarArgs;

constexpr int kSteps = 8;            // of p_late of `mix`
constexpr double kUnit = 1'000'000;  // of the cost of `mix`
constexpr Micros kMostTicks = 1'000'000;

Micros FloorDiv(Micros a, Micros b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }
Micros CeilDiv(Micros a, Micros b) { return -FloorDiv(-a, b); }

// Returns the greatest tick of which all times are multiples, or a coarser one if that makes numbers too large.
Micros TickOf(const PlanProblem& problem, Micros horizon) {
  Micros tick = 0;
  Micros longest = horizon;
  const auto fit = [&](Micros time) { tick = std::gcd(tick, time); };
  for (const auto* slots : {&problem.map_slots, &problem.reduce_slots}) {
    for (const SlotGroup& group : *slots) fit(group.free - problem.now);
  }
  fit(problem.fixed_worst);
  longest = std::max(longest, problem.fixed_worst);
  for (const PlanJob& job : problem.jobs) {
    fit(job.map_time);
    fit(job.reduce_time);
    fit(job.submitted - problem.now);
    if (job.maps_until > 0) fit(job.maps_until - problem.now);
    if (job.reduces_until > 0) fit(job.reduces_until - problem.now);
    if (job.deadline) fit(*job.deadline - problem.now);
    longest = std::max(longest, problem.now - job.submitted);
  }
  return std::max({Micros{1}, tick, CeilDiv(longest, kMostTicks)});
}

// Returns a time after `now` within which all jobs end, even one after the other.
Micros HorizonOf(const PlanProblem& problem) {
  Micros end = problem.now;
  for (const auto* slots : {&problem.map_slots, &problem.reduce_slots}) {
    if (!slots->empty()) end = std::max(end, slots->back().free);
  }
  const auto waves = [](std::uint32_t tasks, const std::vector<SlotGroup>& slots) {
    std::uint64_t count = 0;
    for (const SlotGroup& group : slots) count += group.slots;
    return static_cast<Micros>(tasks / std::max<std::uint64_t>(1, count) + 1);
  };
  for (const PlanJob& job : problem.jobs) end = std::max({end, job.maps_until, job.reduces_until});
  for (const PlanJob& job : problem.jobs) {
    end += job.map_time * waves(job.maps, problem.map_slots);
    end += job.reduce_time * waves(job.reduces, problem.reduce_slots);
  }
  return end - problem.now;
}

}  // namespace

// These are the tasks that share the slots of a kind, as the constraint `cumulative` takes them.
struct MrcpModel::Cumulative {
  IntVarArgs starts;
  IntArgs durations, slots;
};

// It says how times become ticks.
struct MrcpModel::Ticks {
  const PlanProblem& problem;
  Micros tick;
  int horizon;  // in ticks from `now`

  // Returns the time in ticks from `now`, rounded down, and 0 for what lies before `now`.
  [[nodiscard]] int Down(Micros time) const {
    return static_cast<int>(std::max<Micros>(0, FloorDiv(time - problem.now, tick)));
  }
  // Returns the time from the job's submission to `now` in ticks, rounded down.
  [[nodiscard]] int Age(const PlanJob& job) const {
    return static_cast<int>(FloorDiv(problem.now - job.submitted, tick));
  }
  // Returns the turnaround of a job that ends then.
  [[nodiscard]] IntVar Turnaround(MrcpModel* model, const PlanJob& job, const IntVar& end) const {
    const int age = Age(job);
    const IntVar turnaround(*model, age, age + 2 * horizon);
    Gecode::linear(*model, IntArgs({1, -1}), IntVarArgs({turnaround, end}), Gecode::IRT_EQ, age);
    return turnaround;
  }
  [[nodiscard]] int Duration(Micros time) const { return static_cast<int>(time / tick); }
};

MrcpModel::MrcpModel(const PlanProblem& problem, double below) {
  const Micros horizon = HorizonOf(problem);
  tick_ = TickOf(problem, horizon);
  const Ticks ticks{problem, tick_, static_cast<int>(CeilDiv(horizon, tick_))};
  Cumulative maps, reduces;
  IntVarArgs ends;
  const IntVar now(*this, 0, 0);
  for (const PlanJob& job : problem.jobs) {
    const IntVar map_end = AddTasks(ticks, job.maps, job.map_time, now, job.maps_until, &maps);
    ends << AddTasks(ticks, job.reduces, job.reduce_time, map_end, job.reduces_until, &reduces);
  }
  IntVarArgs starts;
  starts << maps.starts << reduces.starts;
  starts_ = Gecode::IntVarArray(*this, starts);
  PostSlots(ticks, problem.map_slots, maps);
  PostSlots(ticks, problem.reduce_slots, reduces);
  if (problem.objective.kind == PlanObjective::Kind::kPaper) {
    PostPaper(ticks, ends, below);
  } else {
    PostMix(ticks, ends, below);
  }
}

MrcpModel::MrcpModel(MrcpModel& other) : Gecode::Space(other), tick_(other.tick_) {
  starts_.update(*this, other.starts_);
  cost_.update(*this, other.cost_);
}

void MrcpModel::Branch() {
  Gecode::branch(*this, starts_, Gecode::INT_VAR_MIN_MIN(), Gecode::INT_VAL_MIN());
  Gecode::branch(*this, cost_, Gecode::INT_VAL_MIN());
}

IntVar MrcpModel::AddTasks(const Ticks& ticks, std::uint32_t tasks, Micros duration, const IntVar& from, Micros until,
                           Cumulative* cumulative) {
  const int length = ticks.Duration(duration);
  IntVarArgs all;
  all << from;
  if (until > 0) all << IntVar(*this, ticks.Down(until), ticks.Down(until));
  IntVarArgs starts(*this, static_cast<int>(tasks), 0, ticks.horizon);
  for (int i = 0; i < starts.size(); ++i) {
    cumulative->durations << length;
    cumulative->slots << 1;
  }
  cumulative->starts << starts;
  const IntVar end(*this, 0, 2 * ticks.horizon);
  if (tasks > 0) {
    Gecode::rel(*this, starts, Gecode::IRT_LQ);  // equal tasks start in the order of their index
    Gecode::rel(*this, starts[0], Gecode::IRT_GQ, from);
    const IntVar last(*this, 0, 2 * ticks.horizon);
    Gecode::linear(*this, IntArgs({1, -1}), IntVarArgs({last, starts[starts.size() - 1]}), Gecode::IRT_EQ, length);
    all << last;
  }
  Gecode::max(*this, all, end);
  return end;
}

void MrcpModel::PostSlots(const Ticks& ticks, const std::vector<SlotGroup>& slots, const Cumulative& cumulative) {
  Cumulative all = cumulative;
  int count = slots.empty() ? 1 : 0;
  for (const SlotGroup& group : slots) {
    count += static_cast<int>(group.slots);
    const int busy = ticks.Down(group.free);
    if (busy == 0) continue;
    all.starts << IntVar(*this, 0, 0);
    all.durations << busy;
    all.slots << static_cast<int>(group.slots);
  }
  if (all.starts.size() == 0) return;
  // IPL_ADVANCED alone would turn time-tabling off.
  Gecode::cumulative(*this, count, all.starts, all.durations, all.slots, Gecode::IPL_BASIC_ADVANCED);
}

// Returns the worst of these turnarounds and of those of the fixed jobs.
IntVar MrcpModel::WorstOf(const Ticks& ticks, const IntVarArgs& turnarounds) {
  const IntVar worst(*this, ticks.Duration(ticks.problem.fixed_worst), Gecode::Int::Limits::max);
  const IntVar fixed(*this, worst.min(), worst.min());
  IntVarArgs all;
  all << turnarounds << fixed;
  Gecode::max(*this, all, worst);
  return worst;
}

void MrcpModel::PostPaper(const Ticks& ticks, const IntVarArgs& ends, double below) {
  const int jobs = ends.size();
  IntVarArgs turnarounds;
  Gecode::BoolVarArgs late;
  for (int i = 0; i < jobs; ++i) {
    const PlanJob& job = ticks.problem.jobs[static_cast<std::size_t>(i)];
    turnarounds << ticks.Turnaround(this, job, ends[i]);
    if (!job.deadline) continue;
    const Gecode::BoolVar is_late(*this, 0, 1);
    const auto due = static_cast<int>(CeilDiv(*job.deadline - ticks.problem.now, tick_));
    Gecode::rel(*this, ends[i], Gecode::IRT_GR, due, is_late);
    late << is_late;
  }
  const double most = std::ceil(below / static_cast<double>(tick_)) - 1;
  cost_ = IntVar(*this, 0, static_cast<int>(std::min<double>(most, Gecode::Int::Limits::max)));
  const IntVar worst = WorstOf(ticks, turnarounds);
  const int fixed_late = static_cast<int>(ticks.problem.fixed_late);
  const IntVar factor(*this, 1, jobs + fixed_late + 1);
  const IntVar number(*this, 0, jobs);
  Gecode::linear(*this, late, Gecode::IRT_EQ, number);
  Gecode::linear(*this, IntArgs({1, -1}), IntVarArgs({factor, number}), Gecode::IRT_EQ, fixed_late + 1);
  Gecode::mult(*this, factor, worst, cost_);
}

// All costs are in millionths, rounded down.
void MrcpModel::PostMix(const Ticks& ticks, const IntVarArgs& ends, double below) {
  const PlanObjective& objective = ticks.problem.objective;
  const auto per_tick = [&](Micros scale) {
    return static_cast<int>(kUnit * static_cast<double>(tick_) / static_cast<double>(scale));
  };
  IntVarArgs turnarounds;
  Gecode::BoolVarArgs passed;
  IntArgs steps;
  double fixed = 0;
  for (int i = 0; i < ends.size(); ++i) {
    const PlanJob& job = ticks.problem.jobs[static_cast<std::size_t>(i)];
    turnarounds << ticks.Turnaround(this, job, ends[i]);
    if (!job.deadline) continue;
    double before = std::floor(kUnit * Lateness(objective, job, ticks.problem.now));
    fixed += before;
    const Micros due = CeilDiv(*job.deadline - ticks.problem.now, tick_);
    for (int step = kSteps - 1; step >= 0; --step) {  // the steps are half a tau apart, the last at the deadline
      const Micros threshold = due - step * std::max<Micros>(1, objective.tau / 2 / tick_);
      if (threshold < 0 && step > 0) continue;
      const Micros after = ticks.problem.now + (threshold + 1) * tick_;
      const double height = std::floor(kUnit * Lateness(objective, job, after));
      if (height <= before) continue;
      const Gecode::BoolVar is_past(*this, 0, 1);
      Gecode::rel(*this, ends[i], Gecode::IRT_GR, static_cast<int>(threshold), is_past);
      passed << is_past;
      steps << static_cast<int>(height - before);
      before = height;
    }
  }
  const IntVar worst = WorstOf(ticks, turnarounds);
  const double most = std::ceil(below * kUnit) - 1 - fixed;
  const int limit = static_cast<int>(std::clamp<double>(most, -1, Gecode::Int::Limits::max));
  cost_ = IntVar(*this, 0, 0);
  IntVarArgs terms;
  IntArgs factors;
  const IntVar lateness(*this, 0, Gecode::Int::Limits::max);
  Gecode::linear(*this, steps, passed, Gecode::IRT_EQ, lateness);
  terms << turnarounds << worst << lateness;
  for (int i = 0; i < turnarounds.size(); ++i) factors << per_tick(objective.total_scale);
  factors << per_tick(objective.worst_scale) << 1;
  Gecode::linear(*this, factors, terms, Gecode::IRT_LQ, limit);
}

}  // namespace millrace::sched
