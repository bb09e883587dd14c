#include "schedulers/policies/joss_fifo.h"

namespace millrace::sched {

void JossFifo::List(const ClusterState& state, JobId id) {
  const JobState& job = *state.FindJob(id);
  Unlist(id);
  keys_[id] = job.key;
  for (const TaskKind kind : {TaskKind::kMap, TaskKind::kReduce}) {
    const auto k = static_cast<std::size_t>(kind);
    if (job.runnable[k]) runnable_[k].insert(job.key);
    let_in_[k] = true;
  }
}

void JossFifo::Unlist(JobId job) {
  const auto at = keys_.find(job);
  if (at == keys_.end()) return;
  for (auto& runnable : runnable_) runnable.erase(at->second);
  keys_.erase(at);
}

void JossFifo::OnJobPrioritySet(const ClusterState& state, JobId job) {
  if (IsListed(job)) List(state, job);
}

void JossFifo::OnJobEnded(const ClusterState&, JobId job) { Unlist(job); }

void JossFifo::OnJobChanged(const ClusterState& state, JobId job) {
  const auto at = keys_.find(job);
  if (at == keys_.end()) return;
  const JobState& changed = *state.FindJob(job);
  for (std::size_t k = 0; k < 2; ++k) {
    if (changed.runnable[k]) {
      runnable_[k].insert(at->second);
    } else {
      runnable_[k].erase(at->second);
    }
  }
}

std::optional<JobId> JossFifo::Offer(const ClusterState&, TaskKind kind, Time, const Take& take) {
  for (const QueueKey& key : runnable_[static_cast<std::size_t>(kind)]) {
    if (take(key.job)) return key.job;
  }
  return std::nullopt;
}

bool JossFifo::Before(const ClusterState& state, TaskKind, Time, JobId a, JobId b) const {
  return state.FindJob(a)->key < state.FindJob(b)->key;
}

bool JossFifo::MayRun(const ClusterState&, TaskKind, JobId job) const { return IsListed(job); }

}  // namespace millrace::sched
