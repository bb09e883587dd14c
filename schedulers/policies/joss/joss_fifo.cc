// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/joss/joss_fifo.h"

namespace millrace::sched {

void JossFifo::List(const ClusterState& state, JobId id) {
  const JobState& job = *state.FindJob(id);
  Unlist(id);
  keys_[id] = job.key;
  for (const SlotKind kind : kSlotKinds) {
    if (job.runnable[kind]) runnable_[kind].insert(job.key);
    let_in_[kind] = true;
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
  for (const SlotKind kind : kSlotKinds) {
    if (changed.runnable[kind]) {
      runnable_[kind].insert(at->second);
    } else {
      runnable_[kind].erase(at->second);
    }
  }
}

std::optional<JobId> JossFifo::Offer(const ClusterState&, SlotKind kind, Micros, const Take& take) const {
  for (const QueueKey& key : runnable_[kind]) {
    if (take(key.job)) return key.job;
  }
  return std::nullopt;
}

bool JossFifo::Before(const ClusterState& state, SlotKind, Micros, JobId a, JobId b) const {
  return state.FindJob(a)->key < state.FindJob(b)->key;
}

bool JossFifo::MayRun(const ClusterState&, SlotKind, JobId job) const { return IsListed(job); }

}  // namespace millrace::sched
