// SPDX-License-Identifier: Apache-2.0
// CpOrder: the job order that follows a plan of `cp` (problem.h) as slots are offered.
//
// The rule by which a plan becomes an order, as code. The rule does not use start times, so no slot waits for one.
//
//   a free map slot:                                                               // section 4.4.1, lines 9 to 19
//     for each chunk of plan.maps with a map left, in order:
//       if its job takes the slot: the chunk has one map fewer, and return
//   a free reduce slot:                                                            // line 20
//     for each job of plan.reduces, in order:
//       if all its maps are done and it takes the slot: return                     // section 4.4.1.1
//   a free compute permit on a node:
//     goes to the first job of plan.reduces that has a reduce waiting there
//   a job that the plan does not know:
//     goes before the first planned job with a later deadline, or last if there is none; such jobs go by deadline
//   maps that are pending again: go back to the job's first chunk with a map left, or to its last chunk
//
// A reduce that started before the maps of its job have ended would hold its slot and finish nothing. A job without a
// deadline counts as one whose deadline is later than all others, so without a plan this order is edf.
//
// Thread rule: one thread. O(log jobs) for a change and for an assignment, O(jobs) for a new job, O(plan) for a plan.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "schedulers/offering/job_order.h"
#include "schedulers/policies/cp/problem.h"

namespace millrace::sched {

class CpOrder : public JobOrder {
 public:
  [[nodiscard]] std::unique_ptr<JobOrder> Clone(const ClusterState&) const override {
    return std::make_unique<CpOrder>(*this);
  }
  // Follows this plan from now on. The plan may be slightly out of date; maps that were launched since it was made are
  // crossed off.
  void Follow(const ClusterState& state, const Plan& plan);
  // Returns true if tasks became pending again since the last call, or those of a job that was over its user's limit.
  bool ConsumeTasksReturned() { return std::exchange(tasks_returned_, false); }
  // Returns the live jobs in the order in which map slots go to them, whether they have a pending map or not.
  [[nodiscard]] std::vector<JobId> Jobs() const;

  void OnJobSubmitted(const ClusterState& state, JobId job) override;
  void OnJobEnded(const ClusterState& state, JobId job) override;
  void OnJobChanged(const ClusterState& state, JobId job) override;
  PerSlot<bool> BeginRound(const ClusterState& state, Micros now) override;
  std::optional<JobId> Offer(const ClusterState& state, SlotKind kind, Micros now, const Take& take) const override;
  [[nodiscard]] bool Before(const ClusterState& state, SlotKind kind, Micros now, JobId a, JobId b) const override;
  [[nodiscard]] bool MayRun(const ClusterState& state, SlotKind kind, JobId job) const override;
  [[nodiscard]] PolicyView View(const ClusterState& state, Micros now) const override;

 private:
  struct Rank {
    std::uint64_t position = 0;  // in the plan
    bool planned = false;        // false: the job goes before the planned job at this position
    Micros deadline = 0;
    std::uint64_t submit_order = 0;
    JobId job;
    auto operator<=>(const Rank&) const = default;
  };
  struct Chunk {
    std::uint64_t position = 0;
    std::uint32_t maps = 0;
  };
  struct OrderedJob {
    std::vector<Chunk> chunks;
    std::size_t next = 0;                 // the first chunk with maps left
    PerKind<std::uint32_t> pending = {};  // tasks by TaskKind, as last seen
    bool over_limit = false;              // JobState::over_limit, as last seen
    PerKind<Rank> ranks;
  };

  // Ranks a job that is not in the plan.
  void RankByDeadline(const JobState& job, OrderedJob* ordered) const;
  // Crosses this number of launched maps off the job's chunks.
  static void CrossOff(OrderedJob* ordered, std::uint32_t maps);
  void Enlist(const JobState& job, const OrderedJob& ordered);
  void Delist(const OrderedJob& ordered);

  std::map<JobId, OrderedJob> jobs_;
  PerSlot<std::set<Rank>> runnable_;
  bool tasks_returned_ = false;
  bool let_in_ = false;  // the maps of some job with pending reduces have ended
};

}  // namespace millrace::sched
