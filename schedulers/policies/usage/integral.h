// SPDX-License-Identifier: Apache-2.0
// integral: `fair` with guarantees over a day in place of guarantees at each moment (YTsaurus, "Integral guarantees";
// docs/schedulers/newer.md#integral). A pool gathers slot time while it uses little, and has slots guaranteed for it
// later.
//
// The rule, as code. A pool of the settings has a strong guarantee (min_maps, min_reduces) and may be `burst` or
// `relaxed`, with a flow in slots. Maps and reduces have accounts of their own:
//
//   volume(pool) = 0 when the scheduler takes over; from then on, as time passes:
//     volume += (flow - max(0, running - strong)) * passed
//     volume  = at most flow * integral.window, at least -flow * integral.debt
//
//   when a round begins, for the pools with demand:
//     left = slots - sum of min(strong, demand)
//     for burst pools with volume > 0:    extra = min(burst, demand beyond strong)     // in proportion if left is less
//     left -= the sum of these
//     for relaxed pools with volume > 0:  extra = left * flow / sum of the flows of such pools
//     extra of others = 0;  all are whole slots, rounded down
//   a free slot goes to the job to which `fair` gives it if the minimum of each pool is strong + extra       // fair.h
//
// So over the time a pool with demand has at least strong + flow, as far as the flows fit. With `+preempt` slots are
// taken back for what is guaranteed, as for a minimum of `fair`.
//
// Where it differs: YTsaurus divides several resources in a tree of pools, and gives relaxed pools shares over a
// period. A pool may owe time here (integral.debt), since its tasks run on when its volume has run out; without that a
// pool with long tasks would have more than its flow. What a pool takes of idle slots counts like the rest. All
// guarantees fit together, and `fair` serves those below them by running / guarantee: strong ones do not come first.
//
// Time is taken from ClusterState::now(), and all is integer. So a volume does not depend on when rounds are, and a
// guarantee turns only at events and at NextWake. Accounts are lost with the scheduler, and when the master starts
// again. Thread rule: one thread. O(pools) for a round, on top of `fair`.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "schedulers/policies/fair/fair.h"
#include "schedulers/settings/key_list.h"
#include "schedulers/settings/section.h"

namespace millrace::sched {

// IntegralSettings: the settings of `integral` besides those of its pools (PoolSettings).
struct IntegralSettings {
  Micros window = kDay;  // above 0
  Micros debt = kHour;

  static constexpr std::string_view kSection = "integral";
  static constexpr std::string_view kOneLine = "The scheduler integral; what a pool gathers is in [pools.NAME].";
  static std::optional<Contradiction> Check(const Settings& settings);
};

void Declare(KeyList& keys, IntegralSettings& settings);

class IntegralOrder : public FairOrder {
 public:
  using FairOrder::FairOrder;

  [[nodiscard]] std::unique_ptr<FairOrder> New() const override {
    return std::make_unique<IntegralOrder>(settings(), reduces());
  }
  void TakeOver(const ClusterState& state, const FairOrder& other) override;
  void OnJobSubmitted(const ClusterState& state, JobId job) override;
  void OnJobEnded(const ClusterState& state, JobId job) override;
  void OnJobChanged(const ClusterState& state, JobId job) override;
  void OnNodesChanged(const ClusterState& state) override;
  PerSlot<bool> BeginRound(const ClusterState& state, Micros now) override;
  [[nodiscard]] std::optional<Micros> NextWake(const ClusterState& state) const override;
  [[nodiscard]] PolicyView View(const ClusterState& state, Micros now) const override;

  // Returns the pool's volume at a time since the last call that was told of a change; nothing if the pool gathers
  // none.
  [[nodiscard]] std::optional<Micros> Volume(const std::string& pool, TaskKind kind, Micros now) const;

 private:
  struct Terms {
    Micros strong = 0, flow = 0, burst = 0;  // slots
  };
  struct Account {
    PerKind<Terms> terms;
    const FairPool* live = nullptr;  // null while the pool has no live jobs
    PerKind<Micros> volume = {};
    Micros settled = 0;  // the time of these volumes
  };

  [[nodiscard]] SlotKind Counted(TaskKind kind) const { return kind == TaskKind::kMap ? kMapSlot : reduces(); }
  [[nodiscard]] static PerKind<Terms> TermsOf(const PoolSettings& pool);
  // Returns by how many slots the volume grows, at the moment.
  [[nodiscard]] Micros Growth(const Account& account, TaskKind kind) const;
  [[nodiscard]] Micros VolumeAt(const Account& account, TaskKind kind, Micros now) const;
  // Opens the accounts of the pools of the settings, at the first call that tells the time.
  void Begin(Micros now);
  // Opens the pool's account if the pool gathers anything and has none yet.
  void Open(const std::string& pool, Micros now);
  void Settle(Account& account, Micros now) const;
  void Settle(const std::string& pool, Micros now);
  // Notes whether the pool has live jobs.
  void NoteLive(const std::string& pool);
  // Sets what is guaranteed to the pools.
  void Guarantee(const ClusterState& state, TaskKind kind);

  bool begun_ = false;
  std::map<std::string, Account> accounts_;
};

}  // namespace millrace::sched
