// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/usage/memory.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace millrace::sched {
namespace {

using Wide = __int128;

constexpr int kKeepBits = 32, kKBits = 16;

Micros Kept(Micros time, Micros keep) { return static_cast<Micros>(Wide{time} * keep >> kKeepBits); }

}  // namespace

void Declare(KeyList& keys, MemorySettings& settings) {
  auto& [half_life, k, sample] = settings;
  keys.Duration("half_life", &half_life, 30 * kDay,
                "what a pool has used counts half as much after this time; not 0, which would be no memory");
  keys.Real("k", &k, {0, 1000, true},
            "how much the past counts: a pool's part of the slots less what it has used of them, "
            "times k, is added to its part");
  keys.Duration("sample", &sample, kHour,
                "what pools have used is counted whenever this time has passed; a launch counts as so much at once");
}

std::optional<Contradiction> MemorySettings::Check(const Settings& settings) {
  const auto& [half_life, k, sample] = settings.Of<MemorySettings>();
  if (half_life == 0)
    return Contradiction{"memory", "half_life", "is 0, with which nothing is remembered; leave +memory out for that"};
  if (sample < kSecond) return Contradiction{"memory", "sample", "is shorter than 1s"};
  if (half_life < sample) return Contradiction{"memory", "half_life", "is shorter than memory.sample"};
  return std::nullopt;
}

MemoryOrder::MemoryOrder(const Settings& settings, SlotKind reduces)
    : FairOrder(settings, reduces),
      terms_(settings.Of<MemorySettings>()),
      keep_(std::llround(
          std::exp2(kKeepBits - static_cast<double>(terms_.sample) / static_cast<double>(terms_.half_life)))),
      k_(std::max<Micros>(1, std::llround(std::ldexp(terms_.k, kKBits)))) {}

void MemoryOrder::Add(Micros until) {
  const Micros passed = until - settled_;
  settled_ = until;
  if (passed == 0) return;
  for (const SlotKind kind : kSlotKinds) potential_in_sample_[kind] += slots_[kind] * passed;
  for (auto& [name, account] : accounts_) {
    if (account.live == nullptr) continue;
    for (const SlotKind kind : kSlotKinds) account.in_sample[kind] += account.live->Running(kind) * passed;
  }
}

void MemoryOrder::EndSample() {
  for (const SlotKind kind : kSlotKinds)
    potential_[kind] = Kept(potential_[kind], keep_) + std::exchange(potential_in_sample_[kind], 0);
  for (auto at = accounts_.begin(); at != accounts_.end();) {
    Account& account = at->second;
    for (const SlotKind kind : kSlotKinds)
      account.used[kind] = Kept(account.used[kind], keep_) + std::exchange(account.in_sample[kind], 0);
    account.launched = {};
    const bool forgotten = account.live == nullptr && account.used == PerSlot<Micros>();
    at = forgotten ? accounts_.erase(at) : std::next(at);
  }
}

void MemoryOrder::Settle(Micros now) {
  if (!std::exchange(begun_, true)) settled_ = now, sample_ends_ = now + terms_.sample;
  for (; sample_ends_ <= now; sample_ends_ += terms_.sample) {
    Add(sample_ends_);
    EndSample();
  }
  Add(now);
}

void MemoryOrder::TakeOver(const ClusterState& state, const FairOrder& other) {
  FairOrder::TakeOver(state, other);
  const auto& of = static_cast<const MemoryOrder&>(other);
  begun_ = of.begun_, settled_ = of.settled_, sample_ends_ = of.sample_ends_;
  slots_ = of.slots_, potential_ = of.potential_, potential_in_sample_ = of.potential_in_sample_;
  weights_ = of.weights_;
  accounts_ = of.accounts_;
  for (auto& [name, account] : accounts_) {
    if (account.live == nullptr) continue;
    const FairPool& before = *account.live;
    account.live = live_pools().at(name).get();
    for (const SlotKind kind : kSlotKinds) account.live->SetWeight(kind, before.Weight(kind));
    Refresh(*account.live);
  }
}

void MemoryOrder::OnJobSubmitted(const ClusterState& state, JobId job) {
  Settle(state.now());
  FairOrder::OnJobSubmitted(state, job);
  FairPool& pool = PoolOf(job);
  accounts_[pool.name()].live = &pool;
}

void MemoryOrder::OnJobEnded(const ClusterState& state, JobId job) {
  Settle(state.now());
  Account& account = accounts_.at(PoolOf(job).name());
  if (account.live->live_jobs() == 1) account.live = nullptr;
  FairOrder::OnJobEnded(state, job);
}

void MemoryOrder::OnJobChanged(const ClusterState& state, JobId job) {
  Settle(state.now());
  Account& account = accounts_.at(PoolOf(job).name());
  PerSlot<std::uint32_t> ran;
  for (const SlotKind kind : kSlotKinds) ran[kind] = account.live->Running(kind);
  FairOrder::OnJobChanged(state, job);
  for (const SlotKind kind : kSlotKinds) {
    const std::uint32_t runs = account.live->Running(kind);
    if (runs <= ran[kind]) continue;
    account.launched[kind] += runs - ran[kind];
    Weigh(account, kind);
  }
}

void MemoryOrder::OnNodesChanged(const ClusterState& state) {
  Settle(state.now());
  FairOrder::OnNodesChanged(state);
  for (const SlotKind kind : kSlotKinds) slots_[kind] = state.Capacity(kind);
}

Micros MemoryOrder::UsedPart(const Account& account, SlotKind kind) const {
  if (potential_[kind] == 0) return 0;
  const Wide used = account.used[kind] + Wide{account.launched[kind]} * terms_.sample;
  return static_cast<Micros>(used * kOne / potential_[kind]);
}

Micros MemoryOrder::UsedPart(const std::string& pool, SlotKind kind) const {
  const auto at = accounts_.find(pool);
  return at == accounts_.end() ? 0 : UsedPart(at->second, kind);
}

void MemoryOrder::Weigh(const Account& account, SlotKind kind) {
  FairPool& pool = *account.live;
  if (pool.Demand(kind) == 0 || weights_[kind] == 0) return;
  const Micros part = static_cast<Micros>(Wide{WeightUnits(pool.settings().weight)} * kOne / weights_[kind]);
  const Wide owed = Wide{k_} * (part - UsedPart(account, kind)) / (Wide{1} << kKBits);
  pool.SetWeight(kind, static_cast<Units>(std::max<Wide>(1, part + owed)));
  Refresh(pool);
}

void MemoryOrder::WeighAll() {
  for (const SlotKind kind : kSlotKinds) {
    weights_[kind] = 0;
    for (const auto& [name, pool] : live_pools()) {
      if (pool->Demand(kind) > 0) weights_[kind] += WeightUnits(pool->settings().weight);
    }
    for (const auto& [name, account] : accounts_) {
      if (account.live != nullptr) Weigh(account, kind);
    }
  }
}

PerSlot<bool> MemoryOrder::BeginRound(const ClusterState& state, Micros now) {
  Settle(now);
  WeighAll();
  return FairOrder::BeginRound(state, now);
}

std::optional<Micros> MemoryOrder::NextWake(const ClusterState&) const {
  return live_pools().size() > 1 ? std::optional(sample_ends_) : std::nullopt;
}

PolicyView MemoryOrder::View(const ClusterState& state, Micros now) const {
  PolicyView view = FairOrder::View(state, now);
  for (const auto& [name, account] : accounts_) {
    for (const TaskKind kind : kTaskKinds) {
      const SlotKind counted = kind == TaskKind::kMap ? kMapSlot : reduces();
      const char* const of = kind == TaskKind::kMap ? " (of the map slots)" : " (of the reduce slots)";
      const double part = static_cast<double>(UsedPart(account, counted)) / static_cast<double>(kOne);
      view.facts.push_back(Fact::Number("used by " + name + of, part));
    }
  }
  return view;
}

}  // namespace millrace::sched
