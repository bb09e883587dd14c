// fresh-dynamic: slots have no type until they are filled (Wang et al., "FRESH", Algorithms 2 to 4;
// docs/policies.md#fresh).
//
// At most k jobs are in their map phase (M) and k in their reduce phase (R) (phase_admission.h). A free slot becomes a
// map slot if more map slots are expected (CalExpSm, expected_map_slots.h) than maps run, else a reduce slot; if
// nothing of that kind can run, the other kind gets it. The slot goes to the job of M or R that has had the least of
// the cluster so far (Algorithm 4, least_served.h), and there to the map that is closest to the node. Of several free
// nodes one that holds the data of the job's first pending map comes first, else the next in turn by id.
//
// What the paper does not have:
// - Maps that must run again since their output was lost come before all else: reduces that hold slots wait for them.
// - Slots without a type can all be held by reduces that wait for such a map. Then the reduce among them that was
//   launched last, on a node where the map may run, is preempted. A reduce that computes has all its input and is never
//   preempted.
// - A reduce does not start before all maps of its job are done, whatever the job's slow start: that is what R means.
//
// Thread rule: one thread. Cost of an assignment: O(log) of nodes and jobs, and a look at each job in M or in R that
// has something pending (least_served.h). A job that no free node may take is asked again when an attempt ended
// or a task is pending again.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "schedulers/core/policy.h"
#include "schedulers/policies/fresh/fresh_settings.h"
#include "schedulers/policies/fresh/least_served.h"
#include "schedulers/policies/fresh/phase_admission.h"
#include "schedulers/policies/fresh/phase_work.h"

namespace millrace::sched {

class FreshDynamic : public Policy {
 public:
  explicit FreshDynamic(const FreshSettings& settings) : settings_(settings), admission_(settings) {}

  [[nodiscard]] std::string_view name() const override { return "fresh-dynamic"; }
  void OnJobSubmitted(const ClusterState& state, JobId job) override;
  void OnJobPrioritySet(const ClusterState& state, JobId job) override;
  void OnJobEnded(const ClusterState& state, JobId job) override;
  void OnJobChanged(const ClusterState& state, JobId job) override;
  void OnNodesChanged(const ClusterState& state) override;
  [[nodiscard]] NodeLimits LimitsOf(const NodeState& node) const override { return NodeLimits::Untyped(node.slots); }
  Limits BeginRound(const ClusterState& state, Micros now) override;
  std::vector<Victim> Preempt(const ClusterState& state, Micros now) override;
  std::optional<Decision> Next(const ClusterState& state, Micros now) override;
  [[nodiscard]] bool WaitsForSpace(const ClusterState& state, Micros now) const override;
  [[nodiscard]] PolicyView View(const ClusterState& state, Micros now) const override;
  [[nodiscard]] const PhaseAdmission& admission() const { return admission_; }

 private:
  // What a job had at the last look.
  struct Seen {
    std::uint32_t running = 0;  // attempts
    std::size_t pending = 0;    // tasks
    std::uint64_t failures = 0;
  };

  [[nodiscard]] static Seen Look(const JobState& job);
  void ApplyChanges(const ClusterState& state);
  [[nodiscard]] LeastServed& Line(TaskKind kind) { return lines_[kind]; }
  [[nodiscard]] TaskKind NextKind(const ClusterState& state) const;
  std::optional<Decision> Assign(const ClusterState& state, TaskKind kind, Micros now);
  std::optional<Decision> Repair(const ClusterState& state);
  std::optional<Decision> Place(const ClusterState& state, TaskKind kind, JobId job);
  [[nodiscard]] std::vector<JobId> JobsWithMaps() const;
  [[nodiscard]] bool MapFitsSomewhere(const ClusterState& state, const std::vector<JobId>& jobs) const;

  FreshSettings settings_;
  PhaseAdmission admission_;
  PhaseWork work_;
  PerKind<LeastServed> lines_;        // the jobs with a task that may run
  std::set<JobId> repairs_;           // jobs past M with maps to run again
  std::vector<Seen> seen_;            // by job id
  bool excluded_ = false;             // some job in either line is excluded
  PerKind<std::uint32_t> next_node_;  // where the turn goes on
};

}  // namespace millrace::sched
