// SPDX-License-Identifier: Apache-2.0
// GreedyReference: the rule of Greedy (greedy.h), taken literally. It offers every free slot to every job at every
// call, and remembers only the turn. It is slow; only tests link it, to check Greedy against it.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "schedulers/core/policy.h"
#include "schedulers/offering/admission.h"
#include "schedulers/offering/job_order.h"

namespace millrace::sched {

class GreedyReference : public Policy {
 public:
  GreedyReference(std::unique_ptr<JobOrder> order, Admission admission)
      : order_(std::move(order)), admission_(std::move(admission)) {}

  [[nodiscard]] std::string_view name() const override { return "reference"; }
  void OnJobSubmitted(const ClusterState& state, JobId job) override;
  void OnJobPrioritySet(const ClusterState& state, JobId job) override { order_->OnJobPrioritySet(state, job); }
  void OnJobEnded(const ClusterState& state, JobId job) override;
  void OnJobChanged(const ClusterState& state, JobId job) override;
  void OnNodesChanged(const ClusterState& state) override;
  [[nodiscard]] NodeLimits LimitsOf(const NodeState& node) const override;
  Limits BeginRound(const ClusterState& state, Micros now) override;
  std::optional<AttemptId> NextToCompute(const ClusterState& state, Micros now) override;
  [[nodiscard]] bool MayHoldBack(const ClusterState& state, JobId job) const override {
    return order_->MayHoldBack(state, job);
  }
  std::optional<Decision> Next(const ClusterState& state, Micros now) override;
  [[nodiscard]] bool WaitsForSpace(const ClusterState& state, Micros now) const override;
  [[nodiscard]] bool MayRun(const ClusterState& state, TaskKind kind, JobId job) const override {
    return order_->MayRun(state, kind, job);
  }

 private:
  std::optional<Decision> NextOf(const ClusterState& state, TaskKind kind, Micros now);
  std::optional<Decision> AtItsData(const ClusterState& state, JobId first, Micros now);
  std::optional<Decision> OfferAt(const ClusterState& state, TaskKind kind, NodeId node, Micros now);
  std::optional<Decision> OfferIdle(const ClusterState& state, NodeId node, Micros now);

  std::unique_ptr<JobOrder> order_;
  Admission admission_;
  PerKind<std::uint32_t> turn_ = {};
};

}  // namespace millrace::sched
