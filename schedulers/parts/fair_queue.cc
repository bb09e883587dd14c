#include "schedulers/parts/fair_queue.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "schedulers/parts/shares.h"

namespace millrace::sched {

bool FairQueue::Sooner(const Stand& a, const Member& of_a, const Stand& b, const Member& of_b) {
  const __int128 left = static_cast<__int128>(a.running) * b.divisor;
  const __int128 right = static_cast<__int128>(b.running) * a.divisor;
  return left != right ? left < right : of_a.TieBefore(of_b);
}

bool FairQueue::Earlier::operator()(const Member* a, const Member* b) const {
  return Sooner(a->listed_, *a, b->listed_, *b);
}

bool FairQueue::TieEarlier::operator()(const Member* a, const Member* b) const { return a->TieBefore(*b); }

void FairQueue::SetCapacity(Units capacity) {
  if (capacity == level_.capacity()) return;
  level_.SetCapacity(capacity);
  settled_ = false;
}

WaterLevel::Claim FairQueue::LevelClaim(const FairClaim& fair, Units minimum) const {
  const Units mark = starvation_ ? (Units{fair.running} + 1) * kSlot : -1;
  return {fair.weight, minimum, Units{fair.demand} * kSlot, mark};
}

void FairQueue::Put(Member& member, const FairClaim& claim) {
  if (member.present_ && claim == member.fair_) return;
  const std::uint32_t minimum = std::min(claim.minimum, claim.demand);
  minima_ += minimum;
  if (member.present_) {
    minima_ -= std::min(member.fair_.minimum, member.fair_.demand);
  } else {
    members_.insert(&member);
  }
  member.fair_ = claim;
  const WaterLevel::Claim next = LevelClaim(claim, minimum * kSlot);
  if (!member.present_ || next != member.claim()) {
    if (member.present_) {
      level_.Change(member, next);
    } else {
      level_.Insert(member, next);
    }
    settled_ = false;
  }
  member.present_ = true;
  Move(member);
  Touch(member);
}

void FairQueue::Erase(Member& member) {
  if (!member.present_) return;
  Unlist(member);
  if (std::exchange(member.loose_, false)) std::erase(loose_, &member);
  member.stand_ = {};
  level_.Erase(member);
  members_.erase(&member);
  minima_ -= std::min(member.fair_.minimum, member.fair_.demand);
  if (member.touched_) std::erase(touched_, &member);
  member.present_ = member.touched_ = false;
  settled_ = false;
}

void FairQueue::Touch(Member& member) {
  if (!starvation_ || member.touched_) return;
  member.touched_ = true;
  touched_.push_back(&member);
}

std::vector<FairQueue::Member*> FairQueue::TakeTouched() {
  Settle();
  for (Member* member : touched_) member->touched_ = false;
  return std::exchange(touched_, {});
}

FairQueue::Stand FairQueue::StandOf(const Member& member) {
  const FairClaim& fair = member.fair_;
  if (!fair.offered) return {};
  if (fair.running < fair.minimum) return {Shelf::kBelowMinimum, fair.running, fair.minimum};
  switch (member.bound()) {
    case WaterLevel::Bound::kLevel:
      return {Shelf::kByLevel, fair.running, fair.weight};
    case WaterLevel::Bound::kMinimum:
      return {Shelf::kAtMinimum, fair.running, std::max<Units>(fair.minimum, 1)};
    case WaterLevel::Bound::kDemand:
      break;
  }
  return {Shelf::kAtDemand, fair.running, std::max<Units>(fair.demand, 1)};
}

void FairQueue::Move(Member& member) {
  member.stand_ = StandOf(member);
  const bool loose = member.stand_ != member.listed_ && member.stand_.shelf != Shelf::kNone;
  if (loose != member.loose_) {
    member.loose_ = loose;
    if (loose) {
      loose_.push_back(&member);
    } else {
      std::erase(loose_, &member);
    }
  }
  if (!loose) List(member);
  while (loose_.size() > kMostLoose) {
    Member* first = loose_.front();
    loose_.erase(loose_.begin());
    first->loose_ = false;
    List(*first);
  }
}

void FairQueue::List(Member& member) {
  if (member.stand_ == member.listed_) return;
  Unlist(member);
  member.listed_ = member.stand_;
  if (member.listed_.shelf == Shelf::kNone) return;
  Line& shelf = shelves_[static_cast<std::size_t>(member.listed_.shelf)];
  member.place_ = member.node_ ? shelf.insert(std::move(member.node_)).position : shelf.insert(&member).first;
}

void FairQueue::Unlist(Member& member) {
  const Shelf shelf = std::exchange(member.listed_, {}).shelf;
  if (shelf != Shelf::kNone) member.node_ = shelves_[static_cast<std::size_t>(shelf)].extract(member.place_);
}

FairQueue::Member* FairQueue::First(std::size_t shelf, Cursor* at) const {
  const auto end = shelves_[shelf].end();
  while (at->listed != end && (*at->listed)->loose_) ++at->listed;
  const auto elsewhere = [shelf](const Member* member) {
    return static_cast<std::size_t>(member->stand_.shelf) != shelf;
  };
  while (at->loose < loose_.size() && elsewhere(loose_[at->loose])) ++at->loose;
  if (at->loose == loose_.size()) return at->listed == end ? nullptr : *at->listed;
  Member* loose = loose_[at->loose];
  if (at->listed == end) return loose;
  Member* listed = *at->listed;
  return Sooner(loose->stand_, *loose, listed->stand_, *listed) ? loose : listed;
}

// O(members), but only while the minima exceed the capacity and just after.
void FairQueue::GrantMinima() {
  const double capacity = static_cast<double>(level_.capacity());
  std::vector<ShareClaim> claims;
  for (const Member* member : members_) {
    claims.push_back(
        {1, static_cast<double>(member->fair_.minimum * kSlot), static_cast<double>(member->fair_.demand * kSlot)});
  }
  const std::vector<double> minima = GrantedMinima(capacity, claims);
  std::size_t next = 0;
  for (Member* member : members_) {
    // Rounded down, so that they fit.
    level_.Change(*member, LevelClaim(member->fair_, static_cast<Units>(std::floor(minima[next++]))));
    Move(*member);
    Touch(*member);
  }
}

void FairQueue::Settle() {
  if (settled_) return;
  settled_ = true;
  const bool exceed = minima_ * kSlot > static_cast<std::uint64_t>(level_.capacity());
  if (exceed || scaled_) GrantMinima();
  scaled_ = exceed;
  moved_.clear();
  level_.Settle(&moved_);
  for (WaterLevel::Member* moved : moved_) {
    Member& member = static_cast<Member&>(*moved);
    Move(member);
    Touch(member);
  }
}

double FairQueue::Ratio(const Member& member) const {
  const double share = level_.Share(member);
  if (share > 0) return member.fair_.running * static_cast<double>(kSlot) / share;
  return std::numeric_limits<double>::infinity();
}

bool FairQueue::Less(const Member& a, const Member& b) const {
  const Shelf of_a = a.stand_.shelf, of_b = b.stand_.shelf;
  if (of_a == of_b) return Sooner(a.stand_, a, b.stand_, b);
  if (of_a == Shelf::kBelowMinimum || of_b == Shelf::kBelowMinimum) return of_a == Shelf::kBelowMinimum;
  const double left = Ratio(a), right = Ratio(b);
  return left != right ? left < right : a.TieBefore(b);
}

bool FairQueue::Before(const Member& a, const Member& b) {
  Settle();
  return Less(a, b);
}

double FairQueue::Share(const Member& member) {
  Settle();
  return level_.Share(member) / static_cast<double>(kSlot);
}

Units FairQueue::ShareUnits(const Member& member) {
  Settle();
  return static_cast<Units>(std::floor(level_.Share(member)));
}

}  // namespace millrace::sched
