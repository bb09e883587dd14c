// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/simple/capacity.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>
#include <utility>

namespace millrace::sched {
namespace {

// Returns a percentage of a number of slots. A whole number stays one.
double Percent(double percent, double slots) { return percent * slots / 100; }

}  // namespace

CapacityOrder::CapacityOrder(const std::map<std::string, QueueSettings>& queues, SlotKind reduces)
    : reduces_(reduces), named_(!queues.empty()) {
  double left = 100;
  for (const auto& [name, settings] : queues) {
    Queue& queue = queues_[name];
    queue.name = name;
    queue.settings = settings;
    left -= settings.capacity;
  }
  Queue& rest = queues_["default"];
  if (!rest.name.empty()) return;
  rest.name = "default";
  rest.settings.capacity = std::max(left, 0.0);
}

std::unique_ptr<JobOrder> CapacityOrder::Clone(const ClusterState& state) const {
  auto copy = std::make_unique<CapacityOrder>(*this);
  copy->jobs_ = {};  // they point to the queues of this one
  for (auto& [name, queue] : copy->queues_) {
    queue = {};
    queue.name = name;
    queue.settings = queues_.at(name).settings;
  }
  for (const QueueKey& key : state.LiveJobs()) copy->OnJobSubmitted(state, key.job);
  copy->let_in_ = let_in_;
  return copy;
}

CapacityOrder::Queue& CapacityOrder::QueueFor(const JobSpec& spec) {
  for (const std::string* name : {&spec.pool, &spec.user}) {
    if (const auto found = queues_.find(*name); found != queues_.end()) return found->second;
  }
  return queues_.at("default");
}

std::string CapacityOrder::Refusal(const JobSpec& spec) const {
  if (!named_ || spec.pool.empty() || queues_.contains(spec.pool)) return {};
  std::string names;
  for (const auto& [name, queue] : queues_) names += (names.empty() ? "\"" : ", \"") + name + '"';
  return "capacity has no queue called \"" + spec.pool + "\"; there is: " + names +
         "; name one of these as the job's pool, or none, or add [queues.NAME] to the scheduler's settings";
}

void CapacityOrder::OnJobSubmitted(const ClusterState& state, JobId id) {
  const JobSpec& spec = state.FindJob(id)->spec;
  Job& job = jobs_[id];
  job.queue = &QueueFor(spec);
  job.user = job.queue->users.try_emplace(spec.user).first;
  ++job.queue->jobs;
  ++job.user->second.jobs;
  OnJobChanged(state, id);
}

void CapacityOrder::OnJobPrioritySet(const ClusterState& state, JobId job) { OnJobChanged(state, job); }

void CapacityOrder::OnJobChanged(const ClusterState& state, JobId id) {
  const JobState& known = *state.FindJob(id);
  Job& job = jobs_.At(id);
  QueueKey key = known.key;
  if (!job.queue->settings.supports_priority) key.priority = Priority::kNormal;
  if (key != job.key || job.runnable != known.runnable) {
    Unlist(job);
    job.key = key;
  }
  for (const SlotKind kind : kSlotKinds) {
    const bool was_full = AtCeiling(state, kind, *job.queue);
    Count(job, kind, {known.running_attempts[kind], known.Demand(kind)});
    if (was_full && !AtCeiling(state, kind, *job.queue)) let_in_[kind] = true;
    const bool listed = std::exchange(job.runnable[kind], known.runnable[kind]);
    if (known.runnable[kind] && !listed) job.queue->runnable[kind].insert(job.key);
  }
}

void CapacityOrder::OnJobEnded(const ClusterState& state, JobId id) {
  Job& job = jobs_.At(id);
  Unlist(job);
  for (const SlotKind kind : kSlotKinds) {
    const bool was_full = AtCeiling(state, kind, *job.queue);
    Count(job, kind, {});
    if (was_full && !AtCeiling(state, kind, *job.queue)) let_in_[kind] = true;
  }
  --job.queue->jobs;
  if (--job.user->second.jobs == 0) job.queue->users.erase(job.user);
  jobs_.Erase(id);
}

void CapacityOrder::Unlist(Job& job) {
  for (const SlotKind kind : kSlotKinds) {
    if (std::exchange(job.runnable[kind], false)) job.queue->runnable[kind].erase(job.key);
  }
}

void CapacityOrder::Count(Job& job, SlotKind kind, const Held& now) {
  const Held before = std::exchange(job.counts[kind], now);
  Held& of_user = job.user->second.counts[kind];
  const bool was_active = of_user.demand > 0;
  for (Held* total : {&job.queue->counts[kind], &of_user}) {
    total->running += now.running - before.running;
    total->demand += now.demand - before.demand;
  }
  const bool is_active = of_user.demand > 0;
  job.queue->active_users[kind] += (is_active ? 1U : 0U) - (was_active ? 1U : 0U);
}

std::uint32_t CapacityOrder::Ceiling(const ClusterState& state, SlotKind kind, const Queue& queue) {
  const double ceiling = std::floor(Percent(queue.settings.max_capacity, state.Capacity(kind)));
  return std::max(static_cast<std::uint32_t>(ceiling), 1U);
}

bool CapacityOrder::AtCeiling(const ClusterState& state, SlotKind kind, const Queue& queue) const {
  if (queue.settings.max_capacity >= 100 || !Counts(kind)) return false;  // the slots themselves are the ceiling
  return queue.counts[kind].running >= Ceiling(state, kind, queue);
}

bool CapacityOrder::AtLimit(const ClusterState& state, SlotKind kind, const Queue& queue, const User& user) const {
  if (queue.settings.user_limit >= 100 || !Counts(kind)) return false;
  const double running = queue.counts[kind].running;
  const double capacity = Percent(queue.settings.capacity, state.Capacity(kind));
  const double slots = running < capacity ? capacity : running + 1;
  const double limit =
      std::max(slots / std::max(queue.active_users[kind], 1U), Percent(queue.settings.user_limit, slots));
  return user.counts[kind].running >= std::ceil(limit);
}

bool CapacityOrder::Earlier(SlotKind kind, const Queue& a, const Queue& b) {
  const double a_running = a.counts[kind].running, b_running = b.counts[kind].running;
  const bool a_none = a.settings.capacity <= 0, b_none = b.settings.capacity <= 0;
  if (a_none != b_none) return b_none;
  const double left = a_none ? a_running : a_running * b.settings.capacity;
  const double right = a_none ? b_running : b_running * a.settings.capacity;
  return left != right ? left < right : a.name < b.name;
}

std::optional<JobId> CapacityOrder::Offer(const ClusterState& state, SlotKind kind, Micros, const Take& take) const {
  std::vector<const Queue*> refused;
  while (true) {
    const Queue* next = nullptr;
    for (const auto& [name, queue] : queues_) {
      if (queue.runnable[kind].empty() || AtCeiling(state, kind, queue)) continue;
      if (std::find(refused.begin(), refused.end(), &queue) != refused.end()) continue;
      if (next == nullptr || Earlier(kind, queue, *next)) next = &queue;
    }
    if (next == nullptr) return std::nullopt;
    if (const auto taker = OfferIn(state, kind, *next, take)) return taker;
    refused.push_back(next);
  }
}

std::optional<JobId> CapacityOrder::OfferIn(const ClusterState& state, SlotKind kind, const Queue& queue,
                                            const Take& take) const {
  std::vector<JobId> at_limit;
  for (const QueueKey& key : queue.runnable[kind]) {
    if (AtLimit(state, kind, queue, jobs_.At(key.job).user->second)) {
      at_limit.push_back(key.job);
    } else if (take(key.job)) {
      return key.job;
    }
  }
  const auto taker = std::find_if(at_limit.begin(), at_limit.end(), take);
  return taker == at_limit.end() ? std::nullopt : std::optional(*taker);
}

bool CapacityOrder::Before(const ClusterState& state, SlotKind kind, Micros, JobId a, JobId b) const {
  const Job &left = jobs_.At(a), &right = jobs_.At(b);
  if (left.queue != right.queue) return Earlier(kind, *left.queue, *right.queue);
  const bool left_limited = AtLimit(state, kind, *left.queue, left.user->second);
  const bool right_limited = AtLimit(state, kind, *right.queue, right.user->second);
  return std::tie(left_limited, left.key) < std::tie(right_limited, right.key);
}

bool CapacityOrder::MayRun(const ClusterState& state, SlotKind kind, JobId job) const {
  return !AtCeiling(state, kind, *jobs_.At(job).queue);
}

bool CapacityOrder::MayHoldBack(const ClusterState&, JobId job) const {
  return Counts(kComputePermit) && jobs_.At(job).queue->settings.max_capacity < 100;
}

PerSlot<bool> CapacityOrder::BeginRound(const ClusterState&, Micros) { return std::exchange(let_in_, {}); }

PolicyView CapacityOrder::View(const ClusterState& state, Micros) const {
  PolicyView view;
  view.group_noun = "queue";
  std::map<const Queue*, std::vector<JobId>> jobs;
  for (const QueueKey& key : state.LiveJobs()) jobs[jobs_.At(key.job).queue].push_back(key.job);
  for (const auto& [name, queue] : queues_) {
    GroupView& group = view.groups.emplace_back(GroupView{name, queue.settings.capacity, jobs[&queue], {}});
    for (const TaskKind kind : kTaskKinds) {
      const SlotKind counted = kind == TaskKind::kMap ? kMapSlot : reduces_;
      GroupSlots& slots = group.slots[kind];
      slots.running = queue.counts[counted].running;
      slots.demand = queue.counts[counted].demand;
      slots.share = Percent(queue.settings.capacity, state.Capacity(counted));
      if (queue.settings.max_capacity < 100) slots.maximum = Ceiling(state, counted, queue);
    }
    for (const SlotKind kind : kSlotKinds) {
      if (!AtCeiling(state, kind, queue)) continue;
      for (const QueueKey& key : queue.runnable[kind]) {
        WaitView& wait = view.waits.emplace_back(key.job, kind, WaitCause::kGroupFull, queue.counts[kind].running,
                                                 Ceiling(state, kind, queue));
        wait.group = name;
      }
    }
  }
  return view;
}

}  // namespace millrace::sched
