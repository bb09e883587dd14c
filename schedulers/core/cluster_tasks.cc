// ClusterState: the tasks of its jobs.
#include <algorithm>
#include <utility>

#include "schedulers/core/check.h"
#include "schedulers/core/cluster_state.h"
#include "schedulers/core/event_text.h"

namespace millrace::sched {
namespace {

std::uint32_t& Of(Slots& slots, TaskKind kind) { return kind == TaskKind::kMap ? slots.maps : slots.reduces; }

std::uint32_t& RunningTasks(JobProgress& progress, TaskKind kind) {
  return kind == TaskKind::kMap ? progress.maps_running : progress.reduces_running;
}

std::uint32_t& DoneTasks(JobProgress& progress, TaskKind kind) {
  return kind == TaskKind::kMap ? progress.maps_done : progress.reduces_done;
}

}  // namespace

void ClusterState::InsertPending(JobState& job, TaskId task) {
  if (task.kind == TaskKind::kMap) {
    job.pending_maps.Insert(task.index, job.spec.maps[task.index], topology_);
  } else {
    job.pending_reduces.Insert(task.index);
  }
  RefreshRunnable(job);
}

void ClusterState::ErasePending(JobState& job, TaskId task) {
  if (task.kind == TaskKind::kMap) {
    job.pending_maps.Erase(task.index, job.spec.maps[task.index], topology_);
  } else {
    job.pending_reduces.Erase(task.index);
  }
  RefreshRunnable(job);
}

Locality ClusterState::StartAttempt(const AttemptId& attempt, NodeId node, Time now) {
  const TaskId& id = attempt.task;
  JobState& job = MutableJob(id.job);
  TaskState& task = job.Tasks(id.kind)[id.index];
  NodeState& host = Node(node);
  SCHED_CHECK(!task.done && attempt.number == task.launched, FormatAttempt(attempt));
  SCHED_CHECK(free_[Index(id.kind)].Contains(node.value),
              FormatAttempt(attempt) + " on n" + std::to_string(node.value));
  if (task.pending()) {
    ErasePending(job, id);
    ++RunningTasks(job.progress, id.kind);
  }
  ++task.launched;
  task.running.push_back({attempt.number, node, now});
  ++job.running_attempts[Index(id.kind)];
  host.running.insert(std::lower_bound(host.running.begin(), host.running.end(), attempt), attempt);
  ++Of(host.used, id.kind);
  RefreshFree(host);
  if (!std::exchange(job.started, true)) job.progress.started = now;
  if (id.kind == TaskKind::kReduce) return Locality::kOff;
  const Locality locality = topology_.Distance(node, job.spec.maps[id.index].replicas);
  ++job.progress.launched_at[static_cast<std::size_t>(locality)];
  return locality;
}

void ClusterState::RemoveRunning(const AttemptId& attempt) {
  const TaskId& id = attempt.task;
  JobState& job = MutableJob(id.job);
  TaskState& task = job.Tasks(id.kind)[id.index];
  const RunningAttempt* running = task.Find(attempt.number);
  SCHED_CHECK(running != nullptr, FormatAttempt(attempt));
  NodeState& host = Node(running->node);
  task.running.erase(task.running.begin() + (running - task.running.data()));
  --job.running_attempts[Index(id.kind)];
  host.running.erase(std::lower_bound(host.running.begin(), host.running.end(), attempt));
  --Of(host.used, id.kind);
  RefreshFree(host);
}

void ClusterState::StopAttempt(const AttemptId& attempt) {
  const TaskId& id = attempt.task;
  JobState& job = MutableJob(id.job);
  RemoveRunning(attempt);
  if (!job.Tasks(id.kind)[id.index].pending()) return;
  --RunningTasks(job.progress, id.kind);
  InsertPending(job, id);
}

void ClusterState::FinishAttempt(const AttemptId& attempt) {
  const TaskId& id = attempt.task;
  JobState& job = MutableJob(id.job);
  TaskState& task = job.Tasks(id.kind)[id.index];
  const RunningAttempt* running = task.Find(attempt.number);
  SCHED_CHECK(running != nullptr && !task.done, FormatAttempt(attempt));
  task.done = true;
  task.winner = attempt.number;
  task.ran_on = running->node;
  RemoveRunning(attempt);
  --RunningTasks(job.progress, id.kind);
  ++DoneTasks(job.progress, id.kind);
  RefreshRunnable(job);
  if (id.kind == TaskKind::kReduce || job.progress.reduces == 0) return;
  NodeState& host = Node(task.ran_on);
  if (host.outputs.size() >= host.prune_at) {
    PruneOutputs(host);
    host.prune_at = std::max(host.prune_at, host.outputs.size() * 2);  // so that pruning costs O(1) an output
  }
  host.outputs.push_back(id);
}

void ClusterState::PruneOutputs(NodeState& node) {
  std::erase_if(node.outputs, [&](const TaskId& id) {
    const JobState* job = FindJob(id.job);
    return job == nullptr || !job->alive() || !job->maps[id.index].done || job->maps[id.index].ran_on != node.id;
  });
}

std::vector<TaskId> ClusterState::TakeOutputs(NodeId node) {
  PruneOutputs(Node(node));
  std::vector<TaskId> outputs = std::exchange(Node(node).outputs, {});
  std::sort(outputs.begin(), outputs.end());
  outputs.erase(std::unique(outputs.begin(), outputs.end()), outputs.end());
  return outputs;
}

void ClusterState::LoseOutput(JobId job_id, std::uint32_t map) {
  JobState& job = MutableJob(job_id);
  TaskState& task = job.maps[map];
  SCHED_CHECK(task.done && task.running.empty(), FormatTask({job_id, TaskKind::kMap, map}));
  task.done = false;
  --job.progress.maps_done;
  job.fetch_reports.erase(map);
  InsertPending(job, {job_id, TaskKind::kMap, map});
}

void ClusterState::MoveReplicas(JobId job_id, std::uint32_t map, std::vector<NodeId> replicas) {
  JobState& job = MutableJob(job_id);
  const bool pending = job.maps[map].pending();
  if (pending) job.pending_maps.Erase(map, job.spec.maps[map], topology_);
  job.spec.maps[map].replicas = std::move(replicas);
  if (pending) job.pending_maps.Insert(map, job.spec.maps[map], topology_);
}

void ClusterState::CountNodeFailure(const TaskId& task, NodeId node, std::uint32_t limit) {
  JobState& job = MutableJob(task.job);
  job.failed_on[Index(task.kind)].insert({task.index, node});
  if (++job.node_failures[node] != limit) return;
  job.bad_nodes.insert(node);
  const NodeState* host = FindNode(node);
  if (host != nullptr && host->alive) ++job.live_bad_nodes;
}

}  // namespace millrace::sched
