// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/fair/fair_queue.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "schedulers/policies/fair/shares.h"

namespace millrace::sched {

namespace {

// Returns a number below 0 if a/b is less than c/d, one above 0 if it is more, and else 0. Requires: b, d > 0.
int CompareRatios(std::uint32_t a, Units b, std::uint32_t c, Units d) {
  const __int128 left = static_cast<__int128>(a) * d, right = static_cast<__int128>(c) * b;
  return left < right ? -1 : left > right ? 1 : 0;
}

}  // namespace

bool FairQueue::StandEarlier::operator()(const Member* a, const Member* b) const {
  const int order = CompareRatios(a->stand_.running, a->stand_.divisor, b->stand_.running, b->stand_.divisor);
  return order != 0 ? order < 0 : a->TieBefore(*b);
}

bool FairQueue::TieEarlier::operator()(const Member* a, const Member* b) const { return a->TieBefore(*b); }

void FairQueue::SetCapacity(Units capacity) {
  if (capacity == level_.capacity()) return;
  level_.SetCapacity(capacity);
  settled_ = false;
}

WaterLevel::Claim FairQueue::LevelClaim(const FairClaim& fair, Units minimum) {
  return {fair.weight, minimum, Units{fair.demand} * kSlot};
}

void FairQueue::Change(Member& member, const FairClaim& claim) {
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
  if (scaled_) settled_ = false;  // a minimum may have become what was granted of the old one: others get less now
  member.present_ = true;
  Touch(member);
  Move(member);
}

void FairQueue::Erase(Member& member) {
  if (!member.present_) return;
  if (watcher_ != nullptr) watcher_->OnErased(member);
  MoveTo(member, {});
  level_.Erase(member);
  members_.erase(&member);
  minima_ -= std::min(member.fair_.minimum, member.fair_.demand);
  member.present_ = false;
  settled_ = false;
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

void FairQueue::MoveTo(Member& member, const Stand& stand) {
  if (stand == member.stand_) return;
  if (member.stand_.shelf != Shelf::kNone) shelves_[static_cast<std::size_t>(member.stand_.shelf)].erase(member.place_);
  member.stand_ = stand;
  if (stand.shelf != Shelf::kNone)
    member.place_ = shelves_[static_cast<std::size_t>(stand.shelf)].insert(&member).first;
}

// This costs O(members), but only while the minima exceed the capacity and just after.
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
    // The minima are rounded down, so that they fit.
    const WaterLevel::Claim granted = LevelClaim(member->fair_, static_cast<Units>(std::floor(minima[next++])));
    Touch(*member);  // the bound may change even if the claim does not
    level_.Change(*member, granted);
    Move(*member);
  }
}

void FairQueue::RecomputeShares() {
  if (settled_) return;
  settled_ = true;
  const bool exceed = minima_ * kSlot > static_cast<std::uint64_t>(level_.capacity());
  if (exceed || scaled_) GrantMinima();
  scaled_ = exceed;
  moved_.clear();
  level_.RecomputeLevel(&moved_);
  for (WaterLevel::Member* moved : moved_) {
    Touch(static_cast<Member&>(*moved));
    Move(static_cast<Member&>(*moved));
  }
}

double FairQueue::Ratio(const Member& member) const {
  const double share = level_.Share(member);
  if (share > 0) return member.fair_.running * static_cast<double>(kSlot) / share;
  return std::numeric_limits<double>::infinity();
}

bool FairQueue::Less(const Member& a, const Member& b) const {
  const Shelf of_a = a.stand_.shelf, of_b = b.stand_.shelf;
  if (of_a == of_b) return StandEarlier()(&a, &b);
  if (of_a == Shelf::kBelowMinimum || of_b == Shelf::kBelowMinimum) return of_a == Shelf::kBelowMinimum;
  const double left = Ratio(a), right = Ratio(b);
  return left != right ? left < right : a.TieBefore(b);
}

bool FairQueue::Before(const Member& a, const Member& b) {
  RecomputeShares();
  return Less(a, b);
}

double FairQueue::Share(const Member& member) {
  RecomputeShares();
  return level_.Share(member) / static_cast<double>(kSlot);
}

Units FairQueue::ShareUnits(const Member& member) {
  RecomputeShares();
  return level_.WholeShare(member);
}

bool FairQueue::IsBelowShare(const Member& member) {
  RecomputeShares();
  return level_.SharesAtLeast(member, (Units{member.fair_.running} + 1) * kSlot);
}

bool FairQueue::SharesAtLeast(const Member& member, Units units) {
  RecomputeShares();
  return level_.SharesAtLeast(member, units);
}

UnitRange FairQueue::SteadyCapacities() {
  RecomputeShares();
  // Minima that do not fit are scaled again with each capacity.
  if (scaled_) return {level_.capacity(), level_.capacity() + 1};
  return level_.SteadyCapacities().Within({static_cast<Units>(minima_) * kSlot});
}

Units FairQueue::CapacityFor(Units share, Units weight) {
  RecomputeShares();
  return level_.CapacityFor(share, weight);
}

bool FairQueue::IsBelowMinimum(const Member& member) {
  RecomputeShares();
  return (Units{member.fair_.running} + 1) * kSlot <= member.claim().minimum;
}

}  // namespace millrace::sched
