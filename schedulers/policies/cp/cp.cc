// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/cp/cp.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <utility>

#include "schedulers/history/estimates.h"

namespace millrace::sched {
namespace {

constexpr double kMoved = 0.2;  // relative; smaller changes do not ask for another plan

Micros SteadyNow() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since).count();
}

std::unique_ptr<Planner> PlannerFor(const CpSettings& settings) {
  if (!settings.background) return MakeInlinePlanner(settings.evaluations);
  return MakeBackgroundPlanner({settings.budget, SteadyNow});
}

bool Moved(const TaskTimes& before, const TaskTimes& after) {
  const auto moved = [](double was, double is) { return std::abs(is - was) > kMoved * was; };
  return moved(before.map, after.map) || moved(before.reduce, after.reduce);
}

}  // namespace

Cp::Cp(std::string name, const CpSettings& settings, Admission admission)
    : Cp(std::move(name), settings, std::move(admission), PlannerFor(settings)) {}

Cp::Cp(std::string name, const CpSettings& settings, Admission admission, std::unique_ptr<Planner> planner)
    : GreedyOver(std::move(name), std::make_unique<CpOrder>(), std::move(admission)),
      settings_(settings),
      planner_(std::move(planner)) {}

Cp::Cp(const Cp& other, std::unique_ptr<JobOrder> order, std::unique_ptr<Planner> planner)
    : GreedyOver(other, std::move(order)),
      settings_(other.settings_),
      planner_(std::move(planner)),
      due_(other.due_),
      finished_times_(other.finished_times_),
      times_(other.times_),
      review_(other.review_),
      plan_(other.plan_) {}

std::unique_ptr<Policy> Cp::Clone(const ClusterState& state) const {
  auto planner = planner_->Clone();
  if (planner == nullptr) planner = MakeIdlePlanner();
  return std::unique_ptr<Policy>(new Cp(*this, order().Clone(state), std::move(planner)));
}

void Cp::OnJobSubmitted(const ClusterState& state, JobId job) {
  Greedy::OnJobSubmitted(state, job);
  finished_times_[job] = FinishedTimes(state, *state.FindJob(job));
  due_ = true;
}

void Cp::OnJobEnded(const ClusterState& state, JobId job) {
  Greedy::OnJobEnded(state, job);
  finished_times_.erase(job);
  times_.erase(job);
}

void Cp::OnJobChanged(const ClusterState& state, JobId job) {
  Greedy::OnJobChanged(state, job);
  const auto at = finished_times_.find(job);
  if (at == finished_times_.end()) return;
  const TaskTimes times = FinishedTimes(state, *state.FindJob(job));
  if (!Moved(at->second, times)) return;
  at->second = times;
  due_ = true;
}

void Cp::OnNodesChanged(const ClusterState& state) {
  Greedy::OnNodesChanged(state);
  due_ = true;
}

std::optional<Decision> Cp::Next(const ClusterState& state, Micros now) {
  due_ |= order().ConsumeTasksReturned();
  if (due_ || (review_ && *review_ <= now)) Replan(state, now);
  if (const auto plan = planner_->TakePlan()) {
    order().Follow(state, *plan);
    plan_ = *plan;
  }
  return Greedy::Next(state, now);
}

void Cp::Replan(const ClusterState& state, Micros now) {
  const auto wanted = [&](TaskKind kind) {
    return !state.FreeNodes(kind).empty() && !state.RunnableJobs(kind).empty();
  };
  if (!settings_.background && !wanted(TaskKind::kMap) && !wanted(TaskKind::kReduce)) return;
  CpSnapshot snapshot = MakeSnapshot(state, settings_, now);
  review_ = snapshot.review;
  const bool needed = due_ || TimesMoved(snapshot.times);
  due_ = false;
  if (!needed || snapshot.problem.jobs.size() < 2) return;
  times_ = std::move(snapshot.times);
  snapshot.problem.previous = order().Jobs();
  planner_->Submit(std::move(snapshot.problem));
}

bool Cp::TimesMoved(const std::map<JobId, TaskTimes>& times) const {
  return std::any_of(times_.begin(), times_.end(), [&](const auto& before) {
    const auto after = times.find(before.first);
    return after != times.end() && Moved(before.second, after->second);
  });
}

std::optional<Micros> Cp::NextWake(const ClusterState& state) const {
  const auto gates = Greedy::NextWake(state);
  const bool plans = state.LiveJobs().size() > 1 && review_;
  if (!plans || !settings_.background) return gates;
  return gates ? std::min(*gates, *review_) : *review_;
}

PolicyView Cp::View(const ClusterState& state, Micros now) const {
  PolicyView view = Greedy::View(state, now);
  const bool paper = settings_.objective == CpSettings::Objective::kPaper;
  view.deadlines = DeadlinesOf(state, now);
  view.facts.push_back(Fact::Words("cp.objective", paper ? "paper" : "mix"));
  if (!plan_) return view;
  // `paper` costs (late jobs + 1) x the worst turnaround, which is a time; `mix` is a sum of shares (problem.h).
  const auto cost = [&](std::string name, double value) {
    return paper ? Fact::Number(std::move(name), value / kSecond, "s") : Fact::Number(std::move(name), value);
  };
  view.facts.push_back(Fact::Number("jobs in the last plan", static_cast<double>(plan_->reduces.size())));
  view.facts.push_back(cost("cost of the last plan", plan_->cost));
  view.facts.push_back(cost("least cost that any plan can have", plan_->bound));
  view.facts.push_back(Fact::Words("last plan proven best", plan_->optimal ? "true" : "false"));
  return view;
}

}  // namespace millrace::sched
