// PhaseAdmission: FRESH's admission control (section III there; docs/policies.md#fresh): at most k jobs in their map
// phase (M) and at most k in their reduce phase (R). A job whose maps are all done leaves M and enters R, or waits for
// it in R', first come first served. Reduces start only in R.
//
// Jobs enter M in the order of the batch: by priority, then in submit order; with `order = johnson` by Johnson's rule
// (slot_split.h) on what was estimated of them when they came. Jobs that have begun already come first, so that a new
// policy goes on with what the old one began, and a restarted master with what it had let in.
//
// What the paper does not have: a job whose map outputs are lost keeps its place in R or R', its maps may run again
// beside the k of M (repair: its reduces hold slots and wait for them), and it starts no reduce until they are done; in
// R' it lets others pass meanwhile. A job that was evicted for lack of space goes back to the line before M.
//
// Thread rule: one thread. A change costs O(log jobs).
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "base/ids/ids.h"
#include "schedulers/cluster/cluster_state.h"
#include "schedulers/core/policy_view.h"
#include "schedulers/policies/fresh/fresh_settings.h"
#include "schedulers/policies/fresh/slot_split.h"

namespace millrace::sched {

// Returns what the job has yet to do: the tasks that are not done, and how long each takes (MeasuredTime).
[[nodiscard]] PhaseProfile RemainingPhases(const ClusterState& state, const JobState& job);

class PhaseAdmission {
 public:
  enum class Phase : std::uint8_t { kNone, kWaiting, kMap, kReady, kReduce };  // none, before M, M, R', R

  explicit PhaseAdmission(const FreshSettings& settings) : settings_(settings) {}

  // Call these as a Policy is told (policy.h). No job moves before Settle().
  void OnJobSubmitted(const ClusterState& state, JobId job);
  void OnJobPrioritySet(const ClusterState& state, JobId job);
  void OnJobEnded(JobId job);
  void OnJobChanged(JobId job);

  // Moves jobs on. Returns the live jobs that moved or changed since the last call, each once; the reference is valid
  // until the next call. O(1) when nothing has changed.
  const std::vector<JobId>& Settle(const ClusterState& state);

  // Returns the phase that the last Settle() put the job in.
  [[nodiscard]] Phase PhaseOf(JobId job) const { return job.value < jobs_.size() ? jobs_[job.value].phase : Phase{}; }
  // Returns true if FRESH lets the job launch tasks of the kind.
  [[nodiscard]] bool MayRun(const ClusterState& state, TaskKind kind, JobId job) const;
  // Returns true if the job has left M and has maps to run again.
  [[nodiscard]] bool InRepair(const ClusterState& state, JobId job) const;
  // Returns the job that enters M next; nothing if none waits.
  [[nodiscard]] std::optional<JobId> NextToEnter() const;
  [[nodiscard]] std::size_t Count(Phase phase) const { return lines_[static_cast<std::size_t>(phase)].size(); }
  // Returns all jobs: those in R, in R', in M, then those that wait, each line in its order.
  [[nodiscard]] std::vector<JobId> InOrder() const;
  // Returns why runnable jobs are held back, by job, then kind.
  [[nodiscard]] std::vector<WaitView> Waits(const ClusterState& state) const;

 private:
  // A place in the line of a phase. Not every part is used in each.
  struct Place {
    bool fresh = true;  // nothing of it has run yet in the phase that it waits for
    JohnsonKey rule{PhaseProfile()};
    std::uint64_t turn = 0;
    QueueKey key;
    auto operator<=>(const Place&) const = default;
  };
  struct Entry {
    Phase phase = Phase::kNone;
    bool dirty = false;
    Place place;
  };
  static constexpr std::size_t kPhases = 5;

  void Touch(JobId job);
  void Move(const JobState& job, Phase phase, const Place& place);
  void Wait(const ClusterState& state, const JobState& job);
  void MoveOn(const ClusterState& state, const JobState& job);
  // Lets jobs in from one line to the next, as many as k allows.
  void Fill(const ClusterState& state, Phase from, Phase to);
  [[nodiscard]] std::set<Place>& Line(Phase phase) { return lines_[static_cast<std::size_t>(phase)]; }
  [[nodiscard]] bool HasRoom(Phase phase) const { return settings_.k == 0 || Count(phase) < settings_.k; }

  FreshSettings settings_;
  std::vector<Entry> jobs_;  // by job id
  std::set<Place> lines_[kPhases];
  std::uint64_t turns_ = 0;
  std::vector<JobId> dirty_, moved_;
  bool settle_ = false;  // a place came free
};

}  // namespace millrace::sched
