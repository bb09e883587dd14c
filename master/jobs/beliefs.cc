// SPDX-License-Identifier: Apache-2.0
#include "master/jobs/beliefs.h"

#include "schedulers/cluster/cluster_state.h"

namespace millrace::master {

using worker::Belief;
using worker::Claim;

Belief BeliefOf(NodeId node, const AttemptId& attempt, const JobTable& jobs, const sched::Engine& engine) {
  if (!jobs.live().contains(attempt.task.job)) return Belief::kJobGone;
  if (jobs.NodeOf(attempt) == node) return Belief::kRunsHere;
  const sched::JobState* job = engine.state().FindJob(attempt.task.job);
  if (job == nullptr) return Belief::kJobGone;
  const auto& tasks = job->Tasks(attempt.task.kind);
  if (attempt.task.index >= tasks.size() || !tasks[attempt.task.index].succeeded()) return Belief::kEnded;
  const sched::TaskState& task = tasks[attempt.task.index];
  if (task.winner != attempt.number || task.ran_on != node) return Belief::kOtherWon;
  const bool fetched = attempt.task.kind == TaskKind::kMap && job->progress.reduces > 0;
  return fetched ? Belief::kServedHere : Belief::kStored;
}

std::map<AttemptId, Claim> GatherClaims(NodeId node, const Claims& claims, const JobTable& jobs,
                                        const sched::Engine& engine) {
  std::map<AttemptId, Claim> all;
  const auto add = [&all](const std::vector<AttemptId>& attempts, Claim claim) {
    for (const AttemptId& attempt : attempts) all.try_emplace(attempt, claim);
  };
  add(claims.running, Claim::kRunning);
  add(claims.done, Claim::kDone);
  add(claims.failed, Claim::kFailed);
  add(claims.served, Claim::kServed);
  add(engine.RunningOn(node), Claim::kUnknown);
  for (const TaskId& map : engine.state().FindNode(node)->outputs) {
    const sched::JobState* job = engine.state().FindJob(map.job);  // the list also has outputs that are no longer used
    if (job == nullptr || !job->alive()) continue;
    const AttemptId attempt{map, job->maps[map.index].winner};
    if (BeliefOf(node, attempt, jobs, engine) == Belief::kServedHere) all.try_emplace(attempt, Claim::kUnknown);
  }
  return all;
}

}  // namespace millrace::master
