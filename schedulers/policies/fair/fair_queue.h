// FairQueue: which of several claimants of slots comes first under fair sharing (docs/policies.md#fair). The pools of
// `fair` are such claimants, and so are the jobs of one pool.
//
// The rule, as code (Zaharia et al., section 3.1; shares: shares.h):
//
//   Before(a, b):
//     if a is below its minimum and b is not: yes; the other way round: no
//     if both are: the lower running / minimum
//     else:        the lower running / share
//     among equals: the lower id, then the lower name
//
// The queue is kept in order through every change: four sorted sets, of those below their minimum, and of those whose
// share is their minimum, their demand, or follows the level that all shares have in common. The latter stand by
// running/weight, which does not change with the level. A call that asks for the order merges the sets. A change and a
// step of a visit cost O(log). New shares take effect at the next call that asks for them.
//
// Thread rule: one thread, const calls included.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schedulers/policies/fair/water_level.h"

namespace millrace::sched {

struct FairClaim {
  Units weight = kSlot;
  std::uint32_t minimum = 0;
  std::uint32_t demand = 0;  // running and runnable tasks, at most the maximum
  std::uint32_t running = 0;
  bool offered = false;  // stands in the queue: can take a slot
  bool operator==(const FairClaim&) const = default;
};

class FairQueue {
 public:
  class Member;

 private:
  enum class Shelf : std::uint8_t { kBelowMinimum, kAtMinimum, kByLevel, kAtDemand, kNone };
  static constexpr std::size_t kShelves = 4;
  // Where a member stands: on which shelf, and by running/divisor among those there.
  struct Stand {
    Shelf shelf = Shelf::kNone;
    std::uint32_t running = 0;
    Units divisor = 1;  // at least 1
    bool operator==(const Stand&) const = default;
  };
  struct TieEarlier {
    bool operator()(const Member* a, const Member* b) const;
  };
  struct StandEarlier {  // of two on one shelf
    bool operator()(const Member* a, const Member* b) const;
  };

 public:
  // Requires, as for WaterLevel::Member: it is in one queue at most, and erased before it is destroyed.
  class Member : public WaterLevel::Member {
   public:
    using WaterLevel::Member::Member;
    [[nodiscard]] const FairClaim& fair() const { return fair_; }

   private:
    friend class FairQueue;
    FairClaim fair_;
    Stand stand_;
    bool present_ = false;
  };

  void SetCapacity(Units capacity);
  // Inserts the member, or changes its claim.
  void Put(Member& member, const FairClaim& claim) {
    if (!member.present_ || claim != member.fair_) Change(member, claim);
  }
  void Erase(Member& member);

  // Calls take(member, its id) for those offered, in order, until it returns true. Returns that member, or null. `take`
  // changes nothing here.
  template <class Take>
  Member* Visit(const Take& take);
  // Returns true if `a` comes before `b`. Requires: both are offered.
  [[nodiscard]] bool Before(const Member& a, const Member& b);
  // Return the member's share in slots, and in whole units, rounded down.
  [[nodiscard]] double Share(const Member& member);
  [[nodiscard]] Units ShareUnits(const Member& member);
  // Makes the shares those of the claims. Every call that needs the shares does this first.
  void RecomputeShares();
  // Begins to note changes for ConsumeChanges(). Requires: the queue is empty, and its members' names will differ.
  void NoteChanges() { notes_changes_ = true; }
  // Returns, by name, the members of which the claim, the minimum as it is granted or the bound has changed since the
  // last call; null for those that have been erased. Of the others only shares that follow the level have changed.
  std::map<std::string, Member*> ConsumeChanges();
  // Return true if the member would use one more slot, and this would not lift it above its share, or above its minimum
  // as it is granted.
  [[nodiscard]] bool IsBelowShare(const Member& member);
  [[nodiscard]] bool IsBelowMinimum(const Member& member);

 private:
  [[nodiscard]] static Stand StandOf(const Member& member);
  // Does the work of Put() for a claim that is new.
  void Change(Member& member, const FairClaim& claim);
  void NoteChange(Member& member);
  // Moves the member to where it belongs now that its claim or bound has changed.
  void Move(Member& member);
  void GrantMinima();
  [[nodiscard]] static WaterLevel::Claim LevelClaim(const FairClaim& fair, Units minimum);
  [[nodiscard]] bool Less(const Member& a, const Member& b) const;
  [[nodiscard]] double Ratio(const Member& member) const;

  WaterLevel level_;
  std::set<Member*, TieEarlier> members_;
  std::set<Member*, StandEarlier> shelves_[kShelves];
  std::uint64_t minima_ = 0;  // slots, as far as there is demand for them
  bool settled_ = true, scaled_ = false, notes_changes_ = false;
  std::map<std::string, Member*> changes_;
  std::vector<WaterLevel::Member*> moved_;  // by the last RecomputeShares()
};

template <class Take>
FairQueue::Member* FairQueue::Visit(const Take& take) {
  RecomputeShares();
  std::set<Member*, StandEarlier>::const_iterator heads[kShelves];
  for (std::size_t shelf = 0; shelf < kShelves; ++shelf) heads[shelf] = shelves_[shelf].begin();
  while (true) {
    std::size_t from = kShelves;
    for (std::size_t shelf = 0; shelf < kShelves; ++shelf) {
      if (heads[shelf] == shelves_[shelf].end()) continue;
      if (from == kShelves || Less(**heads[shelf], **heads[from])) from = shelf;
    }
    if (from == kShelves) return nullptr;
    Member* first = *heads[from]++;
    if (take(*first, first->id())) return first;
  }
}

}  // namespace millrace::sched
