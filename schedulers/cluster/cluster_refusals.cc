// SPDX-License-Identifier: Apache-2.0
// The part of ClusterState about nodes that single jobs refuse and nodes that all jobs avoid, and when each of these
// ends.
#include <algorithm>
#include <functional>
#include <utility>

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/events/check.h"

namespace millrace::sched {

bool ClusterState::CountNodeFailure(const TaskId& task, NodeId node, std::uint32_t limit) {
  JobState& job = MutableJob(task.job);
  ++job.node_failures_counted;
  job.failed_on[task.kind].insert({task.index, node});
  NodeFailures& of_node = job.node_failures[node];
  if (job.bad_nodes.contains(node)) return false;  // the attempt was launched before the node turned bad
  return ++of_node.failures == limit;
}

void ClusterState::Refuse(JobId id, NodeId node, Micros until) {
  JobState& job = MutableJob(id);
  SCHED_CHECK(job.bad_nodes.insert(node).second, ToText(id));
  NodeFailures& of_node = job.node_failures[node];
  ++of_node.refusals;
  of_node.until = until;
  refusals_.insert({until, id, node});
  const NodeState* host = FindNode(node);
  if (host != nullptr && host->alive) ++job.live_bad_nodes;
  ++job.refusal_changes;
  NoteChanged(job);
}

// Leaves the count one below the limit, so that the next failure is again one too many.
void ClusterState::EndRefusal(JobId id, NodeId node) {
  JobState& job = MutableJob(id);
  job.bad_nodes.erase(node);
  --job.node_failures[node].failures;
  const NodeState* host = FindNode(node);
  if (host != nullptr && host->alive) --job.live_bad_nodes;
  ++job.refusal_changes;
  NoteChanged(job);
}

void ClusterState::Blame(NodeId node, JobId by, Micros until, Micros now) {
  auto& jobs = blames_[node];
  const auto known = jobs.find(by);
  if (known != jobs.end()) {
    blame_ends_.erase({known->second, node, by});
    jobs.erase(known);
  }
  if (until > now) {
    jobs[by] = until;
    blame_ends_.insert({until, node, by});
  }
  if (jobs.empty()) blames_.erase(node);
  RefreshAvoided();
}

std::vector<NodeId> ClusterState::BlamedBy(JobId job) const {
  std::vector<NodeId> nodes;
  for (const auto& [node, jobs] : blames_) {
    if (jobs.contains(job)) nodes.push_back(node);
  }
  return nodes;
}

void ClusterState::ForgetBlames(NodeId node) {
  const auto at = blames_.find(node);
  if (at == blames_.end()) return;
  for (const auto& [job, until] : at->second) blame_ends_.erase({until, node, job});
  blames_.erase(at);
  RefreshAvoided();
}

bool ClusterState::EndBlames(Micros now) {
  if (blame_ends_.empty() || std::get<Micros>(*blame_ends_.begin()) > now) return false;
  while (!blame_ends_.empty() && std::get<Micros>(*blame_ends_.begin()) <= now) {
    const auto [until, node, job] = *blame_ends_.begin();
    blame_ends_.erase(blame_ends_.begin());
    const auto at = blames_.find(node);
    at->second.erase(job);
    if (at->second.empty()) blames_.erase(at);
  }
  RefreshAvoided();
  return true;
}

// Returns the time at which so few jobs will still blame the node that it is no longer avoided.
Micros ClusterState::AvoidedUntil(NodeId node) const {
  const auto at = blames_.find(node);
  SCHED_CHECK(at != blames_.end() && at->second.size() >= kBlamesToAvoid, "n" + std::to_string(node.value));
  std::vector<Micros> ends;
  for (const auto& [job, until] : at->second) ends.push_back(until);
  std::sort(ends.begin(), ends.end(), std::greater<>());
  return ends[kBlamesToAvoid - 1];
}

bool ClusterState::OthersServe(const NodeState& node, const std::vector<NodeId>& without) const {
  const auto serves = [&](std::uint32_t Slots::*kind) {
    if (node.slots.*kind == 0) return true;
    return std::any_of(nodes_.begin(), nodes_.end(), [&](const NodeState& other) {
      return other.InUse() && other.slots.*kind > 0 && other.id != node.id &&
             std::find(without.begin(), without.end(), other.id) == without.end();
    });
  };
  return serves(&Slots::maps) && serves(&Slots::reduces);
}

// Uses only what holds now, and not which nodes were avoided before, because a journal may begin at any moment.
std::vector<NodeId> ClusterState::ToAvoid() const {
  std::vector<std::tuple<std::size_t, Micros, NodeId>> worst;
  for (const auto& [node, jobs] : blames_) {
    const NodeState* host = FindNode(node);
    if (jobs.size() < kBlamesToAvoid || host == nullptr || !host->InUse()) continue;
    worst.emplace_back(jobs.size(), AvoidedUntil(node), node);
  }
  std::sort(worst.begin(), worst.end(), [](const auto& a, const auto& b) {
    const auto rank = [](const auto& of) { return std::tuple(-std::int64_t(std::get<0>(of)), -std::get<1>(of)); };
    return std::pair(rank(a), std::get<2>(a)) < std::pair(rank(b), std::get<2>(b));
  });
  std::vector<NodeId> avoided;
  for (const auto& [jobs, until, node] : worst) {
    if (AreFew(avoided.size() + 1) && OthersServe(*FindNode(node), avoided)) avoided.push_back(node);
  }
  std::sort(avoided.begin(), avoided.end());
  return avoided;
}

void ClusterState::RefreshAvoided() {
  if (blames_.empty() && avoided_ == 0) return;
  const std::vector<NodeId> avoided = ToAvoid();
  for (std::uint32_t id = 0; id < nodes_.size(); ++id) {
    const bool avoid = std::binary_search(avoided.begin(), avoided.end(), NodeId{id});
    if (nodes_[id].avoided == avoid) continue;
    nodes_[id].avoided = avoid;
    RefreshOpen(nodes_[id]);
  }
  avoided_ = static_cast<std::uint32_t>(avoided.size());
}

bool ClusterState::PassTime(Micros now) {
  now_ = now;
  bool any = EndBlames(now);
  for (; !paused_.empty() && paused_.begin()->first <= now; any = true) EndPause(paused_.begin());
  for (; !refusals_.empty() && std::get<Micros>(*refusals_.begin()) <= now; any = true) {
    const auto [until, job, node] = *refusals_.begin();
    refusals_.erase(refusals_.begin());
    EndRefusal(job, node);
  }
  return any;
}

std::optional<Micros> ClusterState::NextEnd() const {
  std::optional<Micros> end;
  const auto take = [&](Micros time) { end = std::min(end.value_or(time), time); };
  if (!paused_.empty()) take(paused_.begin()->first);
  if (!refusals_.empty()) take(std::get<Micros>(*refusals_.begin()));
  if (avoided_ > 0) take(std::get<Micros>(*blame_ends_.begin()));
  return end;
}

}  // namespace millrace::sched
