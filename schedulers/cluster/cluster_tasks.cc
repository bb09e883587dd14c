// SPDX-License-Identifier: Apache-2.0
// The part of ClusterState about the tasks of its jobs.
#include <algorithm>
#include <utility>

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/events/check.h"

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
    job.pending_maps.Insert(task.index, job.spec.maps[task.index], topology_, LocalNodes());
    ListLocal(job, local_nodes_);
  } else {
    job.pending_reduces.Insert(task.index);
  }
  RefreshRunnable(job);
}

void ClusterState::ErasePending(JobState& job, TaskId task) {
  if (task.kind == TaskKind::kMap) {
    job.pending_maps.Erase(task.index, job.spec.maps[task.index], topology_, LocalNodes());
    UnlistLocal(job, local_nodes_);
  } else {
    job.pending_reduces.Erase(task.index);
  }
  RefreshRunnable(job);
}

Locality ClusterState::StartAttempt(const AttemptId& attempt, NodeId node, Micros now, std::optional<Locality> known) {
  const TaskId& id = attempt.task;
  JobState& job = MutableJob(id.job);
  TaskState& task = job.Tasks(id.kind)[id.index];
  NodeState& host = Node(node);
  SCHED_CHECK(!task.done && attempt.number == task.launched, ToText(attempt));
  SCHED_CHECK(host.InUse(), ToText(attempt) + " on n" + std::to_string(node.value));
  if (task.pending()) {
    ErasePending(job, id);
    ++RunningTasks(job.progress, id.kind);
  } else {
    ++speculating_[id.kind];
    ++job.progress.speculative_attempts;
  }
  const bool map = id.kind == TaskKind::kMap;
  Locality locality = Locality::kOff;
  if (map) locality = known ? *known : topology_.Distance(node, job.spec.maps[id.index].replicas);
  ++task.launched;
  task.running.Add({attempt.number, node, now, locality});
  ++job.running_attempts[id.kind];
  ++running_[id.kind];
  job.times[id.kind].since_total += static_cast<std::uint64_t>(now);
  NoteChanged(job);
  if (map) {
    task.running.back().expected_output = job.ExpectedOutput(id.index);
    host.reserved_bytes += task.running.back().expected_output;
    ++job.progress.launched_at[static_cast<std::size_t>(locality)];
  } else {
    const auto at = std::lower_bound(host.copying.begin(), host.copying.end(), std::pair{id.job, std::uint32_t{0}});
    if (at != host.copying.end() && at->first == id.job) {
      ++at->second;
    } else {
      host.copying.insert(at, {id.job, 1});
    }
  }
  host.running.insert(std::lower_bound(host.running.begin(), host.running.end(), attempt), attempt);
  ++Of(host.used, id.kind);
  RefreshFree(host);
  if (!std::exchange(job.started, true)) job.progress.started = now;
  return locality;
}

void ClusterState::RemoveCopying(NodeState& node, JobId job) {
  const auto at = std::lower_bound(node.copying.begin(), node.copying.end(), std::pair{job, std::uint32_t{0}});
  if (--at->second == 0) node.copying.erase(at);
}

void ClusterState::StartWaiting(const AttemptId& attempt, Micros now) {
  JobState& job = MutableJob(attempt.task.job);
  for (RunningAttempt& running : job.reduces[attempt.task.index].running) {
    if (running.number != attempt.number || running.phase != ReducePhase::kCopying) continue;
    running.phase = ReducePhase::kCopied;
    NodeState& node = Node(running.node);
    node.copied.push_back(attempt.task.job);
    job.copied_reduces.push_back({attempt, running.node, now});
    if (node.HasFreePermit()) ++job.may_compute;
    RefreshRunnable(job);
    NoteChanged(job);
  }
}

void ClusterState::StartComputing(const AttemptId& attempt, Micros now) {
  JobState& job = MutableJob(attempt.task.job);
  for (RunningAttempt& running : job.reduces[attempt.task.index].running) {
    if (running.number != attempt.number || running.computing()) continue;
    NodeState& node = Node(running.node);
    Micros waited = 0;
    if (running.phase == ReducePhase::kCopied) {
      waited = StopWaiting(node, attempt, now);
      running.since += waited;
      job.times[TaskKind::kReduce].since_total += static_cast<std::uint64_t>(waited);
    }
    running.phase = ReducePhase::kComputing;
    job.computing[attempt] = {now, waited};
    ++job.running_attempts[kComputePermit];
    RemoveCopying(node, attempt.task.job);
    SetComputing(node, node.computing + 1);
    NoteChanged(job);
  }
}

Micros ClusterState::StopWaiting(NodeState& node, const AttemptId& attempt, Micros now) {
  JobState& job = MutableJob(attempt.task.job);
  const auto at = std::find_if(job.copied_reduces.begin(), job.copied_reduces.end(),
                               [&](const CopiedReduce& reduce) { return reduce.attempt == attempt; });
  SCHED_CHECK(at != job.copied_reduces.end(), ToText(attempt));
  const Micros waited = now - at->since;
  job.copied_reduces.erase(at);
  node.copied.erase(std::find(node.copied.begin(), node.copied.end(), attempt.task.job));
  if (node.HasFreePermit()) --job.may_compute;
  RefreshRunnable(job);
  return waited;
}

void ClusterState::SetComputing(NodeState& node, std::uint32_t computing) {
  const bool had_free_permit = node.HasFreePermit();
  node.computing = computing;
  RefreshMayCompute(node, had_free_permit);
  if (node.used.reduces > node.limits.reduces) RefreshFree(node);
}

void ClusterState::RefreshMayCompute(NodeState& node, bool had_free_permit) {
  if (node.HasFreePermit() == had_free_permit) return;
  for (const JobId id : node.copied) {
    JobState& job = MutableJob(id);
    had_free_permit ? --job.may_compute : ++job.may_compute;
    RefreshRunnable(job);
    NoteChanged(job);
  }
}

RunningAttempt ClusterState::RemoveRunning(const AttemptId& attempt, Micros now) {
  const TaskId& id = attempt.task;
  JobState& job = MutableJob(id.job);
  TaskState& task = job.Tasks(id.kind)[id.index];
  const RunningAttempt* found = task.Find(attempt.number);
  SCHED_CHECK(found != nullptr, ToText(attempt));
  const RunningAttempt running = *found;
  NodeState& host = Node(running.node);
  if (task.running.size() > 1) --speculating_[id.kind];
  task.running.Erase(found);
  --job.running_attempts[id.kind];
  --running_[id.kind];
  job.times[id.kind].since_total -= static_cast<std::uint64_t>(running.since);
  job.times[id.kind].ended_total += now - running.since;
  host.reserved_bytes -= running.expected_output;
  if (id.kind == TaskKind::kReduce) {
    if (running.computing()) {
      job.computing.erase(attempt);
      --job.running_attempts[kComputePermit];
      SetComputing(host, host.computing - 1);
    } else {
      if (running.phase == ReducePhase::kCopied) (void)StopWaiting(host, attempt, now);
      RemoveCopying(host, id.job);
    }
  }
  NoteChanged(job);
  host.running.erase(std::lower_bound(host.running.begin(), host.running.end(), attempt));
  --Of(host.used, id.kind);
  RefreshFree(host);
  return running;
}

void ClusterState::StopAttempt(const AttemptId& attempt, Micros now) {
  const TaskId& id = attempt.task;
  JobState& job = MutableJob(id.job);
  RemoveRunning(attempt, now);
  if (!job.Tasks(id.kind)[id.index].pending()) return;
  --RunningTasks(job.progress, id.kind);
  InsertPending(job, id);
}

void ClusterState::Pause(const TaskId& id, Micros until) {
  JobState& job = MutableJob(id.job);
  TaskState& task = job.Tasks(id.kind)[id.index];
  SCHED_CHECK(task.pending(), ToText(id));
  ErasePending(job, id);
  task.paused = true;
  paused_.insert({until, id});
}

void ClusterState::Resume(const TaskId& id) {
  const auto at = std::find_if(paused_.begin(), paused_.end(), [&](const auto& paused) { return paused.second == id; });
  if (at != paused_.end()) EndPause(at);
}

void ClusterState::EndPause(std::set<std::pair<Micros, TaskId>>::const_iterator at) {
  const TaskId id = at->second;
  paused_.erase(at);
  JobState& job = MutableJob(id.job);
  job.Tasks(id.kind)[id.index].paused = false;
  InsertPending(job, id);
  NoteChanged(job);
}

void ClusterState::NoteMapsEnded(JobState& job, Micros now) {
  if (job.progress.maps_done == job.progress.maps) job.maps_ended = now;
}

void ClusterState::NoteParts(JobState& job, const AttemptId& attempt, Micros now) {
  const RunningAttempt& running = *job.reduces[attempt.task.index].Find(attempt.number);
  const auto computing = job.computing.find(attempt);
  // A driver need not report that a reduce computes. All its time then counts as computing.
  const Micros waited = computing == job.computing.end() ? 0 : computing->second.waited;
  const Micros began = std::max(running.since - waited, job.maps_ended);
  const Micros copied = computing == job.computing.end() ? began : computing->second.since - waited;
  ++job.parts.finished;
  job.parts.copying += std::max<Micros>(copied - began, 0);
  job.parts.computing += std::max<Micros>(now - waited - std::max(copied, began), 0);
}

void ClusterState::FinishAttempt(const AttemptId& attempt, Micros now) {
  const TaskId& id = attempt.task;
  JobState& job = MutableJob(id.job);
  TaskState& task = job.Tasks(id.kind)[id.index];
  SCHED_CHECK(!task.done, ToText(attempt));
  if (id.kind == TaskKind::kReduce) NoteParts(job, attempt, now);
  const RunningAttempt running = RemoveRunning(attempt, now);
  task.done = true;
  task.winner = attempt.number;
  task.ran_on = running.node;
  RunTimes& times = job.times[id.kind];
  ++times.finished;
  times.finished_total += now - running.since;
  if (id.kind == TaskKind::kMap && running.locality == Locality::kNode) {
    ++times.local;
    times.local_total += now - running.since;
  }
  ++finished_[id.kind];
  finished_total_[id.kind] += now - running.since;
  --RunningTasks(job.progress, id.kind);
  ++DoneTasks(job.progress, id.kind);
  if (id.kind == TaskKind::kMap) NoteMapsEnded(job, now);
  RefreshRunnable(job);
  if (id.kind == TaskKind::kReduce || job.progress.reduces == 0) return;
  NoteOutput(task.ran_on, id);
}

void ClusterState::NoteOutput(NodeId node, const TaskId& map) {
  NodeState& host = Node(node);
  if (host.outputs.size() >= host.prune_at) {
    PruneOutputs(host);
    host.prune_at =
        std::max(host.prune_at, host.outputs.size() * 2);  // doubling keeps the cost of pruning at O(1) an output
  }
  host.outputs.push_back(map);
}

void ClusterState::MoveOutput(JobId job_id, std::uint32_t map, NodeId to) {
  JobState& job = MutableJob(job_id);
  TaskState& task = job.maps[map];
  SCHED_CHECK(task.succeeded() && job.progress.reduces > 0, ToText(TaskId{job_id, TaskKind::kMap, map}));
  task.ran_on = to;
  job.fetch_reports.erase(map);
  NoteOutput(to, {job_id, TaskKind::kMap, map});
}

void ClusterState::PruneOutputs(NodeState& node) {
  std::erase_if(node.outputs, [&](const TaskId& id) {
    const JobState* job = FindJob(id.job);
    return job == nullptr || !job->alive() || !job->maps[id.index].succeeded() || job->maps[id.index].ran_on != node.id;
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
  SCHED_CHECK(task.succeeded() && task.running.empty(), ToText(TaskId{job_id, TaskKind::kMap, map}));
  task.done = false;
  --job.progress.maps_done;
  job.fetch_reports.erase(map);
  InsertPending(job, {job_id, TaskKind::kMap, map});
  NoteChanged(job);
}

void ClusterState::LeaveOut(JobId job_id, std::uint32_t map, Micros now) {
  JobState& job = MutableJob(job_id);
  TaskState& task = job.maps[map];
  SCHED_CHECK(task.pending(), ToText(TaskId{job_id, TaskKind::kMap, map}));
  task.done = task.left_out = true;
  ++job.progress.maps_done;
  ++job.progress.maps_left_out;
  NoteMapsEnded(job, now);
  ErasePending(job, {job_id, TaskKind::kMap, map});
  NoteChanged(job);
}

void ClusterState::MoveReplicas(JobId job_id, std::uint32_t map, std::vector<NodeId> replicas) {
  JobState& job = MutableJob(job_id);
  const bool pending = job.maps[map].pending();
  if (pending) ErasePending(job, {job_id, TaskKind::kMap, map});
  job.spec.maps[map].replicas = std::move(replicas);
  if (pending) InsertPending(job, {job_id, TaskKind::kMap, map});
  NoteChanged(job);
}

}  // namespace millrace::sched
