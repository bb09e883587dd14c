#include "schedulers/policies/fresh/phased_order.h"

namespace millrace::sched {

void PhasedOrder::AdmitWaiting(const ClusterState& state) {
  for (const JobId job : admission_.Settle(state)) {
    if (jobs_.size() <= job.value) jobs_.resize(job.value + 1);
    Job& known = jobs_[job.value];
    const bool enters = !known.in && admission_.PhaseOf(job) != PhaseAdmission::Phase::kWaiting;
    if (enters) fair_.OnJobSubmitted(state, job);
    known.in |= enters;
    for (const TaskKind kind : kTaskKinds) {
      const bool may = admission_.MayRun(state, kind, job);
      const bool could = std::exchange(known.may_run[kind], may);
      if (may && !could) let_in_[kind] = true;
      if (known.in && (enters || may != could)) fair_.Hold(state, kind, job, !may);
    }
  }
}

void PhasedOrder::OnJobSubmitted(const ClusterState& state, JobId job) { admission_.OnJobSubmitted(state, job); }

void PhasedOrder::OnJobPrioritySet(const ClusterState& state, JobId job) {
  admission_.OnJobPrioritySet(state, job);
  if (IsIn(job)) fair_.OnJobPrioritySet(state, job);
}

void PhasedOrder::OnJobEnded(const ClusterState& state, JobId job) {
  admission_.OnJobEnded(job);
  if (!IsIn(job)) return;
  fair_.OnJobEnded(state, job);
  jobs_[job.value] = {};
}

void PhasedOrder::OnJobChanged(const ClusterState& state, JobId job) {
  admission_.OnJobChanged(job);
  if (IsIn(job)) fair_.OnJobChanged(state, job);
}

bool PhasedOrder::Before(const ClusterState& state, TaskKind kind, Micros now, JobId a, JobId b) const {
  return fair_.Before(state, kind, now, a, b);
}

bool PhasedOrder::MayRun(const ClusterState& state, TaskKind kind, JobId job) const {
  return IsIn(job) && admission_.MayRun(state, kind, job) && fair_.MayRun(state, kind, job);
}

PerKind<bool> PhasedOrder::BeginRound(const ClusterState& state, Micros now) {
  AdmitWaiting(state);
  PerKind<bool> let_in = fair_.BeginRound(state, now);
  for (const TaskKind kind : kTaskKinds) let_in[kind] |= std::exchange(let_in_[kind], false);
  return let_in;
}

PolicyView PhasedOrder::View(const ClusterState& state, Micros now) const {
  PolicyView view = fair_.View(state, now);
  for (WaitView& wait : admission_.Waits(state)) view.waits.push_back(std::move(wait));
  return view;
}

}  // namespace millrace::sched
