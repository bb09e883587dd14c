// SPDX-License-Identifier: Apache-2.0
// StarvationClocks: the times until which members of fair queues that lack slots wait for slots to become free by
// themselves.
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

  // `patience` returns how long each member waits. Requires, for all calls: no two members have the same id and name.
  explicit StarvationClocks(Patience patience) : patience_(std::move(patience)) {}

  // Requires: the clock does not run.
  void Start(const Lack& lack, Micros now);
  // Requires: the clock runs.
  void Stop(const Lack& lack);
  // BeginAnew starts the member's wait again, and Postpone lets the member wait until the time `until`. Requires: the
  // clock runs and does not rest.
  void BeginAnew(const Lack& lack, Micros now) { Postpone(lack, now + patience_(lack)); }
  void Postpone(const Lack& lack, Micros until);
  // Suspends the member's wait until it has more than `running` slots, or more than the fewest that it has had since;
  // then its wait starts again. This is for a member for which slots were taken that went back to their former holders,
  // as they would again. Requires: the clock runs.
  void Rest(const Lack& lack, std::uint32_t running);
  // Starts the waits again of members that rest and have gained a slot. If a member has lost slots since it began to
  // rest, or since the last call, the lower number counts for it from then on.
  void WakeThoseThatGained(Micros now);
  // Sets each clock that runs in both objects (for members with the same id and name) to its state in `other`.
  void SetAs(const StarvationClocks& other);
  // Returns true if the clock runs and does not rest.
  [[nodiscard]] bool Runs(const Lack& lack) const { return until_.contains(lack); }
  // Returns the members that have waited for too long by now, the first due first.
  [[nodiscard]] std::vector<Lack> Due(Micros now) const;
  // Returns the time at which a clock is next due; nothing if no clock runs, or all running clocks rest.
  [[nodiscard]] std::optional<Micros> NextDue() const;

  struct Earlier {
    bool operator()(const Lack& a, const Lack& b) const;
    bool operator()(const std::pair<Micros, Lack>& a, const std::pair<Micros, Lack>& b) const;
  };
  // Returns the time until which each member waits, except for those that rest.
  [[nodiscard]] const std::map<Lack, Micros, Earlier>& waiting() const { return until_; }

 private:
  Patience patience_;
  std::map<Lack, Micros, Earlier> until_;
  std::set<std::pair<Micros, Lack>, Earlier> by_time_;  // the contents of until_
  std::map<Lack, std::uint32_t, Earlier>
      resting_;  // resting clocks, which count as running: the slots that were too few
};

}  // namespace millrace::sched
