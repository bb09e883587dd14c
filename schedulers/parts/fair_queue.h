// FairQueue: who of several claimants of slots comes first under fair sharing (SCHEDULERS.md section 3): those below
// their minimum, the smallest running/minimum first; then by running/share, the share of shares.h. The pools of `fair`
// are such claimants, and so are the jobs of one pool.
//
// Kept sorted through every change: members whose share follows the level are compared by running/weight, which does
// not change with the level, those with a share of their own by running/share, and the two are merged when somebody
// asks. O(log) a change and a step of a visit. Shares take effect at the next question. A few that moved last are
// sorted when somebody asks: who gave up a slot often takes it again, and is then where it was.
//
// Thread rule: one thread, const calls included.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string_view>
#include <vector>

#include "schedulers/parts/water_level.h"

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
  // Where a member stands. Within a shelf by running/divisor.
  enum class Shelf : std::uint8_t { kBelowMinimum, kAtMinimum, kByLevel, kAtDemand, kNone };
  static constexpr std::size_t kShelves = 4;
  static constexpr std::size_t kMostLoose = 2;
  struct Stand {
    Shelf shelf = Shelf::kNone;
    Units running = 0;
    Units divisor = 1;
    bool operator==(const Stand&) const = default;
  };
  struct Earlier {
    bool operator()(const Member* a, const Member* b) const;
  };
  struct TieEarlier {
    bool operator()(const Member* a, const Member* b) const;
  };
  using Line = std::set<Member*, Earlier>;

 public:
  // As WaterLevel::Member: in one queue at most, erased before it ends.
  class Member : public WaterLevel::Member {
   public:
    using WaterLevel::Member::Member;
    [[nodiscard]] const FairClaim& fair() const { return fair_; }
    // It would use one more slot, which would not lift it above its share. Only with `starvation`, after Settle().
    [[nodiscard]] bool starved() const { return reaches_mark(); }
    // The same of the minimum as it is granted.
    [[nodiscard]] bool below_minimum() const { return (Units{fair_.running} + 1) * kSlot <= claim().minimum; }

   private:
    friend class FairQueue;
    FairClaim fair_;
    Stand stand_;           // where it belongs
    Stand listed_;          // where it is in shelves_; another while it is loose
    Line::iterator place_;  // there
    Line::node_type node_;  // kept while it is nowhere
    bool present_ = false, touched_ = false, loose_ = false;
  };

  // starvation: Member::starved is kept.
  explicit FairQueue(bool starvation = false) : starvation_(starvation) {}

  void SetCapacity(Units capacity);
  // Inserts the member, or changes its claim.
  void Put(Member& member, const FairClaim& claim);
  void Erase(Member& member);

  // Calls take(member) for those offered, in order, until it returns true. Returns that member, or null. `take` changes
  // nothing here.
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
  [[nodiscard]] static bool Sooner(const Stand& a, const Member& of_a, const Stand& b, const Member& of_b);
  // The member's claim or bound has changed.
  void Move(Member& member);
  void List(Member& member);
  void Unlist(Member& member);
  // The next of a shelf in a visit: of those listed there and the loose that belong there. Null: none.
  struct Cursor {
    Line::const_iterator listed;
    std::size_t loose = 0;  // in loose_, which is sorted by shelf
  };
  Member* First(std::size_t shelf, Cursor* at) const;
  void GrantMinima();
  void Touch(Member& member);
  [[nodiscard]] WaterLevel::Claim LevelClaim(const FairClaim& fair, Units minimum) const;
  [[nodiscard]] bool Less(const Member& a, const Member& b) const;
  [[nodiscard]] double Ratio(const Member& member) const;

  bool starvation_;
  WaterLevel level_;
  std::set<Member*, TieEarlier> members_;
  Line shelves_[kShelves];
  std::vector<Member*> loose_;  // those that belong elsewhere than they are listed
  std::uint64_t minima_ = 0;    // slots, as far as there is demand for them
  bool settled_ = true, scaled_ = false;
  std::vector<WaterLevel::Member*> moved_;  // by the last Settle()
  std::vector<Member*> touched_;
};

template <class Take>
FairQueue::Member* FairQueue::Visit(const Take& take) {
  Settle();
  std::sort(loose_.begin(), loose_.end(), [](const Member* a, const Member* b) {
    if (a->stand_.shelf != b->stand_.shelf) return a->stand_.shelf < b->stand_.shelf;
    return Sooner(a->stand_, *a, b->stand_, *b);
  });
  Cursor at[kShelves];
  Member* heads[kShelves];
  for (std::size_t shelf = 0; shelf < kShelves; ++shelf) {
    at[shelf].listed = shelves_[shelf].begin();
    heads[shelf] = First(shelf, &at[shelf]);
  }
  while (true) {
    std::size_t from = 0;
    Member* first = heads[0];
    for (std::size_t shelf = 1; shelf < kShelves && (from > 0 || first == nullptr); ++shelf) {
      Member* head = heads[shelf];
      if (head == nullptr || (first != nullptr && !Less(*head, *first))) continue;
      first = head;
      from = shelf;
    }
    if (first == nullptr || take(*first)) return first;
    if (first->loose_) {
      ++at[from].loose;
    } else {
      ++at[from].listed;
    }
    heads[from] = First(from, &at[from]);
  }
}

}  // namespace millrace::sched
