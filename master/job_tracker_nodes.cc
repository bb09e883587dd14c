// Workers that register: what they have is settled against what we believe.
#include "base/ids/ids.h"
#include "master/job_tracker.h"
#include "schedulers/core/cluster_state.h"

namespace millrace::master {

using worker::Belief;
using worker::Claim;
using worker::MasterDoes;
using worker::WorkerDoes;

JobTracker::Reconciled JobTracker::NodeRegistered(const NodeRecord& node, const Claims& claims, Step* step) {
  AdmitNode(node, step);
  Reconciled answer;
  for (const auto& [attempt, claim] : Gather(node.number, claims))
    SettleAttempt(node.number, attempt, claim, &answer, step);
  std::set<JobId> reducing;
  for (const AttemptId& attempt : engine_.RunningOn(NodeId{node.number})) {
    if (attempt.task.kind == TaskKind::kReduce) reducing.insert(attempt.task.job);
  }
  for (const JobId job : reducing) AnnounceOutputs(job, node.number, step);  // some announcements did not reach it
  return answer;
}

// The engine is told of a node that is new to it, or another incarnation or shape of the one that it knows.
void JobTracker::AdmitNode(const NodeRecord& node, Step* step) {
  const sched::NodeJoined joined{
      NodeId{node.number}, node.facts.rack, node.facts.datacenter, {node.facts.map_slots, node.facts.reduce_slots}};
  const auto known = joined_.find(node.number);
  if (known != joined_.end() && known->second == joined && incarnations_[node.number] == node.facts.incarnation) return;
  LoseAttemptsOn(node.number, step);
  Apply(joined, JobId{0}, step);
  joined_[node.number] = joined;
  incarnations_[node.number] = node.facts.incarnation;
  if (node.draining) Apply(sched::NodeDrained{NodeId{node.number}, true}, JobId{0}, step);
}

// Every attempt that one of the two knows of.
std::map<AttemptId, Claim> JobTracker::Gather(NodeNumber node, const Claims& claims) const {
  std::map<AttemptId, Claim> all;
  const auto add = [&all](const std::vector<AttemptId>& attempts, Claim claim) {
    for (const AttemptId& attempt : attempts) all.try_emplace(attempt, claim);
  };
  add(claims.running, Claim::kRunning);
  add(claims.done, Claim::kDone);
  add(claims.failed, Claim::kFailed);
  add(claims.served, Claim::kServed);
  add(engine_.RunningOn(NodeId{node}), Claim::kUnknown);
  for (const TaskId& map : engine_.state().FindNode(NodeId{node})->outputs) {
    const sched::JobState* job = engine_.state().FindJob(map.job);  // the list holds outputs of no use any more too
    if (job == nullptr || !job->alive()) continue;
    const AttemptId attempt{map, job->maps[map.index].winner};
    if (BeliefOf(node, attempt) == Belief::kServedHere) all.try_emplace(attempt, Claim::kUnknown);
  }
  return all;
}

void JobTracker::SettleAttempt(NodeNumber node, const AttemptId& attempt, Claim claim, Reconciled* answer, Step* step) {
  const auto [ours, theirs] = worker::Settle(claim, BeliefOf(node, attempt));
  switch (ours) {
    case MasterDoes::kNothing:
      break;
    case MasterDoes::kLoseAttempt:
      AttemptFailed(node, attempt, true, "the worker does not know of it any more", step);
      break;
    case MasterDoes::kLoseOutput:
      log_->warn("worker {}: it does not have the output of {}, which runs again", node, ToText(attempt));
      Apply(sched::AttemptLost{attempt, "its worker does not have its output any more"}, attempt.task.job, step);
      break;
  }
  switch (theirs) {
    case WorkerDoes::kNothing:
      break;
    case WorkerDoes::kSettle:
      answer->settled.push_back(attempt);
      break;
    case WorkerDoes::kDrop:
      answer->killed.push_back(attempt);
      break;
    case WorkerDoes::kForgetJob:
      if (answer->forgotten.empty() || answer->forgotten.back() != attempt.task.job)  // they come in order of the job
        answer->forgotten.push_back(attempt.task.job);
      break;
  }
}

Belief JobTracker::BeliefOf(NodeNumber node, const AttemptId& attempt) const {
  if (!live_.contains(attempt.task.job)) return Belief::kJobGone;
  if (NodeOf(attempt) == node) return Belief::kRunsHere;
  const sched::JobState* job = engine_.state().FindJob(attempt.task.job);
  if (job == nullptr) return Belief::kJobGone;
  const auto& tasks = job->Tasks(attempt.task.kind);
  if (attempt.task.index >= tasks.size() || !tasks[attempt.task.index].succeeded()) return Belief::kEnded;
  const sched::TaskState& task = tasks[attempt.task.index];
  if (task.winner != attempt.number || task.ran_on.value != node) return Belief::kOtherWon;
  const bool fetched = attempt.task.kind == TaskKind::kMap && job->progress.reduces > 0;
  return fetched ? Belief::kServedHere : Belief::kStored;
}

}  // namespace millrace::master
