// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/simple/reference.h"

#include <algorithm>

namespace millrace::sched {

NodeLimits DlReference::LimitsOf(const NodeState& node) const {
  return admission_.LimitsOf(node, NodeLimits::Typed(node.slots));
}

std::optional<Decision> DlReference::LaunchOf(const ClusterState& state, TaskKind kind, NodeId node) const {
  std::optional<Decision> closest;
  for (const QueueKey& key : state.RunnableJobs(kind)) {
    if (kind == TaskKind::kReduce) {
      const auto reduce = admission_.NextReduce(state, key.job, node);
      if (reduce) return Decision{{key.job, kind, *reduce}, node};
      continue;
    }
    const auto map = state.BestPendingMap(key.job, node);
    if (!map || (closest && *closest->locality <= map->locality)) continue;
    closest = Decision{{key.job, kind, map->map}, node, false, map->locality};
  }
  return closest;
}

std::optional<Decision> DlReference::Next(const ClusterState& state, Micros) {
  for (const TaskKind kind : kTaskKinds) {
    const OrderedBits& free = state.FreeNodes(kind);
    std::vector<std::uint32_t> nodes(free.begin(), free.end());
    std::rotate(nodes.begin(), std::lower_bound(nodes.begin(), nodes.end(), turn_[kind]), nodes.end());
    const OrderedBits& before = admission_.NodesBeforeOthers(state, kind);
    std::stable_partition(nodes.begin(), nodes.end(), [&](std::uint32_t node) { return before.Contains(node); });
    for (const std::uint32_t node : nodes) {
      const auto launch = LaunchOf(state, kind, NodeId{node});
      if (!launch) continue;
      turn_[kind] = node + 1;
      return launch;
    }
  }
  return std::nullopt;
}

bool DlReference::WaitsForSpace(const ClusterState& state, Micros now) const {
  for (const std::uint32_t node : state.FreeNodes(TaskKind::kMap)) {
    for (const QueueKey& key : state.RunnableJobs(TaskKind::kMap)) {
      if (admission_.LacksSpaceIfIdle(state, key.job, NodeId{node}, now)) return true;
    }
  }
  return false;
}

bool LasReference::Before(const ClusterState& state, SlotKind, Micros now, JobId a, JobId b) const {
  Micros attained[2] = {}, level[2] = {};
  std::size_t running[2] = {};
  for (const bool second : {false, true}) {
    const JobState& job = *state.FindJob(second ? b : a);
    for (const TaskKind kind : kTaskKinds) {
      attained[second] += job.times[kind].ended_total;
      for (const TaskState& task : job.Tasks(kind)) {
        running[second] += task.running.size();
        for (const RunningAttempt& attempt : task.running) attained[second] += now - attempt.since;
      }
    }
    for (Micros end = quantum_; quantum_ > 0 && attained[second] >= end; end *= 2) ++level[second];
  }
  if (quantum_ > 0) {
    if (level[0] != level[1]) return level[0] < level[1];
    return state.FindJob(a)->key.submit_order < state.FindJob(b)->key.submit_order;
  }
  if (attained[0] != attained[1]) return attained[0] < attained[1];
  return running[0] != running[1] ? running[0] < running[1] : a < b;
}

std::optional<JobId> LasReference::Offer(const ClusterState& state, SlotKind kind, Micros now, const Take& take) const {
  std::vector<JobId> jobs;
  for (const QueueKey& key : state.RunnableJobs(kind)) jobs.push_back(key.job);
  std::sort(jobs.begin(), jobs.end(), [&](JobId a, JobId b) { return Before(state, kind, now, a, b); });
  const auto taker = std::find_if(jobs.begin(), jobs.end(), take);
  return taker == jobs.end() ? std::nullopt : std::optional(*taker);
}

void KarmaReference::OnJobSubmitted(const ClusterState& state, JobId job) {
  const std::string& name = state.FindJob(job)->spec.PoolName();
  const std::size_t came = pools_.size();
  pools_.try_emplace(name, Pool{false, 0, came, {}});
  jobs_[job] = name;
  ran_[job] = state.FindJob(job)->running_attempts;
  changed_ = true;
}

void KarmaReference::OnJobChanged(const ClusterState& state, JobId job) {
  const JobState& is = *state.FindJob(job);
  for (const SlotKind kind : kSlotKinds) changed_ |= is.running_attempts[kind] < ran_.at(job)[kind] && !is.held;
  ran_[job] = is.running_attempts;
}

void KarmaReference::OnJobEnded(const ClusterState& state, JobId job) {
  pools_.at(jobs_.at(job)).empty_since = state.FindJob(job)->progress.ended;
  jobs_.erase(job);
  changed_ = true;
}

void KarmaReference::Settle(TaskKind kind, Micros passed) {
  Micros members = 0;
  for (const auto& [name, pool] : pools_) members += pool.member ? 1 : 0;
  if (members == 0) return;
  const Micros own =
      std::min(static_cast<Micros>(terms_.alpha * static_cast<double>(slots_[kind]) / static_cast<double>(members)),
               slots_[kind] / members);
  const Micros issue = passed * (slots_[kind] - members * own) / members;
  for (auto& [name, pool] : pools_) {
    Account& of = pool.accounts[kind];
    if (pool.member) of.credits += issue + passed * of.lent - passed * of.borrowed;
  }
}

void KarmaReference::Grant(TaskKind kind) {
  std::vector<Pool*> members;
  for (auto& [name, pool] : pools_) {
    if (pool.member) members.push_back(&pool);
  }
  if (members.empty()) return;
  std::sort(members.begin(), members.end(), [](const Pool* a, const Pool* b) { return a->came < b->came; });
  const auto count = static_cast<Micros>(members.size());
  const Micros own =
      std::min(static_cast<Micros>(terms_.alpha * static_cast<double>(slots_[kind]) / static_cast<double>(count)),
               slots_[kind] / count);
  Micros shared = slots_[kind] - count * own;
  for (Pool* pool : members) {
    Account& of = pool->accounts[kind];
    of.granted = static_cast<std::uint32_t>(std::min<Micros>(of.demand, own));
    of.lent = of.borrowed = 0;
  }
  while (true) {
    std::vector<Account*> borrowers, lenders;
    for (Pool* pool : members) {
      Account& of = pool->accounts[kind];
      if (of.granted < of.demand) borrowers.push_back(&of);
      if (of.granted + of.lent < own) lenders.push_back(&of);
    }
    const auto worth = [&](const Account* of) {
      return of->credits + terms_.quantum * (Micros{of->lent} - Micros{of->borrowed});
    };
    std::stable_sort(borrowers.begin(), borrowers.end(), [&](auto* a, auto* b) { return worth(a) > worth(b); });
    std::stable_sort(lenders.begin(), lenders.end(), [&](auto* a, auto* b) { return worth(a) < worth(b); });
    if (borrowers.empty() || (lenders.empty() && shared == 0)) return;
    if (lenders.empty()) {
      --shared;
    } else {
      ++lenders.front()->lent;
    }
    ++borrowers.front()->borrowed;
    ++borrowers.front()->granted;
  }
}

PerSlot<bool> KarmaReference::BeginRound(const ClusterState& state, Micros now) {
  const bool changed = changed_;
  changed_ = false;
  if (!changed) return {};
  bool due = !planned_ || now - *planned_ >= terms_.quantum;
  for (const auto& [job, pool] : jobs_) due |= !pools_.at(pool).member;
  for (const TaskKind kind : kTaskKinds) {
    due |= slots_[kind] != state.Capacity(kind == TaskKind::kMap ? kMapSlot : reduces_);
  }
  if (!due) return {};
  for (const TaskKind kind : kTaskKinds) Settle(kind, now - planned_.value_or(now));
  planned_ = now;
  std::map<std::string, std::uint32_t> live;
  for (const auto& [job, pool] : jobs_) ++live[pool];
  std::vector<std::pair<std::size_t, std::string>> in_order;
  for (const auto& [name, pool] : pools_) in_order.emplace_back(pool.came, name);
  std::sort(in_order.begin(), in_order.end());
  for (const auto& [came, name] : in_order) {
    Pool& pool = pools_.at(name);
    if (live.contains(name) && !pool.member) {
      for (const TaskKind kind : kTaskKinds) {
        Micros sum = 0, members = 0;
        for (const auto& [other, of] : pools_) {
          if (of.member) sum += of.accounts[kind].credits, ++members;
        }
        pool.accounts[kind] = {members == 0 ? 0 : sum / members, 0, 0, 0, 0};
      }
      pool.member = true;
    } else if (!live.contains(name) && now - pool.empty_since >= terms_.forget) {
      pool.member = false;
      pool.accounts = {};
    }
  }
  for (const TaskKind kind : kTaskKinds) {
    const SlotKind slot = kind == TaskKind::kMap ? kMapSlot : reduces_;
    for (auto& [name, pool] : pools_) pool.accounts[kind].demand = 0;
    for (const auto& [job, pool] : jobs_) pools_.at(pool).accounts[kind].demand += state.FindJob(job)->Demand(slot);
    slots_[kind] = state.Capacity(slot);
    Grant(kind);
  }
  return {};
}

bool KarmaReference::Before(const ClusterState& state, SlotKind kind, Micros, JobId a, JobId b) const {
  const std::string &pool_a = jobs_.at(a), &pool_b = jobs_.at(b);
  if (pool_a == pool_b) return state.FindJob(a)->key < state.FindJob(b)->key;
  const auto running = [&](const std::string& name) {
    Micros sum = 0;
    for (const auto& [job, pool] : jobs_) sum += pool == name ? state.FindJob(job)->running_attempts[kind] : 0;
    return sum;
  };
  const Pool &of_a = pools_.at(pool_a), &of_b = pools_.at(pool_b);
  const Account &account_a = of_a.accounts[kind.task()], &account_b = of_b.accounts[kind.task()];
  const Micros running_a = running(pool_a), running_b = running(pool_b);
  const bool beyond_a = running_a >= account_a.granted, beyond_b = running_b >= account_b.granted;
  if (beyond_a != beyond_b) return beyond_b;
  // Whole fractions: with up to 2^15 slots they are as different as those in 2^-32.
  const Micros first = beyond_a ? account_b.credits : running_a * account_b.granted;
  const Micros second = beyond_a ? account_a.credits : running_b * account_a.granted;
  return first != second ? first < second : of_a.came < of_b.came;
}

std::optional<JobId> KarmaReference::Offer(const ClusterState& state, SlotKind kind, Micros now,
                                           const Take& take) const {
  std::vector<JobId> jobs;
  for (const QueueKey& key : state.RunnableJobs(kind)) jobs.push_back(key.job);
  std::sort(jobs.begin(), jobs.end(), [&](JobId a, JobId b) { return Before(state, kind, now, a, b); });
  const auto taker = std::find_if(jobs.begin(), jobs.end(), take);
  return taker == jobs.end() ? std::nullopt : std::optional(*taker);
}

}  // namespace millrace::sched
