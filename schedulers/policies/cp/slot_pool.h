// SPDX-License-Identifier: Apache-2.0
// SlotPool: the slots of one kind, by the time at which they become free, with list scheduling onto them.
//
// The rule, as code, of Place(tasks, duration, until):
//
//   while a task is left, and the slot that is free first is free before `until`:
//     start a task there; the slot is free again `duration` later
//
// Slots that become free at the same time are one group, so a job of a thousand equal maps costs one step for each
// group, not for each task. Thread rule: one thread. Copies are cheap (one array).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "schedulers/policies/cp/problem.h"

namespace millrace::sched {

class SlotPool {
 public:
  // Requires: there is at least one slot, and they are sorted by time.
  explicit SlotPool(std::span<const SlotGroup> groups);

  // Returns the time at which the first slot is free.
  [[nodiscard]] Micros NextFree() const { return groups_.front().free; }
  [[nodiscard]] std::uint32_t slots() const { return slots_; }
  [[nodiscard]] std::span<const SlotGroup> groups() const { return groups_; }

  // Keeps slots that are free before `start` idle until then.
  void AdvanceTo(Micros start);

  struct Placed {
    std::uint32_t tasks = 0;
    Micros last_end = 0;  // of these tasks; 0 without any
  };
  // Starts up to `tasks` tasks of this duration (at least 1), each as soon as a slot is free, as long as that is before
  // `until`.
  Placed Place(std::uint32_t tasks, Micros duration, Micros until = kNever);

 private:
  // Starts whole rounds of tasks, in which every slot takes one, so that only the times move. Returns the number of
  // tasks started. The first slots are in groups_[head].
  std::uint32_t PlaceRounds(std::size_t head, std::uint32_t tasks, Micros duration, Micros until);

  std::vector<SlotGroup> groups_;
  std::uint32_t slots_ = 0;
};

}  // namespace millrace::sched
