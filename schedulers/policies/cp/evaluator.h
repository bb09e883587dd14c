// SPDX-License-Identifier: Apache-2.0
// Evaluator: finds the cost of an order of jobs by list scheduling, that is, when free slots follow the order.
//
// The rule, as code; no slot idles while a task could take it, as at dispatch:
//
//   for t from `now` on, whenever a slot becomes free or tasks become ready:
//     while a map slot is free, and a chunk of order.maps has a map left:
//       the first such chunk starts a map there
//     while a reduce slot is free, and a job of order.reduces has a reduce left and has ended its maps:
//       the first such job starts a reduce there
//   C_j = the end of the last task of job j, including those that run now
//   cost = PlanCost(C)                                                          // problem.h
//
// A kind without slots is planned as if it had one slot, free from `now` on. The ends are exactly those of Follow
// (reference.h), which plays the order tick by tick where there are slots of each kind.
//
// Thread rule: one thread. Cost: O(chunks x groups of slots) at worst, and never O(tasks); about 10 us for 20 jobs on
// 100 slots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "schedulers/policies/cp/problem.h"
#include "schedulers/policies/cp/slot_pool.h"

namespace millrace::sched {

// A number of maps of one job; `job` is its index in the problem.
struct MapChunk {
  std::uint32_t job = 0;
  std::uint32_t maps = 0;
  bool operator==(const MapChunk&) const = default;
};

// Every job has all its pending maps in `maps`, in one chunk or several, and stands once in `reduces`.
struct PlanOrder {
  std::vector<MapChunk> maps;
  std::vector<std::uint32_t> reduces;
  bool operator==(const PlanOrder&) const = default;
};

class Evaluator {
 public:
  // Requires: the problem outlives the evaluator.
  explicit Evaluator(const PlanProblem& problem);

  // Requires: the first `same` chunks are those of the order last given to Rebase.
  double Cost(const PlanOrder& order, std::size_t same = 0);
  // Keeps checkpoints of the order's prefixes, so that orders with the same beginning are cheaper to evaluate.
  // Requires: the first `same` chunks are those of the order last given to Rebase.
  void Rebase(const PlanOrder& order, std::size_t same = 0);

  // Returns C_j of the order last evaluated, by index of the job.
  [[nodiscard]] std::span<const Micros> ends() const { return ends_; }
  [[nodiscard]] std::uint64_t evaluations() const { return evaluations_; }
  [[nodiscard]] const PlanProblem& problem() const { return problem_; }

 private:
  // The reduces of a job, which may start from `ready` on. A batch's index is its priority, lowest first.
  struct Batch {
    Micros ready = 0;
    std::uint32_t job = 0;
    std::uint32_t tasks = 0;
    Micros duration = 0;
  };

  void RunMaps(const PlanOrder& order, std::size_t same);
  void RunReduces(const PlanOrder& order);
  // Starts the reduces in batches_, and raises ends_ to the ends of their last tasks.
  void Dispatch();

  const PlanProblem& problem_;
  SlotPool initial_maps_;
  SlotPool initial_reduces_;
  std::uint64_t evaluations_ = 0;

  // For the base order: the pool before chunk i * stride_, and the end of the last map of each chunk.
  std::size_t stride_ = 1;
  std::vector<SlotPool> checkpoints_;
  std::vector<Micros> chunk_ends_;

  SlotPool pool_;
  std::vector<Micros> map_ends_;
  std::vector<Micros> ends_;
  std::vector<Batch> batches_;
  std::vector<std::uint32_t> by_ready_;
  std::vector<std::uint32_t> open_;
};

}  // namespace millrace::sched
