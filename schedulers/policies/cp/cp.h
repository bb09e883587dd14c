// cp: MRCP, the constraint-programming scheduler of Lim, Majumdar and Ashwood-Smith (ICPE 2015), as docs/policies.md#cp
// mends it: minimise an objective of late jobs and turnarounds over the order in which jobs get slots.
//
// The rule, as code:
//
//   at each event:
//     if jobs arrived, nodes came or went, tasks are pending again, or what tasks take has changed by a fifth:
//       hand the planner a picture of the cluster                                   // cp_snapshot.h; all news at once
//     if the planner has a plan: the order of jobs is that of the plan              // cp_order.h
//   for a free slot: as in any order (greedy.h), the first job in order with a task for it launches its closest
//
//   a plan = the order of jobs, maps and reduces each, whose simulated run has the least objective  // cp/plan/search.h
//
// So no slot idles for the sake of a start time, and tasks are bound to nodes late, by locality. Until the first plan
// with a new job is there, the job stands in the old order by its deadline.
//
// With `cp.background` the planner has a thread of its own and decisions depend on when it is ready; without, it plans
// in Next() when a free slot needs it, by a count of evaluations, and the same events give the same decisions.
//
// Thread rule: one thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "schedulers/offering/admission.h"
#include "schedulers/offering/greedy.h"
#include "schedulers/policies/cp/cp_order.h"
#include "schedulers/policies/cp/cp_settings.h"
#include "schedulers/policies/cp/cp_snapshot.h"
#include "schedulers/policies/cp/plan/planner.h"

namespace millrace::sched {

class Cp : public GreedyOver<CpOrder> {
 public:
  // With the planner that the settings ask for. One that runs in the background reads the steady clock for its budget:
  // the only clock in schedulers/.
  Cp(std::string name, const CpSettings& settings, Admission admission);
  Cp(std::string name, const CpSettings& settings, Admission admission, std::unique_ptr<Planner> planner);

  void OnJobSubmitted(const ClusterState& state, JobId job) override;
  void OnJobEnded(const ClusterState& state, JobId job) override;
  void OnJobChanged(const ClusterState& state, JobId job) override;
  void OnNodesChanged(const ClusterState& state) override;
  std::optional<Decision> Next(const ClusterState& state, Micros now) override;
  [[nodiscard]] std::optional<Micros> NextWake(const ClusterState& state) const override;
  [[nodiscard]] PolicyView View(const ClusterState& state, Micros now) const override;

 private:
  // Hands the planner a new picture if one is due.
  void Replan(const ClusterState& state, Micros now);
  // Returns true if some job's times differ from those in the last picture.
  [[nodiscard]] bool TimesMoved(const std::map<JobId, TaskTimes>& times) const;

  const CpSettings settings_;
  const std::unique_ptr<Planner> planner_;
  bool due_ = false;                           // something happened that asks for another plan
  std::map<JobId, TaskTimes> finished_times_;  // of the live jobs, as of the last change of more than a little
  std::map<JobId, TaskTimes> times_;           // of the last picture
  std::optional<Micros> review_;
  std::optional<Plan> plan_;  // the last, for people
};

}  // namespace millrace::sched
