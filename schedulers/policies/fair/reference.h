// SPDX-License-Identifier: Apache-2.0
// FairReference: the rule of `fair` without anything that makes it fast (fair.h). Tests check FairOrder against it.
//
// It keeps only the jobs that max_running_jobs has admitted. Each call computes the shares of all pools again, and from
// them the whole order of the jobs:
//
//   pools, in order:  FairClaim of each pool (fair_queue.h), with the granted minima (shares.h)
//   jobs of a pool:   by the pool's order; as claimants of the pool's whole share where that order is fair or mlq
//
// A share is a whole number of 1/65536 of a slot, or the quotient of two such numbers, and shares are compared as in
// fair_queue.h. That is why the shares of FairOrder and FairReference are equal to the last bit.
//
// Cost of a call: O((pools + jobs) log). Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "schedulers/offering/job_order.h"
#include "schedulers/policies/fair/fair_queue.h"
#include "schedulers/policies/fair/fair_settings.h"
#include "schedulers/settings/settings.h"

namespace millrace::sched {

class FairReference : public JobOrder {
 public:
  // Requires: OnJobSubmitted is called for each job before the job has begun.
  explicit FairReference(const Settings& settings, SlotKind reduces = kReduceSlot)
      : settings_(settings), reduces_(reduces) {}

  void OnJobSubmitted(const ClusterState& state, JobId job) override;
  void OnJobEnded(const ClusterState& state, JobId job) override;
  void OnJobChanged(const ClusterState& state, JobId job) override;
  std::optional<JobId> Offer(const ClusterState& state, SlotKind kind, Micros now, const Take& take) const override;
  [[nodiscard]] bool Before(const ClusterState& state, SlotKind kind, Micros now, JobId a, JobId b) const override;
  [[nodiscard]] bool MayRun(const ClusterState& state, SlotKind kind, JobId job) const override;
  [[nodiscard]] bool MayHoldBack(const ClusterState& state, JobId job) const override;
  // Returns the jobs, in pools of order fair, that could use one more slot of the kind without being lifted above their
  // share of the pool's share.
  [[nodiscard]] std::set<JobId> JobsBelowShare(const ClusterState& state, SlotKind kind) const;

 protected:
  struct Pool {
    std::set<JobId> jobs, admitted;
  };
  // Returns the slots that the pool is guaranteed on top of the minimum of its settings.
  [[nodiscard]] virtual std::uint32_t ExtraOf(const ClusterState&, SlotKind, const std::string&) const { return 0; }
  [[nodiscard]] virtual Units WeightOf(SlotKind kind, const std::string& pool) const;

  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] SlotKind reduces() const { return reduces_; }
  // Returns the pools with live jobs.
  [[nodiscard]] const std::map<std::string, Pool>& pools() const { return pools_; }

 private:
  // Admits as many of the pool's jobs as may run, in the order of priority, then submit order.
  void AdmitNext(const ClusterState& state, const std::string& name);
  [[nodiscard]] PoolOrder OrderOf(const std::string& name) const;
  [[nodiscard]] FairClaim ClaimOf(const ClusterState& state, SlotKind kind, const std::string& name) const;
  // Returns the jobs that may be offered a slot, in order.
  [[nodiscard]] std::vector<JobId> Order(const ClusterState& state, SlotKind kind) const;
  // Returns the order of the jobs of one pool, which divides `slots` among them.
  [[nodiscard]] std::vector<JobId> OrderIn(const ClusterState& state, SlotKind kind, const std::string& name,
                                           Units slots) const;

  struct Bounds {
    std::uint32_t minimum = 0, maximum = 0xffffffff;
  };
  // Returns the bounds of the pool's settings for slots of this kind.
  [[nodiscard]] Bounds BoundsOf(SlotKind kind, const std::string& name) const;

  const Settings settings_;
  const SlotKind reduces_;             // the kind of slot in which minima and maxima of reduces are counted
  std::map<std::string, Pool> pools_;  // with live jobs
};

}  // namespace millrace::sched
