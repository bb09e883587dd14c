// Map outputs that reduces fetch, and how they get lost; replicas of the inputs.
#include <algorithm>

#include "schedulers/core/engine_impl.h"

namespace millrace::sched {

void Engine::Impl::LoseOutput(JobId job, std::uint32_t map, Effects& effects) {
  const TaskState& task = state.FindJob(job)->maps[map];
  effects.push_back(MapOutputGone{{{job, TaskKind::kMap, map}, task.winner}, task.ran_on});
  state.LoseOutput(job, map);
}

bool Engine::Impl::On(const FetchFailed& event, Effects& effects) {
  const TaskId& map = event.map_attempt.task;
  const TaskId& reduce = event.reduce.task;
  if (reduce.kind != TaskKind::kReduce || map.kind != TaskKind::kMap || reduce.job != map.job) return false;
  const TaskState* output = FindTask(map);
  if (FindRunning(event.reduce) == nullptr || output == nullptr) return false;
  if (!output->done || output->winner != event.map_attempt.number) return false;
  JobState& job = state.MutableJob(map.job);
  auto& reporters = job.fetch_reports[map.index];
  reporters.insert(reduce.index);
  const std::uint32_t needed = std::min(std::max(options.max_fetch_failures, 1U), job.progress.reduces_running);
  if (reporters.size() < needed) return true;
  const NodeId node = output->ran_on;
  LoseOutput(map.job, map.index, effects);
  state.CountNodeFailure(map, node, options.max_failures_per_node);
  return true;
}

bool Engine::Impl::On(const ReplicasMoved& event, Effects&) {
  if (event.map.kind != TaskKind::kMap || FindTask(event.map) == nullptr) return false;
  state.MoveReplicas(event.map.job, event.map.index, event.replicas);
  return true;
}

}  // namespace millrace::sched
