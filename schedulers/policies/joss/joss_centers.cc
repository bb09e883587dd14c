// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/joss/joss_centers.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace millrace::sched {

void JossCenters::Rebuild(const ClusterState& state) {
  centers_.assign(state.topology().datacenters(), {});
  for (std::uint32_t id = 0; id < state.node_ids(); ++id) {
    const NodeState* node = state.FindNode(NodeId{id});
    if (node == nullptr || !node->alive) continue;
    Center& center = centers_[node->location.datacenter];
    center.alive.Insert(id);
    for (const TaskKind kind : kTaskKinds) {
      const bool open = node->TakesTasks() && std::min(node->limits.Of(kind), node->limits.total) > 0;
      if (open) center.open[kind].Insert(id);
    }
  }
  live_ = static_cast<std::uint32_t>(
      std::count_if(centers_.begin(), centers_.end(), [](const Center& center) { return !center.alive.empty(); }));
}

bool JossCenters::MayRun(const ClusterState& state, const TaskId& task, NodeId node) {
  const JobState& job = *state.FindJob(task.job);
  if (state.Refused(job, node) || state.Avoids(job, task.kind, task.index, node)) return false;
  return task.kind == TaskKind::kReduce || !state.LacksSpace(job, task.index, node);
}

bool JossCenters::MayRunIn(const ClusterState& state, const TaskId& task, CenterId center) const {
  const OrderedBits& open = OpenNodes(task.kind, center);
  return std::any_of(open.begin(), open.end(), [&](std::uint32_t node) { return MayRun(state, task, NodeId{node}); });
}

std::uint64_t JossCenters::Unprocessed(const ClusterState& state, const JossQueues& queues, CenterId center) const {
  std::uint64_t tasks = queues.Waiting(TaskKind::kMap, center);
  tasks += queues.Waiting(TaskKind::kReduce, center);
  for (const std::uint32_t id : centers_[center].alive) {
    const Slots& used = state.FindNode(NodeId{id})->used;
    tasks += used.maps + used.reduces;
  }
  return tasks;
}

CenterId JossCenters::LeastLoaded(const ClusterState& state, const JossQueues& queues,
                                  std::initializer_list<TaskKind> kinds) const {
  std::optional<std::pair<std::pair<bool, std::uint64_t>, CenterId>> least;
  for (CenterId center = 0; center < size(); ++center) {
    if (centers_[center].alive.empty()) continue;
    const bool closed = std::any_of(kinds.begin(), kinds.end(), [&](TaskKind kind) { return !IsOpen(kind, center); });
    const std::pair load{closed, Unprocessed(state, queues, center)};
    if (!least || load < least->first) least = {load, center};
  }
  return least ? least->second : 0;
}

bool JossCenters::Holds(const ClusterState& state, const MapInput& input, CenterId center) const {
  return std::any_of(input.replicas.begin(), input.replicas.end(), [&](NodeId replica) {
    const NodeState* node = state.FindNode(replica);
    return node != nullptr && node->alive && node->location.datacenter == center;
  });
}

std::vector<CenterId> JossCenters::Holders(const ClusterState& state, const MapInput& input) const {
  std::vector<CenterId> holders;
  for (const NodeId replica : input.replicas) {
    const NodeState* node = state.FindNode(replica);
    if (node != nullptr && node->alive && IsOpen(TaskKind::kMap, node->location.datacenter))
      holders.push_back(node->location.datacenter);
  }
  std::sort(holders.begin(), holders.end());
  holders.erase(std::unique(holders.begin(), holders.end()), holders.end());
  return holders;
}

}  // namespace millrace::sched
