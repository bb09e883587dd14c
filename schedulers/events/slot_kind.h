// SPDX-License-Identifier: Apache-2.0
// SlotKind: the kinds of slots that a policy assigns. A map takes a map slot and a reduce a reduce slot for as long as
// it runs. To compute, a reduce needs a compute permit, the third kind. Without `+ccs` a node has as many permits as
// reduce slots, so that each reduce can have one at once. With `+ccs` (offering/copy_compute_splitting.h) more reduces
// run than may compute, and the permits are scarce. So a policy orders the jobs for each of the three kinds.
//
// The kinds of tasks are kinds of slots, too: a TaskKind can stand wherever a SlotKind is asked for. The header
// includes base/ids alone. Thread rule: values.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/ids/ids.h"

namespace millrace::sched {

class SlotKind {
 public:
  constexpr SlotKind(TaskKind of) : index_(static_cast<std::uint8_t>(of)) {}  // NOLINT(google-explicit-constructor)
  static constexpr SlotKind ComputePermit() { return SlotKind(std::uint8_t{2}); }

  [[nodiscard]] constexpr std::size_t index() const { return index_; }
  [[nodiscard]] constexpr bool map() const { return index_ == 0; }
  // Returns the kind of the tasks that take such a slot.
  [[nodiscard]] constexpr TaskKind task() const { return map() ? TaskKind::kMap : TaskKind::kReduce; }
  friend constexpr bool operator==(SlotKind a, SlotKind b) = default;
  friend constexpr auto operator<=>(SlotKind a, SlotKind b) = default;

 private:
  explicit constexpr SlotKind(std::uint8_t index) : index_(index) {}

  std::uint8_t index_;
};

inline constexpr SlotKind kMapSlot = TaskKind::kMap;
inline constexpr SlotKind kReduceSlot = TaskKind::kReduce;
inline constexpr SlotKind kComputePermit = SlotKind::ComputePermit();
inline constexpr std::array<SlotKind, 3> kSlotKinds = {kMapSlot, kReduceSlot, kComputePermit};

// Holds one `T` for each kind of slot.
template <class T>
struct PerSlot {
  std::array<T, kSlotKinds.size()> values = {};

  [[nodiscard]] constexpr T& operator[](SlotKind kind) { return values[kind.index()]; }
  [[nodiscard]] constexpr const T& operator[](SlotKind kind) const { return values[kind.index()]; }
  [[nodiscard]] constexpr auto begin() { return values.begin(); }
  [[nodiscard]] constexpr auto begin() const { return values.begin(); }
  [[nodiscard]] constexpr auto end() { return values.end(); }
  [[nodiscard]] constexpr auto end() const { return values.end(); }
  bool operator==(const PerSlot&) const = default;
};

}  // namespace millrace::sched
