// DlReference: the rule of `dl` (dl.h) as it reads: every job is asked for every free slot at every call, and nothing
// is remembered but whose turn it is. It is slow, knows no `+delay`, and only tests link it; they hold Dl to it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "schedulers/core/policy.h"
#include "schedulers/offering/admission.h"

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

}  // namespace millrace::sched
