// SPDX-License-Identifier: Apache-2.0
// A lower bound on the cost of a problem: no schedule can beat it, whether it follows an order or not.
//
// The rule, as code. Reach(w) is the time by which the slots of a kind have had w of slot time, and tail(j) the least
// time from the end of the maps of job j to the end of the job:
//
//   alone(j) = the end of j if no other job had pending tasks
//   late  >= the number of j with alone(j) > d_j, plus as many of the others as Moore and Hodgson's rule makes late
//            on one machine that is as fast as all slots of a kind
//   worst >= alone(j) - s_j for each j;  and for the n oldest jobs, one of which ends last:
//            max(Reach(their map work) + the least tail, Reach(their reduce work)) - the latest s_j of them
//   total >= sum of alone(j) - sum of s_j;  and on that machine, shortest work first, for n from 1 to all jobs:
//            sum of Reach(map work of the n shortest) + sum of tail(j) - sum of s_j
//            sum of Reach(reduce work of the n shortest) - sum of s_j
//   bound = the cost of these figures (problem.h);  in `mix`, `late` jobs have a p_late of 1, the others that of
//            ending at alone(j)
//
// It is never above LeastCost (reference.h). Pure. O(jobs log jobs + jobs x groups of slots).
#pragma once

#include <vector>

#include "schedulers/policies/cp/problem.h"

namespace millrace::sched {

// Returns, by index, the time at which each job would end if no other job had pending tasks. No schedule ends it
// sooner.
[[nodiscard]] std::vector<Micros> AloneEnds(const PlanProblem& problem);
// Requires: `alone` is AloneEnds of the problem.
[[nodiscard]] double PlanBound(const PlanProblem& problem, const std::vector<Micros>& alone);

// Returns a lower bound on the number of jobs with these works and due dates that must be late on these slots. `work`
// is in slot time. Requires: `due` is below kNever.
struct DueWork {
  Micros due = 0;
  double work = 0;
};
[[nodiscard]] std::uint32_t FewestLate(const std::vector<SlotGroup>& slots, std::vector<DueWork> jobs);

}  // namespace millrace::sched
