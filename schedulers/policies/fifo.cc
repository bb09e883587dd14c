#include "schedulers/policies/fifo.h"

namespace millrace::sched {
namespace {

// The loops end at the first pair but where a node is refused to a job.
std::optional<Decision> NextMap(const ClusterState& state) {
  if (state.RunnableJobs(TaskKind::kMap).empty()) return std::nullopt;
  for (const std::uint32_t id : state.FreeNodes(TaskKind::kMap)) {
    for (const QueueKey& key : state.RunnableJobs(TaskKind::kMap)) {
      const auto choice = state.BestPendingMap(key.job, NodeId{id});
      if (choice) return Decision{{key.job, TaskKind::kMap, choice->map}, NodeId{id}};
    }
  }
  return std::nullopt;
}

std::optional<Decision> NextReduce(const ClusterState& state) {
  if (state.RunnableJobs(TaskKind::kReduce).empty()) return std::nullopt;
  for (const std::uint32_t id : state.FreeNodes(TaskKind::kReduce)) {
    for (const QueueKey& key : state.RunnableJobs(TaskKind::kReduce)) {
      const auto reduce = state.NextPendingReduce(key.job, NodeId{id});
      if (reduce) return Decision{{key.job, TaskKind::kReduce, *reduce}, NodeId{id}};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Decision> Fifo::Next(const ClusterState& state, Time) {
  if (auto map = NextMap(state)) return map;
  return NextReduce(state);
}

}  // namespace millrace::sched
