// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/fair/starvation_clocks.h"

namespace millrace::sched {

bool StarvationClocks::Earlier::operator()(const Lack& a, const Lack& b) const {
  // A member and its copy (SetAs) compare as equal.
  if (a.member != b.member && a.member->TieBefore(*b.member)) return true;
  return (a.member == b.member || !b.member->TieBefore(*a.member)) && a.cause < b.cause;
}

bool StarvationClocks::Earlier::operator()(const std::pair<Micros, Lack>& a, const std::pair<Micros, Lack>& b) const {
  return a.first != b.first ? a.first < b.first : (*this)(a.second, b.second);
}

void StarvationClocks::Start(const Lack& lack, Micros now) {
  const Micros until = now + patience_(lack);
  until_.emplace(lack, until);
  by_time_.emplace(until, lack);
}

void StarvationClocks::Stop(const Lack& lack) {
  if (resting_.erase(lack) > 0) return;
  const auto at = until_.find(lack);
  by_time_.erase({at->second, lack});
  until_.erase(at);
}

void StarvationClocks::Postpone(const Lack& lack, Micros until) {
  Micros& waits = until_.find(lack)->second;
  by_time_.erase({waits, lack});
  by_time_.emplace(waits = until, lack);
}

void StarvationClocks::Rest(const Lack& lack, std::uint32_t running) {
  Stop(lack);
  resting_.emplace(lack, running);
}

void StarvationClocks::WakeThoseThatGained(Micros now) {
  for (auto at = resting_.begin(); at != resting_.end();) {
    const Lack lack = at->first;
    std::uint32_t& too_few = at++->second;
    const std::uint32_t running = lack.member->fair().running;
    if (running <= too_few) {
      too_few = running;
      continue;
    }
    resting_.erase(lack);
    Start(lack, now);
  }
}

void StarvationClocks::SetAs(const StarvationClocks& other) {
  for (const auto& [lack, until] : std::map(until_)) {
    if (const auto waits = other.until_.find(lack); waits != other.until_.end()) {
      Postpone(lack, waits->second);
    } else if (const auto rests = other.resting_.find(lack); rests != other.resting_.end()) {
      Rest(lack, rests->second);
    }
  }
}

std::vector<StarvationClocks::Lack> StarvationClocks::Due(Micros now) const {
  std::vector<Lack> due;
  for (auto at = by_time_.begin(); at != by_time_.end() && at->first <= now; ++at) due.push_back(at->second);
  return due;
}

std::optional<Micros> StarvationClocks::NextDue() const {
  if (by_time_.empty()) return std::nullopt;
  return by_time_.begin()->first;
}

}  // namespace millrace::sched
