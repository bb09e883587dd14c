// The rules of FRESH as they are printed (Wang et al., Algorithms 1 to 4) and mended in
// docs/schedulers/policies.md#fresh. They are applied to the whole state each time, without sums, lines or searches.
// They are slow; only tests link them, to check the fast forms:
//
//   PlayAlgorithmOne       slot_split.h     every makespan, and the least of them
//   LeastServedFirst       least_served.h   the first job, as a comparison of whole fractions
//   FreshDynamicReference  fresh_dynamic.h  every decision: the kind, the job, the task and the node
//
// Which jobs are in M, R' and R is not decided again; PhaseAdmission decides it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "schedulers/core/policy.h"
#include "schedulers/policies/fresh/expected_map_slots.h"
#include "schedulers/policies/fresh/fresh_settings.h"
#include "schedulers/policies/fresh/phase_admission.h"
#include "schedulers/policies/fresh/slot_split.h"

namespace millrace::sched {

// Returns the time at which the batch ends with s_m map slots and s_r reduce slots: lines 6 to 21 of Algorithm 1, one
// round of the while loop after another.
[[nodiscard]] double PlayAlgorithmOne(const std::vector<PhaseProfile>& batch, double s_m, double s_r, std::uint32_t k);

// A job's use of the cluster: r_i = used / age (equation 1).
struct ServiceFraction {
  JobId job;
  std::uint32_t running = 0;  // tasks
  std::uint32_t weight = 4;   // 4 w_i
  Micros used = 0;            // run times of all tasks, finished and running
  Micros age = 1;             // now - T_i; a job that has not started before now has 0 / 1
};
// Returns true if the job of `a` comes before that of `b`: by r_i / w_i, then by running tasks / w_i, then by id.
[[nodiscard]] bool LeastServedFirst(const ServiceFraction& a, const ServiceFraction& b);
// Returns the fraction of the job at `now`, computed from each of its running tasks.
[[nodiscard]] ServiceFraction ServiceOf(const JobState& job, Micros now);

class FreshDynamicReference {
 public:
  explicit FreshDynamicReference(const FreshSettings& settings) : settings_(settings) {}

  // Returns the decision of FreshDynamic::Next. Requires: this is called once after each call of FreshDynamic::Next,
  // with the same state, and `admission` is that policy's.
  std::optional<Decision> Next(const ClusterState& state, const PhaseAdmission& admission, Micros now);
  // Records that reduces were preempted for a map.
  void NotePreempted() { slot_for_map_ = true; }

 private:
  // Returns the decision that gives a slot to a task of the job, if a free node may run one.
  std::optional<Decision> LaunchOf(const ClusterState& state, TaskKind kind, const JobState& job);

  const FreshSettings settings_;
  PerKind<std::uint32_t> next_node_ = {};  // the node whose turn is next
  bool slot_for_map_ = false;              // NotePreempted was called just before
};

}  // namespace millrace::sched
