#include "schedulers/policies/cp.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <utility>

#include "schedulers/policies/cp_snapshot.h"

namespace millrace::sched {
namespace {

constexpr double kBiasMoved = 0.2;  // relative; smaller changes do not ask for another plan
constexpr TaskKind kKinds[] = {TaskKind::kMap, TaskKind::kReduce};

Time SteadyNow() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(since).count();
}

std::unique_ptr<Planner> PlannerFor(const CpSettings& settings) {
  if (!settings.background) return MakeInlinePlanner(settings.evaluations);
  return MakeBackgroundPlanner({settings.budget, SteadyNow});
}

bool Moved(double before, double after) { return std::abs(after - before) > kBiasMoved * before; }

}  // namespace

Cp::Cp(std::string name, const CpSettings& settings, Admission admission)
    : Cp(std::move(name), settings, std::move(admission), PlannerFor(settings)) {}

Cp::Cp(std::string name, const CpSettings& settings, Admission admission, std::unique_ptr<Planner> planner)
    : Cp(std::move(name), settings, std::move(admission), std::move(planner), std::make_unique<CpOrder>().release()) {}

Cp::Cp(std::string name, const CpSettings& settings, Admission admission, std::unique_ptr<Planner> planner,
       CpOrder* order)
    : Greedy(std::move(name), std::unique_ptr<JobOrder>(order), std::move(admission)),
      settings_(settings),
      order_(order),
      planner_(std::move(planner)) {}

void Cp::OnJobSubmitted(const ClusterState& state, JobId job) {
  Greedy::OnJobSubmitted(state, job);
  Note(state, job);
  due_ = true;
}

void Cp::OnJobEnded(const ClusterState& state, JobId job) {
  Greedy::OnJobEnded(state, job);
  seen_.erase(job);
  biases_.erase(job);
}

void Cp::OnJobChanged(const ClusterState& state, JobId job) {
  Greedy::OnJobChanged(state, job);
  const auto at = seen_.find(job);
  if (at == seen_.end()) return;
  const Seen before = at->second;
  Note(state, job);
  const Seen& after = at->second;
  for (const std::size_t kind : {0, 1}) due_ |= after.pending[kind] > before.pending[kind];
  if (Moved(before.finished_bias, after.finished_bias)) {
    due_ = true;
  } else {
    at->second.finished_bias = before.finished_bias;  // small changes add up
  }
}

void Cp::OnNodesChanged(const ClusterState& state) {
  Greedy::OnNodesChanged(state);
  due_ = true;
}

void Cp::Note(const ClusterState& state, JobId id) {
  const JobState& job = *state.FindJob(id);
  Seen& seen = seen_[id];
  for (const TaskKind kind : kKinds) seen.pending[static_cast<std::size_t>(kind)] = job.Pending(kind).size();
  seen.finished_bias = FinishedBias(state, job);
}

std::optional<Decision> Cp::Next(const ClusterState& state, Time now) {
  if (due_ || (review_ && *review_ <= now)) Replan(state, now);
  if (const auto plan = planner_->Take()) {
    order_->Follow(state, *plan);
    plan_ = *plan;
  }
  return Greedy::Next(state, now);
}

void Cp::Replan(const ClusterState& state, Time now) {
  const auto wanted = [&](TaskKind kind) {
    return !state.FreeNodes(kind).empty() && !state.RunnableJobs(kind).empty();
  };
  if (!settings_.background && !wanted(TaskKind::kMap) && !wanted(TaskKind::kReduce)) return;
  CpSnapshot snapshot = TakeSnapshot(state, settings_, now);
  review_ = snapshot.review;
  const bool needed = due_ || BiasesMoved(snapshot.biases);
  due_ = false;
  if (!needed || snapshot.problem.jobs.size() < 2) return;
  biases_ = std::move(snapshot.biases);
  snapshot.problem.previous = order_->Jobs();
  planner_->Submit(std::move(snapshot.problem));
}

bool Cp::BiasesMoved(const std::map<JobId, double>& biases) const {
  return std::any_of(biases_.begin(), biases_.end(), [&](const auto& before) {
    const auto after = biases.find(before.first);
    return after != biases.end() && Moved(before.second, after->second);
  });
}

std::optional<Time> Cp::NextWake(const ClusterState& state) const {
  const auto gates = Greedy::NextWake(state);
  const bool plans = state.LiveJobs().size() > 1 && review_;
  if (!plans || !settings_.background) return gates;
  return gates ? std::min(*gates, *review_) : *review_;
}

PolicyView Cp::View(const ClusterState& state, Time now) const {
  PolicyView view = Greedy::View(state, now);
  const bool paper = settings_.objective == CpSettings::Objective::kPaper;
  view.facts.emplace_back("objective", paper ? "paper" : "mix");
  if (!plan_) return view;
  char text[120];
  std::snprintf(text, sizeof(text), "%zu jobs, cost %.6g, no less than %.6g possible%s", plan_->reduces.size(),
                plan_->cost, plan_->bound, plan_->optimal ? ", proven best" : "");
  view.facts.emplace_back("last plan", text);
  return view;
}

}  // namespace millrace::sched
