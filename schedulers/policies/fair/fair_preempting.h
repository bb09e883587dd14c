// fair+preempt: `fair` that takes slots back (Zaharia et al. section 3.2; docs/policies.md#preemption).
//
// The rule, as code, at each event:
//
//   for pool, kind, cause in the pools that could use one more slot of the kind without being lifted above
//       their minimum (cause minimum) or their fair share (cause share):
//     if that has been so for min_share_timeout, or fair_share_timeout:
//       need = the minimum or share, in whole slots - what the pool runs - free slots that no pool took
//       kill `need` of the tasks of the kind that were launched last, of the jobs furthest above their share
//                                                                                                  // preemption.h
//       // with +ccs: of the reduces that compute on a node where a reduce of the pool waits for a permit
//       offer these slots to the pool before all others; its patience begins anew
//
// If the pool refuses them (it waits for locality), or no other pool was above its share, nothing more happens until
// its patience is at an end again; the waits of `+delay` have then begun to run.
//
// With `+ccs` a pool may be starved of two things. Its reduces that compute, beside those that wait to, tell whether it
// lacks permits, and preemption takes reduces that compute. All its reduces tell whether it lacks room to copy, of
// which pools have no minimum, and preemption takes reduces that copy or wait.
//
// The pools' clocks start and stop with the event that starves or feeds them (starved_pools.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "schedulers/offering/greedy.h"
#include "schedulers/policies/fair/fair.h"
#include "schedulers/policies/fair/preemption.h"
#include "schedulers/policies/fair/starved_pools.h"

namespace millrace::sched {

class FairPreempting : public GreedyOver<FairOrder> {
 public:
  // `reduces`: what counts of the reduces (FairOrder). Requires: it is admission.CountedReduces().
  FairPreempting(std::string name, const Settings& settings, SlotKind reduces, Admission admission);

  std::vector<Victim> Preempt(const ClusterState& state, Micros now) override;
  std::optional<Decision> Next(const ClusterState& state, Micros now) override;
  [[nodiscard]] std::optional<Micros> NextWake(const ClusterState& state) const override;
  [[nodiscard]] PolicyView View(const ClusterState& state, Micros now) const override;

 private:
  using Cause = StarvedPools::Cause;
  using Lack = StarvedPools::Lack;
  // What a pool is to be given.
  struct Need {
    FairPool* pool = nullptr;
    Cause cause = Cause::kMinimum;
    std::uint32_t target = 0;  // slots it should hold
    std::uint32_t slots = 0;   // to be taken from others
  };

  StarvedPools Watch(SlotKind kind);
  [[nodiscard]] Micros Patience(const Lack& lack) const;
  [[nodiscard]] static std::string Reason(const FairPool& pool, Cause cause);
  // Returns what these pools need. Their patience begins anew.
  std::vector<Need> Needs(const std::vector<Lack>& due, SlotKind kind, std::uint32_t free, Micros now);
  // Returns the next map for a slot that was freed for its pool.
  std::optional<Decision> NextFreed(const ClusterState& state);
  std::vector<AttemptId> Choose(const ClusterState& state, SlotKind kind, const std::vector<Need>& needs) const;
  // Returns what pools may be starved of.
  [[nodiscard]] std::span<const SlotKind> Kinds() const;

  PerSlot<StarvedPools> starved_;
  std::vector<NodeId> freed_;  // by the last Preempt(), of maps, and not taken yet
};

}  // namespace millrace::sched
