// StarvationClocks: until when members of fair queues that lack slots wait for them to come by themselves.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/ids/time.h"
#include "schedulers/policies/fair/fair_queue.h"

namespace millrace::sched {

class StarvationClocks {
 public:
  enum class Cause : std::uint8_t { kMinimum, kFairShare };
  // A member that could use one more slot without being lifted above its minimum, or above its share.
  struct Lack {
    const FairQueue::Member* member = nullptr;
    Cause cause = Cause::kMinimum;
  };
  using Patience = std::function<Micros(const Lack&)>;

  // `patience` says how long each waits. Requires of all calls: no two members have the same id and name.
  explicit StarvationClocks(Patience patience) : patience_(std::move(patience)) {}

  // Requires: the clock does not run.
  void Start(const Lack& lack, Micros now);
  // Requires: the clock runs.
  void Stop(const Lack& lack);
  // Let the member wait anew, and until then. Requires: the clock runs.
  void BeginAnew(const Lack& lack, Micros now) { Postpone(lack, now + patience_(lack)); }
  void Postpone(const Lack& lack, Micros until);
  // Lets the member wait until it has more than `running` slots, or than it had when it had fewest since, and then
  // anew: what was taken for it went back to those it was taken from, and would do so again. Requires: the clock runs.
  void Rest(const Lack& lack, std::uint32_t running);
  // Begins the waits anew of those that rest and have gained a slot. What they have lost since they began to rest, or
  // since the last call, they may gain again.
  void WakeThoseThatGained(Micros now);
  // Sets each clock that runs here and there, of members with the same id and name, as it stands there.
  void SetAs(const StarvationClocks& other);
  // Returns true if the clock runs.
  [[nodiscard]] bool Runs(const Lack& lack) const { return until_.contains(lack); }
  // Returns who has waited for too long by now, the first due first.
  [[nodiscard]] std::vector<Lack> Due(Micros now) const;
  // Returns when something is due next; nothing if no clock runs, or all that run rest.
  [[nodiscard]] std::optional<Micros> NextDue() const;

  struct Earlier {
    bool operator()(const Lack& a, const Lack& b) const;
    bool operator()(const std::pair<Micros, Lack>& a, const std::pair<Micros, Lack>& b) const;
  };
  // Returns until when each waits, but for those that rest.
  [[nodiscard]] const std::map<Lack, Micros, Earlier>& waiting() const { return until_; }

 private:
  Patience patience_;
  std::map<Lack, Micros, Earlier> until_;
  std::set<std::pair<Micros, Lack>, Earlier> by_time_;  // what is in until_
  std::map<Lack, std::uint32_t, Earlier> resting_;      // clocks that run, too: the slots that were too few
};

}  // namespace millrace::sched
