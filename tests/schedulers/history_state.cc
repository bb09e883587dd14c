// SPDX-License-Identifier: Apache-2.0
// Checks what must hold at any time in a random history.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "tests/schedulers/history.h"

namespace millrace::sched {

std::uint32_t History::Used(NodeId node, TaskKind kind) const {
  std::uint32_t used = 0;
  for (const auto& [attempt, on] : running_) used += on == node && attempt.task.kind == kind ? 1 : 0;
  return used;
}

bool History::HasRoom(NodeId node, TaskKind kind) const {
  const NodeLimits& limits = engine_.state().FindNode(node)->limits;
  const std::uint32_t maps = Used(node, TaskKind::kMap), reduces = Used(node, TaskKind::kReduce);
  // A reduce beyond the limit of reduces that does not compute may wait for a map, so it takes no room from it.
  std::uint32_t computing = 0;
  for (const auto& [attempt, on] : running_) computing += on == node && computing_.contains(attempt) ? 1 : 0;
  const std::uint32_t counted = std::max(computing, std::min(reduces, limits.reduces));
  return (kind == TaskKind::kMap ? maps : reduces) < limits.Of(kind) && maps + counted < limits.total;
}

void History::CheckState() const {
  for (const auto& [node, model] : nodes_) {
    std::vector<AttemptId> expected;
    for (const auto& [attempt, on] : running_) {
      if (on == node) expected.push_back(attempt);
    }
    ASSERT_EQ(engine_.RunningOn(node), expected) << "n" << node.value;
    if (const NodeState* state = engine_.state().FindNode(node)) CheckIndexOf(*state);
  }
  CheckTotals();
  for (const auto& [id, job] : jobs_) {
    std::map<AttemptId, NodeId> expected, ready;
    for (const auto& [attempt, node] : outputs_) {
      if (attempt.task.job == id) expected[attempt] = node;
    }
    for (const MapOutputReady& output : engine_.ReadyOutputs(id)) ready[output.map_attempt] = output.node;
    ASSERT_EQ(ready, expected) << "job" << id.value;
    const std::vector<std::uint32_t> left_out(job.left_out.begin(), job.left_out.end());
    ASSERT_EQ(engine_.LeftOutMaps(id), job.ended ? std::vector<std::uint32_t>() : left_out) << "job" << id.value;
    ASSERT_EQ(engine_.Progress(id)->maps_left_out, left_out.size()) << "job" << id.value;
    ASSERT_EQ(engine_.Progress(id)->outcome.has_value(), job.ended) << "job" << id.value;
  }
}

void History::CheckIndexOf(const NodeState& node) const {
  const ClusterState& state = engine_.state();
  std::vector<JobId> local, listed;
  std::map<JobId, std::uint32_t> copying;
  for (const QueueKey& key : state.LiveJobs()) {
    const JobState& job = *state.FindJob(key.job);
    if (job.held || job.on_hold) continue;
    const auto& pending = job.pending_maps.all();
    if (std::any_of(pending.begin(), pending.end(), [&](std::uint32_t map) {
          const auto& replicas = job.spec.maps[map].replicas;
          return std::find(replicas.begin(), replicas.end(), node.id) != replicas.end();
        })) {
      local.push_back(key.job);
    }
  }
  state.VisitLocalJobs(node.id, [&](JobId job) {
    listed.push_back(job);
    return true;
  });
  ASSERT_EQ(listed, local) << "n" << node.id.value;
  for (const auto& [attempt, on] : running_) {
    if (on == node.id && attempt.task.kind == TaskKind::kReduce && !computing_.contains(attempt))
      ++copying[attempt.task.job];
  }
  const std::vector<std::pair<JobId, std::uint32_t>> expected(copying.begin(), copying.end());
  ASSERT_EQ(node.copying, expected) << "n" << node.id.value;
}

void History::CheckPermits() const {
  const ClusterState& state = engine_.state();
  std::uint32_t capacity = 0;
  std::map<NodeId, std::uint32_t> computing;
  for (const auto& [attempt, node] : running_) computing[node] += computing_.contains(attempt) ? 1 : 0;
  for (const auto& [node, model] : nodes_) {
    const NodeState* known = state.FindNode(node);
    if (model.alive && !model.drained && !known->avoided) capacity += std::min(known->Permits(), known->limits.reduces);
    if (!model.alive) continue;
    ASSERT_EQ(known->computing, computing[node]) << "n" << node.value;
    ASSERT_EQ(
        state.FreeNodesWithPermits().Contains(node.value),
        state.FreeNodes(TaskKind::kReduce).Contains(node.value) && Used(node, TaskKind::kReduce) < known->Permits())
        << "n" << node.value;
  }
  ASSERT_EQ(state.Capacity(kComputePermit), capacity);
  for (const auto& [id, job] : jobs_) {
    if (job.ended) continue;
    const JobState& known = *state.FindJob(id);
    std::uint32_t waiting = 0, grantable = 0, computes = 0;
    for (const auto& [attempt, since] : copied_) {
      if (attempt.task.job != id) continue;
      ++waiting;
      grantable += state.FindNode(running_.at(attempt))->HasFreePermit() ? 1 : 0;
    }
    for (const auto& [attempt, node] : running_)
      computes += attempt.task.job == id && computing_.contains(attempt) ? 1 : 0;
    ASSERT_EQ(known.running_attempts[kComputePermit], computes) << "job" << id.value;
    ASSERT_EQ(known.Demand(kComputePermit), computes + waiting) << "job" << id.value;
    ASSERT_EQ(known.may_compute, grantable) << "job" << id.value;
    ASSERT_EQ(state.RunnableJobs(kComputePermit).contains(known.key), grantable > 0) << "job" << id.value;
  }
}

void History::CheckNoPermitIdles() const {
  for (const auto& [attempt, since] : copied_) {
    EXPECT_FALSE(engine_.state().FindNode(running_.at(attempt))->HasFreePermit()) << ToText(attempt);
  }
}

void History::CheckTotals() const {
  CheckPermits();
  const ClusterState& state = engine_.state();
  for (const TaskKind kind : kTaskKinds) {
    std::uint32_t capacity = 0, running = 0, attempts_of_last = 0, beside = 0;
    for (const auto& [node, model] : nodes_) {
      if (model.alive && !model.drained && !state.FindNode(node)->avoided)
        capacity += state.FindNode(node)->limits.Of(kind);
      if (!model.alive) continue;
      ASSERT_EQ(state.FreeNodes(kind).Contains(node.value),
                !model.drained && !state.FindNode(node)->avoided && HasRoom(node, kind));
    }
    TaskId last;
    for (const auto& [attempt, node] : running_) {
      if (attempt.task.kind != kind) continue;
      ++running;
      attempts_of_last = attempts_of_last > 0 && attempt.task == last ? attempts_of_last + 1 : 1;
      beside += attempts_of_last > 1 ? 1 : 0;
      last = attempt.task;
    }
    ASSERT_EQ(state.Capacity(kind), capacity);
    ASSERT_EQ(state.Running(kind), running);
    ASSERT_EQ(state.Speculating(kind), beside);
    for (const auto& [id, job] : jobs_) {
      if (job.ended) continue;
      const auto spent = spent_.find({id, kind});
      Micros slot_time = spent == spent_.end() ? 0 : spent->second;
      for (const auto& [attempt, node] : running_) {
        if (attempt.task.job == id && attempt.task.kind == kind) slot_time += now_ - since_.at(attempt);
      }
      ASSERT_EQ(state.FindJob(id)->SlotTime(kind, now_), slot_time) << "job" << id.value;
    }
  }
}

void History::CheckNothingIdles() const {
  const bool ccs = options_.scheduler.find("ccs") != std::string::npos;
  for (const auto& [node, model] : nodes_) {
    if (!model.alive || model.drained || engine_.state().FindNode(node)->avoided) continue;
    for (const auto& [id, job] : jobs_) {
      if (job.ended || engine_.state().Refused(*engine_.state().FindJob(id), node)) continue;
      const JobState& state = *engine_.state().FindJob(id);
      const auto& pending = state.pending_maps.all();
      const bool lacks_space = std::any_of(pending.begin(), pending.end(), [&](std::uint32_t map) {
        return engine_.state().LacksSpace(state, map, node);
      });
      if (state.held || job.held) continue;
      for (const TaskKind kind : kTaskKinds) {
        if (!HasRoom(node, kind) || (kind == TaskKind::kMap && lacks_space)) continue;
        if (ccs && kind == TaskKind::kReduce && engine_.state().FindNode(node)->Copying(id) >= model.slots.reduces)
          continue;
        if (kind == TaskKind::kReduce && !engine_.state().FindJob(id)->ReducesMayStart()) continue;
        for (std::uint32_t i = 0; i < (kind == TaskKind::kMap ? job.maps : job.reduces); ++i) {
          const TaskId task{id, kind, i};
          if (state.Tasks(kind)[i].paused) continue;
          if (engine_.state().Avoids(*engine_.state().FindJob(id), kind, i, node)) continue;
          const auto first = running_.lower_bound({task, 0});
          const bool runs = first != running_.end() && first->first.task == task;
          ASSERT_TRUE(runs || job.done.contains(task)) << ToText(task) << " waits, n" << node.value << " idles";
        }
      }
    }
  }
}

}  // namespace millrace::sched
