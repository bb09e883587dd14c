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

}  // namespace millrace::sched
