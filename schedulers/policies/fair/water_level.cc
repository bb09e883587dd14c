// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/fair/water_level.h"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace millrace::sched {
namespace {

using Wide = __int128;

constexpr double kLargestWeight = 1e6;

}  // namespace

Units WeightUnits(double weight) {
  const double units = std::min(weight, kLargestWeight) * static_cast<double>(kSlot);
  return std::max<Units>(1, std::llround(units));
}

std::uint64_t WaterLevel::Member::BeginningOf(std::string_view name) {
  std::uint64_t beginning = 0;
  for (std::size_t i = 0; i < sizeof beginning; ++i)
    beginning = beginning << 8 | (i < name.size() ? static_cast<unsigned char>(name[i]) : 0);
  return beginning;
}

bool WaterLevel::Earlier::operator()(const Edge& a, const Edge& b) const {
  const Wide left = Wide{a.at} * b.weight, right = Wide{b.at} * a.weight;
  if (left != right) return left < right;
  if (a.member != b.member) return a.member->TieBefore(*b.member);
  return a.kind < b.kind;
}

bool WaterLevel::Reaches(const Edge& edge) const {
  return Wide{slope_} * edge.at <= Wide{capacity_ - fixed_} * edge.weight;
}

void WaterLevel::Pass(const Edge& edge) {
  Member& member = *edge.member;
  member.places_[static_cast<std::size_t>(edge.kind)].passed = true;
  if (edge.kind == EdgeKind::kMinimum) {
    fixed_ -= member.claim_.minimum;
    slope_ += member.claim_.weight;
    member.bound_ = Bound::kLevel;
  } else {
    fixed_ += member.claim_.demand;
    slope_ -= member.claim_.weight;
    member.bound_ = Bound::kDemand;
    member.demand_ahead_ = Member::kNoEdge;
  }
}

void WaterLevel::Unpass(const Edge& edge) {
  Member& member = *edge.member;
  member.places_[static_cast<std::size_t>(edge.kind)].passed = false;
  if (edge.kind == EdgeKind::kMinimum) {
    fixed_ += member.claim_.minimum;
    slope_ -= member.claim_.weight;
    member.bound_ = Bound::kMinimum;
  } else {
    fixed_ -= member.claim_.demand;
    slope_ += member.claim_.weight;
    member.bound_ = Bound::kLevel;
    member.demand_ahead_ = edge.at;
  }
}

bool WaterLevel::IsPassed(const Edge& edge) const {
  if (next_ != edges_.end() && !Earlier()(edge, *next_)) return false;
  const bool last = next_ == edges_.begin() || Earlier()(*std::prev(next_), edge);
  return !last || Reaches(edge);
}

void WaterLevel::AddEdge(Member& member, EdgeKind kind, Units at) {
  const Edge edge{at, member.claim_.weight, kind, &member};
  const bool passed = IsPassed(edge);
  const auto place = edges_.insert(edge).first;
  member.places_[static_cast<std::size_t>(kind)] = {place, true, false};
  if (kind == EdgeKind::kDemand) member.demand_ahead_ = at;
  if (passed) {
    Pass(edge);
  } else if (std::next(place) == next_) {
    next_ = place;
  }
}

void WaterLevel::AddDemandEdge(Member& member) {
  const Claim& claim = member.claim_;
  for (const Units part : {2, 8}) {
    const Units parked = std::max(claim.minimum, claim.demand - claim.demand / part);
    if (!IsPassed({parked, claim.weight, EdgeKind::kDemand, &member})) {
      return AddEdge(member, EdgeKind::kDemand, parked);
    }
  }
  AddEdge(member, EdgeKind::kDemand, claim.demand);
}

void WaterLevel::EraseEdge(Member& member, EdgeKind kind) {
  Member::EdgePlace& place = member.places_[static_cast<std::size_t>(kind)];
  if (!place.used) return;
  if (place.passed) Unpass(*place.edge);
  const bool was_next = place.edge == next_;
  const auto after = edges_.erase(place.edge);
  if (was_next) next_ = after;
  place = {};
  if (kind == EdgeKind::kDemand) member.demand_ahead_ = Member::kNoEdge;
}

bool WaterLevel::Unpark(const Edge& edge) {
  Member& member = *edge.member;
  const Units demand = member.claim_.demand;
  if (edge.kind != EdgeKind::kDemand || edge.at == demand) return false;
  EraseEdge(member, EdgeKind::kDemand);
  AddEdge(member, EdgeKind::kDemand, demand);
  return true;
}

void WaterLevel::Insert(Member& member, const Claim& claim) {
  member.claim_ = claim;
  if (claim.minimum >= claim.demand) {
    member.bound_ = Bound::kDemand;
    fixed_ += claim.demand;
    return;
  }
  if (claim.minimum == 0) {
    member.bound_ = Bound::kLevel;
    slope_ += claim.weight;
  } else {
    member.bound_ = Bound::kMinimum;
    fixed_ += claim.minimum;
    AddEdge(member, EdgeKind::kMinimum, claim.minimum);
  }
  AddDemandEdge(member);
}

void WaterLevel::Change(Member& member, const Claim& claim) {
  Claim same = claim;
  same.demand = member.claim_.demand;
  if (same == member.claim_ && member.demand_ahead_ <= claim.demand) {
    member.claim_.demand = claim.demand;
    return;
  }
  Erase(member);
  Insert(member, claim);
}

void WaterLevel::Erase(Member& member) {
  for (const EdgeKind kind : {EdgeKind::kDemand, EdgeKind::kMinimum}) EraseEdge(member, kind);
  if (member.bound_ == Bound::kLevel) {
    slope_ -= member.claim_.weight;
  } else {
    fixed_ -= member.bound_ == Bound::kDemand ? member.claim_.demand : member.claim_.minimum;
  }
}

void WaterLevel::RecomputeLevel(std::vector<Member*>* changed) {
  const std::size_t first = changed->size();
  const auto list = [changed](Member* member) {
    if (member->listed_) return;
    member->listed_ = true;
    changed->push_back(member);
  };
  while (next_ != edges_.end() && Reaches(*next_)) {
    Member* member = next_->member;
    list(member);
    if (Unpark(*next_)) continue;
    Pass(*next_);
    ++next_;
  }
  while (next_ != edges_.begin() && !Reaches(*std::prev(next_))) {
    --next_;
    list(next_->member);
    Unpass(*next_);
  }
  for (std::size_t i = first; i < changed->size(); ++i) (*changed)[i]->listed_ = false;
}

double WaterLevel::level() const {
  if (slope_ > 0) return static_cast<double>(capacity_ - fixed_) / static_cast<double>(slope_);
  if (next_ == edges_.begin()) return 0;
  const Edge& last = *std::prev(next_);
  return static_cast<double>(last.at) / static_cast<double>(last.weight);
}

bool WaterLevel::SharesAtLeast(const Member& member, Units units) const {
  if (member.bound_ == Bound::kMinimum) return units <= member.claim_.minimum;
  if (member.bound_ == Bound::kDemand) return units <= member.claim_.demand;
  return Wide{slope_} * units <= Wide{capacity_ - fixed_} * member.claim_.weight;
}

Units WaterLevel::CapacityFor(Units share, Units weight) const {
  const Wide capacity = fixed_ + (Wide{slope_} * share + weight - 1) / weight;
  return static_cast<Units>(std::min<Wide>(capacity, UnitRange::kNoEnd));
}

UnitRange WaterLevel::SteadyCapacities() const {
  UnitRange steady;
  if (next_ != edges_.begin()) steady.from = CapacityFor(std::prev(next_)->at, std::prev(next_)->weight);
  if (next_ != edges_.end()) steady.to = CapacityFor(next_->at, next_->weight);
  return steady;
}

Units WaterLevel::WholeShare(const Member& member) const {
  if (member.bound_ == Bound::kMinimum) return member.claim_.minimum;
  if (member.bound_ == Bound::kDemand) return member.claim_.demand;
  return static_cast<Units>(Wide{capacity_ - fixed_} * member.claim_.weight / slope_);
}

double WaterLevel::Share(const Member& member) const {
  switch (member.bound_) {
    case Bound::kMinimum:
      return static_cast<double>(member.claim_.minimum);
    case Bound::kLevel:
      return level() * static_cast<double>(member.claim_.weight);
    case Bound::kDemand:
      break;
  }
  return static_cast<double>(member.claim_.demand);
}

}  // namespace millrace::sched
