// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/cp/slot_pool.h"

#include <algorithm>

#include "schedulers/events/check.h"

namespace millrace::sched {

SlotPool::SlotPool(std::span<const SlotGroup> groups) {
  for (const SlotGroup& group : groups) {
    if (group.slots == 0) continue;
    slots_ += group.slots;
    if (!groups_.empty() && groups_.back().free == group.free) {
      groups_.back().slots += group.slots;
    } else {
      groups_.push_back(group);
    }
  }
  SCHED_CHECK(slots_ > 0, "a pool without slots");
}

void SlotPool::AdvanceTo(Micros start) {
  if (NextFree() >= start) return;
  std::size_t passed = 0;
  std::uint32_t idle = 0;
  while (passed < groups_.size() && groups_[passed].free <= start) idle += groups_[passed++].slots;
  groups_[passed - 1] = {start, idle};
  groups_.erase(groups_.begin(), groups_.begin() + static_cast<std::ptrdiff_t>(passed - 1));
}

SlotPool::Placed SlotPool::Place(std::uint32_t tasks, Micros duration, Micros until) {
  Placed placed;
  std::size_t head = 0;  // the first group that has slots
  while (placed.tasks < tasks && groups_[head].free < until) {
    const std::uint32_t rounds = PlaceRounds(head, tasks - placed.tasks, duration, until);
    placed.tasks += rounds;
    if (rounds > 0) placed.last_end = groups_.back().free;
    if (placed.tasks == tasks || groups_[head].free >= until) break;
    SlotGroup& first = groups_[head];
    const SlotGroup busy{first.free + duration, std::min(tasks - placed.tasks, first.slots)};
    first.slots -= busy.slots;
    if (first.slots == 0) ++head;
    const auto at = std::lower_bound(groups_.begin() + static_cast<std::ptrdiff_t>(head), groups_.end(), busy.free,
                                     [](const SlotGroup& group, Micros free) { return group.free < free; });
    if (at != groups_.end() && at->free == busy.free) {
      at->slots += busy.slots;
    } else {
      groups_.insert(at, busy);
    }
    placed.tasks += busy.slots;
    placed.last_end = std::max(placed.last_end, busy.free);
  }
  groups_.erase(groups_.begin(), groups_.begin() + static_cast<std::ptrdiff_t>(head));
  return placed;
}

std::uint32_t SlotPool::PlaceRounds(std::size_t head, std::uint32_t tasks, Micros duration, Micros until) {
  const Micros last = groups_.back().free;
  if (tasks < slots_ || last - groups_[head].free >= duration || last >= until) return 0;
  const auto fitting = static_cast<std::uint64_t>((until - 1 - last) / duration + 1);
  const auto rounds = static_cast<std::uint32_t>(std::min<std::uint64_t>(tasks / slots_, fitting));
  for (std::size_t i = head; i < groups_.size(); ++i) groups_[i].free += duration * rounds;
  return rounds * slots_;
}

}  // namespace millrace::sched
