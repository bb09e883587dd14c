// Nodes that come, go and are drained.
#include <algorithm>
#include <optional>
#include <utility>

#include "schedulers/core/engine_impl.h"
#include "schedulers/core/event_text.h"
#include "schedulers/core/limits.h"

namespace millrace::sched {

bool Engine::Impl::On(const NodeJoined& event, Effects& effects) {
  if (event.node.value > kMaxId || event.slots.maps > kMaxSlots || event.slots.reduces > kMaxSlots) return false;
  const NodeState* old = state.FindNode(event.node);
  if (old != nullptr && old->alive) LoseNode(*old, true, effects);
  state.JoinNode(event);
  state.SetLimits(event.node, policy->LimitsOf(*state.FindNode(event.node)));
  return true;
}

bool Engine::Impl::On(const NodeLost& event, Effects& effects) {
  const NodeState* node = state.FindNode(event.node);
  if (node == nullptr || !node->alive) return false;
  LoseNode(*node, event.died, effects);
  return true;
}

bool Engine::Impl::On(const NodeDrained& event, Effects&) {
  const NodeState* node = state.FindNode(event.node);
  if (node == nullptr || !node->alive) return false;
  state.DrainNode(event.node, event.drained);
  return true;
}

bool Engine::Impl::On(const BandwidthMeasured& event, Effects&) {
  if (event.from == event.to || event.bytes_per_second == 0) return false;
  if (state.FindNode(event.from) == nullptr || state.FindNode(event.to) == nullptr) return false;
  state.NoteBandwidth(event.from, event.to, static_cast<double>(event.bytes_per_second));
  return true;
}

bool Engine::Impl::On(const NodeSpace& event, Effects&) {
  const NodeState* node = state.FindNode(event.node);
  if (node == nullptr || !node->alive) return false;
  state.SetSpace(event.node, event.free_bytes);
  return true;
}

bool Engine::Impl::On(const SchedulerSet& event, Effects&) {
  auto next = options.make_policy ? options.make_policy(event) : nullptr;
  if (next == nullptr) return false;
  SetPolicy(std::move(next));
  return true;
}

void Engine::Impl::LoseNode(const NodeState& node, bool died, Effects& effects) {
  std::vector<std::pair<Time, AttemptId>> lost;  // and since when each ran
  for (const AttemptId& attempt : node.running) lost.emplace_back(FindRunning(attempt)->since, attempt);
  for (const auto& [since, attempt] : lost) {
    state.StopAttempt(attempt, now);
    ++state.MutableJob(attempt.task.job).progress.killed_attempts;
  }
  state.LoseNode(node.id);
  for (const TaskId& map : state.TakeOutputs(node.id)) LoseOutput(map.job, map.index, effects);
  for (const auto& [since, attempt] : lost) {
    if (attempt.task.kind == TaskKind::kReduce) WeighReports(attempt.task.job, effects);
  }
  // A task may end its worker's process, but no network and no machine. Who drains a node means to take it away.
  if (died && !node.drained) CountDeaths(std::move(lost), node.id, effects);
}

// Of the tasks that were there too often, the one that began last is blamed: others may only have been beside it.
void Engine::Impl::CountDeaths(std::vector<std::pair<Time, AttemptId>> lost, NodeId node, Effects& effects) {
  std::stable_sort(lost.begin(), lost.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  std::optional<TaskId> blamed;
  for (const auto& [since, attempt] : lost) {
    if (FindTask(attempt.task) == nullptr) continue;  // its job has just ended
    std::vector<NodeId>& nodes = deaths[attempt.task];
    nodes.push_back(node);
    if (nodes.size() >= kMaxNodeDeaths && !blamed) blamed = attempt.task;
  }
  if (!blamed) return;
  const std::vector<NodeId>& nodes = deaths.at(*blamed);
  std::string names;
  for (const NodeId each : nodes) names += (names.empty() ? "" : ", ") + std::to_string(each.value);
  const std::string reason = "task " + FormatTask(*blamed) + " was lost with its worker " +
                             std::to_string(nodes.size()) + " times (workers " + names +
                             "), which may be its doing; no other worker is given it";
  EndJob(blamed->job, JobOutcome::kFailed, reason, effects);
}

}  // namespace millrace::sched
