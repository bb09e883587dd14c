#include "schedulers/policies/cp/plan/moves.h"

#include <algorithm>
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

}  // namespace

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
