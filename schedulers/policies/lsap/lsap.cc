#include "schedulers/policies/lsap/lsap.h"

#include <algorithm>
#include <utility>

namespace millrace::sched {
namespace {

constexpr Micros kDefaultWindow = 200 * kMillisecond;
constexpr std::uint64_t kPlentyFree = 20;  // one in so many map slots, and there is no need to gather

// When the oldest job with a waiting map was submitted.
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
  changed_ = true;
}

void Lsap::OnJobPrioritySet(const ClusterState&, JobId) { changed_ = true; }

void Lsap::OnJobEnded(const ClusterState& state, JobId job) {
  Dl::OnJobEnded(state, job);
  changed_ = true;
}

void Lsap::OnJobChanged(const ClusterState& state, JobId job) {
  Dl::OnJobChanged(state, job);
  if (std::exchange(launched_, std::nullopt) != job) changed_ = true;
}

void Lsap::OnNodesChanged(const ClusterState& state) {
  Dl::OnNodesChanged(state);
  changed_ = true;
}

std::optional<Decision> Lsap::Next(const ClusterState& state, Micros now) {
  if (TakeRaised(state, now)) changed_ = true;
  if (changed_) plan_.clear();
  const auto decision = NextOf(state, now);
  launched_ = decision ? std::optional(decision->task.job) : std::nullopt;
  return decision;
}

std::optional<Decision> Lsap::NextOf(const ClusterState& state, Micros now) {
  if (auto planned = NextPlanned(state, now)) return planned;
  if (Gather(state, now)) return NextReduce(state);
  if (changed_ && !state.FreeNodes(TaskKind::kMap).empty() && !state.RunnableJobs(TaskKind::kMap).empty()) {
    changed_ = false;
    if (Groups() || !OneSlotFree(state)) MakePlan(state, now);
    if (auto planned = NextPlanned(state, now)) return planned;
  }
  if (auto map = NextMap(state, now)) return map;
  return NextReduce(state);
}

Micros Lsap::Window(const ClusterState& state) const {
  if (settings_.batch_window) return *settings_.batch_window;
  const std::uint64_t slots = state.Capacity(TaskKind::kMap);
  const std::uint64_t used = std::min<std::uint64_t>(slots, state.Running(TaskKind::kMap));
  return (slots - used) * kPlentyFree >= slots ? 0 : kDefaultWindow;
}

bool Lsap::Gather(const ClusterState& state, Micros now) {
  gathered_at_.reset();
  const bool nothing = state.FreeNodes(TaskKind::kMap).empty() || state.RunnableJobs(TaskKind::kMap).empty();
  const Micros window = nothing || !changed_ ? 0 : Window(state);
  if (window > 0) {
    if (!gathering_since_) gathering_since_ = now;
    const Micros end = std::min(*gathering_since_, OldestSubmission(state)) + window;
    if (now < end) {
      gathered_at_ = end;
      return true;
    }
  }
  gathering_since_.reset();
  return false;
}

void Lsap::MakePlan(const ClusterState& state, Micros now) {
  plan_.clear();
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
    // Every slot with a map at its data cannot be bettered.
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
    if (state.LacksSpace(job, map, decision.node)) continue;
    const Locality locality = state.topology().Distance(decision.node, job.spec.maps[map].replicas);
    OnMapLaunched(state, id, {map, locality}, now);
    return decision;
  }
  return std::nullopt;
}

bool Lsap::WaitsForSpace(const ClusterState& state, Micros now) const {
  return !gathered_at_ && Dl::WaitsForSpace(state, now);
}

std::optional<Micros> Lsap::NextWake(const ClusterState& state) const {
  const auto wait = Dl::NextWake(state);
  return wait && gathered_at_ ? std::min(wait, gathered_at_) : std::max(wait, gathered_at_);
}

std::optional<std::string> Lsap::WhyMapsWait(Micros now) const {
  if (!gathering_since_) return std::nullopt;
  return "waiting for slots to gather since " + std::to_string((now - *gathering_since_) / kMillisecond) + " ms";
}

}  // namespace millrace::sched
