// SPDX-License-Identifier: Apache-2.0
// DlReference: the rule of `dl` (dl.h), taken literally. It offers every free slot to every job at every call, and
// remembers only the turn. It is slow and knows no `+delay`; only tests link it, to check Dl against it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedulers/core/policy.h"
#include "schedulers/offering/admission.h"
#include "schedulers/offering/job_order.h"

namespace millrace::sched {

class DlReference : public Policy {
 public:
  explicit DlReference(Admission admission) : admission_(std::move(admission)) {}

  [[nodiscard]] std::string_view name() const override { return "reference"; }
  [[nodiscard]] NodeLimits LimitsOf(const NodeState& node) const override;
  std::optional<Decision> Next(const ClusterState& state, Micros now) override;
  [[nodiscard]] bool WaitsForSpace(const ClusterState& state, Micros now) const override;

 private:
  std::optional<Decision> LaunchOf(const ClusterState& state, TaskKind kind, NodeId node) const;

  Admission admission_;
  PerKind<std::uint32_t> turn_ = {};
};

// LasReference: the rule of `las` (las.h), taken literally. It adds up the run times of a job's running attempts one by
// one, climbs the levels one by one, and sorts all jobs for each offer. Only tests link it.
class LasReference : public JobOrder {
 public:
  explicit LasReference(Micros quantum) : quantum_(quantum) {}

  std::optional<JobId> Offer(const ClusterState& state, SlotKind kind, Micros now, const Take& take) const override;
  [[nodiscard]] bool Before(const ClusterState& state, SlotKind kind, Micros now, JobId a, JobId b) const override;

 private:
  const Micros quantum_;
};

// KarmaReference: the rules of `karma` (karma.h) and of its accounts, taken literally. It counts what every pool runs
// by a walk over all jobs, and grants slots one by one from lists that it sorts for each. Only tests link it.
class KarmaReference : public JobOrder {
 public:
  struct Terms {
    double alpha = 0.5;
    Micros quantum = 0, forget = 0;
  };
  explicit KarmaReference(const Terms& terms, SlotKind reduces = kReduceSlot) : terms_(terms), reduces_(reduces) {}

  void OnJobSubmitted(const ClusterState& state, JobId job) override;
  void OnJobEnded(const ClusterState& state, JobId job) override;
  void OnJobChanged(const ClusterState& state, JobId job) override;
  void OnNodesChanged(const ClusterState&) override { changed_ = true; }
  PerSlot<bool> BeginRound(const ClusterState& state, Micros now) override;
  std::optional<JobId> Offer(const ClusterState& state, SlotKind kind, Micros now, const Take& take) const override;
  [[nodiscard]] bool Before(const ClusterState& state, SlotKind kind, Micros now, JobId a, JobId b) const override;

 private:
  struct Account {
    Micros credits = 0;
    std::uint32_t demand = 0, granted = 0, lent = 0, borrowed = 0;
  };
  struct Pool {
    bool member = false;
    Micros empty_since = 0;
    std::size_t came = 0;
    PerKind<Account> accounts;
  };
  void Settle(TaskKind kind, Micros passed);
  void Grant(TaskKind kind);

  const Terms terms_;
  const SlotKind reduces_;
  std::map<std::string, Pool> pools_;
  std::map<JobId, std::string> jobs_;  // the live ones
  std::map<JobId, PerSlot<std::uint32_t>> ran_;
  bool changed_ = false;
  PerKind<Micros> slots_ = {};
  std::optional<Micros> planned_;
};

}  // namespace millrace::sched
