#include "schedulers/policies/cp/plan/orders.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

namespace millrace::sched {
namespace {

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

}  // namespace millrace::sched
