// SPDX-License-Identifier: Apache-2.0
// SlotSplit: the number of a cluster's slots that should be map slots, for a batch of jobs known beforehand (FRESH,
// Algorithm 1, as mended in docs/schedulers/policies.md#fresh).
//
// The model: at most k jobs share the map slots evenly, and at most k the reduce slots. Jobs enter their map phase in
// the order of the batch. A job whose maps are done reduces, or waits in line to reduce (R'). The printed algorithm
// plays the batch through for each split, which costs O(S n k). That is not necessary. The map slots are busy until the
// last map is done, so jobs end their maps after the same amounts of map work whatever the split: with s_m slots, the
// i-th job ends its maps at A_i / s_m. The reduce slots are busy whenever a job that has ended its maps has reduces
// left, so the order in which they serve jobs does not matter for the end of the batch. With B_i the reduce work of the
// i-th job and of all after it, the makespan is the maximum over i of A_i / s_m + B_i / (S - s_m), which is strictly
// convex in s_m. So one play of the map phase in O(n log n) and a binary search give the split that the printed
// algorithm finds, in O(n (log n + log S)). As code:
//
//   for i in the order in which jobs end their maps, while min(k, jobs left) of them share the slots evenly:
//     A_i = map work done by all jobs so far
//   B_i = sum over j >= i of w_r(j)
//   makespan(s) = max over i of (A_i / s + B_i / (S - s))
//   low = 1; high = S - 1, or S if no job reduces
//   while low < high: middle = (low + high) / 2
//     makespan(middle) <= makespan(middle + 1) ? high = middle : low = middle + 1
//   s_m = low
//
// The makespans, and the least of them, are those that PlayAlgorithmOne (reference.h) finds round by round.
//
// The functions are pure. Times are in us.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"

namespace millrace::sched {

// The work of a job of the batch: n_m, t_m, n_r, t_r.
struct PhaseProfile {
  std::uint32_t maps = 0;
  Micros map_time = 0;
  std::uint32_t reduces = 0;
  Micros reduce_time = 0;

  [[nodiscard]] double MapWork() const { return static_cast<double>(maps) * static_cast<double>(map_time); }
  [[nodiscard]] double ReduceWork() const { return static_cast<double>(reduces) * static_cast<double>(reduce_time); }
};

struct SlotSplit {
  std::uint32_t map_slots = 0;
  double makespan = 0;
};

// Returns the split with the least makespan, the one with the fewest map slots among equals. The split has 1 <=
// map_slots < slots, or all slots are map slots if no job has reduce work. At most k jobs share a kind of slots at a
// time; with k = 0 there is no limit. Requires: slots >= 2, or slots >= 1 if no job has reduce work.
[[nodiscard]] SlotSplit BestSplit(const std::vector<PhaseProfile>& batch, std::uint32_t slots, std::uint32_t k);

// Returns the time at which the batch ends with `map_slots` map slots. Requires: 1 <= map_slots < slots, or map_slots =
// slots if no job has reduce work.
[[nodiscard]] double SplitMakespan(const std::vector<PhaseProfile>& batch, std::uint32_t slots, std::uint32_t map_slots,
                                   std::uint32_t k);

// Johnson's rule for two machines ("Optimal two- and three-stage production schedules", 1954): jobs with less map than
// reduce work first, by rising map work; then the others by falling reduce work. To make the order total, the caller
// breaks ties by the job's place.
struct JohnsonKey {
  explicit JohnsonKey(const PhaseProfile& job);
  auto operator<=>(const JohnsonKey&) const = default;

 private:
  bool second_;
  double by_;
};
// Returns the positions in the batch in the order of the rule. Equal jobs keep their order.
[[nodiscard]] std::vector<std::uint32_t> JohnsonOrder(const std::vector<PhaseProfile>& batch);

// Spreads the split evenly over nodes with these slots. Returns the number of map slots of each node; they add up to
// map_slots. `turn` shifts the choice of the nodes that get the slots that do not divide evenly. Requires: map_slots is
// at most the number of all slots, and `turn` is below that number.
[[nodiscard]] std::vector<std::uint32_t> SpreadSplit(const std::vector<std::uint32_t>& node_slots,
                                                     std::uint32_t map_slots, std::uint32_t turn = 0);

}  // namespace millrace::sched
