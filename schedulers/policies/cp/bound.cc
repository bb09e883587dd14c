// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/cp/bound.h"

#include <algorithm>
#include <queue>

#include "schedulers/policies/cp/slot_pool.h"

namespace millrace::sched {
namespace {

// It says how much slot time there is before a moment, and the reverse.
class Capacity {
 public:
  Capacity(const std::vector<SlotGroup>& slots, Micros now) : slots_(slots), now_(now) {}

  [[nodiscard]] double Before(Micros moment) const {
    double area = 0;
    for (const SlotGroup& group : slots_) {
      if (group.free >= moment) break;
      area += static_cast<double>(moment - group.free) * group.slots;
    }
    return area;
  }

  // Returns the first moment, rounded down, before which there is that much, and `now` for nothing.
  [[nodiscard]] Micros Reach(double area) const {
    if (area <= 0) return now_;
    double slots = 0;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      slots += slots_[i].slots;
      const double more = i + 1 < slots_.size() ? static_cast<double>(slots_[i + 1].free - slots_[i].free) * slots : -1;
      if (more < 0 || more >= area) return slots_[i].free + static_cast<Micros>(area / slots);
      area -= more;
    }
    return now_;
  }

 private:
  const std::vector<SlotGroup>& slots_;
  Micros now_;
};

// Returns the groups with slots that are free together in one group, and one slot in the place of none.
std::vector<SlotGroup> SlotsOf(const std::vector<SlotGroup>& groups, Micros now) {
  if (groups.empty()) return {{now, 1}};
  const SlotPool pool(groups);
  return {pool.groups().begin(), pool.groups().end()};
}

double MapWork(const PlanJob& job) { return static_cast<double>(job.map_time) * job.maps; }
double ReduceWork(const PlanJob& job) { return static_cast<double>(job.reduce_time) * job.reduces; }

// Returns the least time from the end of the job's last map to its own.
Micros Tail(const PlanJob& job, std::uint64_t reduce_slots) {
  if (job.reduces == 0) return 0;
  return job.reduce_time * static_cast<Micros>((job.reduces + reduce_slots - 1) / reduce_slots);
}

struct Bounds {
  const PlanProblem& problem;
  std::vector<SlotGroup> map_slots, reduce_slots;
  std::uint64_t reduce_count = 0;
  const std::vector<Micros>& alone;

  Bounds(const PlanProblem& p, const std::vector<Micros>& a)
      : problem(p), map_slots(SlotsOf(p.map_slots, p.now)), reduce_slots(SlotsOf(p.reduce_slots, p.now)), alone(a) {
    for (const SlotGroup& group : reduce_slots) reduce_count += group.slots;
  }

  [[nodiscard]] std::uint32_t Late() const {
    std::uint32_t hopeless = 0;
    std::vector<DueWork> maps, reduces;
    for (std::size_t i = 0; i < problem.jobs.size(); ++i) {
      const PlanJob& job = problem.jobs[i];
      if (!job.deadline) continue;
      if (alone[i] > *job.deadline) {
        ++hopeless;
        continue;
      }
      maps.push_back({*job.deadline - Tail(job, reduce_count), MapWork(job)});
      reduces.push_back({*job.deadline, ReduceWork(job)});
    }
    return hopeless + std::max(FewestLate(map_slots, maps), FewestLate(reduce_slots, reduces));
  }

  // Returns the bound of the worst turnaround.
  [[nodiscard]] double Worst() const {
    auto worst = static_cast<double>(problem.fixed_worst);
    std::vector<std::size_t> by_age(problem.jobs.size());
    for (std::size_t i = 0; i < by_age.size(); ++i) {
      by_age[i] = i;
      worst = std::max(worst, static_cast<double>(alone[i] - problem.jobs[i].submitted));
    }
    std::stable_sort(by_age.begin(), by_age.end(), [&](std::size_t a, std::size_t b) {
      return problem.jobs[a].submitted < problem.jobs[b].submitted;
    });
    const Capacity maps(map_slots, problem.now), reduces(reduce_slots, problem.now);
    double map_work = 0, reduce_work = 0;
    Micros tail = kNever;
    for (const std::size_t i : by_age) {  // one of the jobs up to here ends last
      const PlanJob& job = problem.jobs[i];
      map_work += MapWork(job);
      reduce_work += ReduceWork(job);
      tail = std::min(tail, Tail(job, reduce_count));
      const Micros end = std::max(maps.Reach(map_work) + tail, reduces.Reach(reduce_work));
      worst = std::max(worst, static_cast<double>(end - job.submitted));
    }
    return worst;
  }

  // Returns the bound of the sum of the turnarounds.
  [[nodiscard]] double Total() const {
    double apart = 0, tails = 0, submitted = 0;
    std::vector<double> maps, reduces;
    for (std::size_t i = 0; i < problem.jobs.size(); ++i) {
      const PlanJob& job = problem.jobs[i];
      apart += static_cast<double>(alone[i]);
      submitted += static_cast<double>(job.submitted);
      tails += static_cast<double>(Tail(job, reduce_count));
      maps.push_back(MapWork(job));
      reduces.push_back(ReduceWork(job));
    }
    return std::max({apart, Shortest(map_slots, std::move(maps)) + tails, Shortest(reduce_slots, std::move(reduces))}) -
           submitted;
  }

  [[nodiscard]] double Shortest(const std::vector<SlotGroup>& slots, std::vector<double> works) const {
    const Capacity capacity(slots, problem.now);
    std::sort(works.begin(), works.end());
    double done = 0, sum = 0;
    for (const double work : works) sum += static_cast<double>(capacity.Reach(done += work));
    return sum;
  }
};

}  // namespace

std::vector<Micros> AloneEnds(const PlanProblem& problem) {
  const SlotPool map_slots(SlotsOf(problem.map_slots, problem.now));
  const SlotPool reduce_slots(SlotsOf(problem.reduce_slots, problem.now));
  std::vector<Micros> ends;
  for (const PlanJob& job : problem.jobs) {
    Micros end = std::max(problem.now, job.maps_until);
    SlotPool maps = map_slots;
    end = std::max(end, maps.Place(job.maps, job.map_time).last_end);
    SlotPool reduces = reduce_slots;
    reduces.AdvanceTo(end);
    ends.push_back(std::max({end, job.reduces_until, reduces.Place(job.reduces, job.reduce_time).last_end}));
  }
  return ends;
}

// This is Moore and Hodgson's rule: jobs are taken by due date, and when the work no longer fits, the largest job so
// far is late. The capacity before a moment takes the place of the moment.
std::uint32_t FewestLate(const std::vector<SlotGroup>& slots, std::vector<DueWork> jobs) {
  std::stable_sort(jobs.begin(), jobs.end(), [](const DueWork& a, const DueWork& b) { return a.due < b.due; });
  const Capacity capacity(slots, 0);
  std::priority_queue<double> kept;
  double work = 0;
  std::uint32_t late = 0;
  for (const DueWork& job : jobs) {
    kept.push(job.work);
    work += job.work;
    if (work <= capacity.Before(job.due)) continue;
    work -= kept.top();
    kept.pop();
    ++late;
  }
  return late;
}

double PlanBound(const PlanProblem& problem, const std::vector<Micros>& alone) {
  if (problem.jobs.empty()) return 0;
  const Bounds bounds(problem, alone);
  const double late = bounds.Late();
  if (problem.objective.kind == PlanObjective::Kind::kPaper) return (late + problem.fixed_late + 1) * bounds.Worst();
  // At least `late` jobs cost 1, and the cheapest choice of them is those that alone come closest to it.
  std::vector<double> lateness;
  for (std::size_t i = 0; i < problem.jobs.size(); ++i) {
    lateness.push_back(Lateness(problem.objective, problem.jobs[i], bounds.alone[i]));
  }
  std::sort(lateness.begin(), lateness.end(), std::greater<>());
  double sum = 0;
  for (std::size_t i = 0; i < lateness.size(); ++i) sum += static_cast<double>(i) < late ? 1 : lateness[i];
  return sum + bounds.Total() / static_cast<double>(problem.objective.total_scale) +
         bounds.Worst() / static_cast<double>(problem.objective.worst_scale);
}

}  // namespace millrace::sched
