// PhaseWork: the remaining work that fresh-dynamic weighs (FRESH section V.B; docs/schedulers/policies.md#fresh).
//
//   w'_m, w'_r = pending maps, or reduces, of a job x their mean time
//   RW_m = sum of w'_m over M; RW_r = sum of w'_r over R and R'; a = the job of M with the least (w'_m, id)
//
// The mean time is the job's own, else its user's estimate, else that of its history, else the cluster's. Sums over
// jobs that use the cluster's mean are kept as numbers of tasks, not as times, so that a change of that mean costs
// nothing. Thread rule: one thread. Cost: a change is O(log jobs), Outlook is O(1).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/policies/fresh/expected_map_slots.h"
#include "schedulers/policies/fresh/phase_admission.h"

namespace millrace::sched {

class PhaseWork {
 public:
  // Updates the counts of the job. Call this when the job changed, or moved to another phase.
  void Refresh(const JobState& job, PhaseAdmission::Phase phase);
  // Stops counting the job.
  void Remove(JobId job);

  // Returns the inputs of ExpectedMapSlots. The mean time between the ends of reduces is the mean time of a reduce
  // divided by the number of running reduces (Little's law). This rule needs no clock, and its inputs are known again
  // after a restart.
  [[nodiscard]] PhaseOutlook Outlook(const ClusterState& state, const PhaseAdmission& admission) const;

 private:
  // The work of one job, or of several.
  struct Work {
    double timed = 0;           // slot-us, of jobs with a time of their own
    std::uint64_t untimed = 0;  // tasks of the others

    [[nodiscard]] double Total(Micros mean) const {
      return timed + static_cast<double>(untimed) * static_cast<double>(mean);
    }
    void Add(const Work& other) { timed += other.timed, untimed += other.untimed; }
    void Subtract(const Work& other) { timed -= other.timed, untimed -= other.untimed; }
  };
  // The counts of one job.
  struct JobWork {
    PerKind<bool> counted;
    bool own_time = false;  // its maps have a time of their own
    PerKind<Work> work;
  };

  static Work PendingWork(const JobState& job, TaskKind kind);
  // Uncount takes the job's work of the kind out of the sums and the orders, if it is counted. Count puts it in.
  void Uncount(JobId job, TaskKind kind);
  void Count(const JobState& job, TaskKind kind);
  // Returns the job of M with the least map work. `mean` is the cluster's mean time of a map.
  [[nodiscard]] std::optional<JobId> LeastMapWork(Micros mean) const;

  std::vector<JobWork> jobs_;  // by job id
  PerKind<Work> sums_;
  PerKind<std::uint32_t> counted_ = {};  // jobs
  // Jobs in M by their map work: in timed_ those with a time of their own, in untimed_ the others.
  std::set<std::pair<double, JobId>> timed_;
  std::set<std::pair<std::uint64_t, JobId>> untimed_;
};

}  // namespace millrace::sched
