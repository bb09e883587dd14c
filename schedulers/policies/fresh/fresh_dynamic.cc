// SPDX-License-Identifier: Apache-2.0
#include "schedulers/policies/fresh/fresh_dynamic.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "schedulers/cluster/ordered_bits.h"
#include "schedulers/offering/admission.h"
#include "schedulers/policies/fair/pool_jobs.h"
#include "schedulers/policies/fresh/expected_map_slots.h"
#include "schedulers/policies/fresh/stalled_reduces.h"

namespace millrace::sched {
namespace {

using Phase = PhaseAdmission::Phase;

bool TakesTasks(const ClusterState& state, NodeId node) {
  const NodeState* host = state.FindNode(node);
  return host != nullptr && host->TakesTasks();
}

}  // namespace

ServiceFraction ServiceOf(const JobState& job, Micros now) {
  ServiceFraction service{job.progress.job};
  service.weight = static_cast<std::uint32_t>(4 * PriorityWeight(job.progress.priority));
  for (const TaskKind kind : kTaskKinds) service.running += job.running_attempts[kind];
  if (!job.started || job.progress.started >= now) return service;
  for (const TaskKind kind : kTaskKinds) service.used += job.SlotTime(kind, now);
  service.age = now - job.progress.started;
  return service;
}

bool LeastServedFirst(const ServiceFraction& a, const ServiceFraction& b) {
  const __int128 left = static_cast<__int128>(a.used) * b.age * b.weight;
  const __int128 right = static_cast<__int128>(b.used) * a.age * a.weight;
  if (left != right) return left < right;
  const std::uint64_t fewer = std::uint64_t{a.running} * b.weight, than = std::uint64_t{b.running} * a.weight;
  return std::pair(fewer, a.job) < std::pair(than, b.job);
}

void FreshDynamic::OnJobSubmitted(const ClusterState& state, JobId job) { admission_.OnJobSubmitted(state, job); }

void FreshDynamic::OnJobPrioritySet(const ClusterState& state, JobId job) { admission_.OnJobPrioritySet(state, job); }

void FreshDynamic::OnJobEnded(const ClusterState&, JobId job) { admission_.OnJobEnded(job); }

void FreshDynamic::OnJobChanged(const ClusterState&, JobId job) { admission_.OnJobChanged(job); }

std::optional<Decision> FreshDynamic::Next(const ClusterState& state, Micros now) {
  admission_.ApplyChanges(state);
  const bool for_map = std::exchange(slot_for_map_, false);
  if (state.FreeNodes(TaskKind::kMap).empty()) return std::nullopt;
  if (auto repair = LaunchRepair(state)) return repair;
  const TaskKind kind = for_map ? TaskKind::kMap : KindOfFreeSlot(state);
  if (auto decision = LaunchLeastServed(state, kind, now)) return decision;
  return LaunchLeastServed(state, kind == TaskKind::kMap ? TaskKind::kReduce : TaskKind::kMap, now);
}

// This is Algorithm 2.
TaskKind FreshDynamic::KindOfFreeSlot(const ClusterState& state) const {
  const PhaseOutlook outlook = OutlookOf(state, admission_);
  const double expected = ExpectedMapSlots(outlook, settings_.tau_progress, settings_.tau_change);
  return expected > outlook.map_slots ? TaskKind::kMap : TaskKind::kReduce;
}

// This is Algorithm 4.
std::optional<Decision> FreshDynamic::LaunchLeastServed(const ClusterState& state, TaskKind kind, Micros now) {
  std::vector<ServiceFraction> candidates = Candidates(state, kind, now);
  while (!candidates.empty()) {
    const auto least = std::ranges::min_element(candidates, LeastServedFirst);
    if (auto decision = LaunchOf(state, kind, least->job)) return decision;
    candidates.erase(least);
  }
  return std::nullopt;
}

std::vector<ServiceFraction> FreshDynamic::Candidates(const ClusterState& state, TaskKind kind, Micros now) const {
  std::vector<ServiceFraction> candidates;
  for (const JobId job : JobsWith(state, kind)) {
    const bool repair = kind == TaskKind::kMap && admission_.InRepair(state, job);
    if (!repair) candidates.push_back(ServiceOf(*state.FindJob(job), now));
  }
  return candidates;
}

std::vector<JobId> FreshDynamic::Repairs(const ClusterState& state) const {
  std::vector<JobId> repairs;
  for (const QueueKey& key : state.RunnableJobs(TaskKind::kMap)) {
    if (admission_.InRepair(state, key.job)) repairs.push_back(key.job);
  }
  std::ranges::sort(repairs);
  return repairs;
}

std::vector<JobId> FreshDynamic::JobsWith(const ClusterState& state, TaskKind kind) const {
  std::vector<JobId> jobs;
  for (const QueueKey& key : state.RunnableJobs(kind)) {
    if (admission_.MayRun(state, kind, key.job)) jobs.push_back(key.job);
  }
  return jobs;
}

std::optional<Decision> FreshDynamic::LaunchRepair(const ClusterState& state) {
  for (const JobId job : Repairs(state)) {
    if (auto decision = LaunchOf(state, TaskKind::kMap, job)) return decision;
  }
  return std::nullopt;
}

std::optional<Decision> FreshDynamic::LaunchAtData(const ClusterState& state, const JobState& job) const {
  const OrderedBits& free = state.FreeNodes(TaskKind::kMap);
  std::optional<NodeId> at_data;
  for (const NodeId node : job.spec.maps[job.pending_maps.all().First()].replicas) {
    if (free.Contains(node.value) && (!at_data || node < *at_data)) at_data = node;
  }
  if (!at_data) return std::nullopt;
  const auto map = state.BestPendingMap(job.progress.job, *at_data, Locality::kNode);
  if (!map) return std::nullopt;
  return Decision{{job.progress.job, TaskKind::kMap, map->map}, *at_data, false, map->locality};
}

std::optional<Decision> FreshDynamic::LaunchOf(const ClusterState& state, TaskKind kind, JobId id) {
  const OrderedBits& free = state.FreeNodes(kind);
  if (kind == TaskKind::kMap && free.size() > 1) {
    if (auto decision = LaunchAtData(state, *state.FindJob(id))) return decision;
  }
  std::uint32_t& next = next_node_[kind];
  std::uint32_t node = free.NextFrom(next);
  for (std::uint32_t asked = 0; asked < free.size(); ++asked, node = free.NextFrom(node + 1)) {
    if (node == OrderedBits::kNone) node = free.First();
    std::optional<std::uint32_t> task;
    std::optional<Locality> locality;
    if (kind == TaskKind::kReduce) {
      task = state.NextPendingReduce(id, NodeId{node});
    } else if (const auto map = state.BestPendingMap(id, NodeId{node})) {
      task = map->map;
      locality = map->locality;
    }
    if (!task) continue;
    next = node + 1;
    return Decision{{id, kind, *task}, NodeId{node}, false, locality};
  }
  return std::nullopt;
}

Policy::Limits FreshDynamic::BeginRound(const ClusterState& state, Micros) {
  admission_.ApplyChanges(state);
  return Limits::kSame;
}

std::vector<Victim> FreshDynamic::Preempt(const ClusterState& state, Micros) {
  if (!ReducesMayStall(state)) return {};
  std::vector<Victim> victims = TakeSlotForMap(state, JobsWith(state, TaskKind::kMap));
  slot_for_map_ = !victims.empty();
  return victims;
}

// A map also waits for space where a reduce would make room for it, if only it fitted.
bool FreshDynamic::WaitsForSpace(const ClusterState& state, Micros) const {
  const std::vector<JobId> jobs = JobsWith(state, TaskKind::kMap);
  const auto lacks = [&](NodeId node) {
    return std::any_of(jobs.begin(), jobs.end(), [&](JobId job) { return state.BestMapLacksSpace(job, node); });
  };
  for (const std::uint32_t node : state.FreeNodes(TaskKind::kMap)) {
    if (lacks(NodeId{node})) return true;
  }
  for (const QueueKey& key : state.LiveJobs()) {
    for (const TaskState& reduce : state.FindJob(key.job)->reduces) {
      for (const RunningAttempt& attempt : reduce.running) {
        if (TakesTasks(state, attempt.node) && lacks(attempt.node)) return true;
      }
    }
  }
  return false;
}

bool FreshDynamic::WantsSlots(const ClusterState& state, TaskKind kind, Micros) const {
  return !JobsWith(state, kind).empty();
}

PolicyView FreshDynamic::View(const ClusterState& state, Micros now) const {
  const PhaseOutlook outlook = OutlookOf(state, admission_);
  const double expected = ExpectedMapSlots(outlook, settings_.tau_progress, settings_.tau_change);
  PolicyView view;
  view.facts = {KFact(settings_.k),
                Fact::Number("jobs in the map phase", static_cast<double>(admission_.Count(Phase::kMap))),
                Fact::Number("jobs in the reduce phase", static_cast<double>(admission_.Count(Phase::kReduce))),
                Fact::Number("jobs between the phases", static_cast<double>(admission_.Count(Phase::kReady))),
                Fact::Number("slots that run maps", outlook.map_slots),
                Fact::Number("slots expected to run maps", static_cast<double>(std::lround(expected)))};
  view.waits = admission_.Waits(state);
  for (const TaskKind kind : kTaskKinds) {
    WaitView ahead;
    ahead.other_count = 0;
    const auto add = [&](JobId job) {
      view.waits.push_back(Admission().WhyWaits(state, kind, job, now).Behind(ahead));
      ahead.AddOther(job);
    };
    if (kind == TaskKind::kMap) std::ranges::for_each(Repairs(state), add);
    std::vector<ServiceFraction> candidates = Candidates(state, kind, now);
    std::ranges::sort(candidates, LeastServedFirst);
    for (const ServiceFraction& candidate : candidates) add(candidate.job);
  }
  return view;
}

}  // namespace millrace::sched
