// FairShelf: claimants of slots by running/divisor, the least first; ties are broken by id, then name. FairQueue is
// made of shelves.
//
// The keys lie side by side (sorted_rows.h), so that a search and a walk touch no claimant but those that they find.
// The member that changed last keeps its old seat for a while: a claimant that gave up a slot often takes it again, and
// then nothing has to move. A change costs O(log), a step of a walk O(1). Thread rule: one thread.
#pragma once

#include <cstdint>

#include "schedulers/offering/sorted_rows.h"
#include "schedulers/policies/fair/water_level.h"

namespace millrace::sched {

class FairShelf {
 public:
  struct Key {
    std::uint32_t running = 0;
    Units divisor = 1;  // at least 1
    bool operator==(const Key&) const = default;
  };
  // Requires: a member is on one shelf at most, and does not move while it is there.
  class Member : public WaterLevel::Member {
   public:
    using WaterLevel::Member::Member;

   private:
    friend class FairShelf;
    Key seated_;  // the key of its seat: an old one while it is loose
  };

 private:
  struct Seat {
    Key key;
    std::uint32_t id = 0;
    Member* member = nullptr;
  };
  struct Sooner {
    bool operator()(const Seat& a, const Seat& b) const {
      const int order = Compare(a.key, b.key);
      if (order != 0) return order < 0;
      return a.id != b.id ? a.id < b.id : a.member->TieBefore(*b.member);
    }
  };
  using Seats = SortedRows<Seat, Sooner>;

 public:
  [[nodiscard]] static bool Before(const Key& a, const Member& of_a, const Key& b, const Member& of_b) {
    const int order = Compare(a, b);
    return order != 0 ? order < 0 : of_a.TieBefore(of_b);
  }

  void Insert(Member& member, const Key& key);
  // Requires: the member is here.
  void Change(Member& member, const Key& key);
  void Erase(Member& member);

  // Goes over the members in order. Requires: the shelf does not change meanwhile.
  class Walk {
   public:
    explicit Walk(const FairShelf& shelf)
        : loose_(shelf.loose_), seat_(shelf.seats_.begin()), end_(shelf.seats_.end()) {
      Choose();
    }
    // Returns the member, or null when there are no more.
    [[nodiscard]] Member* current() const { return current_ == nullptr ? nullptr : current_->member; }
    // Returns its id, which is nearer at hand than the member.
    [[nodiscard]] std::uint32_t id() const { return current_->id; }
    void Step() {
      if (current_ == &loose_) {
        loose_visited_ = true;
      } else {
        ++seat_;
      }
      Choose();
    }

   private:
    // The current is the loose one, if it has not been visited, or that of the seat.
    void Choose() {
      if (seat_ != end_ && seat_->member == loose_.member) ++seat_;
      current_ = seat_ == end_ ? nullptr : &*seat_;
      if (loose_.member == nullptr || loose_visited_) return;
      if (current_ == nullptr || Sooner()(loose_, *current_)) current_ = &loose_;
    }

    const Seat& loose_;
    bool loose_visited_ = false;
    Seats::Iterator seat_, end_;
    const Seat* current_ = nullptr;
  };

 private:
  // Returns a number below 0 if `a` comes first.
  static int Compare(const Key& a, const Key& b) {
    if (a.divisor == b.divisor) return a.running < b.running ? -1 : a.running > b.running ? 1 : 0;
    const __int128 left = static_cast<__int128>(a.running) * b.divisor;
    const __int128 right = static_cast<__int128>(b.running) * a.divisor;
    return left < right ? -1 : left > right ? 1 : 0;
  }
  // Moves the loose member to where it belongs.
  void Tidy();

  Seats seats_;
  Seat loose_;  // with its key of today, which is not that of its seat; or no member
};

}  // namespace millrace::sched
