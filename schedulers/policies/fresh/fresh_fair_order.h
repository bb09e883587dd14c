// SPDX-License-Identifier: Apache-2.0
// FreshFairOrder: the job order of fresh-static. It offers slots to the jobs that FRESH's admission lets run
// (phase_admission.h), in the order of `fair`. A job takes part in fair sharing from the moment it enters its map
// phase. max_running_jobs of its pool is checked before the job enters (pool_places.h), and not by `fair`. Thread rule:
// one thread.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "schedulers/cluster/job_table.h"
#include "schedulers/policies/fair/fair.h"
#include "schedulers/policies/fresh/fresh_settings.h"
#include "schedulers/policies/fresh/phase_admission.h"

namespace millrace::sched {

class FreshFairOrder : public JobOrder {
 public:
  explicit FreshFairOrder(const Settings& settings)
      : admission_(settings.Of<FreshSettings>(), PoolPlaces(settings)),
        fair_(PoolPlaces::WithoutRunningLimits(settings)) {}

  // Makes a copy that, from this state on, decides as `other` does.
  FreshFairOrder(const ClusterState& state, const FreshFairOrder& other)
      : admission_(other.admission_),
        fair_(other.fair_.settings(), other.fair_.reduces()),
        jobs_(other.jobs_),
        let_in_(other.let_in_) {
    fair_.TakeOver(state, other.fair_);
  }
  [[nodiscard]] std::unique_ptr<JobOrder> Clone(const ClusterState& state) const override {
    return std::make_unique<FreshFairOrder>(state, *this);
  }

  // Moves the jobs that changed to the phases they have reached, and lets the next jobs in. Call this before slots are
  // offered, as BeginRound does, and again after a launch.
  void AdmitWaiting(const ClusterState& state);
  [[nodiscard]] const PhaseAdmission& admission() const { return admission_; }

  void OnJobSubmitted(const ClusterState& state, JobId job) override;
  void OnJobPrioritySet(const ClusterState& state, JobId job) override;
  void OnJobEnded(const ClusterState& state, JobId job) override;
  void OnJobChanged(const ClusterState& state, JobId job) override;
  void OnNodesChanged(const ClusterState& state) override { fair_.OnNodesChanged(state); }
  PerSlot<bool> BeginRound(const ClusterState& state, Micros now) override;
  // The jobs that may not run are held back in fair_.
  std::optional<JobId> Offer(const ClusterState& state, SlotKind kind, Micros now, const Take& take) const override {
    return fair_.Offer(state, kind, now, take);
  }
  [[nodiscard]] bool Before(const ClusterState& state, SlotKind kind, Micros now, JobId a, JobId b) const override;
  [[nodiscard]] bool MayRun(const ClusterState& state, SlotKind kind, JobId job) const override;
  [[nodiscard]] PolicyView View(const ClusterState& state, Micros now) const override;

 private:
  // The state of a job in fair_.
  struct KnownJob {
    bool submitted = false;
    PerKind<bool> may_run;  // by the admission's last decision; otherwise the job is held back
  };
  [[nodiscard]] bool IsKnown(JobId job) const {
    const KnownJob* const known = jobs_.Find(job);
    return known != nullptr && known->submitted;
  }

  PhaseAdmission admission_;
  FairOrder fair_;
  JobTable<KnownJob> jobs_;
  PerSlot<bool> let_in_;  // since the last round began
};

}  // namespace millrace::sched
