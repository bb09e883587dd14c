// SPDX-License-Identifier: Apache-2.0
// Map outputs that reduces fetch, and how they get lost; replicas of the inputs.
#include <algorithm>

#include "schedulers/core/engine_impl.h"

namespace millrace::sched {

void Engine::Impl::LoseOutput(JobId job, std::uint32_t map, Effects& effects) {
  const TaskState& task = state.FindJob(job)->maps[map];
  effects.push_back(MapOutputGone{{{job, TaskKind::kMap, map}, task.winner}, task.ran_on});
  state.LoseOutput(job, map);
  NoteFreed();
}

bool Engine::Impl::ServesOutput(const AttemptId& attempt) const {
  const TaskState* task = attempt.task.kind == TaskKind::kMap ? FindTask(attempt.task) : nullptr;
  return task != nullptr && task->succeeded() && task->winner == attempt.number &&
         state.FindJob(attempt.task.job)->progress.reduces > 0;
}

// A fetch that failed counts as a failure of the node that serves it.
void Engine::Impl::GiveUpOutput(const TaskId& map, Effects& effects) {
  const NodeId node = FindTask(map)->ran_on;
  LoseOutput(map.job, map.index, effects);
  CountNodeFailure(map, node, effects);
}

// A reduce lacks outputs as long as it copies. It does not tell which ones it has by now, but it reports again those
// that it still lacks.
bool Engine::Impl::LacksOutputs(const TaskState& reduce) const {
  return std::any_of(reduce.running.begin(), reduce.running.end(),
                     [](const RunningAttempt& attempt) { return attempt.phase == ReducePhase::kCopying; });
}

bool Engine::Impl::On(const FetchFailed& event, Effects& effects) {
  const TaskId& map = event.map_attempt.task;
  const TaskId& reduce = event.reduce.task;
  if (reduce.kind != TaskKind::kReduce || map.kind != TaskKind::kMap || reduce.job != map.job) return false;
  if (FindRunning(event.reduce) == nullptr || !ServesOutput(event.map_attempt)) return false;
  auto& reports = state.MutableJob(map.job).fetch_reports[map.index];
  const auto [known, first] = reports.try_emplace(reduce.index, FetchReport{event.reduce.number, event.report});
  if (first) {
    WeighReports(map.job, effects);
  } else if (known->second.attempt != event.reduce.number || known->second.number < event.report) {
    GiveUpOutput(map, effects);  // the reduce has waited, tried again and failed again
  }
  return true;
}

void Engine::Impl::WeighReports(JobId id, Effects& effects) {
  const JobState* job = FindLiveJob(id);
  if (job == nullptr || job->fetch_reports.empty()) return;
  const auto lacks = [&](std::uint32_t reduce) { return LacksOutputs(job->reduces[reduce]); };
  std::uint32_t lacking = 0;
  for (std::uint32_t reduce = 0; reduce < job->reduces.size(); ++reduce) lacking += lacks(reduce) ? 1 : 0;
  const std::uint32_t needed = std::min(std::max(options.max_fetch_failures, 1U), std::max(lacking, 1U));
  std::vector<std::uint32_t> lost;
  for (const auto& [map, reporters] : job->fetch_reports) {
    const auto doubters =
        std::count_if(reporters.begin(), reporters.end(), [&](const auto& of) { return lacks(of.first); });
    if (doubters >= needed) lost.push_back(map);
  }
  for (const std::uint32_t map : lost) GiveUpOutput({id, TaskKind::kMap, map}, effects);
}

// Reports of reduces about its former place no longer mean anything.
bool Engine::Impl::On(const OutputMoved& event, Effects& effects) {
  const NodeState* to = state.FindNode(event.to);
  if (to == nullptr || !to->alive || !ServesOutput(event.attempt)) return false;
  const TaskId& map = event.attempt.task;
  if (FindTask(map)->ran_on == event.to) return false;
  state.MoveOutput(map.job, map.index, event.to);
  effects.push_back(MapOutputReady{event.attempt, event.to});
  return true;
}

bool Engine::Impl::On(const ReplicasMoved& event, Effects&) {
  if (event.map.kind != TaskKind::kMap || FindTask(event.map) == nullptr) return false;
  state.MoveReplicas(event.map.job, event.map.index, event.replicas);
  return true;
}

}  // namespace millrace::sched
