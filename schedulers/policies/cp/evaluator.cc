// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/cp/evaluator.h"

#include <algorithm>
#include <functional>
#include <numeric>

namespace millrace::sched {
namespace {

constexpr std::size_t kCheckpoints = 32;

SlotPool PoolOf(const std::vector<SlotGroup>& groups, Micros now) {
  const SlotGroup one{now, 1};
  return groups.empty() ? SlotPool({&one, 1}) : SlotPool(groups);
}

}  // namespace

Evaluator::Evaluator(const PlanProblem& problem)
    : problem_(problem),
      initial_maps_(PoolOf(problem.map_slots, problem.now)),
      initial_reduces_(PoolOf(problem.reduce_slots, problem.now)),
      pool_(initial_maps_),
      map_ends_(problem.jobs.size()),
      ends_(problem.jobs.size()) {}

double Evaluator::Cost(const PlanOrder& order, std::size_t same) {
  ++evaluations_;
  for (std::size_t i = 0; i < ends_.size(); ++i) map_ends_[i] = std::max(problem_.now, problem_.jobs[i].maps_until);
  RunMaps(order, same);
  RunReduces(order);
  return PlanCost(problem_, ends_);
}

void Evaluator::Rebase(const PlanOrder& order, std::size_t same) {
  const std::size_t count = order.maps.size();
  const std::size_t stride = std::max<std::size_t>(1, count / kCheckpoints);
  if (stride != stride_ || checkpoints_.empty()) same = 0;
  stride_ = stride;
  std::size_t kept = std::min(checkpoints_.size(), same / stride + 1);
  if (kept == 0) {
    checkpoints_.assign(1, initial_maps_);
    kept = 1;
  }
  checkpoints_.resize(kept, initial_maps_);
  chunk_ends_.resize(count);
  pool_ = checkpoints_.back();
  for (std::size_t at = (kept - 1) * stride; at < count; ++at) {
    if (at == checkpoints_.size() * stride) checkpoints_.push_back(pool_);
    const MapChunk& chunk = order.maps[at];
    chunk_ends_[at] = pool_.Place(chunk.maps, problem_.jobs[chunk.job].map_time).last_end;
  }
}

void Evaluator::RunMaps(const PlanOrder& order, std::size_t same) {
  std::size_t at = 0;
  if (same < stride_ || checkpoints_.empty()) {
    pool_ = initial_maps_;
  } else {
    const std::size_t from = std::min(same / stride_, checkpoints_.size() - 1);
    pool_ = checkpoints_[from];
    for (; at < from * stride_; ++at) {
      Micros& end = map_ends_[order.maps[at].job];
      end = std::max(end, chunk_ends_[at]);
    }
  }
  for (; at < order.maps.size(); ++at) {
    const MapChunk& chunk = order.maps[at];
    const Micros end = pool_.Place(chunk.maps, problem_.jobs[chunk.job].map_time).last_end;
    map_ends_[chunk.job] = std::max(map_ends_[chunk.job], end);
  }
}

void Evaluator::RunReduces(const PlanOrder& order) {
  for (std::size_t i = 0; i < ends_.size(); ++i) ends_[i] = std::max(map_ends_[i], problem_.jobs[i].reduces_until);
  batches_.clear();
  for (const std::uint32_t index : order.reduces) {
    const PlanJob& job = problem_.jobs[index];
    if (job.reduces > 0) batches_.push_back({map_ends_[index], index, job.reduces, job.reduce_time});
  }
  Dispatch();
}

void Evaluator::Dispatch() {
  pool_ = initial_reduces_;
  by_ready_.resize(batches_.size());
  std::iota(by_ready_.begin(), by_ready_.end(), 0U);
  std::sort(by_ready_.begin(), by_ready_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return batches_[a].ready != batches_[b].ready ? batches_[a].ready < batches_[b].ready : a < b;
  });
  open_.clear();
  std::size_t next = 0;
  while (next < by_ready_.size() || !open_.empty()) {
    pool_.AdvanceTo(open_.empty() ? batches_[by_ready_[next]].ready : pool_.NextFree());
    for (; next < by_ready_.size() && batches_[by_ready_[next]].ready <= pool_.NextFree(); ++next) {
      open_.push_back(by_ready_[next]);
      std::push_heap(open_.begin(), open_.end(), std::greater<>());
    }
    Batch& first = batches_[open_.front()];
    const Micros until = next < by_ready_.size() ? batches_[by_ready_[next]].ready : kNever;
    const SlotPool::Placed placed = pool_.Place(first.tasks, first.duration, until);
    ends_[first.job] = std::max(ends_[first.job], placed.last_end);
    first.tasks -= placed.tasks;
    if (first.tasks > 0) continue;
    std::pop_heap(open_.begin(), open_.end(), std::greater<>());
    open_.pop_back();
  }
}

}  // namespace millrace::sched
