// SPDX-License-Identifier: Apache-2.0
// PlanProblem: the problem that a plan solves, an immutable picture of the cluster at one moment.
//
// The rule, as code, for the cost that a plan minimises (Lim et al., section 3, Table 1, with pooled slots;
// docs/schedulers/policies.md#cp).
//
//   minimise   (late + 1) x worst                                                             // `paper`
//         or   sum of p_late + (sum of (C_j - s_j)) / total_scale + worst / worst_scale       // `mix`
//   where      worst = max of (C_j - s_j);  late = the number of jobs with C_j > d_j          // (5)
//              p_late = 1 if C_j > d_j, else 0.9 e^(-(d_j - C_j) / tau)
//              C_j = the end of the job's last task                                           // (4)
//   such that  no map starts before `now`, which is after s_j                                 // (2)
//              a reduce starts after all maps of its job, running ones included               // (3)
//              at no time do more maps run than there are map slots, nor more reduces         // (6), (7)
//
// All map slots are one resource and all reduce slots another, so there is no x_tr (1), and the node of a task is
// chosen at dispatch. The pending tasks of one kind of a job all take the same time. Running tasks are fixed: they
// appear as slots that become free later. Times are absolute, in any one unit (Millrace: us).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "base/ids/ids.h"
#include "base/ids/time.h"

namespace millrace::sched {

inline constexpr Micros kNever = std::numeric_limits<Micros>::max() / 4;  // sums of two do not overflow

// A number of slots that become free at the same time.
struct SlotGroup {
  Micros free = 0;
  std::uint32_t slots = 0;
  auto operator<=>(const SlotGroup&) const = default;
};

struct PlanJob {
  JobId id;
  Micros submitted = 0;            // s_j, at most `now`: the turnaround counts from here
  std::optional<Micros> deadline;  // d_j; without one the job is never late
  std::uint32_t maps = 0;          // pending
  std::uint32_t reduces = 0;       // pending
  Micros map_time = 1;             // of each pending map, at least 1
  Micros reduce_time = 1;          // of each pending reduce, at least 1
  Micros maps_until = 0;           // expected end of the last of its running maps; 0: none runs
  Micros reduces_until = 0;        // expected end of the last of its running reduces; 0: none runs
};

// The cost that a plan should keep small.
struct PlanObjective {
  enum class Kind : std::uint8_t {
    kMix,  // sum of p_late + sum of T / total_scale + max T / worst_scale; p_late = 1 if late, else 0.9 e^(-slack/tau)
    kPaper,  // (late jobs + 1) x max T
  };
  Kind kind = Kind::kMix;
  Micros tau = 60'000'000;             // about one map time, above 0
  Micros total_scale = 1'000'000'000;  // 1,000 s
  Micros worst_scale = 2'000'000'000;
};

struct PlanProblem {
  Micros now = 0;                    // no task starts before this
  std::vector<SlotGroup> map_slots;  // by time, none before `now`; empty: planned as if there were one slot
  std::vector<SlotGroup> reduce_slots;
  std::vector<PlanJob> jobs;  // with pending tasks, by id; ties in a search go to the lower index
  // The worst turnaround of the fixed jobs, and the number of them that will be late. Fixed jobs have no pending tasks,
  // so no plan changes when they end.
  Micros fixed_worst = 0;
  std::uint32_t fixed_late = 0;
  std::vector<JobId> previous;  // the order followed until now: a start of the search; may name other jobs
  PlanObjective objective;
};

// Returns the cost of jobs that end at `ends` (C_j, by index of the job), which equals CostOf (reference.h). It never
// falls when an end comes later.
[[nodiscard]] double PlanCost(const PlanProblem& problem, std::span<const Micros> ends);
// Returns p_late of `mix` for a job that ends at `end`; 0 without a deadline.
[[nodiscard]] double Lateness(const PlanObjective& objective, const PlanJob& job, Micros end);

// Plan: the order, found for a PlanProblem, in which free slots are offered to jobs. Only this order is followed, not
// the start times of tasks; cp_order.h has the rule.
struct PlanChunk {
  JobId job;
  std::uint32_t maps = 0;  // at least 1
  bool operator==(const PlanChunk&) const = default;
};

struct Plan {
  std::vector<PlanChunk> maps;    // the chunks of a job together have all its pending maps
  std::vector<JobId> reduces;     // all jobs of the problem
  double cost = 0;                // in the problem's objective
  double bound = 0;               // no schedule costs less
  bool optimal = false;           // true: proven that no schedule costs less
  std::uint64_t evaluations = 0;  // orders evaluated to find it
};

}  // namespace millrace::sched
