// SPDX-License-Identifier: Apache-2.0
// Checks what must hold in a random history by a plain model of it, fed by the events and the effects.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/ids/ids.h"
#include "schedulers/cluster/cluster_state.h"
#include "tests/schedulers/history.h"
#include "tests/schedulers/script.h"

namespace millrace::sched {

void History::Check(const Event& event, bool accepted) const {
  const auto running = [this](const AttemptId& attempt) { return running_.contains(attempt); };
  const auto alive = [this](JobId job) { return jobs_.contains(job) && !jobs_.at(job).ended; };
  if (const auto* e = std::get_if<AttemptSucceeded>(&event)) {
    EXPECT_EQ(accepted, running(e->attempt));
  }
  if (const auto* e = std::get_if<AttemptFailed>(&event)) {
    EXPECT_EQ(accepted, running(e->attempt));
  }
  if (const auto* e = std::get_if<AttemptLost>(&event)) {
    EXPECT_EQ(accepted, running(e->attempt) || outputs_.contains(e->attempt));
  }
  if (const auto* e = std::get_if<ReduceComputing>(&event)) {
    EXPECT_EQ(accepted, running(e->attempt) && e->attempt.task.kind == TaskKind::kReduce);
  }
  if (const auto* e = std::get_if<ReduceCopied>(&event)) {
    EXPECT_EQ(accepted, running(e->attempt) && e->attempt.task.kind == TaskKind::kReduce &&
                            !computing_.contains(e->attempt) && !copied_.contains(e->attempt));
  }
  if (const auto* e = std::get_if<ComputeGranted>(&event)) {
    EXPECT_EQ(accepted, copied_.contains(e->attempt));
  }
  if (const auto* e = std::get_if<JobSubmitted>(&event)) {
    EXPECT_EQ(accepted, !jobs_.contains(e->job));
  }
  if (const auto* e = std::get_if<JobKilled>(&event)) {
    EXPECT_EQ(accepted, alive(e->job));
  }
  if (const auto* e = std::get_if<JobPrioritySet>(&event)) {
    EXPECT_EQ(accepted, alive(e->job));
  }
  if (const auto* e = std::get_if<JobHeld>(&event)) {
    EXPECT_EQ(accepted, alive(e->job) && !jobs_.at(e->job).begun && jobs_.at(e->job).held != e->held);
  }
  if (const auto* e = std::get_if<NodeLost>(&event)) {
    EXPECT_EQ(accepted, nodes_.contains(e->node) && nodes_.at(e->node).alive);
  }
  if (const auto* e = std::get_if<FetchFailed>(&event)) {
    EXPECT_EQ(accepted, running(e->reduce) && e->reduce.task.kind == TaskKind::kReduce &&
                            e->reduce.task.job == e->map_attempt.task.job && outputs_.contains(e->map_attempt));
  }
}

void History::Lose(NodeId node) {
  nodes_[node] = {};
  const auto running = running_;
  for (const auto& [attempt, on] : running) {
    if (on == node) Stopped(attempt);
  }
}

void History::Model(const Event& event) {
  if (const auto* e = std::get_if<NodeJoined>(&event)) {
    Lose(e->node);
    nodes_[e->node] = {e->slots, true, false};
  }
  if (const auto* e = std::get_if<NodeLost>(&event)) Lose(e->node);
  if (const auto* e = std::get_if<NodeDrained>(&event)) nodes_[e->node].drained = e->drained;
  if (const auto* e = std::get_if<JobSubmitted>(&event)) {
    jobs_[e->job] = {static_cast<std::uint32_t>(e->spec.maps.size()),
                     e->spec.reduces,
                     false,
                     {},
                     e->spec.max_failed_maps,
                     {},
                     false,
                     false};
    next_job_ = std::max(next_job_, e->job.value + 1);
  }
  if (const auto* e = std::get_if<JobHeld>(&event)) jobs_[e->job].held = e->held;
  // What is on record as launched is held no more.
  if (const auto* e = std::get_if<AttemptLaunched>(&event)) jobs_[e->attempt.task.job].held = false;
  if (const auto* e = std::get_if<AttemptLaunched>(&event)) Started(e->attempt, e->node, true);
  if (const auto* e = std::get_if<AttemptFailed>(&event)) Stopped(e->attempt);
  if (const auto* e = std::get_if<AttemptLost>(&event)) Stopped(e->attempt);
  if (const auto* e = std::get_if<ReduceCopied>(&event)) copied_[e->attempt] = now_;
  if (const auto* e = std::get_if<ReduceComputing>(&event)) Granted(e->attempt);
  if (const auto* e = std::get_if<ComputeGranted>(&event)) Granted(e->attempt);
  if (const auto* e = std::get_if<AttemptSucceeded>(&event)) {
    Stopped(e->attempt);
    EXPECT_TRUE(jobs_[e->attempt.task.job].done.insert(e->attempt.task).second) << "succeeded twice";
  }
}

void History::Started(const AttemptId& attempt, NodeId node, bool may_duplicate) {
  SCOPED_TRACE(ToText(attempt));
  const TaskId& task = attempt.task;
  const ModelNode& host = nodes_[node];
  EXPECT_TRUE(host.alive && !host.drained);
  EXPECT_TRUE(may_duplicate || !engine_.state().FindNode(node)->avoided);
  EXPECT_TRUE(HasRoom(node, task.kind));
  ASSERT_TRUE(jobs_.contains(task.job));
  ModelJob& job = jobs_[task.job];
  EXPECT_FALSE(job.ended);
  EXPECT_FALSE(job.held);
  job.begun = true;
  EXPECT_FALSE(job.done.contains(task));
  EXPECT_LT(task.index, task.kind == TaskKind::kMap ? job.maps : job.reduces);
  const auto first = running_.lower_bound({task, 0});
  EXPECT_TRUE(may_duplicate || first == running_.end() || first->first.task != task) << "runs twice at once";
  EXPECT_TRUE(running_.emplace(attempt, node).second);
  since_[attempt] = now_;
}

// The time for which it has waited is no run time.
void History::Granted(const AttemptId& attempt) {
  computing_.insert(attempt);
  const auto waited = copied_.find(attempt);
  if (waited == copied_.end()) return;
  since_[attempt] += now_ - waited->second;
  copied_.erase(waited);
}

void History::Stopped(AttemptId attempt) {
  copied_.erase(attempt);
  if (running_.erase(attempt) == 1) spent_[{attempt.task.job, attempt.task.kind}] += now_ - since_[attempt];
}

void History::Observe(const Effect& effect) {
  SCOPED_TRACE(FormatEffect(effect));
  if (const auto* kill = std::get_if<Kill>(&effect)) {
    ASSERT_TRUE(running_.contains(kill->attempt));
    EXPECT_EQ(running_[kill->attempt], kill->node);
    Stopped(kill->attempt);
  } else if (const auto* blame = std::get_if<Blame>(&effect)) {
    EXPECT_TRUE(blame->until <= now_ || !jobs_[blame->by].ended);
  } else if (const auto* ready = std::get_if<MapOutputReady>(&effect)) {
    const auto first = outputs_.lower_bound({ready->map_attempt.task, 0});
    EXPECT_TRUE(first == outputs_.end() || first->first.task != ready->map_attempt.task) << "two outputs of one map";
    EXPECT_TRUE(nodes_[ready->node].alive);
    outputs_[ready->map_attempt] = ready->node;
  } else if (const auto* gone = std::get_if<MapOutputGone>(&effect)) {
    ASSERT_TRUE(outputs_.contains(gone->map_attempt));
    EXPECT_EQ(outputs_[gone->map_attempt], gone->node);
    outputs_.erase(gone->map_attempt);
    jobs_[gone->map_attempt.task.job].done.erase(gone->map_attempt.task);
  } else if (const auto* left_out = std::get_if<MapLeftOut>(&effect)) {
    LeftOut(left_out->map);
  } else if (const auto* ended = std::get_if<JobEnded>(&effect)) {
    Ended(*ended);
  } else {
    ADD_FAILURE() << "Apply does not launch";
  }
}

void History::LeftOut(const TaskId& map) {
  ModelJob& job = jobs_[map.job];
  const auto first = running_.lower_bound({map, 0});
  EXPECT_TRUE(first == running_.end() || first->first.task != map) << "it runs";
  EXPECT_EQ(map.kind, TaskKind::kMap);
  EXPECT_TRUE(job.done.insert(map).second) << "it has succeeded, or was left out before";
  job.left_out.insert(map.index);
  EXPECT_LE(job.left_out.size() * 100, std::size_t{job.max_failed_maps} * job.maps);
}

void History::Ended(const JobEnded& ended) {
  ModelJob& job = jobs_[ended.job];
  EXPECT_FALSE(std::exchange(job.ended, true)) << "ended twice";
  for (const auto& [attempt, node] : running_) EXPECT_NE(attempt.task.job, ended.job) << ToText(attempt);
  std::erase_if(outputs_, [&](const auto& output) { return output.first.task.job == ended.job; });
  if (ended.outcome != JobOutcome::kSucceeded) return;
  const TaskKind last = job.reduces > 0 ? TaskKind::kReduce : TaskKind::kMap;
  for (std::uint32_t i = 0; i < (job.reduces > 0 ? job.reduces : job.maps); ++i) {
    EXPECT_TRUE(job.done.contains({ended.job, last, i})) << "task " << i << " is lost";
  }
}

}  // namespace millrace::sched
