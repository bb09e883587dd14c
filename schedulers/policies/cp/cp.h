// SPDX-License-Identifier: Apache-2.0
// cp: MRCP, the constraint-programming scheduler of Lim, Majumdar and Ashwood-Smith (ICPE 2015), as mended in
// docs/schedulers/policies.md#cp. It minimises an objective of late jobs and turnarounds over the order in which jobs
// get slots.
//
// The rule, as code: when a new plan is made (sections 4.4.1 and 4.4.2, Tables 2 and 3).
//
//   when a job is submitted, a node comes or goes, a task is pending again, or finished tasks have changed the
//   expected time of their job's tasks by more than a fifth:
//     due = true
//   for each decision at `now`:                                                                   // assignTasks()
//     if due or review <= now:                                                                    // line 5
//       picture = MakeSnapshot(state, now);  review = picture.review                              // lines 2 and 3
//       if due, or the times of a job differ by more than a fifth from those last planned with:
//         planner.Submit(picture)                                                                 // line 6
//       due = false
//     if the planner has a better plan: order.Follow(plan)
//     give a free slot to the first job of the order that can use it                              // lines 9 to 20
//
// The picture is in cp_snapshot.h, the planner in planner.h and the rule for following a plan in cp_order.h. Tasks
// are bound to nodes late, by locality, as in all orders (offering/greedy.h). For a picture of fewer than two jobs, no
// plan is made.
//
// With `cp.background` the planner has a thread of its own, and decisions depend on when it is ready. Otherwise it
// plans within Next(), by a count of evaluations, and only when a free slot needs a plan: the same events give the same
// decisions.
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
#include "schedulers/policies/cp/planner.h"

namespace millrace::sched {

class Cp : public GreedyOver<CpOrder> {
 public:
  // Uses the planner that the settings select. A planner in the background reads the steady clock for its budget; this
  // is the only clock in schedulers/.
  Cp(std::string name, const CpSettings& settings, Admission admission);
  Cp(std::string name, const CpSettings& settings, Admission admission, std::unique_ptr<Planner> planner);

  // The copy plans as this one does if the planner is inline; else it follows the last plan.
  [[nodiscard]] std::unique_ptr<Policy> Clone(const ClusterState& state) const override;
  void OnJobSubmitted(const ClusterState& state, JobId job) override;
  void OnJobEnded(const ClusterState& state, JobId job) override;
  void OnJobChanged(const ClusterState& state, JobId job) override;
  void OnNodesChanged(const ClusterState& state) override;
  std::optional<Decision> Next(const ClusterState& state, Micros now) override;
  [[nodiscard]] std::uint32_t MapsBeforeReduces(const ClusterState& state, JobId job) const override {
    return state.FindJob(job)->progress.maps;
  }
  [[nodiscard]] std::optional<Micros> NextWake(const ClusterState& state) const override;
  [[nodiscard]] PolicyView View(const ClusterState& state, Micros now) const override;

 private:
  Cp(const Cp& other, std::unique_ptr<JobOrder> order, std::unique_ptr<Planner> planner);
  // Hands the planner a new picture if one is due.
  void Replan(const ClusterState& state, Micros now);
  // Returns true if some job's times differ from those in the last picture.
  [[nodiscard]] bool TimesMoved(const std::map<JobId, TaskTimes>& times) const;

  const CpSettings settings_;
  const std::unique_ptr<Planner> planner_;
  bool due_ = false;                           // an event requires another plan
  std::map<JobId, TaskTimes> finished_times_;  // of the live jobs, as of the last change of more than a fifth
  std::map<JobId, TaskTimes> times_;           // of the last picture
  std::optional<Micros> review_;
  std::optional<Plan> plan_;  // the last plan, for people
};

}  // namespace millrace::sched
