// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/fair/starvation_watch.h"

#include <memory>
#include <utility>

namespace millrace::sched {
namespace {

using Wide = __int128;

}  // namespace

bool StarvationWatch::LeavesUpwardsFirst::operator()(const Standing* a, const Standing* b) const {
  const Wide left = Wide{a->steady.to} * b->weight, right = Wide{b->steady.to} * a->weight;
  return left != right ? left < right : a->member.TieBefore(b->member);
}

bool StarvationWatch::LeavesDownwardsFirst::operator()(const Standing* a, const Standing* b) const {
  const Wide left = Wide{a->steady.from} * b->weight, right = Wide{b->steady.from} * a->weight;
  return left != right ? left > right : a->member.TieBefore(b->member);
}

StarvationWatch::StarvationWatch(FairQueue& queue, StarvationClocks& clocks, Within within)
    : queue_(queue), clocks_(clocks), within_(std::move(within)) {
  queue_.SetWatcher(this);
}

void StarvationWatch::OnChanged(FairQueue::Member& member) {
  if (member.note == nullptr) member.note = std::make_unique<Standing>(member);
  auto& standing = static_cast<Standing&>(*member.note);
  if (!std::exchange(standing.to_ask, true)) to_ask_.push_back(&standing);
}

void StarvationWatch::OnErased(FairQueue::Member& member) {
  auto& standing = static_cast<Standing&>(*member.note);
  Place(standing, false, {});
  if (standing.to_ask) std::erase(to_ask_, &standing);
  if (standing.below_minimum) clocks_.Stop({&member, Cause::kMinimum});
  if (standing.lacks) clocks_.Stop({&member, Cause::kFairShare});
  member.note.reset();
}

void StarvationWatch::Update(Micros now) {
  queue_.RecomputeShares();
  for (Standing* standing : to_ask_) {
    standing->to_ask = false;
    Ask(*standing, now);
  }
  to_ask_.clear();
  while (!upwards_.empty() && queue_.SharesAtLeast((*upwards_.begin())->member, (*upwards_.begin())->steady.to))
    Ask(**upwards_.begin(), now);
  while (!downwards_.empty() &&
         !queue_.SharesAtLeast((*downwards_.begin())->member, (*downwards_.begin())->steady.from))
    Ask(**downwards_.begin(), now);
}

void StarvationWatch::Ask(Standing& standing, Micros now) {
  const FairQueue::Member& member = standing.member;
  Turn(standing, Cause::kMinimum, standing.below_minimum, queue_.IsBelowMinimum(member), now);
  Turn(standing, Cause::kFairShare, standing.lacks, queue_.IsBelowShare(member), now);
  UnitRange steady;
  if (within_) steady = within_(member, queue_.ShareUnits(member), now);
  const Units one_more = (Units{member.fair().running} + 1) * kSlot;
  steady = steady.Within(standing.lacks ? UnitRange{one_more} : UnitRange{0, one_more});
  Place(standing, member.bound() == WaterLevel::Bound::kLevel, steady);
}

void StarvationWatch::Place(Standing& standing, bool follows, const UnitRange& steady) {
  const Units weight = standing.member.fair().weight;
  if (follows && standing.follows && steady == standing.steady && weight == standing.weight) return;
  if (standing.follows) {
    if (standing.steady.to != UnitRange::kNoEnd) upwards_.erase(standing.up);
    if (standing.steady.from > 0) downwards_.erase(standing.down);
  }
  standing.follows = follows, standing.steady = steady, standing.weight = weight;
  if (!follows) return;
  if (steady.to != UnitRange::kNoEnd) standing.up = upwards_.insert(&standing).first;
  if (steady.from > 0) standing.down = downwards_.insert(&standing).first;
}

void StarvationWatch::Turn(const Standing& standing, Cause cause, bool& lacked, bool lacks, Micros now) {
  if (std::exchange(lacked, lacks) == lacks) return;
  if (lacks) {
    clocks_.Start({&standing.member, cause}, now);
  } else {
    clocks_.Stop({&standing.member, cause});
  }
}

UnitRange StarvationWatch::SteadyCapacities() const {
  UnitRange steady = queue_.SteadyCapacities();
  if (!upwards_.empty()) {
    const Standing& first = **upwards_.begin();
    steady = steady.Within({0, queue_.CapacityFor(first.steady.to, first.weight)});
  }
  if (!downwards_.empty()) {
    const Standing& first = **downwards_.begin();
    steady = steady.Within({queue_.CapacityFor(first.steady.from, first.weight)});
  }
  return steady;
}

}  // namespace millrace::sched
