// SPDX-License-Identifier: Apache-2.0
// PhaseAdmission: the admission control of FRESH (section III of its paper; docs/schedulers/policies.md#fresh).
//
// The rule, as code, whenever jobs have changed; |M| and |R| are bounded by k, and k = 0 means no bound:
//
//   for each job that waits, in order: if its pool has room, it takes a place there             // pool_places.h
//   for each changed job: if all its maps are done and it waits or is in M, it goes to the end of R'
//   while |M| < k and a job waits:                          the first that waits goes to M
//   while |R| < k and a job of R' has all its maps done:    the first such goes to R
//   jobs in M may run maps; jobs in R may start reduces, whatever their slow start
//
// The jobs that wait are in this order. First come those that have begun already, so that a new policy continues with
// the jobs that the old one began, and a restarted master with the jobs that it had let in. The others follow by
// priority and submit order or, with `order = johnson`, by Johnson's rule (slot_split.h) on the estimates made when the
// jobs came. In R', the jobs whose reduces have begun already come first; the others are first come, first served.
//
// A job that waits without a place in its pool is skipped: it goes neither to M nor to R'.
//
// Additions to the paper: a job whose map outputs are lost keeps its place in R or R'. Its maps may run again beside
// the k jobs of M (repair, since its reduces hold slots and wait for them), and it starts no reduce until they are
// done. In R' other jobs overtake it meanwhile. A job that was evicted for lack of space goes back to the line before
// M.
//
// A job is in one phase at a time:
//
//   phase     in the paper   comes from                           leaves when
//   kNone     -              -                                    submitted
//   kWaiting  -              kNone; any, when it is evicted       M has room; its maps are all done
//   kMap      M              kWaiting                             its maps are all done
//   kReady    R'             kMap, kWaiting                       R has room and its maps are all done
//   kReduce   R              kReady                               it ends
//
// Thread rule: one thread. A change costs O(log jobs).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/ids/ids.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/cluster/job_table.h"
#include "schedulers/core/policy_view.h"
#include "schedulers/policies/fresh/fresh_settings.h"
#include "schedulers/policies/fresh/pool_places.h"
#include "schedulers/policies/fresh/slot_split.h"

namespace millrace::sched {

// Returns the remaining work of the job: the tasks that are not done, and the time of each (MeasuredTime).
[[nodiscard]] PhaseProfile RemainingPhases(const ClusterState& state, const JobState& job);

// Returns k for `scheduler show`.
[[nodiscard]] Fact KFact(std::uint32_t k);

class PhaseAdmission {
 public:
  enum class Phase : std::uint8_t { kNone, kWaiting, kMap, kReady, kReduce };

  // Without `places`, pools do not limit the number of their running jobs.
  explicit PhaseAdmission(const FreshSettings& settings, std::optional<PoolPlaces> places = {})
      : settings_(settings), places_(std::move(places)) {}

  // Call these with the same rules as in a Policy (policy.h). No job changes its phase before ApplyChanges().
  void OnJobSubmitted(const ClusterState& state, JobId job);
  void OnJobPrioritySet(const ClusterState& state, JobId job);
  void OnJobEnded(JobId job);
  void OnJobChanged(JobId job);

  // Moves the jobs that changed to the phases they have reached, and lets jobs in where there is room. Returns the live
  // jobs that moved or changed since the last call, each once. The reference is valid until the next call. O(1) when
  // nothing has changed.
  const std::vector<JobId>& ApplyChanges(const ClusterState& state);

  // Returns the phase of the job after the last ApplyChanges().
  [[nodiscard]] Phase PhaseOf(JobId job) const {
    const JobPhase* const known = jobs_.Find(job);
    return known == nullptr ? Phase::kNone : known->phase;
  }
  // Returns true if FRESH lets the job launch tasks of the kind.
  [[nodiscard]] bool MayRun(const ClusterState& state, TaskKind kind, JobId job) const;
  // Returns true if the job has left M and has maps to run again.
  [[nodiscard]] bool InRepair(const ClusterState& state, JobId job) const;
  // Returns the job that enters M next; nothing if none waits.
  [[nodiscard]] std::optional<JobId> NextToEnter() const;
  [[nodiscard]] std::size_t Count(Phase phase) const { return Line(phase).size(); }
  // Returns the jobs in the phase, in order.
  [[nodiscard]] std::vector<JobId> JobsIn(Phase phase) const;
  // Returns all jobs: those in R, in R', in M, then those that wait, each in order.
  [[nodiscard]] std::vector<JobId> InOrder() const;
  // Returns the reasons why runnable jobs are held back, by job, then kind.
  [[nodiscard]] std::vector<WaitView> Waits(const ClusterState& state) const;

 private:
  // The place of a job in the line of its phase. Not every phase uses every part.
  struct LinePlace {
    bool untouched = true;  // no task of the job has run yet in the phase that it waits for
    JohnsonKey rule{PhaseProfile()};
    std::uint64_t turn = 0;
    QueueKey key;
    auto operator<=>(const LinePlace&) const = default;
  };
  struct JobPhase {
    Phase phase = Phase::kNone;
    bool changed = false;  // the job is in changed_
    LinePlace place;
  };
  static constexpr std::size_t kPhases = 5;

  void NoteChanged(JobId job);
  void Enter(const JobState& job, Phase phase, const LinePlace& place);
  void EnterWaiting(const ClusterState& state, const JobState& job);
  // Moves the job to the phase that its own state requires: to R' when its maps are done, back to the line before M
  // when it was evicted.
  void Advance(const ClusterState& state, const JobState& job);
  // Let in as many jobs as k and their pools allow: AdmitWaiting from those that wait, AdmitReady from R' to R.
  void AdmitWaiting(const ClusterState& state);
  void AdmitReady(const ClusterState& state);
  // Gives the job a place in its pool, if it has none. Returns false if the pool has no room.
  bool TakePlace(const JobState& job);
  [[nodiscard]] std::set<LinePlace>& Line(Phase phase) { return lines_[static_cast<std::size_t>(phase)]; }
  [[nodiscard]] const std::set<LinePlace>& Line(Phase phase) const { return lines_[static_cast<std::size_t>(phase)]; }
  [[nodiscard]] bool HasRoom(Phase phase) const { return settings_.k == 0 || Count(phase) < settings_.k; }

  FreshSettings settings_;
  std::optional<PoolPlaces> places_;
  JobTable<JobPhase> jobs_;
  std::set<LinePlace> lines_[kPhases];
  std::uint64_t turns_ = 0;
  std::vector<JobId> changed_, reported_;
  // True if, since the last ApplyChanges, a waiting job came or changed, or may have got room.
  bool waiting_changed_ = false;
};

}  // namespace millrace::sched
