// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/cp/reference.h"

#include <algorithm>
#include <cmath>

namespace millrace::sched {
namespace {

std::vector<Micros> SlotTimes(const std::vector<SlotGroup>& groups) {
  std::vector<Micros> slots;
  for (const SlotGroup& group : groups) slots.insert(slots.end(), group.slots, group.free);
  return slots;
}

// Tries every order in which the tasks can be put one after the other, each at its earliest place.
class Exhaustive {
 public:
  explicit Exhaustive(const PlanProblem& problem) : problem_(problem) {
    for (const PlanJob& job : problem.jobs) {
      left_.push_back({job.maps, job.reduces});
      map_ends_.push_back(std::max(problem.now, job.maps_until));
      ends_.push_back(std::max(map_ends_.back(), job.reduces_until));
    }
    Occupy(problem.map_slots, &busy_maps_);
    Occupy(problem.reduce_slots, &busy_reduces_);
  }

  double Best() {
    Step();
    return best_;
  }

 private:
  struct Left {
    std::uint32_t maps, reduces;
  };
  struct Usage {
    std::size_t slots = 0;
    std::vector<int> at;  // how many tasks run in tick now + i
  };

  void Occupy(const std::vector<SlotGroup>& groups, Usage* usage) {
    usage->at.assign(kReferenceTicks, 0);
    for (const Micros free : SlotTimes(groups)) {
      ++usage->slots;
      for (Micros t = problem_.now; t < free; ++t) ++usage->at[static_cast<std::size_t>(t - problem_.now)];
    }
  }

  Micros Earliest(const Usage& usage, Micros from, Micros duration) const {
    for (Micros start = from;; ++start) {
      bool fits = true;
      for (Micros t = start; t < start + duration && fits; ++t) {
        fits = usage.at[static_cast<std::size_t>(t - problem_.now)] < static_cast<int>(usage.slots);
      }
      if (fits) return start;
    }
  }

  void Put(Usage* usage, Micros start, Micros duration, int tasks) {
    for (Micros t = start; t < start + duration; ++t) usage->at[static_cast<std::size_t>(t - problem_.now)] += tasks;
  }

  void Try(std::size_t i, bool map, Usage* usage, Micros from, Micros duration) {
    const Micros start = Earliest(*usage, from, duration);
    const Micros end = ends_[i], map_end = map_ends_[i];
    Put(usage, start, duration, 1);
    if (map) map_ends_[i] = std::max(map_end, start + duration);
    ends_[i] = std::max(end, start + duration);
    --(map ? left_[i].maps : left_[i].reduces);
    Step();
    ++(map ? left_[i].maps : left_[i].reduces);
    ends_[i] = end;
    map_ends_[i] = map_end;
    Put(usage, start, duration, -1);
  }

  void Step() {
    bool done = true;
    for (std::size_t i = 0; i < problem_.jobs.size(); ++i) {
      const PlanJob& job = problem_.jobs[i];
      if (left_[i].maps > 0) {
        Try(i, true, &busy_maps_, problem_.now, job.map_time);
      } else if (left_[i].reduces > 0) {
        Try(i, false, &busy_reduces_, map_ends_[i], job.reduce_time);
      } else {
        continue;
      }
      done = false;
    }
    if (done) best_ = std::min(best_, CostOf(problem_, ends_));
  }

  const PlanProblem& problem_;
  std::vector<Left> left_;
  std::vector<Micros> map_ends_, ends_;
  Usage busy_maps_, busy_reduces_;
  double best_ = 1e300;
};

}  // namespace

double CostOf(const PlanProblem& problem, const std::vector<Micros>& ends) {
  const PlanObjective& objective = problem.objective;
  double late = 0, total = 0, late_jobs = problem.fixed_late;
  auto worst = static_cast<double>(problem.fixed_worst);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const PlanJob& job = problem.jobs[i];
    const auto turnaround = static_cast<double>(ends[i] - job.submitted);
    total += turnaround;
    worst = std::max(worst, turnaround);
    if (!job.deadline) continue;
    const auto slack = static_cast<double>(*job.deadline - ends[i]);
    late_jobs += slack < 0 ? 1 : 0;
    late += slack < 0 ? 1 : 0.9 * std::exp(-slack / static_cast<double>(objective.tau));
  }
  if (objective.kind == PlanObjective::Kind::kPaper) return (late_jobs + 1) * worst;
  return late + total / static_cast<double>(objective.total_scale) + worst / static_cast<double>(objective.worst_scale);
}

std::vector<Micros> Follow(const PlanProblem& problem, const PlanOrder& order) {
  std::vector<Micros> map_slots = SlotTimes(problem.map_slots), reduce_slots = SlotTimes(problem.reduce_slots);
  std::vector<Micros> map_ends, ends;
  std::vector<std::uint32_t> chunk_left, maps_left, reduces_left;
  for (const PlanJob& job : problem.jobs) {
    map_ends.push_back(std::max(problem.now, job.maps_until));
    ends.push_back(std::max(map_ends.back(), job.reduces_until));
    maps_left.push_back(job.maps);
    reduces_left.push_back(job.reduces);
  }
  for (const MapChunk& chunk : order.maps) chunk_left.push_back(chunk.maps);
  std::uint64_t left = 0;
  for (const PlanJob& job : problem.jobs) left += job.maps + job.reduces;
  for (Micros now = problem.now; left > 0; ++now) {
    for (Micros& slot : map_slots) {
      for (std::size_t i = 0; i < order.maps.size() && slot <= now; ++i) {
        const std::uint32_t j = order.maps[i].job;
        if (chunk_left[i] == 0) continue;
        --chunk_left[i];
        --maps_left[j];
        --left;
        slot = now + problem.jobs[j].map_time;
        map_ends[j] = std::max(map_ends[j], slot);
        ends[j] = std::max(ends[j], slot);
      }
    }
    for (Micros& slot : reduce_slots) {
      for (std::size_t i = 0; i < order.reduces.size() && slot <= now; ++i) {
        const std::uint32_t j = order.reduces[i];
        if (reduces_left[j] == 0 || maps_left[j] > 0 || map_ends[j] > now) continue;
        --reduces_left[j];
        --left;
        slot = now + problem.jobs[j].reduce_time;
        ends[j] = std::max(ends[j], slot);
      }
    }
  }
  return ends;
}

double LeastCost(const PlanProblem& problem) { return Exhaustive(problem).Best(); }

}  // namespace millrace::sched
