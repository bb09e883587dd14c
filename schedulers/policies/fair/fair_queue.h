// FairQueue: who of several claimants of slots comes first under fair sharing (docs/policies.md#fair): those below
// their minimum, the smallest running/minimum first; then by running/share, the share of shares.h. The pools of `fair`
// are such claimants, and so are the jobs of one pool.
//
// Kept in order through every change: members whose share follows the level are compared by running/weight, which does
// not change with the level, those with a share of their own by running/share, and the two are merged when somebody
// asks. O(log) a change and a step of a visit. Shares take effect at the next question.
//
// Thread rule: one thread, const calls included.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "schedulers/policies/fair/fair_shelf.h"
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
  // Where a member stands.
  struct Stand {
    Shelf shelf = Shelf::kNone;
    FairShelf::Key key;
    bool operator==(const Stand&) const = default;
  };
  struct TieEarlier {
    bool operator()(const Member* a, const Member* b) const;
  };

 public:
  // As WaterLevel::Member: in one queue at most, erased before it ends.
  class Member : public FairShelf::Member {
   public:
    using FairShelf::Member::Member;
    [[nodiscard]] const FairClaim& fair() const { return fair_; }
    // It would use one more slot, which would not lift it above its share. Only with `starvation`, after Settle().
    [[nodiscard]] bool starved() const { return reaches_mark(); }
    // The same of the minimum as it is granted.
    [[nodiscard]] bool below_minimum() const { return (Units{fair_.running} + 1) * kSlot <= claim().minimum; }

   private:
    friend class FairQueue;
    FairClaim fair_;
    Stand stand_;
    bool present_ = false, touched_ = false;
  };

  // starvation: Member::starved is kept.
  FairQueue() = default;
  explicit FairQueue(bool starvation) : starvation_(starvation) {}

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
  // Both are offered.
  [[nodiscard]] bool Before(const Member& a, const Member& b);
  // In slots, and the same in whole units, rounded down.
  [[nodiscard]] double Share(const Member& member);
  [[nodiscard]] Units ShareUnits(const Member& member);
  // Shares are those of the claims. Every question does it first.
  void Settle();
  // The members of which starved() or below_minimum() may have changed since the last call, each once. Settles. Only
  // with `starvation`.
  [[nodiscard]] std::vector<Member*> TakeTouched();

 private:
  [[nodiscard]] static Stand StandOf(const Member& member);
  // Put() of what is not so yet.
  void Change(Member& member, const FairClaim& claim);
  // The member's claim or bound has changed.
  void Move(Member& member);
  void GrantMinima();
  void Touch(Member& member);
  [[nodiscard]] WaterLevel::Claim LevelClaim(const FairClaim& fair, Units minimum) const;
  [[nodiscard]] bool Less(const Member& a, const Member& b) const;
  [[nodiscard]] double Ratio(const Member& member) const;

  bool starvation_ = false;
  WaterLevel level_;
  std::set<Member*, TieEarlier> members_;
  FairShelf shelves_[kShelves];
  std::uint64_t minima_ = 0;  // slots, as far as there is demand for them
  bool settled_ = true, scaled_ = false;
  std::vector<WaterLevel::Member*> moved_;  // by the last Settle()
  std::vector<Member*> touched_;
};

template <class Take>
FairQueue::Member* FairQueue::Visit(const Take& take) {
  Settle();
  FairShelf::Walk walks[kShelves] = {FairShelf::Walk(shelves_[0]), FairShelf::Walk(shelves_[1]),
                                     FairShelf::Walk(shelves_[2]), FairShelf::Walk(shelves_[3])};
  while (true) {
    std::size_t from = 0;
    Member* first = static_cast<Member*>(walks[0].current());
    for (std::size_t shelf = 1; shelf < kShelves && (from > 0 || first == nullptr); ++shelf) {
      Member* head = static_cast<Member*>(walks[shelf].current());
      if (head == nullptr || (first != nullptr && !Less(*head, *first))) continue;
      first = head;
      from = shelf;
    }
    if (first == nullptr || take(*first, walks[from].id())) return first;
    walks[from].Step();
  }
}

}  // namespace millrace::sched
