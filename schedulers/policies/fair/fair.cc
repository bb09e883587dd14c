// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/fair/fair.h"

#include <algorithm>
#include <utility>

namespace millrace::sched {

std::unique_ptr<JobOrder> FairOrder::Clone(const ClusterState& state) const {
  auto copy = New();
  copy->TakeOver(state, *this);
  return copy;
}

void FairOrder::TakeOver(const ClusterState& state, const FairOrder& other) {
  OnNodesChanged(state);
  // Pools admit the first that come (fair_pool.h).
  for (const bool admitted : {true, false}) {
    other.jobs_.ForEach([&](JobId id, const auto& job) {
      if (job->admitted() == admitted) OnJobSubmitted(state, id);
    });
  }
  other.jobs_.ForEach([&](JobId id, const auto& job) {
    for (const SlotKind kind : kSlotKinds) {
      if (job->held(kind)) Hold(state, kind, id, true);
    }
  });
  let_in_ = other.let_in_;
}

void FairOrder::OnJobSubmitted(const ClusterState& state, JobId job) {
  const std::string& name = state.FindJob(job)->spec.PoolName();
  auto& pool = pools_[name];
  if (!pool) pool = std::make_unique<FairPool>(name, settings_, reduces_, job_clocks_);
  jobs_[job] = std::make_unique<FairPool::Job>(pool.get(), job);
  pool->Add(state, *jobs_.At(job));
  Refresh(*pool);
}

void FairOrder::OnJobChanged(const ClusterState& state, JobId job) {
  FairPool& pool = PoolOf(job);
  pool.Change(state, *jobs_.At(job));
  Refresh(pool);
}

void FairOrder::Hold(const ClusterState& state, SlotKind kind, JobId job, bool held) {
  jobs_.At(job)->Hold(kind, held);
  OnJobChanged(state, job);
}

void FairOrder::OnJobPrioritySet(const ClusterState& state, JobId job) { OnJobChanged(state, job); }

void FairOrder::OnJobEnded(const ClusterState& state, JobId job) {
  FairPool& pool = PoolOf(job);
  pool.Remove(state, *jobs_.At(job));
  jobs_.Erase(job);
  if (!pool.empty()) return Refresh(pool);
  for (const SlotKind kind : kSlotKinds) pools(kind).Erase(pool.member(kind));
  pools_.erase(pool.name());
}

void FairOrder::OnNodesChanged(const ClusterState& state) {
  for (const SlotKind kind : kSlotKinds) pools(kind).SetCapacity(Units{state.Capacity(kind)} * kSlot);
}

UnitRange FairOrder::UpdateJobClocks(FairPool& pool, SlotKind kind, Units units, Micros now) {
  pool.in_order().SetShare(kind, units);
  return pool.in_order().UpdateClocks(kind, now);
}

void FairOrder::Refresh(FairPool& pool) {
  for (const SlotKind kind : kSlotKinds) {
    if (pool.ConsumeChanged(kind)) pools(kind).Put(pool.member(kind), pool.Claim(kind));
    if (job_clocks_ != nullptr) pools(kind).Touch(pool.member(kind));  // a job may have changed though the pool has not
    if (pool.ConsumeLetIn(kind)) let_in_[kind] = true;
  }
}

PerSlot<bool> FairOrder::BeginRound(const ClusterState&, Micros) { return std::exchange(let_in_, {}); }

PoolJobs& FairOrder::JobsOf(FairPool& pool, SlotKind kind) const {
  pool.in_order().SetShare(kind, pools(kind).ShareUnits(pool.member(kind)));
  return pool.in_order();
}

std::optional<JobId> FairOrder::OfferTo(const ClusterState& state, SlotKind kind, const Take& take,
                                        const std::function<bool(const FairPool&)>& which) const {
  std::optional<JobId> taker;
  pools(kind).Visit([&](const FairQueue::Member& member, std::uint32_t) {
    FairPool& pool = FairPool::Of(member);
    if (which && !which(pool)) return false;
    const auto takes_first = [&](JobId job) {
      return &PoolOf(job) == &pool && jobs_.At(job)->IsFirst(kind) && state.FindJob(job)->runnable[kind] &&
             MayRun(state, kind, job) && take(job);
    };
    const auto first = std::ranges::find_if(first_jobs_[kind], takes_first);
    taker = first != first_jobs_[kind].end() ? *first : JobsOf(pool, kind).Offer(state, kind, take);
    return taker.has_value();
  });
  return taker;
}

std::optional<JobId> FairOrder::OfferOwed(const ClusterState& state, SlotKind kind, const Take& take) const {
  if (!owing_[kind]) return std::nullopt;
  const auto owed = [this, kind](JobId job) { return jobs_.At(job)->Owed(kind); };
  for (const JobId job : owed_jobs_[kind]) {
    if (owed(job) && state.FindJob(job)->runnable[kind] && MayRun(state, kind, job) && take(job)) return job;
  }
  return OfferTo(
      state, kind, [&](JobId job) { return !owed(job) && take(job); },
      [kind](const FairPool& pool) { return pool.Owed(kind); });
}

std::optional<JobId> FairOrder::Offer(const ClusterState& state, SlotKind kind, Micros, const Take& take) const {
  if (!owing_[kind]) return OfferTo(state, kind, take, {});
  if (const auto taker = OfferOwed(state, kind, take)) return taker;
  return OfferTo(state, kind, take, [kind](const FairPool& pool) { return !pool.Owed(kind); });
}

bool FairOrder::Before(const ClusterState& state, SlotKind kind, Micros, JobId a, JobId b) const {
  for (const JobId job : owed_jobs_[kind]) {
    if ((job == a || job == b) && jobs_.At(job)->Owed(kind)) return job == a;
  }
  FairPool& pool = PoolOf(a);
  FairPool& other = PoolOf(b);
  if (&pool == &other) {
    for (const JobId job : first_jobs_[kind]) {
      if ((job == a || job == b) && jobs_.At(job)->IsFirst(kind)) return job == a;
    }
    return JobsOf(pool, kind).Before(state, kind, a, b);
  }
  if (pool.Owed(kind) != other.Owed(kind)) return pool.Owed(kind);
  return pools(kind).Before(pool.member(kind), other.member(kind));
}

void FairOrder::Owe(FairPool& pool, SlotKind kind, std::uint32_t running) {
  pool.Owe(kind, running);
  owing_[kind] = true;
}

void FairOrder::Owe(JobId job, SlotKind kind, std::uint32_t running) {
  jobs_.At(job)->Owe(kind, running);
  owed_jobs_[kind].push_back(job);
  owing_[kind] = true;
}

void FairOrder::PutFirstInPool(JobId job, SlotKind kind, std::uint32_t running) {
  jobs_.At(job)->PutFirst(kind, running);
  first_jobs_[kind].push_back(job);
}

void FairOrder::ForgetOwed() {
  for (const SlotKind kind : kSlotKinds) {
    for (const JobId job : std::exchange(first_jobs_[kind], {})) jobs_.At(job)->PutFirst(kind, 0);
    if (!std::exchange(owing_[kind], false)) continue;
    for (const auto& [name, pool] : pools_) pool->Owe(kind, 0);
    for (const JobId job : std::exchange(owed_jobs_[kind], {})) jobs_.At(job)->Owe(kind, 0);
  }
}

bool FairOrder::MayRun(const ClusterState&, SlotKind kind, JobId job) const {
  return PoolOf(job).HasRoom(kind) && jobs_.At(job)->admitted();
}

bool FairOrder::MayHoldBack(const ClusterState&, JobId job) const {
  return PoolOf(job).Maximum(kComputePermit) != FairPool::kNoMaximum;
}

GroupView FairOrder::ViewOf(const FairPool* pool, const std::string& name) const {
  const PoolSettings& of = SettingsOfPool(settings_, name);
  GroupView view{name, of.weight, {}, {}};
  const PerKind<std::uint32_t> minima = {of.min_maps, of.min_reduces};
  const PerKind<std::optional<std::uint32_t>> maxima = {of.max_maps, of.max_reduces};
  if (pool != nullptr) view.jobs = pool->Jobs();
  for (const TaskKind kind : kTaskKinds) {
    GroupSlots& slots = view.slots[kind];
    slots.minimum = minima[kind];
    slots.maximum = maxima[kind];
    if (pool == nullptr) continue;
    const SlotKind counted = kind == TaskKind::kMap ? kMapSlot : reduces_;
    slots.minimum = pool->Minimum(counted);
    slots.running = pool->Running(counted);
    slots.demand = pool->Demand(counted);
    slots.share = pools(counted).Share(pool->member(counted));
  }
  return view;
}

PolicyView FairOrder::View(const ClusterState& state, Micros) const {
  PolicyView view;
  std::map<std::string, const FairPool*> all;
  for (const auto& [name, settings] : settings_.Named<PoolSettings>()) all[name] = nullptr;
  for (const auto& [name, pool] : pools_) all[name] = pool.get();
  for (const auto& [name, pool] : all) view.groups.push_back(ViewOf(pool, name));
  jobs_.ForEach([&](JobId job, const auto& of_job) {
    for (const SlotKind kind : kSlotKinds) {
      if (!state.FindJob(job)->runnable[kind] || MayRun(state, kind, job)) continue;
      const FairPool& pool = PoolOf(job);
      WaitView& wait =
          view.waits.emplace_back(job, kind, WaitCause::kGroupFull, pool.Running(kind), pool.Maximum(kind));
      wait.group = pool.name();
      if (of_job->admitted()) continue;
      wait.cause = WaitCause::kGroupJobs;
      wait.used = pool.admitted_jobs();
      wait.of = pool.settings().max_running_jobs.value_or(0);
    }
  });
  return view;
}

}  // namespace millrace::sched
