// SPDX-License-Identifier: Apache-2.0
#include "lab/report/pools_over_time.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "schedulers/policies/fair/fair_settings.h"
#include "schedulers/policies/fair/shares.h"

namespace millrace::compare {
namespace {

constexpr std::size_t kMoments = 200, kMostPools = 12;

// Equally distant moments.
struct Moments {
  Micros first = 0, step = 1;
  // Returns the first moment that is not before the time.
  [[nodiscard]] std::size_t FirstFrom(Micros time) const {
    if (time <= first) return 0;
    return std::min(static_cast<std::size_t>((time - first + step - 1) / step), kMoments);
  }
};

// Counts of tasks at the moments, made from spans of time.
class Counts {
 public:
  // Counts `tasks` at the moments in [from, to).
  void Add(const Moments& moments, Micros from, Micros to, double tasks = 1) {
    const std::size_t begin = moments.FirstFrom(from), end = moments.FirstFrom(to);
    if (begin >= end) return;
    changes_[begin] += tasks;
    changes_[end] -= tasks;
  }
  [[nodiscard]] std::vector<double> AtMoments() const {
    std::vector<double> counts;
    double count = 0;
    for (std::size_t i = 0; i < kMoments; ++i) counts.push_back(count += changes_[i]);
    return counts;
  }

 private:
  std::array<double, kMoments + 1> changes_ = {};
};

struct Pool {
  PerKind<Counts> running, wanted;  // wanted: running or able to run
};

Micros EndOf(const sim::SimResult& result) {
  Micros end = 0;
  for (const sim::JobRow& job : result.jobs) end = std::max({end, job.submit, job.end});
  for (const sim::TaskRow& task : result.tasks) end = std::max({end, task.start, task.end});
  return end;
}

// The known facts of the tasks of one kind of a job.
struct Launches {
  std::map<std::uint32_t, Micros> first;  // by task
  [[nodiscard]] Micros Earliest(Micros otherwise) const {
    Micros earliest = otherwise;
    for (const auto& [task, start] : first) earliest = std::min(earliest, start);
    return earliest;
  }
};

void AddWaiting(const sim::JobRow& job, TaskKind kind, const Launches& launches, const Moments& moments, Micros end,
                Pool* pool) {
  const Micros last = job.Ended() ? job.end : end;
  const std::uint32_t tasks = kind == TaskKind::kMap ? job.maps : job.reduces;
  Micros able = job.submit;
  if (kind == TaskKind::kReduce) able = launches.Earliest(job.maps_ended > 0 ? job.maps_ended : last);
  for (const auto& [task, start] : launches.first) pool->wanted[kind].Add(moments, able, start);
  if (tasks > launches.first.size()) {
    pool->wanted[kind].Add(moments, able, last, static_cast<double>(tasks - launches.first.size()));
  }
}

// Returns the names of the pools that held most slot time; the others go by the last name, if there are others.
std::vector<std::string> LargestPools(const std::map<std::string, double>& slot_time) {
  std::vector<std::pair<double, std::string>> by_time;
  for (const auto& [name, time] : slot_time) by_time.emplace_back(-time, name);
  std::sort(by_time.begin(), by_time.end());
  std::vector<std::string> names;
  const bool all = by_time.size() <= kMostPools;
  for (std::size_t i = 0; i < (all ? by_time.size() : kMostPools - 1); ++i) names.push_back(by_time[i].second);
  std::sort(names.begin(), names.end());
  return names;
}

std::uint32_t SlotsOf(const std::vector<NodeRow>& nodes, TaskKind kind) {
  std::uint32_t slots = 0;
  for (const NodeRow& node : nodes) slots += kind == TaskKind::kMap ? node.map_slots : node.reduce_slots;
  return slots;
}

using Lines = std::map<std::string, std::vector<double>>;  // by pool, over the moments

void AddTo(std::vector<double>* sums, const std::vector<double>& values) {
  sums->resize(kMoments);
  for (std::size_t i = 0; i < kMoments; ++i) (*sums)[i] += values[i];
}

// Adds the fair shares of the slots of one kind.
void AddShares(const std::map<std::string, Pool>& pools, TaskKind kind, double capacity,
               const sched::Settings& settings, Lines* shares) {
  Lines wanted, given;
  for (const auto& [name, pool] : pools) wanted[name] = pool.wanted[kind].AtMoments();
  for (std::size_t i = 0; i < kMoments; ++i) {
    std::vector<sched::ShareClaim> claims;
    for (const auto& [name, demand] : wanted) {
      const sched::PoolSettings& pool = sched::SettingsOfPool(settings, name);
      const std::uint32_t least = kind == TaskKind::kMap ? pool.min_maps : pool.min_reduces;
      const std::optional<std::uint32_t>& most = kind == TaskKind::kMap ? pool.max_maps : pool.max_reduces;
      sched::ShareClaim& claim =
          claims.emplace_back(sched::ShareClaim{pool.weight, static_cast<double>(least), demand[i]});
      if (most) claim.maximum = *most;
    }
    const std::vector<double> share = sched::FairShares(capacity, claims);
    std::size_t at = 0;
    for (const auto& [name, demand] : wanted) given[name].push_back(share[at++]);
  }
  for (const auto& [name, line] : given) AddTo(&(*shares)[name], line);
}

}  // namespace

PoolsOverTime PoolsOf(const sim::SimResult& result, const std::vector<NodeRow>& nodes,
                      const sched::Settings& settings) {
  const Micros end = EndOf(result);
  Micros first = end;
  for (const sim::JobRow& job : result.jobs) first = job.submitted ? std::min(first, job.submit) : first;
  const Moments moments{first, std::max<Micros>((end - first) / static_cast<Micros>(kMoments), 1)};

  std::map<std::string, Pool> pools;
  std::map<std::string, double> slot_time;
  std::vector<PerKind<Launches>> launches(result.jobs.size());
  for (const sim::TaskRow& task : result.tasks) {
    const TaskId& id = task.attempt.task;
    const std::string& name = result.jobs[id.job.value].pool;
    const Micros over = task.how == sim::AttemptEnd::kRunning ? end : task.end;
    Pool& pool = pools[name];
    pool.running[id.kind].Add(moments, task.start, over);
    pool.wanted[id.kind].Add(moments, task.start, over);
    slot_time[name] += static_cast<double>(over - task.start);
    launches[id.job.value][id.kind].first.try_emplace(id.index, task.start);
  }
  for (const sim::JobRow& job : result.jobs) {
    if (!job.submitted) continue;
    Pool& pool = pools[job.pool];
    slot_time.try_emplace(job.pool);
    for (const TaskKind kind : kTaskKinds) AddWaiting(job, kind, launches[job.job][kind], moments, end, &pool);
  }
  Lines slots, shares;
  for (const TaskKind kind : kTaskKinds) {
    for (const auto& [name, pool] : pools) AddTo(&slots[name], pool.running[kind].AtMoments());
    AddShares(pools, kind, SlotsOf(nodes, kind), settings, &shares);
  }

  PoolsOverTime over;
  for (std::size_t i = 0; i < kMoments; ++i) over.time.push_back(first + static_cast<Micros>(i) * moments.step);
  over.names = LargestPools(slot_time);
  const std::set<std::string> named(over.names.begin(), over.names.end());
  for (const std::string& name : over.names) over.slots.push_back(slots[name]), over.shares.push_back(shares[name]);
  if (named.size() == slots.size()) return over;
  over.names.emplace_back("others");
  over.slots.emplace_back(), over.shares.emplace_back();
  for (const auto& [name, line] : slots) {
    if (named.contains(name)) continue;
    AddTo(&over.slots.back(), line);
    AddTo(&over.shares.back(), shares[name]);
  }
  return over;
}

}  // namespace millrace::compare
