// SPDX-License-Identifier: Apache-2.0
// FairQueue: the order of several claimants of slots under fair sharing (docs/schedulers/policies.md#fair). The pools
// of `fair` are such claimants, and so are the jobs of one pool.
//
// The rule, as code (Zaharia et al., section 3.1; shares: shares.h):
//
//   Before(a, b):
//     if a is below its minimum and b is not: yes; the other way round: no
//     if both are: the lower running / minimum
//     else:        the lower running / share
//     among equals: the lower id, then the lower name
//
// The queue stays sorted through every change. Its members are in four sorted sets: those below their minimum, and
// those whose share is their minimum, is their demand, or follows the level that all shares have in common. The last
// set is sorted by running/weight, which does not change with the level. A call that needs the order merges the sets. A
// change and a step of a visit cost O(log). New shares take effect at the next call that needs them.
//
// Thread rule: one thread, const calls included.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
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
  bool offered = false;  // stands in the queue, since it can take a slot
  bool operator==(const FairClaim&) const = default;
};

class FairQueue {
 public:
  class Member;

 private:
  enum class Shelf : std::uint8_t { kBelowMinimum, kAtMinimum, kByLevel, kAtDemand, kNone };
  static constexpr std::size_t kShelves = 4;
  // The place of a member: its shelf, and its running/divisor, by which the shelf is sorted.
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
  using ShelfOrder = std::set<Member*, StandEarlier>;

 public:
  // An observer of the changes of a queue's members.
  class Watcher {
   public:
    virtual ~Watcher() = default;
    // The watcher's record of a member.
    struct Note {
      virtual ~Note() = default;
    };
    // Called when the member is new, or when its claim, its granted minimum or its bound has changed. Of the shares of
    // other members, only those that follow the level can have changed as well.
    virtual void OnChanged(Member& member) = 0;
    // Called before a member is erased for which OnChanged has been called.
    virtual void OnErased(Member& member) = 0;
  };

  // Requires, as for WaterLevel::Member: a member is in one queue at most, and is erased before it is destroyed.
  class Member : public WaterLevel::Member {
   public:
    using WaterLevel::Member::Member;
    [[nodiscard]] const FairClaim& fair() const { return fair_; }

    std::unique_ptr<Watcher::Note> note;  // for the watcher alone

   private:
    friend class FairQueue;
    FairClaim fair_;
    Stand stand_;
    ShelfOrder::iterator place_;  // on its shelf, if it is on one
    bool present_ = false;
  };

  void SetCapacity(Units capacity);
  // Inserts the member, or changes its claim.
  void Put(Member& member, const FairClaim& claim) {
    if (!member.present_ || claim != member.fair_) Change(member, claim);
  }
  void Erase(Member& member);

  // Calls take(member, its id) for the offered members, in order, until it returns true. Returns that member, or null.
  // `take` does not change the queue.
  template <class Take>
  Member* Visit(const Take& take);
  // Returns true if `a` comes before `b`. Requires: both members are offered.
  [[nodiscard]] bool Before(const Member& a, const Member& b);
  // Return the member's share in slots, and in whole units, rounded down.
  [[nodiscard]] double Share(const Member& member);
  [[nodiscard]] Units ShareUnits(const Member& member);
  // Brings the shares up to date with the claims. Every call that needs the shares does this first.
  void RecomputeShares();
  // Requires: the queue is empty and has no watcher yet, and does not change once the watcher is gone.
  void SetWatcher(Watcher* watcher) { watcher_ = watcher; }
  // Notifies the watcher, if there is one, as though the member's claim had changed.
  void Touch(Member& member) {
    if (watcher_ != nullptr) watcher_->OnChanged(member);
  }
  // Return true if the member would use one more slot, and that slot would not lift it above its share, or above its
  // granted minimum, respectively.
  [[nodiscard]] bool IsBelowShare(const Member& member);
  [[nodiscard]] bool IsBelowMinimum(const Member& member);
  // Do the same as the calls of WaterLevel with these names.
  [[nodiscard]] bool SharesAtLeast(const Member& member, Units units);
  [[nodiscard]] UnitRange SteadyCapacities();
  [[nodiscard]] Units CapacityFor(Units share, Units weight);

 private:
  [[nodiscard]] static Stand StandOf(const Member& member);
  // Does the work of Put() for a new claim.
  void Change(Member& member, const FairClaim& claim);
  // Moves the member to its place after a change of its claim or bound.
  void Move(Member& member) { MoveTo(member, StandOf(member)); }
  void MoveTo(Member& member, const Stand& stand);
  void GrantMinima();
  [[nodiscard]] static WaterLevel::Claim LevelClaim(const FairClaim& fair, Units minimum);
  [[nodiscard]] bool Less(const Member& a, const Member& b) const;
  [[nodiscard]] double Ratio(const Member& member) const;

  WaterLevel level_;
  std::set<Member*, TieEarlier> members_;
  ShelfOrder shelves_[kShelves];
  std::uint64_t minima_ = 0;  // the sum of all minima, in slots, as far as there is demand
  bool settled_ = true, scaled_ = false;
  Watcher* watcher_ = nullptr;
  std::vector<WaterLevel::Member*> moved_;  // by the last RecomputeShares()
};

template <class Take>
FairQueue::Member* FairQueue::Visit(const Take& take) {
  RecomputeShares();
  ShelfOrder::const_iterator heads[kShelves];
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
