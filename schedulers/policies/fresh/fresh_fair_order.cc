// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/fresh/fresh_fair_order.h"

namespace millrace::sched {

void FreshFairOrder::AdmitWaiting(const ClusterState& state) {
  for (const JobId job : admission_.ApplyChanges(state)) {
    KnownJob& known = jobs_[job];
    const bool enters = !known.submitted && admission_.PhaseOf(job) != PhaseAdmission::Phase::kWaiting;
    if (enters) fair_.OnJobSubmitted(state, job);
    known.submitted |= enters;
    for (const TaskKind kind : kTaskKinds) {
      const bool may = admission_.MayRun(state, kind, job);
      const bool could = std::exchange(known.may_run[kind], may);
      if (may && !could) let_in_[kind] = true;
      if (known.submitted && (enters || may != could)) fair_.Hold(state, kind, job, !may);
    }
  }
}

void FreshFairOrder::OnJobSubmitted(const ClusterState& state, JobId job) { admission_.OnJobSubmitted(state, job); }

void FreshFairOrder::OnJobPrioritySet(const ClusterState& state, JobId job) {
  admission_.OnJobPrioritySet(state, job);
  if (IsKnown(job)) fair_.OnJobPrioritySet(state, job);
}

void FreshFairOrder::OnJobEnded(const ClusterState& state, JobId job) {
  admission_.OnJobEnded(job);
  if (IsKnown(job)) fair_.OnJobEnded(state, job);
  jobs_.Erase(job);
}

void FreshFairOrder::OnJobChanged(const ClusterState& state, JobId job) {
  admission_.OnJobChanged(job);
  if (IsKnown(job)) fair_.OnJobChanged(state, job);
}

bool FreshFairOrder::Before(const ClusterState& state, SlotKind kind, Micros now, JobId a, JobId b) const {
  return fair_.Before(state, kind, now, a, b);
}

bool FreshFairOrder::MayRun(const ClusterState& state, SlotKind kind, JobId job) const {
  if (!IsKnown(job) || !fair_.MayRun(state, kind, job)) return false;
  return kind == kComputePermit || admission_.MayRun(state, kind.task(), job);
}

PerSlot<bool> FreshFairOrder::BeginRound(const ClusterState& state, Micros now) {
  AdmitWaiting(state);
  PerSlot<bool> let_in = fair_.BeginRound(state, now);
  for (const SlotKind kind : kSlotKinds) let_in[kind] |= std::exchange(let_in_[kind], false);
  return let_in;
}

PolicyView FreshFairOrder::View(const ClusterState& state, Micros now) const {
  PolicyView view = fair_.View(state, now);
  for (WaitView& wait : admission_.Waits(state)) view.waits.push_back(std::move(wait));
  return view;
}

}  // namespace millrace::sched
