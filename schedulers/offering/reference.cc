// SPDX-License-Identifier: Apache-2.0
#include "schedulers/offering/reference.h"

#include <algorithm>
#include <vector>

namespace millrace::sched {

void GreedyReference::OnJobSubmitted(const ClusterState& state, JobId job) {
  order_->OnJobSubmitted(state, job);
  admission_.OnJobSubmitted(state, job);
}

void GreedyReference::OnJobEnded(const ClusterState& state, JobId job) {
  order_->OnJobEnded(state, job);
  admission_.OnJobEnded(state, job);
}

void GreedyReference::OnJobChanged(const ClusterState& state, JobId job) {
  order_->OnJobChanged(state, job);
  if (admission_.locality() != nullptr) admission_.locality()->OnDataMoved(job);  // the gate counts again
}

void GreedyReference::OnNodesChanged(const ClusterState& state) {
  order_->OnNodesChanged(state);
  if (admission_.locality() != nullptr) admission_.locality()->OnNodesChanged(state);
}

NodeLimits GreedyReference::LimitsOf(const NodeState& node) const {
  return admission_.LimitsOf(node, NodeLimits::Typed(node.slots));
}

Policy::Limits GreedyReference::BeginRound(const ClusterState& state, Micros now) {
  (void)order_->BeginRound(state, now);
  return Limits::kSame;
}

std::optional<AttemptId> GreedyReference::NextToCompute(const ClusterState& state, Micros now) {
  std::optional<AttemptId> next;
  (void)order_->Offer(state, kComputePermit, now, [&](JobId job) {
    for (const CopiedReduce& reduce : state.FindJob(job)->copied_reduces) {
      if (!next && state.FindNode(reduce.node)->HasFreePermit()) next = reduce.attempt;
    }
    return next.has_value();
  });
  return next;
}

std::optional<Decision> GreedyReference::Next(const ClusterState& state, Micros now) {
  for (const TaskKind kind : kTaskKinds) {
    if (auto decision = NextOf(state, kind, now)) return decision;
  }
  return std::nullopt;
}

bool GreedyReference::WaitsForSpace(const ClusterState& state, Micros now) const {
  for (const std::uint32_t node : state.FreeNodes(TaskKind::kMap)) {
    for (const QueueKey& key : state.RunnableJobs(TaskKind::kMap)) {
      if (!order_->MayRun(state, TaskKind::kMap, key.job)) continue;
      if (admission_.LacksSpaceIfIdle(state, key.job, {node}, now)) return true;
    }
  }
  return false;
}

std::optional<Decision> GreedyReference::NextOf(const ClusterState& state, TaskKind kind, Micros now) {
  std::uint32_t& turn = turn_[kind];
  std::vector<NodeId> nodes;
  for (const std::uint32_t id : state.FreeNodes(kind)) {
    if (id >= turn) nodes.push_back({id});
  }
  for (const std::uint32_t id : state.FreeNodes(kind)) {
    if (id < turn) nodes.push_back({id});
  }
  const OrderedBits& before = admission_.NodesBeforeOthers(state, kind);
  std::stable_partition(nodes.begin(), nodes.end(), [&](NodeId node) { return before.Contains(node.value); });
  if (nodes.size() > 1 && kind == TaskKind::kMap) {
    const auto first = order_->Offer(state, kind, now, [](JobId) { return true; });
    if (!first) return std::nullopt;
    if (auto decision = AtItsData(state, *first, now)) return decision;
  }
  for (const bool idle : {false, true}) {
    if (idle && (kind == TaskKind::kReduce || admission_.locality() == nullptr)) break;
    for (const NodeId node : nodes) {
      const auto decision = idle ? OfferIdle(state, node, now) : OfferAt(state, kind, node, now);
      if (!decision) continue;
      turn = node.value + 1;
      return decision;
    }
  }
  return std::nullopt;
}

std::optional<Decision> GreedyReference::AtItsData(const ClusterState& state, JobId first, Micros now) {
  const JobState& job = *state.FindJob(first);
  const auto& replicas = job.spec.maps[job.pending_maps.all().First()].replicas;
  for (const std::uint32_t node : state.FreeNodes(TaskKind::kMap)) {
    if (std::find(replicas.begin(), replicas.end(), NodeId{node}) == replicas.end()) continue;
    const auto map = state.BestPendingMap(first, {node}, Locality::kNode);
    if (!map) return std::nullopt;
    admission_.OnMapLaunched(state, first, *map, now);
    return Decision{{first, TaskKind::kMap, map->map}, {node}};
  }
  return std::nullopt;
}

std::optional<Decision> GreedyReference::OfferAt(const ClusterState& state, TaskKind kind, NodeId node, Micros now) {
  std::optional<MapChoice> map;
  std::optional<std::uint32_t> reduce;
  const auto taker = order_->Offer(state, kind, now, [&](JobId job) {
    if (kind == TaskKind::kReduce) reduce = admission_.NextReduce(state, job, node);
    if (kind == TaskKind::kMap) map = admission_.BestMap(state, job, node, now);
    return map || reduce;
  });
  if (!taker) return std::nullopt;
  if (map) admission_.OnMapLaunched(state, *taker, *map, now);
  return Decision{{*taker, kind, map ? map->map : *reduce}, node};
}

std::optional<Decision> GreedyReference::OfferIdle(const ClusterState& state, NodeId node, Micros now) {
  std::optional<MapChoice> map;
  const auto taker = order_->Offer(state, TaskKind::kMap, now, [&](JobId job) {
    map = admission_.BestIdleMap(state, job, node);
    return map.has_value();
  });
  if (!taker) return std::nullopt;
  return Decision{{*taker, TaskKind::kMap, map->map}, node};
}

}  // namespace millrace::sched
