// SPDX-License-Identifier: Apache-2.0
#include "master/jobs/output_moves.h"

#include <algorithm>
#include <tuple>

namespace millrace::master {
namespace {

// Returns the output's node, or nothing if reduces do not fetch it.
const sched::TaskState* FindServed(const AttemptId& map, const sched::ClusterState& cluster) {
  const sched::JobState* job = cluster.FindJob(map.task.job);
  if (job == nullptr || !job->alive() || job->progress.reduces == 0) return nullptr;
  if (map.task.index >= job->maps.size()) return nullptr;
  const sched::TaskState& task = job->maps[map.task.index];
  return task.succeeded() && task.winner == map.number ? &task : nullptr;
}

}  // namespace

std::vector<AttemptId> OutputsOn(NodeId node, const sched::ClusterState& cluster) {
  std::vector<AttemptId> outputs;
  const sched::NodeState* known = cluster.FindNode(node);
  if (known == nullptr) return outputs;
  for (const TaskId& map : known->outputs) {  // some have moved, or are of no use any more
    const sched::JobState* job = cluster.FindJob(map.job);
    if (job == nullptr || !job->alive() || map.index >= job->maps.size()) continue;
    const AttemptId attempt{map, job->maps[map.index].winner};
    const sched::TaskState* task = FindServed(attempt, cluster);
    if (task != nullptr && task->ran_on == node) outputs.push_back(attempt);
  }
  std::ranges::sort(outputs);
  outputs.erase(std::unique(outputs.begin(), outputs.end()), outputs.end());
  return outputs;
}

bool OutputMoves::CanTake(const sched::NodeState& node, const std::set<NodeId>& leaving) const {
  const auto to = to_.find(node.id);
  return node.InUse() && !leaving.contains(node.id) && (to == to_.end() || to->second < kMostTo);
}

// A copy to a node that is lost may never be told to have ended.
void OutputMoves::DropStale(const sched::ClusterState& cluster) {
  std::erase_if(under_way_, [&](const auto& copy) {
    const sched::NodeState* to = cluster.FindNode(copy.second.to);
    const bool stale = to == nullptr || !to->alive || FindServed(copy.first, cluster) == nullptr;
    if (stale) --to_[copy.second.to];
    return stale;
  });
  std::erase_if(failures_, [&](const auto& failed) { return FindServed(failed.first, cluster) == nullptr; });
}

std::vector<OutputCopyOrder> OutputMoves::Next(const sched::ClusterState& cluster, const std::set<NodeId>& leaving) {
  std::vector<OutputCopyOrder> copies;
  DropStale(cluster);
  for (const NodeId from : leaving) {
    const sched::NodeState* source = cluster.FindNode(from);
    if (source == nullptr || !source->alive) continue;
    for (const AttemptId& map : OutputsOn(from, cluster)) {
      const auto failed = failures_.find(map);
      if (under_way_.contains(map) || (failed != failures_.end() && failed->second >= kMostFailures)) continue;
      const sched::NodeState* best = nullptr;
      const auto rank = [this](NodeId node) { return std::tuple(to_[node], went_to_[node], node); };
      for (std::uint32_t id = 0; id < cluster.node_ids(); ++id) {
        const sched::NodeState* node = cluster.FindNode(NodeId{id});
        if (node == nullptr || !CanTake(*node, leaving)) continue;
        if (best == nullptr || rank(node->id) < rank(best->id)) best = node;
      }
      if (best == nullptr) return copies;
      under_way_[map] = {best->id, from};
      ++to_[best->id];
      ++went_to_[best->id];
      copies.push_back({best->id, from, map});
    }
  }
  return copies;
}

void OutputMoves::End(const OutputCopyOrder& copy, bool made) {
  const auto known = under_way_.find(copy.map);
  if (known == under_way_.end() || known->second.to != copy.to) return;
  --to_[copy.to];
  under_way_.erase(known);
  if (made) {
    failures_.erase(copy.map);
  } else {
    ++failures_[copy.map];
  }
}

}  // namespace millrace::master
