// SPDX-License-Identifier: Apache-2.0
// fair+preempt: `fair` that takes slots back for starved pools (Zaharia et al. section 3.2;
// docs/schedulers/policies.md#preemption).
//
// The rule, as code, at each event:
//
//   for pool, kind, cause in the pools that could use one more slot of the kind without being lifted above
//       their minimum (cause minimum) or their fair share (cause share):
//     if that has been so for min_share_timeout, or fair_share_timeout, and some node could run one of its tasks if it
//         had a free slot:                                                                  // with +ccs: to copy there
//       need = the minimum or share, in whole slots - the pool's running tasks - free slots that no pool took
//       kill `need` tasks of the kind, on nodes where the pool could use the slot: those launched last of the jobs
//           furthest above their share                                                                // preemption.h
//       // with +ccs: of the reduces that compute on a node where a reduce of the pool waits for a permit
//       offer these slots to the pool before all others; its patience starts again
//       from now on offer the pool slots before all others whenever it is below its share, in whole slots
//
//   if fair.preempt_within_pools (1 us later if slots of the kind were taken for a pool):
//     for job in the jobs of pools of order fair that could use one more slot of the kind without being lifted above
//         their share of the pool's share:
//       if that has been so for fair_share_timeout:
//         need = the share, in whole slots - the job's running tasks - free slots that no job took and its pool may use
//         kill `need` of the tasks of the pool, chosen in the same way
//         offer these slots to the job, then to its pool before all others; the job's patience starts again
//
// A reduce that a pool or job could run does not count while no map runs and the output of a map of its job fits on no
// node. Such a reduce would only wait, and the reduces that would be killed for it are those that make room by ending.
//
// If no job was above its share, nothing more happens until the patience ends again. If tasks were killed for a pool or
// job, and it has no more slots at the end of the round than before, nothing is killed for it again before it has
// gained a slot by itself.
//
// With `+ccs` a pool may lack permits, or room to copy. The number of its reduces that compute or wait to compute
// decides whether it lacks permits; preemption then takes reduces that compute, unless fair.preempt_computing forbids
// that. The number of all its reduces decides whether it lacks room to copy; pools have no minimum of such room, and
// preemption takes reduces that copy or wait. The room of a reduce whose permit was taken is offered before other room,
// in the order of the jobs. A reduce that copies in that room waits for a reduce of the starved pool; elsewhere it
// might wait for a reduce as long as the one that was killed.
//
// The clock of a pool or a job starts or stops at the end of the round that follows the event that starves or feeds it
// (starvation_watch.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "schedulers/offering/greedy.h"
#include "schedulers/policies/fair/fair.h"
#include "schedulers/policies/fair/preemption.h"
#include "schedulers/policies/fair/starvation_clocks.h"
#include "schedulers/policies/fair/starvation_watch.h"

namespace millrace::sched {

class FairPreempting : public GreedyOver<FairOrder> {
 public:
  // Requires: the kind by which reduces count in the order (FairOrder) is admission.CountedReduces().
  FairPreempting(std::string name, std::unique_ptr<FairOrder> order, Admission admission);

  [[nodiscard]] std::unique_ptr<Policy> Clone(const ClusterState& state) const override;
  void OnJobEnded(const ClusterState& state, JobId job) override;
  std::vector<Victim> Preempt(const ClusterState& state, Micros now) override;
  std::optional<Decision> Next(const ClusterState& state, Micros now) override;
  [[nodiscard]] std::optional<Micros> NextWake(const ClusterState& state) const override;
  [[nodiscard]] PolicyView View(const ClusterState& state, Micros now) const override;

 private:
  // Makes a copy that decides as `other` does, with clocks of its own.
  FairPreempting(const FairPreempting& other, const ClusterState& state);
  // Makes the order keep the clocks of jobs, and starts to watch for starvation. Requires: the order has no jobs yet.
  void Watch();

  using Cause = StarvationClocks::Cause;
  using Lack = StarvationClocks::Lack;
  // Slots that are to be taken for some jobs of a pool, because of a lack that has lasted for too long.
  struct Need {
    std::vector<JobId> jobs;
    std::uint32_t slots = 0;
    std::string reason;
    Lack lack;
    bool of_job = false;
  };
  // A pool or job for which tasks were killed in this round, and the slots that it had before.
  struct Served {
    StarvationClocks* clocks;
    Lack lack;
    std::uint32_t running;
  };

  [[nodiscard]] const FairSettings& fair() const { return order().settings().Of<FairSettings>(); }
  // Returns the kinds of slots that pools and jobs may be starved of.
  [[nodiscard]] std::span<const SlotKind> Kinds() const;
  [[nodiscard]] Micros Patience(const Lack& pool) const;
  // Return the attempts to kill for pools (ForPools) or jobs (ForJobs) that have waited for too long; their patience
  // starts again. ForStarved returns those for pools or, if there are none, those for jobs.
  std::vector<Victim> ForStarved(const ClusterState& state, SlotKind kind, Micros now);
  std::vector<Victim> ForPools(const ClusterState& state, SlotKind kind, Micros now);
  std::vector<Victim> ForJobs(const ClusterState& state, SlotKind kind, Micros now);
  // Returns the jobs for which it is worth killing tasks of the kind. Leaves out jobs whose reduces would only wait for
  // maps that fit nowhere. While no map runs, only reduces make room by ending. Killing a reduce for a job that is left
  // out would lead to a standstill, in which that job might have to give way in the same round.
  [[nodiscard]] static std::vector<JobId> ThatGoOn(const ClusterState& state, SlotKind kind, std::vector<JobId> jobs);
  // Takes from *free the slots, or permits, that the jobs could use, at most `most`. Returns the number taken.
  using Free = std::map<NodeId, std::uint32_t>;
  std::uint32_t TakeFree(const ClusterState& state, SlotKind kind, const std::vector<JobId>& jobs, std::uint32_t most,
                         Free* free) const;
  // Return the needs of the pools, or of the jobs of one pool, beyond the free slots that they could use, which are
  // taken from `free`. Also put these pools or jobs before all others.
  std::vector<Need> NeedsOfPools(const ClusterState& state, const std::vector<Lack>& due, SlotKind kind, Free free);
  std::vector<Need> NeedsOfJobs(const ClusterState& state, const FairPool& pool, const std::vector<Lack>& due,
                                const std::vector<JobHolding>& holdings, SlotKind kind, Free* free);
  // Returns how many slots of the kind the jobs could use if they became free on the node.
  [[nodiscard]] std::uint32_t CouldUse(const ClusterState& state, SlotKind kind, const std::vector<JobId>& jobs,
                                       NodeId node) const;
  // Returns true if CouldUse is above 0 on some node that takes tasks.
  [[nodiscard]] bool CouldUseAny(const ClusterState& state, SlotKind kind, const std::vector<JobId>& jobs) const;
  // Appends the holdings of the pool's admitted jobs, as those of the pool with this index.
  void AddHoldings(const ClusterState& state, const FairPool& pool, SlotKind kind, std::size_t index,
                   std::vector<JobHolding>* holdings) const;
  std::vector<Victim> Take(const ClusterState& state, SlotKind kind, const std::vector<Need>& needs,
                           std::vector<Holding> pools, std::vector<JobHolding> holdings);
  // Gives precedence to pools and jobs for which tasks were killed and that are again below their share in whole slots.
  // Such a pool comes before all others, unless slots are owed to others in this round; such a job comes first within
  // its pool. Pools below their minimum still come before such a pool. The order alone might give the next slot to a
  // pool with no slot and a share of a quarter, from which the slot would be taken again.
  void OweAgain(const ClusterState& state, SlotKind kind);
  // Ends a round. The clocks of pools and jobs that have gained nothing by it rest.
  void EndRound(Micros now);
  // Returns the next map for a slot that was freed for its pool.
  std::optional<Decision> NextFreed(const ClusterState& state);
  // Returns the next reduce for the room of a killed reduce that computed.
  std::optional<Decision> NextWherePermitWasTaken(const ClusterState& state, Micros now);

  PerSlot<StarvationClocks> pool_clocks_, job_clocks_;
  PerSlot<std::unique_ptr<StarvationWatch>> watches_;  // of Kinds()
  std::vector<Served> served_;
  // The pools and jobs for which tasks were killed, as long as they live.
  PerSlot<std::set<std::string>> pools_first_;
  PerSlot<std::set<JobId>> jobs_first_;
  // Slots freed by the last Preempt() and not taken yet: the nodes of maps, and those of reduces that computed.
  std::vector<NodeId> freed_, permits_taken_at_;
  Micros round_ended_ = 0;  // the end of the last round
};

}  // namespace millrace::sched
