// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/fresh/fresh_static.h"

#include <algorithm>
#include <utility>

#include "schedulers/policies/fresh/fresh_settings.h"
#include "schedulers/policies/fresh/stalled_reduces.h"

namespace millrace::sched {

FreshStatic::FreshStatic(std::string name, const Settings& settings, Admission admission)
    : GreedyOver(std::move(name), std::make_unique<FreshFairOrder>(settings), std::move(admission)),
      k_(settings.Of<FreshSettings>().k) {}

FreshStatic::FreshStatic(const FreshStatic& other, std::unique_ptr<JobOrder> order)
    : GreedyOver(other, std::move(order)),
      k_(other.k_),
      nodes_(other.nodes_),
      slots_(other.slots_),
      map_slots_(other.map_slots_),
      turn_(other.turn_),
      node_maps_(other.node_maps_),
      refused_(other.refused_),
      batch_changed_(other.batch_changed_),
      nodes_changed_(other.nodes_changed_),
      limits_changed_(other.limits_changed_) {}

std::unique_ptr<Policy> FreshStatic::Clone(const ClusterState& state) const {
  return std::unique_ptr<Policy>(new FreshStatic(*this, order().Clone(state)));
}

void FreshStatic::OnJobSubmitted(const ClusterState& state, JobId job) {
  batch_changed_ = true;
  Greedy::OnJobSubmitted(state, job);
}

void FreshStatic::OnJobEnded(const ClusterState& state, JobId job) {
  if (state.FindJob(job)->progress.outcome != JobOutcome::kSucceeded) batch_changed_ = true;
  refused_.erase(job);
  Greedy::OnJobEnded(state, job);
}

void FreshStatic::OnJobChanged(const ClusterState& state, JobId job) {
  if (state.FindJob(job)->live_bad_nodes > 0) refused_.insert(job);
  Greedy::OnJobChanged(state, job);
}

void FreshStatic::OnNodesChanged(const ClusterState& state) {
  nodes_changed_ = true;
  Greedy::OnNodesChanged(state);
}

NodeLimits FreshStatic::LimitsOf(const NodeState& node) const {
  const std::uint32_t slots = node.slots.maps + node.slots.reduces;
  if (slots_ == 1) return NodeLimits::Untyped(node.slots);
  const auto maps = node.id.value < node_maps_.size() ? node_maps_[node.id.value] : std::nullopt;
  return maps && *maps <= slots ? NodeLimits{*maps, slots - *maps, slots} : NodeLimits::Typed(node.slots);
}

bool FreshStatic::NoteNodes(const ClusterState& state) {
  if (!std::exchange(nodes_changed_, false)) return false;
  std::vector<std::pair<NodeId, std::uint32_t>> nodes;
  for (std::uint32_t id = 0; id < state.node_ids(); ++id) {
    const NodeState* node = state.FindNode(NodeId{id});
    if (node == nullptr || !node->TakesTasks()) continue;
    nodes.emplace_back(node->id, node->slots.maps + node->slots.reduces);
  }
  if (nodes == nodes_) return false;
  nodes_ = std::move(nodes);
  slots_ = 0;
  for (const auto& [node, slots] : nodes_) slots_ += slots;
  return true;
}

void FreshStatic::Split(const ClusterState& state) {
  std::vector<PhaseProfile> batch;
  for (const JobId job : admission().InOrder()) batch.push_back(RemainingPhases(state, *state.FindJob(job)));
  if (slots_ < 2 || batch.empty()) {
    node_maps_.clear();
    map_slots_ = 0;
    limits_changed_ = true;
    return;
  }
  map_slots_ = BestSplit(batch, slots_, k_).map_slots;
  turn_ = std::min(turn_, slots_ - 1);
  Spread();
}

void FreshStatic::Spread() {
  std::vector<std::uint32_t> slots;
  for (const auto& [node, of_node] : nodes_) slots.push_back(of_node);
  const std::vector<std::uint32_t> maps = SpreadSplit(slots, map_slots_, turn_);
  node_maps_.assign(nodes_.empty() ? 0 : nodes_.back().first.value + 1, std::nullopt);
  for (std::size_t i = 0; i < nodes_.size(); ++i) node_maps_[nodes_[i].first.value] = maps[i];
  limits_changed_ = true;
}

bool FreshStatic::RefusedEverywhere(const ClusterState& state, TaskKind kind, JobId id) const {
  const JobState& job = *state.FindJob(id);
  if (job.Pending(kind).empty() || !order().MayRun(state, kind, id)) return false;
  return std::all_of(nodes_.begin(), nodes_.end(), [&](const auto& node) {
    const std::uint32_t maps = *node_maps_[node.first.value];
    const bool has_slots = kind == TaskKind::kMap ? maps > 0 : maps < node.second;
    return !has_slots || state.Refused(job, node.first);
  });
}

void FreshStatic::AvoidRefusals(const ClusterState& state) {
  if (node_maps_.empty()) return;
  const auto stuck = [&](JobId job) {
    return std::any_of(std::begin(kTaskKinds), std::end(kTaskKinds),
                       [&](TaskKind kind) { return RefusedEverywhere(state, kind, job); });
  };
  for (std::size_t tries = 0; tries < nodes_.size(); ++tries) {
    if (std::none_of(refused_.begin(), refused_.end(), stuck)) return;
    turn_ = (turn_ + std::max<std::uint32_t>(1, slots_ / static_cast<std::uint32_t>(nodes_.size()))) % slots_;
    Spread();
  }
}

std::vector<JobId> FreshStatic::JobsWithMaps(const ClusterState& state) const {
  std::vector<JobId> jobs;
  for (const QueueKey& key : state.RunnableJobs(TaskKind::kMap)) {
    if (order().MayRun(state, TaskKind::kMap, key.job)) jobs.push_back(key.job);
  }
  return jobs;
}

void FreshStatic::AvoidFullNodes(const ClusterState& state) {
  if (node_maps_.empty() || state.Running(TaskKind::kMap) > 0) return;
  const std::vector<JobId> jobs = JobsWithMaps(state);
  if (jobs.empty()) return;
  std::vector<NodeId> fitting;  // the nodes on which a map of these fits
  for (const auto& [node, slots] : nodes_) {
    const auto fits = [&, at = node](JobId job) { return state.BestPendingMap(job, at).has_value(); };
    if (slots > 0 && std::any_of(jobs.begin(), jobs.end(), fits)) fitting.push_back(node);
  }
  const auto serves = [&] {
    return std::any_of(fitting.begin(), fitting.end(), [&](NodeId node) { return *node_maps_[node.value] > 0; });
  };
  for (; !fitting.empty() && !serves(); Spread()) turn_ = (turn_ + 1) % slots_;
}

Policy::Limits FreshStatic::BeginRound(const ClusterState& state, Micros now) {
  Greedy::BeginRound(state, now);
  const bool nodes = NoteNodes(state);
  if (std::exchange(batch_changed_, false) || nodes) Split(state);
  if (!refused_.empty()) AvoidRefusals(state);
  AvoidFullNodes(state);
  return std::exchange(limits_changed_, false) ? Limits::kChanged : Limits::kSame;
}

std::vector<Victim> FreshStatic::Preempt(const ClusterState& state, Micros) {
  if (!ReducesMayStall(state)) return {};
  return TakeSlotForMap(state, JobsWithMaps(state));
}

std::optional<Decision> FreshStatic::Next(const ClusterState& state, Micros now) {
  order().AdmitWaiting(state);
  return Greedy::Next(state, now);
}

PolicyView FreshStatic::View(const ClusterState& state, Micros now) const {
  PolicyView view = Greedy::View(state, now);
  view.facts.push_back(Fact::Number("slots that are map slots now", state.Capacity(TaskKind::kMap)));
  view.facts.push_back(KFact(k_));
  return view;
}

}  // namespace millrace::sched
