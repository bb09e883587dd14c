// SPDX-License-Identifier: Apache-2.0
// RankedOrder: an order of jobs that somebody else has given, for each kind of slot. The jobs that it does not name
// (they may have come later) follow in the order of another JobOrder. Thread rule: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "schedulers/offering/job_order.h"

namespace millrace::sched {

class RankedOrder : public JobOrder {
 public:
  explicit RankedOrder(std::unique_ptr<JobOrder> rest) : rest_(std::move(rest)) {}

  // Replaces the order for slots of this kind. Requires: no job occurs twice. Jobs that have ended do no harm.
  void Set(SlotKind kind, std::vector<JobId> jobs);
  // While `passed_over`, the other order alone counts.
  void PassOver(bool passed_over) { passed_over_ = passed_over; }

  [[nodiscard]] std::unique_ptr<JobOrder> Clone(const ClusterState& state) const override;
  [[nodiscard]] std::string Refusal(const JobSpec& spec) const override { return rest_->Refusal(spec); }
  void OnJobSubmitted(const ClusterState& state, JobId job) override { rest_->OnJobSubmitted(state, job); }
  void OnJobPrioritySet(const ClusterState& state, JobId job) override { rest_->OnJobPrioritySet(state, job); }
  void OnJobEnded(const ClusterState& state, JobId job) override { rest_->OnJobEnded(state, job); }
  void OnJobChanged(const ClusterState& state, JobId job) override { rest_->OnJobChanged(state, job); }
  void OnNodesChanged(const ClusterState& state) override { rest_->OnNodesChanged(state); }
  PerSlot<bool> BeginRound(const ClusterState& state, Micros now) override;
  std::optional<JobId> Offer(const ClusterState& state, SlotKind kind, Micros now, const Take& take) const override;
  [[nodiscard]] bool Before(const ClusterState& state, SlotKind kind, Micros now, JobId a, JobId b) const override;
  // The program decides, and not the maximum of a pool that the other order may know.
  [[nodiscard]] bool MayRun(const ClusterState& state, SlotKind kind, JobId job) const override;
  [[nodiscard]] bool MayHoldBack(const ClusterState& state, JobId job) const override;
  [[nodiscard]] std::optional<Micros> NextWake(const ClusterState& state) const override {
    return rest_->NextWake(state);
  }
  [[nodiscard]] PolicyView View(const ClusterState& state, Micros now) const override;

 private:
  struct Ranks {
    std::vector<JobId> jobs;                                 // in order
    std::unordered_map<std::uint32_t, std::uint32_t> place;  // by job; looked up, not walked
  };
  // Returns the order that counts now.
  [[nodiscard]] const Ranks& RanksOf(SlotKind kind) const { return passed_over_ ? none_ : ranks_[kind]; }
  [[nodiscard]] bool Names(SlotKind kind, JobId job) const { return RanksOf(kind).place.contains(job.value); }

  std::unique_ptr<JobOrder> rest_;
  PerSlot<Ranks> ranks_;
  Ranks none_;
  bool passed_over_ = false;
};

}  // namespace millrace::sched
