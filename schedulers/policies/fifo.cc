#include "schedulers/policies/fifo.h"

#include "schedulers/core/ordered_bits.h"

namespace millrace::sched {
namespace {

// Of one job for one node.
std::optional<std::uint32_t> BestTask(const ClusterState& state, TaskKind kind, JobId job, NodeId node) {
  if (kind == TaskKind::kReduce) return state.NextPendingReduce(job, node);
  const auto choice = state.BestPendingMap(job, node);
  return choice ? std::optional<std::uint32_t>(choice->map) : std::nullopt;
}

// The loops end at the first pair but where a node is refused to a job.
std::optional<Decision> NextFor(const ClusterState& state, TaskKind kind, std::uint32_t* next_node) {
  const OrderedBits& free = state.FreeNodes(kind);
  if (free.empty() || state.RunnableJobs(kind).empty()) return std::nullopt;
  std::uint32_t id = free.NextFrom(*next_node);
  for (std::uint32_t seen = 0; seen < free.size(); ++seen, id = free.NextFrom(id + 1)) {
    if (id == OrderedBits::kNone) id = free.First();
    for (const QueueKey& key : state.RunnableJobs(kind)) {
      const auto task = BestTask(state, kind, key.job, NodeId{id});
      if (!task) continue;
      *next_node = id + 1;
      return Decision{{key.job, kind, *task}, NodeId{id}};
    }
  }
  return std::nullopt;
}

// When several nodes are free, one that holds the data of the first job's first pending map comes before its turn.
std::optional<Decision> NextAtItsData(const ClusterState& state) {
  const OrderedBits& free = state.FreeNodes(TaskKind::kMap);
  if (free.size() < 2 || state.RunnableJobs(TaskKind::kMap).empty()) return std::nullopt;
  const JobId job = state.RunnableJobs(TaskKind::kMap).begin()->job;
  const JobState& known = *state.FindJob(job);
  std::optional<NodeId> first;
  for (const NodeId node : known.spec.maps[known.pending_maps.all().First()].replicas) {
    if (free.Contains(node.value) && (!first || node < *first)) first = node;
  }
  if (!first) return std::nullopt;
  const auto choice = state.BestPendingMap(job, *first, Locality::kNode);
  if (!choice) return std::nullopt;
  return Decision{{job, TaskKind::kMap, choice->map}, *first};
}

}  // namespace

std::optional<Decision> Fifo::Next(const ClusterState& state, Time) {
  if (auto map = NextAtItsData(state)) return map;
  if (auto map = NextFor(state, TaskKind::kMap, &next_map_node_)) return map;
  return NextFor(state, TaskKind::kReduce, &next_reduce_node_);
}

}  // namespace millrace::sched
