// SPDX-License-Identifier: Apache-2.0
// CalExpSm: the number of slots that should run maps now, in fresh-dynamic (FRESH, Algorithm 3 and Theorem 1;
// docs/schedulers/policies.md#fresh).
//
// The rule, as code:
//
//   theta_cur = RW_m / (RW_m + RW_r); a = the job of M with the least w'_m                // lines 1 and 2
//   if progress(a) < tau_1: return theta_cur S                                            // lines 3 to 5
//   b = the next job to enter M
//   RW'_m = max(0, RW_m - |M| w'_m(a)) + w_m(b); RW'_r = RW_r + w_r(a)                    // lines 7 and 8
//   theta_exp = RW'_m / (RW'_m + RW'_r)                                                   // line 9
//   c = theta_cur / (2 r |M|); eta = (sqrt(m_a^2 + 4 c w'_m(a)) - m_a) / (2 c r)          // line 10: Theorem 1
//   s'_m = s_m + theta_cur eta                                                            // line 11
//   return |s'_m / S - theta_exp| / theta_exp > tau_2 ? theta_exp S : theta_cur S         // lines 12 and 13
//
// The slots are divided in proportion to the remaining work (theta_cur), with one exception. The job a is the next to
// end its map phase; its reduces then add reduce work, and another job enters with its maps. If a is near that end, and
// these changes will alter the proportion by enough, the expected proportion (theta_exp) counts. In the paper, k stands
// for the number of jobs in their map phase (the paper's cluster is busy, so there are k of them). This function counts
// those jobs instead, so that a cluster with few jobs is judged by the jobs that it has.
//
// The functions are pure; OutlookOf reads the state that it is given. Work is in slot-us.
#pragma once

#include <cstdint>

#include "schedulers/cluster/cluster_state.h"
#include "schedulers/policies/fresh/phase_admission.h"

namespace millrace::sched {

// The inputs of the rule, as OutlookOf makes them.
struct PhaseOutlook {
  double map_work = 0;          // RW_m: pending maps of the jobs in M
  double reduce_work = 0;       // RW_r: pending reduces of the jobs in R and R'
  std::uint32_t slots = 0;      // S
  std::uint32_t map_slots = 0;  // s_m: in use by maps
  std::uint32_t map_jobs = 0;   // |M|; if 0, the rest means nothing

  // The job a, which has the least pending map work of M.
  double progress = 0;            // the share of its maps that are done
  double first_map_work = 0;      // w'_m(a)
  double first_reduce_work = 0;   // w_r(a)
  std::uint32_t first_slots = 0;  // m_a: the map slots that it holds
  double next_map_work = 0;       // w_m(b), b the next job to enter M; 0 if there is none

  double reduce_interval = 0;  // r: mean time between the ends of reduces, us; 0: none end
};

// Returns a number of slots, 0 to S; 0 when no work is left.
[[nodiscard]] double ExpectedMapSlots(const PhaseOutlook& outlook, double tau_progress, double tau_change);

// Returns eta of Theorem 1: the number of reduce slots that become free before the job a has ended its maps, if a holds
// m_a slots and gets theta_cur / |M| of the slots that become free. Two cases avoid a division by 0. If no reduces end
// (r = 0), no slot becomes free. If theta_cur = 0, the job a keeps its slots; if it has none, the function returns 0
// (the result is multiplied by theta_cur).
[[nodiscard]] double FreedReduceSlots(const PhaseOutlook& outlook, double theta_cur);

// The remaining work that fresh-dynamic weighs (FRESH section V.B; docs/schedulers/policies.md#fresh).
//
//   w'_m, w'_r = pending maps, or reduces, of a job x their mean time
//   RW_m = sum of w'_m over M; RW_r = sum of w'_r over R and R'; a = the job of M with the least (w'_m, id)
//
// The mean time is the job's own, else its user's estimate, else that of its history, else the cluster's. The sums are
// made anew each time. Cost: O(jobs in M, R' and R).
//
// Returns the inputs of ExpectedMapSlots. The mean time between the ends of reduces is the mean time of a reduce
// divided by the number of running reduces (Little's law). This rule needs no clock, and its inputs are known again
// after a restart.
[[nodiscard]] PhaseOutlook OutlookOf(const ClusterState& state, const PhaseAdmission& admission);

}  // namespace millrace::sched
