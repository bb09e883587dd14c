// StarvationWatch: which members of a FairQueue lack slots. It starts the clock of each that comes to lack some, and
// stops the clock of each that does not any more.
//
// The rule, as code, at each call of Update(now):
//
//   for member in the queue, cause in (minimum, fair share):
//     if the member would not use one more slot, or it would lift it above its minimum, or share: its clock stands
//     else if its clock runs: nothing changes
//     else: its clock starts
//
// The clocks of a member that is erased stop at once.
//
// A member may stand for others within it that share its slots, as a pool does for its jobs. These have a watch of
// their own, which is asked for each member likewise.
//
// Only those are asked for whom the answer may differ from the last: members with a new claim or bound (FairQueue), and
// of those whose share follows the common level the ones whose share has left the range in which the last answer holds.
// These stand by the ends of their ranges in two sets. A call costs O(log) for each member that is asked. Thread rule:
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
  // Updates the watch of those within the member, who share out this many units. Returns with how many nobody's clock
  // would start or stop; those given are among them.
  using Within = std::function<UnitRange(const FairQueue::Member& member, Units units, Micros now)>;

  // Requires: queue and clocks outlive this object, and the queue is empty and has no other watch.
  StarvationWatch(FairQueue& queue, StarvationClocks& clocks, Within within = {});
  StarvationWatch(const StarvationWatch&) = delete;
  StarvationWatch& operator=(const StarvationWatch&) = delete;
  ~StarvationWatch() override = default;

  void Update(Micros now);
  // Returns with which capacities of the queue no clock would have started or stopped in the last call of Update().
  // Requires: nothing has changed since.
  [[nodiscard]] UnitRange SteadyCapacities() const;

 private:
  using Cause = StarvationClocks::Cause;
  struct Standing;
  // By the level at which the shares leave their ranges.
  struct LeavesUpwardsFirst {
    bool operator()(const Standing* a, const Standing* b) const;
  };
  struct LeavesDownwardsFirst {
    bool operator()(const Standing* a, const Standing* b) const;
  };
  using Upwards = std::set<Standing*, LeavesUpwardsFirst>;
  using Downwards = std::set<Standing*, LeavesDownwardsFirst>;
  // What is known of a member.
  struct Standing : FairQueue::Watcher::Note {
    explicit Standing(const FairQueue::Member& of) : member(of) {}
    const FairQueue::Member& member;
    bool to_ask = false;                        // stands in to_ask_
    bool below_minimum = false, lacks = false;  // its clocks run
    // Where it stands in the sets, if its share follows the level: the answer holds while its share is in the range.
    bool follows = false;
    UnitRange steady;
    Units weight = 1;
    Upwards::iterator up;
    Downwards::iterator down;
  };

  void OnChanged(FairQueue::Member& member) override;
  void OnErased(FairQueue::Member& member) override;
  void Ask(Standing& standing, Micros now);
  // Puts the member where it belongs in the sets.
  void Place(Standing& standing, bool follows, const UnitRange& steady);
  void Turn(const Standing& standing, Cause cause, bool& lacked, bool lacks, Micros now);

  FairQueue& queue_;
  StarvationClocks& clocks_;
  const Within within_;
  std::vector<Standing*> to_ask_;
  Upwards upwards_;      // whose range has an end
  Downwards downwards_;  // whose range does not begin with 0
};

}  // namespace millrace::sched
