// SPDX-License-Identifier: Apache-2.0
// fresh-dynamic: slots have no type until they are filled (Wang et al., "FRESH", section V, Algorithms 2 to 4;
// docs/schedulers/policies.md#fresh).
//
// The rule, as code, for a free slot at time `now`:
//
//   kind = ExpectedMapSlots(...) > running maps ? map : reduce            // Algorithm 2; CalExpSm is Algorithm 3
//   for each of kind, the other kind:
//     C = the jobs with a pending task of that kind: in M for maps, in R for reduces     // section III, line 2 to 3
//     for each job of C, by r_i / w_i:                                                    // Algorithm 4, equation 1
//       if a free node may run a task of the job: launch it there, and return
//
// CalExpSm is in expected_map_slots.h, M and R are in phase_admission.h, r_i and w_i are below: r_i is the
// job's slot time so far / (now - its first start), w_i the weight of its priority. Pools and their weights do not
// count. Of several free nodes, one that holds the data of the job's first pending map comes first, else the next in
// turn by id. The closest map is launched there, or the reduce with the lowest index.
//
// Additions to the paper:
// - If no task of the chosen kind can run, the other kind gets the slot: no slot idles because of its type.
// - Maps that must run again because their output was lost come before all other tasks, since reduces that hold slots
//   wait for them.
// - Slots without a type can all be held by reduces that wait for such a map. Then, of these reduces on nodes where the
//   map may run, the one launched last is preempted (stalled_reduces.h). A map comes first for its slot, whatever kind
//   Algorithm 2 chooses. A reduce that computes has all its input and is never preempted.
// - A reduce does not start before all maps of its job are done, whatever the job's slow start, since only jobs in R
//   start reduces.
//
// The fractions and the sums of remaining work are computed for each decision from the state. Only two things are kept
// between decisions: the turn, and whether a slot was freed for a map.
//
// Thread rule: one thread. Cost of an assignment: O(jobs that live) and O(log nodes), so that 200 jobs cost less than
// 20 us (docs/inside/performance.md#twins), and a search over the free nodes for each job whose tasks none of them may
// run.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/cluster/job_state.h"
#include "schedulers/core/policy.h"
#include "schedulers/policies/fresh/fresh_settings.h"
#include "schedulers/policies/fresh/phase_admission.h"

namespace millrace::sched {

// Finds the job that has had the least of the cluster so far (FRESH, Algorithm 4 and equation 1;
// docs/schedulers/policies.md#fresh).
//
// The rule, as code:
//
//   r_i = 0 if job i has not started before now, else
//         (run times of its finished and running tasks, of maps and reduces together) / (now - T_i),
//         where T_i is the time at which its first task started;
//   w_i = 4, 2, 1, 0.5 or 0.25 by the priority of job i, VERY_HIGH to VERY_LOW, as in `fair`;
//   the first job = the least by (r_i / w_i, running tasks / w_i, job id).
//
// The paper has only r_i. All jobs are equal when a batch starts, and the paper's rule would give every free slot of
// that moment to one job. The paper has no priorities; among jobs of one priority the order is the paper's.
//
// The order of the r_i changes even when only time passes, so no order is kept. Fractions are compared as whole
// numbers, so equal ones are equal. Thread rule: free functions over their arguments. O(1) each.

// A job's use of the cluster: r_i = used / age.
struct ServiceFraction {
  JobId job;
  std::uint32_t running = 0;  // tasks
  std::uint32_t weight = 4;   // 4 w_i, which is a whole number
  Micros used = 0;            // run times of all tasks, finished and running
  Micros age = 1;             // now - T_i; a job that has not started before now has 0 / 1
};

// Returns the fraction of the job at `now`.
[[nodiscard]] ServiceFraction ServiceOf(const JobState& job, Micros now);
// Returns true if the job of `a` comes before that of `b`. This is a strict order of jobs with different ids.
[[nodiscard]] bool LeastServedFirst(const ServiceFraction& a, const ServiceFraction& b);

class FreshDynamic : public Policy {
 public:
  explicit FreshDynamic(const FreshSettings& settings) : settings_(settings), admission_(settings) {}

  [[nodiscard]] std::string_view name() const override { return "fresh-dynamic"; }
  [[nodiscard]] std::unique_ptr<Policy> Clone(const ClusterState&) const override {
    return std::make_unique<FreshDynamic>(*this);
  }
  void OnJobSubmitted(const ClusterState& state, JobId job) override;
  void OnJobPrioritySet(const ClusterState& state, JobId job) override;
  void OnJobEnded(const ClusterState& state, JobId job) override;
  void OnJobChanged(const ClusterState& state, JobId job) override;
  [[nodiscard]] NodeLimits LimitsOf(const NodeState& node) const override { return NodeLimits::Untyped(node.slots); }
  Limits BeginRound(const ClusterState& state, Micros now) override;
  std::vector<Victim> Preempt(const ClusterState& state, Micros now) override;
  std::optional<Decision> Next(const ClusterState& state, Micros now) override;
  [[nodiscard]] bool WaitsForSpace(const ClusterState& state, Micros now) const override;
  [[nodiscard]] bool WantsSlots(const ClusterState& state, TaskKind kind, Micros now) const override;
  [[nodiscard]] std::uint32_t MapsBeforeReduces(const ClusterState& state, JobId job) const override {
    return state.FindJob(job)->progress.maps;
  }
  [[nodiscard]] PolicyView View(const ClusterState& state, Micros now) const override;
  [[nodiscard]] const PhaseAdmission& admission() const { return admission_; }

 private:
  [[nodiscard]] TaskKind KindOfFreeSlot(const ClusterState& state) const;
  std::optional<Decision> LaunchLeastServed(const ClusterState& state, TaskKind kind, Micros now);
  std::optional<Decision> LaunchRepair(const ClusterState& state);
  // Returns the launch of a task of the job on a free node; nothing if no free node may run one.
  std::optional<Decision> LaunchOf(const ClusterState& state, TaskKind kind, JobId job);
  [[nodiscard]] std::optional<Decision> LaunchAtData(const ClusterState& state, const JobState& job) const;
  // Returns C of Algorithm 4, in no order: the jobs with a task of the kind that may run, except Repairs.
  [[nodiscard]] std::vector<ServiceFraction> Candidates(const ClusterState& state, TaskKind kind, Micros now) const;
  // Returns the jobs past M with maps to run again, by id.
  [[nodiscard]] std::vector<JobId> Repairs(const ClusterState& state) const;
  // Returns the jobs with tasks of the kind that the policy would launch, by priority and submit order.
  [[nodiscard]] std::vector<JobId> JobsWith(const ClusterState& state, TaskKind kind) const;

  FreshSettings settings_;
  PhaseAdmission admission_;
  PerKind<std::uint32_t> next_node_;  // the node whose turn is next
  bool slot_for_map_ = false;         // reduces have just given up the next slot for a map
};

}  // namespace millrace::sched
