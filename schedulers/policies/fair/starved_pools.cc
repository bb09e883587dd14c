#include "schedulers/policies/fair/starved_pools.h"

namespace millrace::sched {

bool StarvedPools::Earlier::operator()(const Standing* a, const Standing* b) const {
  const __int128 left = static_cast<__int128>(a->next) * b->weight, right = static_cast<__int128>(b->next) * a->weight;
  return left != right ? left < right : a->name < b->name;
}

StarvedPools::StarvedPools(FairQueue& queue, Patience patience) : queue_(queue), patience_(std::move(patience)) {
  queue_.NoteChanges();
}

void StarvedPools::Update(Micros now) {
  for (const auto& [name, member] : queue_.ConsumeChanges()) {
    const auto [at, is_new] = standings_.try_emplace(name);
    Leave(at->second);
    if (member != nullptr) {
      at->second = Standing{at->first, member};
      Enter(at->second);
    }
    Note({name, Cause::kMinimum}, member != nullptr && queue_.IsBelowMinimum(*member), now);
    Note({name, Cause::kFairShare}, member != nullptr && queue_.IsBelowShare(*member), now);
    if (member == nullptr) standings_.erase(at);
  }
  FollowLevel(now);
}

void StarvedPools::Enter(Standing& standing) {
  const FairQueue::Member& member = *standing.member;
  if (member.bound() != WaterLevel::Bound::kLevel) return;
  standing.next = std::uint64_t{member.fair().running} + 1;
  standing.weight = member.fair().weight;
  standing.set = queue_.IsBelowShare(member) ? &lacking_ : &content_;
  standing.set->insert(&standing);
}

void StarvedPools::Leave(Standing& standing) {
  if (standing.set != nullptr) standing.set->erase(&standing);
  standing.set = nullptr;
}

void StarvedPools::Move(Standing& standing, Followers& to, Micros now) {
  Leave(standing);
  standing.set = &to;
  to.insert(&standing);
  Note({std::string(standing.name), Cause::kFairShare}, &to == &lacking_, now);
}

void StarvedPools::FollowLevel(Micros now) {
  while (!lacking_.empty() && !queue_.IsBelowShare(*(*lacking_.rbegin())->member))
    Move(**lacking_.rbegin(), content_, now);
  while (!content_.empty() && queue_.IsBelowShare(*(*content_.begin())->member))
    Move(**content_.begin(), lacking_, now);
}

void StarvedPools::Note(const Lack& lack, bool lacks, Micros now) {
  const auto it = until_.find(lack);
  if (lacks == (it != until_.end())) return;
  if (lacks) {
    const Micros until = now + patience_(lack);
    until_.emplace(lack, until);
    by_time_.emplace(until, lack);
  } else {
    by_time_.erase({it->second, lack});
    until_.erase(it);
  }
}

std::vector<StarvedPools::Lack> StarvedPools::Due(Micros now) const {
  std::vector<Lack> due;
  for (auto at = by_time_.begin(); at != by_time_.end() && at->first <= now; ++at) due.push_back(at->second);
  return due;
}

void StarvedPools::BeginAnew(const Lack& lack, Micros now) {
  Note(lack, false, now);
  Note(lack, true, now);
}

std::optional<Micros> StarvedPools::NextDue() const {
  if (by_time_.empty()) return std::nullopt;
  return by_time_.begin()->first;
}

}  // namespace millrace::sched
