// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/fresh/slot_split.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <string>
#include <utility>

#include "schedulers/events/check.h"

namespace millrace::sched {
namespace {

// The makespan is at least maps / s_m + reduces / s_r, and is that of one milestone.
struct Milestone {
  double maps = 0;     // A: map work done by all jobs when this one has ended its maps
  double reduces = 0;  // B: reduce work of this job and those that end their maps later
};

// Returns the milestones in the order in which the jobs end their maps. While |M| jobs share the slots, each has done
// 1/|M| of the work: a job that enters at `level` leaves at level + its work.
std::vector<Milestone> PlayMapPhase(const std::vector<PhaseProfile>& batch, std::uint32_t k) {
  using Leaving = std::pair<double, std::uint32_t>;  // level, position
  std::priority_queue<Leaving, std::vector<Leaving>, std::greater<>> in_map_phase;
  const std::size_t limit = k == 0 ? batch.size() : k;
  std::vector<Milestone> milestones;
  milestones.reserve(batch.size());
  double level = 0, done = 0;
  for (std::uint32_t next = 0; next < batch.size() || !in_map_phase.empty();) {
    if (next < batch.size() && in_map_phase.size() < limit) {
      in_map_phase.emplace(level + batch[next].MapWork(), next);
      ++next;
      continue;
    }
    const auto [until, job] = in_map_phase.top();
    done += (until - level) * static_cast<double>(in_map_phase.size());
    level = until;
    in_map_phase.pop();
    milestones.push_back({done, batch[job].ReduceWork()});
  }
  for (std::size_t i = milestones.size(); i-- > 1;) milestones[i - 1].reduces += milestones[i].reduces;
  return milestones;
}

double Makespan(const std::vector<Milestone>& milestones, std::uint32_t slots, std::uint32_t map_slots) {
  double makespan = 0;
  for (const Milestone& at : milestones) {
    const double reduces = at.reduces > 0 ? at.reduces / static_cast<double>(slots - map_slots) : 0;
    makespan = std::max(makespan, at.maps / static_cast<double>(map_slots) + reduces);
  }
  return makespan;
}

bool AnyReduces(const std::vector<Milestone>& milestones) {
  return !milestones.empty() && milestones.front().reduces > 0;
}

}  // namespace

SlotSplit BestSplit(const std::vector<PhaseProfile>& batch, std::uint32_t slots, std::uint32_t k) {
  const std::vector<Milestone> milestones = PlayMapPhase(batch, k);
  const bool reduces = AnyReduces(milestones);
  SCHED_CHECK(slots >= (reduces ? 2U : 1U), std::to_string(slots));
  std::uint32_t low = 1, high = reduces ? slots - 1 : slots;
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (Makespan(milestones, slots, middle) <= Makespan(milestones, slots, middle + 1)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return {low, Makespan(milestones, slots, low)};
}

double SplitMakespan(const std::vector<PhaseProfile>& batch, std::uint32_t slots, std::uint32_t map_slots,
                     std::uint32_t k) {
  const std::vector<Milestone> milestones = PlayMapPhase(batch, k);
  SCHED_CHECK(map_slots >= 1 && map_slots <= slots - (AnyReduces(milestones) ? 1 : 0), std::to_string(map_slots));
  return Makespan(milestones, slots, map_slots);
}

JohnsonKey::JohnsonKey(const PhaseProfile& job)
    : second_(job.MapWork() >= job.ReduceWork()), by_(second_ ? -job.ReduceWork() : job.MapWork()) {}

std::vector<std::uint32_t> JohnsonOrder(const std::vector<PhaseProfile>& batch) {
  std::vector<std::uint32_t> order(batch.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return JohnsonKey(batch[a]) < JohnsonKey(batch[b]); });
  return order;
}

std::vector<std::uint32_t> SpreadSplit(const std::vector<std::uint32_t>& node_slots, std::uint32_t map_slots,
                                       std::uint32_t turn) {
  const auto all = std::accumulate(node_slots.begin(), node_slots.end(), std::uint64_t{0});
  SCHED_CHECK(map_slots <= all && (turn < all || turn == 0), std::to_string(map_slots));
  std::vector<std::uint32_t> split;
  split.reserve(node_slots.size());
  std::uint64_t before = 0;  // slots of the nodes before
  const auto given = [&] { return all == 0 ? 0 : (before * map_slots + turn) / all; };
  for (const std::uint32_t slots : node_slots) {
    const std::uint64_t already = given();
    before += slots;
    split.push_back(static_cast<std::uint32_t>(given() - already));
  }
  return split;
}

}  // namespace millrace::sched
