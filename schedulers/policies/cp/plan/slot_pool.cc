#include "schedulers/policies/cp/plan/slot_pool.h"

#include <algorithm>

#include "schedulers/cluster/check.h"

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
  std::uint32_t idle = 0;
  while (head_ < groups_.size() && groups_[head_].free <= start) idle += groups_[head_++].slots;
  groups_[--head_] = {start, idle};
}

SlotPool::Placed SlotPool::Place(std::uint32_t tasks, Micros duration, Micros until) {
  Placed placed;
  while (placed.tasks < tasks && NextFree() < until) {
    const std::uint32_t rounds = PlaceRounds(tasks - placed.tasks, duration, until);
    placed.tasks += rounds;
    if (rounds > 0) placed.last_end = groups_.back().free;
    if (placed.tasks == tasks || NextFree() >= until) break;
    placed.tasks += PlaceWindow(tasks - placed.tasks, duration, until);
    placed.last_end = std::max(placed.last_end, fresh_.back().free);
    Merge();
  }
  return placed;
}

std::uint32_t SlotPool::PlaceRounds(std::uint32_t tasks, Micros duration, Micros until) {
  const Micros last = groups_.back().free;
  if (tasks < slots_ || last - NextFree() >= duration || last >= until) return 0;
  const auto fitting = static_cast<std::uint64_t>((until - 1 - last) / duration + 1);
  const auto rounds = static_cast<std::uint32_t>(std::min<std::uint64_t>(tasks / slots_, fitting));
  for (std::size_t i = head_; i < groups_.size(); ++i) groups_[i].free += duration * rounds;
  return rounds * slots_;
}

std::uint32_t SlotPool::PlaceWindow(std::uint32_t tasks, Micros duration, Micros until) {
  const Micros end = std::min(until, NextFree() + duration);
  std::uint32_t placed = 0;
  fresh_.clear();
  while (placed < tasks && head_ < groups_.size() && groups_[head_].free < end) {
    SlotGroup& group = groups_[head_];
    const std::uint32_t taken = std::min(tasks - placed, group.slots);
    fresh_.push_back({group.free + duration, taken});
    placed += taken;
    group.slots -= taken;
    if (group.slots == 0) ++head_;
  }
  return placed;
}

// The groups before the last fresh time move down by as many places as there are fresh ones, and the two sequences are
// merged upwards in place: the write never overtakes the read. Equal times become one group, which leaves a gap at the
// top that is closed at the end.
void SlotPool::Merge() {
  MakeRoom(fresh_.size());
  const Micros last = fresh_.back().free;
  std::size_t read = head_;
  std::size_t write = head_ - fresh_.size();
  const std::size_t first = write;
  const auto put = [&](const SlotGroup& group) {
    if (write > first && groups_[write - 1].free == group.free) {
      groups_[write - 1].slots += group.slots;
    } else {
      groups_[write++] = group;
    }
  };
  std::size_t next = 0;
  while (next < fresh_.size() || (read < groups_.size() && groups_[read].free <= last)) {
    const bool old = read < groups_.size() && (next == fresh_.size() || groups_[read].free <= fresh_[next].free);
    put(old ? groups_[read++] : fresh_[next++]);
  }
  head_ = first + (read - write);
  if (read != write) std::move_backward(groups_.begin() + first, groups_.begin() + write, groups_.begin() + read);
}

void SlotPool::MakeRoom(std::size_t groups) {
  if (head_ >= groups) return;
  const std::size_t more = groups + groups_.size() - head_ + 16;
  groups_.insert(groups_.begin(), more, SlotGroup{});
  head_ += more;
}

}  // namespace millrace::sched
