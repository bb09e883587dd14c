// StarvedPools: which pools lack slots of a kind, and until when each waits for them to come by themselves.
//
// The rule, as code, at each call of Update(now):
//
//   for member in the queue, cause in (minimum, fair share):
//     if the member would not use one more slot, or it would lift it above its minimum, or share: it waits for nothing
//     else if it waits for that already: nothing changes
//     else: it waits until now + patience(member, cause)
//
// Only those that may have changed are asked: members with a new claim or bound (FairQueue), and of those whose share
// follows the common level the ones that the level has passed. These stand by the level at which they begin to lack a
// slot, in two sets, which are what the last call found. A call costs O(log) for each member that is asked. Thread
// rule: one thread.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids/time.h"
#include "schedulers/policies/fair/fair_queue.h"

namespace millrace::sched {

class StarvedPools {
 public:
  enum class Cause : std::uint8_t { kMinimum, kFairShare };
  // A pool that could use one more slot without being lifted above its minimum, or above its share.
  struct Lack {
    std::string pool;
    Cause cause = Cause::kMinimum;
    auto operator<=>(const Lack&) const = default;
  };
  using Patience = std::function<Micros(const Lack&)>;

  // Requires: the queue outlives this object, is empty, and has no two members of the same name. No other object of
  // this class looks at it.
  StarvedPools(FairQueue& queue, Patience patience);

  void Update(Micros now);
  // Returns what pools have lacked for too long by now, the first due first.
  [[nodiscard]] std::vector<Lack> Due(Micros now) const;
  // Lets the pool wait anew. Requires: it waits for that.
  void BeginAnew(const Lack& lack, Micros now);
  // Returns what pools lack, and until when each waits for it.
  [[nodiscard]] const std::map<Lack, Micros>& waiting() const { return until_; }
  // Returns when something is due next; nothing if no pool waits.
  [[nodiscard]] std::optional<Micros> NextDue() const;

 private:
  struct Standing;
  struct Earlier {
    bool operator()(const Standing* a, const Standing* b) const;
  };
  using Followers = std::set<Standing*, Earlier>;
  // A member, and, if its share follows the level, where: it begins to lack a slot when the level is at next / weight.
  struct Standing {
    std::string_view name;
    FairQueue::Member* member = nullptr;
    std::uint64_t next = 0;
    Units weight = 1;
    Followers* set = nullptr;  // the one that it is in
  };

  // Puts the member into the set where it belongs, if its share follows the level.
  void Enter(Standing& standing);
  void Leave(Standing& standing);
  void Move(Standing& standing, Followers& to, Micros now);
  // Moves the followers that the level has passed to the other set.
  void FollowLevel(Micros now);
  void Note(const Lack& lack, bool lacks, Micros now);

  FairQueue& queue_;
  Patience patience_;
  std::map<std::string, Standing> standings_;
  Followers content_, lacking_;
  std::map<Lack, Micros> until_;
  std::set<std::pair<Micros, Lack>> by_time_;  // what is in until_
};

}  // namespace millrace::sched
