// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/simple/reference.h"

#include <algorithm>

namespace millrace::sched {

NodeLimits DlReference::LimitsOf(const NodeState& node) const {
  return admission_.LimitsOf(node, NodeLimits::Typed(node.slots));
}

std::optional<Decision> DlReference::LaunchOf(const ClusterState& state, TaskKind kind, NodeId node) const {
  std::optional<Decision> closest;
  for (const QueueKey& key : state.RunnableJobs(kind)) {
    if (kind == TaskKind::kReduce) {
      const auto reduce = admission_.NextReduce(state, key.job, node);
      if (reduce) return Decision{{key.job, kind, *reduce}, node};
      continue;
    }
    const auto map = state.BestPendingMap(key.job, node);
    if (!map || (closest && *closest->locality <= map->locality)) continue;
    closest = Decision{{key.job, kind, map->map}, node, false, map->locality};
  }
  return closest;
}

std::optional<Decision> DlReference::Next(const ClusterState& state, Micros) {
  for (const TaskKind kind : kTaskKinds) {
    const OrderedBits& free = state.FreeNodes(kind);
    std::vector<std::uint32_t> nodes(free.begin(), free.end());
    std::rotate(nodes.begin(), std::lower_bound(nodes.begin(), nodes.end(), turn_[kind]), nodes.end());
    const OrderedBits& before = admission_.NodesBeforeOthers(state, kind);
    std::stable_partition(nodes.begin(), nodes.end(), [&](std::uint32_t node) { return before.Contains(node); });
    for (const std::uint32_t node : nodes) {
      const auto launch = LaunchOf(state, kind, NodeId{node});
      if (!launch) continue;
      turn_[kind] = node + 1;
      return launch;
    }
  }
  return std::nullopt;
}

bool DlReference::WaitsForSpace(const ClusterState& state, Micros now) const {
  for (const std::uint32_t node : state.FreeNodes(TaskKind::kMap)) {
    for (const QueueKey& key : state.RunnableJobs(TaskKind::kMap)) {
      if (admission_.LacksSpaceIfIdle(state, key.job, NodeId{node}, now)) return true;
    }
  }
  return false;
}

bool LasReference::Before(const ClusterState& state, SlotKind, Micros now, JobId a, JobId b) const {
  Micros attained[2] = {}, level[2] = {};
  std::size_t running[2] = {};
  for (const bool second : {false, true}) {
    const JobState& job = *state.FindJob(second ? b : a);
    for (const TaskKind kind : kTaskKinds) {
      attained[second] += job.times[kind].ended_total;
      for (const TaskState& task : job.Tasks(kind)) {
        running[second] += task.running.size();
        for (const RunningAttempt& attempt : task.running) attained[second] += now - attempt.since;
      }
    }
    for (Micros end = quantum_; quantum_ > 0 && attained[second] >= end; end *= 2) ++level[second];
  }
  if (quantum_ > 0) {
    if (level[0] != level[1]) return level[0] < level[1];
    return state.FindJob(a)->key.submit_order < state.FindJob(b)->key.submit_order;
  }
  if (attained[0] != attained[1]) return attained[0] < attained[1];
  return running[0] != running[1] ? running[0] < running[1] : a < b;
}

std::optional<JobId> LasReference::Offer(const ClusterState& state, SlotKind kind, Micros now, const Take& take) const {
  std::vector<JobId> jobs;
  for (const QueueKey& key : state.RunnableJobs(kind)) jobs.push_back(key.job);
  std::sort(jobs.begin(), jobs.end(), [&](JobId a, JobId b) { return Before(state, kind, now, a, b); });
  const auto taker = std::find_if(jobs.begin(), jobs.end(), take);
  return taker == jobs.end() ? std::nullopt : std::optional(*taker);
}

}  // namespace millrace::sched
