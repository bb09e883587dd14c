// MrcpModel: a PlanProblem as a model of Gecode 6.2, with "costs less than `below`" as a constraint. Built only where
// Gecode is found.
//
// The rule, as code, of section 3, Table 1, with pooled slots; times in ticks from `now`:
//
//   for each job j:
//     map_end = max(0, maps_until, start + map_time of each map), each start >= 0                       // (2)
//     C_j = max(map_end, reduces_until, start + reduce_time of each reduce), each start >= map_end      // (3), (4)
//   for maps, and for reduces:
//     cumulative(starts, times, 1 slot each, all slots), plus a task in each slot until it is free      // (6), (7)
//   paper: (1 + the number of C_j > d_j) x max of (C_j - s_j) < below                                   // (5)
//   mix:   the sum of PlanCost < below, with a few steps below the curve in place of p_late
//
// The model is a relaxation: times are rounded to ticks in favour of the schedule. So a model without a solution proves
// that no schedule costs less than `below`. Where all times are multiples of the tick, `paper` is exact.
#pragma once

#include <cstdint>
#include <gecode/int.hh>
#include <optional>

#include "schedulers/policies/cp/plan/problem.h"

namespace millrace::sched {

class MrcpModel : public Gecode::Space {
 public:
  // Posts all constraints; nothing is propagated before status(). Throws Gecode::Exception when numbers are out of
  // Gecode's range.
  MrcpModel(const PlanProblem& problem, double below);
  MrcpModel(MrcpModel& other);
  Gecode::Space* copy() override { return new MrcpModel(*this); }

  // Lets a search decide all starts, earliest first.
  void Branch();
  // Returns the cost in the problem's unit, for a solved model of `paper`.
  [[nodiscard]] double PaperCost() const { return static_cast<double>(cost_.val()) * static_cast<double>(tick_); }

 private:
  struct Cumulative;
  struct Ticks;
  // Returns the end of the job's tasks: its running ones and those added here.
  Gecode::IntVar AddTasks(const Ticks& ticks, std::uint32_t tasks, Micros duration, const Gecode::IntVar& from,
                          Micros until, Cumulative* cumulative);
  void PostSlots(const Ticks& ticks, const std::vector<SlotGroup>& slots, const Cumulative& cumulative);
  Gecode::IntVar WorstOf(const Ticks& ticks, const Gecode::IntVarArgs& turnarounds);
  void PostPaper(const Ticks& ticks, const Gecode::IntVarArgs& ends, double below);
  void PostMix(const Ticks& ticks, const Gecode::IntVarArgs& ends, double below);

  Gecode::IntVarArray starts_;
  Gecode::IntVar cost_;  // of `paper`, in ticks
  Micros tick_ = 1;
};

}  // namespace millrace::sched
