// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/cp/orders.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace millrace::sched {
namespace {

// Returns a number below `limit`, which is above 0. The bias of the remainder does not matter to a search.
std::size_t Below(std::mt19937_64* random, std::size_t limit) { return (*random)() % limit; }

// Returns two different places below `size` (at least 2), which half of the time are near each other.
std::pair<std::size_t, std::size_t> TwoPlaces(std::mt19937_64* random, std::size_t size) {
  const std::size_t from = Below(random, size);
  if (Below(random, 2) == 0) {
    const std::size_t to = Below(random, size - 1);
    return {from, to >= from ? to + 1 : to};
  }
  const std::size_t step = 1 + Below(random, std::min<std::size_t>(4, size - 1));
  const bool up = from + step < size && (from < step || Below(random, 2) == 0);
  return {from, up ? from + step : from >= step ? from - step : (from + 1) % size};
}

template <class T>
void MoveItem(std::vector<T>* items, std::size_t from, std::size_t to) {
  const auto at = items->begin();
  if (from < to) {
    std::rotate(at + from, at + from + 1, at + to + 1);
  } else {
    std::rotate(at + to, at + from, at + from + 1);
  }
}

// Moves some maps of one chunk to another of the same job. Returns false if the job has but one chunk.
bool ShiftMaps(std::mt19937_64* random, std::vector<MapChunk>* chunks, std::size_t from, std::size_t* same) {
  MapChunk& giver = (*chunks)[from];
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < chunks->size(); ++i) {
    if (i != from && (*chunks)[i].job == giver.job) others.push_back(i);
  }
  if (others.empty() || giver.maps == 0) return false;
  const std::size_t to = others[Below(random, others.size())];
  const auto moved = static_cast<std::uint32_t>(1 + Below(random, giver.maps));
  giver.maps -= moved;
  (*chunks)[to].maps += moved;
  *same = std::min(from, to);
  return true;
}

// Returns the indices of the jobs by rising key.
template <class Key>
JobSequence SortBy(const PlanProblem& problem, const Key& key) {
  JobSequence order(problem.jobs.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return key(a) < key(b); });
  return order;
}

std::pair<Micros, Micros> DeadlineKey(const PlanJob& job) { return {job.deadline.value_or(kNever), job.submitted}; }

double Slots(const std::vector<SlotGroup>& groups) {
  double slots = 0;
  for (const SlotGroup& group : groups) slots += group.slots;
  return std::max(1.0, slots);
}

// Returns the work of each job, as the time that it takes on all slots.
struct Works {
  std::vector<double> maps, reduces;
};

Works WorksOf(const PlanProblem& problem) {
  const double map_slots = Slots(problem.map_slots), reduce_slots = Slots(problem.reduce_slots);
  Works works;
  for (const PlanJob& job : problem.jobs) {
    works.maps.push_back(static_cast<double>(job.map_time) * job.maps / map_slots);
    works.reduces.push_back(static_cast<double>(job.reduce_time) * job.reduces / reduce_slots);
  }
  return works;
}

}  // namespace

JobSequence EarliestDeadline(const PlanProblem& problem) {
  return SortBy(problem, [&](std::uint32_t i) { return DeadlineKey(problem.jobs[i]); });
}

JobSequence LeastSlack(const PlanProblem& problem, const std::vector<Micros>& alone) {
  return SortBy(problem, [&](std::uint32_t i) {
    const PlanJob& job = problem.jobs[i];
    return std::pair(job.deadline ? *job.deadline - alone[i] : kNever, job.submitted);
  });
}

JobSequence ShortestWork(const PlanProblem& problem) {
  const Works works = WorksOf(problem);
  return SortBy(problem, [&](std::uint32_t i) { return works.maps[i] + works.reduces[i]; });
}

JobSequence MooreHodgson(const PlanProblem& problem) {
  const Works works = WorksOf(problem);
  const auto work = [&](std::uint32_t i) { return std::max(works.maps[i], works.reduces[i]); };
  std::set<std::pair<double, std::uint32_t>> kept;  // by work
  double end = static_cast<double>(problem.now);
  for (const std::uint32_t i : EarliestDeadline(problem)) {
    kept.insert({work(i), i});
    end += work(i);
    const PlanJob& job = problem.jobs[i];
    const double tail = job.reduces > 0 ? static_cast<double>(job.reduce_time) : 0;
    if (!job.deadline || end + tail <= static_cast<double>(*job.deadline)) continue;
    end -= std::prev(kept.end())->first;
    kept.erase(std::prev(kept.end()));
  }
  return SortBy(problem, [&](std::uint32_t i) {
    const bool late = !kept.contains({work(i), i});
    return std::tuple(late, late ? std::pair<Micros, Micros>() : DeadlineKey(problem.jobs[i]), work(i));
  });
}

JobSequence HopelessLast(const PlanProblem& problem, const std::vector<Micros>& alone) {
  return SortBy(problem, [&](std::uint32_t i) {
    const PlanJob& job = problem.jobs[i];
    return std::pair(job.deadline && alone[i] > *job.deadline, DeadlineKey(job));
  });
}

JobSequence Johnson(const PlanProblem& problem) {
  const Works works = WorksOf(problem);
  return SortBy(problem, [&](std::uint32_t i) {
    const bool map_heavy = works.maps[i] >= works.reduces[i];
    return std::pair(map_heavy, map_heavy ? -works.reduces[i] : works.maps[i]);
  });
}

JobSequence Oldest(const PlanProblem& problem) {
  return SortBy(problem, [&](std::uint32_t i) { return problem.jobs[i].submitted; });
}

JobSequence Previous(const PlanProblem& problem) {
  std::map<JobId, std::uint32_t> left;
  for (std::uint32_t i = 0; i < problem.jobs.size(); ++i) left[problem.jobs[i].id] = i;
  JobSequence order;
  for (const JobId id : problem.previous) {
    const auto at = left.find(id);
    if (at == left.end()) continue;
    order.push_back(at->second);
    left.erase(at);
  }
  for (const auto& [id, index] : left) {
    const auto before = std::find_if(order.begin(), order.end(), [&, added = index](std::uint32_t i) {
      return DeadlineKey(problem.jobs[added]) < DeadlineKey(problem.jobs[i]);
    });
    order.insert(before, index);
  }
  return order;
}

std::vector<JobSequence> StartOrders(const PlanProblem& problem, const std::vector<Micros>& alone) {
  return {Previous(problem),     EarliestDeadline(problem),    LeastSlack(problem, alone), ShortestWork(problem),
          MooreHodgson(problem), HopelessLast(problem, alone), Johnson(problem),           Oldest(problem)};
}

PlanOrder OrderOf(const PlanProblem& problem, const JobSequence& jobs) {
  PlanOrder order;
  order.maps.reserve(jobs.size());
  for (const std::uint32_t job : jobs) order.maps.push_back({job, problem.jobs[job].maps});
  order.reduces = jobs;
  return order;
}

PlanOrder Split(const PlanProblem& problem, const PlanOrder& order, std::uint32_t pieces) {
  PlanOrder split;
  split.reduces = order.reduces;
  for (const MapChunk& chunk : order.maps) {
    const std::uint32_t size = std::max(1U, (problem.jobs[chunk.job].maps + pieces - 1) / pieces);
    for (std::uint32_t left = chunk.maps; left > 0;) {
      const std::uint32_t taken = std::min(left, size);
      split.maps.push_back({chunk.job, taken});
      left -= taken;
    }
  }
  return split;
}

std::size_t MoveJob(std::mt19937_64* random, PlanOrder* order) {
  const auto [from, to] = TwoPlaces(random, order->maps.size());
  if (Below(random, 3) == 0) {
    std::swap(order->maps[from], order->maps[to]);
  } else {
    MoveItem(&order->maps, from, to);
  }
  for (std::size_t i = 0; i < order->maps.size(); ++i) order->reduces[i] = order->maps[i].job;
  return std::min(from, to);
}

std::size_t MoveChunk(std::mt19937_64* random, PlanOrder* order) {
  const std::size_t kind = Below(random, 8);
  if ((kind == 0 || order->maps.size() < 2) && order->reduces.size() >= 2) {
    const auto [from, to] = TwoPlaces(random, order->reduces.size());
    MoveItem(&order->reduces, from, to);
    return order->maps.size();
  }
  if (order->maps.size() < 2) return order->maps.size();
  const auto [from, to] = TwoPlaces(random, order->maps.size());
  std::size_t same = std::min(from, to);
  if (kind < 3 && ShiftMaps(random, &order->maps, from, &same)) return same;
  if (kind < 5) {
    std::swap(order->maps[from], order->maps[to]);
  } else {
    MoveItem(&order->maps, from, to);
  }
  return same;
}

void WritePlan(const PlanProblem& problem, const PlanOrder& order, Plan* plan) {
  plan->maps.clear();
  plan->reduces.clear();
  for (const MapChunk& chunk : order.maps) {
    if (chunk.maps == 0) continue;
    const JobId job = problem.jobs[chunk.job].id;
    if (!plan->maps.empty() && plan->maps.back().job == job) {
      plan->maps.back().maps += chunk.maps;
    } else {
      plan->maps.push_back({job, chunk.maps});
    }
  }
  for (const std::uint32_t job : order.reduces) plan->reduces.push_back(problem.jobs[job].id);
}

}  // namespace millrace::sched
