// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/lsap/lsap.h"

#include <algorithm>
#include <utility>

namespace millrace::sched {
namespace {

constexpr Micros kDefaultWindow = 200 * kMillisecond;
constexpr std::uint64_t kPlentyFree = 20;  // one in so many map slots, and there is no need to gather

// Returns when the oldest job with a waiting map was submitted.
Micros OldestSubmission(const ClusterState& state) {
  const ClusterState::JobQueue& jobs = state.RunnableJobs(TaskKind::kMap);
  Micros oldest = state.FindJob(jobs.begin()->job)->progress.submitted;
  for (auto priority = Priority::kVeryHigh; priority <= Priority::kVeryLow;
       priority = static_cast<Priority>(static_cast<int>(priority) + 1)) {
    const auto first = jobs.lower_bound({priority, 0, JobId{0}});
    if (first != jobs.end()) oldest = std::min(oldest, state.FindJob(first->job)->progress.submitted);
  }
  return oldest;
}

bool OneSlotFree(const ClusterState& state) {
  const OrderedBits& free = state.FreeNodes(TaskKind::kMap);
  return free.size() == 1 && IdleSlots::FreeMapSlots(*state.FindNode(NodeId{free.First()})) == 1;
}

}  // namespace

Lsap::Lsap(std::string name, const LsapSettings& settings, Cost cost, Admission admission)
    : Dl(std::move(name), std::move(admission)), settings_(settings), cost_(cost) {}

void Lsap::OnJobSubmitted(const ClusterState& state, JobId job) {
  Dl::OnJobSubmitted(state, job);
  DropPlan();
}

void Lsap::OnJobPrioritySet(const ClusterState&, JobId) { DropPlan(); }

void Lsap::OnJobEnded(const ClusterState& state, JobId job) {
  Dl::OnJobEnded(state, job);
  DropPlan();
}

void Lsap::OnJobChanged(const ClusterState& state, JobId job) {
  Dl::OnJobChanged(state, job);
  if (std::exchange(launched_, std::nullopt) != job) DropPlan();
}

void Lsap::OnNodesChanged(const ClusterState& state) {
  Dl::OnNodesChanged(state);
  DropPlan();
}

void Lsap::DropPlan() {
  plan_.clear();
  if (phase_ == Phase::kPlanned) phase_ = Phase::kChanged;
}

std::optional<Decision> Lsap::Next(const ClusterState& state, Micros now) {
  if (ConsumeRaised(state, now)) DropPlan();
  const auto decision = NextOf(state, now);
  launched_ = decision ? std::optional(decision->task.job) : std::nullopt;
  return decision;
}

std::optional<Decision> Lsap::NextOf(const ClusterState& state, Micros now) {
  if (phase_ != Phase::kPlanned) {
    phase_ = NextPhase(state, now);
    if (phase_ == Phase::kGathering) return NextReduce(state);
    if (phase_ == Phase::kPlanned && (Groups() || !OneSlotFree(state))) MakePlan(state, now);
  }
  if (auto planned = NextPlanned(state, now)) return planned;
  if (auto map = NextMap(state, now)) return map;
  return NextReduce(state);
}

Lsap::Phase Lsap::NextPhase(const ClusterState& state, Micros now) {
  if (state.FreeNodes(TaskKind::kMap).empty() || state.RunnableJobs(TaskKind::kMap).empty()) return Phase::kChanged;
  const Micros window = Window(state);
  if (window <= 0) return Phase::kPlanned;
  if (phase_ != Phase::kGathering) gathering_since_ = now;
  gathered_at_ = std::min(gathering_since_, OldestSubmission(state)) + window;
  return now < gathered_at_ ? Phase::kGathering : Phase::kPlanned;
}

Micros Lsap::Window(const ClusterState& state) const {
  if (settings_.batch_window) return *settings_.batch_window;
  const std::uint64_t slots = state.Capacity(TaskKind::kMap);
  const std::uint64_t used = std::min<std::uint64_t>(slots, state.Running(TaskKind::kMap));
  return (slots - used) * kPlentyFree >= slots ? 0 : kDefaultWindow;
}

void Lsap::MakePlan(const ClusterState& state, Micros now) {
  if (OneSlotFree(state)) {
    const NodeId node{state.FreeNodes(TaskKind::kMap).First()};
    if (const auto cheapest = CheapestAtData(state, now, node)) {
      plan_.push_back({{cheapest->job, TaskKind::kMap, cheapest->map}, node});
      return;
    }
  }
  const auto groups = Groups();
  std::optional<MapAssignment::Plan> plan;
  MapCandidates candidates;
  if (!groups) {
    // A plan that gives every slot a map at its data cannot be bettered.
    candidates = CollectCandidates(state, CandidateReach::kNodes, {});
    const MapAssignment assignment = Pose(state, now, candidates);
    plan = candidates.all ? assignment.Solve() : assignment.SolveLocally();
  }
  if (!plan) {
    candidates = CollectCandidates(state, CandidateReach::kPlaces, groups.value_or(CandidateGroups{}));
    plan = Pose(state, now, candidates).Solve();
  }
  for (const auto& [task, node] : plan->placed) {
    const PendingMap& map = candidates.maps[task];
    plan_.push_back({{map.job, TaskKind::kMap, map.map}, node});
  }
}

MapAssignment Lsap::Pose(const ClusterState& state, Micros now, const MapCandidates& candidates) {
  LocalityGate* gate = admission().locality();
  if (gate != nullptr) gate->Advance(state, now);
  std::vector<Task> tasks;
  tasks.reserve(candidates.maps.size());
  for (const auto& [job, map] : candidates.maps) {
    Task& task = tasks.emplace_back(Task{job, map});
    if (gate == nullptr) continue;
    const bool unlocated = state.FindJob(job)->pending_maps.unlocated().Contains(map);
    task.worst = unlocated ? Locality::kOff : gate->Worst(state, job, now);
  }
  Price(state, now, &tasks);
  MapAssignment assignment(state, {cost_ == Cost::kUniform, settings_.bandwidths});
  for (const Task& task : tasks) assignment.Add(task);
  return assignment;
}

std::optional<Decision> Lsap::NextPlanned(const ClusterState& state, Micros now) {
  while (!plan_.empty()) {
    const Decision decision = plan_.front();
    plan_.pop_front();
    const auto& [id, kind, map] = decision.task;
    const JobState& job = *state.FindJob(id);
    // The maps that were launched before it have taken room, and a node may be avoided once a map runs.
    if (state.LacksSpace(job, map, decision.node) || state.Avoids(job, kind, map, decision.node)) continue;
    const Locality locality = state.topology().Distance(decision.node, job.spec.maps[map].replicas);
    // A launch before it in the plan may have stopped the clock that let the job go so far.
    const LocalityGate* gate = admission().locality();
    const bool unlocated = job.pending_maps.unlocated().Contains(map);
    if (gate != nullptr && !unlocated && locality > gate->Worst(state, id, now)) continue;
    OnMapLaunched(state, id, {map, locality}, now);
    return decision;
  }
  return std::nullopt;
}

bool Lsap::WaitsForSpace(const ClusterState& state, Micros now) const {
  return phase_ != Phase::kGathering && Dl::WaitsForSpace(state, now);
}

std::optional<Micros> Lsap::NextWake(const ClusterState& state) const {
  const auto wait = Dl::NextWake(state);
  if (phase_ != Phase::kGathering) return wait;
  return wait ? std::min(*wait, gathered_at_) : gathered_at_;
}

std::optional<Micros> Lsap::GatheredAt() const {
  return phase_ == Phase::kGathering ? std::optional(gathered_at_) : std::nullopt;
}

}  // namespace millrace::sched
