#include "schedulers/offering/admission.h"

#include <utility>

namespace millrace::sched {

Admission::Admission(std::unique_ptr<LocalityGate> locality, std::unique_ptr<CopyGate> copy)
    : locality_(std::move(locality)), copy_(std::move(copy)) {}

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

std::string Admission::WhyWaits(const ClusterState& state, TaskKind kind, JobId job, Micros now) const {
  if (state.Capacity(kind) == 0) return "no slot of that kind";
  if (state.FreeNodes(kind).empty()) return "below its turn";
  const auto since = kind == TaskKind::kMap && locality_ ? locality_->WaitingSince(job) : std::nullopt;
  if (!since) return "no free node takes it";
  const Micros tenths = (now - *since) / 100'000;
  return "waiting for a local slot since " + std::to_string(tenths / 10) + '.' + std::to_string(tenths % 10) + " s";
}

std::optional<std::uint32_t> Admission::NextReduce(const ClusterState& state, JobId job, NodeId node) const {
  if (copy_ && !copy_->MayCopy(state, job, *state.FindNode(node))) return std::nullopt;
  return state.NextPendingReduce(job, node);
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
