// SPDX-License-Identifier: Apache-2.0
// lsap, lsap-uniform: assign all pending maps to all idle map slots at once, at the least total cost (Guo et al.,
// "Investigation of Data Locality and Fairness in MapReduce", section 3.2; docs/schedulers/policies.md#lsap).
//
// The rule, as code, when map slots are free and the state has changed since the last plan:
//
//   if slots may still gather: wait                                               // Batching, below
//   choose for each free slot at most one pending map, and for each map at most one slot, so that
//     as many maps run as can, and the sum of cost(map, node) is the least        // assignment.h
//   launch them all, before any other event
//   cost(map, node) = 0 if the node has a replica of the map's input
//                   = else the input's bytes / the measured bandwidth from its best replica   (`lsap`)
//                   = else the same for all                                       (`lsap-uniform`)
//
// transfer_costs.h has the details of the cost. With one free slot, lsap decides as `dl` does. Reduces are launched as
// in `fifo`; maps come before reduces.
//
// - Batching: slots may gather for `batch_window` before they are assigned. The default is 200 ms while less than 5% of
//   the map slots are free, and 0 otherwise. The window starts when the first slot is held back or, if that is earlier,
//   at the submission of the oldest job with a waiting map. No slot idles longer than the window.
// - The assignment is launched at once, before any other event. Launches that are not possible after all (the output
//   does not fit on the node) are left to `dl`, and so are the maps that `+delay` lets run in slots that would
//   otherwise idle.
// - With `+delay` a map is assigned only to nodes that its job's waits allow.
//
// Cost: for one free slot, that of `dl`; for several, O(candidates log) (lsap_candidates.h) and the solver. Thread
// rule: one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "schedulers/policies/lsap/lsap_candidates.h"
#include "schedulers/policies/lsap/lsap_settings.h"
#include "schedulers/policies/lsap/map_assignment.h"
#include "schedulers/policies/simple/dl.h"

namespace millrace::sched {

class Lsap : public Dl {
 public:
  enum class Cost : std::uint8_t { kMeasured, kUniform };
  Lsap(std::string name, const LsapSettings& settings, Cost cost, Admission admission);

  [[nodiscard]] std::unique_ptr<Policy> Clone(const ClusterState&) const override {
    return std::make_unique<Lsap>(*this);
  }
  void OnJobSubmitted(const ClusterState& state, JobId job) override;
  void OnJobPrioritySet(const ClusterState& state, JobId job) override;
  void OnJobEnded(const ClusterState& state, JobId job) override;
  void OnJobChanged(const ClusterState& state, JobId job) override;
  void OnNodesChanged(const ClusterState& state) override;
  std::optional<Decision> Next(const ClusterState& state, Micros now) override;
  // Returns false while slots gather, since no map has been refused yet.
  [[nodiscard]] bool WaitsForSpace(const ClusterState& state, Micros now) const override;
  [[nodiscard]] std::optional<Micros> NextWake(const ClusterState& state) const override;

 protected:
  using Task = MapAssignment::Task;

  [[nodiscard]] const LsapSettings& settings() const { return settings_; }
  [[nodiscard]] std::optional<Micros> GatheredAt() const override;
  [[nodiscard]] std::string_view WhoIsNext() const override { return "by the assignment of the least cost"; }
  // The additions of lsap-fair: groups, and the price of each task. A policy with groups does not use `dl` for one free
  // slot.
  [[nodiscard]] virtual std::optional<CandidateGroups> Groups() const { return std::nullopt; }
  virtual void Price(const ClusterState&, Micros, std::vector<Task>*) const {}
  // Returns the map for the only free slot, which is on this node, if it is known that a map with its data on the node
  // is the cheapest.
  [[nodiscard]] virtual std::optional<PendingMap> CheapestAtData(const ClusterState&, Micros, NodeId) const {
    return std::nullopt;
  }

 private:
  enum class Phase : std::uint8_t {
    kChanged,    // the state has changed since the last plan
    kGathering,  // as kChanged, and slots gather
    kPlanned     // only the plan's own launches have changed the state since
  };

  // Drops the plan, since the state has changed.
  void DropPlan();
  std::optional<Decision> NextOf(const ClusterState& state, Micros now);
  std::optional<Decision> NextPlanned(const ClusterState& state, Micros now);
  // Returns the phase that follows kChanged or kGathering.
  [[nodiscard]] Phase NextPhase(const ClusterState& state, Micros now);
  [[nodiscard]] Micros Window(const ClusterState& state) const;
  void MakePlan(const ClusterState& state, Micros now);
  // Returns the problem with the candidates and the free slots.
  MapAssignment Pose(const ClusterState& state, Micros now, const MapCandidates& candidates);

  const LsapSettings settings_;
  const Cost cost_;
  std::deque<Decision> plan_;
  Phase phase_ = Phase::kChanged;
  std::optional<JobId> launched_;                 // the job launched by the last decision, whose change is our own
  Micros gathering_since_ = 0, gathered_at_ = 0;  // in kGathering: when it began and when it ends
};

}  // namespace millrace::sched
