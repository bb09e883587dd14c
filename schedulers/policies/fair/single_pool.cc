// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/fair/single_pool.h"

#include "schedulers/policies/fair/shares.h"
#include "schedulers/policies/fair/water_level.h"

namespace millrace::sched {

SinglePoolOrder::SinglePoolOrder(PoolOrder order, const MlqSettings& mlq)
    : order_(order), mlq_(mlq), jobs_(MakePoolJobs(order, mlq)) {}

std::unique_ptr<JobOrder> SinglePoolOrder::Clone(const ClusterState& state) const {
  auto copy = std::make_unique<SinglePoolOrder>(order_, mlq_);
  copy->OnNodesChanged(state);
  for (const QueueKey& key : state.LiveJobs()) copy->OnJobSubmitted(state, key.job);
  return copy;
}

void SinglePoolOrder::OnJobSubmitted(const ClusterState& state, JobId job) { OnJobChanged(state, job); }

void SinglePoolOrder::OnJobPrioritySet(const ClusterState& state, JobId job) { OnJobChanged(state, job); }

void SinglePoolOrder::OnJobEnded(const ClusterState&, JobId job) { jobs_->Erase(job); }

void SinglePoolOrder::OnJobChanged(const ClusterState& state, JobId job) {
  const JobState& changed = *state.FindJob(job);
  jobs_->Put(state, changed, changed.runnable);
}

void SinglePoolOrder::OnNodesChanged(const ClusterState& state) {
  for (const SlotKind kind : kSlotKinds) jobs_->SetShare(kind, Units{state.Capacity(kind)} * kSlot);
}

std::optional<JobId> SinglePoolOrder::Offer(const ClusterState& state, SlotKind kind, Micros, const Take& take) const {
  return jobs_->Offer(state, kind, take);
}

bool SinglePoolOrder::Before(const ClusterState& state, SlotKind kind, Micros, JobId a, JobId b) const {
  return jobs_->Before(state, kind, a, b);
}

PolicyView SinglePoolOrder::View(const ClusterState& state, Micros) const {
  PolicyView view;
  if (order_ != PoolOrder::kMlq) return view;
  view.group_noun = "class";
  view.groups = {{"large", mlq_.large_weight, {}, {}}, {"small", mlq_.small_weight, {}, {}}};
  for (const QueueKey& key : state.LiveJobs()) {
    const JobState& job = *state.FindJob(key.job);
    GroupView& group = view.groups[IsSmall(mlq_, job) ? 1 : 0];
    group.jobs.push_back(key.job);
    for (const TaskKind kind : kTaskKinds) {
      group.slots[kind].running += job.running_attempts[kind];
      group.slots[kind].demand += job.Demand(kind);
    }
  }
  for (const TaskKind kind : kTaskKinds) {
    std::vector<ShareClaim> claims;
    for (const GroupView& group : view.groups) {
      claims.push_back({group.weight, 0, static_cast<double>(group.slots[kind].demand)});
    }
    const std::vector<double> shares = FairShares(state.Capacity(kind), claims);
    for (std::size_t i = 0; i < shares.size(); ++i) view.groups[i].slots[kind].share = shares[i];
  }
  return view;
}

}  // namespace millrace::sched
