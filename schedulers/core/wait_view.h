// SPDX-License-Identifier: Apache-2.0
// WaitView: the reason why no further task of a job is launched now, or why none of its copied reduces may compute. It
// is a cause with numbers, and the same in words.
//
// The cause is binding: if it were lifted, the job would get the slot or the permit at once, or the view would name the
// next cause if several hold the job back. The cause comes from the policy's own decision and is not a guess from
// outside. Thread rule: values, and free functions for any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"
#include "schedulers/events/slot_kind.h"

namespace millrace::sched {

class ClusterState;

enum class WaitCause : std::uint8_t {
  kUndecided,    // no cause: a slot is free, and the next round gives it to the job
  kNoSlots,      // no node that takes tasks has such a slot
  kSlotsBusy,    // each such slot is in use; `others` come first. For permits: `others` hold the permits of its nodes
  kCrowded,      // `used` of `of` are in use; tasks beyond a limit that was lowered take the room of the other slots
  kOffNodes,     // its tasks failed on each of the `of` nodes with a free slot
  kNoRoom,       // the expected output of its next map fits on none of the `of` nodes with a free slot
  kFarFromData,  // `+delay`: the free slots are farther from its data than `only`, until `until`
  kCopyLimit,    // `+ccs`: each of the `of` nodes with a free slot has as many of its reduces in copy as it may
  kGathering,    // slots gather until `until`, to be assigned together
  kGroupFull,    // its group runs `used` of at most `of` tasks
  kGroupJobs,    // its group runs `used` of at most `of` jobs, and it is not among them
  kUserJobs,     // its user has `used` jobs in pool `group` that run or are next to run, of at most `of`
  kRunsAlone,    // the first of `others` runs alone
  kPhaseFull,    // `used` jobs of at most `of` are in the phase that it waits to enter
  kMapsFirst,    // `used` of its maps are done, and its reduces start when `of` are
  kElsewhere,    // free slots are not in its datacenter, which is `group`
  kPaused,       // its only tasks that do not run have failed and will be tried again, the first (`task`) at `until`
  kGaveWay,      // it was evicted for lack of room for map outputs, until another job has ended
  kOnHold,       // its owner or an operator holds it (JobHeld)
};

// For a wait for a busy slot or permit: the jobs that would get the next one to become free, if nothing else happened
// before. The trials of engine_trial.h show this. The counts are of running tasks whose end frees a slot or permit of
// the kind.
struct NextFreed {
  std::uint32_t running = 0;  // all these tasks
  std::uint32_t tried = 0;    // the tasks among these for which trials stand
  std::uint32_t to_it = 0;    // the tried tasks that would leave the slot or permit to the job
  // The jobs that would get the slots of the other tried tasks. `takers` names the first kMostNamed, the one that would
  // get the most first; `taker_count` is the number of all.
  std::vector<JobId> takers;
  std::uint32_t taker_count = 0;
  // `of_groups` are the groups all of whose tried tasks would leave the slot to the job, and `not_of_groups` those none
  // of whose tried tasks would. If the policy has no groups, or a group belongs to neither list, both are empty, and
  // `of_jobs` and `not_of_jobs` list the jobs of the tried tasks in the same way. If a job belongs to neither list, all
  // four are empty.
  std::vector<std::string> of_groups, not_of_groups;
  std::vector<JobId> of_jobs, not_of_jobs;

  [[nodiscard]] bool all_tried() const { return tried == running; }
};

struct WaitView {
  WaitView() = default;
  WaitView(JobId waiting, SlotKind for_slot, WaitCause why, std::uint32_t in_use = 0, std::uint32_t most = 0)
      : job(waiting), slot(for_slot), cause(why), used(in_use), of(most) {}

  JobId job;
  SlotKind slot = kMapSlot;  // the kind of slot that it waits for
  WaitCause cause = WaitCause::kUndecided;
  std::uint32_t used = 0;
  std::uint32_t of = 0;
  // The jobs that `cause` refers to: `others` names the first kMostNamed in the order of the policy, and `other_count`
  // is the number of all. The number is empty if the policy assigns slots in no order of jobs; `rule` then describes
  // how it assigns them.
  std::vector<JobId> others;
  std::optional<std::uint32_t> other_count;
  std::string rule;  // "to the map closest to it"
  std::optional<NextFreed> next;
  std::string group;
  std::uint32_t begun = 0;  // for kUserJobs: of the `used` jobs, those that have begun
  // For kSlotsBusy, if the policy shares the slots among groups: the slots that the job's group holds, and its share.
  std::uint32_t group_used = 0;
  std::optional<double> group_share;
  // `+delay`: no slot farther from the data than this is taken before `until`.
  std::optional<Locality> only;
  std::optional<Micros> since, until;
  std::optional<TaskId> task;

  static constexpr std::size_t kMostNamed = 3;
  // Counts one more job, and names it if it is one of the first.
  void AddOther(JobId other) {
    other_count = other_count.value_or(0) + 1;
    if (others.size() < kMostNamed) others.push_back(other);
  }
  // Returns this wait, with the jobs that `ahead` has gathered if it is a wait for a busy slot.
  [[nodiscard]] WaitView Behind(const WaitView& ahead) &&;
};

// Returns the reason why a task of the kind cannot be placed though its job may run. Requires: no slot of the kind is
// free. O(nodes).
[[nodiscard]] WaitView NoFreeSlot(const ClusterState& state, TaskKind kind, JobId job);

// Returns the name of a cause for programs: "slots-busy", "far-from-data".
[[nodiscard]] std::string_view ToText(WaitCause cause);

// Returns the wait as a clause without a full stop: "all 8 map slots are busy; 2 jobs are ahead (job3 ads HIGH, job1
// logs)". `group_noun` is the policy's word for its groups. Requires: the job lives.
[[nodiscard]] std::string InWords(const WaitView& wait, const ClusterState& state, Micros now,
                                  std::string_view group_noun = "pool");

// Returns a number of slots that need not be whole: "4", "5.2".
[[nodiscard]] std::string SlotsInWords(double slots);

// Sorts waits by job, then kind of slot.
inline void SortWaits(std::vector<WaitView>* waits) {
  std::stable_sort(waits->begin(), waits->end(), [](const WaitView& a, const WaitView& b) {
    return std::tie(a.job, a.slot) < std::tie(b.job, b.slot);
  });
}

}  // namespace millrace::sched
