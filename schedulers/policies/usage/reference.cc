// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/usage/reference.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace millrace::sched {

void IntegralReference::Begin(const ClusterState& state) {
  if (!began_) began_ = state.now();
}

void IntegralReference::Note(const ClusterState& state, const std::string& pool) {
  PerSlot<Micros> runs = {};
  if (const auto at = pools().find(pool); at != pools().end()) {
    for (const JobId job : at->second.jobs) {
      for (const SlotKind kind : kSlotKinds) runs[kind] += state.FindJob(job)->running_attempts[kind];
    }
  }
  logs_[pool].emplace_back(state.now(), runs);
}

void IntegralReference::OnJobSubmitted(const ClusterState& state, JobId job) {
  Begin(state);
  FairReference::OnJobSubmitted(state, job);
  Note(state, state.FindJob(job)->spec.PoolName());
}

void IntegralReference::OnJobEnded(const ClusterState& state, JobId job) {
  std::string pool;
  for (const auto& [name, of] : pools()) {
    if (of.jobs.contains(job)) pool = name;
  }
  FairReference::OnJobEnded(state, job);
  Note(state, pool);
}

void IntegralReference::OnJobChanged(const ClusterState& state, JobId job) {
  FairReference::OnJobChanged(state, job);
  Note(state, state.FindJob(job)->spec.PoolName());
}

void IntegralReference::OnNodesChanged(const ClusterState& state) {
  Begin(state);
  FairReference::OnNodesChanged(state);
}

Micros IntegralReference::Volume(const ClusterState& state, const std::string& pool, SlotKind kind) const {
  const PoolSettings& of = SettingsOfPool(settings(), pool);
  const Micros flow = kind.map() ? of.flow_maps : of.flow_reduces, strong = kind.map() ? of.min_maps : of.min_reduces;
  const auto log = logs_.find(pool);
  // Named pools gather from the beginning, and the others from their first job on.
  const bool named = settings().Named<PoolSettings>().contains(pool);
  if (of.integral == IntegralKind::kNone || !began_ || (log == logs_.end() && !named)) return 0;
  Micros volume = 0, since = named ? *began_ : log->second.front().first, ran = 0;
  const auto pass = [&](Micros until) {
    const Micros spent = ran > strong ? (ran - strong) * (until - since) : 0;
    volume = volume + flow * (until - since) - spent;
    if (volume > flow * window_) volume = flow * window_;
    if (volume < -flow * debt_) volume = -flow * debt_;
    since = until;
  };
  for (const auto& [time, runs] : log == logs_.end() ? Log() : log->second) {
    pass(time);
    ran = runs[kind];
  }
  pass(state.now());
  return volume;
}

Micros IntegralReference::Demand(const ClusterState& state, const std::string& pool, SlotKind kind) const {
  const Pool& of = pools().at(pool);
  Micros demand = 0;
  for (const JobId id : of.jobs) {
    const JobState& job = *state.FindJob(id);
    demand += of.admitted.contains(id) ? job.Demand(kind) : job.running_attempts[kind];
  }
  const PoolSettings& settings_of = SettingsOfPool(settings(), pool);
  const std::optional<std::uint32_t> most = kind.map() ? settings_of.max_maps : settings_of.max_reduces;
  return most ? std::min<Micros>(demand, *most) : demand;
}

Micros IntegralReference::Burst(const ClusterState& state, const std::string& pool, SlotKind kind) const {
  const PoolSettings& of = SettingsOfPool(settings(), pool);
  if (of.integral != IntegralKind::kBurst || Volume(state, pool, kind) <= 0) return 0;
  const Micros strong = kind.map() ? of.min_maps : of.min_reduces, demand = Demand(state, pool, kind);
  return demand <= strong ? 0 : std::min<Micros>(demand - strong, kind.map() ? of.burst_maps : of.burst_reduces);
}

Micros IntegralReference::RelaxedFlow(const ClusterState& state, const std::string& pool, SlotKind kind) const {
  const PoolSettings& of = SettingsOfPool(settings(), pool);
  const bool any = of.integral == IntegralKind::kRelaxed && Volume(state, pool, kind) > 0;
  return any && Demand(state, pool, kind) > 0 ? Micros{kind.map() ? of.flow_maps : of.flow_reduces} : 0;
}

PerSlot<bool> IntegralReference::BeginRound(const ClusterState& state, Micros now) {
  extras_.clear();
  for (const auto& [name, of] : pools()) {
    for (const SlotKind kind : kSlotKinds) extras_[{kind, name}] = ExtraNow(state, kind, name);
  }
  return FairReference::BeginRound(state, now);
}

std::uint32_t IntegralReference::ExtraNow(const ClusterState& state, SlotKind kind, const std::string& pool) const {
  if (kind != kMapSlot && kind != reduces()) return 0;
  Micros left = state.Capacity(kind), bursts = 0, flows = 0;
  for (const auto& [name, of] : pools()) {
    const PoolSettings& settings_of = SettingsOfPool(settings(), name);
    left -= std::min<Micros>(kind.map() ? settings_of.min_maps : settings_of.min_reduces, Demand(state, name, kind));
    bursts += Burst(state, name, kind);
    flows += RelaxedFlow(state, name, kind);
  }
  if (left <= 0) return 0;
  const Micros burst = Burst(state, pool, kind), flow = RelaxedFlow(state, pool, kind);
  if (burst > 0) return static_cast<std::uint32_t>(bursts <= left ? burst : burst * left / bursts);
  if (flow > 0 && left > bursts) return static_cast<std::uint32_t>((left - bursts) * flow / flows);
  return 0;
}

void MemoryReference::PassUntil(Micros now) {
  if (!began_) {
    began_ = passed_until_ = now;
    samples_.emplace_back();
  }
  while (passed_until_ < now) {
    const Micros end = *began_ + static_cast<Micros>(samples_.size()) * terms_.sample;
    const Micros until = std::min(end, now);
    Sample& sample = samples_.back();
    for (const SlotKind kind : kSlotKinds) {
      sample.potential[kind] += (until - passed_until_) * slots_[kind];
      for (const auto& [pool, runs] : runs_) sample.used[pool][kind] += (until - passed_until_) * runs[kind];
    }
    if (until == end) samples_.emplace_back();
    passed_until_ = until;
  }
}

void MemoryReference::Count(const ClusterState& state, const std::string& pool, bool launches) {
  PerSlot<Micros> runs = {};
  if (const auto at = pools().find(pool); at != pools().end()) {
    for (const JobId job : at->second.jobs) {
      for (const SlotKind kind : kSlotKinds) runs[kind] += state.FindJob(job)->running_attempts[kind];
    }
  }
  for (const SlotKind kind : kSlotKinds) {
    if (launches) samples_.back().launched[pool][kind] += std::max<Micros>(runs[kind] - runs_[pool][kind], 0);
  }
  runs_[pool] = runs;
}

void MemoryReference::OnJobSubmitted(const ClusterState& state, JobId job) {
  PassUntil(state.now());
  FairReference::OnJobSubmitted(state, job);
  Count(state, state.FindJob(job)->spec.PoolName(), false);
}

void MemoryReference::OnJobEnded(const ClusterState& state, JobId job) {
  PassUntil(state.now());
  std::string pool;
  for (const auto& [name, of] : pools()) {
    if (of.jobs.contains(job)) pool = name;
  }
  FairReference::OnJobEnded(state, job);
  Count(state, pool, false);
}

void MemoryReference::OnJobChanged(const ClusterState& state, JobId job) {
  PassUntil(state.now());
  FairReference::OnJobChanged(state, job);
  Count(state, state.FindJob(job)->spec.PoolName(), true);
}

void MemoryReference::OnNodesChanged(const ClusterState& state) {
  PassUntil(state.now());
  for (const SlotKind kind : kSlotKinds) slots_[kind] = state.Capacity(kind);
  FairReference::OnNodesChanged(state);
}

PerSlot<bool> MemoryReference::BeginRound(const ClusterState& state, Micros now) {
  PassUntil(now);
  weights_.clear();
  for (const SlotKind kind : kSlotKinds) {
    Units all = 0;
    std::map<std::string, Units> of;
    for (const auto& [name, pool] : pools()) {
      Micros demand = 0;
      for (const JobId job : pool.jobs)
        demand +=
            pool.admitted.contains(job) ? state.FindJob(job)->Demand(kind) : state.FindJob(job)->running_attempts[kind];
      if (demand > 0) all += of[name] = WeightUnits(SettingsOfPool(settings(), name).weight);
    }
    for (const auto& [name, weight] : of) weights_[{kind, name}] = {weight, all};
  }
  return FairReference::BeginRound(state, now);
}

Micros MemoryReference::UsedPart(const std::string& pool, SlotKind kind) const {
  const double halved = static_cast<double>(terms_.sample) / static_cast<double>(terms_.half_life);
  const __int128 keep = std::llround(std::exp2(32 - halved));
  __int128 used = 0, potential = 0;
  for (std::size_t i = 0; i + 1 < samples_.size(); ++i) {
    const auto at = samples_[i].used.find(pool);
    used = (used * keep >> 32) + (at == samples_[i].used.end() ? 0 : at->second[kind]);
    potential = (potential * keep >> 32) + samples_[i].potential[kind];
  }
  if (potential == 0) return 0;
  const auto launched = samples_.back().launched.find(pool);
  if (launched != samples_.back().launched.end()) used += terms_.sample * launched->second[kind];
  return static_cast<Micros>((used << 20) / potential);
}

Units MemoryReference::WeightOf(SlotKind kind, const std::string& pool) const {
  const auto at = weights_.find({kind, pool});
  if (at == weights_.end()) return 1;
  const auto& [weight, all] = at->second;
  const auto part = static_cast<Micros>((static_cast<__int128>(weight) << 20) / all);
  const __int128 k = std::max<Micros>(1, std::llround(std::ldexp(terms_.k, 16)));
  const auto in_force = part + static_cast<Micros>(k * (part - UsedPart(pool, kind)) / 65536);
  return std::max<Units>(in_force, 1);
}

}  // namespace millrace::sched
