// SPDX-License-Identifier: Apache-2.0
// StarvationWatch: watches which members of a FairQueue lack slots. It starts the clock of each member that begins to
// lack slots, and stops the clock of each member that no longer lacks any.
//
// The rule, as code, at each call of Update(now):
//
//   for member in the queue, cause in (minimum, fair share):
//     if the member would not use one more slot, or would rise above its minimum, or share, with it: its clock stops
//     else if its clock runs: nothing changes
//     else: its clock starts
//
// The clocks of a member that is erased stop at once.
//
// A member may stand for others within it that share its slots, as a pool does for its jobs. The members within have a
// watch of their own, which is updated together with that of the member.
//
// A call checks only members whose state may have changed: those with a new claim or bound (FairQueue), and those whose
// share follows the common level and has left the range in which the last result holds. Members that follow the level
// are kept in two sets, by the ends of their ranges. A call costs O(log) for each member that it checks. Thread rule:
// one thread.
#pragma once

#include <functional>
#include <set>
#include <vector>

#include "base/ids/time.h"
#include "schedulers/policies/fair/fair_queue.h"
#include "schedulers/policies/fair/starvation_clocks.h"

namespace millrace::sched {

class StarvationWatch : private FairQueue::Watcher {
 public:
  // Updates the watch of the members within `member`, which share `units`. Returns the range of units for which no
  // clock would start or stop; it contains `units`.
  using Within = std::function<UnitRange(const FairQueue::Member& member, Units units, Micros now)>;

  // Requires: queue and clocks outlive this object, and the queue is empty and has no other watch.
  StarvationWatch(FairQueue& queue, StarvationClocks& clocks, Within within = {});
  StarvationWatch(const StarvationWatch&) = delete;
  StarvationWatch& operator=(const StarvationWatch&) = delete;
  ~StarvationWatch() override = default;

  void Update(Micros now);
  // Returns the range of capacities of the queue for which no clock would have started or stopped in the last call of
  // Update(). Requires: nothing has changed since.
  [[nodiscard]] UnitRange SteadyCapacities() const;

 private:
  using Cause = StarvationClocks::Cause;
  struct Standing;
  // These sort members by the level at which their shares leave their ranges.
  struct LeavesUpwardsFirst {
    bool operator()(const Standing* a, const Standing* b) const;
  };
  struct LeavesDownwardsFirst {
    bool operator()(const Standing* a, const Standing* b) const;
  };
  using Upwards = std::set<Standing*, LeavesUpwardsFirst>;
  using Downwards = std::set<Standing*, LeavesDownwardsFirst>;
  // The watch's record of a member.
  struct Standing : FairQueue::Watcher::Note {
    explicit Standing(const FairQueue::Member& of) : member(of) {}
    const FairQueue::Member& member;
    bool to_ask = false;                        // stands in to_ask_
    bool below_minimum = false, lacks = false;  // its clocks run
    // If the member's share follows the level: its places in the sets, and the range of shares in which the last result
    // holds.
    bool follows = false;
    UnitRange steady;
    Units weight = 1;
    Upwards::iterator up;
    Downwards::iterator down;
  };

  void OnChanged(FairQueue::Member& member) override;
  void OnErased(FairQueue::Member& member) override;
  void Ask(Standing& standing, Micros now);
  // Puts the member in its place in the sets.
  void Place(Standing& standing, bool follows, const UnitRange& steady);
  void Turn(const Standing& standing, Cause cause, bool& lacked, bool lacks, Micros now);

  FairQueue& queue_;
  StarvationClocks& clocks_;
  const Within within_;
  std::vector<Standing*> to_ask_;
  Upwards upwards_;      // members whose range has an end
  Downwards downwards_;  // members whose range does not begin with 0
};

}  // namespace millrace::sched
