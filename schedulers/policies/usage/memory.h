// SPDX-License-Identifier: Apache-2.0
// +memory: `fair` whose weights remember what the pools have used (NVIDIA KAI-Scheduler, "Time Aware Fairness",
// docs/developer/designs/time-aware-fairness there; docs/schedulers/newer.md#memory). Fair sharing forgets: a pool that
// had the whole cluster for a day, while nobody else wanted it, has its full share again the moment another one comes.
//
// The rule, as code. Each kind of slots has accounts of its own:
//
//   keep = 0.5 ^ (memory.sample / memory.half_life)
//   whenever memory.sample has passed, counted from when the scheduler took over:
//     used(pool) = used(pool) * keep + the slot time of the pool's tasks in this sample
//     potential  = potential * keep  + the slots of the cluster * memory.sample           // used or not
//   U'(pool)   = (used + memory.sample * the tasks that the pool has launched since then) / potential
//   W'(pool)   = weight / sum of the weights of the pools with demand
//   weight(pool) in force = max(0, W' + memory.k * (W' - U'))       // at least 2^-20, in place of its weight in `fair`
//   a free slot goes to the job to which `fair` gives it with these weights                                   // fair.h
//
// So minima come first, as always, and a pool that has used more than its part of the cluster gets less of the rest
// until the others have caught up. If all have used the cluster in proportion to their weights, or not at all, all is
// as under `fair`. What a launch costs at once is the entry penalty: a task counts as if it ran for a whole sample,
// until the sample has ended and what it did use counts. Without it a pool could launch as much as it likes between two
// samples. It is 1 - keep of a slot once potential has its full size, and more before that.
//
// Where it differs: KAI divides in rounds, with W' anew among the pools that want more in each; here W' is among all
// pools with demand. KAI reads what was used from a database, which outlives the scheduler; here it is lost with it,
// and when the master starts again. The entry penalty is that of kueue, where it stays; here it is an advance.
//
// All is integer: keep is a multiple of 2^-32, U' and W' of 2^-20, and time is taken from ClusterState::now(). Weights
// change at events, at launches and at the ends of samples, which NextWake names while pools compete. A half-life of 0
// is refused, since it would switch the memory off. Thread rule: one thread. O(pools) an event, on top of `fair`, and
// O(pools with a past) for each sample that has passed.
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

// MemorySettings: the settings of `+memory`.
struct MemorySettings {
  Micros half_life = kDay;  // at least `sample`
  double k = 1;             // above 0
  Micros sample = kMinute;  // at least 1 s

  static constexpr std::string_view kSection = "memory";
  static constexpr std::string_view kOneLine = "The part +memory.";
  static std::optional<Contradiction> Check(const Settings& settings);
};

void Declare(KeyList& keys, MemorySettings& settings);

class MemoryOrder : public FairOrder {
 public:
  // `reduces`: as in FairOrder. Requires: MemorySettings::Check finds nothing.
  explicit MemoryOrder(const Settings& settings, SlotKind reduces = kReduceSlot);

  [[nodiscard]] std::unique_ptr<FairOrder> New() const override {
    return std::make_unique<MemoryOrder>(settings(), reduces());
  }
  void TakeOver(const ClusterState& state, const FairOrder& other) override;
  void OnJobSubmitted(const ClusterState& state, JobId job) override;
  void OnJobEnded(const ClusterState& state, JobId job) override;
  void OnJobChanged(const ClusterState& state, JobId job) override;
  void OnNodesChanged(const ClusterState& state) override;
  PerSlot<bool> BeginRound(const ClusterState& state, Micros now) override;
  [[nodiscard]] std::optional<Micros> NextWake(const ClusterState& state) const override;
  [[nodiscard]] PolicyView View(const ClusterState& state, Micros now) const override;

  // The unit of U' and W'.
  static constexpr Micros kOne = Micros{1} << 20;
  // Returns U' of the pool. `of` is at the end of the last sample.
  [[nodiscard]] Micros UsedPart(const std::string& pool, SlotKind kind) const;

 private:
  struct Account {
    FairPool* live = nullptr;  // null while the pool has no live jobs
    PerSlot<Micros> used = {}, in_sample = {};
    PerSlot<std::uint32_t> launched = {};  // in this sample
  };

  // Counts what was used until now.
  void Settle(Micros now);
  void Add(Micros until);
  void EndSample();
  [[nodiscard]] Micros UsedPart(const Account& account, SlotKind kind) const;
  // Weighs all pools, or this one; the sums of weights are those of the last call for all.
  void WeighAll();
  void Weigh(const Account& account, SlotKind kind);

  const MemorySettings terms_;
  const Micros keep_;  // in 2^-32
  const Micros k_;     // in 2^-16
  bool begun_ = false;
  Micros settled_ = 0, sample_ends_ = 0;
  PerSlot<Micros> slots_ = {}, potential_ = {}, potential_in_sample_ = {};
  PerSlot<Micros> weights_ = {};  // the sum of those of the pools with demand
  std::map<std::string, Account> accounts_;
};

}  // namespace millrace::sched
