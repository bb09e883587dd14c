// SPDX-License-Identifier: Apache-2.0
// Nodes that come, go and are drained.
#include <algorithm>
#include <utility>

#include "schedulers/core/engine_impl.h"
#include "schedulers/core/outside.h"
#include "schedulers/events/limits.h"

namespace millrace::sched {

bool Engine::Impl::On(const NodeJoined& event, Effects& effects) {
  if (event.node.value > kMaxId || event.slots.maps > kMaxSlots || event.slots.reduces > kMaxSlots) return false;
  const NodeState* old = state.FindNode(event.node);
  if (old != nullptr && old->alive) LoseNode(*old, true, effects);
  state.JoinNode(event);
  still_since.reset();
  state.SetLimits(event.node, policy->LimitsOf(*state.FindNode(event.node)));
  return true;
}

bool Engine::Impl::On(const NodeLost& event, Effects& effects) {
  const NodeState* node = state.FindNode(event.node);
  if (node == nullptr || !node->alive) return false;
  LoseNode(*node, event.died, effects);
  still_since.reset();
  return true;
}

bool Engine::Impl::On(const NodeDrained& event, Effects&) {
  const NodeState* node = state.FindNode(event.node);
  if (node == nullptr || !node->alive) return false;
  if (!event.drained) state.ForgetBlames(event.node);
  state.DrainNode(event.node, event.drained);
  still_since.reset();
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

bool Engine::Impl::On(const PolicyAnswered& event, Effects&) {
  Outside* const outside = policy->outside();
  if (outside == nullptr || outside->open() != event.question || !outside->Misread(event.answer).empty()) return false;
  outside->Answer(state, event.answer, now);
  return true;
}

bool Engine::Impl::On(const NodeBlamed& event, Effects&) {
  if (event.node.value > kMaxId || event.by.value > kMaxId) return false;
  state.Blame(event.node, event.by, event.until, now);
  return true;
}

void Engine::Impl::CountNodeFailure(const TaskId& task, NodeId node, Effects& effects) {
  if (!state.CountNodeFailure(task, node, options.max_failures_per_node)) return;
  const JobState& job = *state.FindJob(task.job);
  Micros refusal = std::min(options.refusal, options.longest_refusal);
  for (std::uint32_t before = job.node_failures.at(node).refusals; before > 0 && refusal < options.longest_refusal;
       --before) {
    refusal = std::min(refusal * 2, options.longest_refusal);
  }
  state.Refuse(task.job, node, now + refusal);
  if (!state.Refused(job, node)) return;  // the task fails wherever it runs, so the node is not to blame
  state.Blame(node, task.job, now + refusal, now);
  effects.push_back(sched::Blame{node, task.job, now + refusal});
}

void Engine::Impl::TakeBackBlames(JobId job, Effects& effects) {
  for (const NodeId node : state.BlamedBy(job)) {
    state.Blame(node, job, now, now);
    effects.push_back(sched::Blame{node, job, now});
  }
}

void Engine::Impl::LoseNode(const NodeState& node, bool died, Effects& effects) {
  const std::vector<AttemptId> lost = node.running;
  for (const AttemptId& attempt : lost) {
    state.StopAttempt(attempt, now);
    ++state.MutableJob(attempt.task.job).progress.killed_attempts;
  }
  state.LoseNode(node.id);
  for (const TaskId& map : state.TakeOutputs(node.id)) LoseOutput(map.job, map.index, effects);
  for (const AttemptId& attempt : lost) {
    if (attempt.task.kind == TaskKind::kReduce) WeighReports(attempt.task.job, effects);
    // A task may end its worker's process, but it breaks no network and no machine. A node that is drained is about to
    // be taken away, so its death is expected.
    if (died && !node.drained) CountDeath(attempt.task, node.id, effects);
  }
}

// Each task is counted by itself, and not by what ran beside it: a replay knows the jobs that live, but not those that
// have ended.
void Engine::Impl::CountDeath(const TaskId& task, NodeId node, Effects& effects) {
  if (FindTask(task) == nullptr || FindTask(task)->done)
    return;  // another task's death has just ended the job, or given this task up
  std::vector<NodeId>& nodes = deaths[task];
  nodes.push_back(node);
  if (nodes.size() < kMaxNodeDeaths) return;
  std::string names;
  for (const NodeId each : nodes) names += (names.empty() ? "" : ", ") + std::to_string(each.value);
  GiveUpTask(task,
             "task " + ToText(task) + " was lost with its worker " + std::to_string(nodes.size()) + " times (workers " +
                 names + "), which may be its doing; no other worker is given it",
             effects);
}

}  // namespace millrace::sched
