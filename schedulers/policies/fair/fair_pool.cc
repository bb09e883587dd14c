// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/fair/fair_pool.h"

#include <algorithm>
#include <utility>

namespace millrace::sched {

FairPool::FairPool(std::string name, const Settings& settings, SlotKind reduces, PerSlot<StarvationClocks>* clocks)
    : name_(std::move(name)),
      settings_(SettingsOfPool(settings, name_)),
      reduces_(reduces),
      weights_{{WeightUnits(settings_.weight), WeightUnits(settings_.weight), WeightUnits(settings_.weight)}},
      order_(settings_.order.value_or(settings.Of<FairSettings>().order)),
      in_order_(MakePoolJobs(order_, settings.Of<MlqSettings>(), clocks)),
      members_{{Member(this), Member(this), Member(this)}} {}

void FairPool::Add(const ClusterState& state, Job& job) {
  const JobState& of = *state.FindJob(job.id_);
  jobs_.emplace(job.id_, &job);
  job.key_ = of.key;
  job.over_limit_ = of.over_limit;
  waiting_.insert(job.key_);
  if (of.started) {
    Admit(state, job);
    DismissOne(state);
  }
  AdmitNext(state);
  Count(state, job);
}

void FairPool::Change(const ClusterState& state, Job& job) {
  if (!job.admitted_) {
    waiting_.erase(std::exchange(job.key_, state.FindJob(job.id_)->key));
    waiting_.insert(job.key_);
  }
  const bool over = state.FindJob(job.id_)->over_limit;
  const bool turned = std::exchange(job.over_limit_, over) != over;
  if (job.admitted_ && over) Dismiss(state, job);
  if (turned && AdmitNext(state)) let_in_ = {true, true, true};
  Count(state, job);
}

void FairPool::Remove(const ClusterState& state, Job& job) {
  for (const SlotKind kind : kSlotKinds) Replace(job, kind, {});
  if (job.admitted_) {
    in_order_->Erase(job.id_);
  } else {
    waiting_.erase(job.key_);
  }
  jobs_.erase(job.id_);
  if (AdmitNext(state)) let_in_ = {true, true, true};
}

void FairPool::Admit(const ClusterState& state, Job& job) {
  waiting_.erase(job.key_);
  job.admitted_ = true;
  Count(state, job);
}

bool FairPool::AdmitNext(const ClusterState& state) {
  const std::uint32_t limit = settings_.max_running_jobs.value_or(kNoMaximum);
  bool any = false;
  for (auto at = waiting_.begin(); at != waiting_.end() && jobs_.size() - waiting_.size() < limit;) {
    const JobId next = (at++)->job;
    if (state.FindJob(next)->over_limit) continue;
    Admit(state, *jobs_.at(next));
    any = true;
  }
  return any;
}

void FairPool::DismissOne(const ClusterState& state) {
  if (jobs_.size() - waiting_.size() <= settings_.max_running_jobs.value_or(kNoMaximum)) return;
  Job* last = nullptr;
  for (const auto& [id, job] : jobs_) {
    const JobState& of = *state.FindJob(id);
    if (!job->admitted_ || of.started) continue;
    job->key_ = of.key;
    if (last == nullptr || last->key_ < job->key_) last = job;
  }
  if (last != nullptr) Dismiss(state, *last);
}

void FairPool::Dismiss(const ClusterState& state, Job& job) {
  job.key_ = state.FindJob(job.id_)->key;
  job.admitted_ = false;
  waiting_.insert(job.key_);
  in_order_->Erase(job.id_);
  Count(state, job);
}

void FairPool::Count(const ClusterState& state, Job& job) {
  const JobState& of = *state.FindJob(job.id_);
  const PerSlot<bool> offered = job.Offered(of);
  for (const SlotKind kind : kSlotKinds) {
    const std::uint32_t running = of.running_attempts[kind];
    Replace(job, kind, {running, job.admitted_ ? of.Demand(kind) : running, job.admitted_ && offered[kind] ? 1U : 0U});
  }
  if (job.admitted_) in_order_->Put(state, of, offered);
}

PerSlot<bool> FairPool::Job::Offered(const JobState& job) const {
  PerSlot<bool> offered = job.runnable;
  for (const SlotKind kind : kSlotKinds) offered[kind] = offered[kind] && !held_[kind];
  return offered;
}

void FairPool::Replace(Job& job, SlotKind kind, const Counts& now) {
  const Counts before = std::exchange(job.counts_[kind], now);
  if (now == before) return;
  Counts& total = total_[kind];
  const bool had_room = HasRoom(kind);
  total.running += now.running - before.running;
  total.demand += now.demand - before.demand;
  total.runnable += now.runnable - before.runnable;
  changed_[kind] = true;
  if (!had_room && HasRoom(kind)) let_in_[kind] = true;
}

std::vector<JobId> FairPool::Jobs() const {
  std::vector<JobId> jobs;
  for (const auto& [id, job] : jobs_) jobs.push_back(id);
  return jobs;
}

std::vector<JobId> FairPool::AdmittedJobs() const {
  std::vector<JobId> jobs;
  for (const auto& [id, job] : jobs_) {
    if (job->admitted_) jobs.push_back(id);
  }
  return jobs;
}

std::uint32_t FairPool::Maximum(SlotKind kind) const {
  if (!kind.map() && kind != reduces_) return kNoMaximum;
  return (kind.map() ? settings_.max_maps : settings_.max_reduces).value_or(kNoMaximum);
}

std::uint32_t FairPool::Minimum(SlotKind kind) const {
  if (!kind.map() && kind != reduces_) return 0;
  return std::min((kind.map() ? settings_.min_maps : settings_.min_reduces) + extra_[kind], Maximum(kind));
}

FairClaim FairPool::Claim(SlotKind kind) const {
  const Counts& total = total_[kind];
  return {weights_[kind], Minimum(kind), std::min(total.demand, Maximum(kind)), total.running,
          total.runnable > 0 && HasRoom(kind)};
}

}  // namespace millrace::sched
