// SPDX-License-Identifier: Apache-2.0
// karma: pools lend slots that they do not use, and borrow as much as they have lent (Vuppalapati et al., "Karma:
// Resource Allocation for Dynamic Demands", OSDI 2023; docs/schedulers/newer.md#karma). Fair sharing forgets: a pool
// that used little for a day gets no more than the others afterwards. Here its credits remember.
//
// The rule, as code, for a free slot of a kind on a node; the accounts of maps and of reduces are apart, and
// karma_accounts.h says what pools are granted:
//
//   when a round begins, karma.quantum has passed since the last plan, or pools or slots came or went:
//     settle the accounts; pools without jobs for karma.forget leave, new ones join
//     plan with the demand of each pool: its running tasks and those that may run
//   for pool in those with running < granted by running / granted, then in the others by credits, the most first:
//     for job in the pool, by priority, then submit order:
//       if the job has a task that may run on the node: launch the closest, and return
//
// Only a round that follows such an event, or the end of a task, makes a plan: other rounds are in no journal, so that
// a replay would not make it.
//
// The others come last, and pay nothing: they get what nobody was granted, so that no slot idles. Nothing is preempted.
// Running tasks are counted as launched, whether their slots were granted or not. With `+ccs` demand and running count
// compute permits for permits, and reduce slots for these. The pool of a job is that of `fair`.
//
// Thread rule: one thread. O(runnable jobs) for an offer, and for a plan O(live jobs + pools x slots).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "schedulers/cluster/job_table.h"
#include "schedulers/offering/job_order.h"
#include "schedulers/policies/simple/karma_accounts.h"

namespace millrace::sched {

class KeyList;

// KarmaSettings: the settings of `karma`.
struct KarmaSettings {
  double alpha = 0.5;
  Micros quantum = 10 * kSecond;
  Micros forget = kHour;

  static constexpr std::string_view kSection = "karma";
  static constexpr std::string_view kOneLine = "The scheduler karma.";
};

void Declare(KeyList& keys, KarmaSettings& settings);

class KarmaOrder : public JobOrder {
 public:
  // `reduces`: the kind of slots that demand counts for reduces: kReduceSlot, or kComputePermit with `+ccs`.
  explicit KarmaOrder(const KarmaSettings& settings, SlotKind reduces = kReduceSlot)
      : settings_(settings), reduces_(reduces), accounts_{{Accounts(), Accounts()}} {}

  [[nodiscard]] std::unique_ptr<JobOrder> Clone(const ClusterState&) const override {
    return std::make_unique<KarmaOrder>(*this);
  }
  void OnJobSubmitted(const ClusterState& state, JobId job) override;
  void OnJobEnded(const ClusterState& state, JobId job) override;
  void OnJobChanged(const ClusterState& state, JobId job) override;
  void OnNodesChanged(const ClusterState&) override { changed_ = true; }
  PerSlot<bool> BeginRound(const ClusterState& state, Micros now) override;
  std::optional<JobId> Offer(const ClusterState& state, SlotKind kind, Micros now, const Take& take) const override;
  [[nodiscard]] bool Before(const ClusterState& state, SlotKind kind, Micros now, JobId a, JobId b) const override;
  [[nodiscard]] PolicyView View(const ClusterState& state, Micros now) const override;
  [[nodiscard]] const KarmaAccounts& accounts(TaskKind kind) const { return accounts_[kind]; }

 private:
  // Whether the pool is beyond what it was granted, and its place then.
  using PoolRank = std::pair<bool, Micros>;
  using Rank = std::tuple<PoolRank, std::uint32_t, QueueKey, JobId>;
  struct Pool {
    std::uint32_t jobs = 0;  // live ones
    PerSlot<std::uint32_t> running = {};
    Micros empty_since = 0;
  };
  struct Job {
    std::uint32_t pool = 0;  // its number
    PerSlot<std::uint32_t> running = {};
  };

  [[nodiscard]] KarmaAccounts Accounts() const { return {settings_.alpha, settings_.quantum}; }
  // Returns the rank of each pool, by its number.
  [[nodiscard]] std::vector<PoolRank> RankPools(SlotKind kind) const;
  [[nodiscard]] Rank RankOf(const JobState& job, const std::vector<PoolRank>& pools) const;
  void Plan(const ClusterState& state, TaskKind kind, Micros now);

  const KarmaSettings settings_;
  const SlotKind reduces_;
  PerKind<KarmaAccounts> accounts_;
  std::map<std::string, std::uint32_t> numbers_;  // of pools, by name, as they came
  std::vector<Pool> pools_;                       // by number
  JobTable<Job> jobs_;
  PerKind<std::uint32_t> slots_ = {};
  std::optional<Micros> planned_;  // the time of the last plan
  bool changed_ = false;           // since the last round, by an event: a job or a node, or a task that ended
};

}  // namespace millrace::sched
