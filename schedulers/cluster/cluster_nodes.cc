// SPDX-License-Identifier: Apache-2.0
// The part of ClusterState about nodes: their limits, their space, and their free slots.
#include <algorithm>
#include <utility>

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/events/check.h"

namespace millrace::sched {

void ClusterState::RefreshOpen(NodeState& node) {
  const NodeLimits counted = node.TakesTasks() ? node.limits : NodeLimits{};
  const std::uint32_t permits = std::min(node.Permits(), counted.reduces);
  capacity_[kComputePermit] += permits - std::exchange(node.counted_permits, permits);
  for (const TaskKind kind : kTaskKinds) {
    capacity_[kind] += counted.Of(kind) - node.counted.Of(kind);
    if (std::min(counted.Of(kind), counted.total) > 0) {
      open_[kind].Insert(node.id.value);
    } else {
      open_[kind].Erase(node.id.value);
    }
  }
  total_capacity_ += counted.total - node.counted.total;
  node.counted = counted;
  nodes_changed_ = true;
  RefreshFree(node);
}

void ClusterState::RefreshFree(const NodeState& node) {
  for (const TaskKind kind : kTaskKinds) {
    if (node.FreeSlots(kind) > 0 && open_[kind].Contains(node.id.value)) {
      free_[kind].Insert(node.id.value);
    } else {
      free_[kind].Erase(node.id.value);
    }
  }
  if (free_[TaskKind::kReduce].Contains(node.id.value) && node.used.reduces < node.Permits()) {
    free_with_permits_.Insert(node.id.value);
  } else {
    free_with_permits_.Erase(node.id.value);
  }
}

bool ClusterState::AnyCrowded(TaskKind kind) const {
  const OrderedBits& open = open_[kind];
  return std::any_of(open.begin(), open.end(), [&](std::uint32_t node) { return nodes_[node].IsCrowded(kind); });
}

std::uint32_t ClusterState::SlotsInUse(TaskKind kind) const {
  std::uint32_t in_use = 0;
  for (const std::uint32_t node : open_[kind])
    in_use += std::min(nodes_[node].Used(kind), nodes_[node].limits.Of(kind));
  return in_use;
}

void ClusterState::Place(NodeId node, Location to) {
  const std::uint32_t rack = to == Location{} ? topology_.Of(node).rack : to.rack;
  std::vector<std::pair<JobState*, std::vector<std::uint32_t>>> moved;
  for (const QueueKey& key : live_) {
    JobState& job = MutableJob(key.job);
    std::vector<std::uint32_t> maps = job.pending_maps.At(node);
    std::erase_if(maps,
                  [&](std::uint32_t map) { return topology_.AnotherIn(rack, node, job.spec.maps[map].replicas); });
    for (const auto map : maps) {
      job.pending_maps.Erase(map, job.spec.maps[map], topology_, LocalNodes());
      UnlistLocal(job, local_nodes_);
    }
    moved.emplace_back(&job, std::move(maps));
  }
  topology_.Place(node, to);
  for (auto& [job, maps] : moved) {
    for (const auto map : maps) {
      job->pending_maps.Insert(map, job->spec.maps[map], topology_, LocalNodes());
      ListLocal(*job, local_nodes_);
    }
  }
}

void ClusterState::JoinNode(const NodeJoined& node) {
  const Location location = topology_.Intern(node.rack, node.datacenter);
  Place(node.node, location);
  if (node.node.value >= nodes_.size()) {
    nodes_.resize(node.node.value + 1);
    if (local_jobs_) local_jobs_->SetNodes(nodes_.size());
  }
  NodeState& state = nodes_[node.node.value];
  SCHED_CHECK(!state.alive, "n" + std::to_string(node.node.value));
  const bool first_time = state.location == Location{};
  state = {};
  state.id = node.node;
  state.alive = true;
  state.location = location;
  state.slots = node.slots;
  state.limits = NodeLimits::Typed(node.slots);
  ++live_nodes_;
  RefreshOpen(state);
  for (const QueueKey& key : live_) {
    JobState& job = MutableJob(key.job);
    if (job.bad_nodes.contains(node.node)) ++job.live_bad_nodes;
    if (local_jobs_ && first_time && job.pending_maps.CountAt(node.node) > 0) ListLocal(job, {node.node});
  }
  RefreshAvoided();
}

void ClusterState::LoseNode(NodeId node) {
  NodeState& state = Node(node);
  SCHED_CHECK(state.alive && state.running.empty(), "n" + std::to_string(node.value));
  state.alive = false;
  Place(node, Location{});
  --live_nodes_;
  RefreshOpen(state);
  for (const QueueKey& key : live_) {
    JobState& job = MutableJob(key.job);
    if (job.bad_nodes.contains(node)) --job.live_bad_nodes;
  }
  RefreshAvoided();
}

void ClusterState::DrainNode(NodeId node, bool drained) {
  Node(node).drained = drained;
  RefreshOpen(Node(node));
  RefreshAvoided();
}

void ClusterState::SetLimits(NodeId node, const NodeLimits& limits) {
  NodeState& state = Node(node);
  if (state.limits == limits) return;
  const bool had_free_permit = state.HasFreePermit();
  state.limits = limits;
  RefreshMayCompute(state, had_free_permit);
  RefreshOpen(state);
}

void ClusterState::NoteBandwidth(NodeId from, NodeId to, double bytes_per_second) {
  bandwidths_.Record({from, Node(from).location}, {to, Node(to).location}, bytes_per_second);
}

void ClusterState::SetSpace(NodeId node, std::uint64_t free_bytes) {
  NodeState& state = Node(node);
  // A map that was refused may have been waiting for this space.
  if (state.free_bytes && free_bytes > *state.free_bytes) nodes_changed_ = true;
  state.free_bytes = free_bytes;
}

void ClusterState::TakeSpace(NodeId node, std::uint64_t bytes) {
  auto& free = Node(node).free_bytes;
  if (free) *free -= std::min(*free, bytes);
}

}  // namespace millrace::sched
