// fair+preempt: `fair` that takes slots back (Zaharia et al. section 3.2; SCHEDULERS.md section 3).
//
// A pool that runs fewer tasks than its minimum for its min_share_timeout, or fewer than its fair share for
// fair_share_timeout, although it has more to run, gets slots up to that: free ones that nobody took count, for the
// others the most recently launched tasks of the jobs furthest above their share are killed (parts/preemption.h). Below
// the share is: one more slot would not lift it above. The slots are offered to the pool before all others. If it
// refuses them (it waits for locality), or no other was above its share, its patience begins anew; the waits of
// `+delay` have then begun to run.
//
// The pools' clocks start and stop with the event that starves or feeds them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schedulers/parts/greedy.h"
#include "schedulers/parts/preemption.h"
#include "schedulers/policies/fair.h"

namespace millrace::sched {

class FairPreempting : public Greedy {
 public:
  [[nodiscard]] static std::unique_ptr<FairPreempting> Make(std::string name, const Settings& settings,
                                                            Admission admission);

  void OnJobEnded(const ClusterState& state, JobId job) override;
  std::vector<Victim> Preempt(const ClusterState& state, Time now) override;
  std::optional<Decision> Next(const ClusterState& state, Time now) override;
  [[nodiscard]] std::optional<Time> NextWake(const ClusterState& state) const override;

 private:
  using Cause = StarvationClocks::Cause;
  // What a pool lacks.
  struct Need {
    FairPool* pool = nullptr;
    Cause cause = Cause::kMinimum;
    std::uint32_t target = 0;  // slots it should hold
    std::uint32_t slots = 0;   // to be taken from others
  };

  FairPreempting(std::string name, std::unique_ptr<FairOrder> owned, FairOrder* order, Admission admission);

  void UpdateClocks(Time now);
  [[nodiscard]] Time Patience(const FairPool& pool, Cause cause) const;
  // Of the pools whose patience is over, which begins anew.
  std::vector<Need> Needs(const std::vector<StarvationClocks::Key>& due, TaskKind kind, std::uint32_t free, Time now);
  // The next map for a slot that was freed for its pool.
  std::optional<Decision> NextFreed(const ClusterState& state);
  std::vector<AttemptId> Choose(const ClusterState& state, TaskKind kind, std::uint32_t wanted) const;

  FairOrder* order_;
  StarvationClocks clocks_;
  std::vector<NodeId> freed_;  // by the last Preempt(), of maps, and not taken yet
};

// `fair`, with `+preempt` or without.
[[nodiscard]] std::unique_ptr<Policy> MakeFair(std::string name, const Settings& settings, Admission admission,
                                               bool preempt);

}  // namespace millrace::sched
