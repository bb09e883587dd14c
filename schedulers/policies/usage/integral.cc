// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/usage/integral.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace millrace::sched {
namespace {

using Wide = __int128;

}  // namespace

void Declare(KeyList& keys, IntegralSettings& settings) {
  auto& [window, debt] = settings;
  keys.Duration("window", &window, 30 * kDay, "a pool gathers at most its flow for this time");
  keys.Duration("debt", &debt, 30 * kDay, "a pool that has used more than it had owes at most its flow for this time");
}

std::optional<Contradiction> IntegralSettings::Check(const Settings& settings) {
  if (settings.Of<IntegralSettings>().window > 0) return std::nullopt;
  return Contradiction{"integral", "window", "is 0, with which no pool gathers anything"};
}

PerKind<IntegralOrder::Terms> IntegralOrder::TermsOf(const PoolSettings& pool) {
  return {{Terms{pool.min_maps, pool.flow_maps, pool.burst_maps},
           Terms{pool.min_reduces, pool.flow_reduces, pool.burst_reduces}}};
}

Micros IntegralOrder::Growth(const Account& account, TaskKind kind) const {
  const Terms& terms = account.terms[kind];
  const Micros running = account.live == nullptr ? 0 : account.live->Running(Counted(kind));
  return terms.flow - std::max<Micros>(0, running - terms.strong);
}

Micros IntegralOrder::VolumeAt(const Account& account, TaskKind kind, Micros now) const {
  const auto& [window, debt] = settings().Of<IntegralSettings>();
  const Micros flow = account.terms[kind].flow;
  const Wide volume = account.volume[kind] + Wide{Growth(account, kind)} * (now - account.settled);
  return static_cast<Micros>(std::clamp<Wide>(volume, -flow * debt, flow * window));
}

std::optional<Micros> IntegralOrder::Volume(const std::string& pool, TaskKind kind, Micros now) const {
  const auto at = accounts_.find(pool);
  return at == accounts_.end() ? std::nullopt : std::optional(VolumeAt(at->second, kind, now));
}

void IntegralOrder::Settle(Account& account, Micros now) const {
  PerKind<Micros> volume;
  for (const TaskKind kind : kTaskKinds) volume[kind] = VolumeAt(account, kind, now);
  account.volume = volume;
  account.settled = now;
}

void IntegralOrder::Settle(const std::string& pool, Micros now) {
  const auto at = accounts_.find(pool);
  if (at != accounts_.end()) Settle(at->second, now);
}

void IntegralOrder::Begin(Micros now) {
  if (std::exchange(begun_, true)) return;
  for (const auto& [name, pool] : settings().Named<PoolSettings>()) Open(name, now);
}

void IntegralOrder::Open(const std::string& pool, Micros now) {
  const PoolSettings& of = SettingsOfPool(settings(), pool);
  if (of.integral != IntegralKind::kNone) accounts_.try_emplace(pool, Account{TermsOf(of), nullptr, {}, now});
}

void IntegralOrder::NoteLive(const std::string& pool) {
  const auto account = accounts_.find(pool);
  if (account == accounts_.end()) return;
  const auto at = live_pools().find(pool);
  account->second.live = at == live_pools().end() ? nullptr : at->second.get();
}

void IntegralOrder::TakeOver(const ClusterState& state, const FairOrder& other) {
  FairOrder::TakeOver(state, other);
  const auto& of = static_cast<const IntegralOrder&>(other);
  begun_ = of.begun_;
  accounts_ = of.accounts_;
  for (auto& [name, account] : accounts_) account.live = nullptr;
  for (const auto& [name, pool] : live_pools()) {
    NoteLive(name);
    for (const SlotKind kind : kSlotKinds) pool->SetExtra(kind, of.live_pools().at(name)->Extra(kind));
    Refresh(*pool);
  }
}

void IntegralOrder::OnJobSubmitted(const ClusterState& state, JobId job) {
  Begin(state.now());
  const std::string& name = state.FindJob(job)->spec.PoolName();
  Open(name, state.now());
  Settle(name, state.now());
  FairOrder::OnJobSubmitted(state, job);
  NoteLive(name);
}

void IntegralOrder::OnJobEnded(const ClusterState& state, JobId job) {
  const std::string name = PoolOf(job).name();
  Settle(name, state.now());
  FairOrder::OnJobEnded(state, job);
  NoteLive(name);
}

void IntegralOrder::OnJobChanged(const ClusterState& state, JobId job) {
  Settle(PoolOf(job).name(), state.now());
  FairOrder::OnJobChanged(state, job);
}

void IntegralOrder::OnNodesChanged(const ClusterState& state) {
  Begin(state.now());
  FairOrder::OnNodesChanged(state);
}

void IntegralOrder::Guarantee(const ClusterState& state, TaskKind kind) {
  struct Claimant {
    FairPool* pool;
    Micros burst, flow;
  };
  const SlotKind slot = Counted(kind);
  std::vector<Claimant> claimants;
  Micros left = state.Capacity(slot), bursts = 0, flows = 0;
  for (const auto& [name, pool] : live_pools()) {
    const Terms terms = TermsOf(pool->settings())[kind];
    const Micros demand = std::min(pool->Demand(slot), pool->Maximum(slot));
    const Micros strong = std::min<Micros>(terms.strong, demand);
    left -= strong;
    Claimant claimant{pool.get(), 0, 0};
    const auto account = accounts_.find(name);
    if (account != accounts_.end() && account->second.volume[kind] > 0 && demand > 0) {
      const bool burst = pool->settings().integral == IntegralKind::kBurst;
      (burst ? claimant.burst : claimant.flow) = burst ? std::min<Micros>(terms.burst, demand - strong) : terms.flow;
    }
    bursts += claimant.burst, flows += claimant.flow;
    claimants.push_back(claimant);
  }
  const Micros for_bursts = std::clamp<Micros>(left, 0, bursts);
  const Micros for_relaxed = std::max<Micros>(left, 0) - for_bursts;
  for (const auto& [pool, burst, flow] : claimants) {
    Micros extra = 0;
    if (burst > 0) extra = burst * for_bursts / bursts;
    if (flow > 0) extra = flow * for_relaxed / flows;
    if (extra == pool->Extra(slot)) continue;
    pool->SetExtra(slot, static_cast<std::uint32_t>(extra));
    Refresh(*pool);
  }
}

PerSlot<bool> IntegralOrder::BeginRound(const ClusterState& state, Micros now) {
  for (auto& [name, account] : accounts_) Settle(account, now);
  for (const TaskKind kind : kTaskKinds) Guarantee(state, kind);
  return FairOrder::BeginRound(state, now);
}

std::optional<Micros> IntegralOrder::NextWake(const ClusterState&) const {
  if (settings().Of<IntegralSettings>().window == 0) return std::nullopt;  // no volume is ever above 0
  std::optional<Micros> wake;
  for (const auto& [name, account] : accounts_) {
    if (account.live == nullptr) continue;
    for (const TaskKind kind : kTaskKinds) {
      const Micros growth = Growth(account, kind), volume = account.volume[kind];
      if (account.live->Demand(Counted(kind)) == 0) continue;
      std::optional<Micros> turns;
      if (volume > 0 && growth < 0) turns = account.settled + (volume - growth - 1) / -growth;  // it is 0 then
      if (volume <= 0 && growth > 0) turns = account.settled - volume / growth + 1;             // it is above 0 then
      if (turns) wake = std::min(wake.value_or(*turns), *turns);
    }
  }
  return wake;
}

PolicyView IntegralOrder::View(const ClusterState& state, Micros now) const {
  PolicyView view = FairOrder::View(state, now);
  for (const auto& [name, account] : accounts_) {
    for (const TaskKind kind : kTaskKinds) {
      if (account.terms[kind].flow == 0) continue;
      const char* const of = kind == TaskKind::kMap ? " (map slots)" : " (reduce slots)";
      view.facts.push_back(Fact::Seconds("volume of " + name + of, VolumeAt(account, kind, now)));
    }
  }
  return view;
}

}  // namespace millrace::sched
