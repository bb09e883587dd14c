// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/simple/karma.h"

#include "schedulers/offering/offer_by_rank.h"
#include "schedulers/settings/key_list.h"

namespace millrace::sched {

void Declare(KeyList& keys, KarmaSettings& settings) {
  auto& [alpha, quantum, forget] = settings;
  keys.Real("alpha", &alpha, kFraction,
            "the part of its fair share that a pool is guaranteed, and gets nothing for if it needs it itself");
  keys.Duration("quantum", &quantum, kDay, "slots are granted anew when this time has passed");
  keys.Duration("forget", &forget, 365 * kDay,
                "a pool that has had no job for this long loses its share and its credits");
}

void KarmaOrder::OnJobSubmitted(const ClusterState& state, JobId id) {
  const auto next = static_cast<std::uint32_t>(pools_.size());
  const std::uint32_t pool = numbers_.try_emplace(state.FindJob(id)->spec.PoolName(), next).first->second;
  if (pool == next) pools_.emplace_back();
  jobs_[id].pool = pool;
  ++pools_[pool].jobs;
  changed_ = true;
  OnJobChanged(state, id);
}

void KarmaOrder::OnJobChanged(const ClusterState& state, JobId id) {
  Job& job = jobs_.At(id);
  const JobState& now = *state.FindJob(id);
  for (const SlotKind kind : kSlotKinds) {
    std::uint32_t& running = pools_[job.pool].running[kind];
    // Tasks of an evicted job end by a decision.
    changed_ |= now.running_attempts[kind] < job.running[kind] && !now.held;
    running -= std::exchange(job.running[kind], now.running_attempts[kind]);
    running += job.running[kind];
  }
}

void KarmaOrder::OnJobEnded(const ClusterState& state, JobId id) {
  const Job& job = jobs_.At(id);
  Pool& pool = pools_[job.pool];
  for (const SlotKind kind : kSlotKinds) pool.running[kind] -= job.running[kind];
  --pool.jobs;
  changed_ = true;
  pool.empty_since = state.FindJob(id)->progress.ended;
  jobs_.Erase(id);
}

void KarmaOrder::Plan(const ClusterState& state, TaskKind kind, Micros now) {
  KarmaAccounts& accounts = accounts_[kind];
  accounts.Settle(now - planned_.value_or(now));
  for (std::uint32_t number = 0; number < pools_.size(); ++number) {
    const Pool& pool = pools_[number];
    if (pool.jobs > 0) {
      accounts.Join(number);
    } else if (now - pool.empty_since >= settings_.forget) {
      accounts.Leave(number);
    }
  }
  for (auto& [number, account] : accounts.accounts()) account.demand = 0;
  const SlotKind slot = kind == TaskKind::kMap ? kMapSlot : reduces_;
  for (const QueueKey& key : state.LiveJobs()) {
    accounts.accounts().at(jobs_.At(key.job).pool).demand += state.FindJob(key.job)->Demand(slot);
  }
  slots_[kind] = state.Capacity(slot);
  accounts.Plan(slots_[kind]);
}

PerSlot<bool> KarmaOrder::BeginRound(const ClusterState& state, Micros now) {
  if (!std::exchange(changed_, false)) return {};
  bool due = !planned_ || now - *planned_ >= settings_.quantum;
  const auto& members = accounts_[TaskKind::kMap].accounts();
  for (std::uint32_t number = 0; number < pools_.size() && !due; ++number) {
    due = pools_[number].jobs > 0 && !members.contains(number);
  }
  for (const TaskKind kind : kTaskKinds) {
    due |= slots_[kind] != state.Capacity(kind == TaskKind::kMap ? kMapSlot : reduces_);
  }
  if (!due) return {};
  for (const TaskKind kind : kTaskKinds) Plan(state, kind, now);
  planned_ = now;
  return {};
}

std::vector<KarmaOrder::PoolRank> KarmaOrder::RankPools(SlotKind kind) const {
  std::vector<PoolRank> ranks(pools_.size(), {true, 0});
  for (const auto& [number, account] : accounts_[kind.task()].accounts()) {
    const std::uint32_t running = pools_[number].running[kind];
    const bool beyond = running >= account.granted;
    // The fraction of the granted slots that it runs, in 2^-32.
    ranks[number] = {beyond, beyond ? -account.credits : (Micros{running} << 32) / account.granted};
  }
  return ranks;
}

KarmaOrder::Rank KarmaOrder::RankOf(const JobState& job, const std::vector<PoolRank>& pools) const {
  const std::uint32_t pool = jobs_.At(job.progress.job).pool;
  return {pools[pool], pool, job.key, job.progress.job};
}

std::optional<JobId> KarmaOrder::Offer(const ClusterState& state, SlotKind kind, Micros, const Take& take) const {
  const std::vector<PoolRank> pools = RankPools(kind);
  return OfferByRank(state, kind, take, [&](const JobState& job) { return RankOf(job, pools); });
}

bool KarmaOrder::Before(const ClusterState& state, SlotKind kind, Micros, JobId a, JobId b) const {
  const std::vector<PoolRank> pools = RankPools(kind);
  return RankOf(*state.FindJob(a), pools) < RankOf(*state.FindJob(b), pools);
}

PolicyView KarmaOrder::View(const ClusterState&, Micros) const {
  PolicyView view;
  for (const auto& [name, number] : numbers_) {
    for (const TaskKind kind : kTaskKinds) {
      const auto& accounts = accounts_[kind].accounts();
      const auto at = accounts.find(number);
      if (at == accounts.end()) continue;
      const char* const of = kind == TaskKind::kMap ? " (map slots)" : " (reduce slots)";
      view.facts.push_back(Fact::Seconds("credits of " + name + of, at->second.credits));
    }
  }
  return view;
}

}  // namespace millrace::sched
