// SPDX-License-Identifier: Apache-2.0
#include "schedulers/offering/admission.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace millrace::sched {

Admission::Admission(std::unique_ptr<LocalityGate> locality, std::unique_ptr<CopyGate> copy)
    : locality_(std::move(locality)), copy_(std::move(copy)) {}

Admission::Admission(const Admission& other)
    : locality_(other.locality_ ? other.locality_->Clone() : nullptr),
      copy_(other.copy_ ? other.copy_->Clone() : nullptr) {}

void Admission::OnJobSubmitted(const ClusterState& state, JobId job) {
  if (locality_) locality_->OnJobSubmitted(state, job);
}

void Admission::OnJobEnded(const ClusterState& state, JobId job) {
  if (locality_) locality_->OnJobEnded(state, job);
}

void Admission::OnNodesChanged(const ClusterState& state) {
  if (locality_) locality_->OnNodesChanged(state);
}

void Admission::OnMapsAdded(JobId job) {
  if (locality_) locality_->OnDataMoved(job);
}

std::optional<MapChoice> Admission::Within(const ClusterState& state, JobId job, NodeId node, Locality worst) {
  const auto closest = state.BestPendingMap(job, node, worst);
  return closest || worst == Locality::kOff ? closest : state.UnlocatedPendingMap(job, node);
}

std::optional<MapChoice> Admission::PeekMap(const ClusterState& state, JobId job, NodeId node, Micros now) const {
  if (!locality_) return state.BestPendingMap(job, node);
  locality_->Advance(state, now);
  return Within(state, job, node, locality_->Worst(state, job, now));
}

std::optional<MapChoice> Admission::BestMap(const ClusterState& state, JobId job, NodeId node, Micros now) {
  if (!locality_) return state.BestPendingMap(job, node);
  locality_->Advance(state, now);
  const Locality worst = locality_->Worst(state, job, now);
  const auto choice = Within(state, job, node, worst);
  if (choice) return choice;
  locality_->OnSkipped(state, job, node, now);
  const Locality raised = locality_->Worst(state, job, now);
  return raised > worst ? state.BestPendingMap(job, node, raised) : std::nullopt;
}

std::optional<MapChoice> Admission::BestIdleMap(const ClusterState& state, JobId job, NodeId node) const {
  if (!locality_ || !locality_->Outnumbers(state, job)) return std::nullopt;
  return state.BestPendingMap(job, node);
}

bool Admission::LacksSpace(const ClusterState& state, JobId job, NodeId node, Micros now) const {
  if (!locality_) return state.BestMapLacksSpace(job, node);
  const Locality worst = locality_->Worst(state, job, now);
  if (state.BestMapLacksSpace(job, node, worst)) return true;
  return worst < Locality::kOff && state.UnlocatedMapLacksSpace(job, node);
}

bool Admission::LacksSpaceIfIdle(const ClusterState& state, JobId job, NodeId node, Micros now) const {
  if (LacksSpace(state, job, node, now)) return true;
  return locality_ && locality_->Outnumbers(state, job) && state.BestMapLacksSpace(job, node);
}

WaitView Admission::WhyWaits(const ClusterState& state, TaskKind kind, JobId job, Micros now) const {
  const OrderedBits& free = state.FreeNodes(kind);
  WaitView wait = free.empty() ? NoFreeSlot(state, kind, job) : WaitView(job, kind, WaitCause::kUndecided);
  if (kind == TaskKind::kMap && locality_) {
    locality_->Advance(state, now);
    const Locality worst = locality_->Worst(state, job, now);
    wait.until = locality_->WaitingUntil(state, job, now);
    if (wait.until) {
      wait.only = worst;
      wait.since = locality_->WaitingSince(job);
    }
  }
  if (free.empty()) return wait;

  // A slot is free. If a node would take a task but for the gate, the gate is the cause of the wait.
  wait.of = static_cast<std::uint32_t>(std::distance(free.begin(), free.end()));
  if (kind == TaskKind::kMap) {
    bool too_far = false, no_room = false;
    for (const std::uint32_t id : free) {
      const NodeId node{id};
      if (PeekMap(state, job, node, now)) {
        wait.cause = WaitCause::kUndecided;
        return wait;
      }
      too_far |= state.BestPendingMap(job, node).has_value();
      no_room |= state.BestMapLacksSpace(job, node);
    }
    wait.cause = too_far ? WaitCause::kFarFromData : no_room ? WaitCause::kNoRoom : WaitCause::kOffNodes;
    return wait;
  }
  bool copies = false;
  for (const std::uint32_t id : free) {
    const NodeId node{id};
    if (!state.NextPendingReduce(job, node)) continue;
    if (copy_ && !copy_->MayCopy(job, *state.FindNode(node))) {
      copies = true;
      continue;
    }
    wait.cause = WaitCause::kUndecided;
    return wait;
  }
  wait.cause = copies ? WaitCause::kCopyLimit : WaitCause::kOffNodes;
  return wait;
}

void Admission::AddFacts(PolicyView* view) const {
  if (locality_) std::ranges::move(locality_->Facts(), std::back_inserter(view->facts));
  if (copy_) std::ranges::move(copy_->Facts(), std::back_inserter(view->facts));
}

std::optional<std::uint32_t> Admission::NextReduce(const ClusterState& state, JobId job, NodeId node) const {
  if (copy_ && !copy_->MayCopy(job, *state.FindNode(node))) return std::nullopt;
  return state.NextPendingReduce(job, node);
}

std::uint32_t Admission::CouldRun(const ClusterState& state, TaskKind kind, JobId job, NodeId node) const {
  const JobState& known = *state.FindJob(job);
  if (!known.runnable[kind]) return 0;
  const bool any =
      kind == TaskKind::kMap ? state.BestPendingMap(job, node).has_value() : NextReduce(state, job, node).has_value();
  if (!any) return 0;
  const std::uint32_t pending = known.Pending(kind).size();
  return copy_ && kind == TaskKind::kReduce ? std::min(pending, copy_->CopyRoom(job, *state.FindNode(node))) : pending;
}

void Admission::OnMapLaunched(const ClusterState& state, JobId job, const MapChoice& choice, Micros now) {
  if (!locality_ || state.FindJob(job)->pending_maps.unlocated().Contains(choice.map)) return;
  locality_->OnLaunched(state, job, choice.locality, now);
}

NodeLimits Admission::LimitsOf(const NodeState& node, NodeLimits without) const {
  return copy_ ? copy_->LimitsOf(node, without) : without;
}

std::optional<Micros> Admission::NextWake(const ClusterState& state) const {
  return locality_ ? locality_->NextWake(state) : std::nullopt;
}

}  // namespace millrace::sched
